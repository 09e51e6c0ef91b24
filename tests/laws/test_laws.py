"""Every operator, and random queries made of them, against the shared laws and the oracle."""

from __future__ import annotations

import importlib
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.conftest import DEEP_PLANS
from whimbrel.errors import KernelError
from whimbrel.kernels import tier
from whimbrel.operators import (
    AdaptiveWindow,
    BlockSamples,
    CalendarCells,
    CalendarSlidingWindow,
    CalendarTimes,
    CalendarWindow,
    Changelog,
    Coalesce,
    EvictingAggregate,
    FinerUnit,
    Finish,
    HoppingAggregate,
    Ingest,
    LatencyAggregate,
    LatenessBand,
    LateRows,
    OneLatency,
    PeriodicLoop,
    Punctuate,
    Recompute,
    RecomputeRows,
    SessionAggregate,
    Sort,
    WholeWindow,
)
from whimbrel.plan import Operator, OrderingSpec
from whimbrel.run.desk.rows_from import RowsFrom
from whimbrel.run.desk.sharing.shared_aggregate import SharedAggregate
from whimbrel.run.desk.sharing.shared_query import SharedResults, SharedRows
from whimbrel.run.desk.shedding.weighted_sample import WeightedSample
from whimbrel.testing import BatchedRows, Query, check_operator, laws, oracle, strategies
from whimbrel.testing.oracle import INF, Event
from whimbrel.testing.trial import Trial

QUERIES = {
    "where": ".where((col.x > 3) | col.flag)",
    "where_several": ".where(col.y <= 1.5, ~col.flag)",
    "select": ".select('key', 'x', total=col.x + col.y)",
    "with_columns": ".with_columns(x=col.x * 2, old=col.x)",
    "tumbling_window": ".tumbling_window(7, offset=2)",
    "hopping_window": ".hopping_window(10, 4, label='end')",
    "hopping_with_gaps": ".hopping_window(3, 8)",
    "sliding_window": ".sliding_window(6)",
    "closed": ".tumbling_window(4, closed='both')",
    "closed_counts": ".group_by('key').tumbling_window(4, offset=1, closed='both').aggregate(n=wb.count())",
    "open_gaps": ".hopping_window(3, 8, closed='none', label='end')",
    "right_closed": ".tumbling_window(7, closed='right').aggregate(n=wb.count(), s=wb.sum(col.x))",
    "left_closed_at_end": ".group_by('key').tumbling_window(6, closed='left', label='end')"
                          ".aggregate(n=wb.count(), since=wb.window_start(), until=wb.window_end())",
    "open_sliding": ".sliding_window(3, closed='none').aggregate(n=wb.count())",
    "left_closed_sliding": ".sliding_window(6, closed='left')",
    "closed_sliding": ".sliding_window(6, closed='both').aggregate(n=wb.count(), s=wb.sum(col.x))",
    "aggregate": ".aggregate(n=wb.count(), s=wb.sum(col.x), total=wb.sum(col.y), m=wb.mean(col.x))",
    "extremes": ".group_by('key').aggregate(lo=wb.min(col.x), hi=wb.max(col.y), k=wb.max(col.k2))",
    "filtered": ".group_by('k2').aggregate(n=wb.count().where(col.x > 3), m=wb.mean(col.y).where(col.flag))",
    "tumbling_by_key": ".group_by('key').tumbling_window(8).aggregate(n=wb.count(), s=wb.sum(col.x), m=wb.mean(col.y))",
    "hopping_by_two_keys": ".hopping_window(12, 3).group_by('key', 'k2').aggregate(n=wb.count(), lo=wb.min(col.y))",
    "computed_key": ".group_by(third=col.x % 3).sliding_window(9).aggregate(s=wb.sum(col.x), hi=wb.max(col.x))",
    "join": ".join(t, on='key')",
    "join_itself": ".where(col.flag).join(s.sliding_window(9), on='k2')",
    "join_aggregates": ".group_by('key').aggregate(n=wb.count())"
                       ".join(t.group_by('key').aggregate(m=wb.mean(col.y)), on='key')",
    "detect": ".group_by('key').detect(wb.sequence(a=col.x > 1, b=col.x <= 4), within=12)",
    "detect_repetition": ".detect(wb.event(col.x > 2).then(wb.event(col.flag | col.y.is_null()).repeat()), within=20)",
    "detect_alternation": ".group_by('k2').detect(wb.event(col.x > 2).then(wb.event(col.flag).optional())"
                          ".then(wb.event(col.y > 0) | wb.event(col.y < 0)), within=15)",
}


