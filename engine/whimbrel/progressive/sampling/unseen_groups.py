"""Groups that a sample may have missed: hypergeometric bounds."""

from __future__ import annotations

import numpy as np

from whimbrel.kernels.primitives.sampling.window_blocks import BEFORE, KINDS, LATER, LEFT
from whimbrel.progressive.sampling.sample_state import SampleState


def unseen_fraction(state: SampleState, alpha: float) -> float:
    """The largest fraction of the blocks of a phase that a group may be in, and be in none that was drawn.

    So many draws without replacement all miss it with probability alpha (hypergeometric).
    """
    drawn, left, later, _ = np.bincount(state.kinds, minlength=KINDS).tolist()
    if not state.position.random or later or not drawn:
        return 1.0
    total, missed = drawn + left, 1.0
    for number in range(left + 1):
        if missed <= alpha:
            return number / total
        missed *= max(left - number, 0) / (total - number) if total > number else 0.0
    return (left + 1) / total


def unseen_rows(state: SampleState, alpha: float) -> float:
    """The largest number of rows that a group may have, and be in none of the blocks that were drawn."""
    kinds = state.kinds
    if not state.split.one_each and ((kinds == LEFT) | (kinds == LATER)).any():
        return float("inf")
    blocks = round(unseen_fraction(state, alpha) * (kinds != BEFORE).sum())
    left = state.scan.blocks.rows[(kinds == LEFT) | (kinds == LATER)].sum()
    return float(min(blocks * state.scan.max_rows, left))
