"""sync, zip and stitch on minimal streams."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import KernelError, PlanError, SchemaError, WhimbrelError

NUMBERS = [0, 1, 2, 3, 4, 6, 7, 8, 9]
SIGNAL = wb.from_arrow({"at": [5 * number for number in NUMBERS], "x": NUMBERS}, time="at").drop("at").assume(
    periodic=5, gaps=True)


def events(*ranges: tuple[int, int | None], **columns: list[Any]) -> Any:
    rows = pa.table({"at": pa.array([start for start, _ in ranges], pa.int64()),
                     "until": pa.array([end for _, end in ranges], pa.int64()),
                     **(columns or {"n": range(len(ranges))})})
    return wb.from_arrow(rows, time="at", end="until").drop("at", "until")


def ranges(query: Any) -> list[tuple[int, int, int, list[Any]]]:
    return [(row["start"], row["end"], row["x"]["index"], row["x"]["samples"]) for row in query.collect().to_pylist()]


def test_ranges_take_samples_that_begin_in_them() -> None:
    assert ranges(events((3, 10), (10, 16), (16, 20), (17, 18)).sync(SIGNAL)) == [(5, 10, 1, [1]), (10, 20, 2, [2, 3])]


def test_skipped_ranges_are_counted() -> None:
    query = events((0, 10), (15, 30), (20, 35), (24, 29)).sync(SIGNAL, gaps="skip")
    assert "ranges with missing samples are left out, and counted in run.metrics.skipped_windows" in query.explain()
    run = query.start()
    assert run.wait(60)
    assert (run.metrics.settled_rows, run.metrics.skipped_windows) == (1, 2)  # no sample begins in the last range


def test_a_range_over_a_gap_has_missing_samples() -> None:
    across = events((20, 35), (24, 29))
    assert ranges(across.sync(SIGNAL)) == [(20, 35, 4, [4, None, 6])]
    assert ranges(across.sync(SIGNAL, gaps="skip")) == []
    means = across.sync(SIGNAL).select(n=col.x.seg.missing(), m=col.x.seg.mean()).collect().to_pylist()
    assert means[0]["n"] == 1
    assert means[0]["m"] != means[0]["m"]


def test_ranges_beyond_the_signal_miss_samples() -> None:
    beats = events((0, 1), (45, 46))
    assert ranges(beats.sync(SIGNAL, before=10, after=10)) == [
        (-10, 10, -2, [None, None, 0, 1]), (35, 55, 7, [7, 8, 9, None])]


def test_long_ranges_are_cut() -> None:
    assert ranges(events((5, None)).sync(SIGNAL, limit=12)) == [(5, 20, 1, [1, 2, 3])]
    with pytest.raises(KernelError, match="The end of the event at 5 is unknown"):
        events((5, None)).sync(SIGNAL).collect()


def test_each_key_has_its_own_signal() -> None:
    rows = {"at": [0, 1, 5, 6, 10], "k": ["a", "b", "a", "b", "a"], "x": [1, 2, 3, 4, 5]}
    keyed = wb.from_arrow(rows, time="at").drop("at").assume(periodic=5, gaps=True, per="k")
    asked = events((0, 9), (0, 9), (2, 9), k=["b", None, "a"])
    assert sorted((row["k"], row["start"], row["x"]["samples"]) for row in asked.sync(keyed).collect().to_pylist()) == [
        ("a", 5, [3]), ("b", 1, [2, 4])]
    with pytest.raises(SchemaError, match="The signals have the key 'k'"):
        events((0, 9), k=[1]).sync(keyed)


def test_detections_give_their_sound_back() -> None:
    loud = SIGNAL.rewindow(2).where(col.x.seg.max() > 2).select(on=wb.lit(True)).stitch()
    heard = loud.sync(SIGNAL).samples()
    assert heard.collect().select(["start", "x"]).to_pylist() == [
        {"start": 5 * number, "x": number} for number in (2, 3, 6, 7, 8, 9)]


def test_windows_that_follow_each_other_become_one() -> None:
    fused = SIGNAL.rewindow(2).stitch()
    assert ranges(fused) == [(0, 20, 0, [0, 1, 2, 3]), (30, 50, 6, [6, 7, 8, 9])]


def test_rows_of_equal_lifetime_are_paired() -> None:
    windows = SIGNAL.rewindow(2)
    both = windows.zip(windows.where(col.x.seg.min() > 1).select(y=col.x)).collect().to_pylist()
    assert [(row["start"], row["x"]["samples"], row["y"]["samples"]) for row in both] == [
        (10, [2, 3], [2, 3]), (30, [6, 7], [6, 7]), (40, [8, 9], [8, 9])]


def test_paired_columns_of_one_name_get_a_suffix() -> None:
    windows = SIGNAL.rewindow(2)
    later = windows.select(x=col.x.seg.slice(1, 2))
    assert windows.zip(later).schema.names == ("x", "x_right")
    both = windows.zip(later, suffix="_later").select(last=col.x_later.seg.sum()).collect()
    assert both["last"].to_pylist() == [1, 3, 7, 9]


def test_ends_of_time_are_far_from_all_samples() -> None:
    """Each tick has a sample, and sample 0 is not at 0: the first watermarks are before all numbers of samples."""
    signal = wb.from_arrow({"at": [7, 8, 9, 10], "x": [1, 2, 3, 4]}, time="at").drop("at").assume(periodic=1)
    feed = wb.feeds.iterator(lambda: [{"at": 8, "n": 1}], time="at").select("n")
    for asked in (events((8, 9)), feed):
        assert ranges(asked.sync(signal, after=2)) == [(8, 10, 1, [2, 3])]
    early = wb.feeds.iterator(lambda: [{"at": 7, "x": 1}, {"at": 8, "x": 2}], time="at").select("x").assume(periodic=1)
    assert ranges(early.rewindow(2)) == [(7, 9, 0, [1, 2])]


def signal_of(name: str, rate: int, unit: Any = "us") -> wb.Stream:
    return wb.from_samples({name: np.arange(64.0)}, rate=rate, unit=unit)


def test_parts_of_windows_with_fewer_samples_are_paired_with_windows() -> None:
    levels = signal_of("x", 1000).rewindow(16, 12).select(d=col.x.seg.wavelet("haar", level=2))
    both = levels.zip(signal_of("y", 1000, "ns").rewindow(16, 12))
    assert both.select(n=col.d.seg.length(), m=col.y.seg.length()).collect().select(["n", "m"]).to_pylist() == [
        {"n": 4, "m": 16}] * 5
    with pytest.raises(SchemaError, match="needs signals of one timebase"):
        levels.zip(signal_of("y", 250).rewindow(4, 3))


OTHER = wb.from_arrow({"at": [0, 4], "y": [1, 2]}, time="at").drop("at").assume(periodic=4)


@pytest.mark.parametrize(("mistake", "error", "says"), [
    (lambda: events((0, 9)).sync(events((0, 9), k=["a"])), PlanError, "The stream must have samples at a fixed rate."),
    (lambda: events((0, 9)).sync(SIGNAL, before=-1), PlanError, "before must not be negative, got -1."),
    (lambda: events((0, 9)).sync(SIGNAL, limit=0), PlanError, "limit must"),
    (lambda: events((0, 9)).sync(SIGNAL, after=0), PlanError, "A range must have some length"),
    (lambda: events((0, 9)).sync(SIGNAL, gaps="fill"), PlanError, "gaps must be 'keep' or 'skip', got 'fill'."),
    (lambda: SIGNAL.sync(SIGNAL), SchemaError, "Two columns would be named 'x'."),
    (lambda: SIGNAL.rewindow(2).zip(OTHER.rewindow(2)), SchemaError, "zip() needs signals of one timebase"),
    (lambda: signal_of("x", 1000).zip(signal_of("y", 500)), SchemaError, "samples every 0.001 s and every 0.002 s."),
    (lambda: SIGNAL.rewindow(2).zip(SIGNAL.rewindow(2), suffix=""), SchemaError, "Two columns would be named 'x'."),
    (lambda: SIGNAL.rewindow(2).zip(SIGNAL.rewindow(2), on="x"), SchemaError, "cannot be a key"),
])
def test_mistakes_are_named(mistake: Any, error: type[WhimbrelError], says: str) -> None:
    with pytest.raises(error) as found:
        mistake()
    assert says in found.value.what
