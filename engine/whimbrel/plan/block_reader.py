"""Read blocks of a source in any order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from whimbrel.batch import Batch


class Sliceable(Protocol):
    """A source whose rows can be read from any row to any other."""

    def excerpt(self, first: int, stop: int) -> Sliceable:
        """The rows from `first` up to `stop`."""

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        """Rows from row `offset`, with these columns."""


class Excerpts:
    """Reads whole blocks of a source; what one costs that many can share, a source pays once.

    Parameters
    ----------
    source : Sliceable
        That has blocks.
    columns : sequence of str
    """

    def __init__(self, source: Sliceable, columns: Sequence[str]) -> None:
        self.source, self.columns = source, columns

    def read(self, first: int, stop: int) -> Iterator[Batch | None]:
        """The rows from `first` up to `stop`."""
        return self.source.excerpt(first, stop).read(self.columns)

    @property
    def in_one_piece(self) -> Batch | None:
        """All rows of the source, where they lie in memory as they are read."""
        return None

    def ordered(self, first: int, stop: int) -> bool:
        """Whether these rows are known to be in the order of time, or found to be where they are few."""
        return False

    def expect(self, blocks: Sequence[tuple[int, int]]) -> None:
        """These will probably be asked for next, in this order, and no others."""
