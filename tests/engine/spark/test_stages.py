"""Which stages a query is cut into. No Spark is needed for that."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

import whimbrel as wb
from whimbrel import Stream, WhimbrelError, col
from whimbrel.errors import MissingExtraError
from whimbrel.spark import local_session
from whimbrel.spark.execution import stages
from whimbrel.spark.stages import divide

ROWS = {"at": [1, 4], "k": [1, 2], "s": ["a", "b"], "x": [1, 5]}
log = wb.from_arrow(ROWS, time="at", name="log")
other = wb.from_arrow(ROWS, time="at", name="other").rename(y="x")

spread = wb.aggregate(init=(0, 0), accumulate=lambda s, x: (min(s[0], x), max(s[1], x)),
                      merge=lambda s, t: (min(s[0], t[0]), max(s[1], t[1])), result=lambda s: s[1] - s[0])

LOCAL, KEY, TIME, ORDER = ("where its rows are", "by key", "by ranges of time", "in one task, in the order of time")

QUERIES: dict[str, tuple[Callable[[], Stream], list[str]]] = {
    "a filter": (lambda: log.where(col.x > 1).sliding_window(3), [LOCAL]),
    "windows by key": (lambda: log.group_by("k").hopping_window(6, 3).aggregate(n=wb.count()), [LOCAL, KEY]),
    "windows of all": (lambda: log.tumbling_window(3).aggregate(n=wb.count()), [LOCAL, ORDER]),
    "user's own": (lambda: log.group_by("k").tumbling_window(3).aggregate(s=spread(col.x)), [LOCAL, KEY]),
    "not mergeable": (lambda: log.group_by("k").tumbling_window(3).aggregate(m=wb.median(col.x)), [KEY]),
    "not mergeable, of all": (lambda: log.tumbling_window(3).aggregate(m=wb.median(col.x)), [TIME]),
    "computed keys": (lambda: log.where(col.x > 1).group_by(odd=col.k % 2).session_window(3).aggregate(n=wb.count()),
                      [LOCAL, KEY]),
    "a computed key and a column": (lambda: log.group_by("s", odd=col.k % 2).hopping_window(6, 3).aggregate(
        m=wb.median(col.x)), [KEY]),
    "computed keys, not mergeable": (lambda: log.group_by(odd=col.k % 2).hopping_window(6, 3).aggregate(
        m=wb.median(col.x)), [LOCAL, KEY]),
    "a key named like a column": (lambda: log.group_by(k=col.k % 2, k_key=col.x % 2).detect(
        wb.sequence(a=col.x > 1, b=col.x < 5), within=9), [LOCAL, KEY]),
    "a key that is no step's own": (lambda: log.where(col.x > 1).with_columns(odd=col.k % 2).where(col.odd > 0)
                                    .group_by("odd").session_window(3).aggregate(n=wb.count()), [LOCAL, KEY]),
    "a key of floats": (lambda: log.group_by(half=col.x / 2).session_window(3).aggregate(n=wb.count()), [LOCAL, KEY]),
    "a join by computed keys": (lambda: log.select("x", odd=col.k % 2).set_duration(3).join(
        other.select("y", odd=col.k % 2), on="odd"), [LOCAL, LOCAL, KEY]),
    "a result of computed keys": (lambda: log.group_by(odd=col.k % 2).tumbling_window(3).aggregate(
        share=wb.median(col.x) / wb.count()), [LOCAL, KEY]),
    "empty windows, too": (lambda: log.group_by(odd=col.k % 2).tumbling_window(3).aggregate(
        fill=True, m=wb.median(col.x)), [LOCAL, KEY, ORDER]),
    "values of other rows": (lambda: log.group_by("k").select("k", m=wb.mean(col.x).past(9), p=col.x.previous()),
                             [KEY]),
    "values at multiples": (lambda: log.group_by("k").over_time(every=5, m=wb.time_mean(col.x).past(9)), [KEY]),
    "values of other rows, of all": (lambda: log.select(m=wb.mean(col.x).past(9)), [TIME]),
    "computed keys twice": (lambda: log.group_by(odd=col.k % 2).session_window(3, emit="close").aggregate(n=wb.count())
                            .group_by(many=col.n > 3).session_window(3).aggregate(m=wb.count()),
                            [LOCAL, KEY, LOCAL, KEY]),
    "a key of time": (lambda: log.group_by(early=wb.start_time() < 3).session_window(3).aggregate(n=wb.count()),
                      [ORDER]),
    "sliding": (lambda: log.sliding_window(3).aggregate(n=wb.count()), [TIME]),
    "sessions": (lambda: log.group_by("k").session_window(3).aggregate(n=wb.count()), [KEY]),
    "sessions of all": (lambda: log.session_window(3).aggregate(n=wb.count()), [ORDER]),
    "a pattern": (lambda: log.group_by("k", "s").detect(wb.sequence(a=col.x > 1, b=col.x < 5), within=9), [KEY]),
    "a join": (lambda: log.set_duration(3).join(other, on="k"), [KEY]),
    "a join of windows": (lambda: log.group_by("k").tumbling_window(3).aggregate(n=wb.count()).join(
        other.group_by("k").tumbling_window(3).aggregate(m=wb.max(col.y)), on="k"), [LOCAL, LOCAL, KEY]),
    "top of groups": (lambda: log.group_by("k").tumbling_window(3).aggregate(n=wb.count()).top_k(1, by=col.n),
                      [LOCAL, KEY, ORDER]),
    "windows of sessions": (lambda: log.group_by("k").session_window(3, emit="close").aggregate(n=wb.count())
                            .tumbling_window(9).aggregate(most=wb.max(col.n)), [KEY, ORDER]),
    "other groups": (lambda: log.group_by("k").session_window(3).aggregate(n=wb.count())
                     .group_by("n").session_window(3).aggregate(m=wb.count()), [KEY, KEY]),
    "a cross join of groups": (lambda: log.group_by("k").session_window(3).aggregate(n=wb.count()).cross_join(
        other.group_by("k").session_window(3).aggregate(m=wb.count())), [KEY, KEY, ORDER]),
}


@pytest.mark.parametrize("name", QUERIES)
def test_the_stages(name: str) -> None:
    query, expected = QUERIES[name]
    last = divide(query().node)
    assert last is not None
    assert [stage.how.value for stage in stages(last)] == expected


def test_states_of_sessions_are_made_with_them() -> None:
    """What tasks hand on is one row a window, not one a session."""
    query, _ = QUERIES["windows of sessions"]
    last = divide(query().node)
    assert last is not None
    first, _ = stages(last)
    assert first.plan.op.show() == "states(most=max(col.n))"


def test_a_computed_key_is_sent_with_what_is_read() -> None:
    last = divide(log.group_by(k=col.k % 2).tumbling_window(3).aggregate(m=wb.median(col.x)).node)
    assert last is not None
    first, _ = stages(last)
    assert first.plan.op.show() == "select(x, k_key=col.k % 2)"


def test_what_stands_for_rows_cannot_be_read() -> None:
    """A plan over it can be taken up, its rows come from outside."""
    last = divide(log.group_by("k").tumbling_window(3).aggregate(n=wb.count()).node)
    assert last is not None
    before, = last.plan.sources()
    with pytest.raises(WhimbrelError, match="because its rows are pushed"):
        next(before.read(["k"]))


def test_asked_for() -> None:
    windows = log.group_by("k").tumbling_window(3).aggregate(n=wb.count()).node
    for exchange in ("key", "time", "order"):
        stage = divide(windows, exchange)  # type: ignore[arg-type]
        assert stage is not None
        assert stage.how.name == exchange.upper()
    assert divide(log.session_window(3).aggregate(n=wb.count()).node, "key") is None
    assert divide(log.session_window(3).aggregate(n=wb.count()).node, "time") is None


def test_without_pyspark_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("pyspark", "pyspark.sql", "pyspark.errors", "py4j", "py4j.protocol"):
        monkeypatch.setitem(sys.modules, package, None)
    for ask in (lambda: wb.from_spark("logs", time="at"), lambda: log.collect(on=object()),
                lambda: log.on_spark(object()), lambda: log.explain(on=object()), local_session):
        with pytest.raises(MissingExtraError, match=r"needs pyspark.*(?s:.*)pip install 'whimbrel\[spark\]'"):
            ask()
