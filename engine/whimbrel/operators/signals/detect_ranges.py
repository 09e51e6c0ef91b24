"""Detect ranges of samples above a threshold."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import pyarrow as pa

from whimbrel.batch import Field, Schema
from whimbrel.clock import INF, MIN_TIME, Duration, TickUnit, duration_ticks, quote_ticks
from whimbrel.errors import ExpressionError, PlanError
from whimbrel.expr import Col, Expr, Keys, columns_of, key_of, trace, type_of
from whimbrel.kernels import Kernel
from whimbrel.operators.signals.detect_kernel import DetectorKernel
from whimbrel.plan import KnownInput, LineageRequest, NonOverlapping, Operator, Properties, Sampling, fluent

RESULTS = (Field("peak", pa.float64()), Field("samples", pa.int64()))
"""The columns of a range, after its key."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DetectRanges(Operator):
    """Detect ranges of samples above a threshold, by key.

    A range begins at a sample above `on`, and ends with its last sample above `off`.

        time     0    5    10   15   20   25   30
        in       1────8────6────9────2────1────1─
        out           9─────────────────               (on 7, off 5: peak 9)

    With `startup`, the threshold adapts to the signal: `on` standard deviations above the mean. Both are running
    statistics, which are frozen during a range. This is a detector with a constant rate of false alarms (CFAR).

    Parameters
    ----------
    value : Expr
        Numbers.
    on, off : float
        Thresholds. With `startup`, `on` counts standard deviations.
    forget : float
        Weight of the statistics before a sample, in each step; at least the mean of all samples so far counts.
    startup : int
        Samples that the statistics need at first. 0: thresholds are constant.
    hold : int
        Most samples below the threshold between two of a range.
    shortest : int
        Fewest samples of a range.
    pad : int
        Ticks to add before and after each range. Ranges that meet become one.
    limit : int, optional
        Most ticks of a range before padding. After that the statistics begin again, with `startup` samples.
    keys : tuple of (str, Expr)
        Signals of their own. A row without a key is left out.
    sampling : Sampling, optional
        The samples. A range ends at a missing sample, a null and NaN. None: no sample is missing.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    Shapes: one event for each range, with the columns of the key, `peak` (the largest value) and `samples` (from the
    first to the last one above). State: fifteen numbers a key. A range is known when it cannot change any more: after
    `hold` samples, and twice the padding. Source: XStream (ICDE 2008), section 5 (the detector of marmot calls);
    running variance: West, Communications of the ACM 22 (1979).

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> log = wb.from_arrow({"at": range(0, 35, 5), "x": [1, 8, 6, 9, 2, 1, 1]}, time="at").assume(periodic=5)
    >>> log.above(col.x, on=7, off=5).collect().to_pylist()
    [{'start': 5, 'end': 20, 'peak': 9.0, 'samples': 3}]
    """

    ends_grouping: ClassVar[bool] = True

    value: Expr
    on: float
    off: float
    forget: float = 1.0
    startup: int = 0
    hold: int = 0
    shortest: int = 1
    pad: int = 0
    limit: int | None = None
    keys: Keys = ()
    sampling: Sampling | None = None
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        found = type_of(self.value, upstream[0], where=self.show())
        if not pa.types.is_integer(found) and not pa.types.is_floating(found):
            raise ExpressionError(f"A detector needs numbers, got {found}.", where=self.show(),
                                  hint="Cast it first: .cast(float).")
        keys = [Field(name, type_of(expr, upstream[0], where=self.show())) for name, expr in self.keys]
        return upstream[0].with_fields((*keys, *RESULTS), where=self.show())

    def properties(self, *upstream: Properties) -> Properties:
        return Properties(causal=False, apart=NonOverlapping(frozenset(name for name, _ in self.keys)))

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (columns_of(self.value).union(*(columns_of(expr) for _, expr in self.keys)),)

    def partitioned(self, *by: str) -> str | None:
        return key_of(self.keys, by[0])

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        return (wanted.through(dict(self.keys), inputs[0].schema).starts(MIN_TIME, INF),)

    def grouping_keys(self) -> Keys:
        return self.keys

    def kernel(self, *upstream: Schema) -> Kernel:
        return DetectorKernel(self.schema(*upstream), self.value, [expr for _, expr in self.keys], self.sampling,
                              (self.on, self.off, self.forget), (self.startup, self.hold, self.shortest), self.pad,
                              -1 if self.limit is None else self.limit, upstream[0])

    def show(self) -> str:
        options = [f"hold={self.hold}"] if self.hold else []
        options += [f"min={self.shortest}"] if self.shortest > 1 else []
        options += [f"pad={quote_ticks(self.pad, self.unit)}"] if self.pad else []
        options += [] if self.limit is None else [f"limit={quote_ticks(self.limit, self.unit)}"]
        if self.startup:
            options = [f"deviations={self.on:g}", f"forget={self.forget:g}", f"startup={self.startup}", *options]
        else:
            options = [f"{self.on:g}", *([f"off={self.off:g}"] if self.off != self.on else []), *options]
        keys = f"group_by({', '.join(name for name, _ in self.keys)})." if self.keys else ""
        return f"{keys}{'cfar' if self.startup else 'above'}({self.value.show()}, {', '.join(options)})"


