"""Answers whose values are computed when somebody asks, of the blocks that had been read by then and of no others."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence

import numpy as np

from whimbrel.batch import Batch
from whimbrel.errors import PlanError
from whimbrel.kernels import patience
from whimbrel.progress.kept import Drawn
from whimbrel.progress.sample import Sample
from whimbrel.progress.scan import Stand

_INTERPRETED_S = 2e-5
"""What a state takes at least where nothing is compiled: so long many of them wait for the compiler."""


class Moments:
    """Blocks that were read and not merged yet, and the moments between them that may still be asked for.

    States of many blocks are merged faster together, and an answer that nobody looks at costs nothing but its blocks.
    Before what came after a moment is merged, its sample is made, unless nobody has it any more.

    Parameters
    ----------
    take : callable
        Gives the states of all blocks that wait, one block after the other.
    add : callable
        Merges states; before the last moment, of which nobody asks how much blocks differ, without their blocks.
    sample : callable
        Makes the sample of what is merged, given where the scan stood.

    Attributes
    ----------
    lock : threading.RLock
        Held while states are made, merged or copied: moments are asked for on any thread.
    """

    def __init__(self, take: Callable[[], Batch], add: Callable[[Batch, Drawn | None], None],
                 sample: Callable[[Stand], Sample]) -> None:
        self.lock = threading.RLock()
        self._take, self._add, self._sample = take, add, sample
        self._blocks: list[tuple[int, int, int]] = []
        self._open: list[weakref.ref[Moment]] = []
        self._failed: Exception | None = None

    def read(self, rows: int, before: int, states: int) -> None:
        """Count a block of so many rows, after so many of its phase, of which so many states were made."""
        self._blocks.append((rows, before, states))

    def now(self, stand: Stand, *, last: bool = False) -> Moment:
        """Give this moment, whose sample can be asked for at any time; after the last one nothing is left to read."""
        with self.lock:
            moment = Moment(self, stand, len(self._blocks), last=last)
            self._open.append(weakref.ref(moment))
        return moment

    def merge(self) -> None:
        """Merge all blocks that wait."""
        with self.lock:
            if self._failed is not None:  # some states are merged and some are not: nothing can be said of them
                raise self._failed
            found = (each() for each in self._open)
            asked = [moment for moment in found if moment is not None]
            blocks, self._blocks, self._open = self._blocks, [], []
            try:
                self._merge(blocks, asked)
            except BaseException as error:
                self._failed = error if isinstance(error, Exception) else PlanError(
                    "It was interrupted while blocks were merged.", where="progress()", hint="ask the query anew")
                raise

    def _merge(self, blocks: Sequence[tuple[int, int, int]], asked: Sequence[Moment]) -> None:
        """Merge blocks up to each moment, make its sample, and merge the others."""
        states = self._take() if blocks else None
        merged = begun = 0
        for upto, moment in [*((moment.blocks, moment) for moment in asked), (len(blocks), None)]:
            if states is not None and upto > merged:
                *drawn, counts = np.array(blocks[merged:upto]).T
                end = begun + int(counts.sum())
                last = moment is not None and moment.last
                told = None if last else Drawn(*(np.repeat(each, counts) for each in drawn))
                with patience(_INTERPRETED_S * (end - begun)):
                    self._add(states.slice(begun, end), told)
                merged, begun = upto, end
            if moment is not None:
                moment.found = self._sample(moment.stand)


class Moment:
    """Where a scan stood when an answer was given.

    Parameters
    ----------
    of : Moments
    stand : Stand
    blocks : int
        How many blocks waited then.
    last : bool
        Whether all was read.

    Attributes
    ----------
    found : Sample or None
        Its sample, if it was made.
    """

    def __init__(self, of: Moments, stand: Stand, blocks: int, *, last: bool) -> None:
        self._of, self.stand, self.blocks, self.last = of, stand, blocks, last
        self.found: Sample | None = None

    @property
    def sample(self) -> Sample:
        """What was known then."""
        if self.found is None:
            self._of.merge()
        assert self.found is not None
        return self.found
