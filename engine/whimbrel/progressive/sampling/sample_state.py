"""State of a sample: totals of read blocks, unread blocks by window."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column
from whimbrel.kernels import wait_for_compiler
from whimbrel.progressive.plan.query_split import SplitQuery
from whimbrel.progressive.sampling.block_scan import Scan, ScanPosition
from whimbrel.progressive.sampling.evidence import Evidence, Statistics
from whimbrel.progressive.sampling.read_blocks import Part, Read

Array = np.ndarray[Any, Any]

_MAX_INTERPRETED_ROWS = 2_000
"""Loops over more rows wait for the compiler."""


@dataclass
class WindowRows:
    """Starts and keys of the result rows.

    Attributes
    ----------
    keys : tuple of Column
        Starts, then keys.
    starts : numpy.ndarray of int64
        The distinct starts, sorted.
    which : numpy.ndarray of int64
        The index into these by row.
    in_order : bool
        Whether no row starts before the row above it.
    columns : dict of str to pyarrow.ChunkedArray or None
        The same as columns of a table, once they were made.
    """

    keys: tuple[Column, ...]
    starts: Array
    which: Array
    in_order: bool
    columns: dict[str, pa.ChunkedArray] | None = None


@dataclass(eq=False)
class SampleState:
    """Copies of the totals of a scan at one update. Values and intervals are functions of it.

    Attributes
    ----------
    split : SplitQuery
    rows : WindowRows
    position : ScanPosition
        Of the scan, when the totals were those of what it had read.
    statistics : Statistics or None
        What is known of all blocks.
    fields : list of numpy.ndarray
        Merged states, by row.
    known : numpy.ndarray of float64
        The fields as they were when the phase began, one after the other.
    blocks, sums, products, crosses, powers : numpy.ndarray
        As those of :class:`~whimbrel.progressive.estimation.block_totals.Totals`.
    """

    split: SplitQuery
    rows: WindowRows
    position: ScanPosition
    statistics: Statistics | None
    fields: list[Array]
    known: Array
    blocks: Array
    sums: Array
    products: Array
    crosses: Array
    powers: Array
    _evidence: Evidence | None = None

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def width(self) -> int:
        """The number of fields."""
        return len(self.fields)

    @property
    def scan(self) -> Scan:
        return self.position.scan

    @property
    def keys(self) -> Sequence[Column]:
        """Starts and keys of rows."""
        return self.rows.keys

    @property
    def starts(self) -> Array:
        return np.asarray(self.keys[0].values)

    @cached_property
    def kinds(self) -> Array:
        """By block, what the phase knows of it."""
        return self.position.kinds

    @property
    def window_times(self) -> tuple[Array, Array]:
        """The first and the last time of an event of each window."""
        return self.split.window_times(self.rows.starts)

    @cached_property
    def read(self) -> Read:
        """The blocks of each window."""
        return self.read_of(self.kinds)

    def read_of(self, kinds: Array) -> Read:
        """The blocks of each window, if this is known of them."""
        found, (inside, rows_left, phase, share, more, density), flags = self.scan.overlapping(
            kinds, *self.window_times, random=self.position.random)
        drawn, left, later, before = (Part(*each) for each in found)
        exact, sampled = flags
        return Read(self.rows.which, drawn, left, later, before, inside, rows_left, phase, share, (more, density),
                    exact, sampled)

    def evidence_of(self, read: Read) -> Evidence | None:
        """What any sample of so many blocks tells; None where that is known of the drawn blocks only."""
        if self.statistics is None:
            return None
        if read is not self.read:
            return self.statistics.evidence(self.keys, read.drawn.blocks[read.window])
        if self._evidence is None:
            self._evidence = self.statistics.evidence(self.keys, read.drawn.blocks[read.window])
        return self._evidence

    @cached_property
    def max_left(self) -> Array:
        """By window, the largest number of its events in unread blocks."""
        read = self.read
        return read.rows_left if self.split.one_each else np.where(read.exact_windows, 0.0, np.inf)

    @property
    def max_in_block(self) -> float:
        """The largest number of events of a group in a block; infinite: not known."""
        split = self.split
        return float(self.scan.max_rows) if split.one_each else split.max_in_range

    @property
    def waiting(self) -> AbstractContextManager[None]:
        """Around loops over the rows: loops over many rows wait for the compiler."""
        return wait_for_compiler() if len(self) > _MAX_INTERPRETED_ROWS else nullcontext()
