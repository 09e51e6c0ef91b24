"""Aggregates that keep every value, against the shared laws and the oracle."""

from __future__ import annotations

import re

import pytest

from tests.laws.test_laws import INPUTS
from whimbrel.operators.aggregation import sketch_accumulator
from whimbrel.testing import Query, check_operator, laws

QUANTILES = ("n=wb.count(), m=wb.median(col.x), my=wb.median(col.y), p=wb.quantile(col.x, 0.3), "
             "q=wb.quantile(col.key, 0.4, interpolation='discrete', descending=True), "
             "z=wb.quantile(col.k2, 0.75, interpolation='discrete').where(col.flag)")
EXTREMES = "lo=wb.min(col.key), hi=wb.max(col.key), f=wb.first(col.key), l=wb.last(col.key).where(col.x > 1)"
DISTINCT = "d=wb.count_distinct(col.key), e=wb.count_distinct(col.y).where(col.flag), s=wb.sum(col.x)"
LISTS = "xs=wb.collect(col.x), ys=wb.collect(col.key).where(col.flag)"
RANKS = "top=wb.top_k(col.x, 2), topmost=wb.top_k(col.key, 1, ties=False), topz=wb.top_k(col.y, 3)"
SKETCHES = ("d=wb.approx_count_distinct(col.key), e=wb.approx_count_distinct(col.y, 8).where(col.flag), "
            "q=wb.approx_quantile(col.x, 0.3), m=wb.approx_quantile(col.y, 0.5, k=20), "
            "t=wb.approx_top_k(col.key, 2, counters=2), u=wb.approx_top_k(col.y, 3, counters=3).where(col.flag)")
"""Exact, as long as values are few."""

ROWS_BY = ("a=wb.arg_min(col.key, col.x), b=wb.arg_max(col.x, col.y).where(col.flag), c=wb.last(col.y, by=col.key), "
           "d=wb.first(col.x, by=col.flag), e=wb.arg_max(col.key, col.k2), f=wb.last(col.x, by=col.y)")
BITS = "a=wb.bit_and(col.x), b=wb.bit_or(col.x).where(col.flag), c=wb.bit_xor(col.x), f=wb.any_value(col.y)"
SHAPES = ("a=wb.mode(col.x), b=wb.mode(col.key).where(col.flag), c=wb.sum_distinct(col.y), "
          "d=wb.quantiles(col.x, [0.25, 0.5, 1]), e=wb.mad(col.y), f=wb.entropy(col.key)")
IN_ORDER = ("a=wb.string_agg(col.key), "
            "b=wb.string_agg(col.key, '; ', order='value', descending=True).where(col.x > 1), "
            "c=wb.increase(col.x), d=wb.string_agg(col.key, '', descending=True)")

QUERIES = {
    "quantiles": f".aggregate({QUANTILES})",
    "quantiles_by_key": f".group_by('flag').tumbling_window(8).aggregate({QUANTILES})",
    "quantiles_sliding": f".group_by('flag').sliding_window(9).aggregate({QUANTILES})",
    "extremes_of_texts": f".group_by('k2').aggregate({EXTREMES})",
    "extremes_of_texts_in_panes": f".tumbling_window(7, offset=2).aggregate({EXTREMES})",
    "extremes_of_texts_hopping": f".group_by('flag').hopping_window(12, 3).aggregate({EXTREMES})",
    "distinct": f".aggregate({DISTINCT})",
    "distinct_in_panes": f".group_by('k2').tumbling_window(8, label='end').aggregate({DISTINCT})",
    "lists": f".group_by('k2').aggregate({LISTS})",
    "lists_in_panes": f".group_by('k2').tumbling_window(9).aggregate({LISTS})",
    "lists_hopping": f".hopping_window(10, 4).aggregate({LISTS})",
    "ranks": f".aggregate({RANKS})",
    "ranks_in_panes": f".group_by('flag').tumbling_window(9).aggregate({RANKS})",
    "ranks_sliding": f".group_by('k2').sliding_window(5).aggregate({RANKS})",
    "rows_by": f".group_by('k2').aggregate({ROWS_BY})",
    "rows_by_in_panes": f".group_by('flag').tumbling_window(9).aggregate({ROWS_BY})",
    "rows_by_hopping": f".hopping_window(12, 3).aggregate({ROWS_BY})",
    "rows_by_sliding": f".group_by('k2').sliding_window(7).aggregate({ROWS_BY})",
    "bits_in_panes": f".tumbling_window(8).aggregate({BITS})",
    "bits_sliding": f".group_by('flag').sliding_window(7).aggregate({BITS})",
    "shapes_in_panes": f".group_by('k2').tumbling_window(9).aggregate({SHAPES})",
    "shapes_sliding": f".sliding_window(7).aggregate({SHAPES})",
    "in_order_in_panes": f".tumbling_window(9).aggregate({IN_ORDER})",
    "in_order_hopping": f".group_by('flag').hopping_window(12, 4).aggregate({IN_ORDER})",
    "sketches": f".group_by('flag').aggregate({SKETCHES})",
    "sketches_in_panes": f".tumbling_window(9).aggregate({SKETCHES})",
    "sketches_by_key": f".group_by('k2').tumbling_window(7, offset=2).aggregate({SKETCHES})",
    "window_over_window": ".hopping_window(4, 2).tumbling_window(8)"
                          ".aggregate(xs=wb.collect(col.x), f=wb.first(col.key))",
}

_BY_START = re.compile(r"first|last|collect|arg_|any_|_agg|increase")


@pytest.mark.share(10, rest="soak")
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", QUERIES)
def test_law(name: str, law: laws.Law) -> None:
    query = Query((QUERIES[name],))
    # The model orders by the column `time`, which stays what it was when a late row is moved.
    by_start = law is laws.late_rows_follow_the_policy and _BY_START.search(QUERIES[name])
    check_operator(query.build, *INPUTS[:query.arity], reference=None if by_start else query.reference, laws=[law])


@pytest.mark.share(3)
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", ("sketches_in_panes", "sketches_by_key"))
def test_law_of_summed_up_values(name: str, law: laws.Law, monkeypatch: pytest.MonkeyPatch) -> None:
    """No oracle knows what a sketch answers, but it is the same answer however the values came."""
    monkeypatch.setattr(sketch_accumulator, "CHUNK", 3)
    monkeypatch.setattr(sketch_accumulator, "PENDING_AT_FIRST", 4)
    query = Query((QUERIES[name].replace("(7,", "(30,").replace("(9)", "(20)"),))
    check_operator(query.build, *INPUTS[:1], laws=[law])
