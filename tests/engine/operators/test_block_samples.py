"""Rows that are blocks of samples."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import DisorderError, KernelError, PlanError, SchemaError
from whimbrel.kernels import Compiled, forced_tier

INT = pa.list_(pa.int16())


def table(*blocks, type_=INT, unit="us", **more) -> pa.Table:
    """A table of blocks ``(time, samples)``."""
    at = pa.array([time for time, _ in blocks], pa.int64()).cast(pa.timestamp(unit))
    return pa.table({"at": at, "x": pa.array([samples for _, samples in blocks], type_), **more})


def samples(data, *, rate=1000, **options) -> dict[int, int]:
    """Numbers and values of the samples that come of blocks."""
    block = wb.from_arrow(data, time="at", samples="x", rate=rate, **options).collect_samples()
    return dict(zip(block.numbers().tolist(), block["x"].tolist(), strict=True))


def test_blocks_in_a_row_are_not_copied():
    values = pa.array(np.arange(3000, dtype="int16"))
    lists = pa.ListArray.from_arrays(pa.array([0, 1000, 2000, 3000], pa.int32()), values)
    data = pa.table({"at": pa.array([0, 10**6, 2 * 10**6], pa.timestamp("us")), "x": lists})
    stream = wb.from_arrow(data, time="at", samples="x", rate=1000)
    batch, = [batch for batch in _batches(stream) if len(batch)]
    column = np.asarray(batch.column("x").values)
    assert np.shares_memory(column, values.to_numpy())
    assert column.tolist() == list(range(3000))


def _batches(stream: wb.Stream):
    from whimbrel.run.execution import Execution
    execution = Execution(stream.node, keep_rows=0, hurry=True)
    while not execution.finished:
        for out in execution.step() or []:
            yield from out


@pytest.mark.parametrize("type_", [pa.list_(pa.int16()), pa.large_list(pa.float64()), pa.list_(pa.bool_()),
                                   pa.list_(pa.uint8(), 2)])
def test_types_of_lists(type_):
    data = table((0, [True, False]), (2000, [True, True]), type_=pa.list_(pa.bool_()))
    data = data.set_column(1, "x", data["x"].cast(pa.list_(pa.int8())).cast(type_))
    assert list(samples(data).values()) == [1, 0, 1, 1]


def test_what_lies_between_blocks_is_a_gap():
    assert samples(table((0, [1, 2]), (5000, [3]))) == {0: 1, 1: 2, 5: 3}
    assert samples(table((0, [1, None, 3]), (3000, None), (4000, []), (5000, [6]))) == {0: 1, 2: 3, 5: 6}


def test_a_channel_without_a_block_is_null():
    data = table((0, [1, 2]), (2000, [3, 4])).append_column("y", pa.array([[5, 6], None], INT))
    rows = wb.from_arrow(data, time="at", samples=["x", "y"], rate=1000).collect().to_pylist()
    assert [(row["x"], row["y"]) for row in rows] == [(1, 5), (2, 6), (3, None), (4, None)]


def test_unread_channels_do_not_change_gaps():
    data = table((0, [None, 2])).append_column("y", pa.array([[5, None]], INT))
    stream = wb.from_arrow(data, time="at", samples=["x", "y"], rate=1000)
    assert stream.select("y").collect()["y"].to_pylist() == [5, None]


@pytest.mark.parametrize("rate", [1000, 44_100, "24000/1001", 999_999])
def test_any_cutting_into_blocks_gives_the_same(rate):
    random = np.random.default_rng(5)
    values = np.arange(5000)
    signal = wb.from_samples({"x": values}, rate=rate, unit="us", start="2024-01-01")
    times = signal.node.op.timebase.times(np.arange(5001))
    for most in (1, 7, 200, 5000):
        cuts = np.unique(np.concatenate([[0, 5000], random.integers(1, 5000, 5000 // most)])).tolist()
        pairs = list(itertools.pairwise(cuts))
        data = table(*[(int(times[first]), values[first:stop].tolist()) for first, stop in pairs],
                     type_=pa.list_(pa.int64()))
        stream = wb.from_arrow(data, time="at", samples="x", rate=rate)
        for query in (stream, stream.on({"table": wb.replay(wb.from_arrow(data, time="at"), speed=float("inf"))})):
            found = query.collect_samples()
            assert found["x"].tolist() == values.tolist()
            assert found.gaps == []
            assert found.timebase.time(found.first[0]) == times[0]


def test_random_overlaps_and_losses_agree_with_a_plain_dict():
    random = np.random.default_rng(3)
    for _ in range(50):
        blocks, expected = [], {}
        for first in sorted(random.integers(0, 200, 30).tolist()):
            length = int(random.integers(0, 25))
            blocks.append((first * 1000, list(range(first, first + length))))
            expected |= {number: number for number in range(first, first + length)}
        zero = min((first // 1000 for first, _ in blocks), default=0)
        data = table(*blocks)
        assert samples(data) == {number - zero: value for number, value in sorted(expected.items())}
        order = random.permutation(len(blocks))
        assert samples(data.take(pa.array(order)), reorder_latency="1s") == samples(data)


def test_blocks_that_differ_name_the_place():
    data = table((0, [1, 2, 3]), (1000, [2, 9, 9]))
    with pytest.raises(KernelError, match=r"The block at 1970-01-01 00:00:00.001000 overlaps .* 'x' differs at sample "
                                          "2, at 1970-01-01 00:00:00.002000") as error:
        samples(data)
    assert 'duplicates="first"' in error.value.hint
    assert samples(data, duplicates="first") == {0: 1, 1: 2, 2: 3, 3: 9}
    with pytest.raises(KernelError, match="differs at sample 1"):
        samples(table((0, [1, None, 3]), (0, [1, 2, 3])))


def test_nan_equals_nan():
    nan = float("nan")
    data = table((0, [1.0, nan]), (1000, [nan, 2.0]), type_=pa.list_(pa.float32()))
    assert len(samples(data)) == 3


def test_late_blocks_are_late_rows():
    data = table((0, [1]), (2000, [3]), (1000, [2]), (3000, [4]))
    with pytest.raises(DisorderError):
        samples(data)
    assert samples(data, late="drop") == {0: 1, 2: 3, 3: 4}
    assert samples(data, reorder_latency="2ms") == {0: 1, 1: 2, 2: 3, 3: 4}


def test_blocks_between_samples():
    data = table((0, [1, 2]), (2300, [3]))
    with pytest.raises(KernelError, match=r"is 300us from sample 2, at \S+ 00:00:00.002000; at most 1us") as error:
        samples(data)
    assert "jitter=" in error.value.hint
    assert samples(data, jitter="400us") == {0: 1, 1: 2, 2: 3}


def test_channels_of_different_lengths():
    data = table((0, [1, 2])).append_column("y", pa.array([[1]], INT))
    with pytest.raises(KernelError, match="has 1 samples of 'y', but 2 of 'x'"):
        wb.from_arrow(data, time="at", samples=["x", "y"], rate=1000).collect()


def test_between_reads_some_blocks():
    data = table(*[(first * 1000, list(range(first, first + 10))) for first in range(0, 1000, 10)])
    part = wb.from_arrow(data, time="at", samples="x", rate=1000).between(500_000, 520_000)
    assert "part of 100 rows" in part.explain()
    assert part.collect_samples()["x"].tolist() == list(range(500, 520))
    parts = wb.from_arrow(data, time="at", samples="x", rate=1000)
    sums = parts.tumbling_window("50ms").aggregate(x=wb.sum(wb.col.x))
    assert sums.collect(threads=2).equals(sums.collect())


def test_a_parquet_file_of_blocks(tmp_path: Path):
    from pyarrow import parquet
    parquet.write_table(table((0, [1, 2]), (2000, [3])), tmp_path / "blocks.parquet")
    stream = wb.read_parquet(tmp_path / "blocks.parquet", time="at", samples="x", rate=1000)
    assert stream.collect()["x"].to_pylist() == [1, 2, 3]


@pytest.mark.parametrize(("options", "error", "what"), [
    ({"samples": "x"}, PlanError, "samples= needs rate="),
    ({"rate": 1000}, PlanError, "need samples="),
    ({"samples": "x", "rate": 0}, PlanError, "rate must be a positive number"),
    ({"samples": "x", "rate": float("nan")}, PlanError, "rate must be a positive number"),
    ({"samples": "x", "rate": 10**7}, PlanError, "more than one sample per tick"),
    ({"samples": "y", "rate": 1000}, SchemaError, "There is no column 'y'"),
    ({"samples": "at", "rate": 1000}, SchemaError, "must be a column of lists of numbers"),
    ({"samples": [], "rate": 1000}, PlanError, "samples must name columns"),
    ({"samples": ["x", "x"], "rate": 1000}, PlanError, "samples must name columns"),
    ({"samples": "x", "rate": 1000, "jitter": "1ms"}, PlanError, "less than half of the period"),
    ({"samples": "x", "rate": 1000, "duplicates": "last"}, PlanError, "duplicates must be 'raise' or 'first'"),
    ({"samples": "x", "rate": 1000, "late": "adjust"}, PlanError, "cannot move a block"),
    ({"samples": "x", "rate": 1000, "partition": "k"}, PlanError, "blocks of one signal"),
])
def test_mistakes(options, error, what):
    data = table((0, [1, 2]), k=pa.array(["a"]))
    with pytest.raises(error, match=what):
        wb.from_arrow(data, time="at", **options)


def test_repeated_and_missing_samples_are_counted():
    data = table((0, [1, 2, 3]), (1000, [2, 3]), (5000, [6, None, 8]))
    run = wb.from_arrow(data, time="at", samples="x", rate=1000).start()
    assert run.wait(60)
    assert (run.metrics.duplicate_samples, run.metrics.missing_samples) == (2, 3)


def test_history_and_live_are_certified_with_late_blocks():
    history = table(*[(first * 1000, list(range(first, first + 10))) for first in range(0, 2000, 10)])
    order = list(range(200))
    order[50:50], order[120:121] = [order.pop(53)], []  # one block is 30 ms out of order, and one is missing
    order.insert(180, 120)  # it arrives 600 ms late
    log = wb.from_arrow(history.take(pa.array(order)), time="at", samples="x", rate=1000, late="drop",
                        reorder_latency="50ms", arrival=wb.FILE_ORDER, name="log")
    query = wb.from_arrow(history, time="at", samples="x", rate=1000).tumbling_window("100ms").aggregate(
        n=wb.count(), x=wb.sum(wb.col.x))
    found = query.certify(wb.from_arrow(history, time="at", samples="x", rate=1000), log)
    assert found.ok, found
    assert found.late_rows == 1
    assert set(found.differences["reason"].to_pylist()) == {"late rows"}
    live = query.on(wb.replay(log, speed=float("inf"))).collect()
    assert live["n"].to_pylist() == [90 if window == 12 else 100 for window in range(20)]
    arrays = wb.from_samples({"x": np.arange(2000, dtype="int16")}, rate=1000, unit="us")
    assert query.on(arrays).collect().equals(query.collect())
    assert query.certify(arrays, arrays).ok


def test_few_rows_with_many_samples_are_worth_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    if forced_tier() == "interpreted":
        pytest.skip("kernels are interpreted")
    interpreted: list[int] = []
    plain = Compiled.interpreted

    def counting(kernel: Compiled, *arguments: Any) -> Any:
        interpreted.append(max((len(each) for each in arguments if isinstance(each, np.ndarray)), default=0))
        return plain(kernel, *arguments)

    monkeypatch.setattr(Compiled, "interpreted", counting)
    blocks = pa.table({"at": pa.array(np.arange(30) * 4_096_000_000).cast(pa.timestamp("ns")),
                       "x": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(30 * 4096, dtype=np.int16)), 4096)})
    log = wb.from_arrow(blocks, time="at", samples="x", rate=1_000)
    assert log.tumbling_window("4096ms").aggregate(s=wb.std(col.x)).collect().num_rows == 30
    assert max(interpreted, default=0) < 4096
