"""Find the sample of each row of a periodic stream, by key."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.signals.nearest_sample import nearest_sample

Array = np.ndarray[Any, Any]

TOO_FAR, DOUBLE, MISSING = 1, 2, 3
"""What is wrong with a row: far from every sample, the sample of an earlier row, or not the next sample."""


def align_to_samples(
    ids: Array, times: Array, step: int, step_rest: int, parts: int, jitter: int, gaps: bool,
    sample: Array, tick: Array, rest: Array, seen: Array, starts: Array, found: Array,
) -> int:
    """Write the time of the sample that is nearest to each row, the later one of two; stop at the first wrong row.

    Each key goes from sample to sample: one step adds ``step + step_rest / parts`` ticks. Long gaps are one division.

    Parameters
    ----------
    ids : array of int
        The key of each row.
    times : array of int64
        When rows start, in ascending order for each key, and none before the key's current sample.
    step, step_rest, parts : int
        Ticks from one sample to the next, as a whole number and a fraction.
    jitter : int
        Most ticks between a row and its sample.
    gaps : bool
        Samples may be missing.
    sample, tick, rest : array of int64
        For each key the number of its current sample, and its time: a tick, and a fraction of `parts`.
    seen : array of bool
        For each key whether a row was its current sample.
    starts : array of int64
        Out: when the samples are.
    found : array of int64
        Out: of the wrong row, what is wrong, and the number and the tick of its sample.

    Returns
    -------
    int
        The wrong row, or the number of rows. The state is then that of the row before.
    """
    rows = times.shape[0]
    key = ids[0] if rows else 0
    last, last_at, last_part, came = sample[key], tick[key], rest[key], seen[key]
    row = 0
    while row < rows:
        if ids[row] != key:
            sample[key], tick[key], rest[key], seen[key] = last, last_at, last_part, came
            key = ids[row]
            last, last_at, last_part, came = sample[key], tick[key], rest[key], seen[key]
        time, number, at, part = times[row], last, last_at, last_part
        carry = 1 if part + step_rest >= parts else 0
        if came and time == at + step + carry:  # mostly
            last, last_at, last_part = last + 1, time, part + step_rest - carry * parts
            starts[row] = time
            row += 1
            continue
        number, at, part = nearest_sample(time, number, at, part, step, step_rest, parts)
        if abs(time - at) > jitter:
            found[0] = TOO_FAR
        elif came and number == last:
            found[0] = DOUBLE
        elif came and not gaps and number != last + 1:
            found[0] = MISSING
        if found[0]:
            found[1], found[2] = number, at
            break
        last, last_at, last_part, came = number, at, part, True
        starts[row] = at
        row += 1
    sample[key], tick[key], rest[key], seen[key] = last, last_at, last_part, came
    return row
