"""What a user reads when something is wrong: what, where in their own words, and a hint; never more than 8 lines."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import WhimbrelError

LOG = pa.table({"at": [1, 2], "price": [1.5, 2.5], "name": ["a", "b"], "big": [2**62, 2**62]})
OTHER = pa.table({"at": [1, 2], "price": ["x", "y"], "name": ["a", "b"], "big": [1, 2]})


def log() -> wb.Stream:
    return wb.from_arrow(LOG, time="at", name="log")


def far() -> wb.Stream:
    """A row at the end of nanoseconds."""
    return wb.from_arrow({"at": pa.array([2**63 - 8], pa.timestamp("ns")), "x": [1.5]}, time="at")


def other() -> wb.Stream:
    return wb.from_arrow({"at": [1, 2], "end": [5, 6]}, time="at", name="log")


MISTAKES: dict[str, tuple[Callable[[], object], list[str]]] = {
    "unknown column": (
        lambda: log().where(col.prise > 1),
        ["There is no column 'prise'.", "where(col.prise > 1)", "Use 'price'"],
    ),
    "unknown key": (lambda: log().group_by("nam"), ["There is no column 'nam'.", "Use 'name'"]),
    "column with a name of lifetimes": (
        lambda: log().select("price", end=1), ["'end' is a column of every result.", "select(end=...)"]),
    "key with a name of lifetimes": (
        lambda: other().group_by("end"), ["'end' is a column of every result.", "group_by(end=...)"]),
    "hidden column": (
        lambda: other().where(col.end > 5).collect(),
        ["Column 'end' of log has the name of a column for lifetimes", "columns of log", 'Use end="end" if it is that',
         "select(..., ended=col.end)"]),
    "hidden time": (
        lambda: wb.from_arrow({"at": [1], "start": [7]}, time="at").collect(),
        ["Column 'start' of table has the name of a column for lifetimes", 'Use time="start"', "started=col.start"]),
    "not a condition": (
        lambda: log().where(col.price + 1),
        ["must be boolean", "where(col.price + 1)", "Compare it"],
    ),
    "no condition": (lambda: log().where(), ["where() needs a condition"]),
    "wrong types": (lambda: log().select(sum=col.price + col.name), ["col.price + col.name", "double", "string"]),
    "sum of text": (lambda: log().aggregate(n=wb.sum(col.name)),
                    ["sum needs numbers, bools, decimals or durations, got string", "sum(col.name)"]),
    "mean of text": (lambda: log().aggregate(n=wb.mean(col.name)), ["got string"]),
    "min of lists": (lambda: log().aggregate(names=wb.collect(col.name)).aggregate(n=wb.min(col.names)),
                     ["min needs values with an order, got list<item: string>",
                      "Use numbers, bools, times, strings or bytes."]),
    "median of text": (lambda: log().aggregate(n=wb.median(col.name)),
                       ["Linear quantiles need numbers, got string.", 'interpolation="discrete"']),
    "quantile in percent": (lambda: wb.quantile(col.price, 95),
                            ["q must be between 0 and 1, got 95.", "Use a fraction, such as 0.95."]),
    "unknown interpolation": (lambda: wb.quantile(col.price, 0.5, interpolation="nearest"),  # type: ignore[arg-type]
                              ["got 'nearest'.", '"linear" or "discrete"']),
    "top none": (lambda: wb.top_k(col.price, 0), ["k must be an integer of at least 1, got 0."]),
    "not an aggregate": (lambda: log().aggregate(n=col.price), ["n must be an aggregate, got col.price", "wb.sum"]),
    "no aggregate": (lambda: log().aggregate(), ["needs at least one aggregate"]),
    "result without a name": (lambda: log().aggregate(wb.count()),
                              ["must have a name", "aggregate(count())", "such as aggregate(n=wb.count())"]),
    "no column": (lambda: log().select(), ["select() needs at least one column"]),
    "no key": (lambda: log().group_by(), ["group_by() needs a key"]),
    "unnamed column": (lambda: log().select(col.price * 2), ["col.price * 2 needs a name", "keyword"]),
    "two of a name": (lambda: log().select("price", price=col.price * 2), ["Two columns would be named 'price'"]),
    "clash of key and result": (
        lambda: log().group_by("name").aggregate(name=wb.count()),
        ["Two columns would be named 'name'"],
    ),
    "window of nothing": (lambda: log().tumbling_window(0), ["must be positive", "tumbling_window(0)"]),
    "hop of nothing": (lambda: log().hopping_window(5, 0), ["must be positive"]),
    "slide of nothing": (lambda: log().sliding_window(-1), ["must be positive"]),
    "label": (lambda: log().tumbling_window(5, label="middle"), ["'start' or 'end'", "'middle'"]),
    "duration on plain ticks": (
        lambda: log().tumbling_window("5m"),
        ["integer times", "tumbling_window('5m')", "ticks"],
    ),
    "join on nothing": (lambda: log().join(log(), on=[]), ["join() needs a key"]),
    "join with a table": (lambda: log().join(LOG, on="name"), ["needs a stream, got Table"]),  # type: ignore[arg-type]
    "join on other types": (
        lambda: log().join(wb.from_arrow(OTHER, time="at"), on="price"),
        ["Keys must have one type, got 'price' (double) and 'price' (string)", "Cast"],
    ),
    "join on unknown": (lambda: log().join(log(), on="nmae"), ["There is no column 'nmae'", "Use 'name'"]),
    "not a pattern": (lambda: log().detect(col.price > 1, within=5), ["needs a pattern", "wb.sequence"]),  # type: ignore[arg-type]
    "pattern of nothing": (
        lambda: log().detect(wb.event(col.price > 1).optional(), within=5),
        ["must match at least one event"],
    ),
    "within nothing": (lambda: log().detect(wb.event(col.price > 1), within=0), ["within must be positive"]),
    "empty sequence": (wb.sequence, ["A sequence needs at least one event"]),
    "other source, other type": (
        lambda: log().aggregate(n=wb.sum(col.price)).on(wb.from_arrow(OTHER, time="at", name="new")),
        ["Column 'price' must be double, got string", "on(new)"],
    ),
    "other source, no column": (
        lambda: log().aggregate(n=wb.sum(col.price)).on(wb.from_arrow(LOG.drop(["price"]), time="at")),
        ["has no column 'price'"],
    ),
    "other source, other time": (
        lambda: log().on(wb.from_arrow({"at": pa.array([1], pa.timestamp("s"))}, time="at")),
        ["The time column 'at' must be int64, got timestamp[s]"],
    ),
    "on a query": (lambda: log().on(log().where(col.price > 1)), ["got Stream", "without further steps"]),
    "on an unknown source": (lambda: log().on({"lgo": log()}), ["reads no source named 'lgo'", "Use 'log'"]),
    "replay of a query": (lambda: wb.replay(log().where(col.price > 1)), ["replay() needs a source"]),
    "sum beyond int64": (
        lambda: log().tumbling_window(5).aggregate(total=wb.sum(col.big)).collect(),
        ["integer sum leaves int64", "total=sum(col.big)"],
    ),
    "windows beyond time": (
        lambda: wb.from_arrow({"t": [2**63 - 5]}, time="t").tumbling_window(10).aggregate(n=wb.count()).collect(),
        ["too close to the limit of int64", "tumbling_window(10)", "placeholder"],
    ),
    "windows beyond time in panes": (
        lambda: far().hopping_window("4s", "2s").aggregate(n=wb.count()).at_latencies("0s", "2s").collect(),
        ["The time 2262-04-11 23:47:16.85", "4s must fit between", "hopping_window('4s', '2s')"],
    ),
    "windows beyond time in states": (
        lambda: far().hopping_window("4s", "2s").aggregate(m=wb.mean(col.x)).at_latencies("0s", "2s").collect(),
        ["The time 2262-04-11 23:47:16.85", "hopping_window('4s', '2s')"],
    ),
    "windows beyond time at latencies": (
        lambda: far().tumbling_window("4s").aggregate(n=wb.count()).at_latencies("0s", "2s").collect(),
        ["8s must fit between", "tumbling_window('4s')"],
    ),
    "windows before time": (
        lambda: wb.from_arrow({"t": [-(2**63) + 1]}, time="t").hopping_window(10, 5).collect(),
        ["too close to the limit of int64", "hopping_window(10, 5)"],
    ),
    "a slide beyond time": (
        lambda: wb.from_arrow({"t": [2**63 - 5]}, time="t").sliding_window(10).collect(),
        ["too close to the limit of int64"],
    ),
    "a latency below 2**63 ticks": (
        lambda: wb.from_arrow({"t": [1]}, time="t", reorder_latency=2**63),
        ["below 2**63 ticks"],
    ),
    "comparing with None": (lambda: log().where(col.price != None), ["null for every row", "is_null"]),  # noqa: E711
    "a list as key": (
        lambda: wb.from_arrow({"t": [1], "l": [[1]]}, time="t").group_by("l").aggregate(n=wb.count()).collect(),
        ["cannot be a key"],
    ),
    "a ragged table": (lambda: wb.from_arrow({"t": [1, 2], "x": [1]}, time="t"), ["Cannot convert", "equal length"]),
    "product beyond int64": (lambda: log().select(big=col.big * 4).collect(), ["overflow", "col.big * 4"]),
    "overflow inside an aggregate": (
        lambda: log().tumbling_window(5).aggregate(n=wb.max(col.big * 4)).collect(),
        ["overflow", "col.big * 4"],
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_reported_in_the_users_words(mistake: str) -> None:
    action, parts = MISTAKES[mistake]
    with pytest.raises(wb.WhimbrelError) as caught:
        action()
    text = str(caught.value)
    for part in parts:
        assert part in text
    assert len(text.splitlines()) <= 8
    assert caught.value._render_traceback_()[0].startswith(type(caught.value).__name__)


def test_columns_that_the_query_does_not_read_may_differ() -> None:
    query = log().aggregate(n=wb.count())
    assert query.on(wb.from_arrow(OTHER, time="at")).collect()["n"].to_pylist() == [1, 1]


def test_what_is_shown_has_a_length_that_is_read() -> None:
    wide = wb.from_arrow({"t": [1], **{f"c{number}": [1] for number in range(5000)}}, time="t")
    text = wb.from_arrow({"t": [1], "s": ["x" * 1_000_000]}, time="t")
    assert len(repr(wide)) < 3000
    assert len(text.where(col.s == "x" * 1_000_000).explain()) < 5000
    with pytest.raises(WhimbrelError) as caught:
        text.select(n=col.s.cast(int)).collect()
    assert len(str(caught.value)) < 3000
