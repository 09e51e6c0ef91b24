"""Find events that have started or ended at given times."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.hashing.hash_table import index

Array = np.ndarray[Any, Any]


def count_until(times: Array, begins: Array, at: Array, marks: Array, lag: int, found: Array) -> None:
    """For each time, less a lag, write the position after the last event of its key whose time is not later.

    Keys lie one after the other. Times ascend within a key.

    Parameters
    ----------
    times : array of int64
        Of the events: their starts or their ends.
    begins : array of int64
        Where the events of each key begin; the last entry is the end of the last key.
    at : array of int64
        The times that are looked up.
    marks : array of int64
        Where those of each key begin; the last entry is the end of the last key.
    lag : int
    found : array of int64
        One entry for each of `at`.
    """
    for key in range(marks.shape[0] - 1):
        if marks[key] < marks[key + 1]:
            stop = begins[key + 1]
            position = first_after(times, begins[key], stop, at[marks[key]] - lag)
            for mark in range(marks[key], marks[key + 1]):
                position = advance(times, position, stop, at[mark] - lag)
                found[mark] = position


def time_windows(starts: Array, ends: Array, lasts: int, begins: Array, at: Array, marks: Array, back: int,
                 lookahead: int, low: Array, cut: Array, high: Array) -> None:
    """Write the positions of the events that are active in ``(t - back, t + lookahead]``, and of a cut between.

    At the cut the first event has started at the last multiple of the width, or after it.

    Parameters
    ----------
    starts, ends : array of int64
    lasts : int
        Lifetimes of the events, key by key; none begins before the one before it has ended. They end so many ticks
        after `ends`.
    begins, at, marks : array of int64
        As in :func:`count_until`.
    back, lookahead : int
    low, cut, high : array of int64
        The result, one entry for each of `at`.
    """
    width = back + lookahead
    for key in range(marks.shape[0] - 1):
        if marks[key] < marks[key + 1]:
            begin, stop, first = begins[key], begins[key + 1], at[marks[key]]
            oldest = first_after(ends, begin, stop, first - back + 1 - lasts)
            newest = first_after(starts, begin, stop, first + lookahead)
            multiple = first + lookahead - (first + lookahead) % width
            middle = first_after(starts, begin, stop, multiple - 1)
            for mark in range(marks[key], marks[key + 1]):
                last = at[mark] + lookahead
                oldest = advance(ends, oldest, stop, at[mark] - back + 1 - lasts)
                newest = advance(starts, newest, stop, last)
                if last - multiple >= width:
                    multiple = last - last % width
                    middle = advance(starts, middle, stop, multiple - 1)
                low[mark], cut[mark], high[mark] = oldest, middle, newest


def window_cuts(starts: Array, begins: Array, at: Array, marks: Array, lookahead: int, width: int, cut: Array) -> None:
    """Write the cut alone of each window, as :func:`time_windows` does.

    Parameters
    ----------
    starts, begins, at, marks : array of int64
        As in :func:`time_windows`.
    lookahead, width : int
        Windows end so many ticks after each time, and are so long.
    cut : array of int64
        The result, one entry for each of `at`.
    """
    for key in range(marks.shape[0] - 1):
        if marks[key] < marks[key + 1]:
            stop, first = begins[key + 1], at[marks[key]] + lookahead
            multiple = first - first % width
            middle = first_after(starts, begins[key], stop, multiple - 1)
            for mark in range(marks[key], marks[key + 1]):
                last = at[mark] + lookahead
                if last - multiple >= width:
                    multiple = last - last % width
                    middle = advance(starts, middle, stop, multiple - 1)
                cut[mark] = middle


def cell_windows(starts: Array, ends: Array, lasts: int, begins: Array, at: Array, marks: Array, size: int,
                 offset: int, low: Array, high: Array, since: Array, times: Array) -> int:
    """Write the positions of the events that are active in the windows of a grid that hold some times.

    Parameters
    ----------
    starts, ends, lasts, begins, at, marks : array of int64, or int
        As in :func:`time_windows`.
    size, offset : int
        Windows begin at ``offset + k * size``.
    low, high, since, times : array of int64
        The result: for each window of a key that holds some of `at`, where its events are, when it begins, and how many
        of the times it holds.

    Returns
    -------
    int
        The number of windows.
    """
    windows = 0
    for key in range(marks.shape[0] - 1):
        mark, end = index(marks[key]), index(marks[key + 1])
        if mark < end:
            stop, first = begins[key + 1], at[mark]
            cell = first - (first - offset) % size
            oldest = first_after(ends, begins[key], stop, cell - lasts)
            newest = first_after(starts, begins[key], stop, cell + size - 1)
        while mark < end:
            cell, held = at[mark] - (at[mark] - offset) % size, mark
            oldest = leap(ends, oldest, stop, cell - lasts)
            newest = leap(starts, newest, stop, cell + size - 1)
            mark = index(leap(at, mark, end, cell + size - 1))
            low[windows], high[windows], since[windows], times[windows] = oldest, newest, cell, mark - held
            windows += 1
    return windows


def row_windows(starts: Array, begins: Array, at: Array, marks: Array, rows: int, before: int, low: Array, cut: Array,
                high: Array) -> None:
    """Write the positions of the last events that have started, less some, and of a cut between.

    The cut is at the roundest time between the first start of a window and its last one. So it depends on the events of
    the window alone, and a late event changes the windows that have it and no others.

    Parameters
    ----------
    starts, begins, at, marks : array of int64
        As in :func:`time_windows`.
    rows, before : int
        Events of a window, and the newer ones that are left out.
    low, cut, high : array of int64
        The result, one entry for each of `at`.
    """
    for key in range(marks.shape[0] - 1):
        if marks[key] < marks[key + 1]:
            begin, stop = begins[key], begins[key + 1]
            newest = first_after(starts, begin, stop, at[marks[key]])
            for mark in range(marks[key], marks[key + 1]):
                newest = advance(starts, newest, stop, at[mark])
                last = max(begin, newest - before)
                low[mark], high[mark] = max(begin, last - rows), last
            cut_at_round_times(starts, low, high, marks[key], marks[key + 1], cut)


def row_windows_of_events(starts: Array, begins: Array, own: Array, marks: Array, rows: int, before: int, low: Array,
                          cut: Array, high: Array) -> None:
    """Do the same as :func:`row_windows` for times at which events start.

    Parameters
    ----------
    own : array of int64
        The position of the event of each time.
    starts, begins, marks, rows, before, low, cut, high
        As in :func:`row_windows`.
    """
    for key in range(marks.shape[0] - 1):
        if marks[key] < marks[key + 1]:
            begin = begins[key]
            for mark in range(index(marks[key]), index(marks[key + 1])):
                last = max(begin, own[mark] + 1 - before)
                low[mark], high[mark] = max(begin, last - rows), last
            cut_at_round_times(starts, low, high, marks[key], marks[key + 1], cut)


def cut_at_round_times(starts: Array, low: Array, high: Array, first: int, bound: int, cut: Array) -> None:
    """Write where some windows are cut: at the first event from the roundest time on.

    That is the time after the first start, and not after the last one, that has the most zeros at its end in binary. As
    windows move on, it never decreases, and it changes about twice while all events of a window are replaced.

    Parameters
    ----------
    starts : array of int64
    low, high : array of int64
        The windows. Neither bound ever decreases.
    first, bound : int
        Which of them are cut.
    cut : array of int64
        The result; `low` where a window has fewer than two events.
    """
    roundest, rounder, position = 1, 0, 0
    for window in range(index(first), index(bound)):
        begin, stop = low[window], high[window]
        if stop < begin + 2:
            cut[window] = begin
            continue
        oldest, newest = int(starts[index(begin)]), int(starts[index(stop - 1)])
        if not oldest < roundest <= newest < rounder:
            roundest = 0
            if oldest >= 0 or newest < 0:
                tail = oldest ^ newest  # all bits from the first one on in which they differ
                for shift in (1, 2, 4, 8, 16, 32):
                    tail |= tail >> shift
                roundest = newest & ~(tail >> 1)
            rounder = roundest + (roundest & -roundest) if roundest else newest + 1
            position = first_after(starts, max(begin, position), stop, roundest - 1)
        cut[window] = position


def first_after(times: Array, low: int, high: int, time: int) -> int:
    """The first position of a range whose time is later than this one, by bisection."""
    while low < high:
        middle = (low + high) // 2
        if times[middle] <= time:
            low = middle + 1
        else:
            high = middle
    return low


def advance(times: Array, position: int, stop: int, time: int) -> int:
    """The first position from this one on, before `stop`, whose time is later than this one.

    Four times are compared at once: how many of them have passed cannot be predicted by a processor.
    """
    position = index(position)
    while position + 4 <= stop:
        passed = (int(times[position] <= time) + int(times[position + 1] <= time) + int(times[position + 2] <= time)
                  + int(times[position + 3] <= time))
        position = index(position + passed)
        if passed < 4:
            return position
    while position < stop and times[position] <= time:
        position += 1
    return position


def leap(times: Array, position: int, stop: int, time: int) -> int:
    """The same as :func:`advance`, by exponential search: many times may have passed."""
    step = 1
    while position + step <= stop and times[index(position + step - 1)] <= time:
        position += step
        step *= 2
    return first_after(times, position, min(position + step, stop), time)
