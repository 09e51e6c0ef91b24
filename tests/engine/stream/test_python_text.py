"""The text of :meth:`whimbrel.Stream.python` builds the same plan again."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

import whimbrel as wb
from tests.engine.stream.printed import built_again
from whimbrel import col
from whimbrel.plan import Node
from whimbrel.testing import Query, strategies
from whimbrel.testing.rows import BatchedRows

LOG = wb.from_arrow({"at": [1, 4, 12], "k": ["a", "b", "a"], "x": [10, 20, 30], "tags": [["u"], [], ["v", "w"]]},
                    time="at", name="log")
TICKS = wb.from_arrow(pa.table({"ts": pa.array([1, 5, 61], pa.timestamp("s")), "k": ["a", "b", "a"],
                                "price": [1.0, 2.0, 3.0]}), time="ts", name="ticks")
MILLISECONDS = wb.from_arrow(pa.table({"ts": pa.array([1000, 5000, 61_500], pa.timestamp("ms")),
                                       "k": ["a", "b", "a"], "price": [1.0, 2.0, 3.0]}), time="ts", name="finer")
SIGNAL = wb.from_arrow({"at": range(8), "x": [1.0, 5, 2, 2, 4, 9, 1, 3]}, time="at", name="signal").drop("at").assume(
    periodic=1)
WINDOWS = LOG.where(col.x > 1).tumbling_window(10)
POWER = wb.aggregate(init=0.0, accumulate=lambda s, x: s + x * x, result=lambda s: s, name="power")


def in_abc(row: Any) -> bool:
    return str(row.k) in "abc"


def halves(block: Any, state: int) -> tuple[Any, int]:
    return {"half": block["x"] / 2}, state


def with_largest(group: wb.Stream) -> wb.Stream:
    sums = group.tumbling_window(10).aggregate(s=wb.sum(col.x))
    return sums.asof_join(sums.aggregate(m=wb.max(col.s)), on="k")


QUERIES: dict[str, Callable[[], wb.Stream]] = {
    "names that are no words of Python": lambda: LOG.select("k", **{"a b": col.x, "class": col("x") + 1}),
    "literals": lambda: TICKS.select(
        a=wb.lit(1), b=wb.lit("it's"), c=wb.lit(None).cast("int64"), d=wb.lit(float("inf")),
        e=col.ts > datetime(2020, 1, 1),
        f=col.ts - timedelta(seconds=3), g=col.price > Decimal("1.50"), h=col.price.cast("decimal(38, 2)"),
        i=col.ts > np.datetime64("2020-01-01T00:00:00.000000001")),
    "functions of times and texts": lambda: TICKS.select(
        "k", h=col.ts.dt.hour, m=col.ts.dt.floor("1m"), s=col.k.str.contains("a.", regex=True),
        i=col.k.is_in(["a", "b"]), c=wb.when(col.price > 1).then("x").otherwise(col.k), g=wb.greatest(col.price, 2.0)),
    "functions of a row": lambda: LOG.where(lambda e: e.x > 3).select(y=lambda e: e.x * 2 + 1),
    "functions that are no expressions": lambda: LOG.where(in_abc),
    "computed keys": lambda: LOG.tumbling_window(10).group_by("k", big=col.x > 15).aggregate(n=wb.count()),
    "keys that are renamed first": lambda: LOG.tumbling_window(10).group_by(col.k, y=col.x).group_by("at").aggregate(
        n=wb.count()),
    "aggregates": lambda: LOG.tumbling_window(10).aggregate(
        n=wb.count(), s=wb.sum(col.x, empty=None), m=wb.mean(col.x).where(col.k == "a"), d=wb.count_distinct(col.k),
        q=wb.quantile(col.x, 0.9, interpolation="discrete"), v=wb.var(col.x, sample=False), w=wb.window_start() // 60,
        c=wb.collect(col.x), t=wb.top_k(col.x, 2), f=wb.first(col.k), r=wb.max(col.x) - wb.min(col.x)),
    "epochs": lambda: LOG.group_by("k").epoch_aggregate(
        5, wb.count() == 0, offset=2, n=wb.running(wb.count()), p=wb.running(POWER(col.x))).last_rows(2),
    "an aggregate of users": lambda: LOG.tumbling_window(10).aggregate(p=POWER(col.x) / wb.count()),
    "empty windows": lambda: LOG.tumbling_window(5).group_by("k").aggregate(n=wb.count(), fill={"n": 0}),
    "changes only": lambda: LOG.hopping_window(10, 5, label="end").group_by("k").aggregate(emit="close", n=wb.count()),
    "sessions": lambda: LOG.group_by("k").session_window(5, max_duration=20).aggregate(n=wb.count()),
    "values at other times": lambda: LOG.group_by("k").select(
        "at", before=col.x.ago(3), last=col.x.previous(), past=wb.mean(col.x).past(10), total=wb.sum(col.x).so_far()),
    "filters": lambda: SIGNAL.select(x=wb.ema(col.x, halflife=3), y=wb.fir(col.x, [0.25] * 12)),
    "functions of time": lambda: LOG.select("x", "k").group_by("k").hold(limit=5),
    "samples": lambda: LOG.select("x").resample(3, how="linear", limit=8).between(3, 9),
    "over time": lambda: LOG.select("x").over_time(top=wb.max(col.x).past(5)),
    "segments": lambda: SIGNAL.rewindow(4, 2).select(r=col.x.seg.rms()),
    "blocks": lambda: SIGNAL.process(halves, state=0, gives={"half": pa.float64()}),
    "a pattern with names": lambda: LOG.group_by("k").detect(
        wb.sequence(low=col.x < 15, high=wb.event(col.x > wb.last_of("low").x).repeat(1, 3)).then(
            wb.event(col.x == 1) | wb.event(col.x == 2, total=wb.register.total + col.x)).optional().then(
                wb.event(col.x > 0)), within=10, register={"total": 0}, output={"low": wb.first_of("low").x}),
    "a stream twice": lambda: WINDOWS.cross_join(WINDOWS.aggregate(n=wb.count())),
    "groups with steps of their own": lambda: LOG.group_by("k").group_apply(
        lambda g: g.tumbling_window(10).aggregate(s=wb.sum(col.x)).where(col.s > 5)),
    "groups that meet themselves": lambda: LOG.group_by("k").group_apply(with_largest),
    "groups of groups": lambda: LOG.group_by("k").group_apply(
        lambda g: g.group_by("x").group_apply(lambda h: h.tumbling_window(10).aggregate(n=wb.count()))),
    "after the groups": lambda: LOG.tumbling_window(10).group_by("k").top_k(1, by="x").ungroup().aggregate(
        n=wb.count()),
    "joins": lambda: LOG.join(LOG.select("k", y=col.x), on="k", how="left", where=col.x < col.y).asof_join(
        LOG.shift(1), on={"k": "k"}, strict=True, suffix="_before").anti_join(LOG, "k").union(LOG.select(
            "at", "k", "x", "tags", y=col.x, at_before=col.at, x_before=col.x, tags_before=col.tags)),
    "units": lambda: TICKS.join(wb.from_arrow(pa.table({"t": pa.array([1], pa.timestamp("ms")), "k": ["a"]}), time="t",
                                              name="2 finer.parquet"), on="k"),
    "lists": lambda: LOG.explode("tags").distinct("tags"),
    "pivot": lambda: LOG.pivot(attribute="k", value="x", values=["a", "b"], aggregate=wb.first),
    "lifetimes": lambda: LOG.alter_lifetime(start=col.start + 5, duration=lambda e: e.x).extend(2).drop("tags").chop(
        5).stitch(),
}


@pytest.mark.parametrize("name", QUERIES)
def test_the_text_builds_the_query_again(name: str) -> None:
    stream = QUERIES[name]()
    again = built_again(stream)
    assert again.explain() == stream.explain()
    assert repr(again) == repr(stream)


@pytest.mark.long
@settings(max_examples=600, deadline=None)
@given(strategies.queries(max_steps=6))
def test_random_queries_come_back(query: Query) -> None:
    stream = query.build(*(wb.Stream(Node(BatchedRows([[]], name=name))) for name in "st"))
    assert repr(built_again(stream)) == repr(stream)


def test_other_sources_keep_the_text() -> None:
    query = LOG.where(col.x > 1).tumbling_window(5).aggregate(n=wb.count())
    other = wb.from_arrow({"at": [5], "k": ["a"], "x": [1]}, time="at", name="other")
    assert query.on(other).python() == query.python().replace("log", "other")


def test_the_text_is_as_users_write() -> None:
    windows = LOG.where(col.x > 1).tumbling_window(5)
    query = windows.group_by("k").aggregate(n=wb.count()).join(windows, on="k")
    assert query.python() == """\
