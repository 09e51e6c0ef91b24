"""Keys that are removed when their groups are over, against the shared laws and the oracle."""

from __future__ import annotations

import pytest

from tests.laws.test_laws import INPUTS
from whimbrel.kernels import keys
from whimbrel.testing import Query, check_operator, laws

WINDOWS = {
    "tumbling": ".tumbling_window(5)",
    "hopping": ".hopping_window(10, 5)",
    "overlapping": ".hopping_window(6, 4)",
    "sliding": ".sliding_window(6)",
    "session": ".session_window(4)",
    "session_that_is_cut": ".session_window(4, max_duration=9)",
    "session_at_its_end": ".session_window(4, max_duration=9, emit='close')",
    "lifetimes": "",
}
AGGREGATES = {
    "sums": "n=wb.count(), s=wb.sum(col.x), lo=wb.min(col.y), v=wb.var(col.x)",
    "values": "md=wb.median(col.x), most=wb.mode(col.y), few=wb.count_distinct(col.y)",
}
QUERIES = {
    **{f"{window}_{name}": f".group_by('key'){lines}.aggregate({aggregates})"
       for window, lines in WINDOWS.items() for name, aggregates in AGGREGATES.items()},
    "several_keys": ".group_by('key', 'k2').tumbling_window(5).aggregate(n=wb.count())",
    "sessions": ".group_by('key').session_window(4, max_duration=9)",
    "sessions_at_their_end": ".group_by('key').session_window(4, emit='close')",
    "several_keys_of_sessions": ".group_by('k2', 'key').session_window(4).aggregate(n=wb.count())",
    "numbers": ".group_by('x').tumbling_window(5).aggregate(n=wb.count())",
    "numbers_that_hop": ".group_by('x').hopping_window(10, 5).aggregate(n=wb.count(), s=wb.sum(col.x))",
    "flags": ".group_by('flag').hopping_window(10, 5).aggregate(n=wb.count())",
    "sketches": ".group_by('key').tumbling_window(9).aggregate(few=wb.approx_count_distinct(col.x))",
    "distinct": ".distinct_within(6, by='key')",
}


@pytest.mark.share(20, rest="soak")
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", QUERIES)
def test_law(name: str, law: laws.Law, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_FEW_KEYS", 1)
    query = Query((QUERIES[name],))
    check_operator(query.build, *INPUTS[:query.arity], reference=query.reference, laws=[law])
