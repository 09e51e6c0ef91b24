"""Operators over two streams, and random ones of them, against the shared laws and the oracle."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.test_laws import INPUTS, many_keys
from whimbrel.kernels import tier
from whimbrel.operators.joins import asof_kernel, coverage, join_input, pair_matcher
from whimbrel.testing import Query, check_operator, laws, strategies
from whimbrel.testing.oracle import INF, Event
from whimbrel.testing.trial import Trial

QUERIES = {
    "join_where": ".join(t, on='key', where=col.x < col.x_right)",
    "join_left": ".join(t, on='key', how='left')",
    "join_right": ".join(t, on='key', how='right', suffix='_other')",
    "join_full": ".join(t, on='key', how='full')",
    "join_full_where": ".join(t, on={'key': 'key', 'x': 'k2'}, how='full', where=col.flag & (col.y_right > 0))",
    "join_full_itself": ".where(col.flag).join(s.sliding_window(4), on='k2', how='full')",
    "cross_join": ".select('x', 'y').cross_join(t)",
    "cross_join_where": ".cross_join(t.select('y'), where=col.y_right > col.y)",
    "cross_join_left": ".where(col.flag).cross_join(t.select('y'), how='left')",
    "cross_join_right": ".select('x', 'y').cross_join(t, how='right', suffix='_other')",
    "cross_join_full_where": ".cross_join(t, how='full', where=col.x < col.x_right)",
    "semi_join": ".semi_join(t, on='key')",
    "semi_join_where": ".semi_join(t, on='key', where=col.x != col.x_right)",
    "anti_join": ".anti_join(t, on=['key', 'k2'])",
    "anti_join_where": ".anti_join(t.select('k2', other=col.x), on='k2', where=col.x < col.other)",
    "where_exists": ".semi_join(t.sliding_window(3), on={'x': 'x'})",
    "where_not_exists": ".anti_join(s.where(col.flag), on='key')",
    "clip": ".clip_at(t)",
    "clip_by_key": ".sliding_window(30).clip_at(s, on='key')",
    "clip_outlives": ".clip_at(t, on='k2').aggregate(n=wb.count(), m=wb.mean(col.y))",
    "asof_backward": ".asof_join(t, on='key')",
    "asof_tolerance": ".asof_join(t.select('y'), tolerance=3)",
    "asof_forward": ".asof_join(t, on='k2', tolerance=6, direction='forward')",
    "asof_nearest": ".asof_join(t, on='key', tolerance=8, direction='nearest')",
    "asof_strict": ".asof_join(t, on='key', strict=True)",
    "asof_strict_tolerance": ".asof_join(t.select('y'), tolerance=3, strict=True)",
    "asof_strict_forward": ".asof_join(t, on='k2', tolerance=6, direction='forward', strict=True, nulls_equal=True)",
    "asof_strict_nearest": ".asof_join(s, on='key', tolerance=8, direction='nearest', strict=True, suffix='_2')",
    "join_full_nulls": ".join(t, on=['key', 'x'], how='full', nulls_equal=True)",
    "join_nulls_where": ".join(t, on='key', where=col.x < col.x_right, nulls_equal=True)",
    "semi_join_nulls": ".semi_join(t, on='k2', nulls_equal=True)",
    "anti_join_nulls": ".anti_join(t, on=['key', 'flag'], nulls_equal=True)",
    "clip_nulls": ".sliding_window(30).clip_at(s, on='key', nulls_equal=True)",
    "asof_nulls": ".asof_join(t, on='key', nulls_equal=True)",
    "asof_then": ".asof_join(t, on='key', tolerance=9, direction='nearest')"
                 ".join(t, on='key', how='left', suffix='_2', allow_lookahead=True)",
}

GROWING = ("join_full_itself", "join_full_where", "semi_join", "anti_join_where", "clip_by_key", "asof_backward",
           "asof_forward", "asof_nearest", "asof_strict", "asof_strict_forward", "asof_strict_nearest", "clip_nulls")


@pytest.mark.share(10, rest="soak")
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", QUERIES)
def test_law(name: str, law: laws.Law) -> None:
    query = Query((QUERIES[name],))
    check_operator(query.build, *INPUTS[:query.arity], reference=query.reference, laws=[law])


@pytest.mark.share(4)
@pytest.mark.parametrize("name", GROWING)
def test_growing_and_shrinking_state_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, limits in ((join_input, ("_CROWDED", "_SLOTS_AT_FIRST")), (coverage, ("_CAPACITY", "_SLOTS_AT_FIRST")),
                           (pair_matcher, ("_CAPACITY",)), (asof_kernel, ("_CROWDED", "_CAPACITY", "_SLOTS_AT_FIRST"))):
        for limit in limits:
            monkeypatch.setattr(module, limit, 8)
    query = Query((QUERIES[name],))
    trial = Trial(query.build, (many_keys(1, 80), many_keys(2, 60))[:query.arity], query.reference)
    with tier("interpreted"):
        laws.ask(laws.matches_the_reference, trial)
        laws.ask(laws.disorder_changes_nothing, trial)
        laws.ask(laws.snapshots_change_nothing, trial)


KEYS = st.sampled_from(("'key'", "'k2'", "['key', 'k2']", "{'x': 'k2'}"))
CONDITIONS = st.sampled_from(("", ", where=col.x < col.x_right", ", where=col.flag | col.flag_right"))


@st.composite
def binary_queries(draw: st.DrawFn) -> Query:
    """One operator over two streams of any lifetimes, and perhaps something that depends on its lifetimes."""
    before = draw(st.sampled_from(("", ".sliding_window(7)", ".where(col.flag)")))
    right = draw(st.sampled_from(("t", "t.sliding_window(4)", "s", "s.where(col.x > 2)")))
    key, condition = draw(KEYS), draw(CONDITIONS)
    how = draw(st.sampled_from(("inner", "left", "right", "full")))
    direction, tolerance = draw(st.sampled_from(("backward", "forward", "nearest"))), draw(st.integers(0, 12))
    nulls, strict = (draw(st.sampled_from(("", f", {option}=True"))) for option in ("nulls_equal", "strict"))
    words = draw(st.sampled_from((
        f".join({right}, on={key}, how={how!r}{condition}{nulls})", f".cross_join({right}, how={how!r}{condition})",
        f".semi_join({right}, on={key}{condition}{nulls})", f".anti_join({right}, on={key}{condition}{nulls})",
        f".clip_at({right}, on={key}{nulls})", f".clip_at({right})",
        f".asof_join({right}, on={key}, tolerance={tolerance}, direction={direction!r}{strict}{nulls})",
        f".asof_join({right}{strict})")))
    after = draw(st.sampled_from(("", ".aggregate(n=wb.count(), s=wb.sum(col.x))",
                                  ".anti_join(t, on='key', allow_lookahead=True)")))
    return Query((before, words, after))


@given(binary_queries(), strategies.facts(), strategies.facts(max_size=8), st.integers(0, 1000))
def test_random_operators_keep_the_laws(query: Query, s: list[Event], t: list[Event], seed: int) -> None:
    trial = Trial(query.build, (s, t)[:query.arity], query.reference, seed)
    with tier("interpreted"):
        for law in (laws.matches_the_reference, laws.batches_change_nothing, laws.disorder_changes_nothing,
                    laws.late_rows_follow_the_policy, laws.empty_input_is_safe, laws.snapshots_change_nothing):
            laws.ask(law, trial)


def test_many_pairs_of_one_row() -> None:
    chance = random.Random(1)
    facts: list[Event] = [(time, INF if chance.random() < 0.1 else time + chance.randrange(1, 60), {
        "time": time, "key": "a", "k2": 1, "x": time % 5, "y": 0.5, "flag": True}) for time in range(0, 120, 2)]
    for name in ("join_full_where", "semi_join_where", "anti_join_where", "asof_nearest"):
        query = Query((QUERIES[name],))
        check_operator(query.build, facts, facts[::3], reference=query.reference, laws=[laws.matches_the_reference])
