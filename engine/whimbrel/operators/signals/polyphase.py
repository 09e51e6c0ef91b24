"""Resample samples to another rate with a polyphase filter."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pyarrow as pa

from whimbrel.batch import Field, Schema
from whimbrel.clock import INF, MIN_TIME, TickUnit
from whimbrel.errors import PlanError, SchemaError
from whimbrel.kernels import Kernel
from whimbrel.operators.signals.polyphase_kernel import PolyphaseKernel, half_length
from whimbrel.plan import KnownInput, LineageRequest, NonOverlapping, Operator, Properties, Reach, Sampling
from whimbrel.temporal.bounds import Bounds

MAX_FACTOR = 1 << 14
"""Largest number of a ratio of rates: its filter has twenty times as many taps."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PolyphaseResample(Operator):
    """Resample samples to another rate, with a low-pass filter, by key.

    Sample 0 keeps its time. Every result is the sum of the samples around it, weighted by a windowed sinc.

        time     0    5    10   15   20
        in       a────b────c────d────e─      (period 5)
        out      A─────────C─────────E─      (period 10)

    Parameters
    ----------
    period : Fraction
        Ticks from one result to the next. Its ratio to the period of the samples may be any rational number.
    sampling : Sampling
        The samples of the input.
    keys : tuple of str
        Columns whose values have signals of their own. Rows without a key are left out.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    The filter is that of ``scipy.signal.resample_poly``: a sinc in a Kaiser window (beta 5) with ten zero crossings on
    each side. A result that lacks a sample is null: at the ends of runs, and near nulls and NaN. No result stands in a
    gap. Results are float64, of float32 values float32, and last one tick. Shapes: ``up / down`` rows per row. State:
    the last samples of each key. Source: XStream (ICDE 2008), section 2; Crochiere and Rabiner, Multirate Digital
    Signal Processing.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": range(0, 500, 5), "x": [1.0] * 100}, time="at").select("x").assume(periodic=5)
    >>> slow = log.resample(10, how="polyphase").collect()
    >>> slow.num_rows, slow["start"].to_pylist()[:3], round(slow["x"][25].as_py(), 2)
    (50, [0, 10, 20], 1.0)
    """

    period: Fraction
    sampling: Sampling
    keys: tuple[str, ...] = ()
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        if max(self.up, self.down) > MAX_FACTOR:
            raise PlanError(f"The ratio of the rates must be of numbers up to {MAX_FACTOR:,}, got {self.up}/{self.down}"
                            ".", where=self.show(), hint="Use a rate with a simpler ratio to that of the samples.")
        fields = [field if field.name in self.keys else Field(field.name, self._type(field)) for field in upstream[0]]
        if len(fields) == len(self.keys):
            raise SchemaError("There is no column to resample.", where=self.show(), hint="Keep a column of numbers.")
        return upstream[0].with_fields(fields)

    def _type(self, field: Field) -> pa.DataType:
        if pa.types.is_float32(field.type):
            return pa.float32()
        if pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
            return pa.float64()
        raise SchemaError(f'how="polyphase" needs columns of numbers, got {field.name!r} of type {field.type}.',
                          where=self.show(), hint='Select the numbers first: select("x").resample(...).')

    @property
    def up(self) -> int:
        """Results for every `down` samples."""
        return (self.sampling.period / self.period).numerator

    @property
    def down(self) -> int:
        """Samples for every `up` results."""
        return (self.sampling.period / self.period).denominator

    def properties(self, *upstream: Properties) -> Properties:
        keys, whole = frozenset(self.keys), self.period.denominator == 1
        return Properties(duration=1, points=True, causal=False,
                          apart=NonOverlapping(keys, int(self.period) if whole else None, gaps=whole),
                          sampling=Sampling(self.period, self.sampling.phase, keys))

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted.union(self.keys) or frozenset(upstream[0].names),)

    def reach(self, *inputs: Reach) -> Reach | None:
        return None if self._bounds is None else self._bounds.reach_of_starts(inputs[0], 1)

    @property
    def _bounds(self) -> Bounds | None:
        """How far a result reads; None: the first sample says where samples are."""
        if self.sampling.phase is None:
            return None
        near = int((half_length(self.up, self.down) // self.up + 2) * self.sampling.period) + 1
        return Bounds(near, near)

    def partitioned(self, *by: str) -> str | None:
        return by[0] if by[0] in self.keys else None

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        rows = wanted.only(self.keys)
        return (rows.starts(MIN_TIME, INF) if self._bounds is None else self._bounds.starts(rows, 1),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return PolyphaseKernel(self.schema(*upstream), upstream[0], self.up, self.down, self.period, self.sampling,
                               self.keys)

    def show(self) -> str:
        keys = f"group_by({', '.join(self.keys)})." if self.keys else ""
        return f"{keys}resample(period={self.period}, how='polyphase')"
