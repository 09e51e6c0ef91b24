"""Streams of samples from arrays."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.batch import Pulse
from whimbrel.errors import PlanError, SchemaError, SourceError
from whimbrel.testing import check_blocks

RATE = 44_100
DRAW = np.random.default_rng(6)


def batches(stream: wb.Stream, offset: int = 0) -> list:
    source = stream.node.op
    return list(source.read(source.schema.names, offset))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32",
                                   "float64", "bool"])
def test_types_stay_and_memory_is_shared(dtype):
    values = (np.arange(1000) % 2).astype(dtype)
    batch, = batches(wb.from_samples({"x": values}, rate=RATE))
    column = batch.column("x")
    assert column.values.dtype == values.dtype
    assert np.shares_memory(column.values, values)
    assert isinstance(batch.times, Pulse)


@pytest.mark.parametrize(("dtype", "carried"), [(">i2", "int16"), (">f8", "float64"), ("float16", "float32")])
def test_types_that_no_batch_has_are_converted_in_batches(dtype, carried):
    found = wb.from_samples({"x": np.arange(5).astype(dtype)}, rate=RATE).collect_samples()["x"]
    assert found.dtype == carried
    assert found.tolist() == [0, 1, 2, 3, 4]


def test_batches_are_bounded_and_begin_at_a_row():
    stream = wb.from_samples({"x": np.arange(600_000, dtype="int32")}, rate=RATE)
    assert [len(batch) for batch in batches(stream)] == [262_144, 262_144, 75_712]
    first = batches(stream, 262_150)[0]
    assert first.column("x").values[0] == first.times.first == 262_150


def test_a_memory_map_and_columns_of_an_interleaved_array(tmp_path: Path):
    path = tmp_path / "pcm.raw"
    audio = np.arange(20, dtype="<i2").reshape(10, 2)
    audio.tofile(path)
    mapped = np.memmap(path, "<i2", "r").reshape(10, 2)
    block = wb.from_samples({"left": mapped[:, 0], "right": mapped[:, 1]}, rate=8000).collect_samples()
    assert block["right"].tolist() == audio[:, 1].tolist()
    assert block.rate == 8000


def test_masked_samples_are_gaps_or_nulls():
    x = np.ma.MaskedArray([1, 2, 3, 4, 5, 6], [0, 1, 1, 1, 0, 0])
    y = np.ma.MaskedArray([1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 1, 0])
    stream = wb.from_samples({"x": x, "y": y}, rate=1000, unit="ms")
    rows = [(row["start"].microsecond // 1000, row["x"], row["y"]) for row in stream.collect().to_pylist()]
    assert rows == [(0, 1, 1), (1, None, 2), (4, 5, None), (5, 6, 6)]
    block = stream.collect_samples()
    assert block.gaps == [(2, 2)]
    assert block.numbers().tolist() == [0, 1, 4, 5]
    arrow = wb.from_samples({"x": pa.array([1, None, 3])}, rate=1000).collect_samples()
    assert (arrow["x"].tolist(), arrow.gaps) == ([1, 3], [(1, 1)])
    assert wb.from_samples({"x": x, "z": np.arange(6)}, rate=1000).collect_samples().gaps == []


def test_times_are_exact_after_a_long_time():
    stream = wb.from_samples({"x": np.zeros(10**6, "int8")}, rate=RATE, start="2024-01-01")
    block = stream.collect_samples()
    assert block.times()[441_000] == np.datetime64("2024-01-01T00:00:10", "ns")
    assert block.timebase.period == Fraction(10**9, RATE)


def test_between_reads_its_range_only():
    stream = wb.from_samples({"x": np.arange(100_000)}, rate=1000, unit="ms")
    part = stream.between("1970-01-01T00:00:10", "1970-01-01T00:00:20")
    assert "10,000 rows, part of 100,000" in part.explain()
    block = part.collect_samples()
    assert (block["x"][0], block["x"][-1], block.first.tolist()) == (10_000, 19_999, [10_000])


def test_between_with_gaps():
    x = np.ma.masked_inside(np.arange(1000), 300, 599)
    block = wb.from_samples({"x": x}, rate=1000, unit="ms").between(250, 650).collect_samples()
    assert block["x"].tolist() == [*range(250, 300), *range(600, 650)]
    assert block.gaps == [(300, 300)]


def test_queries_threads_and_replays_agree():
    stream = wb.from_samples({"x": np.ma.masked_inside(np.arange(50_000), 20_000, 24_999)}, rate=1000, unit="ms")
    query = stream.tumbling_window("1s").aggregate(n=wb.count(), x=wb.sum(col.x))
    expected = [(1000, sum(range(at, at + 1000))) for at in [*range(0, 20_000, 1000), *range(25_000, 50_000, 1000)]]
    live = query.on(wb.replay(stream, speed=float("inf")))
    for table in (query.collect(), query.collect(threads=2), live.collect()):
        assert list(zip(table["n"].to_pylist(), table["x"].to_pylist(), strict=True)) == expected
    assert wb.replay(stream, speed=float("inf")).collect_samples().gaps == [(20_000, 5000)]
    last = list(query.progressive(at=[0.3], seed=1))[-1]
    assert sorted(last.table["x"].to_pylist()) == sorted(x for _, x in expected)


def test_filtered_samples_are_runs():
    stream = wb.from_samples({"x": np.arange(10, dtype="int16")}, rate=1000)
    block = stream.where((col.x < 3) | (col.x > 6)).with_columns(y=col.x * 2).collect_samples()
    assert (block["y"].tolist(), block.gaps) == ([0, 2, 4, 14, 16, 18], [(3, 4)])
    assert block["x"].dtype == np.int16
    nothing = stream.where(col.x > 99).collect_samples()
    assert (nothing.rows, nothing["x"].dtype, nothing.gaps) == (0, np.int16, [])


def test_no_samples():
    stream = wb.from_samples({"x": np.empty(0)}, rate=1000)
    assert stream.collect_samples().rows == stream.collect().num_rows == stream.between(0, 5).collect().num_rows == 0


def test_samples_need_a_timebase():
    rows = wb.from_arrow({"at": [1, 2, 4], "x": [1, 2, 3]}, time="at")
    with pytest.raises(PlanError, match="has no timebase") as error:
        rows.collect_samples()
    assert "assume(rate=...)" in str(error.value)
    block = rows.assume(periodic=1, gaps=True).select("x").collect_samples()
    assert (block["x"].tolist(), block.gaps) == ([1, 2, 3], [(2, 1)])
    assert block.rate is None


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_samples_stay_complex(dtype):
    values = (DRAW.normal(size=(300, 2)) @ [1, 1j]).astype(dtype)
    there = np.ones(300, np.bool_)
    there[120:125] = False
    stream = wb.from_samples({"z": np.ma.masked_array(values, ~there)}, rate=1000, unit="us")
    windows = stream.rewindow(40, gaps="split", short="keep")
    for block in (stream.collect_samples(), windows.samples().collect_samples()):
        assert block["z"].dtype == dtype
        assert np.array_equal(block["z"], values[there])
        assert block.gaps == [(120, 5)]
    spectrum = wb.array_function(lambda x: np.fft.fft(x, axis=1)[:, 2], returns=np.dtype(dtype).name)
    check_blocks(lambda s: s.rewindow(40).select(y=spectrum(col.z)), {"z": values})
    filled = stream.rewindow(50, gaps="fill", fill=1 - 2j).select(y=spectrum(col.z)).collect()["y"].to_pylist()
    whole = np.where(there, values, 1 - 2j).reshape(-1, 50)
    assert np.allclose(np.array(filled) @ [1, 1j], np.fft.fft(whole)[:, 2], rtol=1e-4)


def test_samples_of_keys_are_several_signals():
    rows = wb.from_arrow({"at": [0, 0, 5, 5], "k": ["a", "b"] * 2, "x": [1, 2, 3, 4]}, time="at").drop("at")
    signals = rows.assume(periodic=5, per="k")
    assert signals.where(col.k == "b").collect_samples()["x"].tolist() == [2, 4]
    with pytest.raises(PlanError, match="one for each 'k'") as error:
        signals.collect_samples()
    assert "where(col.k == ...)" in str(error.value)


def test_samples_are_of_one_signal():
    one = wb.from_samples({"x": np.arange(3)}, rate=1000)
    for other in (one, one.shift(5)):
        with pytest.raises(PlanError, match="has no timebase"):
            one.union(other).collect_samples()


@pytest.mark.parametrize(("signals", "options", "error", "what", "hint"), [
    ({"x": np.zeros(3)}, {"rate": 0}, PlanError, "rate must be a positive number of samples", "ratio"),
    ({"x": np.zeros(3)}, {"rate": -5}, PlanError, "rate must be a positive number", "ratio"),
    ({"x": np.zeros(3)}, {"rate": float("nan")}, PlanError, "rate must be a positive number", "ratio"),
    ({"x": np.zeros(3)}, {"rate": True}, PlanError, "rate must be a positive number", "ratio"),
    ({"x": np.zeros(3)}, {"rate": 44_100, "unit": "ms"}, PlanError, "more than one sample per tick", "finer unit"),
    ({"x": np.zeros(3)}, {"rate": 5, "unit": "m"}, PlanError, "unit must be one of", "us"),
    ({"x": np.zeros(3)}, {"rate": 5, "unit": None}, PlanError, "unit must be one of", "us"),
    ({"x": np.zeros(3)}, {"rate": 5, "zone": "Mars"}, PlanError, "zone must be a known time zone", "UTC"),
    ({"x": np.zeros(3)}, {"rate": 5, "start": "noon"}, PlanError, "Cannot read 'noon'", "2013"),
    ({"x": np.zeros(3), "y": np.zeros(4)}, {"rate": 5}, SourceError, "'x' has 3, 'y' has 4", "cut the arrays"),
    ({"x": np.zeros((3, 2))}, {"rate": 5}, SchemaError, "must have one dimension", "audio"),
    ({"x": np.zeros(3, np.clongdouble)}, {"rate": 5}, SchemaError, "must be an array of numbers", "complex128"),
    ({"x": np.array(["a"])}, {"rate": 5}, SchemaError, "must be an array of numbers", "integers"),
    ({"x": pa.array(["a"])}, {"rate": 5}, SchemaError, "must be an array of numbers", "integers"),
    ({"x": [[1], [1, 2]]}, {"rate": 5}, SchemaError, "must be an array of numbers", "NumPy"),
    ({"start": np.zeros(3)}, {"rate": 5}, SchemaError, "cannot be named 'start'", "Rename"),
    ({"": np.zeros(3)}, {"rate": 5}, PlanError, "channel name must be a non-empty string", "trades"),
    ({}, {"rate": 5}, SourceError, "needs a dict of arrays", "from_samples"),
    (np.zeros(3), {"rate": 5}, SourceError, "needs a dict of arrays", "from_samples"),
])
def test_mistakes(signals, options, error, what, hint):
    with pytest.raises(error, match=what) as raised:
        wb.from_samples(signals, **options)
    assert hint in raised.value.hint
    assert "from_samples" in raised.value.where


def test_the_end_of_time_is_an_error_before_a_row():
    with pytest.raises(PlanError, match="must fit in int64"):
        wb.from_samples({"x": np.zeros(3)}, rate=1, start=2**63 - 10**9)
