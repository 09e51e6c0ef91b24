"""Find which of many comparisons are true, by one search a row."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def direct_classes(values: Array, first: int, classes: Array, factor: int, codes: Array) -> None:
    """Add the class of each number to its code, found by the number itself.

    Parameters
    ----------
    values : array of int64
    first : int
        The smallest number that has a class of its own.
    classes : array of int64
        The class of smaller numbers, those of `first` and the numbers after it, and the class of larger ones.
    factor : int
        What a class is multiplied with.
    codes : array of int64
        Are changed.
    """
    beyond = classes.shape[0] - 1
    last = first + beyond - 2
    for row in range(values.shape[0]):
        codes[row] += factor * classes[np.uint64(_place(values[row], first, last, beyond))]


def searched_classes(values: Array, bounds: Array, classes: Array, factor: int, codes: Array) -> None:
    """Add the class of each number to its code, found by binary search (Knuth 3, 6.2.1).

    Parameters
    ----------
    values : array of int64 or float64
    bounds : array of the same type
        Ascending constants, each once.
    classes : array of int64
        By turns the class of the numbers below a bound and that of the bound; then the class of the numbers above all
        bounds, and the class of NaN.
    factor : int
        What a class is multiplied with.
    codes : array of int64
        Are changed.
    """
    count = bounds.shape[0]
    for row in range(values.shape[0]):
        value = values[row]
        low, high = 0, count
        while low < high:
            middle = (low + high) >> 1
            if bounds[middle] < value:
                low = middle + 1
            else:
                high = middle
        place = 2 * low
        if low < count and bounds[low] == value:
            place += 1
        if value != value:  # noqa: PLR0124 - NaN
            place = 2 * count + 1
        codes[row] += factor * classes[place]


def patterns_of_codes(codes: Array, pattern_of: Array, patterns: Array) -> int:
    """Write the pattern of each code.

    Parameters
    ----------
    codes : array of int64
    pattern_of : array of int64
        By code; -1 for none, and -2 for a code that occurs for the first time.
    patterns : array of int64
        Where patterns are written.

    Returns
    -------
    int
        How many rows have a pattern; -1 if a code occurs for the first time.
    """
    kept, unknown = 0, False
    for row in range(codes.shape[0]):
        pattern = pattern_of[codes[row]]
        patterns[row] = pattern
        kept += pattern >= 0
        unknown |= pattern == -2
    return -1 if unknown else kept


def number_cells(groups: Array, patterns: Array, span: int) -> None:
    """Make patterns numbers of cells, a span of which belongs to each group.

    Parameters
    ----------
    groups : array of int32
    patterns : array of int64
        Are changed.
    span : int
        More than any pattern.
    """
    for row in range(patterns.shape[0]):
        patterns[row] += groups[row] * np.int64(span)


def _place(value: int, first: int, last: int, beyond: int) -> int:
    """Where a number stands in a table of smaller numbers, those from `first` to `last`, and larger ones."""
    if value < first:
        return 0
    return beyond if value > last else value - first + 1


def cells_of_numbers(values: Array, first: int, pattern_of: Array, keys: Array, direct: Array, span: int,
                     cells: Array) -> int:
    """Write the cell of each row, whose pattern and group are both found by a number itself.

    Parameters
    ----------
    values : array of int64
    first : int
        The smallest number that has a pattern of its own.
    pattern_of : array of int64
        The pattern of smaller numbers, those of `first` and the numbers after it, and the pattern of larger ones; -1
        for none, and -2 for one that is unknown.
    keys : array of int64
    direct : array of int32
        The group of each key from 0 on, plus one; 0 if it is unknown.
    span : int
        How many cells belong to each group.
    cells : array of int64
        Where cells are written; -1 for a row that has no pattern.

    Returns
    -------
    int
        How many rows have a pattern; -1 if the pattern or the group of a row is unknown.
    """
    beyond, kept = pattern_of.shape[0] - 1, 0
    last, known = first + beyond - 2, np.uint64(direct.shape[0])
    for row in range(values.shape[0]):
        pattern = pattern_of[np.uint64(_place(values[row], first, last, beyond))]
        key = np.uint64(keys[row])
        group = np.int64(direct[key]) - 1 if key < known else -1
        if pattern < 0 or group < 0:
            if pattern != -1:
                return -1
            cells[row] = -1
        else:
            cells[row] = group * span + pattern
            kept += 1
    return kept
