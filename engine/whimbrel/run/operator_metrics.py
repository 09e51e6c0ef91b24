"""Counters of each operator of a running plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

from whimbrel.batch import Batch
from whimbrel.kernels import Kernel


@dataclass(frozen=True, slots=True)
class OperatorMetrics:
    """An operator of the optimized plan, and its counters.

    Attributes
    ----------
    name : str
        As in ``explain()``.
    inputs : tuple of int
        Indices of the operators that it reads; none for a source.
    rows_in, rows_out : int
        For a source: rows received, and rows passed downstream.
    seconds : float
        Its own time, without that of downstream operators.
    buffered_rows : int
        Rows that it buffers now.
    """

    name: str
    inputs: tuple[int, ...]
    rows_in: int
    rows_out: int
    seconds: float
    buffered_rows: int


class OperatorCounters:
    """Counters of one operator.

    Each batch costs two clock readings and a few additions: one or two microseconds, where an operator takes tens to
    thousands. Rows that were filtered out and not yet moved are counted once, at the operator that filtered them.
    """

    __slots__ = ("batches", "rows_out", "seconds")

    def __init__(self) -> None:
        self.batches = self.rows_out = 0
        self.seconds = 0.0

    def copy(self) -> OperatorCounters:
        """An independent copy."""
        copy = OperatorCounters()
        copy.batches, copy.rows_out, copy.seconds = self.batches, self.rows_out, self.seconds
        return copy

    def push(self, kernel: Kernel, batch: Batch, port: int = 0) -> list[Batch] | Iterator[Batch]:
        """Let the operator take in rows."""
        began = perf_counter()
        out = kernel.push(batch, port)
        self.seconds += perf_counter() - began
        self.batches += 1
        if out and isinstance(out, list):
            self.rows_out += out[0].rows if len(out) == 1 else sum(batch.rows for batch in out)
        return out

    def next_item(self, items: Iterator[Batch]) -> Batch | None:
        """Let the operator make the next batch of an answer; None after the last one."""
        began = perf_counter()
        batch = next(items, None)
        self.seconds += perf_counter() - began
        if batch is not None:
            self.rows_out += batch.rows
        return batch

    def next_portion(self, kernel: Kernel) -> list[Batch]:
        """Let the operator give more of the rows that are due."""
        began = perf_counter()
        out = kernel.next_portion()
        self.seconds += perf_counter() - began
        self.rows_out += sum(batch.rows for batch in out)
        return out

    def advance(self, kernel: Kernel, watermark: int, port: int = 0) -> list[Batch] | Iterator[Batch]:
        """Advance the watermark of the operator."""
        began = perf_counter()
        out = kernel.advance(watermark, port)
        self.seconds += perf_counter() - began
        if out and isinstance(out, list):
            self.rows_out += out[0].rows if len(out) == 1 else sum(batch.rows for batch in out)
        return out
