"""Impatience sort (Chandramouli et al., ICDE 2018, section III).

Rows form sorted runs. A punctuation cuts the runs and merges what it cut off.

A row goes to the first run whose tail it does not undercut; tails descend, so a binary search finds it, and most rows
go where the last one went. A run is a chain of chunks of one pool: what was cut off is free at once. Rows are pairs of
a time and a number, numbers grow as rows arrive, and pairs are what is ordered: equal times keep their order.

One step past the paper: the last rows of a run may still be moved. A row that comes a few places too late is put in
where it belongs, instead of beginning a run of stragglers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.sorting.time_sort import moved_in, sort_two_digits

Array = np.ndarray[Any, Any]

CHUNK = 512
"""Rows of a chunk."""
REACH = 32
"""How far from its end a run is still open."""
STREAK = 32
"""Rows of one stretch in a row from which on its end is searched for."""
MANY_PIECES, DIGIT_BITS = 8, 6
"""So many pieces are rather dealt than merged; two digits of so many bits tell most rows of a few thousand apart."""

RUNS, FREE, ROWS, LAST, EARLIEST = 0, 1, 2, 3, 4
SCALARS = 5
"""Positions in the array of scalars: runs, free chunks, rows held, the run that the last row went to, and the earliest
time of all runs, if there are any. How many there are."""
HEAD, HEAD_AT, TAIL, TAIL_AT, FIRST = 0, 1, 2, 3, 4
"""Columns of a run: first chunk and first row in it, last chunk and how many rows are in it, the time of the first row.
"""
COLUMNS = 5


def insert(row: int, sync: Array, number: Array, times: Array, numbers: Array, after: Array, free: Array, runs: Array,
           tails: Array, scalars: Array) -> int:
    """Deal rows from `row` on to runs; return the first one that did not fit.

    Parameters
    ----------
    row : int
        Where to begin in `sync`.
    sync, number : arrays of int64
        Times and numbers of the rows, in the order of arrival.
    times, numbers : arrays of int64
        The pool, ``CHUNK`` places a chunk.
    after, free : arrays of int64
        The chunk after each chunk; free chunks.
    runs, tails : arrays of int64
        ``COLUMNS`` values per run, one run after the other; the largest time of each run, descending.
    scalars : array of int64
    """
    begun = row
    while row < sync.shape[0] and scalars[FREE] >= 2 and scalars[RUNS] < tails.shape[0]:
        run = _run_for(sync[row], tails, scalars)
        if run > 0 and run != scalars[LAST] and _moved_in(sync[row], number[row], COLUMNS * (run - 1), times, numbers,
                                                          runs):
            _ensure_capacity(COLUMNS * (run - 1), after, free, runs, scalars)
            row += 1
            continue
        scalars[LAST] = run
        at = COLUMNS * run
        if run == scalars[RUNS]:
            _begin(at, sync[row], after, free, runs, scalars)
            scalars[RUNS] += 1
        first = runs[at + TAIL] * CHUNK
        slot, limit = first + runs[at + TAIL_AT], first + CHUNK
        first += runs[at + HEAD_AT] if runs[at + HEAD] == runs[at + TAIL] else 0
        tail, is_last = sync[row], run + 1 == scalars[RUNS]
        while slot < limit and row < sync.shape[0] and (run == 0 or sync[row] < tails[run - 1]):
            time, place = sync[row], slot
            if time < tail:  # moved in as below, without a search for the run
                if slot - first <= REACH or times[slot - REACH] > time or (not is_last and time < tails[run + 1]):
                    break
                while times[place - 1] > time:
                    times[place], numbers[place] = times[place - 1], numbers[place - 1]
                    place -= 1
            tail = max(tail, time)
            times[place], numbers[place] = time, number[row]
            slot += 1
            row += 1
        tails[run] = tail
        runs[at + TAIL_AT] = slot - runs[at + TAIL] * CHUNK
        _ensure_capacity(at, after, free, runs, scalars)
    scalars[ROWS] += row - begun
    return row


def _run_for(time: int, tails: Array, scalars: Array) -> int:
    """The first run whose tail is not above a time; the number of runs if there is none."""
    last, runs = scalars[LAST], scalars[RUNS]
    if last < runs and tails[last] <= time and (last == 0 or time < tails[last - 1]):
        return last
    if runs == 0 or tails[0] <= time:
        return 0
    low, high = 1, runs
    while low < high:
        middle = (low + high) >> 1
        if tails[middle] <= time:
            high = middle
        else:
            low = middle + 1
    return low


def _moved_in(time: int, number: int, run: int, times: Array, numbers: Array, runs: Array) -> bool:
    """Put a row where it belongs near the end of a run, if it belongs there."""
    begin = runs[run + TAIL] * CHUNK
    if runs[run + HEAD] == runs[run + TAIL]:
        begin += runs[run + HEAD_AT]
    slot = runs[run + TAIL] * CHUNK + runs[run + TAIL_AT]
    if slot - begin <= REACH or times[slot - REACH] > time:
        return False
    while times[slot - 1] > time:
        times[slot], numbers[slot] = times[slot - 1], numbers[slot - 1]
        slot -= 1
    times[slot], numbers[slot] = time, number
    runs[run + TAIL_AT] += 1
    return True


def _begin(run: int, first: int, after: Array, free: Array, runs: Array, scalars: Array) -> None:
    scalars[FREE] -= 1
    chunk = free[scalars[FREE]]
    after[chunk] = -1
    runs[run + HEAD], runs[run + HEAD_AT], runs[run + TAIL], runs[run + TAIL_AT] = chunk, 0, chunk, 0
    runs[run + FIRST] = first
    scalars[EARLIEST] = min(first, scalars[EARLIEST]) if scalars[RUNS] else first


def _ensure_capacity(run: int, after: Array, free: Array, runs: Array, scalars: Array) -> None:
    """Append a chunk to a run whose last one is full."""
    if runs[run + TAIL_AT] == CHUNK:
        scalars[FREE] -= 1
        chunk = free[scalars[FREE]]
        after[chunk], after[runs[run + TAIL]] = -1, chunk
        runs[run + TAIL], runs[run + TAIL_AT] = chunk, 0


def cut(time: int, times: Array, numbers: Array, after: Array, free: Array, runs: Array, tails: Array, scalars: Array,
        out_times: Array, out_numbers: Array, bounds: Array) -> int:
    """Move all rows up to a time out of the runs, in pieces; return how many pieces, which end at `bounds`.

    Empty runs are removed, so that a burst of late rows leaves no runs.
    """
    if scalars[RUNS] == 0 or scalars[EARLIEST] > time:
        return 0
    moved, pieces, kept = 0, 0, 0
    for run in range(scalars[RUNS]):
        begun = moved
        at = COLUMNS * run
        emptied = tails[run] <= time
        while runs[at + FIRST] <= time:
            chunk = runs[at + HEAD]
            is_last = chunk == runs[at + TAIL]
            end = chunk * CHUNK + (runs[at + TAIL_AT] if is_last else CHUNK)
            slot = chunk * CHUNK + runs[at + HEAD_AT]
            while slot < end and times[slot] <= time:
                out_times[moved], out_numbers[moved] = times[slot], numbers[slot]
                slot += 1
                moved += 1
            runs[at + HEAD_AT] = slot - chunk * CHUNK
            if slot < end:
                runs[at + FIRST] = times[slot]
                break
            free[scalars[FREE]] = chunk
            scalars[FREE] += 1
            if is_last:
                break
            runs[at + HEAD], runs[at + HEAD_AT] = after[chunk], 0
        if not emptied:
            if kept < run:
                tails[kept] = tails[run]
                for part in range(COLUMNS):
                    runs[COLUMNS * kept + part] = runs[at + part]
            scalars[EARLIEST] = min(runs[at + FIRST], scalars[EARLIEST]) if kept else runs[at + FIRST]
            kept += 1
        if moved > begun:
            bounds[pieces] = moved
            pieces += 1
    scalars[RUNS], scalars[LAST] = kept, 0
    scalars[ROWS] -= moved
    return pieces


def merge_pieces(pieces: int, bounds: Array, times: Array, numbers: Array, out_times: Array, out_numbers: Array,
                 begin: Array, end: Array, by_size: Array) -> int:
    """Merge sorted pieces, always the two smallest (Huffman), or many small ones at once; returns where in `out`.

    Sizes of merged pieces never shrink, so they wait in a queue and `out` is used as a ring buffer for three
    times the rows. With a single piece nothing is done, and the answer is -1.
    """
    if pieces >= MANY_PIECES and _dealt(bounds[pieces - 1], times, numbers, out_times, out_numbers):
        return 0
    last = 0
    for piece in range(pieces):
        begin[piece], end[piece] = last, bounds[piece]
        last = bounds[piece]
        slot = piece
        while slot > 0 and end[by_size[slot - 1]] - begin[by_size[slot - 1]] > end[piece] - begin[piece]:
            by_size[slot] = by_size[slot - 1]
            slot -= 1
        by_size[slot] = piece
    leaf, first, made, free = 0, pieces, pieces, 0
    while pieces - leaf + made - first > 1:
        left = _smallest(leaf, pieces, first, made, by_size, begin, end)
        leaf, first = (leaf + 1, first) if left < pieces else (leaf, first + 1)
        right = _smallest(leaf, pieces, first, made, by_size, begin, end)
        leaf, first = (leaf + 1, first) if right < pieces else (leaf, first + 1)
        size = end[left] - begin[left] + end[right] - begin[right]
        if free + size > out_times.shape[0]:
            free = 0
        merge_two(times if left < pieces else out_times, numbers if left < pieces else out_numbers,
                  begin[left], end[left],
                  times if right < pieces else out_times, numbers if right < pieces else out_numbers,
                  begin[right], end[right], out_times, out_numbers, free)
        begin[made], end[made] = free, free + size
        free += size
        made += 1
    return begin[made - 1] if pieces > 1 else -1


def _dealt(rows: int, times: Array, numbers: Array, out_times: Array, out_numbers: Array) -> bool:
    """Put rows in order all at once, by the upper bits of their times; False where they are many or times crowd.

    A packed value is a time and a number. `out_times` is also where counters stand.
    """
    if not 2 << DIGIT_BITS <= rows <= 1 << 2 * DIGIT_BITS:
        return False
    first, last, low, high = times[0], times[0], numbers[0], numbers[0]
    for row in range(1, rows):
        first, last = min(first, times[row]), max(last, times[row])
        low, high = min(low, numbers[row]), max(high, numbers[row])
    span, row_bits = last - first, 0
    while (high - low) >> row_bits:
        row_bits += 1
    if span < 0 or span >> (62 - row_bits):
        return False
    top = row_bits
    while span >> (top - row_bits):
        top += 1
    for row in range(rows):
        out_times[row] = (times[row] - first) << row_bits | (numbers[row] - low)
    sort_two_digits(out_times, 0, rows, max(top - 2 * DIGIT_BITS, 0), DIGIT_BITS, out_numbers, out_times[2 * rows :])
    if not moved_in(out_times, 0, rows):
        return False
    for row in range(rows):
        packed = out_times[row]
        out_times[row], out_numbers[row] = first + (packed >> row_bits), low + (packed & ((1 << row_bits) - 1))
    return True


def _smallest(leaf: int, pieces: int, first: int, made: int, by_size: Array, begin: Array, end: Array) -> int:
    """The smaller of the first piece of each queue."""
    if leaf == pieces:
        return first
    mine = by_size[leaf]
    if first == made or end[mine] - begin[mine] <= end[first] - begin[first]:
        return mine
    return first


def merge_two(times: Array, numbers: Array, at: int, end: int, other_times: Array, other_numbers: Array, other_at: int,
              other_end: int, out_times: Array, out_numbers: Array, slot: int) -> None:
    """Merge two sorted stretches. Where one goes first many times in a row, its stretch is found in growing steps."""
    while at < end and other_at < other_end:
        begun, steps = at, min(end - at, other_end - other_at, STREAK)
        for _ in range(steps):  # none of the two ends in so few, and the processor has nothing to guess
            time, number = times[at], numbers[at]
            other_time, other_number = other_times[other_at], other_numbers[other_at]
            mine = (time < other_time) | ((time == other_time) & (number < other_number))
            out_times[slot] = time if mine else other_time
            out_numbers[slot] = number if mine else other_number
            slot += 1
            at += mine
            other_at += not mine
        if at == begun + steps and at < end:
            stop = _run_end(times, numbers, at, end, other_times[other_at], other_numbers[other_at])
            slot = _copy(times, numbers, at, stop, out_times, out_numbers, slot)
            at = stop
        elif at == begun and other_at < other_end:
            stop = _run_end(other_times, other_numbers, other_at, other_end, times[at], numbers[at])
            slot = _copy(other_times, other_numbers, other_at, stop, out_times, out_numbers, slot)
            other_at = stop
    slot = _copy(times, numbers, at, end, out_times, out_numbers, slot)
    _copy(other_times, other_numbers, other_at, other_end, out_times, out_numbers, slot)


def _run_end(times: Array, numbers: Array, at: int, end: int, time: int, number: int) -> int:
    """The first place whose row is not before another row."""
    step = STREAK
    while at + step <= end and (times[at + step - 1] < time
                                or (times[at + step - 1] == time and numbers[at + step - 1] < number)):
        at += step
        step *= 2
    high = min(at + step, end)
    while at < high:
        middle = (at + high) >> 1
        if times[middle] < time or (times[middle] == time and numbers[middle] < number):
            at = middle + 1
        else:
            high = middle
    return at


def _copy(times: Array, numbers: Array, at: int, end: int, out_times: Array, out_numbers: Array, slot: int) -> int:
    for row in range(at, end):
        out_times[slot], out_numbers[slot] = times[row], numbers[row]
        slot += 1
    return slot
