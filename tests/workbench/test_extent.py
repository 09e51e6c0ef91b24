"""Axes grow in nice steps and never shrink."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from whimbrel_workbench.frames.extent import Extent, grown

DAY_MS = 86_400_000.0
reaches = st.lists(st.tuples(st.floats(-1e9, 1e9), st.floats(0, 1e6)), min_size=1, max_size=20)


@settings(deadline=None)
@given(reaches)
def test_every_value_is_inside_and_the_axis_never_shrinks(steps: list[tuple[float, float]]) -> None:
    extent = None
    for low, span in steps:
        before = extent
        extent = grown(extent, low, low + span)
        assert extent.low <= low
        assert extent.high >= low + span
        assert extent.low < extent.high
        if before is not None:
            assert extent.low <= before.low
            assert extent.high >= before.high


def test_a_slowly_growing_value_moves_the_axis_seldom() -> None:
    extent, moves = None, 0
    for high in range(100, 1_001):
        now = grown(extent, 0.0, float(high))
        moves += now != extent
        extent = now
    assert moves < 20


def test_counts_start_at_zero_and_narrow_bands_do_not() -> None:
    assert grown(None, 12.0, 93.0) == Extent(0.0, 100.0)
    assert grown(None, 1000.0, 1010.0).low == 1000.0


def test_time_grows_by_whole_days() -> None:
    first = grown(None, 0.0, 5.2 * DAY_MS, calendar=True)
    assert first == Extent(0.0, 6 * DAY_MS)
    assert grown(first, 0.0, 6.01 * DAY_MS, calendar=True) == Extent(0.0, 8 * DAY_MS)


def test_the_rounding_of_floats_is_no_range() -> None:
    """Means of one number differed in their last digits, and the axis said 5.000000000000401."""
    low, high = 5.0, 5.0000000000006
    assert grown(None, low, high) == Extent(0.0, 6.0)
    assert grown(None, -high, -low) == Extent(-6.0, -5.0)
    assert grown(None, 1e6, 1e6 + 1e-3).high - 1e6 < 0.01
    assert grown(grown(None, low, low), low, high) == Extent(0.0, 6.0)


def test_one_value_alone_still_has_an_axis() -> None:
    assert grown(None, 0.0, 0.0) == Extent(0.0, 1.0)
    assert grown(None, 7.0, 7.0).low < grown(None, 7.0, 7.0).high
