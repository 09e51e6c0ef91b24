"""Extremes or single samples of the visible range."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.result import Floats
from whimbrel_workbench.frames.sample_axis import SampleAxis
from whimbrel_workbench.frames.sample_trace import SampleTrace
from whimbrel_workbench.frames.scope import ScopeChannel, ScopeFrame

MAX_READ: Final = 2_000_000
"""So many samples are read again at most."""

SINGLE_PX: Final = 2
"""Samples that are farther apart are drawn one by one."""

Stretch = tuple[Floats, Floats, Floats]
"""Positions, and the least and greatest value at each: consecutive samples or columns without a gap."""


@dataclass(frozen=True, slots=True, eq=False)
class VisibleSamples:
    """The samples of one channel in a range of the axis.

    Parameters
    ----------
    channel : ScopeChannel
    settled, provisional : list of Stretch
    single : bool
        Whether they are single samples.
    coarse : bool
        Whether some columns are wider than a pixel, since their samples are no longer in memory.
    """

    channel: ScopeChannel
    settled: list[Stretch]
    provisional: list[Stretch]
    single: bool
    coarse: bool = False


def visible_samples(picture: ScopeFrame, x: Extent, width_px: int) -> list[VisibleSamples]:
    """What to draw of each channel in a range that is so many pixels wide."""
    with picture.store.lock:
        return [_of_channel(channel, x, width_px) for channel in picture.channels]


def numbers_in_sight(channel: ScopeChannel, x: Extent) -> tuple[int, int]:
    """From which sample up to which a range of the axis has any, and one more on each side."""
    first, stop = channel.reach
    begin, end = channel.axis.positions(np.array([first, stop - 1])).tolist()
    if x.high < begin or x.low > end:
        return first, first
    return (first if x.low <= begin else max(first, channel.axis.first_at(x.low) - 1),
            stop if x.high >= end else min(stop, channel.axis.first_at(x.high) + 2))


def dropped(picture: ScopeFrame, x: Extent) -> bool:
    """Whether a range lacks values that can be read again, and is short enough for that."""
    if picture.store.read is None:
        return False
    with picture.store.lock:
        ranges = [(channel, *numbers_in_sight(channel, x)) for channel in picture.channels]
        samples = sum(stop - first for _, first, stop in ranges)
        return samples <= MAX_READ and any(channel.trace.dropped(first, stop) for channel, first, stop in ranges)


def _of_channel(channel: ScopeChannel, x: Extent, width_px: int) -> VisibleSamples:
    first, stop = numbers_in_sight(channel, x)
    if first == stop:
        return VisibleSamples(channel, [], [], single=False)
    begin, end = channel.axis.positions(np.array([first, stop - 1])).tolist()
    pixels = max(1.0, width_px * (end - begin) / (x.high - x.low))
    single = pixels > SINGLE_PX * (stop - first - 1)
    drawn = [_stretches(trace, channel.axis, first, stop, int(pixels), single=single) if trace is not None else
             ([], False) for trace in (channel.trace, channel.tail)]
    (settled, coarse), (provisional, _) = drawn
    if single and provisional:
        provisional = _joined(channel, provisional)
    return VisibleSamples(channel, settled, provisional, single, coarse)


def _stretches(trace: SampleTrace, axis: SampleAxis, first: int, stop: int, most: int, *,
               single: bool) -> tuple[list[Stretch], bool]:
    columns = trace.columns(first, stop, stop - first if single else most)
    there = np.flatnonzero(columns.there)
    numbers = np.clip(columns.first + there * columns.size + columns.size // 2, first, stop - 1)
    x = axis.positions(numbers)
    low, high = (each[there].astype(np.float64) for each in (columns.low, columns.high))
    edges = [0, *(np.flatnonzero(np.diff(there) != 1) + 1).tolist(), len(there)]
    return [(x[begin:end], low[begin:end], high[begin:end]) for begin, end in pairwise(edges)
            if begin < end], columns.coarse


def _joined(channel: ScopeChannel, provisional: list[Stretch]) -> list[Stretch]:
    """Provisional samples, the first of which follow a settled one, with that one."""
    assert channel.tail is not None, "there are provisional samples"
    first = channel.tail.seen[0][0]
    before = channel.trace.columns(first - 1, first, 1) if channel.trace.seen else None
    if before is None or not before.there.all():
        return provisional
    x, low, high = provisional[0]
    at = channel.axis.positions(np.array([first - 1]))
    return [(np.concatenate([at, x]), np.concatenate([before.low.astype(float), low]),
             np.concatenate([before.high.astype(float), high])), *provisional[1:]]
