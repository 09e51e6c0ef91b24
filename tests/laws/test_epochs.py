"""Epochs with running aggregates, against the shared laws and the oracle."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.test_laws import INPUTS
from whimbrel.kernels import tier
from whimbrel.testing import Query, check_operator, laws, strategies
from whimbrel.testing.oracle import Event
from whimbrel.testing.trial import Trial

QUERIES = {
    "epochs": ".epoch_aggregate(5, wb.count() == 0, n=wb.count(), s=wb.running(wb.sum(col.x)))",
    "epochs_by_key": ".group_by('key').epoch_aggregate(4, wb.count() == 0, n=wb.count(), m=wb.max(col.y),"
                     " s=wb.running(wb.sum(col.x)), c=wb.running(wb.count()), at=wb.window_start())",
    "epochs_that_close_after_rows": ".group_by('key', 'flag').epoch_aggregate(3, wb.running(wb.count()) > 2,"
                                    " offset=1, n=wb.running(wb.count()), d=wb.running(wb.count_distinct(col.x)),"
                                    " f=wb.first(col.x), l=wb.running(wb.last(col.x)))",
    "epochs_that_never_close": ".group_by(third=col.x % 3).epoch_aggregate(6, False, n=wb.count().where(col.flag),"
                               " q=wb.running(wb.median(col.x)), r=wb.running(wb.sum(col.x)) * 2 + wb.count())",
    "epochs_that_close_by_time": ".group_by('k2').epoch_aggregate(2, wb.window_start() >= 10, n=wb.count(),"
                                 " v=wb.running(wb.collect(col.key)))",
    "epochs_that_close_by_key": ".group_by('key').epoch_aggregate(3, (col.key == 'a') | (wb.sum(col.x) > 4),"
                                " n=wb.count(col.x))",
    "epochs_of_edges": ".group_by('key').aggregate(n=wb.count()).group_by('key').epoch_aggregate(5,"
                       " wb.count() == 0, s=wb.running(wb.sum(col.n))).where(col.s > 1)",
}
CLOSING = ["wb.count() == 0", "False", "wb.running(wb.count()) > 3", "wb.any(col.flag)", "wb.max(col.x) > 2",
           "wb.window_end() > 7", "wb.running(wb.sum(col.x)) % 2 == 0"]


@pytest.mark.share(10, rest="soak")
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", QUERIES)
def test_law(name: str, law: laws.Law) -> None:
    query = Query((QUERIES[name],))
    check_operator(query.build, *INPUTS[:query.arity], reference=query.reference, laws=[law])


@settings(max_examples=40)
@given(strategies.facts(max_size=10), st.sampled_from(CLOSING), st.integers(1, 9), st.sampled_from((1, 3, 100)))
def test_random_facts_match_the_oracle(facts: list[Event], closing: str, size: int, rows: int) -> None:
    results = "n=wb.count(), s=wb.sum(col.x), r=wb.running(wb.sum(col.x)), c=wb.running(wb.count())"
    query = Query((f".group_by('key').epoch_aggregate({size}, {closing}, {results})",))
    trial = Trial(query.build, (facts,), query.reference)
    with tier("interpreted"):
        actual = trial.run(lambda facts: [facts[at:at + rows] for at in range(0, max(len(facts), 1), rows)])
    trial.same(actual, f"batches of {rows}\n{trial.paste()}\n")