MANY_KEYS = {
    "panes": ".group_by('k2').tumbling_window(50).aggregate(n=wb.count(), s=wb.sum(col.x), hi=wb.max(col.y))",
    "snapshots": ".group_by('key', 'k2').sliding_window(90).aggregate(n=wb.count(), m=wb.mean(col.y))",
    "one_group": ".aggregate(n=wb.count(), hi=wb.max(col.x), total=wb.sum(col.y))",
    "join": ".where(col.flag).join(t, on='k2')",
    "runs": ".group_by('k2').detect(wb.event(col.x > 0).repeat(), within=300)",
}


def stream(seed: int, rows: int = 24) -> list[Event]:
    """Facts with ties, nulls, extremes, unknown ends and negative times."""
    chance = random.Random(seed)
    facts: list[Event] = []
    for _ in range(rows):
        time = chance.randint(-10, 30)
        facts.append((time, time + chance.choice([1, 1, 3, 8, 20, INF]), {
            "time": time, "key": chance.choice(["a", "b", "ü", None]),
            "k2": chance.choice([-(2**63), 2**63 - 1, 0, None]),
            "x": chance.choice([*range(-2, 7), None]), "y": chance.choice([-1.25, 0.0, 1.5, 2.75, None]),
            "flag": chance.choice([True, True, False, None]),
        }))
    return facts


INPUTS = stream(1), stream(2, rows=15)

MADE_BY_THE_PLANNER = {
    LatenessBand, LatencyAggregate, OneLatency, Coalesce, FinerUnit, Finish, HoppingAggregate, Ingest, LateRows,
    PeriodicLoop, Changelog,
    EvictingAggregate,  # in test_two_levels.py
    Punctuate,  # of low(); in test_levels.py
    SessionAggregate, Sort, AdaptiveWindow, BlockSamples, Recompute, RecomputeRows, CalendarCells,
    CalendarTimes, CalendarSlidingWindow, CalendarWindow,  # of times with a unit; in test_calendar_windows.py
    WholeWindow,  # of logs only; in test_lifetimes.py
    RowsFrom,  # of desks; in test_desk.py
    SharedAggregate, SharedResults, SharedRows,  # of desks; in test_shared_queries.py
    WeightedSample,  # of desks; in test_shed.py
}
"""Operators that no method of a stream makes; they stand in the plans that run."""


@pytest.mark.share(10, rest="soak")
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", QUERIES)
def test_law(name: str, law: laws.Law) -> None:
    query = Query((QUERIES[name],))
    check_operator(query.build, *INPUTS[:query.arity], reference=query.reference, laws=[law])


@pytest.mark.parametrize("name", ["right_closed", "left_closed_at_end"])
def test_closed_windows_of_several_latencies(name: str) -> None:
    """Rows that are sorted after their window are on its grid already: they were rounded twice."""
    query = Query((QUERIES[name],))
    check_operator(query.build, INPUTS[0], reference=query.reference, laws=[laws.latencies_are_answered_together])


def test_no_operator_is_left_out() -> None:
    files = (importlib.import_module(f"tests.laws.{file.stem}") for file in Path(__file__).parent.glob("test_*.py"))
    asked: set[type] = set()
    for text in (text for file in files for text in getattr(file, "QUERIES", {}).values()):
        trial = Trial(Query((text,)).build, INPUTS)
        asked |= {type(node.op) for node in trial.stream(trial.sources()).node.walk()}
    made = {each for each in Operator.__subclasses__() if each.__module__.startswith("whimbrel.")}
    assert made - MADE_BY_THE_PLANNER <= asked


