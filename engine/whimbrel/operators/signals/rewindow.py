"""Cut signals into windows of so many samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from whimbrel.batch import Field, Schema, sample_dtype
from whimbrel.errors import PlanError, SchemaError, near_match
from whimbrel.expr import Keys
from whimbrel.kernels import Kernel
from whimbrel.operators.signals.rewindow_kernel import RewindowKernel
from whimbrel.operators.signals.sampling import channel_names, check_channels, sampling_of, segment_fields
from whimbrel.plan import KnownInput, LineageRequest, NonOverlapping, Operator, Properties, Reach, Sampling, fluent
from whimbrel.temporal.bounds import Bounds

GapRule = Literal["skip", "split", "fill"]
WindowLabel = Literal["start", "end"]
ShortRule = Literal["drop", "keep"]

__all__ = ["GapRule", "ShortRule", "WindowLabel"]

FILLED = "filled"
"""Column that says how many samples of a window were filled in."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Rewindow(Operator):
    """Cut signals into windows of so many samples.

    A window is a segment: a value that shares its samples with other windows.

        time     0    5    10   15   20   25   30
        in       a────b────c────d─────────e────f    (every 5; nothing at 20)
        skip     [a,  b]   [c,  d]                  (rewindow(2))
        split    [a,  b]   [c,  d]        [e,  f]
        fill     [a,  b]   [c,  d]   [0,  e]        (fill=0)

    Parameters
    ----------
    size : int, optional
        Samples of a window. None: windows are maximal runs without a gap.
    hop : int
        Samples from the start of one window to the next.
    gaps : {"skip", "split", "fill"}
        What happens to windows that touch missing samples.
    fill : tuple of (str, number)
        Values of missing samples, by channel.
    label : {"start", "end"}
        With "start", a window lasts from its first sample to the one after its last. With "end" it starts when its last
        sample is over and lasts for one hop, so that it is known when it starts.
    short : {"drop", "keep"}
        Whether a last window with fewer samples stays.
    limit : int, optional
        Most samples of a maximal run.
    sampling : Sampling
        The samples of the stream.

    Notes
    -----
    Windows are counted from sample 0 of each signal, so they do not depend on where reading begins. A null is a missing
    sample of its channel and no gap. Shapes: one row per window; no sample is copied. State: samples of windows that
    are not complete. Raises a KernelError that names a sample that comes twice. Source: XStream (ICDE 2008), section 3
    (rewindow).

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> log = wb.from_arrow({"at": range(0, 50, 5), "x": range(10)}, time="at").drop("at").assume(periodic=5)
    >>> log.rewindow(4).select(m=col.x.seg.mean()).collect().to_pylist()
    [{'start': 0, 'end': 20, 'm': 1.5}, {'start': 20, 'end': 40, 'm': 5.5}]
    >>> log.rewindow(4, 3).collect()["x"].to_pylist()[1]
    {'index': 3, 'samples': [3, 4, 5, 6]}
    """

    size: int | None = None
    hop: int = 1
    gaps: GapRule = "skip"
    fill: tuple[tuple[str, Any], ...] = ()
    label: WindowLabel = "start"
    short: ShortRule = "drop"
    limit: int | None = None
    sampling: Sampling

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(sorted(self.sampling.per))

    def schema(self, *upstream: Schema) -> Schema:
        check_channels(upstream[0], self.keys, self.show())
        fields = segment_fields(upstream[0], self.keys, self.sampling)
        if self.gaps == "fill":
            fields = [*fields, Field(FILLED, pa.int64())]
        return upstream[0].with_fields(fields, where=self.show())

    def properties(self, *upstream: Properties) -> Properties:
        period = self.sampling.period
        lasts = self.size if self.label == "start" else self.hop
        fixed = lasts is not None and self.short == "drop" and period.denominator == 1
        overlap = self.size is not None and self.size > self.hop and self.label == "start"
        return Properties(duration=int(lasts * period) if fixed and lasts else None,
                          causal=upstream[0].causal and self.label == "end",
                          apart=None if overlap else NonOverlapping(self.sampling.per), sampling=self._windows(),
                          window_samples=self.size or self.limit)

    def _windows(self) -> Sampling | None:
        """Windows that are counted from sample 0 start at multiples of their hop, as samples of a lower rate do."""
        if self.size is None or self.gaps == "split":
            return None
        phase = self.sampling.phase if self.label == "start" else None
        return Sampling(self.hop * self.sampling.period, phase, self.sampling.per)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return ((wanted | self.sampling.per) - {FILLED} if self.gaps != "fill" else frozenset(upstream[0].names),)

    @property
    def _bounds(self) -> Bounds | None:
        """How far a window reads; None: where it is depends on all samples before."""
        counted = self.gaps == "skip" and self.short == "drop"
        if not counted or self.size is None or self.sampling.phase is None:
            return None
        ticks = ceil((self.size + 1) * self.sampling.period)
        return Bounds(ticks, ticks)

    @property
    def _longest(self) -> int:
        """Most ticks that a window of a number of samples lasts."""
        assert self.size is not None
        return ceil(((self.size if self.label == "start" else self.hop) + 1) * self.sampling.period)

    def reach(self, *inputs: Reach) -> Reach | None:
        return None if self._bounds is None else self._bounds.reach_of_starts(inputs[0], self._longest)

    def partitioned(self, *by: str) -> str | None:
        return by[0] if by[0] in self.sampling.per else None

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        rows = wanted.only(self.sampling.per)
        return (rows.always() if self._bounds is None else self._bounds.starts(rows, self._longest),)

    def notes(self, *upstream: Schema) -> Sequence[str]:
        if self.size is None or self.gaps != "skip" or not self.sampling.gaps:
            return ()
        return ("windows that touch a gap are left out, and counted in run.metrics.skipped_windows",)

    def kernel(self, *upstream: Schema) -> Kernel:
        return RewindowKernel(upstream[0], self.schema(*upstream), self.keys, self.sampling, self.size, self.hop,
                              self.gaps, dict(self.fill), self.limit, at_end=self.label == "end",
                              keep_short=self.short == "keep", where=self.show())

    def show(self) -> str:
        parts = [] if self.size is None else [str(self.size)]
        parts += [str(self.hop)] if self.size is not None and self.hop != self.size else []
        parts += [f"gaps={self.gaps!r}"] if self.gaps != "skip" and self.size is not None else []
        parts += [f"fill={dict(self.fill)!r}"] if self.fill else []
        parts += [f"label={self.label!r}"] if self.label != "start" else []
        parts += [f"short={self.short!r}"] if self.short != "drop" and self.size is not None else []
        parts += [f"limit={self.limit}"] if self.limit is not None else []
        return f"rewindow({', '.join(parts)})"


