"""Resample events to the points of a time grid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import pyarrow as pa

from whimbrel.batch import Field, Schema
from whimbrel.clock import INF, MIN_TIME, TickUnit, check_positive, quote_ticks, show_grid
from whimbrel.errors import PlanError, SchemaError
from whimbrel.kernels import Kernel
from whimbrel.operators.lifetimes.resample_kernel import ResampleKernel
from whimbrel.plan import (
    KnownInput,
    LineageRequest,
    NonOverlapping,
    Operator,
    Properties,
    Reach,
    Sampling,
    TimeGrid,
)
from whimbrel.temporal.bounds import Bounds

__all__ = ["SampleMethod"]

SampleMethod = Literal["hold", "nearest", "linear"]
"""How a value between two samples is found."""

_LONGEST = 1 << 60
"""Longest period and limit, in ticks: sums of a few of them are int64."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Resample(Operator):
    """Give each key one event at each multiple of a period.

    Its values are those of the samples around it.

        time     0    5    10   15   20   25   30
        in        0       8               24         (values at 1, 9 and 25)
        hold          0────8────8────     24───24───  (period 5, limit 8: 8 at 9 is too old at 20)
        linear        4────∅────∅────     24───∅────  (8 and 24 are more than 8 ticks apart)
        nearest  0────0────8────8────24───24───24───  (at 5 both are 4 away: 0 is the earlier one)

    Events are samples at their starts, and last as long as the period. There is an event while the last sample is at
    most `limit` old; with "nearest" also where the next sample is at most `limit` away.

    Parameters
    ----------
    period : int, > 0
        Ticks from one grid point to the next.
    how : {"hold", "nearest", "linear"}
        "hold" is the last sample. "nearest" is the nearer one, and the earlier one of two. "linear" is on the line
        between the two samples: null if they are more than `limit` apart, or one of them is null. Columns that are no
        numbers then have the value of the last sample.
    limit : int, optional
        Most ticks from a sample to a value; with "linear", between two samples. None: from the first to the last sample
        of each key, which needs a bounded stream.
    offset : int
        Where the grid begins, in ticks.
    keys : tuple of str
        Columns whose values have samples of their own. Rows without a key must not come here.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    A sample on a grid point gives its value, bit by bit. Lines are float64, between float32 values float32; times are
    integers. Samples must not overlap: a KernelError names both. Shapes: a row for each grid point within reach of a
    sample. State: the last sample of each key, until it is too old. Source: TiLT (ASPLOS 2023), resampling; the gap
    limit is from pandas ``interpolate(limit=)``.

    Examples
    --------
    >>> import whimbrel as wb
    >>> signal = wb.from_arrow({"at": [1, 9, 25], "x": [0, 8, 24]}, time="at", name="log").select("x")
    >>> signal.resample(5, how="linear", limit=8).collect().select(["start", "x"]).to_pylist()
    [{'start': 5, 'x': 4.0}, {'start': 10, 'x': None}, {'start': 15, 'x': None}, {'start': 25, 'x': 24.0},
     {'start': 30, 'x': None}]
    """

    late_rows_change = "starts"

    period: int
    how: SampleMethod
    limit: int | None = None
    offset: int = 0
    keys: tuple[str, ...] = ()
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        where = self.show()
        check_positive(self.unit, where=where, period=self.period, limit=self.limit)
        for name, ticks in (("period", self.period), ("limit", self.limit or 0)):
            if ticks > _LONGEST:
                raise PlanError(f"{name} must be at most {_LONGEST} ticks, got {ticks}.", where=where,
                                hint="Use a shorter duration.")
        if self.how != "linear":
            return upstream[0]
        fields = [field if field.name in self.keys else Field(field.name, self._type_on_line(field))
                  for field in upstream[0]]
        return upstream[0].with_fields(fields)

    def _type_on_line(self, field: Field) -> pa.DataType:
        if pa.types.is_integer(field.type):
            return pa.float64()
        if pa.types.is_decimal(field.type):
            raise SchemaError(f'how="linear" gives float64, but {field.name!r} has the type {field.type}.',
                              where=self.show(), hint=f'Cast it first: with_columns({field.name}='
                              f'col.{field.name}.cast("float64")).')
        return field.type

    def properties(self, *upstream: Properties) -> Properties:
        causal = self.how == "hold" and self.limit is not None
        near = causal or (self.limit is not None and self.limit <= self.period)
        return Properties(duration=self.period, causal=upstream[0].causal and causal,
                          time_grid=TimeGrid(self.period, self.offset) if near else None,
                          apart=NonOverlapping(frozenset(self.keys), self.period, gaps=True),
                          sampling=Sampling(Fraction(self.period), self.offset, frozenset(self.keys)))

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted.union(self.keys),)

    @property
    def bounds(self) -> Bounds | None:
        """Bounds of the samples that a value reads.

        None: from the first to the last sample of its key.
        """
        if self.limit is None:
            return None
        return Bounds(self.limit, 0 if self.how == "hold" else self.limit)

    def reach(self, *inputs: Reach) -> Reach | None:
        return None if self.bounds is None else self.bounds.reach_of_starts(inputs[0], self.period)

    def partitioned(self, *by: str) -> str | None:
        return by[0] if by[0] in self.keys else None

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        rows = wanted.only(self.keys)
        return (rows.starts(MIN_TIME, INF) if self.bounds is None else self.bounds.starts(rows, self.period),)

    def kernel(self, *upstream: Schema) -> Kernel:
        limit = -1 if self.limit is None else self.limit
        return ResampleKernel(upstream[0], self.schema(*upstream), self.how, self.period, self.offset % self.period,
                              limit, self.keys, self.show())

    def show(self) -> str:
        period, *offset = show_grid(self.period, self.offset, self.unit)
        limit = [] if self.limit is None else [f"limit={quote_ticks(self.limit, self.unit)}"]
        keys = f"group_by({', '.join(self.keys)})." if self.keys else ""
        return f"{keys}resample({', '.join([period, f'how={self.how!r}', *limit, *offset])})"
