"""Samples of one signal that windows and ranges may still need."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from whimbrel.batch import Column, SampleBlocks, Segments, SegmentType, runs_of
from whimbrel.errors import KernelError
from whimbrel.operators.signals.sampling import Integers

_NO_GAPS = np.empty((0, 2), np.int64)


class SignalBuffer:
    """The samples of one signal from a number on, without a copy, and the gaps between them.

    Attributes
    ----------
    begin, stop : int
        Number of the first sample, and of the one after the last.
    gaps : array of int64, (gaps, 2)
        Numbers [from, to) of samples that no row had.
    channels : list of Column
        One segment each, from `begin` to `stop`; missing samples of a channel are nulls, too.
    """

    def __init__(self, types: Sequence[SegmentType]) -> None:
        self.types = tuple(types)
        self.begin = self.stop = 0
        self.gaps = _NO_GAPS
        self.channels: list[Column] = []
        self.started = False

    def fork(self) -> SignalBuffer:
        clone = copy.copy(self)
        clone.channels = list(self.channels)
        return clone

    def __len__(self) -> int:
        return self.stop - self.begin

    @property
    def nbytes(self) -> int:
        return sum(channel.values.nbytes for channel in self.channels)

    def add(self, first: Integers, rows: Integers, count: Integers, columns: Sequence[Column], where: str) -> None:
        """Take in runs of samples: their first numbers, the rows at which they begin in the columns, how many."""
        begin, last = int(first[0]), int(first[-1] + count[-1])
        continues = len(first) == 1 and (begin == self.stop or not self.started)
        if not continues:
            self._find_gaps(first, count, where)
        channels = []
        for number, (type_, column) in enumerate(zip(self.types, columns, strict=True)):
            values, valid = column.samples
            blocks = SampleBlocks.of(values, missing=runs_of(valid))
            new = Segments(type_, blocks, first, count, rows)
            if continues:
                channels.append(Column(type_, self._continued(number, new)))
            else:
                held = [self.channels[number].segments] if self.started else []
                channels.append(Column(type_, Segments.concat([*held, new]).fused(np.array([0]))))
        if not self.started:
            self.begin, self.started = begin, True
        self.channels, self.stop = channels, last

    def _find_gaps(self, first: Integers, count: Integers, where: str) -> None:
        before = np.append(self.stop if self.started else first[0], (first + count)[:-1])
        if (first < before).any():
            number = int(first[np.argmax(first < before)])
            raise KernelError(f"Sample {number} comes twice.", where=where,
                              hint="Name the key of the signals in assume(rate=..., per=...).")
        lost = first > before
        self.gaps = np.concatenate([self.gaps, np.stack([before[lost], first[lost]], axis=1)])

    def _continued(self, channel: int, new: Segments) -> Segments:
        """The samples of a channel, and those that follow them at once."""
        if not self.started or self.begin == self.stop:
            return new
        held = self.channels[channel].segments
        if int(held.stop[0]) != int(held.blocks.bounds[-1]) or int(new.position[0]):
            return Segments.concat([held, new]).fused(np.array([0]))
        return Segments(new.type, SampleBlocks.joined([held.blocks, new.blocks]), held.index, held.size + new.size,
                        held.position)

    def runs(self) -> tuple[Integers, Integers]:
        """Where runs without a gap begin and end."""
        if not len(self.gaps):
            return np.array([self.begin]), np.array([self.stop])
        return np.append(self.begin, self.gaps[:, 1]), np.append(self.gaps[:, 0], self.stop)

    def cut(self, index: Integers, size: Integers) -> list[Segments]:
        """Segments from these numbers on; samples outside of what is here are missing."""
        before = max(0, self.begin - int(index.min())) if len(index) else 0
        after = max(0, int((index + size).max()) - self.stop) if len(index) else 0
        cuts = []
        for type_, channel in zip(self.types, self.channels, strict=True):
            held = channel.segments
            blocks, begin = held.blocks, int(held.position[0])
            if before or after:  # the blocks may have other samples there
                inner = blocks.between(begin, begin + len(self))
                parts = [SampleBlocks.absent(blocks.dtype, before), inner, SampleBlocks.absent(blocks.dtype, after)]
                blocks, begin = SampleBlocks.joined([part for part in parts if part.bounds[-1]]), before
            cuts.append(Segments(type_, blocks, index, size, begin + index - self.begin))
        return cuts

    def drop_before(self, number: int) -> None:
        """Forget samples before a number."""
        number = min(number, self.stop)
        if number <= self.begin:
            return
        channels = []
        for channel in self.channels:
            held = channel.segments
            start = int(held.position[0]) + number - self.begin
            blocks, start = held.blocks.around(start, start + self.stop - number)
            channels.append(Column(channel.type, Segments(held.type, blocks, np.array([number]),
                                                          np.array([self.stop - number]), np.array([start]))))
        self.channels, self.begin = channels, number
        if len(self.gaps):
            gaps = np.maximum(self.gaps, number)
            self.gaps = gaps[gaps[:, 0] < gaps[:, 1]]
