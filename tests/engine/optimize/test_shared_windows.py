"""A periodic loop visits the events of equal windows once, and gives functions of time at the multiples of a window."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import whimbrel as wb
from whimbrel import Stream, col

GAPS = np.array([0, 1, 2, 5, 6, 7, 8, 23, 24, 31, 32, 33, 39])
CELLS = {
    "one": lambda log: log.over_time(every=10, n=wb.count().where(col.x > 2).cell(10)),
    "several": lambda log: log.over_time(every=10, m=wb.mean(col.x).cell(10), s=(wb.sum(col.x) / wb.count()).cell(10),
                                         high=(wb.max(col.x) - wb.mean(col.x)).cell(10)),
    "offset": lambda log: log.over_time(every=10, s=wb.sum(col.x).cell(10) - 1, t=wb.sum(col.x).cell(10)),
    "of a cell": lambda log: log.over_time(every=10, s=wb.sum(abs(col.x - wb.mean(col.x).cell(10))).cell(10)),
}
WINDOWS = {
    "cells": lambda log: log.select(z=(col.x - wb.mean(col.x).cell(10)) / wb.std(col.x).cell(10)),
    "past": lambda log: log.select(z=(col.x - wb.mean(col.x).past(10)) / wb.max(col.x).past(10)),
    "of another stream": lambda log: log.select(a=wb.sum(col.x).past(4), b=wb.sum(col.x * 2).past(4).ago(1)),
}


def _log(times: np.ndarray) -> Stream:
    x = (times * 7 % 11).astype(np.float64)
    return wb.from_arrow({"at": times, "x": x}, time="at", name="log").select("x")


@pytest.mark.parametrize("times", [np.arange(45), GAPS], ids=["every tick", "gaps"])
@pytest.mark.parametrize("name", [*CELLS, *WINDOWS])
def test_a_loop_has_the_values_of_windows_by_position(name: str, times: np.ndarray) -> None:
    query = (CELLS | WINDOWS)[name]
    loop, by_position = query(_log(times).assume(periodic=1, gaps=True)), query(_log(times))
    assert "periodic_loop(" in loop.explain()
    assert "periodic_loop(" not in by_position.explain()
    ours, expected = loop.collect(), by_position.collect()
    assert ours.select(["start", "end"]).equals(expected.select(["start", "end"]))
    for column in expected.column_names:
        ours_of, expected_of = (each[column].to_numpy() for each in (ours, expected))
        np.testing.assert_allclose(ours_of, expected_of, rtol=1e-12)


@pytest.mark.parametrize(("name", "once"), [("cells", "some = False"), ("past", "window_turns("),
                                            ("of another stream", "window_turns(")])
def test_windows_of_the_same_events_and_width_are_one_step(name: str, once: str) -> None:
    query = WINDOWS[name](_log(GAPS).assume(periodic=1, gaps=True))
    query.collect()
    assert query.kernels().count(once) == 1


def test_functions_with_one_name_stay_two_aggregates() -> None:
    def largest(factor: float) -> wb.Aggregate:
        return wb.aggregate(init=(0.0,), accumulate=lambda s, x: (max(s[0], factor * x),), result=lambda s: s[0],
                            merge=lambda s, other: (max(s[0], other[0]),), name="largest")(col.x)

    log = _log(np.arange(20)).assume(periodic=1)
    found = log.over_time(every=10, a=(largest(1.0) + 0.0).cell(10), b=(largest(2.0) + 1.0).cell(10))
    assert "periodic_loop(" in found.explain()
    assert found.collect()["b"].to_pylist() == [2 * a + 1 for a in found.collect()["a"].to_pylist()]


@pytest.mark.parametrize("query", [
    lambda log: log.over_time(every=10, s=wb.sum(col.x).cell(20)), lambda log: log.over_time(every=10, x=col.x),
    lambda log: log.over_time(every=10, s=wb.sum(col.x).cell(10).ago(10)),
    lambda log: log.over_time(every=10, s=wb.time_mean(col.x).cell(10))])
def test_other_values_at_multiples_are_read_by_position(query: Callable[[Stream], Stream]) -> None:
    loop, by_position = query(_log(GAPS).assume(non_overlapping=True)), query(_log(GAPS))
    assert "periodic_loop(" not in loop.explain()
    assert loop.collect().equals(by_position.collect())
