"""Values at other times and of windows, in select, with_columns and where."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, col
from whimbrel.errors import KernelError, WhimbrelError
from whimbrel.testing.oracle import Event, differences
from whimbrel.testing.oracle import temporal as oracle

Pair = tuple[Any, oracle.At]
"""An expression of the engine, and what it means."""


def log(*events: tuple[int, int, Any], **columns: Any) -> Stream:
    rows = {"at": [at for at, _, _ in events], "until": [until for _, until, _ in events],
            "x": [x for _, _, x in events], **columns}
    return wb.from_arrow(rows, time="at", end="until", name="log").select("x", *columns)


def points(*values: Any, every: int = 1) -> Stream:
    return wb.from_arrow({"at": [every * row for row in range(len(values))], "x": list(values)}, time="at",
                         name="log").select("x")


def fold(of: Callable[[list[Any]], Any]) -> oracle.Fold:
    def values(rows: list[dict[str, Any]]) -> Any:
        there = [row["x"] for row in rows if row["x"] is not None]
        return of(there) if there else None
    return values


FOLDS: list[tuple[Any, oracle.Fold]] = [
    (wb.sum(col.x), lambda rows: sum(row["x"] or 0 for row in rows)), (wb.max(col.x), fold(max)), (wb.count(), len),
    (wb.mean(col.x), fold(lambda there: sum(there) / len(there))),
    (wb.max(col.x) - wb.min(col.x), fold(lambda there: max(there) - min(there))),
    (wb.count().where(col.x > 3), lambda rows: sum(row["x"] is not None and row["x"] > 3 for row in rows)),
]


def drawn_part(drawn: random.Random, depth: int) -> Pair:
    """A random expression, and its meaning."""
    kinds = ["column", "past", "rows", "cell", "so_far"] + (["ago", "ahead", "previous", "both"] if depth else [])
    match drawn.choice(kinds):
        case "column":
            return col.x, oracle.column(lambda row: row["x"])
        case "past":
            of, means = drawn.choice(FOLDS)
            back, ahead, least = drawn.randint(1, 20), drawn.choice([0, 0, 4]), drawn.choice([1, 1, 3])
            return of.past(back, ahead=ahead, min_rows=least), oracle.past(means, back, ahead, least)
        case "rows":
            of, means = drawn.choice(FOLDS)
            rows = drawn.randint(1, 6)
            least = drawn.choice([1, 1, min(3, rows)])
            return of.past(rows=rows, min_rows=least), oracle.past_rows(means, rows, least)
        case "cell":
            of, means = drawn.choice(FOLDS)
            size, offset = drawn.randint(1, 12), drawn.choice([0, 3])
            return of.cell(size, offset=offset), oracle.cell(means, size, offset)
        case "so_far":
            of, means = drawn.choice(FOLDS)
            if drawn.random() < 0.5:
                return of.so_far(reset=col.x > 6), oracle.so_far(means, lambda row: (row["x"] or 0) > 6)
            return of.so_far(), oracle.so_far(means)
        case "both":
            (left, one), (right, other) = drawn_part(drawn, depth - 1), drawn_part(drawn, depth - 1)
            return left - right, oracle.both(lambda a, b: a - b, one, other)
        case "previous":
            of, means = drawn_part(drawn, depth - 1)
            events = drawn.choice([1, 1, 2])
            return of.previous(events), oracle.previous(means, events)
        case kind:
            (of, means), ticks = drawn_part(drawn, depth - 1), drawn.randint(0, 9)
            return (of.ago(ticks), oracle.ago(means, ticks)) if kind == "ago" else (
                of.ahead(ticks), oracle.ago(means, -ticks))


def drawn_events(drawn: random.Random, *, lasting: bool, keys: bool) -> list[Event]:
    out: list[Event] = []
    for key in (["a", "b"] if keys else ["a"]):
        time = drawn.randint(-5, 5)
        for _ in range(drawn.randint(0, 25)):
            lasts = drawn.choice([1, 2, 5]) if lasting else 1
            out.append((time, time + lasts, {"x": drawn.choice([None, *range(9)]), "k": key}))
            time += lasts + drawn.choice([0, 0, 1, 6])
    return sorted(out, key=lambda event: event[0])


def stream_of(events: list[Event], *, lasting: bool) -> Stream:
    columns = {"at": [start for start, _, _ in events], "k": [row["k"] for _, _, row in events],
               "x": [row["x"] for _, _, row in events]}
    if lasting:
        columns["until"] = [end for _, end, _ in events]
    table = pa.table({name: pa.array(values, pa.string() if name == "k" else pa.int64())
                      for name, values in columns.items()})
    return wb.from_arrow(table, time="at", end="until" if lasting else None, name="log").select("x", "k")


@pytest.mark.parametrize("keys", [False, True], ids=["one key", "keys"])
@pytest.mark.parametrize("lasting", [False, True], ids=["points", "lasting"])
@pytest.mark.parametrize("seed", range(15))
def test_random_expressions_are_as_the_oracle_says(seed: int, lasting: bool, keys: bool) -> None:
    drawn = random.Random(seed)
    events = drawn_events(drawn, lasting=lasting, keys=keys)
    expr, means = drawn_part(drawn, 2)
    stream = stream_of(events, lasting=lasting)
    stream = stream.group_by("k") if keys else stream
    names = ["k"] if keys else []
    expected = oracle.taken_at_starts(events, {"x": oracle.column(lambda row: row["x"]), "z": means}, names)
    rows = stream.select("x", z=expr).collect().to_pylist()
    found = [(row["start"], row["end"], {"x": row["x"], "z": row["z"]}) for row in rows]
    given = [(start, end, {"x": payload["x"], "z": made["z"]}) for (start, end, payload), (_, _, made) in zip(
        events, expected, strict=True)]
    assert differences(given, found) == ([], []), expr


def test_a_missing_key_meets_nothing() -> None:
    stream = points(1, 2, 3).with_columns(k=wb.when(col.x == 2).then("a").otherwise(None)).group_by("k")
    found = stream.select("x", n=wb.count().past(5), before=col.x.previous(), total=wb.sum(col.x).so_far()).collect()
    assert found.select(["x", "n", "before", "total"]).to_pylist() == [
        {"x": 1, "n": None, "before": None, "total": None}, {"x": 2, "n": 1, "before": None, "total": 2},
        {"x": 3, "n": None, "before": None, "total": None}]


def test_a_trend_is_one_loop_and_is_what_operators_say() -> None:
    prices = points(*(np.arange(300) * 7 % 31).tolist()).assume(periodic=1)
    trend = prices.where(wb.mean(col.x).past(5) > wb.mean(col.x).past(20))
    short, long = (prices.sliding_window(width).aggregate(m=wb.mean(col.x)) for width in (5, 20))
    by_hand = prices.cross_join(short.cross_join(long, where=col.m > col.m_right))
    assert trend.collect()["x"].equals(by_hand.collect().slice(0, trend.collect().num_rows)["x"])
    assert trend.explain().split("runs as\n")[1].startswith("periodic_loop(")
    assert "note:" not in trend.explain()


def test_where_keeps_the_columns_and_groups_of_the_stream() -> None:
    stream = points(1, 5, 2, 6).with_columns(k=col.x % 2).group_by("k")
    kept = stream.where(col.x > wb.mean(col.x).past(10))
    assert kept.schema.names == ("x", "k")
    assert [name for name, _ in kept.keys] == ["k"]
    assert kept.collect()["x"].to_pylist() == [5, 6]


def test_with_columns_adds_to_what_is_there() -> None:
    stream = points(1, 4, 9).with_columns(step=col.x - col.x.previous(), x=col.x * 2)
    assert stream.select("x", "step").collect().to_pylist() == [
        {"start": 0, "end": 1, "x": 2, "step": None}, {"start": 1, "end": 2, "x": 8, "step": 3},
        {"start": 2, "end": 3, "x": 18, "step": 5}]


def test_a_part_inside_an_aggregate_is_taken_when_its_event_starts() -> None:
    gains = wb.sum(col.x - col.x.ago(1)).where(col.x > col.x.ago(1)).past(3)
    assert points(1, 4, 2, 9, 9).select(z=gains).collect()["z"].to_pylist() == [0, 3, 3, 10, 7]


def test_a_relative_strength_index_is_two_lines() -> None:
    change = col.x - col.x.ago(1)
    up, down = (wb.sum(sign * change).where(sign * change > 0).past(4).fill_null(0.0) for sign in (1, -1))
    values = [10.0, 11.0, 10.5, 12.0, 11.0]
    found = points(*values).select(rsi=100 * up / (up + down)).collect()["rsi"].to_pylist()
    assert found[-1] == pytest.approx(100 * 2.5 / 4.0)


def test_lasting_events_count_in_each_window_that_they_touch() -> None:
    levels = log((0, 10, 1), (10, 12, 2), (20, 30, 3))
    assert levels.select(n=wb.count().past(9)).collect()["n"].to_pylist() == [1, 2, 1]
    assert levels.sliding_window(9).aggregate(n=wb.count()).collect()["n"].to_pylist() == [1, 1, 1]


def test_what_looks_ahead_comes_later_and_is_the_same_live() -> None:
    log = wb.from_arrow({"at": range(50), "x": range(50)}, time="at", name="log")
    query = log.select(s=wb.sum(col.x).past(3, ahead=4), a=col.x.ahead(2))
    assert query.collect()["a"].to_pylist() == [*range(2, 50), None, None]
    assert query.node.properties.causal is False
    assert query.on(wb.replay(log, speed=float("inf"))).collect().equals(query.collect())
    came = wb.from_arrow({"at": range(50), "x": range(50), "seen": range(1, 51)}, time="at", arrival="seen",
                         reorder_latency=2, late="drop", name="log")
    assert query.certify(log, came).ok


def test_events_that_overlap_are_refused_with_their_time() -> None:
    with pytest.raises(KernelError, match="An event at 5 begins before the one before it has ended"):
        log((0, 10, 1), (5, 12, 2)).select(z=col.x.ago(1)).collect()
    with pytest.raises(KernelError, match="An event of k = 'a' at 5 begins"):
        log((0, 10, 1), (5, 12, 2), k=["a", "a"]).group_by("k").select(z=col.x.ago(1)).collect()


WRONG = {
    "negative": (lambda: col.x.ago(-3), "must not be negative, got -3", "Use ahead() for the other direction."),
    "negative ahead": (lambda: col.x.ahead(-3), "must not be negative, got -3", "Use ago() for the other direction."),
    "an empty window": (lambda: wb.sum(col.x).past(0), "needs a window that is longer than 0", 'past("20m")'),
    "an empty window before": (lambda: wb.sum(col.x).past(0).ago(1), "needs a window that is longer than 0", "past("),
    "no number": (lambda: wb.sum(col.x).past(3, min_rows="a"), "min_rows must be a number of at least 1, got 'a'", ""),
    "no rows in a window": (lambda: wb.sum(col.x).past(3, min_rows=0), "min_rows must be a number of at least 1, got 0",
                            "Use min_rows=10, or remove it."),
    "no rows of some": (lambda: wb.sum(col.x).past(rows=3, min_rows=0), "of at least 1, got 0", "Use min_rows=10"),
    "a bound of a window": (lambda: (wb.sum(col.x) + wb.window_start()).past(2), "window_start() is none", ""),
    "too far": (lambda: col.x.ago(2**63 - 1), "is too long", "Use a shorter duration"),
    "too long": (lambda: wb.sum(col.x).past(2**63 - 1), "is too long", "so_far()"),
    "a duration": (lambda: col.x.previous("1m"), "a number of events of at least 1, got '1m'", 'ago("1m")'),
    "an empty cell": (lambda: wb.sum(col.x).cell(0), "must be positive", ""),
    "no aggregate": (lambda: col.x.past(3), "past() follows an aggregate, or arithmetic of aggregates; x is none",
                     "wb.mean(col.x).past(3)"),
    "a reset that is no condition": (lambda: wb.sum(col.x).so_far(reset=col.x), "reset must be boolean, got col.x of",
                                     "Compare it with a value"),
    "a reset of an unknown column": (lambda: wb.sum(col.x).so_far(reset=col.y), "y", ""),
    "a reset of a sketch": (lambda: wb.approx_quantile(col.x, 0.5).so_far(reset=col.x > 1), "cannot use approx_quant",
                            "Use an exact aggregate."),
    "a negative duration": (lambda: wb.aggregate(init=0, accumulate=max, result=abs, forgets=-1,
                                                 name="u")(col.x).so_far(), "must not be negative, got -1", ""),
    "no duration": (lambda: wb.aggregate(init=0, accumulate=max, result=abs, forgets=1.5, name="u"),
                    "forgets must be a duration, got 1.5", 'forgets="10m"'),
    "a mean of what": (lambda: wb.ema(col.x), "either halflife= or alpha=", 'halflife="10s"'),
    "a mean of both": (lambda: wb.ema(col.x, halflife=3, alpha=0.5), "either halflife= or alpha=", "alpha=0.1"),
    "no weight": (lambda: wb.ema(col.x, alpha=0), "above 0 and at most 1, got 0", "alpha=0.1"),
    "too much weight": (lambda: wb.ema(col.x, alpha=1.5), "above 0 and at most 1, got 1.5", ""),
    "no halflife": (lambda: wb.ema(col.x, halflife=0), "halflife must be positive, got 0", ""),
    "a negative halflife": (lambda: wb.ema(col.x, halflife=-5), "must not be negative, got -5", ""),
    "a mean of words": (lambda: wb.ema(col.x.cast(str), alpha=0.5), "ema needs numbers, got string", ".cast(float)"),
    "a mean of an unknown column": (lambda: wb.ema(col.y, alpha=0.5), "y", ""),
    "a filter of words": (lambda: wb.iir(col.x.cast(str), b=[1], a=[1]), "iir needs numbers, got string", ""),
    "a filter of nothing": (lambda: wb.iir(col.x), "either b= and a=, or sos=", "scipy.signal.butter"),
    "half of a filter": (lambda: wb.iir(col.x, b=[1]), "iir() needs a= as well", "a=[1.0]"),
    "no first coefficient": (lambda: wb.iir(col.x, b=[1], a=[0, 1]), "first coefficient of a must not be 0", ""),
    "no coefficients": (lambda: wb.iir(col.x, b=[1], a=[]), "a must be finite numbers, at least one, got []", ""),
    "no numbers": (lambda: wb.iir(col.x, b=["x"], a=[1]), "b must be finite numbers, at least one, got ['x']", ""),
    "no finite numbers": (lambda: wb.iir(col.x, b=[1], a=[1, float("nan")]), "a must be finite numbers", ""),
    "no sections": (lambda: wb.iir(col.x, sos=[]), "at least one section, got none", ""),
    "a short section": (lambda: wb.iir(col.x, sos=[[1, 2, 3]]), "six numbers with a fourth of 1", 'output="sos"'),
    "no aggregate so far": ((col.x + 1).so_far, "so_far() follows an aggregate", "wb.mean(col.x)"),
    "no rows": (lambda: wb.sum(col.x).past(rows=0), "at least 1, got 0", ""),
    "rows and a duration": (lambda: wb.sum(col.x).past(3, rows=2), "either a duration or rows=", "past(rows=10)"),
    "neither": (lambda: wb.sum(col.x).past(), "either a duration or rows=", "past(rows=10)"),
    "rows ahead": (lambda: wb.sum(col.x).past(rows=2, ahead=1), "ahead= goes with a duration", "past(rows=10)"),
    "more rows than there are": (lambda: wb.sum(col.x).past(rows=3, min_rows=5), "min_rows must be at most rows", ""),
    "an end without a start": (lambda: wb.aggregate(init=0, accumulate=lambda s, x, end: s + x + end, name="u",
                                                       result=abs)(
        col.x).past(3), "accumulate takes end without start", "start, end"),
    "no events": (lambda: col.x.previous(0), "at least 1, got 0", ""),
    "a unit": (lambda: col.x.ago("5m"), "5m", ""),
    "an unknown column": (lambda: col.y.ago(3), "y", ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_part_is_refused_before_any_row(name: str) -> None:
    build, words, hint = WRONG[name]
    with pytest.raises(WhimbrelError) as failed:
        points(1, 2).select(z=build())
    assert words in str(failed.value)
    assert hint in str(failed.value)


def test_parts_are_refused_elsewhere() -> None:
    for query in (lambda s: s.group_by(k=col.x.ago(1)), lambda s: s.aggregate(m=wb.sum(col.x).past(3)),
                  lambda s: s.set_duration(col.x.ago(1)), lambda s: s.cross_join(s, where=col.x.ago(1) > 3)):
        with pytest.raises(WhimbrelError, match=r"select\(\), with_columns\(\) or where\(\)"):
            query(points(1, 2)).collect()


def test_parts_are_shown_as_they_were_written() -> None:
    mean = (wb.mean(col.x) + 3 * wb.std(col.x)).past("10s", ahead="1s", min_rows=5).previous()
    assert mean.show() == "(mean(col.x) + 3 * std(col.x)).past('10s', ahead='1s', min_rows=5).previous()"
    assert wb.max(col.x).cell("1d", offset="2h").show() == "max(col.x).cell('1d', offset='2h')"
    assert col.x.ago(3).ahead(2).show() == "col.x.ago(3).ahead(2)"


@pytest.mark.parametrize("keys", [False, True], ids=["one key", "keys"])
@pytest.mark.parametrize("lasting", [False, True], ids=["points", "lasting"])
@pytest.mark.parametrize("seed", range(8))
def test_functions_of_time_are_as_the_oracle_says_at_every_tick(seed: int, lasting: bool, keys: bool) -> None:
    drawn = random.Random(1_000 + seed)
    events = drawn_events(drawn, lasting=lasting, keys=keys)
    expr, means = drawn_part(drawn, 1)
    stream = stream_of(events, lasting=lasting)
    found = (stream.group_by("k") if keys else stream.select("x")).over_time(z=expr).collect().to_pylist()
    for key in "ab" if keys else "a":
        mine = [event for event in events if event[2]["k"] == key]
        rows = [row for row in found if not keys or row["k"] == key]
        for time in range(-20, 120):
            there = [row["z"] for row in rows if row["start"] <= time and (row["end"] is None or time < row["end"])]
            assert len(there) <= 1
            assert (there or [None])[0] == means(mine, time), (expr, key, time)


def test_a_function_of_time_goes_on_until_its_last_window_is_empty() -> None:
    found = points(4, 6).over_time(n=wb.count().past(3)).collect().to_pylist()
    assert [(row["start"], row["end"], row["n"]) for row in found] == [(0, 1, 1), (1, 3, 2), (3, 4, 1)]


def test_held_values_last_until_the_next_of_their_key() -> None:
    stream = points(1, 2, 3, 4, every=10).with_columns(k=col.x % 2)
    found = stream.group_by("k").hold(limit=25).collect().to_pylist()
    assert [(row["start"], row["end"], row["x"]) for row in found] == [
        (0, 20, 1), (10, 30, 2), (20, 45, 3), (30, 55, 4)]
    assert stream.hold().collect()["end"].to_pylist() == [10, 20, 30, None]
    means = stream.hold(limit=10).select(m=wb.count().past(15)).collect()["m"].to_pylist()
    assert means == [1, 2, 3, 3]


def test_over_time_needs_a_column() -> None:
    with pytest.raises(WhimbrelError, match=r"over_time\(\) needs at least one column"):
        points(1).over_time()
    with pytest.raises(WhimbrelError, match=r"over_time\(\) needs a column or a temporal part"):
        points(1).over_time(m=1)
    with pytest.raises(WhimbrelError, match=r"count\(\) is an aggregate of many rows") as failed:
        points(1).over_time(x=col.x, n=wb.count())
    assert failed.value.where == "over_time(n=count())"
    with pytest.raises(WhimbrelError, match="There is no column 'z'") as failed:
        points(1).over_time(z=col.z + 1)
    assert failed.value.where == "over_time(z=col.z + 1)"


def test_values_at_multiples_need_no_column() -> None:
    found = points(1, 2, every=3).over_time(every=5, n=wb.count().past(3), e=col.x.ago(3).exists()).collect()
    assert found.select(["start", "n", "e"]).to_pylist() == [
        {"start": 0, "n": 1, "e": False}, {"start": 5, "n": 1, "e": False}]


def test_a_key_that_was_left_out_is_named() -> None:
    stream = points(1, 2, 3).with_columns(k=col.x % 2).group_by("k").select("x")
    for query in (lambda: stream.select(p=col.x.previous()), lambda: stream.over_time(n=wb.count().past(3)),
                  lambda: stream.where(col.x > col.x.previous())):
        with pytest.raises(WhimbrelError, match="There is no column 'k', by which the stream is grouped") as failed:
            query()
        assert "Keep the key: select('k', ...)" in str(failed.value)


def test_functions_of_time_do_not_replace_keys() -> None:
    stream = points(1, 2, 3).with_columns(k=col.x % 2).group_by("k")
    for every in (None, 2):
        with pytest.raises(WhimbrelError, match="'k' is the name of a group key"):
            stream.over_time(every=every, k=wb.mean(col.x).past(5))
        assert stream.over_time(every=every, k=col.k, m=wb.mean(col.x).past(5)).schema.names == ("k", "m")


def test_values_that_are_held_have_multiples_until_the_last_event_of_their_key() -> None:
    held = points(1, 2, 3, every=5).hold()
    assert held.collect()["end"].to_pylist() == [5, 10, None]
    found = held.over_time(every=2, x=col.x).collect()
    assert found.select(["start", "x"]).to_pylist() == [
        {"start": 0, "x": 1}, {"start": 2, "x": 1}, {"start": 4, "x": 1}, {"start": 6, "x": 2}, {"start": 8, "x": 2},
        {"start": 10, "x": 3}]
    windows = held.over_time(every=2, n=wb.count().past(4), x=col.x).collect()
    assert windows["start"].to_pylist() == [0, 2, 4, 6, 8, 10, 12]
    assert windows["x"].to_pylist()[-2:] == [3, None]  # whatever other columns read


def test_cells_of_an_event_that_never_ends_are_refused() -> None:
    with pytest.raises(KernelError, match="the event that is still active at 2 because its end is unknown") as failed:
        points(1, 2, 3).hold().over_time(n=wb.count().cell(5)).collect()
    assert "hold(limit=...)" in str(failed.value)


def test_overlapping_events_are_both_named() -> None:
    with pytest.raises(KernelError, match="at 4 begins before the one before it has ended, which is from 1 to 9"):
        log((1, 9, 1), (4, 10, 2)).select(a=col.x.ago(1)).collect()


def test_parts_are_per_key_within_group_apply() -> None:
    stream = points(1, 2, 3, 4, 5).with_columns(k=col.x % 2).group_by("k")
    query = stream.group_apply(lambda group: group.select(step=col.x - col.x.previous()).where(
        col.step.is_null() | (col.step == col.step.previous())))
    assert query.collect().select(["start", "k", "step"]).to_pylist() == [
        {"start": 0, "k": 1, "step": None}, {"start": 1, "k": 0, "step": None}, {"start": 4, "k": 1, "step": 2}]


def test_computed_keys_are_keys() -> None:
    query = points(1, 2, 3, 4).group_by(odd=col.x % 2 == 1).with_columns(before=col.x.previous())
    assert query.collect()["before"].to_pylist() == [None, None, 1, 2]
    assert query.schema.names == ("x", "before")
    assert points(1, 2, 3).group_by(odd=col.x % 2 == 1).over_time(n=wb.count().past(9)).schema.names == ("odd", "n")


@pytest.mark.parametrize("every", [1, 3, 10])
@pytest.mark.parametrize("seed", range(4))
def test_values_at_multiples_are_those_of_the_function(seed: int, every: int) -> None:
    drawn = random.Random(2_000 + seed)
    events = drawn_events(drawn, lasting=True, keys=False)
    stream = stream_of(events, lasting=True).select("x")
    found = stream.over_time(every=every, m=wb.max(col.x).past(7), d=col.x.ago(2)).collect().to_pylist()
    expected = {time: (oracle.past(fold(max), 7)(events, time), oracle.ago(oracle.column(lambda row: row["x"]), 2)(
        events, time)) for time in range(-30, 150) if time % every == 0}
    assert all(row["start"] % every == 0 and row["end"] == row["start"] + every for row in found)
    assert {row["start"]: (row["m"], row["d"]) for row in found if (row["m"], row["d"]) != (None, None)} == {
        time: values for time, values in expected.items() if values != (None, None)}


def test_values_at_multiples_of_calendar_durations() -> None:
    at = pa.array(np.arange(0, 86_400 * 3, 7_777), pa.timestamp("s", "Europe/Berlin"))
    log = wb.from_arrow(pa.table({"at": at, "x": np.arange(len(at))}), time="at").select("x").hold(limit="3h")
    found = log.over_time(every="6h", x=col.x).collect()
    assert found["start"].cast(pa.int64()).to_pylist() == list(range(0, 86_400 * 3 + 1, 21_600))
    assert found["x"].to_pylist() == [start // 7_777 for start in range(0, 86_400 * 3 + 1, 21_600)]


def test_columns_of_any_name_keep_their_values() -> None:
    names = {"value before": [7, 7, 7], "end of the value": [8, 8, 8], "col.x.ago(1)": [9, 9, 9],
             "col.x.previous()": [6, 6, 6], "number of a later row": [5, 5, 5], "count().so_far()": [4, 4, 4]}
    for stream in (wb.from_arrow({"at": [0, 1, 2], "x": [1, 2, 3], **names}, time="at").select("x", *names),
                   log((0, 1, 1), (1, 2, 2), (2, 3, 3), **names)):
        query = stream.with_columns(a=col.x.ago(1), b=col.x.previous(), c=wb.sum(col.x).past(rows=2))
        found = query.collect()
        assert {name: found[name].to_pylist() for name in names} == names
        assert [found[name].to_pylist() for name in "abc"] == [[None, 1, 2], [None, 1, 2], [1, 3, 5]]
        assert query.schema.names == ("x", *names, "a", "b", "c")


def test_functions_of_the_same_name_are_not_confused() -> None:
    one, ten = (wb.aggregate(init=0, accumulate=lambda s, x, n=n: s + n * x, result=lambda s: s, name="u",
                             returns=pa.int64()) for n in (1, 10))
    for build in (lambda s: s.select(a=one(col.x).so_far(), b=ten(col.x).so_far()),
                  lambda s: s.select(z=one(col.x).so_far() + ten(col.x).so_far())):
        with pytest.raises(WhimbrelError, match="Two different functions have the same text"):
            build(points(1, 2, 4))


def test_the_events_own_times_are_read_before_a_window_changes_them() -> None:
    levels = log((0, 5, 1), (10, 12, 2))
    for part in (wb.sum(wb.end_time() - wb.start_time()).past(20), wb.max(wb.end_time()).so_far(),
                 (wb.start_time() - col.x.previous()).ago(1)):
        with pytest.raises(WhimbrelError, match="The start and end of events cannot be read inside of this part"):
            levels.select(d=part)
    lasting = levels.with_columns(d=wb.end_time() - wb.start_time()).select(d=wb.sum(col.d).past(20))
    assert lasting.collect()["d"].to_pylist() == [5, 7]
    with pytest.raises(WhimbrelError, match="A function of time has no start and end of events"):
        levels.over_time(z=wb.start_time(), y=wb.sum(col.x).past(2))


def test_events_without_a_key_are_held_and_have_no_parts() -> None:
    rows = {"at": [0, 1, 2, 2], "x": [1, 2, 3, 4], "k": ["a", None, None, None]}
    held = wb.from_arrow(rows, time="at").group_by("k").hold(limit=5)
    assert held.collect()["end"].to_pylist() == [5, 6, 7, 7]
    found = held.select("x", p=col.x.previous(), n=wb.count().past(3)).collect()
    assert sorted(found["x"].to_pylist()) == [1, 2, 3, 4]
    assert found["p"].null_count == 4
    assert sorted(found["n"].to_pylist(), key=str) == [1, None, None, None]


def test_held_events_are_one_at_a_time() -> None:
    with pytest.raises(KernelError, match="begins before the one before it has ended") as failed:
        wb.from_arrow({"at": [0, 1, 1], "x": [1, 2, 3]}, time="at").hold(limit=10).collect()
    assert "group_by(...)" in failed.value.hint
    for stream, known in ((points(1, 2, 4), "non-overlapping"), (points(1, 2).group_by("x"), "non-overlapping per x")):
        for limit in (None, 3):
            assert known in stream.hold(limit=limit).explain().splitlines()[0]


def test_many_previous_events_are_traced_in_time() -> None:
    query = points(*range(30)).select("x", p=col.x.previous(12))
    found = query.lineage(start=20)
    assert found.events["log"]["x"].to_pylist()[0] == 0
    assert len(repr(found)) < 20_000


def test_errors_name_the_part() -> None:
    fails = wb.aggregate(init=0.0, accumulate=lambda s, x: s + 1 / (x - 2), result=lambda s: s, name="fails")
    for part, words, where in ((wb.sum(col.x * 2**61).past(5), "integer", "past(5)"),
                               ((wb.max(col.x) * 2**62).past(rows=2), "integer overflow", "past(rows=2)"),
                               (fails(col.x.cast(float)).cell(9), "ZeroDivisionError", "cell(9)")):
        with pytest.raises(KernelError, match=words) as failed:
            points(1, 2, 3).select(z=part).collect()
        assert where in failed.value.where