def many_keys(seed: int, rows: int) -> list[Event]:
    """More keys and active facts than any state has room for at first."""
    chance = random.Random(seed)
    return [(time, time + chance.choice([1, 5, 400]), {
        "time": time, "key": f"key {chance.randrange(2)}", "k2": chance.randrange(-rows // 4, rows // 4),
        "x": chance.choice([None, 1, 2, -4]), "y": chance.choice([None, 0.25, -1.5]), "flag": chance.random() < 0.5,
    }) for time in (chance.randrange(400) for _ in range(rows))]


@pytest.mark.parametrize("name", MANY_KEYS)
def test_growing_state_changes_nothing(name: str) -> None:
    query = Query((MANY_KEYS[name],))
    rows = 700 if query.arity == 2 else 4000
    trial = Trial(query.build, (many_keys(1, rows), many_keys(2, rows))[:query.arity], query.reference)
    laws.ask(laws.matches_the_reference, trial)


@given(strategies.queries(), strategies.facts(), strategies.facts(max_size=6))
def test_random_queries_match_the_oracle(query: Query, s: list[Event], t: list[Event]) -> None:
    trial = Trial(query.build, (s, t)[:query.arity], query.reference)
    with tier("interpreted"):
        laws.ask(laws.matches_the_reference, trial)


@settings(max_examples=DEEP_PLANS)
@given(strategies.queries(max_steps=6, ordered=True), strategies.facts(max_size=8), strategies.facts(max_size=5),
       st.sampled_from((1, 3, 100)))
def test_random_deep_queries_match_the_oracle(query: Query, s: list[Event], t: list[Event], rows: int) -> None:
    trial = Trial(query.build, (s, t)[:query.arity], query.reference)
    with tier("interpreted"):
        actual = trial.run(lambda facts: [facts[at:at + rows] for at in range(0, max(len(facts), 1), rows)])
    trial.same(actual, f"batches of {rows}\n{trial.paste()}\n")


@given(strategies.pattern_queries(), strategies.facts(newest=100))
def test_random_patterns_match_the_oracle(query: Query, s: list[Event]) -> None:
    trial = Trial(query.build, (s,), query.reference)
    with tier("interpreted"):
        for law in (laws.matches_the_reference, laws.batches_change_nothing, laws.snapshots_change_nothing):
            laws.ask(law, trial)


@given(st.data())
def test_random_queries_do_not_see_batches_or_arrival(data: st.DataObject) -> None:
    query = data.draw(strategies.queries())
    inputs = (data.draw(strategies.facts()), data.draw(strategies.facts(max_size=6)))[:query.arity]
    sources = []
    for name, facts in zip("st", inputs, strict=False):
        arrived, latency = data.draw(strategies.arrivals(facts))
        batches = strategies.cut(arrived, data.draw(strategies.batchings(len(arrived))))
        sources.append(BatchedRows(batches, name=name, disorder=OrderingSpec(latency, "raise"), dictionaries=True))
    trial = Trial(query.build, inputs, query.reference)
    with tier("interpreted"):
        actual = trial.answer(sources)
    trial.same(actual, f"batches {[source.batches for source in sources]}\n{trial.paste()}\n")


@given(strategies.queries(), strategies.facts(max_size=8), strategies.facts(max_size=4), st.integers(0, 1000))
def test_random_queries_keep_the_laws(query: Query, s: list[Event], t: list[Event], seed: int) -> None:
    kept = [laws.late_rows_follow_the_policy, laws.latencies_are_answered_together, laws.empty_input_is_safe,
            laws.schema_is_as_declared, laws.text_is_stable, laws.snapshots_change_nothing]
    trial = Trial(query.build, (s, t)[:query.arity], query.reference, seed)
    with tier("interpreted"):
        for law in kept:
            laws.ask(law, trial)


@given(strategies.queries(ordered=True), strategies.facts(), strategies.facts(max_size=6), st.integers(0, 1000))
def test_the_lineage_of_rows_of_random_queries_gives_them_again(query: Query, s: list[Event], t: list[Event],
                                                                seed: int) -> None:
    trial = Trial(query.build, (s, t)[:query.arity], query.reference, seed)
    with tier("interpreted"):
        laws.ask(laws.lineage_reproduces_a_row, trial)


def row(time: int, length: oracle.Time, x: int) -> Event:
    return time, time + length, {"time": time, "key": "a", "k2": 1, "x": x, "y": 0.5, "flag": True}


@pytest.mark.parametrize("after", (".where(col.key.is_null())", ".select(k=col.key.fill_null('none'), n=col.n)",
                                   ".aggregate(m=wb.count(col.key))", ".join(t, on='key')"))
def test_a_null_key_stays_null_in_what_follows(after: str) -> None:
    query = Query((".group_by('key').aggregate(n=wb.count())", after))
    check_operator(query.build, *INPUTS[:query.arity], reference=query.reference,
                   laws=[laws.matches_the_reference, laws.batches_change_nothing])


def test_an_ambiguous_pattern_finds_each_run_once() -> None:
    query = Query((".detect((wb.event(col.x > 0) | wb.event(col.x > 1)).repeat(), within=100)",))
    facts = [row(time, 1, 5) for time in range(12)]
    assert len(query.reference(facts)) == 12 * 13 / 2
    check_operator(query.build, facts, reference=query.reference, laws=[laws.matches_the_reference])


def test_a_sum_that_fits_is_no_overflow_in_whatever_order_it_is_added() -> None:
    largest = 2**63 - 1
    query = Query((".aggregate(s=wb.sum(col.x))",))
    facts = [row(0, 5, largest), row(0, 5, 7), row(0, 5, -9), row(5, 5, largest), row(5, 3, -largest)]
    check_operator(query.build, facts, reference=query.reference,
                   laws=[laws.matches_the_reference, laws.batches_change_nothing, laws.disorder_changes_nothing])


def test_a_sum_that_does_not_fit_is_an_error_in_every_batching() -> None:
    query = Query((".group_by('key').tumbling_window(10).aggregate(s=wb.sum(col.x))",))
    facts = [row(0, 1, 2**63 - 1), row(3, 1, 1)]
    assert Trial(query.build, (facts,), query.reference).expected() is KernelError
    check_operator(query.build, facts, reference=query.reference,
                   laws=[laws.matches_the_reference, laws.batches_change_nothing, laws.disorder_changes_nothing])


def test_float_sums_do_not_drift_when_large_values_leave() -> None:
    query = Query((".sliding_window(3).aggregate(s=wb.sum(col.y), m=wb.mean(col.y))",))
    values = [0.1, 1e16, 0.2, 0.3, -1e16, 0.4, 0.1, 0.7, 1e-3]
    facts = [(at, at + 1, row(at, 1, at)[2] | {"y": value}) for at, value in enumerate(values)]
    check_operator(query.build, facts, reference=query.reference,
                   laws=[laws.matches_the_reference, laws.batches_change_nothing])


def test_a_broken_law_is_reported_with_the_smallest_stream() -> None:
    query = Query((".where(col.x > 3)",))
    with pytest.raises(AssertionError, match="read whole: 0 facts missing, 1 unexpected") as caught:
        check_operator(query.build, *INPUTS[:1], reference=lambda facts: query.reference(facts)[1:],
                       laws=[laws.matches_the_reference])
    assert re.search(r"\ns = wb.from_arrow\(pa.table\({'time': \[-?\d+\], .*time='time', end='until'\)\n"
                     r"s.where\(col.x > 3\)$", str(caught.value))
