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
    taps: Array, phases: Array, up: int, down: int, held: int, chunk: int, state: Array, tails: Array, work: Array,
    key_out: Array, sample_out: Array, out: Array, made: Array,
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
        Phase by phase, each for the oldest sample first. Phase `p` has every `up`-th tap from the tap `p` on.
    phases : array of int64
        Where each phase begins; the last entry is the end of the last one.
    held, chunk : int
        Samples that are kept of each key, and most samples to take in at once.
    state, tails : array of int64 and float64
        For each key its state, and the last samples of its run, column by column.
    work : array of float64
        Memory for `held` and `chunk` samples, column by column.
    key_out, sample_out, out : array
        Out: the key, the number and the values of each result.
    made : array of int64
        Out: how many results there are.
    """
    rows, half, width = group.shape[0], taps.shape[0] // 2, held + chunk
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
        for column in range(columns):
            for place in range(held):
                work[column * width + place] = tails[tail + column * held + place]
        start, count = numbers[here], 0
        while True:
            for column in range(columns):
                work[column * width + held + count] = values[here * columns + column]
            count += 1
            at += 1
            if at == rows or count == chunk:
                break
            here = order[at] if order.shape[0] else at
            if group[here] != key or (hidden.shape[0] and hidden[here]) or (fresh.shape[0] and fresh[here]):
                break
        state[where + LAST] = start + count - 1
        sample, last = state[where + NEXT], state[where + LAST]
        newest, phase = (sample * down + half) // up, (sample * down + half) % up
        while newest <= last:
            begin, place = phases[phase], made[0]
            many = phases[phase + 1] - begin
            oldest = newest - many + 1
            key_out[place], sample_out[place] = key, sample
            for column in range(columns):
                total = math.nan
                if oldest >= state[where + FIRST]:
                    read = column * width + held + oldest - start
                    total = weighted_sum(taps[begin:begin + many], work[read:read + many])
                out[place * columns + column] = total
            made[0] = place + 1
            sample += 1
            newest, phase = newest + down // up, phase + down % up
            if phase >= up:
                newest, phase = newest + 1, phase - up
        state[where + NEXT] = sample
        for column in range(columns):
            for place in range(held):
                tails[tail + column * held + place] = work[column * width + count + place]
    return at


def weighted_sum(weights: Array, values: Array) -> float:
    """The sum of products, in an order that depends on their number alone: four sums side by side."""
    first = second = third = fourth = 0.0
    whole = weights.shape[0] - weights.shape[0] % 4
    for at in range(0, whole, 4):
        first += weights[at] * values[at]
        second += weights[at + 1] * values[at + 1]
        third += weights[at + 2] * values[at + 2]
        fourth += weights[at + 3] * values[at + 3]
    for at in range(whole, weights.shape[0]):
        first += weights[at] * values[at]
    return (first + third) + (second + fourth)


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
