"""Source of audio files: WAV, FLAC, OGG and others of libsndfile."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column, Field
from whimbrel.clock import Instant, TickUnit, Timebase, parse_instant, sample_period
from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.signals.riff_header import missing_bytes
from whimbrel.connect.signals.sample_ranges import SampleRanges
from whimbrel.connect.signals.sample_source import ReadSamples, SampleSource
from whimbrel.connect.signals.signal_files import existing_file, files_of, signal_library, stamp_of
from whimbrel.connect.signals.timebase_options import check_unit, sample_schema
from whimbrel.errors import SourceError

AUDIO_ENDINGS = (".wav", ".flac", ".ogg", ".aiff", ".aif", ".w64", ".rf64", ".au")
COMMENT = "whimbrel samples"
"""Begins the comment of an audio file that says where its first sample is."""

_TYPES = {"PCM_S8": "int16", "PCM_U8": "int16", "PCM_16": "int16", "ULAW": "int16", "ALAW": "int16",
          "PCM_24": "int32", "PCM_32": "int32", "DOUBLE": "float64"}
"""NumPy type of a subtype; the others, which are compressed with loss or floats, are float32."""
_UNKNOWN_FRAMES = 2**62
_UTC = "+00:00"


@dataclass(frozen=True)
class AudioFile:
    """An audio file as its header describes it."""

    path: Path
    rate: int
    channels: int
    frames: int
    type: str
    comment: str


class AudioSource(SampleSource):
    """Source of the samples of audio files, which are read in blocks.

    Parameters
    ----------
    path : str, path or list of them
        A file, a folder, or several files.
    start : str, datetime, int (ticks) or list of them, optional
        Time of the first sample, for each file. Default: what the audio sink wrote to the files, or 0.
    unit, zone, name
        As for arrays. The default zone is UTC for files of the audio sink with a zone.
    channels : sequence of str, optional
        Names of the channels.
    """

    def __init__(self, path: FilePath | Iterable[FilePath], *, start: Instant | Sequence[Instant] | None = None,
                 unit: TickUnit = "ns", zone: str | None = None, channels: Sequence[str] | None = None,
                 name: str | None = None) -> None:
        where = f"read_audio({path!r})"
        check_unit(unit, zone, where)
        self._where, self._library = where, signal_library("soundfile", "soundfile", "signals", "read_audio")
        self.files = [self._opened_header(file) for file in _paths(path, where)]
        noted = [self._noted_start(file) or "" for file in self.files]
        if zone is None and start is None and any(each.endswith(_UTC) for each in noted):
            zone = "UTC"
        first = self.files[0]
        for file in self.files[1:]:
            if (file.rate, file.channels, file.type) != (first.rate, first.channels, first.type):
                raise SourceError(f"Files that are read together must be alike: {first.path.name} has {_kind(first)}, "
                                  f"and {file.path.name} {_kind(file)}.", where=where,
                                  hint="Use one stream for each kind of file.")
        names = channel_names(first.channels) if channels is None else list(channels)
        if len(names) != first.channels:
            raise SourceError(f"channels must name the {first.channels} channels of {first.path.name}, got "
                              f"{len(names)} names.", where=where, hint="Add a name for each channel.")
        type_ = pa.from_numpy_dtype(np.dtype(first.type))
        schema = sample_schema([Field(each, type_) for each in names], unit, zone, where)
        period = sample_period(first.rate, unit, where=where)
        starts = self._starts(start, unit, zone)
        timebase = Timebase(period, Fraction(min(starts)), "")
        self._first = np.array([round((at - timebase.phase) / period) for at in starts], np.int64)
        self._sort_files()
        super().__init__(name or first.path.name, schema, timebase,
                         SampleRanges.of(zip(self._first.tolist(), self._stop.tolist(), strict=True)))

    def _starts(self, start: Instant | Sequence[Instant] | None, unit: TickUnit, zone: str | None) -> list[int]:
        """The time of the first sample of each file."""
        given: list[Any]
        if start is None:
            noted = [self._noted_start(file) for file in self.files]
            if len(noted) > 1 and None in noted:
                missing = self.files[noted.index(None)].path.name
                raise SourceError(f"Several audio files need their times, but {missing} does not say when it starts.",
                                  where=self._where, hint="Use start=[...] with a time for each file.")
            given = [0 if each is None else each for each in noted]
        else:
            several = isinstance(start, Sequence) and not isinstance(start, str)
            given = list(start) if several else [start]  # type: ignore[arg-type]
        if len(given) != len(self.files):
            raise SourceError(f"start must have a time for each of the {len(self.files)} files, got {len(given)}.",
                              where=self._where, hint="Use start=[...] with a time for each file.")
        return [parse_instant(each, unit, zone, name="start", where=self._where) for each in given]

    def _noted_start(self, file: AudioFile) -> str | None:
        """The start that the audio sink has written."""
        head, _, start = file.comment.partition(" start=")
        return start.split()[0] if head == COMMENT and start.strip() else None

    def _sort_files(self) -> None:
        """Put files in the order of time, and refuse those that overlap."""
        order = np.argsort(self._first, kind="stable")
        self.files = [self.files[each] for each in order]
        self._first = self._first[order]
        self._stop = self._first + np.array([file.frames for file in self.files], np.int64)
        overlap = np.flatnonzero(self._first[1:] < self._stop[:-1])
        if len(overlap):
            one, other = self.files[overlap[0]].path.name, self.files[overlap[0] + 1].path.name
            raise SourceError(f"{other} begins before {one} ends.", where=self._where,
                              hint="Check start=, or read one of the two.")

    def _opened_header(self, path: Path) -> AudioFile:
        try:
            with self._library.SoundFile(path) as file:
                found = AudioFile(path, file.samplerate, file.channels, file.frames,
                                  _TYPES.get(file.subtype, "float32"), file.comment)
        except self._library.LibsndfileError as error:
            raise SourceError(f"Cannot read {path.name} as audio: {error.error_string}", where=self._where,
                              hint="Use a WAV, FLAC or OGG file.") from None
        if missing := missing_bytes(path):
            raise SourceError(f"The header and the file disagree: {path.name} is {missing:,} bytes shorter than its "
                              "header says.", where=self._where,
                              hint="Copy the file again, or rewrite it with soundfile to keep what is there.")
        if found.frames >= _UNKNOWN_FRAMES:
            raise SourceError(f"The header of {path.name} does not say how many samples there are.", where=self._where,
                              hint="Rewrite the file with soundfile.")
        return found

    @contextmanager
    def opened(self, columns: tuple[str, ...]) -> Generator[ReadSamples]:
        positions = [self.schema.index(name) for name in columns]
        held: list[Any] = [-1, None]  # the file that is open

        def read(first: int, count: int) -> tuple[Column, ...]:
            parts = []
            while count:
                number = int(np.searchsorted(self._first, first, "right")) - 1
                if held[0] != number:
                    if held[1] is not None:
                        held[1].close()
                    held[:] = [number, self._library.SoundFile(self.files[number].path)]
                some = min(count, int(self._stop[number]) - first)
                parts.append(self._read(held[1], self.files[number], first - int(self._first[number]), some))
                first, count = first + some, count - some
            samples = parts[0] if len(parts) == 1 else np.concatenate(parts)
            return tuple(Column(self.schema.fields[each].type, samples[:, each]) for each in positions)

        try:
            yield read
        finally:
            if held[1] is not None:
                held[1].close()

    def _read(self, file: Any, header: AudioFile, frame: int, count: int) -> np.ndarray[Any, Any]:
        try:
            if file.tell() != frame:
                file.seek(frame)
            samples = file.read(count, dtype=header.type, always_2d=True)
        except self._library.LibsndfileError as error:
            raise SourceError(f"Cannot read {header.path.name} from sample {frame:,} on: {error.error_string}",
                              where=self._where, hint="Copy the file again; it may be truncated.") from None
        if len(samples) < count:
            raise SourceError(f"The header and the file disagree: {header.path.name} has {frame + len(samples):,} "
                              f"samples, but its header says {header.frames:,}.", where=self._where,
                              hint="Copy the file again, or rewrite it with soundfile to keep what is there.")
        return samples

    def stamp(self) -> str:
        return stamp_of([file.path for file in self.files])


def channel_names(count: int) -> list[str]:
    """Names of audio channels.

    >>> channel_names(2), channel_names(3)
    (['left', 'right'], ['ch1', 'ch2', 'ch3'])
    """
    return ["left", "right"] if count == 2 else [f"ch{number + 1}" for number in range(count)]


def _paths(path: FilePath | Iterable[FilePath], where: str) -> list[Path]:
    if isinstance(path, (str, os.PathLike)):
        folder = Path(path).expanduser()
        return files_of(folder, AUDIO_ENDINGS, where) if folder.is_dir() else [existing_file(path, where)]
    if not isinstance(path, Iterable) or not (files := list(path)):
        raise SourceError(f"path must be a path or a list of paths, got {path!r}.", where=where,
                          hint="Use a file, a folder, or a list of files.")
    return [existing_file(file, where) for file in files]


def _kind(file: AudioFile) -> str:
    return f"{file.channels} channels of {file.type} at {file.rate:,} per second"
