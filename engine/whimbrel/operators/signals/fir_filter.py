"""Filter samples with a finite impulse response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

import pyarrow as pa

from whimbrel.batch import Field, Schema
from whimbrel.errors import ExpressionError
from whimbrel.expr import Expr, columns_of, type_of
from whimbrel.kernels import Kernel
from whimbrel.operators.signals.fir_kernel import MAX_DIRECT_TAPS, FirKernel, block_samples
from whimbrel.plan import KnownInput, LineageRequest, Operator, Properties, Reach, Sampling
from whimbrel.temporal.bounds import Bounds


@dataclass(frozen=True, kw_only=True, eq=False)
class FirFilter(Operator):
    """Filter samples with a finite impulse response, by key.

    ``y[n] = taps[0]*x[n] + taps[1]*x[n-1] + ...``; centered, the result of ``x[n + half]`` belongs to sample `n`.

        time     0    5    10   15   20   25
        in       1────3────5─────────2────4─      (period 5: nothing at 15)
        out      ∅────2────4─────────∅────3─      (taps 1/2 and 1/2)

    A run of samples ends at a missing sample, a null and NaN. The filter begins again after it.

    Parameters
    ----------
    name : str
        The new column.
    expr : Expr
        Numbers.
    taps : tuple of float
    align : {"causal", "center"}
    settle : int
        Number of results of a run that are null at first.
    nan : {"gap", "keep"}
        Whether NaN ends a run.
    sampling : Sampling
        The samples of the input.
    keys : tuple of str
        Columns whose values have filters of their own. A row without a key meets nothing.
    text : str
        As the user wrote it.

    Notes
    -----
    Up to 64 taps are multiplied one by one. More are filtered by the overlap-save method, with FFTs of blocks that
    begin at multiples of their length, counted from sample 0, so that results do not depend on batches. A row then
    waits until its block is complete. Shapes: one row out per row in. State: for each key its last samples. Source:
    XStream (ICDE 2008), section 2; overlap-save from Oppenheim and Schafer, Discrete-Time Signal Processing, 8.7.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> log = wb.from_arrow({"at": [0, 5, 10, 20, 25], "x": [1, 3, 5, 2, 4]}, time="at").assume(periodic=5, gaps=True)
    >>> log.select(y=wb.fir(col.x, [0.5, 0.5])).collect()["y"].to_pylist()
    [None, 2.0, 4.0, None, 3.0]
    """

    late_rows_change = "starts"

    name: str
    expr: Expr
    taps: tuple[float, ...]
    align: str
    settle: int
    nan: str
    sampling: Sampling
    keys: tuple[str, ...] = ()
    text: str = ""

    def schema(self, *upstream: Schema) -> Schema:
        found = type_of(self.expr, upstream[0], where=self.text)
        if not pa.types.is_integer(found) and not pa.types.is_floating(found):
            raise ExpressionError(f"fir needs numbers, got {found}.", where=self.text,
                                  hint="Cast it first: .cast(float).")
        return upstream[0].with_fields((*upstream[0].fields, Field(self.name, pa.float64())), where=self.show())

    def properties(self, *upstream: Properties) -> Properties:
        return replace(upstream[0], packed=True, causal=upstream[0].causal and not self.back)

    @property
    def back(self) -> int:
        """Number of later samples that a result needs."""
        return (len(self.taps) - 1) // 2 if self.align == "center" else 0

    @property
    def _bounds(self) -> Bounds | None:
        """Ticks before and after a sample in which others change its result; None: it depends on all before it."""
        before, after = len(self.taps) - 1 - self.back, self.back
        if len(self.taps) > MAX_DIRECT_TAPS:
            if self.sampling.phase is None:
                return None
            block = block_samples(len(self.taps))
            before, after = before + block, after + block
        return Bounds(ceil((before + 1) * self.sampling.period), ceil((after + 1) * self.sampling.period))

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return ((wanted - {self.name}).union(self.keys, columns_of(self.expr)),)

    def reach(self, *inputs: Reach) -> Reach | None:
        return None if self._bounds is None else self._bounds.reach_of_starts(inputs[0], inputs[0].longest)

    def partitioned(self, *by: str) -> str | None:
        return by[0] if by[0] in self.keys else None

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        rows = wanted.only(self.keys)
        return (rows.always() if self._bounds is None else self._bounds.starts(rows, inputs[0].longest),)

    def notes(self, *upstream: Schema) -> Sequence[str]:
        if len(self.taps) <= MAX_DIRECT_TAPS:
            return ()
        return (f"{self.text} runs in blocks of {block_samples(len(self.taps))} samples",)

    def kernel(self, *upstream: Schema) -> Kernel:
        return FirKernel(self.schema(*upstream), upstream[0], self.expr, self.taps, self.settle, self.back, self.nan,
                         self.sampling, self.keys)

    def show(self) -> str:
        per = f" per {', '.join(self.keys)}" if self.keys else ""
        return f"filter({self.text}{per})"
