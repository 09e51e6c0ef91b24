"""Take the samples of a signal in the ranges of events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from whimbrel.batch import Schema
from whimbrel.clock import Duration, TickUnit, duration_ticks, quote_ticks
from whimbrel.errors import PlanError, SchemaError, near_match
from whimbrel.kernels import Kernel
from whimbrel.operators.signals.sampling import check_channels, sampling_of, segment_fields
from whimbrel.operators.signals.sync_kernel import SyncKernel
from whimbrel.plan import Operator, Properties, Sampling, fluent

RangeGaps = Literal["keep", "skip"]

__all__ = ["RangeGaps"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Sync(Operator):
    """Take the samples of a signal in the ranges of events.

        time     0    5    10   15   20   25
        events      a────────────
        signals  1────2────3────4────5────6
        out           [2,  3,   4]            (a: samples that begin in the range)

    Parameters
    ----------
    before : int
        Ticks that a range begins before its event.
    after : int, optional
        Ticks from the start of an event to the end of its range. None: the range ends with the event.
    limit : int, optional
        Most ticks of a range; the rest of it is cut off.
    gaps : {"keep", "skip"}
        What happens to ranges in which samples are missing.
    sampling : Sampling
        The samples of the signals.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    A range takes samples that begin in ``[start, end)``, so ranges that meet share none. A result lasts from its first
    sample to the one after its last. A range without a sample gives none; other samples that are not there, also before
    the first and after the last one of the signal, are missing. Shapes: one row per event, with its columns, and a
    segment for each channel; no sample is copied. State: samples from the watermark of the events less `before` on, and
    events whose samples are not complete. Raises a KernelError for an event without an end, if there is no limit.
    Source: XStream (ICDE 2008), section 3 (sync).

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> signal = wb.from_arrow({"at": range(0, 50, 5), "x": range(10)}, time="at").drop("at").assume(periodic=5)
    >>> events = wb.from_arrow({"at": [12, 30], "n": [1, 2]}, time="at").drop("at")
    >>> events.sync(signal, before=5, after=10).collect().to_pylist()
    [{'start': 10, 'end': 25, 'n': 1, 'x': {'index': 2, 'samples': [2, 3, 4]}},
     {'start': 25, 'end': 40, 'n': 2, 'x': {'index': 5, 'samples': [5, 6, 7]}}]
    """

    arity: ClassVar[int] = 2
    relates_inputs: ClassVar[bool] = False

    before: int = 0
    after: int | None = None
    limit: int | None = None
    gaps: RangeGaps = "keep"
    sampling: Sampling
    unit: TickUnit = None

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(sorted(self.sampling.per))

    def schema(self, *upstream: Schema) -> Schema:
        events, signals = upstream
        where = self.show()
        check_channels(signals, self.keys, where)
        for name in self.keys:
            if name not in events or events.type_of(name) != signals.type_of(name):
                raise SchemaError(f"The signals have the key {name!r}, of type {signals.type_of(name)}, which events "
                                  f"must have, too.", where=where, hint="Add it with with_columns().")
        channels = [field for field in segment_fields(signals, self.keys, self.sampling) if field.name not in self.keys]
        return events.with_fields([*events, *channels], where=where)

    def properties(self, *upstream: Properties) -> Properties:
        as_long = self.before == 0 and self.after is None
        return Properties(causal=False, apart=upstream[0].no_period() if as_long else None)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        events, signals = (frozenset(schema.names) for schema in upstream)
        return wanted & events | self.sampling.per, wanted & signals - events | self.sampling.per

    def partitioned(self, *by: str) -> str | None:
        return by[0] if by[0] == by[1] and by[0] in self.sampling.per else None

    def notes(self, *upstream: Schema) -> Sequence[str]:
        if self.gaps != "skip":
            return ()
        return ("ranges with missing samples are left out, and counted in run.metrics.skipped_windows",)

    def kernel(self, *upstream: Schema) -> Kernel:
        events, signals = upstream
        return SyncKernel(events, signals, self.schema(*upstream), self.keys, self.sampling, self.before, self.after,
                          self.limit, skip=self.gaps == "skip", where=self.show())

    def show(self) -> str:
        parts = [f"{name}={quote_ticks(ticks, self.unit)}" for name, ticks in
                 (("before", self.before or None), ("after", self.after), ("limit", self.limit)) if ticks is not None]
        parts += [f"gaps={self.gaps!r}"] if self.gaps != "keep" else []
        return f"sync({', '.join(parts)})"


@fluent
def sync(schema: Schema, right: Schema, *, before: Duration | None = None, after: Duration | None = None,
         limit: Duration | None = None, gaps: RangeGaps = "keep", right_known: Properties) -> Sync:
    """Take the samples of signals in the ranges of events. See :class:`whimbrel.operators.Sync`.

    Parameters
    ----------
    right : Stream
        Samples. If they have a key, each event takes those of its own.
    before : str, timedelta or int (ticks), optional
        How long a range begins before its event.
    after : str, timedelta or int (ticks), optional
        From the start of an event to the end of its range. By default the range ends with the event.
    limit : str, timedelta or int (ticks), optional
        Longest range; the rest is cut off. Events without an end need it.
    gaps : {"keep", "skip"}
        "keep" gives ranges with missing samples, "skip" leaves them out.
    """
    sampling = sampling_of(right_known, "sync()")
    if gaps not in get_args(RangeGaps):
        raise PlanError(f"gaps must be 'keep' or 'skip', got {gaps!r}.", where="sync()",
                        hint=near_match(str(gaps), get_args(RangeGaps), noun="value"))
    spans: dict[str, int | None] = {"before": None, "after": None, "limit": None}
    for name, given in (("before", before), ("after", after), ("limit", limit)):
        if given is None:
            continue
        spans[name] = ticks = duration_ticks(given, schema.unit, where=f"sync({name}={given!r})")
        if ticks < (1 if name == "limit" else 0):
            raise PlanError(f"{name} must not be negative, got {given!r}.", where=f"sync({name}={given!r})",
                            hint="Use shift() to move events.")
    if spans["after"] == 0 and not spans["before"]:
        raise PlanError("A range must have some length, got before=0 and after=0.", where="sync()",
                        hint="Use a longer one.")
    return Sync(before=spans["before"] or 0, after=spans["after"], limit=spans["limit"], gaps=gaps, sampling=sampling,
                unit=schema.unit)
