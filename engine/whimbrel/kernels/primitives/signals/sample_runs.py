"""Find the runs of consecutive samples, by key."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.signals.nearest_sample import nearest_sample

Array = np.ndarray[Any, Any]


def mark_runs(
    group: Array, times: Array, hidden: Array, broken: Array, step: int, step_rest: int, parts: int, settle: int,
    sample: Array, tick: Array, rest: Array, age: Array, fresh: Array, young: Array, numbers: Array,
) -> None:
    """Mark the first row of each run, and the rows that are among the first of their run.

    A run ends at a missing sample and at a broken row, which is in no run itself.

    Parameters
    ----------
    group : array of int
        The key of each row.
    times : array of int64
        When rows start, in ascending order for each key. Not read where `parts` is 0.
    hidden, broken : array of bool
        Rows to leave out, and rows that count as a missing sample; empty: none.
    step, step_rest, parts : int
        Ticks from one sample to the next, as a whole number and a fraction. `parts` of 0: no sample is missing.
    settle : int
        Samples at the begin of a run that are marked as young.
    sample, tick, rest : array of int64
        For each key the number of its last sample, and its time: a tick, and a fraction of `parts`.
    age : array of int64
        For each key how many samples its run has; 0: the next row begins a run.
    fresh, young : array of bool
        Out: rows that begin a run, and rows among the first `settle` of their run. They are False at first.
    numbers : array of int64
        Out: the number of each sample; empty: not wanted.
    """
    for row in range(group.shape[0]):
        if hidden.shape[0] and hidden[row]:
            continue
        key = int(group[row])
        if parts:
            number, at, part = sample[key], tick[key], rest[key]
            carry = 1 if part + step_rest >= parts else 0
            if times[row] == at + step + carry:  # mostly
                sample[key], tick[key], rest[key] = number + 1, at + step + carry, part + step_rest - carry * parts
            else:
                number, at, part = nearest_sample(times[row], number, at, part, step, step_rest, parts)
                if number != sample[key] + 1:
                    age[key] = 0
                sample[key], tick[key], rest[key] = number, at, part
        if numbers.shape[0]:
            numbers[row] = sample[key]
        if broken.shape[0] and broken[row]:
            age[key] = 0
            continue
        if age[key] == 0:
            fresh[row] = True
        if age[key] < settle:
            young[row] = True
        age[key] += 1
