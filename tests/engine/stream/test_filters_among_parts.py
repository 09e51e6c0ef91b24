"""Filters of samples give the same in any order of columns, whatever parts stand with them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, col

FILTERS = {"iir": wb.iir(col.x, b=[1], a=[1, -0.5]), "fir": wb.fir(col.x, [0.5, 0.5])}
BEGINNING_AGAIN = {"iir": [1, 1.5, 1.75, 1, 1.5], "fir": [None, 1, 1, None, 1]}
WINDOWS: list[Callable[[int], Any]] = [
    lambda ticks: wb.sum(col.x).past(ticks), lambda ticks: wb.max(col.x).past(ticks, ahead=ticks),
    lambda ticks: wb.median(col.x).past(ticks), lambda ticks: wb.sum(col.x).past(ticks).ago(ticks),
    lambda ticks: wb.count().past(rows=3).ago(ticks), lambda ticks: wb.max(col.x).so_far().ago(ticks),
    lambda ticks: col.x.ago(ticks).exists(), col.x.ago, col.x.ahead, wb.sum(col.x).cell,
]
OF_ROWS = [wb.median(col.x).past(rows=2), wb.sum(col.x).so_far(), col.x.previous(), wb.ema(col.x, alpha=0.5)]


def five(unit: str | None = None, period: int = 1) -> Stream:
    """Samples 0, 1, 2, 5 and 6."""
    at = pa.array([period * number for number in (0, 1, 2, 5, 6)])
    return wb.from_arrow({"t": at if unit is None else at.cast(pa.timestamp(unit)), "x": [1.0] * 5},
                         time="t").select("x")


@pytest.mark.parametrize("kind", FILTERS)
def test_a_filter_after_a_part_begins_again_after_a_gap(kind: str) -> None:
    value, samples, total = FILTERS[kind], five().assume(periodic=1, gaps=True), wb.sum(col.x).past(3)
    for query in (
            samples.select(m=total, y=value), samples.select(y=value, m=total),
            samples.with_columns(m=total).with_columns(y=value),
            samples.with_columns(m=total).where(col.m > 0).with_columns(y=value),
            samples.with_columns(m=total, n=col.x.ago(1)).hold(limit=1).select(y=value),
            five("us", 1_000).assume(rate=1_000, gaps=True).select(m=wb.sum(col.x).past("3ms"), y=value),
            five().assume(duration=1, periodic=1, gaps=True).select(m=col.x.ago(1), n=total, y=value),
            samples.cross_join(samples.aggregate(n=wb.count()), how="left").select(y=value),
            samples.semi_join(samples, on="x").select(y=value)):
        assert query.collect()["y"].to_pylist() == BEGINNING_AGAIN[kind]
    differences = samples.select(y=wb.iir(col.x - total, b=[1], a=[1, -0.5]))
    assert differences.collect()["y"].to_pylist() == [0, -1, -2.5, 0, -1]


@pytest.mark.parametrize("seed", range(12))
def test_the_order_of_columns_does_not_matter(seed: int) -> None:
    chance = random.Random(seed)
    period = chance.choice([1, 3])
    there = [number for number in range(40) if chance.random() < 0.8]
    rows = {"t": [period * number for number in there], "x": [float(chance.randint(-4, 4)) for _ in there]}
    samples = wb.from_arrow(rows, time="t").select("x").assume(periodic=period, gaps=True)
    drawn = [*(build(chance.randint(1, 4 * period)) for build in chance.sample(WINDOWS, 3)), chance.choice(OF_ROWS)]
    columns = {f"part{number}": part for number, part in enumerate(drawn)}
    mixed = list((columns | FILTERS).items())
    chance.shuffle(mixed)
    found = samples.select(**dict(mixed)).collect()
    for name, expr in mixed:
        alone = samples.select(**{name: expr}).collect()[name]
        np.testing.assert_array_equal(found[name].to_numpy(), alone.to_numpy())