import whimbrel as wb
from whimbrel import col


def query(log):
    stream_1 = log.where(col.x > 1).tumbling_window(5)
    return stream_1.group_by('k').aggregate(n=wb.count()).join(stream_1, 'k')"""


def test_long_arguments_stand_on_lines_of_their_own() -> None:
    text = LOG.select(**{f"column_{number}": col.x + number for number in range(8)}).python()
    assert max(map(len, text.splitlines())) <= 100
    assert "        column_7=col.x + 7,\n" in text


AT_LATENCIES: dict[str, Callable[[], wb.Stream]] = {
    "an aggregate": lambda: LOG.tumbling_window(5).aggregate(n=wb.count()).at_latencies(0, 5)[1],
    "a source alone": lambda: LOG.at_latencies(0, 5)[1],
    "steps after it": lambda: LOG.tumbling_window(5).group_by("k").aggregate(n=wb.count()).at_latencies(0, 5)[0].where(
        col.n > 1),
    "durations": lambda: TICKS.select("price").at_latencies(0, "90s")[1],
    "no latency": lambda: TICKS.select("price").at_latencies(0, "90s")[0],
    "two sources in two units": lambda: TICKS.join(
        MILLISECONDS, on="k").at_latencies("1s", "90s")[1],
    "one source twice": lambda: LOG.union(LOG.where(col.x > 10)).at_latencies(0, 5)[1],
    "keys at its end": lambda: LOG.group_by("k").at_latencies(0, 5)[1],
}


@pytest.mark.parametrize("name", AT_LATENCIES)
def test_the_text_of_one_latency_names_it(name: str) -> None:
    stream = AT_LATENCIES[name]()
    assert repr(again := built_again(stream)) == repr(stream)
    assert again.collect().equals(stream.collect())
    assert ".at_latencies(" in stream.python()
    if not stream.keys:
        streams: Any = {each.name: wb.Stream(Node(each)) for each in stream.sources}
        bands: Any = wb.sql(stream.sql(), **streams)
        assert [each.explain() for each in bands] == [stream.explain()]


def test_the_text_of_all_latencies_names_them() -> None:
    bands = LOG.tumbling_window(5).aggregate(n=wb.count()).at_latencies(0, 5)
    assert bands.python().endswith("return log.tumbling_window(5).aggregate(n=wb.count()).at_latencies(0, 5)")
    assert wb.sql(bands.sql(), log=LOG).explain() == bands.explain()
    assert TICKS.select("price").at_latencies(0, "90s").sql() == "SELECT price FROM ticks EMIT AT '0', '90s'"
    assert SPLIT.python().endswith("    return log.at_latencies(0, 5, partial=in_windows, merge=in_windows)")


def in_windows(rows: wb.Stream) -> wb.Stream:
    return rows.tumbling_window(5)


BANDS = LOG.at_latencies(0, 5)
SPLIT = LOG.at_latencies(0, 5, partial=in_windows, merge=in_windows)
NO_LATENCIES: list[tuple[Callable[[], str], str, str, str]] = [
    (BANDS.revisions[0].python,
     "The changelog of several latencies has no text of its own.",
     "python()", "Print all latencies together: bands.python()."),
    (SPLIT[1].python,
     "The split by partial= and merge= of several latencies has no text of its own.",
     "python()", "Print all latencies together: bands.python()."),
    (BANDS[0].union(BANDS[1]).python,
     "The query reads its sources at different latencies.",
     "python()", "Print each of its parts before they are combined."),
    (TICKS.at_latencies(0, 5)[1].union(MILLISECONDS).sql,
     "The query reads its sources at different latencies.",
     "sql()", "Print each of its parts before they are combined."),
    (SPLIT.sql,
     "SQL has no word for partial= and merge=.", "sql()", "Use python()."),
    (lambda: wb.sql("SELECT x FROM log ORDER BY x", log=BANDS[1]).sql(),
     "SQL has no EMIT AT with ORDER BY or LIMIT.", "sql()", "Use python()."),
]


@pytest.mark.parametrize(("make", "what", "where", "hint"), NO_LATENCIES)
def test_latencies_without_a_text(make: Callable[[], str], what: str, where: str, hint: str) -> None:
    with pytest.raises(wb.WhimbrelError) as error:
        make()
    assert str(error.value) == f"{what}\n  where: {where}\n  hint:  {hint}"


def test_plans_are_sent_without_the_arguments_of_calls() -> None:
    query = LOG.where(lambda e: e.x > 3)
    assert query.node.calls
    assert copy(query.node).calls == ()  # as in what Spark sends
