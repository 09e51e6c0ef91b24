"""Count in how many blocks each value occurs."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

OFTEN = 3
"""Blocks in which a value was seen, of which no more are counted."""


def see(ids: Array, ends: Array, values: Array, drawn: Array, first: Array, times: Array, seen: Array, once: Array,
        twice: Array, references: Array, fresh: Array) -> None:
    """Add runs, in the order in which their blocks were drawn: one for each block and group.

    Parameters
    ----------
    ids, ends : numpy.ndarray of int64
        By run, its group, and where it ends among the values; the first one begins at 0.
    values : numpy.ndarray of int32
        Numbers of values of a group, equal ones of a run side by side.
    drawn : numpy.ndarray of int64
        By run, how many blocks had been drawn before its own.
    first, times : numpy.ndarray of int64 and int8
        By value, the block it was seen in first, and in how many, up to `OFTEN`.
    seen, once, twice : numpy.ndarray of int64
        By group, how many values there are; and of those that are seen since the phase began, in one block, in two.
    references : numpy.ndarray of int64
        So many of the first blocks are looked back at.
    fresh : numpy.ndarray of float64
        What is written: by reference and run, how many of its values were in none of these blocks.
    """
    begin = 0
    for run in range(ids.shape[0]):
        end, group, block = ends[run], ids[run], drawn[run]
        for index in range(begin, end):
            value = values[index]
            if index > begin and value == values[index - 1]:
                continue
            if times[value] == 0:
                first[value] = block
                seen[group] += 1
                once[group] += 1
            elif times[value] == 1:
                once[group] -= 1
                twice[group] += 1
            elif times[value] == 2:
                twice[group] -= 1
            if times[value] < OFTEN:
                times[value] += 1
            for number in range(references.shape[0]):
                if block >= references[number] and first[value] >= references[number]:
                    fresh[number * ids.shape[0] + run] += 1
        begin = end
