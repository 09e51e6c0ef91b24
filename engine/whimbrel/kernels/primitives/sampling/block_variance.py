"""Variance of estimates from the differences between blocks (cluster sampling)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_ROUNDING = 1e-15
_CONSTANT = 1e-6
"""Of the square of a field: when it varies less than that between blocks, its fourth moment is rounding."""
_NEGLIGIBLE = 1e-12
"""Of the largest field's part of a variance: less than that, such as what rounding took, is not looked at."""


def between_blocks(slopes: Array, needed: Array, parts: Array, width: int, uneven: float, blocks: Array, sums: Array,
                   products: Array, crosses: Array, powers: Array, window: Array, exact: Array, sampled: Array,
                   drawn: Array, rows: Array, squares: Array, left: Array, all_blocks: Array, errors: Array,
                   degrees: Array) -> None:
    """Write the standard errors of values, by value and group, and the degrees of freedom of their variances.

    The variance is that of what each block adds to a value, to first order, beyond what its size lets one expect. It
    has as many degrees of freedom as that of normal values whose sample variance is as uncertain (Satterthwaite 1946):
    few, where few blocks make most of it. Those of a value are the fewest of the fields that make its variance.

    Parameters
    ----------
    slopes : numpy.ndarray of float64
        How much a value grows with a field, by value, field and group.
    needed : numpy.ndarray of bool
        Whether a value is made of a field, by value and field.
    parts : numpy.ndarray of int64
        By field, the number of its aggregate, the numbers ascending.
    width : int
        How many fields there are.
    uneven : float
        The fourth moment of the sizes of blocks over the square of their second.
    blocks : numpy.ndarray of int64
        Of each group, blocks that had rows of it.
    sums, products, crosses, powers : numpy.ndarray of float64
        As :func:`~whimbrel.kernels.primitives.sampling.co_moments.add_block` makes them.
    window : numpy.ndarray of int64
        By group, the place of its window in what follows.
    exact, sampled : numpy.ndarray of bool
        Whether nothing is left of a window, and whether what was drawn of it is a sample of the rest; where it is not
        the error is infinite.
    drawn, rows, squares, left, all_blocks : numpy.ndarray of float64
        For each window: the drawn blocks that may have rows of it, their rows and the squares of these. Then the rows
        of the blocks that are left, and the number of all blocks, drawn or left.
    errors, degrees : numpy.ndarray of float64
        What is written.
    """
    groups = blocks.shape[0]
    triangle = width * (width + 1) // 2
    free = np.zeros(width)
    current, count, each, density, size, lacks = -1, 0.0, 0.0, 0.0, 0.0, 0.0
    for group in range(groups):
        if window[group] != current:
            current = window[group]
            fraction = rows[current]
            each = 1 / max(drawn[current], 1.0)
            count = max(drawn[current], 2.0)
            density = 1 / fraction if fraction > 0 else 0.0
            size = (fraction + left[current]) * density * count
            lacks = max(1 / count - 1 / max(all_blocks[current], 1.0), 0.0) / (count - 1)
        for field in range(width):
            at = (group * width + field) * 4
            if powers[at + 1] != 0:
                free[field] = 2 / each / _tails(powers[at] * each, powers[at + 1] * each, powers[at + 2] * each,
                                                powers[at + 3] * each, uneven)
        for value in range(needed.shape[0] // width):
            total, crossed, squared, largest, maximum = 0.0, 0.0, 0.0, 0.0, 0.0
            for field in range(width):
                slope = slopes[(value * width + field) * groups + group] if needed[value * width + field] else 0.0
                if slope != 0:
                    at = group * width + field
                    total += slope * sums[at]
                    crossed += slope * crosses[at]
                    maximum = max(maximum, slope * slope * powers[at * 4 + 1])
                    at = group * triangle + field * width - field * (field - 1) // 2
                    for other in range(field, width):
                        if not needed[value * width + other]:
                            continue
                        other_slope = slopes[(value * width + other) * groups + group]
                        product = slope * other_slope * products[at + other - field]
                        squared += product if other == field else 2 * product
                        largest += product if other == field else 0.0
            usual = total * density
            apart = squared - 2 * usual * crossed + usual * usual * squares[current]
            error = 0.0
            if apart > _ROUNDING * count * largest:
                error = size * math.sqrt(apart * lacks)
            if exact[current]:
                error = 0.0
            elif not sampled[current]:
                error = np.inf
            errors[value * groups + group] = error
            min_blocks = blocks[group] - 1.0
            seen, part = True, -1
            for field in range(width):
                if needed[value * width + field]:
                    varied = powers[(group * width + field) * 4 + 1]
                    if parts[field] != part:  # an aggregate of which nothing was there to vary
                        if not seen:
                            min_blocks = 0.0
                        seen, part = False, parts[field]
                    seen = seen or varied > 0
                    slope = slopes[(value * width + field) * groups + group]
                    if slope * slope * varied > _NEGLIGIBLE * maximum and not free[field] >= min_blocks:
                        min_blocks = free[field]
            degrees[value * groups + group] = min_blocks if seen else 0.0


def _tails(first: float, second: float, third: float, fourth: float, uneven: float) -> float:
    """How heavy the tails of what blocks add are, from its moments about 0: 2 for normal values; infinite: unknown."""
    square = first * first
    variance = second - square
    kurtosis = 3.0
    if variance > _CONSTANT * second:
        kurtosis = (fourth - 4 * first * third + (6 * second - 3 * square) * square) / (variance * variance)
    tails = kurtosis * uneven - 1
    return max(tails, 1e-3) if tails == tails else np.inf  # noqa: PLR0124 - not a number
