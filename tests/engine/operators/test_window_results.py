"""Results over aggregates, bounds and gaps of windows, distinct, pivot and unpivot: cases by hand, and mistakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import PlanError


def log() -> wb.Stream:
    return wb.from_arrow({"at": [0, 1, 7, 16], "k": ["a", "a", "b", "a"], "late": [True, False, True, None],
                          "x": [1, 2, 3, 4]}, time="at")


def rows(stream: wb.Stream) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in stream.collect().to_pylist())


def test_a_share_of_rows_by_group() -> None:
    share = wb.count().where(col.late) / wb.count()
    result = log().group_by("k").tumbling_window(5).aggregate(share=share, some=wb.when(share > 0).then("yes")
                                                              .otherwise("no"))
    assert rows(result) == [(0, 5, "a", 0.5, "yes"), (5, 10, "b", 1.0, "yes"), (15, 20, "a", 0.0, "no")]


def test_each_aggregate_is_computed_once_and_shown_as_written() -> None:
    text = log().aggregate(m=(wb.sum(col.x) - 1) / wb.count(), n=wb.count(), s=wb.sum(col.x)).explain()
    assert "results(m=(sum(col.x) - 1) / count(), n=count(), s=sum(col.x))" in text
    assert "aggregate(sum(col.x), count())" in text


def test_an_unchanged_hopping_window_is_split_when_its_bounds_are_asked_for() -> None:
    windows = wb.from_arrow({"at": [2]}, time="at").hopping_window(10, 5)
    assert rows(windows.aggregate(n=wb.count())) == [(0, 10, 1)]
    assert rows(windows.aggregate(a=wb.window_start(), b=wb.window_end())) == [(0, 5, -5, 5), (5, 10, 0, 10)]
    assert rows(windows.aggregate(n=wb.count(), emit="close")) == [(0, 5, 1), (5, 10, 1)]


@pytest.mark.parametrize(("label", "expected"), [
    ("start", [(0, 9, 2, -2, 9)]), ("end", [(0, 9, 1, -11, 0), (9, 18, 2, -2, 9)])])
def test_a_row_for_each_window_whose_size_is_no_multiple_of_its_hop(label: Any, expected: list[Any]) -> None:
    windows = wb.from_arrow({"at": [0, 5]}, time="at").hopping_window(11, 9, label=label)
    closed = windows.aggregate(n=wb.count(), a=wb.window_start(), b=wb.window_end(), emit="close")
    assert rows(closed) == expected


@pytest.mark.parametrize("options", ({}, {"emit": "close"}, {"fill": True}, {"fill": "previous"}, {"fill": {"n": 0}}))
def test_the_window_of_a_whole_log(options: Any) -> None:
    """It begins with the first event of all groups and has no end; no window is empty."""
    windows = log().group_by("k").tumbling_window(wb.WHOLE)
    result = windows.aggregate(n=wb.count(), since=wb.window_start(), until=wb.window_end(), **options)
    assert rows(result) == [(0, None, "a", 3, 0, None), (0, None, "b", 1, 0, None)]
    some = log().tumbling_window(wb.WHOLE).where(col.x > 2).aggregate(n=wb.count(), since=wb.window_start() + 1)
    assert rows(some) == [(0, None, 2, 1)]


def test_changed_lifetimes_are_no_windows_of_a_whole_log() -> None:
    with pytest.raises(PlanError, match="needs a tumbling or hopping window"):
        log().tumbling_window(wb.WHOLE).set_duration(3).aggregate(a=wb.window_start())


@pytest.mark.share(3)
@pytest.mark.parametrize("size", range(1, 14))
@pytest.mark.parametrize("hop", [1, 3, 4, 9])
def test_every_window_that_has_an_event_has_one_row(size: int, hop: int) -> None:
    times = [-7, 0, 0, 2, 5, 11, 40]
    closed = wb.from_arrow({"at": times}, time="at").hopping_window(size, hop).aggregate(n=wb.count(), emit="close")
    ends = range(-hop * 30, hop * 80, hop)
    counts = {end: sum(end - size <= time < end for time in times) for end in ends}
    if hop <= size:  # else windows begin at the grid
        assert rows(closed) == [(end - hop, end, count) for end, count in counts.items() if count]
        filled = wb.from_arrow({"at": times}, time="at").hopping_window(size, hop).aggregate(n=wb.count(), fill=True)
        assert [row[2] for row in rows(filled)].count(0) == sum(not count for end, count in counts.items()
                                                                if rows(closed)[0][1] < end < rows(closed)[-1][1])


def test_bounds_are_times_of_the_stream() -> None:
    events = wb.from_arrow(pa.table({"at": pa.array([0], pa.timestamp("ms", "UTC"))}), time="at")
    bounds = events.tumbling_window("1s").aggregate(since=wb.window_start())
    assert bounds.schema.type_of("since") == pa.timestamp("ms", "UTC")


def test_groups_begin_with_their_first_window_and_end_with_the_last_of_all() -> None:
    filled = log().group_by("k").tumbling_window(5).aggregate(n=wb.count(), m=wb.mean(col.x), fill={"m": -1})
    assert rows(filled) == [(0, 5, "a", 2, 1.5), (5, 10, "a", 0, -1.0), (5, 10, "b", 1, 3.0), (10, 15, "a", 0, -1.0),
                            (10, 15, "b", 0, -1.0), (15, 20, "a", 1, 4.0), (15, 20, "b", 0, -1.0)]


def test_a_long_gap_is_filled_in_several_batches() -> None:
    events = wb.from_arrow({"at": [0, 0, 9_999], "k": [1, 2, 1]}, time="at").group_by("k")
    assert events.tumbling_window(1).aggregate(n=wb.count(), fill=True).collect()["n"].to_pylist().count(0) == 19_997


def test_equal_payloads_are_one_row() -> None:
    assert rows(log().tumbling_window(20).distinct("k")) == [(0, 20, "a"), (0, 20, "b")]
    assert rows(log().tumbling_window(20).group_by(odd=col.x % 2).distinct("k")) == [
        (0, 20, 0, "a"), (0, 20, 1, "a"), (0, 20, 1, "b")]


def test_unpivot_undoes_pivot() -> None:
    wide = log().tumbling_window(5).pivot(attribute="k", value="x", values=["a", "b"], aggregate=wb.max)
    assert rows(wide.where(col.b.is_null())) == [(0, 5, 2, None), (15, 20, 4, None)]
    assert rows(wide.unpivot()) == [(0, 5, "a", 2), (5, 10, "b", 3), (15, 20, "a", 4)]


EMPTY_CELLS = [(wb.sum, 2, 0), (wb.count, 1, 0), (wb.mean, 2.0, None), (wb.collect, [2], []), (wb.first, 2, None),
               (wb.max, 2, None), (lambda value: wb.quantile(value, 0.5), 2.0, None), (lambda _: wb.count(), 2, 1)]


@pytest.mark.parametrize(("aggregate", "of_two", "of_nulls"), EMPTY_CELLS)
def test_a_pivot_is_null_where_there_is_no_row_of_an_attribute(aggregate: Any, of_two: Any, of_nulls: Any) -> None:
    events = wb.from_arrow({"at": [0, 0, 1, 1], "k": ["a", "a", "b", "c"], "v": [2, None, None, 4]}, time="at")
    wide = events.tumbling_window(5).pivot(attribute="k", value="v", values=["a", "b", "z"], aggregate=aggregate)
    assert rows(wide) == [(0, 5, of_two, of_nulls, None)]


def test_texts_and_lists_of_a_pivot_are_null_where_there_is_no_row() -> None:
    events = wb.from_arrow({"at": [0, 6], "k": ["a", "b"], "v": ["x", "y"]}, time="at").tumbling_window(5)
    assert rows(events.pivot(attribute="k", value="v", values=["a", "b"])) == [(0, 5, "x", None), (5, 10, None, "y")]
    assert rows(events.pivot(attribute="k", value="v", values=["a", "b"], aggregate=wb.collect)) == [
        (0, 5, ["x"], None), (5, 10, None, ["y"])]


MISTAKES: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "close without windows": (lambda: log().aggregate(n=wb.count(), emit="close"),
                              ["emit=", "tumbling or hopping window", "session"]),
    "pivot with a ratio": (lambda: log().pivot(attribute="k", value="x", values=["a"],
                                               aggregate=lambda value: wb.sum(value) / 2), ["one aggregate", "wb.sum"]),
    "pivot with a text": (lambda: log().pivot(attribute="k", value="x", values=["a"], aggregate="sum"), ["a function"]),
    "bounds without windows": (lambda: log().sliding_window(3).aggregate(a=wb.window_end()),
                               ["window_end()", "tumbling or hopping window"]),
    "fill as a name": (lambda: log().aggregate(fill=wb.count()), ["'fill' is an option", "another name"]),
    "emit as a name": (lambda: log().aggregate(emit=wb.count() / 2), ["'emit' is an option"]),
    "a column with aggregates": (lambda: log().aggregate(a=wb.count() / col.x), ["count() / col.x", "wb.sum(col.x)"]),
    "types": (lambda: log().aggregate(a=wb.max(col.k) / wb.count()), ["string", "aggregate(a=max(col.k) / count())"]),
    "an aggregate of a row": (lambda: log().where(wb.count() > 3), ["count() is an aggregate of many rows"]),
    "overflow": (lambda: log().aggregate(a=wb.sum(col.x) * 2**62).collect(), ["overflow", "aggregate(a=...)"]),
    "fill of another": (lambda: log().tumbling_window(3).aggregate(n=wb.count(), fill={"m": 0}),
                        ["unknown result 'm'"]),
    "fill of a type": (lambda: log().tumbling_window(3).aggregate(n=wb.count(), fill={"n": "x"}),
                       ["must be int64", "'x'"]),
    "an endless gap": (
        lambda: wb.from_arrow({"at": [0, 2**40]}, time="at").tumbling_window(1).aggregate(n=wb.count(), fill=True)
        .collect(), ["because it is too long"]),
    "several values": (
        lambda: log().tumbling_window(5).pivot(attribute="k", value="x", values=["a"]).collect(),
        ["Attribute 'a' has several values", "pivot(attribute='k'", "aggregate=wb.first"]),
    "pivot of nothing": (lambda: log().pivot(attribute="k", value="x", values=[]), ["values="]),
    "unpivot of two types": (lambda: log().unpivot("k"), ["int64", "bool", "Cast"]),
    "unpivot of no column": (lambda: log().select("k").unpivot("k"), ["at least one column that is not a key"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_reported(mistake: str) -> None:
    action, parts = MISTAKES[mistake]
    with pytest.raises(wb.WhimbrelError) as caught:
        action()
    for part in parts:
        assert part in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 8
