"""Rows are gathered by position as NumPy does, for each width of values."""

from __future__ import annotations

import numpy as np
import pytest

from whimbrel.kernels import PrefetchingStorage, tier


@pytest.mark.parametrize("dtype", (np.bool_, np.int8, np.uint16, np.float32, np.uint64, np.float64))
@pytest.mark.parametrize("name", ("interpreted", "primitives"))
@pytest.mark.parametrize("rows", (0, 300, 5_000))
def test_values_are_those_at_the_positions(rows: int, name: str, dtype: type) -> None:
    chance = np.random.default_rng(3)
    values = chance.integers(0, 200, 7_000).astype(dtype)
    positions = chance.integers(0, len(values), rows)
    positions[: rows // 2] = np.arange(rows // 2)  # near at first, then far
    with tier(name):  # type: ignore[arg-type]
        taken = PrefetchingStorage().take(values, positions)
    assert taken.dtype == values.dtype
    assert taken.tolist() == values[positions].tolist()
