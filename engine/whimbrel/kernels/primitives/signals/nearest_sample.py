"""Find the sample that is nearest to a time."""

from __future__ import annotations


def nearest_sample(time: int, number: int, tick: int, part: int, step: int, step_rest: int, parts: int
                   ) -> tuple[int, int, int]:
    """The number and the time of the nearest sample, the later one of two. Long gaps are one division.

    Parameters
    ----------
    time : int
        Not before the sample to begin with.
    number, tick, part : int
        The sample to begin with, and its time: a tick, and a fraction of `parts`.
    step, step_rest, parts : int
        Ticks from one sample to the next, as a whole number and a fraction.
    """
    while True:
        ahead = step + (1 if part + step_rest >= parts else 0)
        past = time - tick
        if past < ahead - past:
            return number, tick, part
        if past > 2 * (step + 1):
            jump = min(past // (step + 1), (1 << 62) // parts)  # so many samples cannot overflow
            part += jump * step_rest
            tick += jump * step + part // parts
            part %= parts
            number += jump
        else:
            tick += ahead
            part += step_rest
            if part >= parts:
                part -= parts
            number += 1
