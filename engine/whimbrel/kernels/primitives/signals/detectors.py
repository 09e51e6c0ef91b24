"""Find ranges of samples above a threshold, by key.

A range goes from the first sample above its threshold to the last one, with no more than so many samples below between
two of them. Ranges that meet after they are padded become one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

INTEGERS, FLOATS = 11, 4
"""So many numbers are the state of a key."""
OPEN, START, END, BELOW, LENGTH, COUNT, SEEN, WAITS, FIRST, LAST, SAMPLES = range(INTEGERS)
"""Of the range that is open: whether there is one, its start and end, the samples below since, its samples, and those
up to its end. How many samples the statistics have. Of the range that waits: whether there is one, its start, end and
samples."""
MEAN, VARIANCE, PEAK, HIGHEST = range(FLOATS)
"""Of the values; and the largest value of the range that is open, and of that which waits."""


def find_ranges(
    group: Array, hidden: Array, broken: Array, fresh: Array, starts: Array, ends: Array, lasts: int, values: Array,
    on: float, off: float, forget: float, startup: int, hold: int, shortest: int, pad: int, limit: int,
    integers: Array, floats: Array, key_out: Array, start_out: Array, end_out: Array, peak_out: Array, count_out: Array,
) -> int:
    """Take in samples. Write the ranges that no later sample can change.

    Parameters
    ----------
    group : array of int
        The key of each row.
    hidden, broken, fresh : array of bool
        Rows to leave out, rows that count as a missing sample, and rows before which one is missing; empty: none.
    starts, ends : array of int64
        Times of samples. No `ends`: each lasts `lasts` ticks.
    lasts : int
        Ticks that a sample lasts at least.
    values : array of float64
    on, off : float
        Thresholds at which a range begins, and below which samples are quiet. With `startup`, `on` is a number of
        standard deviations above the mean, and `off` is not read.
    forget : float
        Weight of the statistics before a sample.
    startup : int
        Samples before the first range; 0: thresholds are constant.
    hold, shortest : int
        Most samples below inside a range, and fewest samples of a range.
    pad, limit : int
        Ticks before and after each range; most ticks of a range, after which the statistics begin again; -1: no limit.
    integers, floats : array of int64 and float64
        For each key its state.
    key_out, start_out, end_out, peak_out, count_out : array
        Out: the ranges.

    Returns
    -------
    int
        How many.
    """
    made = 0
    for row in range(group.shape[0]):
        if hidden.shape[0] and hidden[row]:
            continue
        key = int(group[row])
        at, fat = key * INTEGERS, key * FLOATS
        gone = broken.shape[0] > 0 and broken[row]
        if gone or (fresh.shape[0] and fresh[row]):
            made = close_range(key, shortest, pad, integers, floats, key_out, start_out, end_out, peak_out, count_out,
                               made)
        if gone:
            continue
        time, value = starts[row], values[row]
        until = max(time + lasts, ends[row]) if ends.shape[0] else time + lasts
        if integers[at + OPEN] and limit >= 0 and time - integers[at + START] >= limit:
            made = close_range(key, shortest, pad, integers, floats, key_out, start_out, end_out, peak_out, count_out,
                               made)
            integers[at + SEEN] = 0
        above, stays = on, off
        if startup:
            above = floats[fat + MEAN] + on * math.sqrt(floats[fat + VARIANCE])
            stays = above
        ready = integers[at + SEEN] >= startup
        if integers[at + OPEN]:
            integers[at + LENGTH] += 1
            if value > stays:
                integers[at + END], integers[at + BELOW] = until, 0
                integers[at + COUNT] = integers[at + LENGTH]
                floats[fat + PEAK] = max(floats[fat + PEAK], value)
                continue
            integers[at + BELOW] += 1
            if integers[at + BELOW] <= hold:
                continue
            made = close_range(key, shortest, pad, integers, floats, key_out, start_out, end_out, peak_out, count_out,
                               made)
        elif ready and value > above:
            made = give_waiting(key, time - pad, integers, floats, key_out, start_out, end_out, peak_out,
                                count_out, made)
            integers[at + OPEN], integers[at + START], integers[at + END] = 1, time, until
            integers[at + BELOW], integers[at + LENGTH], integers[at + COUNT] = 0, 1, 1
            floats[fat + PEAK] = value
            continue
        if startup:
            seen = integers[at + SEEN]
            if seen == 0:
                floats[fat + MEAN], floats[fat + VARIANCE] = value, 0.0
            else:
                weight = max(1.0 - forget, 1.0 / (seen + 1))
                change = value - floats[fat + MEAN]
                floats[fat + MEAN] += weight * change
                floats[fat + VARIANCE] = (1.0 - weight) * (floats[fat + VARIANCE] + weight * change * change)
            integers[at + SEEN] = seen + 1
    return made


def close_range(
    key: int, shortest: int, pad: int, integers: Array, floats: Array, key_out: Array, start_out: Array,
    end_out: Array, peak_out: Array, count_out: Array, made: int,
) -> int:
    """Close the range of a key, if one is open: it waits, as a later one may meet it."""
    at, fat = key * INTEGERS, key * FLOATS
    if not integers[at + OPEN]:
        return made
    integers[at + OPEN] = 0
    if integers[at + COUNT] < shortest:
        return made
    start, end = integers[at + START] - pad, integers[at + END] + pad
    if integers[at + WAITS] and start <= integers[at + LAST]:
        integers[at + LAST] = max(end, integers[at + LAST])
        integers[at + SAMPLES] += integers[at + COUNT]
        floats[fat + HIGHEST] = max(floats[fat + HIGHEST], floats[fat + PEAK])
        return made
    made = give_waiting(key, start, integers, floats, key_out, start_out, end_out, peak_out, count_out, made)
    integers[at + WAITS], integers[at + FIRST], integers[at + LAST] = 1, start, end
    integers[at + SAMPLES], floats[fat + HIGHEST] = integers[at + COUNT], floats[fat + PEAK]
    return made


def give_waiting(
    key: int, start: int, integers: Array, floats: Array, key_out: Array, start_out: Array, end_out: Array,
    peak_out: Array, count_out: Array, made: int,
) -> int:
    """Give the range of a key that waits, if none that begins at `start` or later meets it."""
    at = key * INTEGERS
    if not integers[at + WAITS] or start <= integers[at + LAST]:
        return made
    integers[at + WAITS] = 0
    key_out[made], start_out[made], end_out[made] = key, integers[at + FIRST], integers[at + LAST]
    peak_out[made], count_out[made] = floats[key * FLOATS + HIGHEST], integers[at + SAMPLES]
    return made + 1


def settle_ranges(
    watermark: int, final: bool, ended: Array, shortest: int, pad: int, integers: Array, floats: Array, key_out: Array,
    start_out: Array, end_out: Array, peak_out: Array, count_out: Array,
) -> int:
    """Write the ranges that no sample from a time on can change, or all of them.

    Parameters
    ----------
    watermark : int
    final : bool
        No sample follows.
    ended : array of bool
        For each key whether its next sample is missing.
    """
    made = 0
    for key in range(ended.shape[0]):
        at = key * INTEGERS
        if integers[at + OPEN] and (final or ended[key]):
            made = close_range(key, shortest, pad, integers, floats, key_out, start_out, end_out, peak_out, count_out,
                               made)
        if integers[at + WAITS]:
            if final:
                made = give_waiting(key, integers[at + LAST] + 1, integers, floats, key_out, start_out, end_out,
                                    peak_out, count_out, made)
            else:
                earliest = integers[at + START] if integers[at + OPEN] else watermark
                made = give_waiting(key, earliest - pad, integers, floats, key_out, start_out, end_out, peak_out,
                                    count_out, made)
    return made
