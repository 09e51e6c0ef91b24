"""Declare properties of a stream, and check them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, get_args

import numpy as np

from whimbrel.batch import Batch, Mask, Schema, elapsed, frozen
from whimbrel.clock import (
    INF,
    MIN_TIME,
    Duration,
    Instant,
    Rate,
    TickUnit,
    check_positive,
    duration_ticks,
    parse_instant,
    quote_ticks,
    sample_period,
)
from whimbrel.errors import PlanError
from whimbrel.kernels import Compiled, Kernel, KeyTable, with_gaps
from whimbrel.kernels.primitives.lifetimes.overlap_check import until_one_is_wrong
from whimbrel.operators.rows.align_samples import AlignSamples
from whimbrel.operators.rows.assume_order import ordered_assumptions
from whimbrel.operators.rows.assumption_errors import MISSING_HINT, assumption_error, shown_time
from whimbrel.plan import (
    KnownInput,
    LineageRequest,
    NonOverlapping,
    Operator,
    Ordered,
    Properties,
    Reach,
    Sampling,
    fluent,
)

Array = np.ndarray[Any, Any]

_until_one_is_wrong = Compiled(until_one_is_wrong)
_NONE = frozen(np.empty(0, np.int64))


@dataclass(frozen=True, kw_only=True, eq=False)
class Assume(Operator):
    """Declare properties of a stream, and check them.

    A row that violates one raises an error.

        time     0    5    10
        in       a────b────c────       (duration 5, non-overlapping, every 5)

    Parameters
    ----------
    duration : int, optional
        Duration of every event, in ticks.
    starts_only : bool
        No event ends.
    apart : NonOverlapping, optional
        Events do not overlap, and may be periodic; per key if it names columns.
    hint : str
        What to do about a row that violates one.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.
    keyless : bool
        Events without a key may overlap.
    asked : str
        What the user wrote, if that was not a call of assume.

    Notes
    -----
    Shapes: the rows that came in. State: one time a key. Source: stream properties of Trill (VLDB 2015), section 5.

    Examples
    --------
    >>> import whimbrel as wb
    >>> rows = {"at": [0, 5, 15], "until": [5, 10, 20], "x": [1, 2, 3]}
    >>> log = wb.from_arrow(rows, time="at", end="until", name="log")
    >>> log.assume(duration=5).aggregate(n=wb.count()).collect()["n"].to_pylist()
    [1, 1, 1]
    >>> log.assume(periodic=5).collect()
    Traceback (most recent call last):
    whimbrel.errors.KernelError: An event at 15 comes 10 after the one before it, not 5.
      where: assume(periodic=5)
      hint:  Add gaps=True if samples may be missing.
    """

    duration: int | None = None
    starts_only: bool = False
    apart: NonOverlapping | None = None
    hint: str = "Remove the assumption, or fix the data."
    unit: TickUnit = None
    keyless: bool = False
    asked: str = ""

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        known = replace(upstream[0], packed=True)
        if self.duration is not None:
            known = replace(known, duration=self.duration)
        if self.starts_only:
            known = replace(known, starts_only=True)
        if self.apart is None:
            return known
        sampling = known.sampling or (None if self.apart.period is None else Sampling(
            Fraction(self.apart.period), None, self.apart.per, gaps=False))
        return replace(known, apart=self.apart, sampling=sampling)

    def ordered_columns(self, schemas: Sequence[Schema], known: Sequence[Properties]) -> Ordered:
        return known[0].ordered

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted if self.apart is None else wanted | self.apart.per,)

    def reach(self, *inputs: Reach) -> Reach | None:
        return inputs[0] if self.duration is None else inputs[0].lasting(self.duration)

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        unbroken = self.apart is not None and self.apart.period is not None
        return ((wanted.only(self.apart.per) if self.apart is not None and unbroken else wanted).same(),)

    def partitioned(self, *by: str) -> str | None:
        return by[0] if self.apart is None or by[0] in self.apart.per else None

    def kernel(self, *upstream: Schema) -> Kernel:
        return AssumeKernel(self, upstream[0])

    def show(self) -> str:
        parts = [] if self.duration is None else [f"duration={quote_ticks(self.duration, self.unit)}"]
        parts += ["start_edges=True"] if self.starts_only else []
        if self.apart is not None:
            periodic = self.apart.period is not None
            parts.append(f"periodic={quote_ticks(self.apart.period or 0, self.unit)}" if periodic
                        else "non_overlapping=True")
            parts += [f"per={sorted(self.apart.per)!r}"] if self.apart.per else []
        return f"assume({', '.join(parts)})"


@fluent
def assume(schema: Schema, *, duration: Duration | None = None, periodic: Duration | None = None,
           rate: Rate | None = None, phase: Instant | None = None, jitter: Duration | None = None, gaps: bool = False,
           non_overlapping: bool = False, start_edges: bool = False, per: str | Sequence[str] = (),
           increasing: str | Sequence[str] = (), decreasing: str | Sequence[str] = (), band: Duration | None = None,
           unit: TickUnit = None, known: Properties) -> list[Operator]:
    """Declare properties of a stream, and check them. See :class:`whimbrel.operators.Assume`.

    With `rate`, `phase`, `jitter` or `gaps`, each row is moved to the exact time of its sample. See
    :class:`whimbrel.operators.AlignSamples`. Columns keep the measured time.

    Parameters
    ----------
    duration : str, timedelta or int (ticks), optional
        Duration of every event.
    periodic : str, timedelta or int (ticks), optional
        Distance from one event to the next, without gaps and overlaps. Events with an end column (``end=``) may be
        shorter. Pass `duration`, too, and later operators run as a periodic loop.
    rate : int, float, str, Fraction or Decimal, optional
        Samples per second, instead of `periodic`. The period need not be a whole number of ticks: use a str such as
        ``"24000/1001"`` for a ratio.
    phase : str, datetime or int (ticks), optional
        Time of any sample. The default is the first row, of each key. With a phase, ranges of time run in parallel.
    jitter : str, timedelta or int (ticks), optional
        Most time between a row and its sample; less than half of the period. The default is one tick with `rate`.
    gaps : bool
        Samples may be missing.
    non_overlapping : bool
        No two events are active at one time.
    start_edges : bool
        No event ends.
    per : str or sequence of str
        Key columns: the properties are true for each key.
    increasing, decreasing : str or sequence of str
        Columns of integers or timestamps in an order. No value is smaller (decreasing: larger) than one of an event
        that started earlier. An event that contradicts the order is late, and the late policy of its source counts.
        See :class:`whimbrel.operators.AssumeOrder`.
    band : str, timedelta or int, optional
        So much a value of these columns may be against the order; an int is in units of the column.
    unit : {"s", "ms", "us", "ns"}, optional
        Unit of integer times; the stream then has times of that unit. Default with `rate`: the one that ends the
        name of the time column, such as ``t_us``.
    """
    names = (per,) if isinstance(per, str) else tuple(per)
    for name in names:
        schema.index(name, where=f"assume(per={per!r})")
    if start_edges and duration is not None:
        raise PlanError("assume() cannot combine duration= and start_edges=True.", where="assume()",
                        hint="Remove one of the two.")
    if rate is not None and periodic is not None:
        raise PlanError("assume() cannot combine rate= and periodic=.", where="assume()", hint="Remove one of the two.")
    if rate is not None or unit is not None:
        schema = _with_unit(schema, rate, unit, known)
    ordered = ordered_assumptions(schema, increasing, decreasing, band)
    if ordered and names:
        raise PlanError("assume() cannot combine per= and increasing= or decreasing=.", where="assume()",
                        hint="Use two calls of assume().")
    spans = [None if span is None else duration_ticks(span, schema.unit, where="assume()")
             for span in (duration, periodic)]
    check_positive(schema.unit, where="assume()", duration=spans[0], periodic=spans[1])
    samples: list[Operator] = []
    if rate is not None or phase is not None or jitter is not None or gaps:
        period = spans[1] if rate is None else sample_period(rate, schema.unit)
        if period is None:
            raise PlanError("phase=, jitter= and gaps= need a rate or a period.", where="assume()",
                            hint="Add rate= or periodic=.")
        samples, spans[1] = [_samples(schema, Fraction(period), rate, phase, jitter, gaps, names)], None
    apart = NonOverlapping(frozenset(names), spans[1]) if non_overlapping or spans[1] is not None else None
    if spans[0] is None and apart is None and not start_edges:
        if not samples and not ordered:
            raise PlanError("assume() needs at least one assumption.", where="assume()",
                            hint="Add non_overlapping=True, duration=..., periodic=..., rate=... or start_edges=True.")
        return [*samples, *ordered]
    # Samples do not overlap in any case: what is known of them is more.
    return [*samples, Assume(duration=spans[0], starts_only=start_edges, apart=None if samples else apart,
                             unit=schema.unit), *ordered]


def _with_unit(schema: Schema, rate: Rate | None, unit: TickUnit, known: Properties) -> Schema:
    where = f"assume(unit={unit!r})"
    if unit is not None and unit not in get_args(get_args(TickUnit)[0]):
        raise PlanError(f"unit must be 's', 'ms', 'us' or 'ns', got {unit!r}.", where=where,
                        hint='Use the unit of the time column, such as unit="us".')
    if unit is not None and (rate is None or schema.unit not in (None, unit)):
        fact = "needs rate=" if rate is None else f"is for integer times, and these are in {schema.unit}"
        raise PlanError(f"unit= {fact}.", where=where, hint="Remove unit=, or use it with rate= and integer times.")
    found = schema.unit or unit or known.named_unit
    if found is None:
        raise PlanError("rate= needs times with a unit, but this stream has integer times.",
                        where=f"assume(rate={rate!r})",
                        hint='Add the unit of the times, such as unit="us", or use periodic=, in ticks.')
    return Schema(schema.fields, found, schema.zone)


def _samples(schema: Schema, period: Fraction, rate: Rate | None, phase: Instant | None, jitter: Duration | None,
             gaps: bool, per: Sequence[str]) -> AlignSamples:
    most = min(1, (period.numerator - 1) // (2 * period.denominator)) if rate is not None else 0
    if jitter is not None:
        most = duration_ticks(jitter, schema.unit, where=f"assume(jitter={jitter!r})")
        if not 0 <= 2 * most < period:
            raise PlanError(f"jitter must be at least 0 and less than half of the period, got {jitter!r}.",
                            where=f"assume(jitter={jitter!r})",
                            hint="Use a lower rate if rows are that far from their samples.")
    at = None if phase is None else parse_instant(phase, schema.unit, schema.zone, name="phase",
                                                  where=f"assume(phase={phase!r})")
    options = [f"periodic={quote_ticks(int(period), schema.unit)}" if rate is None else f"rate={rate}"]
    options += [] if phase is None else [f"phase={phase!r}"]
    options += [f"jitter={quote_ticks(most, schema.unit)}"] if most else []
    options += ["gaps=True"] if gaps else []
    options += [f"per={sorted(per)!r}"] if per else []
    return AlignSamples(period=period, phase=at, jitter=most, gaps=gaps,
                        per=frozenset(per), options=', '.join(options), unit=schema.unit)


class AssumeKernel(Kernel):
    """Compares each event with the one of its key before it."""

    def __init__(self, assume: Assume, schema: Schema) -> None:
        self.assume = assume
        self.columns = () if assume.apart is None else tuple(sorted(assume.apart.per))
        self.keys = KeyTable([schema.type_of(name) for name in self.columns])
        self.start, self.end = np.full(1, MIN_TIME), np.full(1, MIN_TIME)

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        expected, unit = self.assume.duration, self.assume.unit
        if expected is not None and not (isinstance(batch.ends, int) and batch.ends == expected):
            lasts = elapsed(batch.other, batch.sync)
            self._refuse(batch, lasts != expected, lambda row: f"lasts {quote_ticks(int(lasts[row]), unit)}, not "
                                                               f"{quote_ticks(expected, unit)}")
            batch = batch.having(ends=expected)
        if self.assume.starts_only:
            self._refuse(batch, batch.other != INF, lambda row: f"ends at {shown_time(batch, int(batch.other[row]))}")
        if self.assume.apart is not None:
            self._check_apart(batch, self.assume.apart)
        return [batch]

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = watermark
        return []

    def _check_apart(self, batch: Batch, apart: NonOverlapping) -> None:
        if not self.columns and self._as_expected(batch, apart.period):
            return
        if self.assume.keyless and not (there := self._with_key(batch)).all():
            batch = batch.only(there)
        keys = self.keys.ids([batch.column(name) for name in self.columns], len(batch))
        extra = len(self.keys) - len(self.start)
        if extra > 0:
            extra = max(extra, len(self.start))
            self.start = np.concatenate([self.start, np.full(extra, MIN_TIME)])
            self.end = np.concatenate([self.end, np.full(extra, MIN_TIME)])
        same = isinstance(batch.ends, int)
        ends, lasts = (_NONE, batch.ends) if same else (frozen(batch.other), 0)
        row = int(_until_one_is_wrong(frozen(keys), frozen(batch.sync), ends, lasts, apart.period or 0, self.start,
                                      self.end))
        if row == len(batch):
            return
        key, here = keys[row], np.arange(len(batch)) == row
        if batch.sync[row] < self.end[key]:
            since, until = (str(shown_time(batch, int(times[key]))) for times in (self.start, self.end))
            its_span = f"has no end and is from {since} on" if self.end[key] == INF else f"is from {since} to {until}"
            self._refuse(batch, here, lambda _: f"begins before the one before it has ended, which {its_span}")
        unit, period = self.assume.unit, apart.period or 1
        distance = int(batch.sync[row]) - int(self.start[key])
        self._refuse(batch, here, lambda _: f"comes {quote_ticks(distance, unit)} after the one before it, not "
                                            f"{quote_ticks(period, unit)}",
                     MISSING_HINT if distance % period == 0 else self.assume.hint)

    def _with_key(self, batch: Batch) -> Mask:
        """Whether each event has a value in all key columns."""
        there = np.ones(len(batch), np.bool_)
        for name in self.columns:
            there &= batch.column(name).validity()
        return there

    def _as_expected(self, batch: Batch, period: int | None) -> bool:
        """Whether all events follow each other in time, at one distance if any: then nobody need look closer."""
        sync, rows = batch.sync, len(batch)
        begun = int(self.start[0])
        if period is None:
            if not (isinstance(batch.ends, int) and _all_apart(batch, batch.ends, INF)):
                return False
        else:
            whole = int(sync[-1]) - int(sync[0]) == (rows - 1) * period
            follows = begun == MIN_TIME or int(sync[0]) - begun == period
            if not whole or not follows or not _all_apart(batch, period, period):
                return False
            if (batch.ends if isinstance(batch.ends, int) else int(elapsed(batch.ends, sync).max())) > period:
                return False
        if self.end[0] > sync[0]:
            return False
        self.start[0], self.end[0] = sync[-1], batch.slice(rows - 1, rows).other[0]
        return True

    def _refuse(self, batch: Batch, wrong: Mask, why: Any, hint: str | None = None) -> None:
        if not wrong.any():
            return
        row = int(wrong.argmax())
        where = self.assume.asked or self.assume.show()
        raise assumption_error(batch, row, self.columns, why(row), where, hint or self.assume.hint)


def _all_apart(batch: Batch, minimum: int, maximum: int) -> bool:
    """Whether rows follow each other at distances between these."""
    known = with_gaps(batch).gaps  # maybe of more rows than these
    if known is not None and minimum <= known[0] and known[1] <= maximum:
        return True
    steps = batch.sync[1:] - batch.sync[:-1]
    return bool(((steps >= minimum) & (steps <= maximum)).all())
