"""Partial aggregates below the sorter, in tables of a few slots, against the shared laws and the oracle."""

from __future__ import annotations

import sys

import pytest

from tests.laws.test_laws import INPUTS
from whimbrel.operators import EvictingAggregate
from whimbrel.operators.aggregation import table_size
from whimbrel.optimize import optimize
from whimbrel.testing import Query, check_operator, laws
from whimbrel.testing.trial import Trial

PASS = sys.modules["whimbrel.optimize.lower_aggregates"]
QUERIES = {
    "tumbling": ".where(col.x > -2).group_by('key').tumbling_window(9).aggregate(n=wb.count(), s=wb.sum(col.x), "
                "lo=wb.min(col.y), hi=wb.max(col.k2), m=wb.mean(col.x), some=wb.any(col.flag), each=wb.all(col.flag))",
    "numbers": ".where(~col.k2.is_null()).group_by('k2').tumbling_window(7, offset=2, label='end')"
               ".aggregate(s=wb.sum(col.k2), there=wb.count(col.x), late=wb.count().where(col.flag))",
    "a_row_for_each_window": ".group_by('key', big=col.x > 2).hopping_window(8, 4, label='end')"
                             ".aggregate(n=wb.count(), hi=wb.max(col.y), emit='close')",
    "changes": ".select('x', 'y', key2=col.key).group_by('x').hopping_window(12, 4).aggregate(n=wb.count(), "
               "lo=wb.min(col.y))",
    "one_group": ".tumbling_window(5).aggregate(n=wb.count(), m=wb.mean(col.k2))",
}


@pytest.fixture(params=["evicts", "passes by"], autouse=True)
def few_slots(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short logs have two levels, too; their tables evict at once, and stand aside and come back."""
    evicts = request.param == "evicts"
    monkeypatch.setattr(PASS, "MIN_ROWS", 0)
    monkeypatch.setattr(PASS, "FIRST_SLOTS", 1 if evicts else 2)
    monkeypatch.setattr(PASS, "MAX_SLOTS", 4)
    monkeypatch.setattr(table_size, "ROWS_PER_SLOT", 8 if evicts else 2)
    monkeypatch.setattr(table_size, "MAX_FRACTION", 2.0 if evicts else 0.3)
    monkeypatch.setattr(table_size, "FIRST_PAUSE_ROWS", 9)


@pytest.mark.share(10, rest="soak")
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", QUERIES)
def test_law(name: str, law: laws.Law) -> None:
    query = Query((QUERIES[name],))
    check_operator(query.build, *INPUTS[:query.arity], reference=query.reference, laws=[law])


@pytest.mark.parametrize("name", QUERIES)
def test_these_queries_have_two_levels(name: str) -> None:
    query = Query((QUERIES[name],))
    trial = Trial(query.build, INPUTS[:1])
    plan = optimize(trial.stream(trial.sources()).node)
    assert [type(node.op) for node in plan.walk()].count(EvictingAggregate) == 1
