"""Moments of windows of samples: sums, squares, fourth powers, extremes.

Sums have eight parts, which a compiler adds at once. Their order depends on the size of a window only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def integer_sums(values: Array, start: Array, size: Array, total: Array, squares: Array, second: Array) -> None:
    """Exact sums of short integers, of their squares, and of their squared distances from the mean.

    The last is ``squares - total**2 / size``, by the whole part of the mean, so that no product leaves int64.

    Parameters
    ----------
    values : array of integers
        At most 32 bits, and so few in a window that sums of squares fit in int64.
    start, size : array of int64
        Where each window begins in the values, and how many it has: at least one.
    total : array of int64
        For the sums.
    squares, second : array of float64
        For the other results.
    """
    for row in range(start.shape[0]):
        window = values[start[row]:start[row] + size[row]]
        one, two = np.int64(0), np.int64(0)
        for value in window:
            wide = np.int64(value)
            one += wide
            two += wide * wide
        whole = one // size[row]
        rest = one - whole * size[row]
        centered = two - whole * (one + rest)  # sum of (x - whole)**2
        total[row], squares[row] = one, np.float64(two)
        second[row] = np.float64(centered) - np.float64(rest) * np.float64(rest) / np.float64(size[row])


def float_sums(values: Array, start: Array, size: Array, total: Array, squares: Array) -> None:
    """Sums of numbers, and of their squares, as float64."""
    for row in range(start.shape[0]):
        window = values[start[row]:start[row] + size[row]]
        many = window.shape[0] // 8 * 8
        a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = 0.0
        b0 = b1 = b2 = b3 = b4 = b5 = b6 = b7 = 0.0
        for at in range(0, many, 8):
            v0, v1, v2, v3 = (np.float64(window[at]), np.float64(window[at + 1]), np.float64(window[at + 2]),
                              np.float64(window[at + 3]))
            v4, v5, v6, v7 = (np.float64(window[at + 4]), np.float64(window[at + 5]), np.float64(window[at + 6]),
                              np.float64(window[at + 7]))
            a0 += v0
            a1 += v1
            a2 += v2
            a3 += v3
            a4 += v4
            a5 += v5
            a6 += v6
            a7 += v7
            b0 += v0 * v0
            b1 += v1 * v1
            b2 += v2 * v2
            b3 += v3 * v3
            b4 += v4 * v4
            b5 += v5 * v5
            b6 += v6 * v6
            b7 += v7 * v7
        one, two = 0.0, 0.0
        for at in range(many, window.shape[0]):
            value = np.float64(window[at])
            one += value
            two += value * value
        total[row] = ((a0 + a1) + (a2 + a3)) + ((a4 + a5) + (a6 + a7)) + one
        squares[row] = ((b0 + b1) + (b2 + b3)) + ((b4 + b5) + (b6 + b7)) + two


def central_sums(values: Array, start: Array, size: Array, mean: Array, second: Array) -> None:
    """Sums of squared distances from the mean of each window."""
    for row in range(start.shape[0]):
        window = values[start[row]:start[row] + size[row]]
        center = mean[row]
        many = window.shape[0] // 8 * 8
        a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = 0.0
        for at in range(0, many, 8):
            v0, v1, v2, v3 = (window[at] - center, window[at + 1] - center, window[at + 2] - center,
                              window[at + 3] - center)
            v4, v5, v6, v7 = (window[at + 4] - center, window[at + 5] - center, window[at + 6] - center,
                              window[at + 7] - center)
            a0 += v0 * v0
            a1 += v1 * v1
            a2 += v2 * v2
            a3 += v3 * v3
            a4 += v4 * v4
            a5 += v5 * v5
            a6 += v6 * v6
            a7 += v7 * v7
        rest = 0.0
        for at in range(many, window.shape[0]):
            value = window[at] - center
            rest += value * value
        second[row] = ((a0 + a1) + (a2 + a3)) + ((a4 + a5) + (a6 + a7)) + rest


def fourth_sums(values: Array, start: Array, size: Array, mean: Array, fourth: Array) -> None:
    """Sums of fourth powers of distances from the mean of each window."""
    for row in range(start.shape[0]):
        total = 0.0
        for value in values[start[row]:start[row] + size[row]]:
            square = (value - mean[row]) * (value - mean[row])
            total += square * square
        fourth[row] = total


def extremes(values: Array, start: Array, size: Array, low: Array, high: Array) -> None:
    """Least and greatest number of each window, which has at least one; a NaN is both."""
    for row in range(start.shape[0]):
        window = values[start[row]:start[row] + size[row]]
        least = most = window[0]
        unknown = False
        for value in window:
            least = min(least, value)
            most = max(most, value)
            unknown |= np.isnan(value)
        if unknown:
            for value in window:
                if np.isnan(value):
                    least = most = value
        low[row], high[row] = least, most


def first_offsets(values: Array, start: Array, size: Array, wanted: Array, offset: Array) -> None:
    """Where in each window a number is first; for NaN the first NaN."""
    for row in range(start.shape[0]):
        window, number = values[start[row]:start[row] + size[row]], wanted[row]
        offset[row] = -1
        for at in range(window.shape[0]):
            if window[at] == number or (np.isnan(number) and np.isnan(window[at])):
                offset[row] = at
                break


def crossings(values: Array, start: Array, size: Array, level: float, count: Array) -> None:
    """How often neighbors lie on both sides of a level; a number at the level is above it."""
    for row in range(start.shape[0]):
        window = values[start[row]:start[row] + size[row]]
        found = 0
        for at in range(1, window.shape[0]):
            found += (window[at - 1] < level) != (window[at] < level)
        count[row] = found
