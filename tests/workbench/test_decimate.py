"""Fewer points must draw the same picture."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whimbrel_workbench.frames.decimate import keep_extremes

values = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=400)


@settings(deadline=None)
@given(values, st.integers(4, 60))
def test_the_picture_keeps_its_ends_and_its_peaks(y: list[float], most: int) -> None:
    row = np.array(y)
    kept = keep_extremes(row, most)
    assert len(kept) <= max(most, 4)
    assert (np.diff(kept) > 0).all()
    assert kept[0] == 0
    assert kept[-1] == len(y) - 1
    assert row[kept].min() == row.min()
    assert row[kept].max() == row.max()


def test_a_single_spike_in_a_long_row_survives() -> None:
    row = np.zeros(1_000_000)
    row[123_457] = 1.0
    assert 123_457 in keep_extremes(row, 2_000)


def test_short_rows_stay_whole() -> None:
    assert keep_extremes(np.arange(5.0), 5).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("most", (4, 5, 10))
def test_absent_values_hide_no_extreme(most: int) -> None:
    row = np.full(100, np.nan)
    row[[10, 70]] = -3.0, 8.0
    assert {10, 70} <= set(keep_extremes(row, most).tolist())
