"""Temporal parts of expressions, against the shared laws."""

from __future__ import annotations

import pytest

from tests.laws.test_laws import INPUTS
from whimbrel.testing import Query, check_operator, laws

POINTS = ".set_duration(1).aggregate(x=wb.max(col.x)).set_duration(1)"
LEVELS = ".clip_duration(9).aggregate(x=wb.max(col.x))"
OF_KEYS = ".clip_duration(5).group_by('key').aggregate(x=wb.max(col.x)).group_by('key')"

QUERIES = {
    "ago": POINTS + ".select('x', d=col.x - col.x.ago(3))",
    "ago_of_levels": LEVELS + ".select('x', d=col.x - col.x.ago(4))",
    "ahead": POINTS + ".where(col.x.ahead(2).is_null() | (col.x.ahead(2) > col.x))",
    "previous": LEVELS + ".with_columns(p=col.x.previous(), q=col.x.previous(2))",
    "past": POINTS + ".select(n=wb.count().past(6), s=(wb.sum(col.x) / wb.count()).past(9, ahead=2, min_rows=2))",
    "past_of_levels": LEVELS + ".select('x', n=wb.count().past(6), m=wb.max(col.x).past(2, ahead=3))",
    "past_rows": LEVELS + ".select('x', s=wb.sum(col.x).past(rows=3), m=wb.max(col.x).past(rows=2, min_rows=2))",
    "cell": POINTS + ".select(z=col.x - wb.min(col.x).cell(7, offset=2))",
    "so_far": LEVELS + ".where(col.x == wb.max(col.x).so_far())",
    "reset": LEVELS + ".select(s=wb.sum(col.x).so_far(reset=col.x > 5), m=wb.median(col.x).so_far(reset=col.x < 2))",
    "so_far_of_keys": OF_KEYS + ".select('key', s=(wb.sum(col.x) * wb.count()).so_far(reset=col.x > col.x.previous()))",
    "held_so_far": POINTS + ".over_time(s=wb.max(col.x).so_far(reset=col.x < 3), p=wb.count().so_far().ago(2))",
    "so_far_of_objects": OF_KEYS + """.select('key', v=wb.aggregate(init=list, accumulate=lambda s, x, y: [*s, x + y],
        result=str, name='three')(col.x, col.x).so_far(reset=col.x < 2))""",
    "ema": OF_KEYS + ".with_columns(e=wb.ema(col.x, halflife=5), f=wb.ema(col.x, alpha=0.3).previous())",
    "iir": LEVELS + ".select('x', y=wb.iir(col.x, b=[1, 0.5, 0.1], a=[2, -0.5]), z=wb.iir(col.x, b=[3], a=[1]).ago(4))",
    "held_ema": POINTS + ".over_time(e=wb.ema(col.x - col.x.previous(), halflife=5), s=wb.iir(col.x, sos=[SECTION]))"
    .replace("SECTION", "[1, 2, 1, 1, 0.5, 0]"),
    "exists": POINTS + ".select('x', e=col.x.ago(3).exists(), w=wb.max(col.x).past(2).ahead(4).exists())",
    "mixed": POINTS + ".select(z=(wb.sum(col.x - col.x.ago(1)).past(5) - col.x.previous()).ago(2))",
    "time_weighted": LEVELS + ".select(m=wb.time_mean(col.x).past(6, ahead=1), d=wb.time_in(col.x > 3).cell(7))",
    "at_multiples": LEVELS + ".over_time(every=3, m=wb.time_mean(col.x).past(5), x=col.x, n=wb.count().past(4).ago(2))",
    "at_multiples_of_keys": OF_KEYS + (
        ".over_time(every=4, n=wb.count().past(9), x=col.x.previous(), r=wb.sum(col.x).past(rows=2))"),
    "changes": POINTS + ".over_time(s=wb.sum(col.x).past(6), d=col.x.ago(3) - col.x.ahead(2), n=wb.count().cell(5))",
    "changes_of_levels": LEVELS + (
        ".over_time(x=col.x, m=wb.max(col.x).past(7, ahead=2, min_rows=2), p=col.x.previous())"),
    "changes_of_keys": OF_KEYS + ".over_time(x=col.x, n=wb.count().past(9), c=wb.min(col.x).cell(6, offset=1).ago(2))",
    "changes_that_never_end": OF_KEYS + (
        ".over_time(r=wb.sum(col.x).past(rows=3), t=wb.count().so_far().ago(2), n=wb.count().past(2))"),
    "changes_of_streams": OF_KEYS + ".over_time(m=wb.median(col.x).past(5), x=col.x.ago(1), s=wb.sum(col.x).past(4))",
    "changes_held": LEVELS + ".hold().over_time(x=col.x, m=wb.max(col.x).past(3))",
    "multiples_held": LEVELS + ".hold().over_time(every=3, x=col.x, m=wb.max(col.x).past(3))",
    "multiples_of_streams": OF_KEYS + (
        ".over_time(every=3, m=wb.median(col.x).past(5), s=wb.count().past(4), r=wb.sum(col.x).past(rows=2))"),
    "multiples_of_cells": LEVELS + ".over_time(every=2, n=wb.count().cell(5), a=col.x.ahead(3), b=col.x.ago(30))",
    "rows_of_keys": OF_KEYS + (
        ".select('key', 'x', s=wb.sum(col.x).past(rows=3, min_rows=2).previous(), a=wb.max(col.x).past(4, ahead=3))"),
    "of_keys": OF_KEYS + ".select('key', 'x', p=col.x.previous(), n=wb.count().past(5), d=col.x.ago(3))",
}


@pytest.mark.share(10, rest="soak")
@pytest.mark.parametrize("law", [law for law in laws.LAWS if law is not laws.matches_the_reference],
                         ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", QUERIES)
def test_law(name: str, law: laws.Law) -> None:
    query = Query((QUERIES[name],))
    check_operator(query.build, *INPUTS[:query.arity], laws=[law])
