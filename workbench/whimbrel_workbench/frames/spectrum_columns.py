"""Spectra of a signal in columns: the maximum over frames."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from whimbrel_workbench.frames.playback_audio import stretch_values
from whimbrel_workbench.frames.result import Floats
from whimbrel_workbench.frames.scope import ScopeChannel

Levels = NDArray[np.float32]

_LONGEST: Final = 1_024
_SHORTEST: Final = 32
_FRAMES_IN_SIGHT: Final = 64
"""With fewer samples in sight than so many longest frames, frames are shorter."""

_BATCH: Final = 256
_SILENCE: Final = 1e-20
_MAX_KEPT: Final = 20_000


@dataclass(slots=True)
class SpectrumColumn:
    """Power of each frequency: of one frame, or the maximum over several, in decibels.

    Parameters
    ----------
    levels : array of float32
        NaN where no frame has all of its samples.
    frames : int
        How many frames were read.
    dropped : bool
        Whether the samples of its first frame are no longer in memory: that one is read again, and no other.
    """

    levels: Levels
    frames: int
    dropped: bool = False


@dataclass(slots=True)
class SpectrumColumns:
    """The columns of what is in sight; columns stay known while only the range moves.

    Frames overlap by half and have a Hann window. A frame with a missing sample is left out.

    Parameters
    ----------
    channel : ScopeChannel
    frame : int
        Samples of a frame.
    size : int
        Samples of a column, which begins at a multiple of it.
    """

    channel: ScopeChannel
    frame: int = 0
    size: int = 0
    _known: dict[int, SpectrumColumn] = field(default_factory=dict)
    _visible: range = range(0)

    def show(self, channel: ScopeChannel, first: int, stop: int, maximum: int) -> None:
        """Show a range of samples in at most so many columns, with one frame of each."""
        frame = min(_LONGEST, 1 << max(0, (stop - first) // _FRAMES_IN_SIGHT).bit_length())
        frame = max(_SHORTEST, frame)
        size = max(1, -(-(stop - first) // maximum), frame // 8)
        if (frame, size) != (self.frame, self.size) or channel.trace is not self.channel.trace or (
                len(self._known) > _MAX_KEPT):
            self._known = {}
        self.channel, self.frame, self.size = channel, frame, size
        settled = channel.trace.seen[-1][1] if channel.trace.seen else 0
        # The last columns change while samples come.
        self._known = {number: column for number, column in self._known.items()
                       if ((number + 1) * size + frame <= settled or column.frames == 0)
                       and not self._read_since(number, column)}
        self._visible = range(first // size, -(-stop // size))
        wanted = [number for number in self._visible if number not in self._known]
        middles = [self._frame_of(number) for number in wanted]
        frames = np.stack([stretch_values(channel, first, first + frame) for first in middles]) if wanted else None
        if frames is not None:
            for number, begin, levels in zip(wanted, middles, _levels(frames), strict=True):
                dropped = bool(channel.trace.dropped(begin, begin + frame))
                self._known[number] = SpectrumColumn(levels, 0 if dropped else 1, dropped)

    def refine(self, budget_s: float) -> bool:
        """Read all frames of one column, and of more while there is time; whether some are left."""
        until_s = time.monotonic() + budget_s
        for read, number in enumerate(self._unread):
            if read and time.monotonic() > until_s:
                return True
            self._read_all(number)
        return False

    @property
    def _unread(self) -> list[int]:
        """Columns of which frames in memory are left."""
        return [number for number in self._visible if not self._known[number].dropped
                and self._known[number].frames < self.frames_of_column]

    @property
    def more(self) -> bool:
        """Whether frames in memory are left."""
        return bool(self._unread)

    @property
    def lost(self) -> list[tuple[int, int]]:
        """The samples of the frames that have to be read again: from which number up to which."""
        return [(self._frame_of(number), self._frame_of(number) + self.frame) for number in self._visible
                if self._known[number].dropped and not self._known[number].frames]

    def put(self, frames: Mapping[int, Floats]) -> None:
        """Show frames that were read again, by their first samples; those that are no longer in sight are left out."""
        for number in self._visible:
            values = frames.get(self._frame_of(number))
            if values is not None and len(values) == self.frame and self._known[number].dropped:
                self._known[number] = SpectrumColumn(_levels(values[None])[0], 1, dropped=True)

    def _read_since(self, number: int, column: SpectrumColumn) -> bool:
        """Whether the samples of an empty column were taken over since, and dropped."""
        begin = self._frame_of(number)
        return not column.dropped and bool(np.isnan(column.levels[0])) and bool(
            self.channel.trace.dropped(begin, begin + self.frame))

    def _frame_of(self, number: int) -> int:
        """Where the frame in the middle of a column begins."""
        return number * self.size + (self.size - self.frame) // 2

    @property
    def frames_of_column(self) -> int:
        """Frames that begin in a column."""
        return max(1, self.size // (self.frame // 2))

    @property
    def frames_read(self) -> int:
        return sum(self._known[number].frames for number in self._visible)

    @property
    def frames(self) -> int:
        return len(self._visible) * self.frames_of_column

    @property
    def ends(self) -> tuple[int, int]:
        """From which sample up to which the columns stand."""
        return self._visible.start * self.size, self._visible.stop * self.size

    def image(self, rows: int) -> Levels:
        """Levels by frequency, the lowest first, and by column; of several frequencies in a row the greatest."""
        levels = np.stack([self._known[number].levels for number in self._visible], axis=1)
        if len(levels) <= rows:
            return levels
        edges = np.linspace(0, len(levels), rows + 1).astype(np.int64)[:-1]
        return np.fmax.reduceat(levels, edges, axis=0)

    def _read_all(self, number: int) -> None:
        hop, first = self.frame // 2, number * self.size
        found = self._known[number].levels
        for begin in range(0, self.frames_of_column, _BATCH):
            count = min(_BATCH, self.frames_of_column - begin)
            values = stretch_values(self.channel, first + begin * hop, first + (begin + count - 1) * hop + self.frame)
            frames = np.lib.stride_tricks.sliding_window_view(values, self.frame)[::hop]
            found = np.fmax(found, np.fmax.reduce(_levels(frames), axis=0))
        self._known[number] = SpectrumColumn(found, self.frames_of_column)


def _levels(frames: Floats) -> Levels:
    """Power of the frequencies of each frame, in decibels."""
    window = np.hanning(frames.shape[1] + 1)[:-1]
    spectra = np.fft.rfft((frames * window).astype(np.float32), axis=1)
    power = spectra.real**2 + spectra.imag**2
    levels = 10 * np.log10(np.maximum(power / float(window.sum() ** 2), _SILENCE))
    levels[np.isnan(frames).any(axis=1)] = np.nan
    return np.asarray(levels, np.float32)
