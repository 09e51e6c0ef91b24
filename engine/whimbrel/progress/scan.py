"""Which block of a source is read next: every block once, whatever is preferred on the way."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
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

    def took_all(self) -> None:
        """Count all blocks as read."""
        self.read[:] = True
        self._begin(np.empty(0, np.int64), np.empty(0, np.int64))

    @property
    def rest(self) -> list[tuple[int, int]]:
        """The rows that were not read, in the order of the source, as few stretches."""
        first, stop = self.blocks.first[~self.read], self.blocks.stop[~self.read]
        begins = np.append(True, first[1:] != stop[:-1])[: len(first)]
        return list(zip(first[begins].tolist(), stop[np.roll(begins, -1)].tolist(), strict=True))

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

    def overlapping(self, sets: Sequence[Array], first: Ticks, last: Ticks) -> Array:
        """How many blocks of each set may lie within each range of time, ends included; their rows, and the squares."""
        weights = np.zeros((len(sets), *self._powers.shape))
        for number, blocks in enumerate(sets):
            weights[number][:, blocks] = self._powers[:, blocks]
        return self._begun.below(weights, last, "right") - self._ended.below(weights, first, "left")

    def rows_within(self, blocks: Array, first: Ticks, last: Ticks) -> Array:
        """How many rows of some blocks lie within each range of time, whatever their times are; never too many."""
        rows = np.zeros(len(self.blocks))
        rows[blocks] = self.blocks.rows[blocks]
        inside = self._ended.below(rows, last, "right") - self._begun.below(rows, first, "left")
        return np.maximum(inside, 0.0)

    @cached_property
    def _powers(self) -> Array:
        """Of each block 1, its rows, and their square."""
        return self.blocks.rows.astype(np.float64) ** np.arange(3)[:, None]

    @cached_property
    def _begun(self) -> _Times:
        return _Times(self.blocks.earliest)

    @cached_property
    def _ended(self) -> _Times:
        return _Times(self.blocks.latest)


class _Times:
    """Times of blocks, in order."""

    def __init__(self, times: Ticks) -> None:
        order = np.argsort(times, kind="stable")
        self._times = times[order]
        self._order = order if (order[1:] < order[:-1]).any() else None

    def below(self, weights: Array, bounds: Ticks, side: Literal["left", "right"]) -> Array:
        """Sums, along the last axis, of the weights of blocks whose time is below each bound, or at it."""
        sums = np.zeros((*weights.shape[:-1], len(self._times) + 1))
        np.cumsum(weights if self._order is None else weights[..., self._order], axis=-1, out=sums[..., 1:])
        return sums.take(np.searchsorted(self._times, bounds, side), axis=-1)
