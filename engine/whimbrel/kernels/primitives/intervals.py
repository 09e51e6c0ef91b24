"""From standard errors to intervals: how wide they are, and where they end."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_LARGEST = 700.0
"""Exponents beyond would be infinite."""


def half_widths(errors: Array, degrees: Array, fewest: Array, light: Array, counts: Array, blocks: Array,
                fewest_blocks: int, window: Array, exact: Array, drawn: Array, multipliers: Array, strange: Array,
                widths: Array) -> None:
    """Write half the intervals of values, by value and group; infinite where too little is known.

    Standard errors are as many times as wide as Student's t is, where the normal distribution's would be `multipliers`
    times (Wallace 1959).

    Parameters
    ----------
    errors, degrees : numpy.ndarray of float64
        As :func:`~whimbrel.kernels.primitives.between_blocks.between_blocks` writes them.
    fewest, light : numpy.ndarray of float64
        By value: degrees of freedom that are enough for an interval, and degrees for each block drawn that are, too.
    counts : numpy.ndarray of bool
        By value, whether it counts rows: where blocks have not differed, so many as may be unlike them are said.
    blocks : numpy.ndarray of int64
        Of each group, blocks that had rows of it.
    fewest_blocks : int
        With fewer of them there is no interval.
    window : numpy.ndarray of int64
        By group, the place of its window in what follows.
    exact : numpy.ndarray of bool
        Whether nothing is left of a window.
    drawn, multipliers, strange : numpy.ndarray of float64
        By window: blocks that were drawn, how many standard errors wide the interval is, and rows that may be unlike
        all others.
    widths : numpy.ndarray of float64
        What is written.
    """
    groups = window.shape[0]
    for value in range(fewest.shape[0]):
        for group in range(groups):
            at, place = value * groups + group, window[group]
            error, free = errors[at], degrees[at]
            width = np.inf
            if exact[place]:
                width = 0.0
            elif error == 0 and counts[value]:
                width = strange[place]
            elif blocks[group] >= fewest_blocks and 0 < error < np.inf and (
                    free >= fewest[value] or free >= light[value] * drawn[place]):
                free = max(free, 1.0)
                scaled = multipliers[place] * (8 * free + 3) / (8 * free + 1)
                width = math.sqrt(free * math.expm1(min(scaled * scaled / free, _LARGEST))) * error
            widths[at] = width


def interval_ends(numbers: Array, bottoms: Array, tops: Array, two_ended: Array, least: Array, most: Array,
                  earlier_low: Array, earlier_high: Array, window: Array, exact: Array, low: Array,
                  high: Array) -> None:
    """Write the ends of intervals, by value and group; where two that both hold have nothing in common, the surer one.

    Parameters
    ----------
    numbers, bottoms, tops : numpy.ndarray of float64
        Values, and what blocks say of their ends; the latter not looked at where they are not `two_ended`.
    two_ended : numpy.ndarray of bool
        By value, whether blocks say something.
    least, most : numpy.ndarray of float64
        Between what a value certainly is.
    earlier_low, earlier_high : numpy.ndarray of float64
        Ends that held when this phase began, of the first groups.
    window : numpy.ndarray of int64
        By group, the place of its window in what follows.
    exact : numpy.ndarray of bool
        By window, whether a value is what it will be.
    low, high : numpy.ndarray of float64
        What is written.
    """
    groups = window.shape[0]
    known = earlier_low.shape[0] // two_ended.shape[0]
    for value in range(two_ended.shape[0]):
        for group in range(groups):
            at = value * groups + group
            number = numbers[at]
            bottom, top = -np.inf, np.inf
            if exact[window[group]]:
                bottom, top = number, number
            else:
                if two_ended[value]:
                    bottom, top = bottoms[at], tops[at]
                    if group < known:
                        bottom, top = _both(bottom, top, earlier_low[value * known + group],
                                            earlier_high[value * known + group])
                bottom, top = _both(least[at], most[at], bottom, top)
            low[at], high[at] = bottom, top


def _both(low: float, high: float, other_low: float, other_high: float) -> tuple[float, float]:
    """What two intervals have in common; the first where they have nothing."""
    if not (other_low <= low or low <= other_low) or not (other_high <= high or high <= other_high):
        return np.nan, np.nan
    both_low, both_high = max(low, other_low), min(high, other_high)
    return (low, high) if both_low > both_high else (both_low, both_high)
