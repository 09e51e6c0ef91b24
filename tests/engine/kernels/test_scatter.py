from __future__ import annotations

import numpy as np
import pytest

from whimbrel.kernels import marked, spread, tier


@pytest.mark.parametrize("dtype", (np.bool_, np.int16, np.float32, np.int64, np.float64))
@pytest.mark.parametrize("name", ("interpreted", "primitives"))
def test_values_are_spread_to_their_indices(name: str, dtype: type) -> None:
    random = np.random.default_rng(7)
    at = -50 + np.flatnonzero(random.random(5_000) < 0.7)
    values = random.integers(0, 2, 2 * len(at)).astype(dtype)[::2][: len(at)].copy()
    expected = np.zeros(5_100, dtype)
    expected[at + 60] = values
    with tier(name):  # type: ignore[arg-type]
        wide, there = spread(values, at, -60, 5_100), marked(at, -60, 5_100)
    assert wide.dtype == dtype
    assert wide.tolist() == expected.tolist()
    assert (np.flatnonzero(there) - 60).tolist() == at.tolist()
    assert not marked(at[:0], 0, 3).any()
