"""Recursive linear filters of any order: direct form II transposed.

Each key has a state of its own. Operations and their order are those of SciPy's ``lfilter``. Results are the same bits
where the compiler does not contract a product and a sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def filter_rows(
    group: Array, hidden: Array, fresh: Array, values: Array, coefficients: Array, initial: Array, state: Array,
    out: Array,
) -> None:
    """Filter the value of each row with the state of its key.

    Parameters
    ----------
    group : array of int32
        The key of each row.
    hidden : array of bool
        Rows to leave out; empty: none.
    fresh : array of bool
        Rows at which the filter begins again; empty: none.
    values : array of float64
    coefficients : array of float64
        Numerator, then denominator without its first coefficient, both divided by that.
    initial : array of float64
        The state for a value of 1 since ever, in which the filter begins; empty: it begins at rest.
    state : array of float64
        As many numbers for each key as the filter has an order.
    out : array of float64
    """
    order = coefficients.shape[0] // 2
    feedback = False
    for number in range(order + 1, 2 * order + 1):
        feedback |= coefficients[number] != 0.0
    for row in range(group.shape[0]):
        if hidden.shape[0] and hidden[row]:
            continue
        value, at = values[row], int(group[row]) * order
        if order == 0:
            out[row] = value * coefficients[0]
            continue
        if fresh.shape[0] and fresh[row]:
            for number in range(order):
                state[at + number] = initial[number] * value if initial.shape[0] else 0.0
        filtered = state[at] + coefficients[0] * value
        out[row] = filtered
        if not feedback:  # a result that is not finite must not be read again, not even times 0
            filtered = 0.0
        for number in range(1, order):
            state[at + number - 1] = (state[at + number] + value * coefficients[number]
                                      - filtered * coefficients[order + number])
        state[at + order - 1] = value * coefficients[order] - filtered * coefficients[2 * order]
