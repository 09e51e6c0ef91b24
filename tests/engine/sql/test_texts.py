"""Texts of SQL that :meth:`whimbrel.Stream.sql` prints, and operators as functions of tables."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given, settings

import whimbrel as wb
from tests.engine.sql.logs import BIDS, TCP, sql
from whimbrel import col
from whimbrel.plan import Node, explain
from whimbrel.testing import Query, strategies
from whimbrel.testing.rows import BatchedRows

OPERATORS: dict[str, tuple[str, Callable[[], wb.Stream]]] = {
    "a duration": ("SELECT * FROM SHIFT(bids, INTERVAL '5' MINUTE)", lambda: BIDS.shift("5m")),
    "an earlier time": ("SELECT * FROM SHIFT(bids, -INTERVAL '5' MINUTE)", lambda: BIDS.shift("-5m")),
    "ticks": ("SELECT * FROM EXTEND(TCP, -3)", lambda: TCP.extend(-3)),
    "an expression": ("SELECT * FROM SET_DURATION(TCP, len + 1)", lambda: TCP.set_duration(col.len + 1)),
    "no known end": ("SELECT * FROM SET_DURATION(TCP, NULL)", lambda: TCP.set_duration(None)),
    "a name": ("SELECT * FROM TUMBLING_WINDOW(TCP, 60, label => 'end')", lambda: TCP.tumbling_window(60, label="end")),
    "a call in a call": ("SELECT * FROM CHOP(EXTEND(TCP, 30), 10)", lambda: TCP.extend(30).chop(10)),
    "a query": ("SELECT * FROM STITCH((SELECT srcIP FROM TUMBLING_WINDOW(TCP, 60)))",
                lambda: TCP.tumbling_window(60).select("srcIP").stitch()),
    "keys": ("SELECT * FROM TOP_K(TABLE TCP PARTITION BY srcIP, 1, len, ties => FALSE)",
             lambda: TCP.group_by("srcIP").top_k(1, col.len, ties=False)),
    "two tables": ("SELECT * FROM ASOF_JOIN(TCP, TCP, on => ['srcIP'], strict => TRUE)",
                   lambda: TCP.asof_join(TCP, on=["srcIP"], strict=True)),
    "groups of lasting rows": ("SELECT srcIP, count(*) AS n FROM SLIDING_WINDOW(TCP, 60) GROUP BY srcIP",
                               lambda: TCP.sliding_window(60).group_by("srcIP").aggregate(n=wb.count())),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_functions_of_tables(name: str) -> None:
    text, python = OPERATORS[name]
    assert explain(sql(text).node) == explain(python().node)
    assert explain(sql(python().sql()).node) == explain(python().node)


TEXTS: dict[str, tuple[str, Callable[[], wb.Stream]]] = {
    "clauses of one query": (
        "SELECT srcIP, tb, count(*) AS n FROM TCP WHERE protocol = 6 GROUP BY srcIP, time/60 AS tb HAVING n > 1",
        lambda: TCP.where(col.protocol == 6).tumbling_window(60).group_by("srcIP").aggregate(
            tb=wb.window_start() // 60, n=wb.count()).where(col.n > 1)),
    "a query that is used twice": (
        """WITH part_1 AS (
    SELECT * FROM TCP WHERE len > 1
)
SELECT * FROM part_1 UNION ALL SELECT * FROM part_1""",
        lambda: (lambda long: long.union(long))(TCP.where(col.len > 1))),  # noqa: PLC3002 - one stream twice
    "names in quotes": ("""SELECT len AS "a ""b\"\"\", srcIP AS "select" FROM TCP""",
                        lambda: TCP.select(**{'a "b"': col.len, "select": col.srcIP})),
    "literals": (
        "SELECT 'it''s' AS a, -1 AS b, 0.5 AS c, ts > TIMESTAMP '2020-01-01 00:00:00' AS d, TRUE AS e FROM bids",
        lambda: BIDS.select(a=wb.lit("it's"), b=wb.lit(-1), c=wb.lit(0.5),
                            d=col.ts > pa.scalar(1577836800, pa.timestamp("s")), e=wb.lit(value=True))),
    "parentheses": ("SELECT (len + 1) * 2 - (len - (3 - len)) AS a, NOT (fin OR len = 1) AND fin AS b FROM TCP",
                    lambda: TCP.select(a=(col.len + 1) * 2 - (col.len - (3 - col.len)),
                                       b=~(col.fin | (col.len == 1)) & col.fin)),
    "integers are divided toward zero": ("SELECT len / 3 AS third FROM TCP",
                                         lambda: sql("SELECT len/3 AS third FROM TCP")),
    "sums of nothing": (
        ("SELECT srcIP, window_start AS since, total(len) AS zero, sum(len) AS nothing FROM TUMBLE(TCP, 60) "
         "GROUP BY srcIP, window_start"),
        lambda: TCP.tumbling_window(60).group_by("srcIP").aggregate(
            since=wb.window_start(), zero=wb.sum(col.len), nothing=wb.sum(col.len, empty=None))),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str) -> None:
    text, python = TEXTS[name]
    assert " ".join(python().sql().split()) == " ".join(text.split())
    assert explain(sql(text).node) == explain(python().node)


REFUSED: dict[str, tuple[str, Callable[[], wb.Stream]]] = {
    "a step": ("SQL has no word for this step: detect(event(col.len > 1), within=5).",
               lambda: TCP.detect(wb.event(col.len > 1), within=5)),
    "a part": ("SQL has no word for col.srcIP.str.index_of('a') of select(i=col.srcIP.str.index_of('a')).",
               lambda: TCP.select(i=col.srcIP.str.index_of("a"))),
    "an aggregate": ("SQL has no word for product(col.len) of aggregate(a=product(col.len)).",
                     lambda: TCP.aggregate(a=wb.product(col.len))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_word(name: str) -> None:
    what, python = REFUSED[name]
    with pytest.raises(wb.WhimbrelError) as error:
        python().sql()
    assert str(error.value) == f"{what}\n  where: sql()\n  hint:  Use python(), which prints every step."


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(strategies.queries(max_steps=4))
def test_random_queries_come_back_or_are_refused(query: Query) -> None:
    streams = {name: wb.Stream(Node(BatchedRows([[]], name=name))) for name in "st"}
    stream = query.build(*streams.values())
    try:
        text = stream.sql()
    except wb.WhimbrelError as error:
        assert str(error).startswith("SQL has no word for")  # noqa: PT017 - only some are refused
    else:
        assert explain(wb.sql(text, **streams).node) == explain(stream.node)
