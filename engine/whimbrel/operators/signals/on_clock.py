"""Give samples the times of a reference clock."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import pyarrow as pa

from whimbrel.batch import Schema
from whimbrel.clock import Duration, TickUnit, duration_ticks, quote_ticks
from whimbrel.errors import PlanError, SchemaError
from whimbrel.kernels import Kernel
from whimbrel.operators.signals.on_clock_kernel import OnClockKernel, ticks_of
from whimbrel.operators.signals.sampling import sampling_of
from whimbrel.plan import NonOverlapping, Operator, Properties, Sampling, fluent

_MILLION = 1_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class OnClock(Operator):
    """Give samples the times of a reference clock.

    Pairs are events with the number of a sample and its time by the reference clock.

        time     0    5    10   15   20
        in       1────2────3────4────5─      (period 5)
        pairs      a                         (a, at 2: sample 0 is at 103)
        out           2────3────4────5─      (at 108, 113, 118, 123)

    Parameters
    ----------
    index, time : str
        Columns of the pairs: the number of a sample, counted from sample 0, and its time by the reference clock.
    slew : Fraction
        Parts per million of the period by which times approach the line at most.
    step : int, optional
        A larger error, in ticks, is corrected at once. None: every error is slewed.
    sampling : Sampling
        The samples of the input.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    A pair changes the times of samples after its own start only, so a live answer equals that of the history. Samples
    before the first pair have no known time and are left out. Two pairs define a line, and one pair a line with the
    period of the samples. Times continue where they are, and approach the line. An error above `step` is corrected at
    once: forward it is a gap, and samples keep the rate they had. Backward, samples would overlap, which is an error.
    Times rise by a tick at least. All arithmetic is in integers. Samples last as long as before, and have no constant
    rate. A pair with a null is left out. Shapes: one row out per row in, after the first pair. State: samples later
    than the watermark of the pairs, and the last pair. Raises a KernelError for pairs that go back, and for pairs with
    more than one sample per tick. Source: slewing and stepping as in NTP (RFC 5905, section 11).

    Examples
    --------
    >>> import whimbrel as wb
    >>> vib = wb.from_arrow({"at": range(0, 25, 5), "x": [1, 2, 3, 4, 5]}, time="at").drop("at").assume(periodic=5)
    >>> pairs = wb.from_arrow({"at": [2], "sample": [0], "gps": [103]}, time="at").drop("at")
    >>> vib.on_clock(pairs, index="sample", time="gps").collect()["start"].to_pylist()
    [108, 113, 118, 123]
    """

    arity: ClassVar[int] = 2

    index: str
    time: str
    slew: Fraction = Fraction(500)
    step: int | None = None
    sampling: Sampling
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        samples, pairs = upstream
        where = self.show()
        for name in (self.index, self.time):
            pairs.index(name, where=where)
        number, time = pairs.type_of(self.index), pairs.type_of(self.time)
        if not pa.types.is_integer(number) or pa.types.is_uint64(number):
            raise SchemaError(f"index={self.index!r} must be a column of integers, got {number}.", where=where,
                              hint="Name the column with the numbers of samples.")
        if not ticks_of(time, samples):
            wanted = "int64" if samples.unit is None else f"int64 or a timestamp in {samples.unit} or coarser"
            raise SchemaError(f"time={self.time!r} must be a column of {wanted}, got {time}.", where=where,
                              hint="Convert it with cast().")
        return samples

    def properties(self, *upstream: Properties) -> Properties:
        known = upstream[0]
        points = known.duration == 1
        return Properties(duration=known.duration, causal=False, starts_only=known.starts_only, points=known.points,
                          apart=NonOverlapping() if points else None)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return wanted, frozenset((self.index, self.time))

    def kernel(self, *upstream: Schema) -> Kernel:
        samples, pairs = upstream
        return OnClockKernel(samples, pairs, self.index, self.time, self.sampling,
                             self.sampling.period * self.slew / _MILLION, self.step, self.show())

    def show(self) -> str:
        parts = [f"index={self.index!r}, time={self.time!r}"]
        parts += [f"slew={self.slew}"] if self.slew != 500 else []
        parts += [f"step={quote_ticks(self.step, self.unit)}"] if self.step is not None else []
        return f"on_clock({', '.join(parts)})"


@fluent
def on_clock(schema: Schema, right: Schema, *, index: str, time: str, slew: float = 500,
             step: Duration | None = None, known: Properties) -> OnClock:
    """Give samples the times of a reference clock. See :class:`whimbrel.operators.OnClock`.

    Parameters
    ----------
    right : Stream
        Pairs of a sample's number and its time by the reference clock. Each acts on samples after it.
    index : str
        Column of pairs: the number of a sample, counted from sample 0.
    time : str
        Column of pairs: the time of that sample by the reference clock. A timestamp, or int64 in ticks.
    slew : int or float
        Parts per million by which times approach the line of the pairs at most.
    step : str, timedelta or int (ticks), optional
        A larger error is a gap, or an error where it goes back. By default every error is slewed.
    """
    where = "on_clock()"
    sampling = sampling_of(known, where)
    if sampling.per:
        raise PlanError(f"on_clock() needs one signal, got one for each {', '.join(sorted(sampling.per))}.",
                        where=where, hint="Use where() for one signal, with assume(rate=...) after it.")
    try:
        exact = Fraction(str(slew)) if isinstance(slew, float) else Fraction(slew)
    except (TypeError, ValueError, OverflowError):
        exact = Fraction(-1)
    if exact < 0 or isinstance(slew, bool | str):
        raise PlanError(f"slew must be a number of parts per million, not negative, got {slew!r}.",
                        where=f"on_clock(slew={slew!r})", hint="Use slew=0 for no slewing.")
    ticks = None if step is None else duration_ticks(step, schema.unit, where=f"on_clock(step={step!r})")
    if ticks is not None and ticks < 0:
        raise PlanError(f"step must not be negative, got {step!r}.", where=f"on_clock(step={step!r})",
                        hint="Leave it out to slew every error.")
    return OnClock(index=index, time=time, slew=exact, step=ticks, sampling=sampling, unit=schema.unit)
