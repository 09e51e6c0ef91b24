"""rewindow and samples: what they say of minimal streams, and which mistakes they name."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.batch import Batch, Column
from whimbrel.errors import KernelError, PlanError, SchemaError, WhimbrelError
from whimbrel.spark.types import fitting
from whimbrel.testing import check_blocks


def samples(numbers: list[int], period: int = 5, **columns: list[Any]) -> Any:
    """Samples with these numbers, whose values are their numbers by default."""
    rows = {"at": [number * period for number in numbers], **(columns or {"x": numbers})}
    return wb.from_arrow(rows, time="at").drop("at").assume(periodic=period, gaps=True)


def windows(query: Any, name: str = "x") -> list[tuple[int, int, int, list[Any]]]:
    return [(row["start"], row["end"], row[name]["index"], row[name]["samples"]) for row in query.collect().to_pylist()]


NUMBERS = [0, 1, 2, 3, 4, 6, 7, 8, 9]
HOLE = samples(NUMBERS)


@pytest.mark.parametrize(("query", "expected"), [
    (HOLE.rewindow(2), [(0, 10, 0, [0, 1]), (10, 20, 2, [2, 3]), (30, 40, 6, [6, 7]), (40, 50, 8, [8, 9])]),
    (HOLE.rewindow(3), [(0, 15, 0, [0, 1, 2]), (30, 45, 6, [6, 7, 8])]),
    (HOLE.rewindow(3, short="keep"), [(0, 15, 0, [0, 1, 2]), (30, 45, 6, [6, 7, 8]), (45, 50, 9, [9])]),
    (HOLE.rewindow(3, gaps="split", short="keep"), [(0, 15, 0, [0, 1, 2]), (15, 25, 3, [3, 4]), (30, 45, 6, [6, 7, 8]),
                                                    (45, 50, 9, [9])]),
    (HOLE.rewindow(4, gaps="fill", fill=-1), [(0, 20, 0, [0, 1, 2, 3]), (20, 40, 4, [4, -1, 6, 7])]),
    (HOLE.rewindow(2, 4), [(0, 10, 0, [0, 1]), (40, 50, 8, [8, 9])]),
    (HOLE.rewindow(3, 2, label="end"), [(15, 25, 0, [0, 1, 2]), (25, 35, 2, [2, 3, 4]), (45, 55, 6, [6, 7, 8])]),
    (HOLE.rewindow(), [(0, 25, 0, [0, 1, 2, 3, 4]), (30, 50, 6, [6, 7, 8, 9])]),
    (HOLE.rewindow(limit=4), [(0, 20, 0, [0, 1, 2, 3]), (20, 25, 4, [4]), (30, 50, 6, [6, 7, 8, 9])]),
    (samples([3]).rewindow(2, short="keep"), [(15, 20, 0, [3])]),
])
def test_windows_of_a_signal_with_a_hole(query: Any, expected: list[Any]) -> None:
    assert windows(query) == expected


def test_a_null_is_a_missing_sample_and_no_gap() -> None:
    log = samples([0, 1, 2, 3], x=[1, None, 3, 4], y=[5.0, 6.0, 7.0, 8.0])
    row, other = log.rewindow(2).select(x=col.x, n=col.x.seg.missing(), m=col.x.seg.mean(), top=col.x.seg.max(),
                                        y=col.y.seg.mean()).collect().to_pylist()
    assert row["x"] == {"index": 0, "samples": [1, None]}
    assert (row["n"], row["top"], row["y"]) == (1, None, 5.5)
    assert np.isnan(row["m"])
    assert (other["n"], other["m"], other["top"]) == (0, 3.5, 4)
    filled = log.rewindow(2, gaps="fill", fill={"x": 0, "y": -1.0}).collect().to_pylist()
    assert [(row["x"]["samples"], row["filled"]) for row in filled] == [([1, 0], 1), ([3, 4], 0)]


def test_windows_are_counted_from_sample_0_wherever_reading_begins() -> None:
    rows = {"at": [7, 12, 17, 22], "x": [1, 2, 3, 4]}
    log = wb.from_arrow(rows, time="at").drop("at").assume(periodic=5, phase=2, gaps=True)
    assert windows(log.rewindow(2)) == [(12, 22, 2, [2, 3])]


def test_windows_of_rows_that_were_filtered_have_gaps() -> None:
    log = samples(list(range(8)))
    assert windows(log.where(col.x != 5).rewindow(2)) == windows(samples([0, 1, 2, 3, 4, 6, 7]).rewindow(2))


@pytest.mark.parametrize("cut", range(len(NUMBERS)))
@pytest.mark.parametrize(("size", "hop", "left_out"), [(4, 1, 4), (4, 2, 2), (2, 4, 1), (20, 1, 6)])
def test_left_out_windows_are_counted(cut: int, size: int, hop: int, left_out: int) -> None:
    """Those that have sample 5 and begin with a sample, however samples are cut."""
    schema = HOLE.schema
    node = HOLE.rewindow(size, hop).node
    kernel = node.op.kernel(node.inputs[0].schema)
    for rows in (slice(0, cut), slice(cut, 9)):
        numbers = np.array(NUMBERS[rows], np.int64)
        kernel.push(Batch(schema, numbers * 5, 1, (Column(pa.int64(), numbers),)))
    assert kernel.left_out == left_out


def test_a_run_shows_how_many_windows_were_left_out() -> None:
    query = HOLE.rewindow(4, 1)
    assert "windows that touch a gap are left out, and counted in run.metrics.skipped_windows" in query.explain()
    run = query.start()
    assert run.wait(60)
    assert (run.metrics.settled_rows, run.metrics.skipped_windows) == (3, 4)


def test_samples_of_overlapping_windows_come_once() -> None:
    query = HOLE.rewindow(4, 1).samples()
    assert query.collect()["x"].to_pylist() == [0, 1, 2, 3, 4, 6, 7, 8, 9]
    assert query.node.properties.sampling.period == Fraction(5)
    assert windows(query.rewindow(2)) == windows(HOLE.rewindow(2))


def test_what_is_missing_in_all_channels_is_no_sample() -> None:
    log = samples([0, 1, 2], x=[1, None, 3], y=[1, None, None])
    assert log.rewindow(3).samples().collect().to_pylist() == [
        {"start": 0, "end": 1, "x": 1, "y": 1}, {"start": 10, "end": 11, "x": 3, "y": None}]


@pytest.mark.parametrize("rate", ["44100", "24000/1001", 360])
def test_times_of_a_fractional_period_come_back(rate: Any) -> None:
    log = wb.from_arrow({"at": pa.array([1_000], pa.timestamp("us")), "x": [0]}, time="at").drop("at").assume(rate=rate)
    period = log.node.properties.sampling.period
    times = [1_000 + int(number * period + Fraction(1, 2)) for number in range(500)]
    log = wb.from_arrow(pa.table({"at": pa.array(times, pa.timestamp("us")), "x": range(500)}), time="at").drop("at")
    back = log.assume(rate=rate).rewindow(7, 3, short="keep").samples().collect()
    assert back["start"].cast(pa.int64()).to_pylist() == times
    assert back["x"].to_pylist() == list(range(500))


@pytest.mark.parametrize("options", [{}, {"gaps": "split", "short": "keep"}, {"gaps": "fill", "fill": 0},
                                     {"label": "end"}, {"short": "keep"}])
def test_blocks_change_nothing(options: dict[str, Any]) -> None:
    values = np.arange(60, dtype=np.int16)
    check_blocks(lambda s: s.rewindow(7, 3, **options), {"x": values, "y": values * 0.5}, missing={9, 10, 33},
                 rate="44100")


def test_kinds_of_samples() -> None:
    rows = {"at": [0, 5], "b": [True, False], "t": [5, 6], "d": [1.5, 2.5]}
    table = pa.table(rows).set_column(2, "t", pa.array(rows["t"], pa.timestamp("us")))
    log = wb.from_arrow(table, time="at").drop("at").assume(periodic=5)
    assert str(log.rewindow(2).schema.type_of("t")) == "segment<timestamp[us], every 5 ticks>"
    assert log.rewindow(2).samples().collect().equals(log.collect().select(["start", "end", "b", "t", "d"]))


TEXT = wb.from_arrow({"at": [0, 5], "x": [1, 2], "s": ["a", "b"]}, time="at").assume(periodic=5)


def test_columns_without_numbers_are_left_out() -> None:
    windows = TEXT.rewindow(2, gaps="fill", fill=0).drop("filled")
    assert windows.select("x").collect()["x"].to_pylist() == [{"index": 0, "samples": [1, 2]}]
    assert windows.schema.names == ("at", "x")
    assert TEXT.select("s").sync(TEXT.drop("at"), after=10).collect()["x"].to_pylist() == [
        {"index": 0, "samples": [1, 2]}, {"index": 1, "samples": [2, None]}]


@pytest.mark.parametrize(("mistake", "error", "says"), [
    (lambda: wb.from_arrow({"at": [1]}, time="at").rewindow(4), PlanError, "The stream must have samples"),
    (lambda: HOLE.rewindow(0), PlanError, "size must be an integer of at least 1, got 0."),
    (lambda: HOLE.rewindow(2, 0), PlanError, "hop must be an integer of at least 1, got 0."),
    (lambda: HOLE.rewindow("1s"), PlanError, "size must be an integer of at least 1, got '1s'."),
    (lambda: HOLE.rewindow(2, gaps="close"), PlanError, "gaps must be one of 'skip', 'split', 'fill', got 'close'."),
    (lambda: HOLE.rewindow(2, label="middle"), PlanError, "label must be one of 'start', 'end', got 'middle'."),
    (lambda: HOLE.rewindow(2, short="pad"), PlanError, "short must be one of 'drop', 'keep', got 'pad'."),
    (lambda: HOLE.rewindow(2, gaps="fill"), PlanError, 'fill= and gaps="fill" need each other.'),
    (lambda: HOLE.rewindow(2, fill=0), PlanError, 'fill= and gaps="fill" need each other.'),
    (lambda: HOLE.rewindow(2, gaps="fill", fill=0.5), SchemaError, "0.5 cannot fill 'x', which is int64."),
    (lambda: HOLE.rewindow(2, gaps="fill", fill={"y": 1}), PlanError, "fill= has no value for 'x'."),
    (lambda: HOLE.rewindow(2, limit=3), PlanError, "limit= is for windows without a size."),
    (lambda: HOLE.rewindow(hop=3), PlanError, "Windows without a size take no hop"),
    (lambda: HOLE.rewindow(2).rewindow(2), SchemaError, "'x' has segments already, segment<int64"),
    (lambda: HOLE.rewindow(2, gaps="split").rewindow(2), PlanError, "The stream must have samples"),
    (lambda: HOLE.group_by("x").rewindow(2), PlanError, "group_by('x') does not say which samples"),
    (lambda: TEXT.select("s").rewindow(2), SchemaError, "Windows need a column of numbers, got s (string)."),
    (TEXT.samples, SchemaError, "There is no column of segments."),
    (lambda: HOLE.rewindow(2).with_columns(y=col.x.seg.wavelet("haar")).samples(), SchemaError,
     "Segments must have one timebase"),
])
def test_mistakes_are_named_before_a_row(mistake: Any, error: type[WhimbrelError], says: str) -> None:
    with pytest.raises(error) as found:
        mistake()
    assert says in found.value.what
    assert found.value.hint


def test_segments_of_a_row_that_differ_are_no_samples() -> None:
    query = HOLE.rewindow(4).select(a=col.x, b=col.x.seg.since(1)).samples()
    with pytest.raises(KernelError, match="Segments of 'a' and 'b' have different samples"):
        query.collect()


def test_spark_holds_the_storage_of_segments() -> None:
    storage = HOLE.rewindow(2).schema.type_of("x").storage_type
    assert fitting(HOLE.rewindow(2).schema.type_of("x"), "x", "here") == storage
    plain = HOLE.rewindow(2).select(x=col.x.cast(storage))
    assert plain.collect()["x"].to_pylist()[0] == {"index": 0, "samples": [0, 1]}


def test_files_keep_segments(tmp_path: Any) -> None:
    query = HOLE.rewindow(2)
    query.start(sink=wb.sinks.parquet(str(tmp_path / "windows"))).wait()
    back = wb.read_parquet(str(tmp_path / "windows"), time="start", end="end")
    assert back.select("x").schema == query.schema
    assert back.select(m=col.x.seg.mean()).collect().equals(query.select(m=col.x.seg.mean()).collect())


def test_threads_and_early_answers_change_nothing() -> None:
    query = samples(list(range(5_000))).rewindow(16, 4).select(s=col.x.seg.sum(), x=col.x)
    whole = query.collect()
    assert query.collect(threads=2).equals(whole)
    assert list(query.progressive("40%"))[-1].table.select(whole.column_names).equals(whole)
