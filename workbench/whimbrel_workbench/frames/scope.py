"""Frame of a scope: channels of a signal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np

from whimbrel.plan import Sampling
from whimbrel_workbench.frames.columns import ColumnRoles
from whimbrel_workbench.frames.event_marks import EventMarks, event_marks
from whimbrel_workbench.frames.extent import Extent, grown, limited
from whimbrel_workbench.frames.finality import Stages
from whimbrel_workbench.frames.result import Result
from whimbrel_workbench.frames.sample_axis import SampleAxis
from whimbrel_workbench.frames.sample_trace import SampleTrace
from whimbrel_workbench.frames.signal_store import Channel, ReadAgain, SignalStore
from whimbrel_workbench.frames.style import Style

MAX_CHANNELS: Final = 8


@dataclass(frozen=True, slots=True, eq=False)
class ScopeChannel:
    """One channel: its samples, and where they stand.

    Parameters
    ----------
    key : str
        The key, as words; empty when the signal has no key.
    column : str
    slot : int
        Which colour it has, and how many channels stand above it.
    trace : SampleTrace
        The settled samples, which later samples join.
    tail : SampleTrace or None
        The provisional samples.
    axis : SampleAxis
    y : Extent
    """

    key: str
    column: str
    slot: int
    trace: SampleTrace
    tail: SampleTrace | None
    axis: SampleAxis
    y: Extent

    @property
    def name(self) -> str:
        return f"{self.key} · {self.column}" if self.key else self.column

    @property
    def reach(self) -> tuple[int, int]:
        """From which sample up to which there are any."""
        runs = [*self.trace.seen, *(self.tail.seen if self.tail else [])]
        return min(run[0] for run in runs), max(run[1] for run in runs)


@dataclass(frozen=True, slots=True, eq=False)
class ScopeFrame:
    """Channels of a signal with one axis of time. How they are drawn depends on what is in sight.

    Parameters
    ----------
    channels : tuple of ScopeChannel
    store : SignalStore
        Holds the samples; its lock is held while they are drawn.
    x : Extent
    fresh : float or None
        From which position on samples are new since the reader's last look.
    others : tuple of str
        Channels that are not shown.
    marks : EventMarks or None
    samples : int
        How many samples of all channels were settled.
    """

    channels: tuple[ScopeChannel, ...]
    store: SignalStore
    keys: tuple[str, ...]
    x: Extent
    last: float
    others: tuple[str, ...]
    marks: EventMarks | None
    stages: Stages
    settled_rows: int
    rows: int
    fresh: float | None = None

    @property
    def value(self) -> str:
        return ", ".join(dict.fromkeys(channel.column for channel in self.channels))

    @property
    def calendar(self) -> bool:
        return self.channels[0].axis.calendar

    @property
    def zone(self) -> str | None:
        return self.channels[0].axis.zone

    @property
    def missing(self) -> int:
        """How many samples are missing between samples that came, in all channels."""
        return sum(runs[-1][1] - runs[0][0] - channel.trace.samples for channel in self.channels
                   if (runs := channel.trace.seen))

    def compared(self, earlier: ScopeFrame) -> Self:
        """The same, with what is new since an earlier picture marked."""
        new = self.last - earlier.last
        # Where half of it is new, a mark would say nothing.
        return replace(self, fresh=earlier.last) if 0 < new * 2 < self.last - self.x.low else self


@dataclass(frozen=True, slots=True)
class ScopeMemory:
    """The samples that were taken over, and ranges of axes."""

    store: SignalStore | None = None
    x: Extent | None = None
    y: tuple[tuple[Channel, Extent], ...] = ()


def scope(result: Result, columns: ColumnRoles, sampling: Sampling, memory: ScopeMemory, style: Style,
          marks: Result | None, *, max_samples: int, maximum: int = MAX_CHANNELS,
          read: ReadAgain | None = None) -> tuple[ScopeFrame | None, ScopeMemory]:
    """Draw a result as channels. None when it has no samples."""
    store = memory.store or SignalStore(sampling, columns.values, columns.keys, max_samples, maximum, read)
    store.take(result)
    known = dict(memory.y)
    channels = []
    for slot, name in enumerate(dict.fromkeys((*store.traces, *store.tail))):
        tail = store.tail.get(name)
        trace = store.traces.get(name) or SampleTrace(store.tail[name].dtype)
        ends = [each.pyramid.ends for each in (trace, tail) if each is not None]
        found = [end for end in ends if end is not None]
        if trace.seen or (tail is not None and tail.seen):
            low, high = min((low for low, _ in found), default=0.0), max((high for _, high in found), default=1.0)
            known[name] = grown(known.get(name), low, high)
            channels.append(ScopeChannel(*name, slot, trace, tail, store.axis(name), limited(known[name], style.ylim)))
    if not channels:
        return None, ScopeMemory(store, memory.x, memory.y)
    reach = [channel.axis.positions(_ends(channel)) for channel in channels]
    first, last = min(float(each[0]) for each in reach), max(float(each[1]) for each in reach)
    x = grown(memory.x, first, last, calendar=channels[0].axis.calendar)
    names = tuple(f"{key} · {column}" if key else column for key, column in store.others)
    picture = ScopeFrame(tuple(channels), store, columns.keys, limited(x, style.xlim), last, names,
                    None if marks is None else event_marks(marks), result.stages, result.settled, len(result.table))
    return picture, ScopeMemory(store, x, tuple(known.items()))


def _ends(channel: ScopeChannel) -> np.ndarray:
    first, stop = channel.reach
    return np.array([first, stop - 1])
