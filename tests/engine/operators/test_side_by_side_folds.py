"""Windows of aggregates without `merge`, of which several are folded side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.kernels import Tier, tier

ROWS, WINDOW = 400, 60


def faded(state: tuple[float, float], value: float) -> tuple[float, float]:
    return state[0] * 0.9 + value, state[1] + 1.0


def times(density: str) -> Any:
    chance = np.random.default_rng(3)
    if density == "one a tick":
        return np.arange(ROWS)
    return np.sort(chance.integers(0, ROWS * (2 if density == "sparse" else 40), ROWS))


@pytest.mark.share(3)
@pytest.mark.parametrize("name", ["interpreted", "primitives"])
@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("density", ["one a tick", "sparse", "very sparse"])
def test_each_window_has_the_bits_of_its_events_one_after_the_other(density: str, name: Tier, *, keyed: bool) -> None:
    at = np.unique(times(density))
    chance = np.random.default_rng(4)
    x, there = chance.normal(size=len(at)), chance.random(len(at)) < 0.8
    keys = (np.arange(len(at)) // 3 % 2 if keyed else np.zeros(len(at), np.int64)).tolist()
    mine = wb.aggregate(init=(0.0, 0.0), accumulate=faded, result=lambda state: state[0])
    log = wb.from_arrow(pa.table({"at": at, "x": pa.array(x, mask=~there), "k": keys}), time="at")
    with tier(name):
        answer = log.group_by("k").with_columns(v=mine(col.x).past(WINDOW)).collect()
    expected = []
    for now, key in zip(at, keys, strict=True):
        state = 0.0, 0.0
        for row in np.flatnonzero((at > now - WINDOW) & (at <= now) & there):
            if keys[row] == key:
                state = faded(state, float(x[row]))
        expected.append(state[0])
    found = answer["v"].to_pylist()
    assert [0.0 if value is None else value for value in found] == expected
