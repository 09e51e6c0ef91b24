"""Each bad input that a temporal query may have gives an error with a hint, before any row where that is possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, col
from whimbrel.errors import KernelError, WhimbrelError

AT = np.datetime64("2024-01-01", "ms") + np.arange(50) * np.timedelta64(1_000, "ms")


def log() -> Stream:
    return wb.from_arrow({"t": AT, "x": np.arange(50.0)}, time="t", name="log").select("x")


def zoned(times: Any) -> pa.Array:
    return pa.array(times).cast(pa.timestamp("ms", "Europe/Berlin"))


def zoned_log() -> Stream:
    return wb.from_arrow({"t": zoned(AT), "x": np.arange(50.0)}, time="t")


def feed() -> Stream:
    return wb.feeds.iterator(lambda: [{"t": AT[0].item(), "x": 1.0}], time="t", reorder_latency=0,
                             schema={"t": "timestamp[ms]", "x": "float64"}).select("x")


shorter: Any = wb.aggregate(init=(0.0, 0.0), accumulate=lambda s, x: (s[0] + x,), result=lambda s: s[0], name="shorter")

BEFORE_ANY_ROW: dict[str, tuple[Callable[[], Any], str, str]] = {
    "negative ago": (lambda: log().select(z=col.x.ago("-1s")), "must not be negative, got '-1s'", "Use ahead()"),
    "window of 0": (lambda: log().select(z=wb.sum(col.x).past(0)), "longer than 0", 'past("20m")'),
    "every that does not divide the period": (
        lambda: log().assume(periodic="1s").over_time(every="1500ms", z=wb.sum(col.x).past("2s")),
        "every must be a multiple of the period of the samples, '1s', or divide it", "every='2s'"),
    "every that does not divide a rate": (
        lambda: log().assume(rate=3, gaps=True).over_time(every="500ms", z=wb.sum(col.x).past("2s")),
        "every must be a multiple of the period of the samples, 1000/3 ticks, or divide it", "every='1s'"),
    "past of no aggregate": (lambda: log().select(z=col.x.past("1s")), "x is none", "wb.mean(col.x).past('1s')"),
    "rows and a duration": (lambda: log().select(z=wb.sum(col.x).past("1s", rows=3)),
                            "either a duration or rows=", "past(rows=10)"),
    "no limit of a live line": (lambda: feed().resample("1s", how="linear").start(),
                                "resample() of the feed 'iterator' needs a limit", 'limit="1m"'),
    "a whole live log": (lambda: feed().tumbling_window(wb.WHOLE).aggregate(n=wb.count()).start(),
                         "known when the log ends, but the feed 'iterator' does not end", 'tumbling_window("1h")'),
    "borders of the whole log": (lambda: log().tumbling_window(None, closed="both"), "borders of its own", "Leave"),
    "a label of the whole log": (lambda: log().tumbling_window(wb.WHOLE, label="end"), "label='end' does not apply",
                                 "Leave label= out; for the time of the last event"),
    "distinct within of no id": (lambda: log().distinct_within("1s"), "needs an id", 'by="id"'),
    "a limit of no filling": (lambda: log().tumbling_window("1s").aggregate(n=wb.count(), fill=True, fill_limit=2),
                              'needs fill="previous", got 2', "fill_limit=3"),
    "sessions that overlap": (lambda: wb.calendar({"open": [0, 5], "close": [6, 9]}),
                              "must not overlap, got 0 to 6 in row 0", "Sort the rows"),
    "sessions of texts": (lambda: wb.calendar({"open": ["a"], "close": ["b"]}), "got string and string", "timestamps"),
    "a calendar of integers": (lambda: log().tumbling_window(wb.calendar({"open": [0.5], "close": [6]})),
                               "of one type of time, got double and int64", "timestamps"),
    "sessions of integers for times": (lambda: log().tumbling_window(wb.calendar({"open": [0], "close": [6]})),
                                       "has int64, but the times of the stream are timestamp[ms]",
                                       "sessions of timestamps"),
    "sessions of times for integers": (
        lambda: wb.from_arrow({"t": [1, 2]}, time="t").tumbling_window(wb.calendar({"open": AT[:1], "close": AT[1:2]})),
        "has timestamp[ms], but the times of the stream are int64", "sessions of integers"),
    "sessions without a zone": (lambda: zoned_log().tumbling_window(wb.calendar({"open": AT[:1], "close": AT[1:2]})),
                                "timestamp[ms] and timestamp[ms, tz=Europe/Berlin]",
                                "assume_timezone(column, 'Europe/Berlin')"),
    "sessions with a zone": (
        lambda: log().tumbling_window(wb.calendar({"open": zoned(AT[:1]), "close": zoned(AT[1:2])})),
        "tz=Europe/Berlin] and timestamp[ms]", "local_timestamp(column)"),
    "no min_rows": (lambda: wb.mean(col.x).min_rows(0), "must be an integer of at least 1, got 0", "min_rows(3)"),
    "min_rows of a formula": (lambda: (wb.max(col.x) - wb.min(col.x)).min_rows(3), "has no 'min_rows'",
                              "wb.when(wb.count(col.x) >= 3).then(formula).otherwise(None)"),
    **{f"min_rows in {name}()": (lambda name=name: getattr(wb, name)(col.x, min_rows=3),
                                 f"{name}() has no argument 'min_rows'", ".min_rows(3) of the aggregate")
       for name in ("count", "sum", "mean", "min", "max", "var", "std", "median", "quantile")},
    "a condition in an aggregate": (lambda: wb.count(where=col.x > 1), "no argument 'where'", ".where(...) of the"),
    "no such borders": (lambda: log().sliding_window("1s", closed="neither"), "closed must be 'left'", "'both'"),
    "no a[0]": (lambda: log().select(z=wb.iir(col.x, b=[1], a=[0, 1])), "first coefficient of a must not be 0, got 0",
                "Leave out leading zeros"),
    "weights that change all the time": (lambda: log().over_time(z=wb.time_mean(col.x).past("3s")),
                                         "weighed by duration changes all the time", 'every="1s"'),
}


@pytest.mark.parametrize("name", BEFORE_ANY_ROW)
def test_a_mistake_is_an_error_before_any_row(name: str) -> None:
    build, words, hint = BEFORE_ANY_ROW[name]
    with pytest.raises(WhimbrelError) as failed:
        build()
    assert words in failed.value.what
    assert hint in failed.value.hint


WITH_THE_ROW: dict[str, tuple[Callable[[], Stream], str, str]] = {
    "state of another shape": (lambda: log().select(z=shorter(col.x).so_far()),
                               "accumulate of shorter gave (1.5,) for a state like (0.0, 0.0)",
                               "with the shape of init"),
    "state of another shape in a window": (lambda: log().select(z=shorter(col.x).past("3s")),
                                           "accumulate of shorter gave (1.5,)", "with the shape of init"),
    "overlapping events": (lambda: log().set_duration("5s").select(z=col.x.ago("1s")),
                           "2024-01-01 00:00:01 begins before the one before it has ended, which is from 2024-01-01",
                           "use group_by(...)"),
}


@pytest.mark.parametrize("name", WITH_THE_ROW)
def test_a_mistake_of_rows_is_an_error_that_names_them(name: str) -> None:
    build, words, hint = WITH_THE_ROW[name]
    with pytest.raises(WhimbrelError) as failed:
        build().collect()
    assert words in failed.value.what
    assert hint in failed.value.hint


def test_what_is_legal_but_slow_or_risky_is_a_note() -> None:
    unstable = log().select(z=wb.iir(col.x, b=[1], a=[1, -2])).explain()
    assert "note: a filter of col.x is unstable: a pole has the magnitude 2, not less than 1" in unstable
    median = log().select(z=wb.median(col.x).past("3s") + wb.mean(col.x).past("3s")).explain()
    assert "is not over time: median(col.x) keeps all values of a window" in median


def test_an_error_names_what_the_user_wrote() -> None:
    near = wb.from_arrow({"t": [2**63 - 5], "x": [1.0]}, time="t").select("x")
    twice = wb.from_arrow({"t": [0, 0], "x": [1.0, 2.0]}, time="t").select("x")
    total = wb.sum(col.x)
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: log().hold(limit="0s"), "hold(limit='0s')"),
        (lambda: near.hold(limit=1_000).collect(), "hold(limit=1000)"),
        (lambda: near.set_duration(1_000).collect(), "set_duration(1000)"),
        (lambda: twice.hold(limit=3).collect(), "hold(limit=3)"),
        (lambda: twice.select(m=total.past(5)).collect(), "select(m=sum(col.x).past(5))"),
        (lambda: twice.where(total.past(5) > 1).collect(), "where(sum(col.x).past(5) > 1)"),
        (lambda: twice.over_time(m=total.past(5)).collect(), "over_time()"),
        (lambda: twice.over_time(every=2, m=total.past(5)).collect(), "over_time(every=2)"),
        (lambda: wb.iir(col.x), "iir(col.x)"),
        (lambda: wb.ema(col.x + 1, alpha=2), "ema(col.x + 1)"),
        (lambda: wb.fir(col.x, []), "fir(col.x)"),
    ]
    for build, where in wrong:
        with pytest.raises(WhimbrelError) as failed:
            build()
        assert failed.value.where == where


def test_an_aggregate_among_values_of_rows_needs_a_window() -> None:
    for build in (lambda: log().select(a=wb.sum(col.x)), lambda: log().where(wb.sum(col.x) > 3),
                  lambda: log().select(a=wb.sum(col.x).so_far(reset=wb.sum(col.x) > 3))):
        with pytest.raises(WhimbrelError) as failed:
            build()
        assert failed.value.hint == "Compute it first with aggregate(...), or add .past(...) or .so_far() to it."


@pytest.mark.parametrize("every", ["1s", "3s", "500ms", "250ms"])
def test_multiples_and_parts_of_a_period_are_legal(every: str) -> None:
    samples = log().assume(periodic="1s")
    assert samples.over_time(every=every, z=wb.sum(col.x).past("2s")).collect().num_rows > 10


def test_an_unknown_order_is_found_at_the_row() -> None:
    with pytest.raises(KernelError):
        log().union(log()).select(z=col.x.ago("1s")).collect()


def test_an_event_without_an_end_is_not_shown_by_a_number() -> None:
    rows = wb.from_arrow({"start": [0, 5], "end": [None, 7], "x": [1.0, 2.0]}, time="start", end="end")
    with pytest.raises(WhimbrelError, match="which has no end and is from 0 on"):
        rows.select(z=col.x.ago(1)).collect()


def test_an_error_of_a_running_value_names_the_part() -> None:
    lost = wb.aggregate(init=0.0, accumulate=lambda s, x: s + x, result=lambda s: s.nowhere, name="lost")
    with pytest.raises(WhimbrelError, match="failed") as failed:
        log().where(lost(col.x).so_far() > 0).collect()
    assert failed.value.where == "lost(col.x).so_far()"


def test_counts_may_be_numpy_integers() -> None:
    query = log().select(z=wb.mean(col.x).past(rows=np.int64(2), min_rows=np.int8(1)), y=col.x.previous(np.int16(1)))
    assert query.explain() == log().select(z=wb.mean(col.x).past(rows=2), y=col.x.previous()).explain()
