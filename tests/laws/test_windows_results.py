"""Results over several aggregates, bounds of windows, one row a window, and rows for empty windows: laws and oracle."""

from __future__ import annotations

import pytest

from tests.laws.test_laws import INPUTS
from whimbrel.testing import Query, check_operator, laws

QUERIES = {
    "results": ".group_by('key').aggregate(m=(wb.sum(col.x) - 1) / wb.count(), n=wb.count(), some=wb.count(col.x) > 2,"
               " late=wb.count().where(col.flag) / wb.count())",
    "results_of_windows": ".tumbling_window(8).group_by('k2').aggregate(spread=wb.max(col.x) - wb.min(col.x),"
                          " total=wb.sum(col.x).fill_null(0) + wb.count() * 2, k=col.k2.is_null() & (wb.count() > 1))",
    "bounds": ".group_by('key').tumbling_window(7, offset=2)"
              ".aggregate(n=wb.count(), since=wb.window_start(), until=wb.window_end())",
    "bounds_of_hopping": ".hopping_window(12, 4)"
                         ".aggregate(n=wb.count(), since=wb.window_start(), until=wb.window_end())",
    "bounds_at_end": ".group_by('key').hopping_window(9, 3, offset=1, label='end')"
                     ".aggregate(n=wb.count(), since=wb.window_start(), until=wb.window_end())",
    "bounds_with_gaps": ".hopping_window(3, 8, label='end').aggregate(since=wb.window_start(), until=wb.window_end(),"
                        " late=wb.count().where(col.flag))",
    "combined": ".group_by('key').tumbling_window(8).aggregate(n=wb.n_null(col.y), w=wb.weighted_mean(col.y, col.x),"
                " g=wb.geometric_mean(col.x))",
    "combined_sliding": ".group_by('key').sliding_window(9).aggregate(n=wb.n_null(col.y),"
                        " w=wb.weighted_mean(col.x, col.y), g=wb.geometric_mean(col.x))",
    "bins": ".group_by('key').tumbling_window(8).aggregate(h=wb.histogram(col.x, [0, 2, 4, 5]),"
            " r=wb.rate(col.x, col.time, per=1))",
    "bins_sliding": ".sliding_window(9).aggregate(h=wb.histogram(col.y, [0.5, 1.0, 9.0]))",
    "pairs": ".group_by('key').tumbling_window(8).aggregate(c=wb.cov(col.y, col.x), a=wb.slope(col.y, col.x),"
             " s=wb.skew(col.x))",
    "pairs_sliding": ".group_by('key').sliding_window(9).aggregate(r=wb.corr(col.x, col.y))",
    "min_rows": ".group_by('key').tumbling_window(8).aggregate(m=wb.mean(col.x).min_rows(2),"
                " hi=wb.max(col.y).where(col.flag).min_rows(2), n=wb.count().min_rows(3) * 2)",
    "close": ".group_by('key').hopping_window(10, 5).aggregate(n=wb.count(), s=wb.sum(col.x), emit='close')",
    "close_at_end": ".hopping_window(12, 3, label='end').aggregate(n=wb.count(), m=wb.mean(col.y), emit='close')",
    "close_in_order": ".group_by('key', 'k2').hopping_window(12, 2, offset=1).aggregate(a=wb.first(col.x),"
                      " z=wb.last(col.x), hi=wb.max(col.y), m=wb.mean(col.x), some=wb.count(col.x), emit='close')",
    "close_of_all": ".hopping_window(9, 1).aggregate(lo=wb.min(col.x), v=wb.var(col.x), emit='close')",
    "close_uneven": ".group_by('key').hopping_window(7, 3, offset=1).aggregate(n=wb.count(), s=wb.sum(col.x),"
                    " since=wb.window_start(), until=wb.window_end(), emit='close')",
    "close_uneven_at_end": ".hopping_window(10, 4, label='end').aggregate(n=wb.count(), m=wb.min(col.y), emit='close')",
    "fill_previous": ".group_by('key').tumbling_window(2).aggregate(n=wb.count(), m=wb.mean(col.x),"
                     " a=wb.window_start(), fill='previous')",
    "fill_previous_limit": ".group_by('key', 'k2').tumbling_window(2).aggregate(n=wb.count(), hi=wb.max(col.key),"
                           " fill='previous', fill_limit=3)",
    "fill_uneven": ".group_by('key').hopping_window(5, 3).aggregate(n=wb.count(), a=wb.window_start(), fill=True)",
    "fill": ".group_by('key').tumbling_window(4).aggregate(n=wb.count(), s=wb.sum(col.x), lo=wb.min(col.y),"
            " name=wb.max(col.key), names=wb.count_distinct(col.k2), fill=True)",
    "fill_hopping": ".group_by('key', 'k2').hopping_window(6, 2, label='end').aggregate(n=wb.count(), fill=True)",
    "fill_with_gaps": ".hopping_window(2, 5).aggregate(n=wb.count(), m=wb.mean(col.y), fill=True)",
    "fill_with_values": ".group_by('flag').tumbling_window(3).aggregate(n=wb.count(), m=wb.mean(col.y),"
                        " key=wb.min(col.key), since=wb.window_start(), fill={'m': -1, 'key': 'none'})",
    "distinct": ".group_by('flag').distinct('key', 'x')",
    "distinct_windows": ".select('key', 'k2').tumbling_window(6).distinct()",
    "pivot": ".tumbling_window(5).pivot('k2', attribute='key', value='x', values=['a', 'b', 'c'], aggregate=wb.max)",
    "pivot_sum": ".tumbling_window(5).pivot('k2', attribute='key', value='x', values=['a', 'zz'], aggregate=wb.sum)",
    "pivot_names": ".pivot(attribute='flag', value='key', values=[True], aggregate=wb.min)",
    "pivot_of_one": ".group_by('key', 'k2', 'x', 'y', 'flag').aggregate(n=wb.count())"
                    ".pivot('k2', 'x', 'y', 'flag', 'n', attribute='key', value='n', values=['a', 'b'])",
    "unpivot": ".select('key', 'x', 'k2', a=col.time).unpivot('key')",
}


@pytest.mark.share(10, rest="soak")
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", QUERIES)
def test_law(name: str, law: laws.Law) -> None:
    query = Query((QUERIES[name],))
    check_operator(query.build, *INPUTS[:query.arity], reference=query.reference, laws=[law])
