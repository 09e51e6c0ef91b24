"""Every method of streams that makes a step prints SQL that builds it again, or is refused for a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import whimbrel as wb
from tests.engine.sql.logs import BIDS, TCP
from tests.engine.sql.test_table_functions import CALLS, CLOCK, PLACES, SYN, WAVE
from tests.engine.stream.printed import built_again
from whimbrel import col
from whimbrel.plan import FLUENT, explain
from whimbrel.stream.time_functions import FunctionsOfTime

STREAMS = {"TCP": TCP, "SYN": SYN, "samples": WAVE, "CLOCK": CLOCK, "bids": BIDS, "PLACES": PLACES}
gap = wb.aggregate(init=(0,), accumulate=lambda s, x: (s[0] + x,), result=lambda s: s[0], name="gap")
ratio = wb.aggregate(init=0, accumulate=lambda s, x, y: s + x * y, result=lambda s: s, name="ratio")

PLANS: dict[str, Callable[[], wb.Stream]] = {name: python for name, (_, python) in CALLS.items()} | {
    "between": lambda: TCP.between(5, 70),
    "hold": lambda: TCP.group_by("srcIP").hold(5),
    "hold without a limit": lambda: TCP.select("len").hold(),
    "over_time": lambda: TCP.group_by("srcIP").over_time(every=5, double=col.len * 2),
    "resample": lambda: BIDS.select("k", "price").group_by("k").resample("1s", how="linear", limit="10s"),
    "keys that are computed": lambda: TCP.group_by("srcIP", odd=col.len % 2).top_k(1, col.len),
    "a key that is computed": lambda: TCP.sliding_window(60).group_by(odd=col.len % 2).aggregate(n=wb.count()),
    "a query of each group": lambda: TCP.group_by("srcIP").group_apply(lambda group: group.extend(5)),
    "steps of each group": lambda: TCP.group_by("srcIP").group_apply(
        lambda group: group.tumbling_window(60).aggregate(n=wb.count()).where(col.n > 1)),
    "an aggregate of users": lambda: TCP.tumbling_window(60).aggregate(g=gap(col.len), r=ratio(col.len, col.protocol)),
    "conditions over rows": lambda: TCP.tumbling_window(60).aggregate(
        a=wb.any(col.fin), b=wb.all(col.fin), c=wb.when(wb.count(col.fin) > 0).then(wb.any(col.fin)).otherwise(None),
        d=wb.when(wb.count(col.len) > 0).then(wb.product(col.len)).otherwise(None)),
    "matches": lambda: wb.sql("""
        SELECT * FROM TCP MATCH_RECOGNIZE (
            PARTITION BY srcIP ORDER BY time
            MEASURES FIRST(A.time) AS began, LAST(B.len) AS high, avg(len) AS m, avg(B.len) AS n, count(*) AS c,
                CLASSIFIER() AS k, count(B.*) AS cb, len AS l, FIRST(len) AS f
            PATTERN (A (B | (C D?){2}){1,3}? (E F*)) WITHIN 90
            DEFINE B AS len > PREV(len), C AS len < A.len, F AS len > FIRST(A.len) AND fin)
        WHERE c > 2""", TCP=TCP),
    "lifetimes that are computed": lambda: TCP.alter_lifetime(start=col.start + 5, duration=col.end - col.start + 2),
    "joins with look-ahead": lambda: TCP.tumbling_window(60).join(SYN, "srcIP", allow_lookahead=True, suffix="_s"),
    "a call in a call": lambda: TCP.explode("srcIP", split="a").set_duration(5),
    "where of a cost": lambda: TCP.where(col.len.sqrt() > 2, cost="expensive").where(col.len > 9),
    "division of integers as a fraction": lambda: TCP.where(col.len / 4 > 2).select(a=(col.len / 4 + 1) / 2),
    "division that rounds down": lambda: TCP.select(a=col.len // 7, b=col.len % 7, c=(col.len + 1) // 7 * 2),
}
def step(rows: Any, state: Any) -> Any:
    return rows, state


FUNCTIONS = {"gap": gap, "ratio": ratio}

MATCHES = ("SELECT * FROM TCP MATCH_RECOGNIZE (PARTITION BY srcIP ORDER BY time MEASURES MATCH_NUMBER() AS n "
           "PATTERN (A B) WITHIN 90)")

REFUSED: dict[str, tuple[str, Callable[[], wb.Stream]]] = {
    "process": ("this step: process(step, gives=['len'])",  # its step is a function of Python
                lambda: TCP.process(step, state=0, gives={"len": "int64"})),
    "a function of time": ("max(col.len).past(5) of select(most=max(col.len).past(5))",  # OVER is of rows
                           lambda: TCP.select(most=wb.max(col.len).past(5))),
    "detect": ("this step: detect(event(col.len > 1), within=5)",  # MATCH_RECOGNIZE is of the last row alone
               lambda: TCP.detect(wb.event(col.len > 1), within=5)),
    "the number of a match": (
        ("this step: group_by(srcIP).detect(event(lit(True)).then(event(lit(True))), within=90, overlapping=False, "
         "greedy=True)"), lambda: wb.sql(MATCHES, TCP=TCP)),
    "a product that is 1 of nothing": ("product(col.len) of aggregate(p=product(col.len))",  # SQL's is null
                                       lambda: TCP.tumbling_window(60).aggregate(p=wb.product(col.len))),
}
"""Steps that have no word in SQL."""


def test_every_method_that_makes_a_step_is_asked_for() -> None:
    methods = {*FLUENT, *(name for name in vars(FunctionsOfTime) if not name.startswith("_"))}
    assert methods <= {*PLANS, *REFUSED}


@pytest.mark.parametrize("name", PLANS)
def test_the_text_builds_the_plan_again(name: str) -> None:
    stream = PLANS[name]()
    assert explain(wb.sql(stream.sql(), functions=FUNCTIONS, **STREAMS).node) == explain(stream.node)
    assert explain(built_again(stream).node) == explain(stream.node)


@pytest.mark.parametrize("name", REFUSED)
def test_steps_without_a_word_are_named(name: str) -> None:
    part, python = REFUSED[name]
    with pytest.raises(wb.WhimbrelError) as error:
        python().sql()
    assert str(error.value) == (f"SQL has no word for {part}.\n  where: sql()\n"
                                "  hint:  Use python(), which prints every step.")
