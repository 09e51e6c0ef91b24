"""The order in which blocks are read, in phases; each block once."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from whimbrel.batch import Mask, Ticks
from whimbrel.kernels import Compiled, wait_for_compiler
from whimbrel.kernels.primitives.sampling.window_blocks import (
    BEFORE,
    DRAWN,
    FACTS,
    KINDS,
    LATER,
    LEFT,
    blocks_of_windows,
)
from whimbrel.plan import Blocks

Array = np.ndarray[Any, Any]
Order = Literal["random", "newest", "oldest"]

_COMING = 4
"""Blocks that are announced in advance: two are read at a time, and neither waits for the other."""
_WORTH_ONE_PART = 8
"""The average number of adjacent blocks in a part."""
_FEW_WINDOWS = 500
"""Fewer windows do not wait for the compiler."""

_AT_ONCE = nullcontext()
_blocks_of_windows = Compiled(blocks_of_windows)


class ScanPosition(NamedTuple):
    """The position in a phase of a scan.

    Attributes
    ----------
    scan : Scan
    phase : numpy.ndarray of int64
        The blocks of the phase, in their order.
    drawn : int
        The number of them that was read.
    read : numpy.ndarray of bool
        Blocks that were read before the phase began.
    random : bool
        Whether the blocks read are a random sample of the phase.
    begins : bool
        Whether the phase comes before any sample is drawn.
    """

    scan: Scan
    phase: Array
    drawn: int
    read: Mask
    random: bool
    begins: bool

    @property
    def kinds(self) -> Array:
        """By block, whether it was read before, is drawn, left or later."""
        kinds = np.where(self.read, BEFORE, LATER)
        kinds[self.phase[: self.drawn]], kinds[self.phase[self.drawn :]] = DRAWN, LEFT
        return kinds


class Scan:
    """The order of blocks, which can change while they are read.

    Blocks are read in phases: prioritized blocks, then the others. Within a phase in random order, the blocks read so
    far are a simple random sample. Blocks of earlier phases are known, and not part of the sample.

    Parameters
    ----------
    blocks : Blocks
    order : {"random", "newest", "oldest"}
        The order within a phase.
    seed : int
    begin : numpy.ndarray of int64, optional
        With a random order: the blocks to read before a sample of the others is drawn.

    Attributes
    ----------
    drawn, left, later : numpy.ndarray of int64
        Blocks that this phase has read, blocks that it will read, and blocks of later phases.
    rows_read : int
    begins : bool
        Whether this phase comes before any sample is drawn.
    """

    def __init__(self, blocks: Blocks, order: Order = "random", seed: int = 0, *,
                 begin: Array | None = None) -> None:
        self.blocks, self.order = blocks, order
        self._chance = np.random.default_rng(seed)
        self.read = np.zeros(len(blocks), np.bool_)
        self.rows_read = 0
        self.later = np.empty(0, np.int64)
        self.begins = begin is not None and order == "random"
        every = np.arange(len(blocks))
        if begin is None or order != "random":
            self._begin(every, np.empty(0, np.int64))
        else:
            self._set_phase(begin)
            self.later, self._read_before = np.delete(every, begin), self.read.copy()

    @property
    def drawn(self) -> Array:
        return self._phase[: self._at]

    @property
    def left(self) -> Array:
        return self._phase[self._at :]

    @property
    def next(self) -> int | None:
        """The next block; None at the end of a phase."""
        return int(self._phase[self._at]) if self._at < len(self._phase) else None

    @property
    def rows(self) -> tuple[int, int] | None:
        """The rows of the next block in the source; None at the end of a phase."""
        return self._ranges[self._at] if self._at < len(self._ranges) else None

    @property
    def coming(self) -> list[tuple[int, int]]:
        """The rows of some blocks after the next one in this phase."""
        return self._ranges[self._at + 1 : self._at + 1 + _COMING]

    def next_phase(self) -> bool:
        """Begin the phase of the blocks without priority; False if there are none."""
        if len(self.later):
            self._begin(self.later, np.empty(0, np.int64))
        return self.next is not None

    def mark_read(self) -> None:
        """Count the next block as read."""
        first, stop = self._ranges[self._at]
        self.read[self._phase[self._at]] = True
        self.rows_read += stop - first
        self._at += 1

    def mark_all_read(self) -> None:
        """Count all blocks as read."""
        self.read[:] = True
        self.rows_read = int(self.blocks.rows.sum())
        self._begin(np.empty(0, np.int64), np.empty(0, np.int64))

    @property
    def rest(self) -> list[tuple[int, int]]:
        """The unread rows, in the order of the source, as few ranges."""
        first, stop = self.blocks.first[~self.read], self.blocks.stop[~self.read]
        begins = np.append(True, first[1:] != stop[:-1])[: len(first)]
        return list(zip(first[begins].tolist(), stop[np.roll(begins, -1)].tolist(), strict=True))

    @property
    def rest_in_few_parts(self) -> bool:
        """Whether to read these as one saves time: each part starts a decoder."""
        return self.blocks.in_order and len(self.rest) * _WORTH_ONE_PART <= int((~self.read).sum())

    def prioritize(self, wanted: Mask, order: Order | None = None) -> None:
        """Read these blocks first from now on."""
        self.order = order or self.order
        unread = np.flatnonzero(~self.read)
        first, later = unread[wanted[unread]], unread[~wanted[unread]]
        self._begin(*((first, later) if len(first) else (later, first)))

    def read_first(self, blocks: Array) -> None:
        """Read these before a sample of the others is drawn, in this order."""
        self._read_before = self.read.copy()
        self._set_phase(blocks[~self.read[blocks]])
        self.later, self.begins = np.setdiff1d(np.flatnonzero(~self.read), blocks), True

    def state_parts(self) -> dict[str, Any]:
        """The position, and the state of the random generator."""
        return {"read": self.read, "later": self.later, "phase": self._phase, "at": self._at, "order": self.order,
                "begins": self.begins, "chance": self._chance.bit_generator.state}

    def restore_state(self, parts: dict[str, Any]) -> None:
        """Restore the state of an equal scan."""
        self.read, self.later, self.order = parts["read"].copy(), parts["later"], parts["order"]
        self._set_phase(parts["phase"], parts["at"])
        self.begins = parts.get("begins", False)
        self._read_before = self.read.copy()
        self._read_before[self._phase] = False
        self.rows_read = int(self.blocks.rows[self.read].sum())
        self._chance.bit_generator.state = parts["chance"]

    def _begin(self, blocks: Array, later: Array) -> None:
        self.begins = False
        self._set_phase(self._chance.permutation(blocks) if self.order == "random" else (
            blocks[np.argsort(-self.blocks.latest[blocks], kind="stable")] if self.order == "newest"
            else blocks[np.argsort(self.blocks.earliest[blocks], kind="stable")]))
        self.later = later
        self._read_before = self.read.copy()

    def _set_phase(self, phase: Array, at: int = 0) -> None:
        """Set the phase, and how many of its blocks were read."""
        self._phase, self._at = phase, at
        first, stop = self.blocks.first[phase].tolist(), self.blocks.stop[phase].tolist()
        self._ranges = list(zip(first, stop, strict=True))  # used for every block, so converted once

    @property
    def position(self) -> ScanPosition:
        """A copy of the position, independent of later reads."""
        random = self.order == "random" and not self.begins
        return ScanPosition(self, self._phase, self._at, self._read_before, random, self.begins)

    def overlapping(self, kinds: Array, first: Ticks, last: Ticks, *, random: bool) -> tuple[Array, Array, Array]:
        """The blocks that overlap each time range, ends included: see :func:`blocks_of_windows`.

        By kind, the number of blocks that may lie in it, their rows and the squares of these; derived numbers; whether
        it is exact, and whether it was sampled.
        """
        ranges = len(first)
        found, derived = np.empty((KINDS, 3, ranges)), np.empty((FACTS, ranges))
        flags = np.empty((2, ranges), np.bool_)
        with wait_for_compiler() if ranges > _FEW_WINDOWS else _AT_ONCE:
            _blocks_of_windows(kinds, *self._sorted, first, last, random, found.reshape(-1), derived.reshape(-1),
                               *flags)
        return found, derived, flags

    @cached_property
    def uneven(self) -> float:
        """The fourth moment of the sizes of blocks over the square of their second."""
        sizes = self.blocks.rows.astype(np.float64)
        return float((sizes**4).mean() / (sizes**2).mean() ** 2)

    @cached_property
    def max_rows(self) -> int:
        """The largest number of rows of a block."""
        return int(self.blocks.rows.max())

    @cached_property
    def _sorted(self) -> tuple[Array, ...]:
        """Rows of blocks; their first times, sorted, and the blocks of these; the same for their last times."""
        begun, ended = self.blocks.earliest, self.blocks.latest
        by_begin, by_end = np.argsort(begun, kind="stable"), np.argsort(ended, kind="stable")
        return self.blocks.rows.astype(np.float64), begun[by_begin], by_begin, ended[by_end], by_end
