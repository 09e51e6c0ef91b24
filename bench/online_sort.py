"""Sorting as rows come, all inside one compiled loop: Impatience runs, and a binary heap; how many runs there are."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.sorting.heap import heap_pop, heap_push
from whimbrel.kernels.primitives.sorting.impatience import LAST, RUNS, cut, insert, merge_pieces, merge_two

Array = np.ndarray[Any, Any]


def impatience(sync: Array, every: int, latency: int, huffman: bool, speculate: bool, numbers: Array,
               pool_times: Array, pool_numbers: Array,
               after: Array, free: Array, runs: Array, tails: Array, scalars: Array, times: Array, kept: Array,
               merged_times: Array, merged_numbers: Array, bounds: Array, begin: Array, end: Array, by_size: Array,
               out: Array) -> int:
    """Numbers in the order in which rows leave, with a punctuation every so many rows; how many left.

    Without `huffman` pieces are merged in their order; without `speculate` each row searches its run again.
    """
    newest = sync[0]
    row, done = 0, 0
    while row < sync.shape[0]:
        stop = min(row + every, sync.shape[0])
        for position in range(row, stop):
            newest = max(newest, sync[position])
        if speculate:
            if insert(0, sync[row:stop], numbers[row:stop], pool_times, pool_numbers, after, free, runs, tails,
                      scalars) != stop - row:
                return -1
        else:
            for position in range(row, stop):
                scalars[LAST] = tails.shape[0]
                if insert(0, sync[position : position + 1], numbers[position : position + 1], pool_times, pool_numbers,
                          after, free, runs, tails, scalars) != 1:
                    return -1
        row = stop
        time = newest - latency if row < sync.shape[0] else newest
        pieces = cut(time, pool_times, pool_numbers, after, free, runs, tails, scalars, times, kept, bounds)
        if pieces:
            size = bounds[pieces - 1]
            at = -1
            if pieces > 1 and huffman:
                at = merge_pieces(pieces, bounds, times, kept, merged_times, merged_numbers, begin, end, by_size)
            elif pieces > 1:
                at = in_turn(pieces, bounds, times, kept, merged_times, merged_numbers)
            for position in range(size):
                out[done + position] = kept[position] if at < 0 else merged_numbers[at + position]
            done += size
    return done


def in_turn(pieces: int, bounds: Array, times: Array, numbers: Array, out_times: Array, out_numbers: Array) -> int:
    """Merge sorted pieces, two at least, one after the other; where in `out` the result begins."""
    rows = bounds[pieces - 1]
    merge_two(times, numbers, 0, bounds[0], times, numbers, bounds[0], bounds[1], out_times, out_numbers, 0)
    begin = 0
    for piece in range(2, pieces):
        merge_two(out_times, out_numbers, begin, begin + bounds[piece - 1], times, numbers, bounds[piece - 1],
                  bounds[piece], out_times, out_numbers, rows - begin)
        begin = rows - begin
    return begin


def heap(sync: Array, every: int, latency: int, ends: Array, slots: Array, out: Array) -> int:
    """The same with a binary heap; rows of one time leave in any order."""
    newest = sync[0]
    row, done, size = 0, 0, 0
    while row < sync.shape[0]:
        stop = min(row + every, sync.shape[0])
        for position in range(row, stop):
            newest = max(newest, sync[position])
            size = heap_push(ends, slots, size, sync[position], position)
        row = stop
        time = newest - latency if row < sync.shape[0] else newest
        while size > 0 and ends[0] <= time:
            out[done] = slots[0]
            done += 1
            size = heap_pop(ends, slots, size)
    return done


def count_runs(sync: Array, every: int, latency: int, cuts: bool, numbers: Array, pool_times: Array,
               pool_numbers: Array, after: Array, free: Array, runs: Array, tails: Array, scalars: Array, times: Array,
               kept: Array, bounds: Array, out: Array) -> int:
    """Write how many sorted runs there are after each `every` rows to `out`; how many rows were sorted.

    Without `cuts` this is Patience sort, whose runs stay to the end.
    """
    newest = sync[0]
    row, step = 0, 0
    while row < sync.shape[0]:
        stop = min(row + every, sync.shape[0])
        for position in range(row, stop):
            newest = max(newest, sync[position])
        row += insert(0, sync[row:stop], numbers[row:stop], pool_times, pool_numbers, after, free, runs, tails, scalars)
        if row < stop:
            break
        if cuts:
            cut(newest - latency, pool_times, pool_numbers, after, free, runs, tails, scalars, times, kept, bounds)
        out[step] = scalars[RUNS]
        step += 1
    return row
