"""Filter runs of samples with a finite impulse response, by key."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

NONE_OPEN = (1 << 63) - 1
"""Stands for the first row without a result where all have one."""


def fir_directly(
    order: Array, group: Array, hidden: Array, broken: Array, fresh: Array, values: Array, taps: Array, settle: int,
    back: int, row: int, tails: Array, tail_rows: Array, length: Array, open_row: Array, work: Array, work_rows: Array,
    sums: Array, base: int, results: Array, valid: Array,
) -> None:
    """Add the products of taps and samples, the newest sample first.

    Parameters
    ----------
    order : array of int
        The rows key by key, each in the order of time; empty: as they are.
    group : array of int
        The key of each row.
    hidden, broken, fresh : array of bool
        Rows to leave out, rows that end a run, and rows that begin one; empty: none.
    values, taps : array of float64
    settle : int
        How many results of a run are left out at first.
    back : int
        A result belongs to the sample that is so many before the newest one.
    row : int
        The number of the first row.
    tails, tail_rows : array of float64 and int64
        For each key its last samples, one fewer than taps, and the numbers of their rows.
    length : array of int64
        For each key the samples of its run.
    open_row : array of int64
        For each key the number of the first row without a result; `NONE_OPEN`: there is none.
    work, work_rows : array of float64 and int64
        Memory for some samples after as many as there are in a tail.
    sums : array of float64
        Memory for as many results.
    base : int
        The number of the first row of `results` and `valid`.
    results, valid : array of float64 and bool
        Out: the results, and which there are.
    """
    rows, held = group.shape[0], taps.shape[0] - 1
    most = sums.shape[0]
    at = 0
    while at < rows:
        here = order[at] if order.shape[0] else at
        key = int(group[here])
        if hidden.shape[0] and hidden[here]:
            at += 1
            continue
        if broken.shape[0] and broken[here]:
            open_row[key] = NONE_OPEN
            at += 1
            continue
        tail = key * held
        if fresh.shape[0] and fresh[here]:
            length[key], open_row[key] = 0, NONE_OPEN
            tails[tail:tail + held] = 0.0
        for place in range(held):
            work[place], work_rows[place] = tails[tail + place], tail_rows[tail + place]
        count = 0
        while True:
            work[held + count], work_rows[held + count] = values[here], row + here
            count += 1
            at += 1
            if at == rows or count == most:
                break
            here = order[at] if order.shape[0] else at
            if group[here] != key or (hidden.shape[0] and hidden[here]) or (broken.shape[0] and broken[here]) or (
                    fresh.shape[0] and fresh[here]):
                break
        add_products(work, held, count, taps, sums)
        age = length[key]
        for place in range(max(0, settle - age), count):
            target = work_rows[held + place - back] - base
            results[target], valid[target] = sums[place], True
        length[key] = age + count
        for place in range(held):
            tails[tail + place], tail_rows[tail + place] = work[count + place], work_rows[count + place]
        if back:
            open_row[key] = tail_rows[tail + held - min(back, length[key])]


def add_products(work: Array, held: int, count: int, taps: Array, sums: Array) -> None:
    """Write the sum of the taps and samples up to each sample after the first `held` ones."""
    for place in range(count):
        sums[place] = 0.0
    tap = 0
    while tap + 4 <= taps.shape[0]:  # four at a time: a sum is read and written once
        one, two, three, four = taps[tap], taps[tap + 1], taps[tap + 2], taps[tap + 3]
        start = held - tap
        for place in range(count):
            sums[place] = (((sums[place] + one * work[start + place]) + two * work[start + place - 1])
                           + three * work[start + place - 2]) + four * work[start + place - 3]
        tap += 4
    while tap < taps.shape[0]:
        one = taps[tap]
        for place in range(count):
            sums[place] += one * work[held - tap + place]
        tap += 1


def gather_blocks(
    at: int, order: Array, group: Array, hidden: Array, broken: Array, fresh: Array, numbers: Array, values: Array,
    held: int, block: int, back: int, row: int, tails: Array, tail_rows: Array, filled: Array, age: Array,
    open_row: Array, jobs: Array, job_rows: Array, job_stop: Array, job_age: Array, made: Array,
) -> int:
    """Copy samples to blocks that begin at multiples of `block`, until the memory is full.

    Parameters
    ----------
    at : int
        Where to begin in the order of the rows.
    order, group, hidden, broken, fresh, values, back, row, open_row
        As of :func:`fir_directly`.
    numbers : array of int64
        The number of each sample.
    held, block : int
        Samples before a block that its results need, and samples of a block.
    tails, tail_rows : array of float64 and int64
        For each key its current block with the samples before it, and the numbers of their rows.
    filled : array of int64
        For each key how many places of its block are passed; 0: it has no samples that wait.
    age : array of int64
        For each key how many samples of the run are before its block.
    jobs, job_rows, job_stop, job_age : array of float64 and int64
        Out: blocks of which nothing is missing any more, as the tails have them, `filled` and `age`.
    made : array of int64
        Out: how many there are.

    Returns
    -------
    int
        Where to continue.
    """
    rows, width, most = group.shape[0], held + block, job_stop.shape[0]
    while at < rows:
        here = order[at] if order.shape[0] else at
        key = int(group[here])
        if hidden.shape[0] and hidden[here]:
            at += 1
            continue
        gone = broken.shape[0] > 0 and broken[here]
        begins = fresh.shape[0] > 0 and fresh[here]
        if made[0] + 2 > most:
            return at
        base = key * width
        if gone or begins:
            take_block(key, held, block, tails, tail_rows, filled, age, jobs, job_rows, job_stop, job_age, made)
            filled[key], open_row[key] = 0, NONE_OPEN
            if gone:
                at += 1
                continue
            tails[base:base + width] = 0.0
            filled[key] = numbers[here] % block
            age[key] = -filled[key]
        place = base + held + filled[key]
        tails[place], tail_rows[place] = values[here], row + here
        filled[key] += 1
        at += 1
        if filled[key] == block:
            take_block(key, held, block, tails, tail_rows, filled, age, jobs, job_rows, job_stop, job_age, made)
            for place in range(held):
                tails[base + place], tail_rows[base + place] = tails[base + block + place], tail_rows[
                    base + block + place]
            tails[base + held:base + width] = 0.0
            filled[key] = 0
            age[key] += block
        first = held - min(age[key], back) if age[key] > 0 else held - age[key]
        open_row[key] = tail_rows[base + first] if first < held + filled[key] else NONE_OPEN
    return at


def take_block(
    key: int, held: int, block: int, tails: Array, tail_rows: Array, filled: Array, age: Array, jobs: Array,
    job_rows: Array, job_stop: Array, job_age: Array, made: Array,
) -> None:
    """Copy the block of a key, if it has samples that wait."""
    if filled[key] == 0 or filled[key] + age[key] <= 0:
        return
    width, job = held + block, made[0]
    for place in range(width):
        jobs[job * width + place] = tails[key * width + place]
        job_rows[job * width + place] = tail_rows[key * width + place]
    job_stop[job], job_age[job] = filled[key], age[key]
    made[0] = job + 1


def end_runs(
    keys: Array, held: int, block: int, tails: Array, tail_rows: Array, filled: Array, age: Array, open_row: Array,
    jobs: Array, job_rows: Array, job_stop: Array, job_age: Array, made: Array,
) -> None:
    """Copy the blocks of some keys whose runs have ended. All of them fit."""
    for number in range(keys.shape[0]):
        key = int(keys[number])
        take_block(key, held, block, tails, tail_rows, filled, age, jobs, job_rows, job_stop, job_age, made)
        filled[key], open_row[key] = 0, NONE_OPEN


def spread_results(
    sums: Array, width: int, held: int, block: int, settle: int, back: int, job_rows: Array, job_stop: Array,
    job_age: Array, made: int, base: int, results: Array, valid: Array,
) -> None:
    """Write the results of some blocks to their places.

    Parameters
    ----------
    sums : array of float64
        For each block `width` results, of which those from `held` on count.
    """
    for job in range(made):
        for place in range(max(0, settle - job_age[job]), job_stop[job]):
            target = job_rows[job * (held + block) + held + place - back] - base
            results[target], valid[target] = sums[job * width + held + place], True
