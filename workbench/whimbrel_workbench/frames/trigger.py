"""Frame of a triggered scope: windows of samples around events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from whimbrel.clock import MIN_TIME, Duration, duration_ticks
from whimbrel.errors import PlanError
from whimbrel.plan import Sampling
from whimbrel_workbench.frames.event_marks import EventMarks
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.finality import Stages
from whimbrel_workbench.frames.labels import labels
from whimbrel_workbench.frames.playback_audio import stretch_values
from whimbrel_workbench.frames.result import Floats
from whimbrel_workbench.frames.scope import ScopeChannel, ScopeFrame
from whimbrel_workbench.frames.spectrogram import Spectrogram

MAX_WINDOWS: Final = 200
_BEFORE, _AFTER = 256, 768
"""Samples of a window before its trigger and from it on."""

MAX_SAMPLES: Final = 1 << 16
MAX_PROVISIONAL: Final = 3
"""So many provisional windows are drawn."""

_UNITS: Final = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


@dataclass(frozen=True, slots=True)
class TriggerSpan:
    """How many samples of a window are before its trigger, and from it on."""

    before: int = _BEFORE
    after: int = _AFTER

    @property
    def samples(self) -> int:
        return self.before + self.after


@dataclass(frozen=True, slots=True, eq=False)
class TriggerWindow:
    """One window.

    Parameters
    ----------
    event : int
        Row of the event.
    number : int
        The sample at its start, or the first one after it.
    key : str
        Which signal it is cut from, as words; empty when signals have no key, or the event has none.
    settled : bool
        Whether its event and all of its samples are settled.
    """

    event: int
    number: int
    key: str
    settled: bool


@dataclass(frozen=True, slots=True, eq=False)
class TriggerFrame:
    """Windows of samples around the newest triggers, one over the other.

    Parameters
    ----------
    scope : ScopeFrame
        The signal, and the events.
    span : TriggerSpan
    settled : tuple of TriggerWindow
        The newest windows that can no longer change, in the order of their events. They are counted.
    provisional : tuple of TriggerWindow
        The newest of the others.
    triggers : int
        All events.
    older : int
        Events whose samples are no longer in memory, or never came.
    fresh : int
        How many settled windows are new since the reader's last look.
    """

    scope: ScopeFrame
    span: TriggerSpan
    settled: tuple[TriggerWindow, ...]
    provisional: tuple[TriggerWindow, ...]
    triggers: int
    older: int
    fresh: int = 0

    @property
    def channels(self) -> tuple[ScopeChannel, ...]:
        return self.scope.channels

    @property
    def marks(self) -> EventMarks | None:
        return self.scope.marks

    @property
    def keys(self) -> tuple[str, ...]:
        return self.scope.keys

    @property
    def value(self) -> str:
        return self.scope.value

    @property
    def stages(self) -> Stages:
        return self.scope.stages

    @property
    def others(self) -> tuple[str, ...]:
        """Channels that are not shown."""
        return self.scope.others

    @property
    def unit(self) -> str:
        """Unit of the axis; empty for ticks without a unit."""
        return self._scale[0]

    @property
    def per_sample(self) -> float:
        """From one sample to the next, in units of the axis."""
        return self._scale[1]

    @property
    def x(self) -> Extent:
        return Extent(-self.span.before * self.per_sample, (self.span.after - 1) * self.per_sample)

    @property
    def _scale(self) -> tuple[str, float]:
        axis = self.channels[0].axis
        if axis.per_s is None:
            return "", float(axis.timebase.period)
        period_s = 1 / axis.per_s
        lasts_s = self.span.samples * period_s
        unit, size_s = next((each for each in _UNITS if lasts_s >= 2 * each[1]), _UNITS[-1])
        return unit, period_s / size_s

    def samples(self, channel: ScopeChannel, windows: tuple[TriggerWindow, ...]) -> Floats:
        """The samples of windows of a channel, a window a row; NaN where one is missing. Hold the lock of the store."""
        rows = [stretch_values(channel, each.number - self.span.before, each.number + self.span.after)
                for each in windows if not each.key or each.key == channel.key]
        return np.stack(rows) if rows else np.empty((0, self.span.samples))

    def compared(self, earlier: TriggerFrame) -> Self:
        """The same, with what is new since an earlier picture marked."""
        known = {(each.number, each.key) for each in earlier.settled}
        return replace(self, fresh=sum((each.number, each.key) not in known for each in self.settled))


SignalPicture = ScopeFrame | Spectrogram | TriggerFrame
"""Pictures that are drawn from samples in memory."""


def span_of(before: Duration | None, after: Duration | None, kind: pa.DataType, sampling: Sampling) -> TriggerSpan:
    """The span of a window in samples, from durations.

    Raises
    ------
    PlanError
        A duration is negative or cannot be read, or the window is too short or too long.
    """
    samples = []
    for name, given, usual in (("before", before, _BEFORE), ("after", after, _AFTER)):
        if given is None:
            samples.append(usual)
            continue
        where = f"view({name}={given!r})"
        ticks = duration_ticks(given, kind.unit if pa.types.is_timestamp(kind) else None, where=where)
        if ticks < 0:
            raise PlanError(f"{name} must not be negative, got {given!r}.", where=where, hint="Use 0 or more.")
        samples.append(-int(-ticks // sampling.period))
    found = TriggerSpan(*samples)
    if not 2 <= found.samples <= MAX_SAMPLES:
        raise PlanError(f"A window must have 2 to {MAX_SAMPLES:,} samples, got {found.samples:,}.",
                        where="view(trigger=...)", hint="Choose before= and after=.")
    return found


def triggered(scope: ScopeFrame, span: TriggerSpan, windows: int) -> TriggerFrame:
    """The newest windows around the events of a scope."""
    marks = scope.marks
    if marks is None or not len(marks):
        return TriggerFrame(scope, span, (), (), 0, 0)
    names, codes = _keys(scope, marks)
    number = _numbers(scope, marks)
    first, until, stop = np.array([_ends(scope, name) for name in names], np.int64)[codes].T
    gone = number + span.after <= first
    there = ~gone & (number - span.before < stop)
    settled = there & marks.settled & (number + span.after <= until)
    order = np.argsort(number, kind="stable")

    def newest(chosen: NDArray[np.bool_], maximum: int) -> tuple[TriggerWindow, ...]:
        return tuple(TriggerWindow(event, int(number[event]), names[codes[event]], bool(settled[event]))
                     for event in order[chosen[order]][-maximum:].tolist())

    return TriggerFrame(scope, span, newest(settled, windows), newest(there & ~settled, MAX_PROVISIONAL), len(marks),
                        int(gone.sum()))


def _keys(scope: ScopeFrame, marks: EventMarks) -> tuple[list[str], NDArray[np.int64]]:
    """Names of signals, and which one each event belongs to: "" where events or signals have no keys."""
    if not scope.keys or not set(scope.keys) <= set(marks.table.column_names):
        return [""], np.zeros(len(marks), np.int64)
    found = labels(marks.table, scope.keys)
    return list(found.names), found.codes.astype(np.int64)


def _numbers(scope: ScopeFrame, marks: EventMarks) -> NDArray[np.int64]:
    """The first sample at or after the start of each event."""
    axis = scope.channels[0].axis
    start: Any = marks.table.column("start")
    start = start.cast(axis.kind, safe=False) if pa.types.is_timestamp(start.type) and axis.calendar else start
    return axis.timebase.first_samples(start.cast(pa.int64()).to_numpy())


def _ends(scope: ScopeFrame, key: str) -> tuple[int, int, int]:
    """The first sample of a signal in memory, the one after its last settled one, and the one after its last one."""
    channel = next((each for each in scope.channels if not key or each.key == key), None)
    if channel is None:
        return 0, 0, MIN_TIME
    runs, tail = channel.trace.runs, channel.tail.seen if channel.tail is not None else []
    first = runs[0][0] if runs else tail[0][0] if tail else 0
    until = runs[-1][1] if runs else first
    return first, until, max(until, tail[-1][1] if tail else until)
