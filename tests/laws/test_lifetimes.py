"""Operators that rewrite lifetimes or rows, against the shared laws and the oracle."""

from __future__ import annotations

import pytest

from tests.laws.test_laws import INPUTS
from whimbrel import optimize
from whimbrel.testing import Query, check_operator, laws

QUERIES = {
    "set_duration": ".set_duration(6)",
    "set_duration_by_column": ".set_duration(col.x * 2)",
    "set_duration_by_end": ".set_duration(col.end - col.start + 2)",
    "set_duration_of_edges": ".group_by('key').aggregate(n=wb.count()).set_duration(3)",
    "shift": ".shift(4)",
    "shift_back": ".shift(-7)",
    "shift_edges": ".group_by('key').aggregate(n=wb.count(), s=wb.sum(col.x)).shift(3)",
    "alter_start": ".alter_lifetime(start=col.start // 6 * 6)",
    "alter_both": ".alter_lifetime(start=2 * col.start + 1, duration=col.x)",
    "alter_to_one_instant": ".alter_lifetime(start=wb.lit(5), duration=4).aggregate(n=wb.count())",
    "alter_edges": ".aggregate(n=wb.count()).alter_lifetime(start=col.start - 1, duration=col.n)",
    "no_known_end": ".alter_lifetime(start=col.start + 1, duration=None)",
    "retime": ".retime((wb.start_time() + 2) // 6).group_by('key').aggregate(n=wb.count(), s=wb.sum(col.x))",
    "retime_of_edges": ".group_by('key').aggregate(n=wb.count()).retime(2 * wb.start_time() - 5)",
    "retime_of_windows": ".tumbling_window(5).aggregate(n=wb.count()).retime(wb.start_time() // 5 + 1)"
                         ".sliding_window(3).aggregate(s=wb.sum(col.n))",
    "retime_by_column": ".with_columns(n=2 * wb.start_time() + 3 * wb.start_time() % 4).assume(increasing='n', band=3)"
                        ".retime(col.n // 3).group_by('key').aggregate(n=wb.count(), s=wb.sum(col.x))",
    "retime_by_falling_column": ".with_columns(n=5 - wb.start_time()).assume(decreasing='n').where(col.x > 1)"
                                ".retime(-col.n).tumbling_window(4).aggregate(n=wb.count(), s=wb.sum(col.x))",
    "extend": ".extend(3)",
    "shorten": ".extend(-4)",
    "extend_edges": ".group_by('key').aggregate(n=wb.count()).extend(-1)",
    "clip_duration": ".clip_duration(5)",
    "clip_edges": ".group_by('key').aggregate(n=wb.count()).clip_duration(2)",
    "chop": ".clip_duration(40).chop(6, offset=1)",
    "chop_edges": ".clip_duration(25).group_by('key').aggregate(n=wb.count()).chop(3)",
    "point_at_end": ".point_at_end()",
    "point_at_end_of_edges": ".group_by('key').aggregate(n=wb.count()).point_at_end()",
    "assume_duration": ".set_duration(5).assume(duration=5).group_by('key').aggregate(lo=wb.min(col.x))",
    "assume_apart": ".group_by('key').aggregate(n=wb.count()).assume(non_overlapping=True, per='key')",
    "assume_no_ends": ".set_duration(None).assume(start_edges=True).aggregate(n=wb.count())",
    "assume_samples": ".set_duration(1).tumbling_window(5).aggregate(n=wb.count())"
                      ".alter_lifetime(start=col.start + col.n % 3, duration=1)"
                      ".assume(periodic=5, phase=0, jitter=2, gaps=True).sliding_window(12).aggregate(s=wb.sum(col.n))",
    "assume_samples_that_last": ".set_duration(1).tumbling_window(5).aggregate(n=wb.count())"
                                ".alter_lifetime(start=col.start + col.n % 2, duration=5 - col.n % 3)"
                                ".assume(periodic=5, jitter=1, gaps=True)",
    "assume_samples_of_keys": ".set_duration(1).group_by('key').tumbling_window(7).aggregate(n=wb.count())"
                              ".alter_lifetime(duration=1).assume(periodic=7, phase=2, jitter=2, gaps=True, per='key')",
    "resample_hold": ".set_duration(1).aggregate(x=wb.max(col.x)).resample(3, how='hold', limit=8, offset=1)",
    "resample_linear": ".set_duration(1).group_by('key').aggregate(x=wb.max(col.x), y=wb.min(col.y)).group_by('key')"
                       ".resample(2, how='linear', limit=7).sliding_window(5).aggregate(n=wb.count(col.x))",
    "resample_nearest": ".set_duration(1).group_by('k2').aggregate(x=wb.max(col.x)).group_by('k2')"
                        ".resample(4, how='nearest', limit=5)",
    "between": ".between(3, 17)",
    "between_edges": ".group_by('key').aggregate(n=wb.count(), s=wb.sum(col.x)).between(-2, 12, every=4)",
    "between_windows": ".tumbling_window(5).between(2, 21).aggregate(n=wb.count()).between(6, 7)",
    "edges": ".edges()",
    "edges_of_edges": ".group_by('key').aggregate(n=wb.count()).edges()",
    "edges_of_windows": ".sliding_window(4).select('x').edges().where(col.other.is_null())",
    "quantize": ".quantize(10, 4, offset=-1).group_by('key').aggregate(n=wb.count())",
    "quantize_lifetimes": ".quantize(6, 6)",
    "progressive_window": ".progressive_window(12, 6, 2, offset=3)",
    "stitch": ".select('flag').stitch()",
    "stitch_floats": ".select(z=col.y * 0).set_duration(2).stitch()",
    "stitch_keys": ".select('key', 'k2').clip_duration(6).stitch()",
    "unchop": ".select('key', 'x').clip_duration(30).stitch().chop(4).stitch()",
    "stitch_edges": ".group_by('key').aggregate(n=wb.count()).stitch()",
    "session_window": ".group_by('key').session_window(3)",
    "session_of_all": ".session_window(2).aggregate(n=wb.count(), s=wb.sum(col.x))",
    "session_cut": ".group_by('key', 'flag').session_window(6, max_duration=9)",
    "session_closed": ".group_by('key').session_window(4, emit='close').aggregate(n=wb.count())",
    "session_closed_and_cut": ".session_window(5, 7, emit='close').aggregate(n=wb.count())",
    "session_closed_of_some": ".group_by('key', 'k2').session_window(4, emit='close').where(col.x > 1)"
                              ".aggregate(n=wb.count(), a=wb.first(col.x), m=wb.median(col.y), s=wb.sum(col.x),"
                              " hi=wb.max(col.y).where(col.flag))",
    "session_closed_of_edges": ".group_by('key').aggregate(n=wb.count()).group_by('key')"
                               ".session_window(3, 9, emit='close').aggregate(s=wb.sum(col.n), z=wb.max(col.n))",
    "session_of_edges": ".group_by('key').aggregate(n=wb.count()).session_window(3)",
    "last_rows": ".last_rows(3)",
    "distinct_within": ".distinct_within(5, by='key')",
    "distinct_within_groups": ".group_by('key').distinct_within(3, by='k2').aggregate(n=wb.count(), s=wb.sum(col.x))",
    "calendar": ".tumbling_window(wb.calendar({'open': [-8, 3, 7], 'close': [-2, 7, 20]}))",
    "calendar_counts": ".group_by('key').tumbling_window(wb.calendar({'open': [0, 9], 'close': [6, 25]}))"
                       ".aggregate(n=wb.count(), s=wb.sum(col.x), hi=wb.max(col.y))",
    "last_row": ".group_by('key').last_rows(1)",
    "last_rows_by_key": ".group_by('key', third=col.x % 3).last_rows(2).aggregate(n=wb.count(), s=wb.sum(col.x))",
    "last_rows_of_edges": ".group_by('key').aggregate(n=wb.count()).group_by('key').last_rows(2)"
                          ".aggregate(s=wb.sum(col.n))",
    "last_rows_of_windows": ".tumbling_window(5).group_by('key').aggregate(n=wb.count()).group_by('key').last_rows(2)"
                            ".aggregate(s=wb.sum(col.n))",
    "union": ".union(t)",
    "union_of_many": ".select('x', 'key').union(t.select('key', 'x'), s.sliding_window(4).select('x', 'key'))",
    "union_of_edges": ".group_by('key').aggregate(n=wb.count()).union(t.group_by('key').aggregate(n=wb.count()))",
    "drop": ".drop('y', 'flag')",
    "rename": ".rename(z='x', x='k2')",
    "explode": ".explode('v', [col.x, col.k2, col.time])",
    "select_many_replaces": ".explode('x', [col.x, col.time]).aggregate(s=wb.sum(col.x))",
    "split": ".explode('key', split='a').group_by('key').aggregate(n=wb.count())",
}


@pytest.mark.share(10, rest="soak")
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", QUERIES)
def test_law(name: str, law: laws.Law) -> None:
    query = Query((QUERIES[name],))
    check_operator(query.build, *INPUTS[:query.arity], reference=query.reference, laws=[law])


WHOLE_LOGS = {
    "whole": ".tumbling_window(wb.WHOLE)",
    "whole_by_key": ".group_by('key').tumbling_window(wb.WHOLE).aggregate(n=wb.count(), s=wb.sum(col.x),"
                    " a=wb.first(col.x), hi=wb.max(col.y))",
}


@pytest.mark.share(3)
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", WHOLE_LOGS)
def test_a_whole_log(name: str, law: laws.Law, monkeypatch: pytest.MonkeyPatch) -> None:
    """Feeds are refused because they do not end; those of the laws do."""
    monkeypatch.setattr(optimize, "check_limits", lambda _: None)
    query = Query((WHOLE_LOGS[name],))
    check_operator(query.build, INPUTS[0], reference=query.reference, laws=[law])
