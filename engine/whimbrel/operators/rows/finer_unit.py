"""Convert the time of a stream to a finer unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema, frozen
from whimbrel.clock import INF, MIN_TIME, TickUnit, as_ticks, finest, format_instant, show_ticks, ticks_in
from whimbrel.errors import KernelError
from whimbrel.kernels import Kernel, Stateless
from whimbrel.plan import KnownInput, LineageRequest, NonOverlapping, Operator, Properties, Sampling, TimeGrid

_HINT = "Cast the finer time column to a coarser unit in its source, or drop such rows first: .where(...)."


@dataclass(frozen=True, kw_only=True, eq=False)
class FinerUnit(Operator):
    r"""Convert times to a finer unit. Event times do not change.

        time     0    1    2
        in       a────                 (a: [0, 1) in s)
        out      a────                 (a: [0, 1000) in ms)

    The planner puts it before a join or a union of streams that count time in different units, on each that is coarser
    than the finest.

    Parameters
    ----------
    unit : {"s", "ms", "us", "ns"} or None
        What a tick was.
    finer : {"s", "ms", "us", "ns"} or None
        What a tick is now.
    points : bool
        The events are points, and stay points: each lasts one tick.
    columns : tuple of (str, pyarrow.DataType)
        Payload columns that a union widens too: timestamps and durations in the finest unit among its streams.

    Notes
    -----
    The result is that of the same query on time columns that were cast to the finer unit first. A time that the finer
    unit cannot hold raises a KernelError. Shapes: one row out per row in. State: none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import whimbrel as wb
    >>> trades = wb.from_arrow({"at": pa.array([1, 2], pa.timestamp("s")), "k": ["a", "b"]}, time="at", name="trades")
    >>> at = pa.array([900, 1999], pa.timestamp("ms"))
    >>> quotes = wb.from_arrow({"at": at, "bid": [7, 8]}, time="at", name="quotes")
    >>> joined = trades.select("k").asof_join(quotes.select("bid"), tolerance="1s")
    >>> joined.collect()["bid"].to_pylist()
    [7, 8]
    >>> print(*joined.explain().splitlines()[1:3], sep="\n")
    ├─ finer_unit('s' to 'ms')   [intervals, duration=1]
    │  │  note: one stream counts time in s, another in ms: both now count in ms
    """

    accepts_edges: ClassVar[bool] = True
    takes_any_order: ClassVar[bool] = True
    row_by_row: ClassVar[bool] = True

    unit: TickUnit
    finer: TickUnit
    points: bool = False
    columns: tuple[tuple[str, pa.DataType], ...] = ()

    @property
    def factor(self) -> int:
        """New ticks in one that was."""
        return ticks_in(self.unit, self.finer)

    def schema(self, *upstream: Schema) -> Schema:
        wider = dict(self.columns)
        fields = tuple(Field(field.name, wider.get(field.name, field.type)) for field in upstream[0])
        return Schema(fields, self.finer, upstream[0].zone)

    def properties(self, *upstream: Properties) -> Properties:
        known, factor = upstream[0], self.factor
        if factor == 1:
            return known
        if self.points:
            return replace(known, duration=1, grid=None, time_grid=None, apart=_apart(known.apart, factor),
                           sampling=_sampling(known.sampling, factor))
        return replace(known, duration=None if known.duration is None else known.duration * factor, grid=None,
                       time_grid=None if known.time_grid is None else TimeGrid(known.time_grid.hop * factor,
                                                                     known.time_grid.offset * factor),
                       apart=_apart(known.apart, factor), sampling=_sampling(known.sampling, factor))

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        start = as_ticks(wanted.start, self.finer, self.unit)
        end = as_ticks(wanted.end, self.finer, self.unit)
        same = wanted.only(set(inputs[0].schema.names) - dict(self.columns).keys()).same()
        return (replace(same, start=start, end=end if end in (INF, MIN_TIME) else end + 1),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return FinerUnitKernel(self, upstream[0])

    def notes(self, *upstream: Schema) -> Sequence[str]:
        if self.factor == 1:
            return ()
        return (f"one stream counts time in {self.unit}, another in {self.finer}: both now count in {self.finer}",)

    def show(self) -> str:
        names = ", ".join(repr(name) for name, _ in self.columns)
        units = f"{self.unit!r} to {self.finer!r}" if self.factor != 1 else ""
        return f"finer_unit({', '.join(filter(None, (units, names and f'columns=[{names}]')))})"


def wider_columns(streams: Sequence[Schema]) -> dict[str, pa.DataType]:
    """Columns that streams have in different units of time, each with the type that holds them all.

    Examples
    --------
    >>> kinds = [pa.timestamp("s"), pa.timestamp("ms")]
    >>> wider_columns([Schema((Field("at", kind), Field("x", pa.int64()))) for kind in kinds])
    {'at': TimestampType(timestamp[ms])}
    """
    first, *others = streams
    found = {}
    for field in first:
        if all(field.name in other for other in others):
            types = [field.type, *(other.type_of(field.name) for other in others)]
            wide = _widest(types)
            if wide is not None and any(type_ != wide for type_ in types):
                found[field.name] = wide
    return found


def _widest(types: Sequence[pa.DataType]) -> pa.DataType | None:
    if all(map(pa.types.is_duration, types)):
        return pa.duration(finest(type_.unit for type_ in types))
    if all(pa.types.is_timestamp(type_) or pa.types.is_date(type_) for type_ in types):
        stamps = [type_ for type_ in types if pa.types.is_timestamp(type_)]
        zones = {getattr(type_, "tz", None) for type_ in types}
        if stamps and len(zones) == 1:
            return pa.timestamp(finest(_unit(type_) for type_ in types), zones.pop())
    return None


def _unit(type_: pa.DataType) -> TickUnit:
    if pa.types.is_date(type_):
        return "s" if pa.types.is_date32(type_) else "ms"
    unit: TickUnit = type_.unit
    return unit


def _apart(known: NonOverlapping | None, factor: int) -> NonOverlapping | None:
    return known if known is None or known.period is None else replace(known, period=known.period * factor)


def _sampling(known: Sampling | None, factor: int) -> Sampling | None:
    """Samples at whole ticks; others were rounded to ticks of the coarser unit."""
    if known is None or known.period.denominator != 1:
        return None
    return replace(known, period=known.period * factor, phase=None if known.phase is None else known.phase * factor)


class FinerUnitKernel(Stateless):
    """Multiplies times and ends, edges too."""

    def __init__(self, finer: FinerUnit, upstream: Schema) -> None:
        self.finer, self.factor = finer, finer.factor
        self.upstream, self.schema = upstream, finer.schema(upstream)
        self.changed = [(index, dict(finer.columns)[field.name]) for index, field in enumerate(upstream)
                        if field.name in dict(finer.columns)]

    def apply(self, batch: Batch) -> Batch:
        if batch.absent is not None:  # what was filtered out need not fit
            batch = batch.compact()
        if self.factor != 1:
            batch = self._finer(batch)
        columns = list(batch.columns)
        for index, type_ in self.changed:
            columns[index] = self._widened(batch.columns[index], type_, self.upstream.names[index])
        return batch.having(schema=self.schema, columns=tuple(columns), gaps=batch.gaps)

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = as_ticks(watermark, self.finer.unit, self.finer.finer)
        return []

    def _finer(self, batch: Batch) -> Batch:
        factor = self.factor
        sync = self._times(batch.sync, batch.sync)
        ends: Any = batch.ends
        if self.finer.points:
            ends = 1
        elif isinstance(ends, int):
            if len(batch) and (int(batch.sync.max()) + ends) * factor >= INF:
                self._refuse(int(batch.sync.max()))
            ends = ends * factor
        else:
            ends = self._times(ends, batch.sync)
        began = None if batch.began is None else self._times(batch.began, batch.sync)
        gaps = None if batch.gaps is None else tuple(min(gap * factor, INF) for gap in batch.gaps)
        return batch.having(sync=sync, ends=ends, began=began, gaps=gaps)

    def _times(self, times: np.ndarray[Any, Any], starts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        maximum = (INF - 1) // self.factor
        known = times != INF
        wrong = known & ((times > maximum) | (times < -maximum))
        if wrong.any():
            self._refuse(int(starts[wrong.argmax()]))
        finer = np.where(known, times, 0) * self.factor
        return frozen(finer if known.all() else np.where(known, finer, INF))

    def _refuse(self, start: int) -> None:
        at = format_instant(start, self.upstream.unit, self.upstream.zone)
        low, high = (str(format_instant(ticks, self.finer.finer, None)) for ticks in (MIN_TIME + 1, INF - 1))
        raise KernelError(f"The event at {at} is outside the range of {self.finer.finer}, the time unit of the other "
                          f"stream: {low[:10]} to {high[:10]}.", where=self.finer.show(), hint=_HINT)

    def _widened(self, column: Column, type_: pa.DataType, name: str) -> Column:
        try:
            return Column.from_arrow(column.to_arrow().cast(type_))
        except pa.ArrowInvalid:
            raise KernelError(f"A value of column {name!r} does not fit into {type_}, its type in another stream: "
                              f"{_beyond(column, type_)}.", where=self.finer.show(),
                              hint=f"Cast {name!r} of the other stream to {column.type}, or drop such rows first: "
                              ".where(...).") from None


def _beyond(column: Column, type_: pa.DataType) -> str:
    """The first value that a finer unit does not hold."""
    ticks, unit = np.asarray(column.values)[column.validity()].astype(np.int64), _unit(column.type)
    if pa.types.is_date32(column.type):
        ticks *= 86_400
    maximum = (2**63 - 1) // ticks_in(unit, type_.unit)
    first = int(ticks[(ticks > maximum) | (ticks < -maximum)][0])
    return show_ticks(first, unit) if pa.types.is_duration(type_) else str(format_instant(first, unit, type_.tz))
