"""Find times at which functions of events change, or have values."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.clock.ticks import INF
from whimbrel.kernels.primitives.hashing.hash_table import index

Array = np.ndarray[Any, Any]

OF_END, SHIFT, SIZE, OFFSET, OF_BOUNDARY = range(5)
"""Entries of a boundary, and how many these are. A boundary is so many ticks after the start of an event, or after its
end. If SIZE is not 0, a start is first rounded down to a grid, and an end up."""

BEGIN, STOP, OF_FUNCTION = range(3)
"""Entries of a function, and how many these are: the boundary from which an event gives it a value, and the one where
it stops to do so; -1: it never stops."""

FULL = -1
"""More rows than the arrays hold."""


def change_times(starts: Array, ends: Array, lasts: int, begins: Array, boundaries: Array, functions: Array, since: int,
                 limit: int, known: int, passed: Array, head: Array, at: Array, until: Array, positions: Array,
                 marks: Array, closing: Array, following: Array) -> int:
    """Write a row from each boundary to the next one of its key, where a function has a value; return the number.

    Parameters
    ----------
    starts, ends : array of int64
    lasts : int
        Lifetimes of the events, key by key; none begins before the one before it has ended. They end so many ticks
        after `ends`.
    begins : array of int64
        Where the events of each key begin; the last entry is the end of the last key.
    boundaries, functions : array of int64
        One after the other, with the entries above.
    since, limit : int
        Boundaries in ``[since, limit)`` are written. With one key, fewer if the arrays are full.
    known : int
        No boundary before this time is missing. A row whose end is not known ends at INF.
    passed, head : array of int64
        Work space, one entry for each boundary.
    at, until : array of int64
        When each row begins and ends.
    positions : array of int64
        For each boundary as many entries as `at` has: the position after the last event that has passed it.
    marks : array of int64
        Where the rows of each key begin; the last entry is the end of the last key.
    closing, following : array of int64
        For each key its first boundary in the range, and its first one after it; INF if there is none.
    """
    rows, one, cells = 0, begins.shape[0] == 2, False
    for function in range(0, functions.shape[0], OF_FUNCTION):
        cells |= boundaries[OF_BOUNDARY * functions[function + BEGIN] + SIZE] > 0
    for key in range(begins.shape[0] - 1):
        stop = begins[key + 1]
        begin_at(starts, ends, lasts, begins[key], stop, boundaries, since, passed, head)
        marks[key], closing[key], is_open = rows, INF, False
        time = earliest(head)
        if cells:
            time = min(time, next_cell(boundaries, functions, passed, since - 1))
        while time < limit:
            if rows == at.shape[0]:
                if not one:
                    return FULL
                break
            for boundary in range(head.shape[0]):
                while head[boundary] == time:
                    passed[boundary] += 1
                    head[boundary] = boundary_time(starts, ends, lasts, passed[boundary], stop, boundaries, boundary)
            if is_open:
                until[rows - 1] = time
            elif closing[key] == INF:
                closing[key] = time
            is_open = has_value(functions, passed, begins[key])
            if is_open:
                at[rows] = time
                for boundary in range(head.shape[0]):
                    positions[boundary * at.shape[0] + rows] = passed[boundary]
                rows += 1
            now, time = time, earliest(head)
            if cells:
                time = min(time, next_cell(boundaries, functions, passed, now))
        if is_open:
            until[rows - 1] = time if time < known else INF
        following[key] = time
    marks[begins.shape[0] - 1] = rows
    return rows


def multiples(starts: Array, ends: Array, lasts: int, begins: Array, boundaries: Array, functions: Array, since: int,
              limit: int, every: int, offset: int, passed: Array, head: Array, at: Array, positions: Array,
              marks: Array, following: Array) -> int:
    """Write the multiples of a duration at which a function has a value; return the number.

    Parameters
    ----------
    starts, ends, lasts, begins, boundaries, functions, since, limit, passed, head, at, positions, marks : array or int
        As in :func:`change_times`.
    every, offset : int
        Rows are at ``offset + k * every``.
    following : array of int64
        For each key a time before which no further row is; INF if there is none.
    """
    rows, one = 0, begins.shape[0] == 2
    for key in range(begins.shape[0] - 1):
        stop = begins[key + 1]
        begin_at(starts, ends, lasts, begins[key], stop, boundaries, since, passed, head)
        marks[key] = rows
        time = since + (offset - since) % every
        while time < limit:
            for boundary in range(head.shape[0]):
                while head[boundary] <= time:
                    passed[boundary] += 1
                    head[boundary] = boundary_time(starts, ends, lasts, passed[boundary], stop, boundaries, boundary)
            if has_value(functions, passed, begins[key]):
                if rows == at.shape[0]:
                    if not one:
                        return FULL
                    break
                at[rows] = time
                for boundary in range(head.shape[0]):
                    positions[boundary * at.shape[0] + rows] = passed[boundary]
                rows += 1
                time += every
            else:
                time = INF
                for function in range(0, functions.shape[0], OF_FUNCTION):
                    time = min(time, head[functions[function + BEGIN]])
                if time < INF:
                    time += (offset - time) % every
        following[key] = time
    marks[begins.shape[0] - 1] = rows
    return rows


def begin_at(starts: Array, ends: Array, lasts: int, begin: int, stop: int, boundaries: Array, since: int,
             passed: Array, head: Array) -> None:
    """Find, for each boundary, the first event that passes it at a time or later, by bisection."""
    for boundary in range(head.shape[0]):
        low, high = begin, stop
        while low < high:
            middle = (low + high) // 2
            if boundary_time(starts, ends, lasts, middle, stop, boundaries, boundary) < since:
                low = middle + 1
            else:
                high = middle
        passed[boundary] = low
        head[boundary] = boundary_time(starts, ends, lasts, low, stop, boundaries, boundary)


def boundary_time(starts: Array, ends: Array, lasts: int, event: int, stop: int, boundaries: Array, boundary: int
                  ) -> int:
    """When an event passes a boundary; INF for none."""
    if event >= stop:
        return INF
    entry = OF_BOUNDARY * boundary
    size, offset = boundaries[entry + SIZE], boundaries[entry + OFFSET]
    if boundaries[entry + OF_END]:
        time = ends[index(event)]
        if time == INF:
            return INF
        time += lasts
        if size > 0:
            time += (offset - time) % size
    else:
        time = starts[index(event)]
        if size > 0:
            time -= (time - offset) % size
    return time + boundaries[entry + SHIFT]


def earliest(head: Array) -> int:
    """The first of some times."""
    time = head[0]
    for boundary in range(1, head.shape[0]):
        time = min(time, head[boundary])
    return time


def has_value(functions: Array, passed: Array, begin: int) -> bool:
    """Whether an event gives one of the functions a value."""
    for function in range(0, functions.shape[0], OF_FUNCTION):
        stopped = functions[function + STOP]
        if passed[functions[function + BEGIN]] > (begin if stopped < 0 else passed[stopped]):
            return True
    return False


def next_cell(boundaries: Array, functions: Array, passed: Array, now: int) -> int:
    """The first time after now at which a window of a grid ends whose function has a value; INF if there is none."""
    time = INF
    for function in range(0, functions.shape[0], OF_FUNCTION):
        first, last = functions[function + BEGIN], functions[function + STOP]
        entry = OF_BOUNDARY * first
        size = boundaries[entry + SIZE]
        if size > 0 and passed[first] > passed[last]:
            time = min(time, now + size - (now - boundaries[entry + OFFSET] - boundaries[entry + SHIFT]) % size)
    return time
