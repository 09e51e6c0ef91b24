"""The contract of kernels: one per operator of a running plan."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from whimbrel.batch import Batch, Storage
from whimbrel.clock import MIN_TIME
from whimbrel.kernels.state import restore_attributes

PORTION_ROWS = 1 << 18
"""About as many rows as a kernel gives at once, where it could give any number of them."""


class Kernel(ABC):
    """Moves the rows of one operator, holding whatever it must remember between batches.

    The driver calls :meth:`push` with rows in time order (non-decreasing ``sync`` on each port) and :meth:`advance`
    when no row below a time can follow on a port. Both answer with the rows they complete, in time order, and leave
    :attr:`watermark` at the time below which the output can no longer change. How often either is called, and how rows
    are cut into batches, never changes the rows that come out.

    A kernel whose rows can make very many gives a portion of them and says that there are :attr:`more`, which
    :meth:`next_portion` gives. Pushes, advances, copies and checkpoints may come in between. The :attr:`watermark`
    never
    passes a row that is due.

    A kernel whose rows for one batch do not fit in memory may also answer with an iterator. The driver consumes it item
    by item: what follows makes of one batch reaches the results before the next one is made. Nothing else is called on
    the kernel meanwhile, and the :attr:`watermark` counts after the last item.

    State lives in NumPy arrays, Arrow arrays, batches and plain values held by attributes (also inside lists, dicts and
    objects that have a ``fork()``), so that it can be copied and saved in checkpoints.
    """

    watermark: int = MIN_TIME
    """No output row with sync below this can follow."""
    storage: Storage | None = None
    """Memory for rows that stay because they are part of a result. Without it a caller copies them."""
    takes_long_batches: bool = False
    """Whether batches may be longer than what stays in the CPU cache: it makes few rows, and reads no value."""

    @abstractmethod
    def push(self, batch: Batch, port: int = 0) -> list[Batch] | Iterator[Batch]:
        """Take in rows; answer with the rows they complete."""

    @abstractmethod
    def advance(self, watermark: int, port: int = 0) -> list[Batch] | Iterator[Batch]:
        """Learn that no row with ``sync < watermark`` can follow on `port`; answer with what that completes."""

    @property
    def more(self) -> bool:
        """Whether rows are due that were not given yet."""
        return False

    def next_portion(self) -> list[Batch]:
        """The next portion of the rows that are due."""
        return []

    @property
    def growing(self) -> str:
        """What makes so many rows, in words, for errors: "an event that starts at 0 has 1,000 pieces"."""
        return ""

    def fork(self) -> Self:
        """An independent copy that can be run to the end to see what the answer would be if the stream stopped here.

        Mutable arrays are copied; immutable batches and append-only tables are shared.
        """
        clone = copy.copy(self)
        for name, value in vars(self).items():
            setattr(clone, name, _fork(value))
        return clone

    def share_code(self, other: Self) -> None:  # noqa: B027 - most generate none
        """Use the loops that an equal kernel has generated and will generate."""

    def state_parts(self) -> dict[str, Any]:
        """What it remembers, by attribute, for :func:`~whimbrel.kernels.state.state_of` to walk."""
        return vars(self)

    def restore_state(self, parts: dict[str, Any]) -> None:
        """Remember what an equal kernel remembered, whose state this is."""
        restore_attributes(self, parts)

    @property
    def buffered_rows(self) -> int:
        """Rows that are buffered now."""
        return 0

    @property
    def buffered_bytes(self) -> int:
        """Bytes of rows, partial aggregates and history that it keeps; 0 if it does not count them."""
        return 0

    @property
    def sorted_runs(self) -> int:
        """Runs in which rows wait to be sorted."""
        return 0

    @property
    def sources(self) -> tuple[str, ...]:
        """Generated source text that this kernel runs; empty when it runs handwritten primitives only."""
        return ()


class Stateless(Kernel):
    """A kernel that answers each batch at once and remembers nothing."""

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        out = self.apply(batch)
        return [out] if len(out) else []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = self.output_watermark(watermark)
        return []

    @abstractmethod
    def apply(self, batch: Batch) -> Batch:
        """The rows that come of these rows."""

    def output_watermark(self, watermark: int) -> int:
        """The output watermark that follows from an input watermark."""
        return watermark


def _fork(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy() if value.flags.writeable else value
    if isinstance(value, list):
        return [_fork(item) for item in value]
    if isinstance(value, dict):
        return {key: _fork(item) for key, item in value.items()}
    return value.fork() if hasattr(value, "fork") else value
