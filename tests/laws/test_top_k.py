"""The rows of largest value, against the shared laws and the oracle."""

from __future__ import annotations

import pytest

from tests.laws.test_laws import INPUTS
from whimbrel.testing import Query, check_operator, laws

QUERIES = {
    "snapshots": ".top_k(2, by=col.x)",
    "windows_by_key": ".group_by('key').tumbling_window(9).top_k(1, by=col.y, rank='place')",
    "smallest": ".group_by('flag').hopping_window(8, 4).top_k(2, by=col.key, descending=False)",
    "smallest_at_the_ends_of_int64": ".top_k(1, by=col.k2, descending=False)",
    "several_orders": ".tumbling_window(9).top_k(2, by=[col.flag, col.x], descending=[False, True])",
    "cut_by_several_orders": ".group_by('k2').sliding_window(7).top_k(2, by=[col.key, col.x], ties=False)",
    "cut": ".tumbling_window(8).top_k(3, by=col.x, ties=False)",
    "cut_by_key": ".group_by('k2').sliding_window(7).top_k(1, by=col.flag, ties=False).aggregate(s=wb.sum(col.x))",
}


@pytest.mark.share(10, rest="soak")
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", QUERIES)
def test_law(name: str, law: laws.Law) -> None:
    query = Query((QUERIES[name],))
    check_operator(query.build, *INPUTS[:query.arity], reference=query.reference, laws=[law])
