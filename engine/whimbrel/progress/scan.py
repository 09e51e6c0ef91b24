"""Which block of a source is read next: every block once, whatever is preferred on the way."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from whimbrel.batch import Mask, Ticks
from whimbrel.plan import Blocks

Array = np.ndarray[Any, Any]
Order = Literal["random", "newest", "oldest"]


class Scan:
    """An order of blocks that can be changed while they are read.

    Blocks are read in phases: those that are preferred, then the others. Within a phase that is in random order, the
    blocks read so far are a simple random sample of its blocks; what was read in phases before is known, not a sample.

    Parameters
    ----------
    blocks : Blocks
    order : {"random", "newest", "oldest"}
        Of the blocks within a phase.
    seed : int

    Attributes
    ----------
    drawn, left, later : numpy.ndarray of int64
        Blocks that this phase has read, those it will read, and those of a later one.
    """

    def __init__(self, blocks: Blocks, order: Order = "random", seed: int = 0) -> None:
        self.blocks, self.order = blocks, order
        self._chance = np.random.default_rng(seed)
        self.read = np.zeros(len(blocks), np.bool_)
        self.later = np.empty(0, np.int64)
        self._begin(np.arange(len(blocks)), np.empty(0, np.int64))

    @property
    def random(self) -> bool:
        """Whether what this phase has read is a random sample of what it reads."""
        return self.order == "random"

    @property
    def drawn(self) -> Array:
        return self._phase[: self._at]

    @property
    def left(self) -> Array:
        return self._phase[self._at :]

    @property
    def rows_read(self) -> int:
        return int(self.blocks.rows[self.read].sum())

    @property
    def next(self) -> int | None:
        """The block that is next; None at the end of a phase."""
        return int(self._phase[self._at]) if self._at < len(self._phase) else None

    def go_on(self) -> bool:
        """Begin the phase of those that were not preferred, when one has ended; False if there are none."""
        if len(self.later):
            self._begin(self.later, np.empty(0, np.int64))
        return self.next is not None

    def took(self, block: int) -> None:
        """Count the block that was next as read."""
        self.read[block] = True
        self._at += 1

    def prefer(self, wanted: Mask, order: Order | None = None) -> None:
        """From now on blocks that are wanted come first; what was read stays read."""
        self.order = order or self.order
        unread = np.flatnonzero(~self.read)
        first, later = unread[wanted[unread]], unread[~wanted[unread]]
        self._begin(*((first, later) if len(first) else (later, first)))

    def state_parts(self) -> dict[str, Any]:
        """Where it stands, and what chance has in store."""
        return {"read": self.read, "later": self.later, "phase": self._phase, "at": self._at, "order": self.order,
                "chance": self._chance.bit_generator.state}

    def restore_state(self, parts: dict[str, Any]) -> None:
        """Stand where an equal one stood, whose state this is."""
        self.read, self.later, self.order = parts["read"].copy(), parts["later"], parts["order"]
        self._phase, self._at = parts["phase"], parts["at"]
        self._chance.bit_generator.state = parts["chance"]

    def _begin(self, blocks: Array, later: Array) -> None:
        self._phase = self._chance.permutation(blocks) if self.order == "random" else (
            blocks[np.argsort(-self.blocks.latest[blocks], kind="stable")] if self.order == "newest"
            else blocks[np.argsort(self.blocks.earliest[blocks], kind="stable")])
        self._at, self.later = 0, later

    # Of which blocks a range of time may hold rows.

    def overlapping(self, blocks: Array, first: Ticks, last: Ticks) -> Array:
        """How many of some blocks may lie within each range of time, ends included; their rows, and the squares."""
        rows = self.blocks.rows[blocks].astype(np.float64)
        weights = np.stack([np.ones(len(blocks)), rows, rows**2])
        return (_below(self.blocks.earliest[blocks], weights, last, "right")
                - _below(self.blocks.latest[blocks], weights, first, "left"))

    def rows_within(self, blocks: Array, first: Ticks, last: Ticks) -> Array:
        """How many rows of some blocks lie within each range of time, whatever their times are; never too many."""
        rows = self.blocks.rows[blocks][None, :].astype(np.float64)
        begun = _below(self.blocks.earliest[blocks], rows, first, "left")
        ended = _below(self.blocks.latest[blocks], rows, last, "right")
        return np.maximum(ended - begun, 0.0)[0]


def _below(times: Ticks, weights: Array, bounds: Ticks, side: Literal["left", "right"]) -> Array:
    """Sums of the weights of those whose time is below each bound, or at it: rows of weights by bounds."""
    order = np.argsort(times, kind="stable")
    sums = np.concatenate([np.zeros((len(weights), 1)), np.cumsum(weights[:, order], axis=1)], axis=1)
    return np.asarray(sums[:, np.searchsorted(times[order], bounds, side)])
