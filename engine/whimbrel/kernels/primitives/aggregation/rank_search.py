"""Rank and quantile search in runs of ordered values."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def beyond_fraction(ids: Array, ends: Array, values: Array, at: Array, fraction: float, numbers: Array) -> None:
    """Write, for each run, how many values are at most `at` its group, beyond that share of them all.

    Parameters
    ----------
    ids, ends : numpy.ndarray of int64
        By run, its group, and where it ends among the values; the first one begins at 0.
    values, at : numpy.ndarray of int64
        In order within each run; and by group.
    fraction : float
    numbers : numpy.ndarray of float64
        What is written.
    """
    begin = 0
    for run in range(ids.shape[0]):
        end = ends[run]
        numbers[run] = _up_to(values, begin, end, at[ids[run]]) - begin - fraction * (end - begin)
        begin = end


def indices_at(items: Array, first: Array, length: Array, drawn: Array, drawn_first: Array, drawn_length: Array,
              weights: Array, drawn_weights: Array, targets: Array, indices: Array) -> None:
    """Write, for each group, the place of its least value up to which there are as many as `targets`; -1 for none.

    Parameters
    ----------
    items, first, length : numpy.ndarray of int64
        Values, in order within each group, which has so many from there on.
    drawn, drawn_first, drawn_length : numpy.ndarray of int64
        The same of those values that were drawn in this phase.
    weights, drawn_weights : numpy.ndarray of float64
        By group, how many values each one stands for; and how many more it does if it was drawn in this phase.
    targets : numpy.ndarray of float64
        By group.
    indices : numpy.ndarray of int64
        What is written.
    """
    for group in range(targets.shape[0]):
        begin, end = first[group], first[group] + length[group]
        drawn_begin = drawn_first[group]
        drawn_end = drawn_begin + drawn_length[group]
        low, high = begin, end
        while low < high:
            middle = (low + high) >> 1
            value = items[middle]
            found = weights[group] * (_up_to(items, begin, end, value) - begin)
            if drawn_weights[group] != 0:
                found += drawn_weights[group] * (_up_to(drawn, drawn_begin, drawn_end, value) - drawn_begin)
            if found >= targets[group]:
                high = middle
            else:
                low = middle + 1
        indices[group] = low if low < end else -1


def _up_to(values: Array, begin: int, end: int, maximum: int) -> int:
    """The index after the last of ordered values that is at most this."""
    while begin < end:
        middle = (begin + end) >> 1
        if values[middle] <= maximum:
            begin = middle + 1
        else:
            end = middle
    return begin
