"""One row becomes many, and rows that know when they are true, against the shared laws and the oracle."""

from __future__ import annotations

import pytest

from tests.laws.test_laws import INPUTS
from whimbrel.testing import Query, check_operator, laws

QUERIES = {
    "times": ".where(col.x < 6).explode('v', [col.x, col.time], times=col.x - 1)",
    "items_of_a_collection": ".tumbling_window(9).aggregate(x=wb.collect(col.x)).explode('x')"
                             ".aggregate(s=wb.sum(col.x), n=wb.count())",
    "lists_of_a_function": ".where(col.x > -3).explode('v', lambda e: [e.x] * (1 if e.x < 2 else e.x % 3))",
    "lifetime_as_columns": ".select('x', since=wb.start_time(), until=wb.end_time())",
    "lifetime_after_a_window": ".hopping_window(10, 5).with_columns(since=wb.start_time(), until=wb.end_time())",
    "lifetime_as_condition": ".where(wb.end_time() - wb.start_time() > 5)",
    "lifetime_below_an_absorbed_window": ".tumbling_window(8).select('x', since=wb.start_time())"
                                         ".aggregate(lo=wb.min(col.since), s=wb.sum(col.x))",
    "condition_below_an_absorbed_window": ".tumbling_window(8).where(wb.start_time() % 16 == 0)"
                                          ".aggregate(s=wb.sum(col.x))",
    "lifetime_above_and_below": ".select('x', was=wb.start_time()).tumbling_window(6)"
                                ".aggregate(lo=wb.min(col.was), hi=wb.max(col.was))",
    "lifetime_repeated": ".explode('v', [wb.start_time(), col.x], times=2).select('v')",
    "lifetime_of_edges": ".anti_join(t, on='key').select('x', since=wb.start_time())",
    "lifetime_of_edges_that_end": ".anti_join(t, on='key').select('x', until=wb.end_time())",
    "condition_on_edges_that_end": ".anti_join(t, on='key').where(wb.end_time() > 20).select('x')",
}


@pytest.mark.share(10, rest="soak")
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", QUERIES)
def test_law(name: str, law: laws.Law) -> None:
    query = Query((QUERIES[name],))
    check_operator(query.build, *INPUTS[:query.arity], reference=query.reference, laws=[law])
