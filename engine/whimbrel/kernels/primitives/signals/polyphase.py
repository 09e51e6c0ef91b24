"""Resample runs of samples by a rational factor, by key."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

FIRST, LAST, NEXT, ENTRIES = 0, 1, 2, 3
"""State of a key: numbers of the first and last sample of its run, and of the next result. Then how many these are."""
NO_RUN = -(1 << 63)
"""Stands for the first sample where no run is open."""


def resample_runs(
    at: int, order: Array, group: Array, hidden: Array, fresh: Array, numbers: Array, values: Array, columns: int,
    taps: Array, up: int, down: int, held: int, chunk: int, state: Array, tails: Array, work: Array, key_out: Array,
    sample_out: Array, out: Array, made: Array,
) -> int:
    """Write the results that samples complete, until the buffers could be full.

    Result `m` is at ``m * down / up`` samples. It is the sum of the samples around it, weighted by taps that are `up`
    times as dense as samples, and NaN where a sample is missing.

    Parameters
    ----------
    at : int
        Where to begin in the order of the rows.
    order : array of int
        The rows key by key, each in the order of time; empty: as they are.
    group, hidden, fresh, numbers : array
        The key of each row, whether to leave it out, whether it begins a run, and the number of its sample.
    values : array of float64
        `columns` values for each row.
    taps : array of float64
        An odd number of them.
    held, chunk : int
        Samples that are kept of each key, and most samples to take in at once.
    state, tails : array of int64 and float64
        For each key its state, and the last samples of its run.
    work : array of float64
        Memory for `held` and `chunk` samples.
    key_out, sample_out, out : array
        Out: the key, the number and the values of each result.
    made : array of int64
        Out: how many results there are.
    """
    rows, half = group.shape[0], taps.shape[0] // 2
    most = (chunk * up) // down + half // down + 3
    while at < rows:
        here = order[at] if order.shape[0] else at
        if hidden.shape[0] and hidden[here]:
            at += 1
            continue
        if made[0] + 2 * most > key_out.shape[0]:
            return at
        key = int(group[here])
        where, tail = key * ENTRIES, key * held * columns
        if fresh.shape[0] and fresh[here]:
            end_run(key, up, down, columns, state, key_out, sample_out, out, made)
            state[where + FIRST] = numbers[here]
            state[where + NEXT] = -((-numbers[here] * up) // down)
            tails[tail:tail + held * columns] = np.nan
        for place in range(held * columns):
            work[place] = tails[tail + place]
        start, count = numbers[here], 0
        while True:
            for column in range(columns):
                work[(held + count) * columns + column] = values[here * columns + column]
            count += 1
            at += 1
            if at == rows or count == chunk:
                break
            here = order[at] if order.shape[0] else at
            if group[here] != key or (hidden.shape[0] and hidden[here]) or (fresh.shape[0] and fresh[here]):
                break
        state[where + LAST] = start + count - 1
        sample = state[where + NEXT]
        while True:
            point = sample * down + half
            newest = point // up
            if newest > state[where + LAST]:
                break
            add_result(key, sample, point, newest, start - held, state[where + FIRST], taps, up, columns, work, key_out,
                       sample_out, out, made)
            sample += 1
        state[where + NEXT] = sample
        for place in range(held * columns):
            tails[tail + place] = work[count * columns + place]
    return at


def add_result(
    key: int, sample: int, point: int, newest: int, zero: int, first: int, taps: Array, up: int, columns: int,
    work: Array, key_out: Array, sample_out: Array, out: Array, made: Array,
) -> None:
    """Write one result; the sample with the number `zero` is the first one in `work`."""
    begin = point - newest * up
    many = (taps.shape[0] - 1 - begin) // up + 1
    place = made[0]
    key_out[place], sample_out[place] = key, sample
    for column in range(columns):
        total = math.nan
        if newest - many + 1 >= first:
            total = 0.0
            for number in range(many):
                total += taps[begin + number * up] * work[(newest - number - zero) * columns + column]
        out[place * columns + column] = total
    made[0] = place + 1


def end_run(key: int, up: int, down: int, columns: int, state: Array, key_out: Array, sample_out: Array, out: Array,
            made: Array) -> None:
    """Write the results up to the last sample of a run that has ended: all lack a sample."""
    where = key * ENTRIES
    if state[where + FIRST] == NO_RUN:
        return
    sample = state[where + NEXT]
    while sample * down <= state[where + LAST] * up:
        place = made[0]
        key_out[place], sample_out[place] = key, sample
        for column in range(columns):
            out[place * columns + column] = math.nan
        made[0] = place + 1
        sample += 1
    state[where + FIRST] = NO_RUN


def end_runs(keys: Array, up: int, down: int, columns: int, state: Array, key_out: Array, sample_out: Array,
             out: Array, made: Array) -> None:
    """Write the last results of some keys."""
    for number in range(keys.shape[0]):
        end_run(int(keys[number]), up, down, columns, state, key_out, sample_out, out, made)
