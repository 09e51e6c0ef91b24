"""Patterns with registers, skipping and without overlap, against the shared laws and the oracle."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.test_laws import INPUTS
from whimbrel.kernels import tier
from whimbrel.testing import Query, check_operator, laws, strategies
from whimbrel.testing.oracle import Event
from whimbrel.testing.trial import Trial

QUERIES = {
    "simultaneous": ".detect(wb.simultaneous(any=col.flag).then(wb.simultaneous(none=col.x > 4).repeat(0))"
                   ".then(wb.simultaneous(all=col.x > 0)), within=15)",
    "all_at_once_by_key": ".group_by('k2').detect(wb.simultaneous(any=col.x > 0, max=3).then(wb.event(col.flag))"
                          ".then(wb.simultaneous().optional()), within=25, overlapping=False)",
    "all_at_once_with_register": ".detect(wb.sequence(a=wb.event(col.x > 0, n=col.x), b=wb.simultaneous(min=1,"
                                 " any=col.x < 5).repeat(), c=col.x < wb.register.n), within=20, skip=True,"
                                 " register={'n': 0}, output={'k': wb.last_of('a').key})",
    "all_at_once_many": ".group_by('flag').detect(wb.simultaneous(min=2).then(wb.simultaneous(all=col.flag)"
                        " | wb.event(col.x > 1)), within=30)",
    "register": ".group_by('key').detect(wb.event(col.x > 1, total=wb.register.total + col.x)"
                ".then(wb.event(col.x > 0, total=wb.register.total * 2).repeat(0)), within=25, register={'total': 0})",
    "condition_on_register": ".detect(wb.event(col.x > 0, n=col.x).then(wb.event(col.x < wb.register.n, n=wb.register.n"
                             " - 1).repeat()), within=40, register={'n': 0})",
    "float_register": ".group_by('key').detect(wb.event(col.x > -3, s=wb.register.s + col.y).repeat(1, 3), within=60,"
                      " register={'s': 0.0}, output={'half': wb.register.s / 2})",
    "text_register": ".detect(wb.event(~col.key.is_null(), w=wb.register.w + col.key).repeat(2, 4), within=30,"
                     " register={'w': '>'})",
    "captured": ".group_by('k2').detect(wb.sequence(a=col.flag, b=wb.event(col.x != wb.last_of('a').x).repeat()),"
                " within=30, skip=True, output={'k': wb.first_of('b').key, 'x': wb.last_of('b').x,"
                " 'y': wb.first_of('a').y})",
    "skip": ".detect(wb.sequence(a=col.x > 1, b=col.flag, c=col.y > 0), within=20, skip=True)",
    "skip_repetition": ".group_by('key').detect(wb.event(col.x > 0).repeat(2, 3).then(wb.event(col.flag)), within=30,"
                       " skip=True)",
    "not_overlapping": ".detect(wb.event(col.x > 0).then(wb.event(col.x <= 4).repeat(0, 2)), within=15,"
                       " overlapping=False)",
    "not_overlapping_register": ".group_by('key').detect(wb.event(col.x > -3, n=wb.register.n + 1).repeat(2, 3),"
                                " within=40, register={'n': 0}, overlapping=False, skip=True)",
    "greedy": ".group_by('key').detect(wb.event(col.x > 0).repeat().then(wb.event(col.flag).optional()), within=20,"
              " greedy=True)",
    "greedy_without_overlap": ".detect(wb.sequence(a=col.x > -2, b=wb.event(col.x <= 4).repeat(0)), within=30,"
                              " greedy=True, overlapping=False, output={'x': wb.last_of('b').x})",
    "greedy_skip": ".group_by('flag').detect(wb.event(col.x > 0, n=col.x).then(wb.event(col.x < 5).repeat()),"
                   " within=25, greedy=True, overlapping=False, skip=True, register={'n': 0})",
    "reluctant": ".group_by('key').detect(wb.event(col.x > -3).repeat(reluctant=True).then(wb.event(col.flag)"
                 ".optional(reluctant=True)).then(wb.event(col.x < 3)), within=25, greedy=True)",
    "alternatives": ".detect(wb.sequence(a=wb.event(col.x > 0, n=wb.register.n + 1) | wb.event(col.x > -2).then("
                    "wb.event(col.flag, n=col.x)), b=wb.event(col.x < 4).repeat(0, 2)), within=30, greedy=True,"
                    " overlapping=False, register={'n': 0}, output={'x': wb.last_of('b').x})",
    "prefixes": ".group_by('key').detect((wb.event(col.x > 0, n=wb.register.n + 1).repeat().then(wb.event(col.flag,"
                " n=col.x) | wb.event(col.x < 3))).prefixes(), within=25, register={'n': 0})",
    "absence": ".group_by('key').detect(wb.event(col.x > 0), within=5, then=wb.absent(within=8))",
    "absence_of_some": ".detect(wb.sequence(a=col.flag, b=col.x > 1), within=20, skip=True, then=wb.absent(col.x < 2,"
                       " within=15), output={'k': wb.last_of('b').key})",
    "bounds": ".detect(wb.event(col.x > -2).repeat(2, 4).then(wb.event(col.flag).repeat(0, 1)), within=50)",
}


@pytest.mark.share(10, rest="soak")
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", QUERIES)
def test_law(name: str, law: laws.Law) -> None:
    query = Query((QUERIES[name],))
    check_operator(query.build, INPUTS[0], reference=query.reference, laws=[law])


@st.composite
def queries(draw: st.DrawFn) -> Query:
    """A random pattern over a random register, every option on or off."""
    likely = st.sampled_from(("col.x > 0", "col.x <= 4", "col.flag", "wb.register.n < 5", "wb.register.n >= col.x"))
    update = st.sampled_from(("", ", n=wb.register.n + 1", ", n=wb.register.n + col.x", ", n=col.x"))

    def one() -> str:
        return f"wb.event({draw(likely)}{draw(update)})"

    bounds = draw(st.sampled_from(("", "0", "2", "0, 2", "1, 3", "2, 2")))
    form = draw(st.sampled_from(("{0}.then({1})", "({0} | {1}).repeat({2}).then({3})", "{0}.then({1}.repeat({2}))",
                                 "{0}.then({1}.optional()).then({3})", "{0}.then(({1}.then({3})).repeat({2}))",
                                 "({0}.repeat({2}) | {1}.then({3})).repeat(0).then({1})",
                                 "{0}.then(({1}.repeat({2}).optional(reluctant=True) | {3}).repeat({2}))",
                                 "({0}.then({1}.repeat({2})).prefixes() | {3}).repeat({2}).then({1}.prefixes())",
                                 "{0}.then(({1} | {3}).repeat({2})).prefixes()")))
    reluctant = draw(st.booleans())
    if reluctant:
        bounds = f"{bounds}, reluctant=True" if bounds else "reluctant=True"
    pattern = form.format(one(), one(), bounds, one())
    options = f"skip={draw(st.booleans())}, overlapping={draw(st.booleans())}, greedy={draw(st.booleans())}"
    keys = draw(st.sampled_from(("", ".group_by('key')", ".group_by('flag')")))
    return Query((keys, f".detect({pattern}, within={draw(st.integers(1, 40))}, register={{'n': 0}}, {options})"))


@given(queries(), strategies.facts(newest=60))
def test_random_patterns_match_the_oracle(query: Query, s: list[Event]) -> None:
    with tier("interpreted"):
        laws.ask(laws.matches_the_reference, Trial(query.build, (s,), query.reference))
