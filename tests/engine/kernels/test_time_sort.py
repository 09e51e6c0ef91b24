"""The order of times is that of a stable sort, in each of its forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.batch import Batch, Schema
from whimbrel.kernels import ascends, ordered, tier, time_order, with_gaps

ROWS = 40_000
CHANCE = np.random.default_rng(7)
FORWARD = np.arange(ROWS) * 7
DATA = {
    "a few rows late": np.where(CHANCE.random(ROWS) < 0.01, FORWARD - CHANCE.integers(0, 90_000, ROWS), FORWARD),
    "many a few rows late, few far": np.where(CHANCE.random(ROWS) < 0.05, FORWARD // 21 - CHANCE.integers(0, 20, ROWS),
                                              np.where(CHANCE.random(ROWS) < 0.01, 100, FORWARD // 21)),
    "few far, then more, of times that others have": FORWARD // 70 - np.where(
        CHANCE.random(ROWS) < np.where(np.arange(ROWS) < ROWS // 2, 0.002, 0.03), CHANCE.integers(0, 400, ROWS), 0),
    "half of them late": np.where(CHANCE.random(ROWS) < 0.5, FORWARD - CHANCE.integers(0, 900, ROWS), FORWARD),
    "one row very late": np.append(FORWARD, -(2**62)),
    "no order": CHANCE.integers(0, 10**6, ROWS),
    "many of one time": CHANCE.integers(0, 5, ROWS),
    "wide times": CHANCE.integers(-(2**62), 2**62, ROWS),
    "the ends of time": CHANCE.integers(-(2**63), 2**63 - 1, ROWS),
    "crowded": (CHANCE.pareto(0.5, ROWS) * 1000).clip(max=2.0**60).astype(np.int64),
    "backwards": FORWARD[::-1].copy(),
    "crowded below the upper digits": FORWARD // 4_096 * 2**40 + CHANCE.integers(0, 3_000, ROWS),
    "few out of order in each slice": FORWARD - 9 * 7 * (np.arange(ROWS) % 600 == 599) - 300_000 * (
        np.arange(ROWS) % 9 == 8) * (np.arange(ROWS) > 35_000),
    "negative, descending in short pieces": -FORWARD.reshape(-1, 8)[::-1].ravel(),
    "sorted runs, interleaved": CHANCE.integers(0, 10**7, (20, ROWS // 20)).cumsum(axis=1).ravel(),
}


@pytest.mark.parametrize("name", DATA)
def test_the_order_is_stable(name: str) -> None:
    with tier("primitives"):
        order = time_order(DATA[name])
    assert order is not None
    assert (order == DATA[name].argsort(kind="stable")).all()


def test_times_in_order_need_none() -> None:
    assert time_order(FORWARD) is None
    assert time_order(FORWARD[:0]) is None


@given(st.lists(st.integers(-(2**63) + 1, 2**63 - 2), max_size=40))
def test_any_times(times: list[int]) -> None:
    sync = np.array(times, np.int64)
    order = time_order(sync)
    assert (sync if order is None else sync[order]).tolist() == sorted(times)


@given(st.lists(st.tuples(st.integers(-(2**62), 2**62), st.integers(0, 60), st.integers(1, 1_500)), min_size=4),
       st.integers(0, 2**31), st.sampled_from([1, 30, 1_000]))
def test_any_many_times(pieces: list[tuple[int, int, int]], seed: int, jitter: int) -> None:
    """Pieces that begin somewhere, with steps up to a power of two, and rows that come too late."""
    chance = np.random.default_rng(seed)
    times = np.concatenate([
        begin + chance.integers(0, 2**bits, rows).cumsum() % 2**62 - chance.integers(0, jitter, rows)
        for begin, bits, rows in pieces])
    times = np.tile(times, -(-5_000 // len(times)))
    with tier("primitives"):
        order = time_order(times)
    assert (np.arange(len(times)) if order is None else order).tolist() == times.argsort(kind="stable").tolist()


@pytest.mark.parametrize("name", ["interpreted", "primitives"])
@pytest.mark.parametrize("row", [1, 4_097, ROWS - 1])
def test_one_time_before_the_one_in_front_of_it_is_seen(name: str, row: int) -> None:
    times = FORWARD.copy()
    times[row:] -= 7
    with tier(name):
        assert ascends(times)  # as late as the one in front is not before it
        times[row] -= 1
        assert not ascends(times)


@pytest.mark.parametrize(("name", "gaps"), [
    ("backwards", None), ("the ends of time", None), ("a few rows late", None),
    ("steps that leave int64", None), ("falls that leave int64", None), ("forward", (7, 7)), ("gaps", (0, 70)),
])
def test_gaps_are_known_of_times_in_order_only(name: str, gaps: tuple[int, int] | None) -> None:
    half = np.full(ROWS // 2, 2**62)
    others = {"steps that leave int64": np.append(-half - 1, half),
              "falls that leave int64": np.append(half, -half - 1), "forward": FORWARD,
              "gaps": np.where(FORWARD < 700, 0, FORWARD - 630)}
    times = others[name] if name in others else DATA[name]
    with tier("primitives"):
        assert with_gaps(Batch(Schema(()), times, 1, ())).gaps == gaps
        assert ordered(Batch(Schema(()), times, 1, ())) == bool((times[1:] >= times[:-1]).all())
