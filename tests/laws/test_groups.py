"""A query of its own for each group, against the shared laws and the oracle, which asks group by group."""

from __future__ import annotations

import pytest

from tests.laws.test_laws import INPUTS
from whimbrel.testing import Query, check_operator, laws

QUERIES = {
    "rows": ".group_by('key').group_apply(lambda g: g.where(col.x > 1).select('y'))",
    "aggregate": ".group_by('key', 'k2').group_apply(lambda g: g.tumbling_window(9).aggregate(n=wb.count())"
                 ".where(col.n > 1))",
    "aggregate_of_aggregate": ".group_by('k2').group_apply(lambda g: g.hopping_window(8, 4).aggregate(s=wb.sum(col.x))"
                              ".select('s').aggregate(most=wb.max(col.s)))",
    "computed_key": ".group_by(big=col.x > 2).group_apply(lambda g: g.select('x').detect(wb.event(col.x != 0)"
                    ".repeat(2), within=20))",
    "nested": ".group_by('flag').group_apply(lambda g: g.group_by('key').group_apply(lambda h: h.tumbling_window(8)"
              ".aggregate(s=wb.sum(col.x))).tumbling_window(16).aggregate(most=wb.max(col.s)))",
    "groups_of_groups": ".group_by('flag').group_apply(lambda g: g.group_by('key').tumbling_window(8)"
                        ".aggregate(s=wb.sum(col.x)).aggregate(n=wb.count(), hi=wb.max(col.s)))",
    "join_within_groups": ".where(~col.flag.is_null()).group_by('flag').group_apply(lambda g: g.select('x', 'k2')"
                          ".cross_join(g.tumbling_window(6).aggregate(n=wb.count()), allow_lookahead=True))",
    "anti_join_within_groups": ".where(~col.key.is_null()).group_by('key').group_apply(lambda g: g.select('x', 'k2')"
                               ".anti_join(g.where(col.flag).select('k2'), on='k2'))",
}


@pytest.mark.share(10, rest="soak")
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", QUERIES)
def test_law(name: str, law: laws.Law) -> None:
    query = Query((QUERIES[name],))
    check_operator(query.build, *INPUTS[:query.arity], reference=query.reference, laws=[law])
