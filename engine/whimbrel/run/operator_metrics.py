"""What each operator of a running plan has done so far."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

from whimbrel.batch import Batch
from whimbrel.kernels import Kernel


@dataclass(frozen=True, slots=True)
class OperatorMetrics:
    """An operator of the plan that runs, and its counters.

    Attributes
    ----------
    name : str
        As in ``explain()``.
    inputs : tuple of int
        Which steps it reads, by their place among all; none for a source.
    rows_in, rows_out : int
        Of a source: rows as they came, and those that went on.
    seconds : float
        Its own time, without that of the steps behind it.
    buffered_rows : int
        Rows that it holds back or remembers now.
    """

    name: str
    inputs: tuple[int, ...]
    rows_in: int
    rows_out: int
    seconds: float
    buffered_rows: int


class OperatorCounters:
    """Counters of one operator.

    Two looks at a clock and a few additions for each batch, whatever is in it: a microsecond or two, where an operator
    takes tens to thousands. Rows that were filtered out and not yet moved are counted once, where they come from.
    """

    __slots__ = ("batches", "rows_out", "seconds")

    def __init__(self) -> None:
        self.batches = self.rows_out = 0
        self.seconds = 0.0

    def copy(self) -> OperatorCounters:
        """The same counters, which go their own way."""
        copy = OperatorCounters()
        copy.batches, copy.rows_out, copy.seconds = self.batches, self.rows_out, self.seconds
        return copy

    def push(self, kernel: Kernel, batch: Batch, port: int = 0) -> list[Batch]:
        """Let the operator take in rows."""
        began = perf_counter()
        out = kernel.push(batch, port)
        self.seconds += perf_counter() - began
        self.batches += 1
        if out:
            self.rows_out += sum(batch.rows for batch in out)
        return out

    def next_portion(self, kernel: Kernel) -> list[Batch]:
        """Let the operator give more of the rows that are due."""
        began = perf_counter()
        out = kernel.next_portion()
        self.seconds += perf_counter() - began
        self.rows_out += sum(batch.rows for batch in out)
        return out

    def advance(self, kernel: Kernel, watermark: int, port: int = 0) -> list[Batch]:
        """Let the operator learn how far time has come."""
        began = perf_counter()
        out = kernel.advance(watermark, port)
        self.seconds += perf_counter() - began
        if out:
            self.rows_out += sum(batch.rows for batch in out)
        return out
