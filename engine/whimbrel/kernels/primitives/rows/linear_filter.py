"""Recursive linear filters: direct form II transposed, and second-order sections.

Each key has a state of its own. Operations and their order are those of SciPy's ``lfilter`` and ``sosfilt``. Results
are the same bits where the compiler does not contract a product and a sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def filter_rows(
    group: Array, skip: Array, values: Array, valid: Array, b: Array, a: Array, state: Array, out: Array, shown: Array,
) -> None:
    """Filter the value of each row with the state of its key.

    Parameters
    ----------
    group : array of int32
        The key of each row.
    skip : array of bool
        Rows to leave out; empty: none.
    values : array of float64
    valid : array of bool
        Whether there is a value; empty: everywhere.
    b, a : array of float64
        Coefficients of one length, divided by the first of the denominator.
    state : array of float64
        For each key one number less than there are coefficients.
    out : array of float64
    shown : array of bool
        Whether a row has a value in `out`.
    """
    order = b.shape[0] - 1
    for row in range(group.shape[0]):
        if (skip.shape[0] and skip[row]) or (valid.shape[0] and not valid[row]):
            continue
        value, at = values[row], int(group[row]) * order
        shown[row] = True
        if order == 0:
            out[row] = value * b[0]
            continue
        filtered = state[at] + b[0] * value
        out[row] = filtered
        for place in range(order - 1):
            state[at + place] = state[at + place + 1] + value * b[place + 1] - filtered * a[place + 1]
        state[at + order - 1] = value * b[order] - filtered * a[order]


def filter_sections(
    group: Array, skip: Array, values: Array, valid: Array, sections: Array, state: Array, out: Array, shown: Array,
) -> None:
    """Filter the value of each row through second-order sections, one after the other.

    Parameters
    ----------
    group, skip, values, valid, out, shown : array
        As in :func:`filter_rows`.
    sections : array of float64
        Six numbers for each section: b0, b1, b2, 1, a1, a2.
    state : array of float64
        Two numbers for each key and section.
    """
    count = sections.shape[0] // 6
    for row in range(group.shape[0]):
        if (skip.shape[0] and skip[row]) or (valid.shape[0] and not valid[row]):
            continue
        value, at = values[row], int(group[row]) * 2 * count
        for section in range(count):
            here, first = 6 * section, at + 2 * section
            given = value
            value = sections[here] * given + state[first]
            state[first] = sections[here + 1] * given - sections[here + 4] * value + state[first + 1]
            state[first + 1] = sections[here + 2] * given - sections[here + 5] * value
        out[row] = value
        shown[row] = True
