"""explain() names each operator that is not in a periodic loop, and the reason."""

from __future__ import annotations

import numpy as np
import pytest

import whimbrel as wb
from whimbrel import Stream, col

NOTES = {
    "all values": (lambda s: s.sliding_window(20).aggregate(m=wb.median(col.x)), "aggregate(m=median(col.x))",
                   "median(col.x) keeps all values of a window"),
    "an expression": (lambda s: s.sliding_window(20).aggregate(m=wb.mean(col.x)).select(
        z=col.m.cast("string").str.length()), "select(z=col.m.cast('string').str.length())",
                      "col.m.cast('string').str.length() is not compiled into a loop"),
    "a text": (lambda s: s.with_columns(k=wb.lit("a")).group_by("k").sliding_window(20).aggregate(m=wb.sum(col.x)),
               "group_by(k).aggregate(m=sum(col.x))", "the column 'k' has the type string"),
    "hops": (lambda s: s.hopping_window(20, 10).aggregate(m=wb.mean(col.x)), "aggregate(m=mean(col.x))",
             "its windows overlap, have gaps, or are labelled by their ends"),
    "a join": (lambda s: s.join(s, on="x"), "join(on=['x'])",
               "it does not join on the keys for which events never overlap"),
    "another operator": (lambda s: s.sliding_window(20).aggregate(m=wb.mean(col.x)).set_duration(3), "set_duration(3)",
                         "a loop has no such operator"),
}


@pytest.mark.parametrize("name", NOTES)
def test_explain_says_why_an_operator_is_not_in_the_loop(name: str) -> None:
    build, shown, reason = NOTES[name]
    log = wb.from_arrow({"at": range(50), "x": [1.0] * 50}, time="at", name="log").select("x")
    assert build(log.assume(periodic=1)).explain().splitlines()[-1] == (
        f"note: {shown} is not in a periodic loop: {reason}")
    assert "not in a periodic loop" not in build(log).explain()


def test_explain_has_no_note_where_all_is_in_the_loop() -> None:
    log = wb.from_arrow({"at": range(50), "x": [1.0] * 50}, time="at", name="log").select("x").assume(periodic=1)
    assert "note:" not in log.where(col.x > 0).sliding_window(20).aggregate(m=wb.mean(col.x)).where(col.m > 1).explain()


def test_windows_of_sparse_events_are_read_by_position() -> None:
    log = wb.from_arrow({"at": range(0, 50_000, 1_000), "x": [1.0] * 50}, time="at", name="log").select("x")
    queries = [each.select(m=wb.mean(col.x).past(10_000)) for each in (log, log.assume(non_overlapping=True))]
    for query in queries:
        assert "temporal_columns" in query.explain()
        assert "periodic_loop" not in query.explain()
        assert "is not in a periodic loop" not in query.explain()
    assert queries[0].collect().equals(queries[1].collect())


def test_a_join_of_sparse_events_is_in_no_loop_and_one_of_dense_events_is() -> None:
    def query(gap: int, *, assumed: bool) -> Stream:
        log = wb.from_arrow({"at": np.arange(5_000) * gap, "x": np.arange(5_000)}, time="at", name="log").select("x")
        log = log.assume(non_overlapping=True) if assumed else log
        return log.cross_join(log.select(b=col.x).shift(2 * gap)).select(d=col.x - col.b)

    assert "periodic_loop" in query(3, assumed=True).explain()
    sparse = query(1_000, assumed=True)
    assert "periodic_loop(" not in sparse.explain()
    assert "only one tick of about 1,000 has an event, and a loop visits each tick" in sparse.explain()
    assert sparse.collect().equals(query(1_000, assumed=False).collect())
