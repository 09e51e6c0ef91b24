"""Confidence intervals from standard errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_LARGEST = 700.0
"""Exponents beyond would be infinite."""
_MIN_FRACTION = 1e-6
"""A share that differs from none, and from all."""
_LIGHT_OF_ALL = 0.75
"""Degrees of freedom for each block drawn that are enough of all groups together, where these are few."""
_ERRORS = 2.0
"""So many standard errors heavier than groups say their tails are thought to be: few groups say little."""


def half_widths(errors: Array, degrees: Array, fewest: Array, light: Array, of_all: Array, counts: Array,
                blocks: Array, min_blocks: int, window: Array, exact: Array, drawn: Array, left: Array, fraction: Array,
                maximum: float, alpha: float, logits: Array, boundary: Array, widths: Array) -> None:
    """Write half the intervals of values, by value and group; infinite where too little is known.

    Standard errors are as many times as wide as Student's t is, where the normal distribution's would be as many times
    as the boundary says (Wallace 1959).

    Parameters
    ----------
    errors, degrees : numpy.ndarray of float64
        As :func:`~whimbrel.kernels.primitives.sampling.block_variance.between_blocks` writes them.
    fewest, light : numpy.ndarray of float64
        By value: degrees of freedom that are enough for an interval, and degrees for each block drawn that are, too.
    of_all : numpy.ndarray of float64
        By value: degrees of freedom that all groups together must have, for a group of so few blocks; 0: nobody asks.
    counts : numpy.ndarray of bool
        By value, whether it counts rows: where blocks have not differed, so many as may be unlike them are said.
    blocks : numpy.ndarray of int64
        Of each group, blocks that had rows of it.
    min_blocks : int
        With fewer of them there is no interval.
    window : numpy.ndarray of int64
        By group, the place of its window in what follows.
    exact : numpy.ndarray of bool
        Whether nothing is left of a window.
    drawn, left, fraction : numpy.ndarray of float64
        By window: blocks that were drawn, those of this phase that were not, and the share of the former in both.
    maximum : float
        Events of a group in a block; infinite: nobody knows.
    alpha : float
        With what probability an interval may fail, at any look.
    logits, boundary : numpy.ndarray of float64
        Of shares, how many standard errors wide an interval is.
    widths : numpy.ndarray of float64
        What is written.
    """
    groups = window.shape[0]
    known, times, strange = -1, 0.0, 0.0
    for value in range(fewest.shape[0]):
        needed = 0.0
        if of_all[value] > 0:
            needed = _tails_of_all(degrees[value * groups : (value + 1) * groups], blocks, min_blocks)
        for group in range(groups):
            at, own = value * groups + group, window[group]
            if own != known:
                known = own
                times = multiplier(fraction[own], logits, boundary)
                strange = min(unlike(fraction[own], alpha), left[own])
                strange = strange * maximum if strange > 0 else 0.0
            error, free = errors[at], degrees[at]
            width = np.inf
            if exact[own]:
                width = 0.0
            elif error == 0 and counts[value]:
                width = strange
            elif blocks[group] >= min_blocks and 0 < error < np.inf and (
                    free >= fewest[value] or free >= light[value] * drawn[own]) and (
                    blocks[group] >= min(of_all[value], _LIGHT_OF_ALL * drawn[own]) * needed):
                free = max(free, 1.0)
                scaled = times * (8 * free + 3) / (8 * free + 1)
                width = math.sqrt(free * math.expm1(min(scaled * scaled / free, _LARGEST))) * error
            widths[at] = width


def _tails_of_all(degrees: Array, blocks: Array, min_blocks: int) -> float:
    """Blocks for each degree of freedom, as far as all groups together say: the more, the heavier tails are.

    Of groups with heavy tails some have met none of their large values, and look harmless: those are the ones of which
    intervals would be given, and false. The others tell. Degrees of freedom grow with the blocks of a group, so that
    blocks for each degree are what groups of all sizes have in common; the mean weighs groups by their blocks.
    """
    weight, total, squares, crossed, apart = 0.0, 0.0, 0.0, 0.0, 0.0
    for group in range(blocks.shape[0]):
        if blocks[group] >= min_blocks and degrees[group] > 0:
            seen = float(blocks[group])
            each = seen / degrees[group]
            weight += seen
            total += seen * each
            squares += seen * seen
            crossed += seen * seen * each
            apart += seen * seen * each * each
    if weight == 0:
        return 0.0
    mean = total / weight
    return mean + _ERRORS * math.sqrt(max(apart - 2 * mean * crossed + mean * mean * squares, 0.0)) / weight


def multiplier(fraction: float, logits: Array, boundary: Array) -> float:
    """How many standard errors wide an interval is when so large a share of the blocks was drawn.

    Examples
    --------
    >>> float(multiplier(0.5, np.array([-1.0, 1.0]), np.array([4.0, 2.0])))
    3.0
    """
    clipped = min(max(fraction, _MIN_FRACTION), 1 - _MIN_FRACTION)
    logit = math.log(clipped) - math.log1p(-clipped)
    after = min(max(np.searchsorted(logits, logit, "right"), 1), logits.shape[0] - 1)
    way = min(max((logit - logits[after - 1]) / (logits[after] - logits[after - 1]), 0.0), 1.0)
    return float(boundary[after - 1] + way * (boundary[after] - boundary[after - 1]))


def unlike(fraction: float, alpha: float) -> float:
    """How many blocks may be unlike all that were drawn, which were alike.

    Of k such blocks none is among a share of all with a probability of at most ``(1 - fraction) ** k``.

    Examples
    --------
    >>> unlike(0.5, 0.05)
    5.0
    """
    if fraction <= 0:
        return math.inf
    return 0.0 if fraction >= 1 else float(math.ceil(math.log(alpha) / math.log1p(-fraction)))


def interval_ends(numbers: Array, bottoms: Array, tops: Array, two_ended: Array, minimum: Array, maximum: Array,
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
                bottom, top = _both(minimum[at], maximum[at], bottom, top)
            low[at], high[at] = bottom, top


def _both(low: float, high: float, other_low: float, other_high: float) -> tuple[float, float]:
    """What two intervals have in common; the first where they have nothing."""
    if not (other_low <= low or low <= other_low) or not (other_high <= high or high <= other_high):
        return np.nan, np.nan
    both_low, both_high = max(low, other_low), min(high, other_high)
    return (low, high) if both_low > both_high else (both_low, both_high)