@fluent
def rewindow(schema: Schema, size: int | None = None, hop: int | None = None, *, gaps: GapRule = "skip",
             fill: Any = None, label: WindowLabel = "start", short: ShortRule = "drop", limit: int | None = None,
             keys: Keys = (), known: Properties) -> Rewindow:
    """Cut signals into windows of so many samples. See :class:`whimbrel.operators.Rewindow`.

    Parameters
    ----------
    size : int, optional
        Samples of a window. Without a size, windows are maximal runs of samples without a gap.
    hop : int, optional
        Samples from the start of one window to the next. Default: `size`. A smaller hop makes windows overlap.
    gaps : {"skip", "split", "fill"}
        "skip" leaves out windows that touch missing samples. "split" begins to count again after each gap. "fill"
        puts the values of `fill` there, and adds a column ``filled`` with how many of a window's samples those are.
    fill : number or mapping of str to number
        Values of missing samples, for all channels or by channel.
    label : {"start", "end"}
        "end" is causal: a window starts after its last sample, when it is known.
    short : {"drop", "keep"}
        "keep" gives a last window with fewer samples at the end of the signal, and with "split" before each gap.
    limit : int, optional
        Most samples of a window without a size.
    """
    call = "rewindow()"
    sampling = sampling_of(known, call)
    for name, _ in keys:
        if name not in sampling.per:
            raise PlanError(f"group_by({name!r}) does not say which samples belong to one signal.", where=call,
                            hint=f"Use assume(rate=..., per={name!r}) before it.")
    for name, number in (("size", size), ("hop", hop), ("limit", limit)):
        if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 1):
            hint = 'Use tumbling_window("1s") for windows of time.' if isinstance(number, str) else "Count samples."
            raise PlanError(f"{name} must be an integer of at least 1, got {number!r}.", where=call, hint=hint)
    for name, given, allowed in (("gaps", gaps, GapRule), ("label", label, WindowLabel), ("short", short, ShortRule)):
        if given not in get_args(allowed):
            raise PlanError(f"{name} must be one of {', '.join(map(repr, get_args(allowed)))}, got {given!r}.",
                            where=call, hint=near_match(str(given), get_args(allowed), noun="value"))
    if (fill is not None) != (gaps == "fill"):
        raise PlanError('fill= and gaps="fill" need each other.', where=call, hint='Use gaps="fill", fill=0.')
    made = Rewindow(size=size, hop=hop or size or 1, gaps=gaps, label=label, short=short, limit=limit,
                    sampling=sampling)
    if size is not None and limit is not None:
        raise PlanError("limit= is for windows without a size.", where=call, hint="Remove one of the two.")
    if size is None:
        if hop is not None or gaps == "fill" or label == "end":
            raise PlanError('Windows without a size take no hop, gaps="fill" or label="end".', where=call,
                            hint="Use a size.")
        return replace(made, gaps="split", short="keep")
    return replace(made, fill=_fill_values(schema, fill, sampling)) if gaps == "fill" else made


def _fill_values(schema: Schema, fill: Any, sampling: Sampling) -> tuple[tuple[str, Any], ...]:
    names = channel_names(schema, sampling.per)
    channels = [field for field in schema if field.name in names]
    values = dict(fill) if isinstance(fill, Mapping) else {field.name: fill for field in channels}
    for field in channels:
        if field.name not in values:
            raise PlanError(f"fill= has no value for {field.name!r}.", where="rewindow()",
                            hint=f"Add one: fill={{{field.name!r}: 0, ...}}.")
        if not _is_of(values[field.name], field.type):
            raise SchemaError(f"{values[field.name]!r} cannot fill {field.name!r}, which is {field.type}.",
                              where="rewindow()", hint=f"Use a value of type {field.type}.")
    for name in values:
        schema.index(name, where=f"rewindow(fill={fill!r})")
    return tuple(values.items())


def _is_of(value: Any, type_: pa.DataType) -> bool:
    dtype = sample_dtype(type_)
    if dtype is not None and dtype.kind == "c":
        return isinstance(value, int | float | complex | np.number) and not isinstance(value, bool)
    try:
        held = pa.scalar(value, type_)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return False
    return not isinstance(value, float) or pa.types.is_floating(type_) or held.as_py() == value