@fluent
def above(schema: Schema, value: Expr | Callable[[Any], Any], on: float, *, off: float | None = None, hold: int = 0,
          min: int = 1, pad: Duration = 0, keys: Keys = (),
          known: Properties = Properties()) -> DetectRanges:  # noqa: B008 - immutable
    """Detect ranges above a threshold. See :class:`whimbrel.operators.DetectRanges`.

    Parameters
    ----------
    value : Expr or callable
        Numbers.
    on : float
        A range begins at a sample above this.
    off : float, optional
        A range lasts as long as samples are above this; at most `on`, which is the default.
    hold : int
        Most samples at or below `off` between two of a range.
    min : int
        Fewest samples of a range.
    pad : str, timedelta or int (ticks)
        Time to add before and after each range. Ranges that meet become one.
    """
    where = f"above(on={on!r})"
    high = _number("on", on, where)
    low = high if off is None else _number("off", off, where)
    if low > high:
        raise PlanError(f"off must be at most on, got off={off!r}.", where=where, hint="Exchange the two thresholds.")
    return DetectRanges(value=trace(value, where=where), on=high, off=low, hold=_count("hold", hold, 0, where),
                        shortest=_count("min", min, 1, where), pad=_ticks("pad", pad, schema, where),
                        keys=signal_keys(keys, known), sampling=known.sampling, unit=schema.unit)


@fluent
def cfar(schema: Schema, value: Expr | Callable[[Any], Any], *, deviations: float, forget: float = 0.999,
         startup: int = 300, hold: int = 0, min: int = 1, pad: Duration = 0,
         limit: Duration | None = None, keys: Keys = (),
         known: Properties = Properties()) -> DetectRanges:  # noqa: B008 - immutable
    """Detect ranges far above the running mean. See :class:`whimbrel.operators.DetectRanges`.

    The threshold is the running mean plus some running standard deviations. It is frozen during a range.

    Parameters
    ----------
    value : Expr or callable
        Numbers.
    deviations : float
        Standard deviations above the mean at which a range begins.
    forget : float
        Weight of the mean and variance before a sample, from 0 to 1.
    startup : int
        Samples that the statistics need before the first range.
    hold : int
        Most samples below the threshold between two of a range.
    min : int
        Fewest samples of a range.
    pad : str, timedelta or int (ticks)
        Time to add before and after each range. Ranges that meet become one.
    limit : str, timedelta or int (ticks), optional
        Longest range before padding. After that the statistics begin again.
    """
    where = f"cfar(deviations={deviations!r})"
    weight = _number("forget", forget, where)
    if not 0 < weight <= 1:
        raise PlanError(f"forget must be above 0 and at most 1, got {forget!r}.", where=where,
                        hint="Use forget=0.999 for a memory of about 1,000 samples.")
    longest = None if limit is None else _ticks("limit", limit, schema, where)
    if longest == 0:
        raise PlanError("limit must be positive, got 0.", where=where, hint='Use limit="1s".')
    high = _number("deviations", deviations, where)
    return DetectRanges(value=trace(value, where=where), on=high, off=high, forget=weight,
                        startup=_count("startup", startup, 1, where), hold=_count("hold", hold, 0, where),
                        shortest=_count("min", min, 1, where), pad=_ticks("pad", pad, schema, where), limit=longest,
                        keys=signal_keys(keys, known), sampling=known.sampling, unit=schema.unit)


def signal_keys(keys: Keys, known: Properties) -> Keys:
    """The keys of the signals of a stream: those of its groups, or those that its samples have."""
    if keys or known.sampling is None:
        return keys
    return tuple((name, Col(name)) for name in sorted(known.sampling.per))


def _number(name: str, given: object, where: str) -> float:
    if not isinstance(given, Real) or isinstance(given, bool) or not math.isfinite(given):
        raise PlanError(f"{name} must be a finite number, got {given!r}.", where=where, hint=f"Use {name}=16.")
    return float(given)


def _count(name: str, given: object, least: int, where: str) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        raise PlanError(f"{name} must be a number of samples, at least {least}, got {given!r}.", where=where,
                        hint=f"Use {name}=40.")
    return given


def _ticks(name: str, given: Duration, schema: Schema, where: str) -> int:
    ticks = duration_ticks(given, schema.unit, where=where)
    if not 0 <= ticks < INF // 4:
        raise PlanError(f"{name} must not be negative or very long, got {given!r}.", where=where,
                        hint=f"Use a duration of at least 0 for {name}=.")
    return ticks
