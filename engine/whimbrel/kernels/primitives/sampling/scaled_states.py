"""Scale the states of a sample to all rows."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_LARGEST = 2.0**62
_STEP = 1e-4
"""Of a field, by which it is changed to see how much a value depends on it."""


def scaled_states(fields: Array, known: Array, additive: Array, counted: Array, whole: Array, window: Array,
                  more: Array, density: Array, left: Array, exact: Array, scaled: Array, unrounded: Array,
                  steps: Array) -> None:
    """Write the scaled fields, and by how much each may be changed to see what depends on it; field by field.

    Parameters
    ----------
    fields, known : numpy.ndarray of float64
        As they are, and as they were when the phase began, by field and group.
    additive, counted, whole : numpy.ndarray of bool
        By field: whether it adds up, counts rows, and is an integer.
    window : numpy.ndarray of int64
        By group, the place of its window in what follows.
    more, density, left : numpy.ndarray of float64
        By window: how many more rows each row of this phase represents, and each row of any phase; and the rows of
        the source that are left.
    exact : numpy.ndarray of bool
        By window, whether nothing is left.
    scaled, unrounded, steps : numpy.ndarray of float64
        What is written, by field and group; integers are rounded in the first.
    """
    groups = window.shape[0]
    for field in range(additive.shape[0]):
        for group in range(groups):
            at = field * groups + group
            now, own = fields[at], window[group]
            grown = now
            if additive[field] and not exact[own]:
                grown = now + (now - known[at]) * more[own]
                if density[own] != 0:
                    grown += now * density[own]
                if counted[field]:
                    grown = min(grown, now + left[own])
                unrounded[at] = grown
                if whole[field]:
                    grown = np.rint(min(max(grown, -_LARGEST), _LARGEST))
            else:
                unrounded[at] = now
            step = abs(grown) * _STEP
            if whole[field]:
                step = max(np.rint(step), 1.0)
            elif step == 0:
                step = 1.0
            scaled[at], steps[at] = grown, step
