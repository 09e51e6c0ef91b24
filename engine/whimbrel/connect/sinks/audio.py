"""Directory of audio files as a sink."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column
from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.signals.audio_files import COMMENT
from whimbrel.connect.signals.signal_files import signal_library
from whimbrel.connect.sinks.committed_files import file_name
from whimbrel.connect.sinks.folder_sink import FolderSink
from whimbrel.connect.sinks.sample_numbers import SampleNumbers
from whimbrel.connect.validation import check_choice, is_whole
from whimbrel.errors import PlanError, SinkError
from whimbrel.plan.sink import Token

_SUBTYPES = {("wav", "int16"): "PCM_16", ("wav", "int32"): "PCM_32", ("wav", "float32"): "FLOAT",
             ("wav", "float64"): "DOUBLE", ("flac", "int16"): "PCM_16", ("flac", "int32"): "PCM_24"}
_MAX_BYTES = 1 << 31
"""Largest size of the samples of a file: WAV counts bytes in 32 bits."""


class AudioSink(FolderSink):
    """Sink of samples in audio files: WAV or FLAC.

    A gap ends a file, and no file has samples that were not there. Each file has the time of its first sample in its
    comment, so that ``wb.read_audio(folder)`` reads the same stream, with its gaps. A result without gaps is one file
    if the run has no checkpoints. With checkpoints, each one ends a file.

    Files appear when they are complete and durable, exactly once.

    Parameters
    ----------
    folder : str or path
        The folder, which is created if it does not exist. A new run needs a folder without rows.
    rate : int
        Samples per second.
    format : {"flac", "wav"}
        FLAC is for int16, and for int32 whose lowest 8 bits are 0. WAV is for int16, int32, float32 and float64.
    """

    def __init__(self, folder: FilePath, *, rate: int, format: Literal["flac", "wav"] = "flac") -> None:
        super().__init__(folder, "sinks.audio")
        check_choice("format", format, ("flac", "wav"), where=self.where)
        if not is_whole(rate) or rate < 1:
            raise PlanError(f"rate must be an integer of at least 1, got {rate!r}.", where=self.where,
                            hint="Use for example rate=48_000; audio files have whole rates.")
        self._library = signal_library("soundfile", "soundfile", "signals", "sinks.audio")
        self.rate, self.format = int(rate), format
        self.ending = f".{format}"
        self._file: Any = None
        self._first = self._count = self._next = 0

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        self._numbers = SampleNumbers(schema, self.rate, self.where)
        self._channels = [name for name in schema.names if name not in ("start", "end")]
        kinds = {str(np.dtype(schema.field(name).type.to_pandas_dtype())) if pa.types.is_primitive(
            schema.field(name).type) else str(schema.field(name).type) for name in self._channels}
        subtype = _SUBTYPES.get((self.format, next(iter(kinds)))) if len(kinds) == 1 else None
        if subtype is None:
            known = ", ".join(type_ for format_, type_ in _SUBTYPES if format_ == self.format)
            raise SinkError(f"Channels of {self.format} must have one type of {known}, got {', '.join(sorted(kinds))}.",
                            where=self.where, hint="Use .select(...) with a cast, or another format=.")
        self._subtype, self._file, self._count = subtype, None, 0
        super().open(schema, rows, token)

    def write(self, rows: pa.RecordBatch) -> None:
        samples = self._samples(rows)
        for begin, count, number in self._numbers.runs(rows.column("start")):
            if self._file is not None and number != self._next:
                self._finish()
            for row in range(begin, begin + count, 1 << 18):
                part = samples[row : min(row + (1 << 18), begin + count)]
                if self._file is None:
                    self._begin(rows.column("start")[row])
                self._write(part)
                if self._count * part.itemsize * len(self._channels) >= _MAX_BYTES - (1 << 25):
                    self._finish()
            self._next = number + count

    def _samples(self, rows: pa.RecordBatch) -> np.ndarray[Any, Any]:
        """A row for each sample, and a column for each channel."""
        columns = []
        for name in self._channels:
            column = Column.from_arrow(rows.column(name))
            if column.valid is not None:
                at = rows.column("start")[int(column.valid.argmin())].as_py()
                raise SinkError(f"Audio files have no nulls, but {name!r} is null at {at}.", where=self.where,
                                hint="Write each channel to files of its own, or use .where(...) to leave out nulls.")
            columns.append(column.values)
        samples = np.stack([np.asarray(values) for values in columns], 1)
        if self._subtype == "PCM_24" and (samples & 255).any():
            raise SinkError("FLAC keeps 24 bits, but int32 samples have more.", where=self.where,
                            hint='Use format="wav".')
        return samples

    def _begin(self, start: pa.Scalar) -> None:
        self._first, self._count = self._rows, 0
        try:
            self._file = self._library.SoundFile(self._path, "w", self.rate, len(self._channels), self._subtype,
                                                 format=self.format.upper())
            self._file.comment = f"{COMMENT} start={_iso(start)}"
        except (self._library.LibsndfileError, OSError) as error:
            raise SinkError(f"Cannot write to {self.name!r}: {error}", where=self.where,
                            hint=f"Free some disk space. {self.again}") from error

    @property
    def _path(self) -> Path:
        return self.folder / f".rows-{self._first:015}-unfinished{self.ending}"

    def _write(self, samples: np.ndarray[Any, Any]) -> None:
        try:
            self._file.write(samples)
        except (self._library.LibsndfileError, OSError) as error:
            raise SinkError(f"Cannot write to {self.name!r}: {error}", where=self.where,
                            hint=f"Free some disk space. {self.again}") from error
        self._count += len(samples)

    def _finish(self) -> None:
        """Make the file durable that is being written."""
        if self._file is None:
            return
        path, self._file = self._path, self._file.close()
        name = file_name(self._first, self._first + self._count, self.ending)
        try:
            with path.open("rb") as file:
                os.fsync(file.fileno())
            path.rename(self.folder / f".{name}")
        except OSError as error:
            raise self._unwritten(error, f"Free some disk space. {self.again}") from error
        self._written(name, self._count)

    def prepare(self) -> Token:
        if self.checkpointed:
            self._finish()
        return super().prepare()

    def damage(self, path: Path, rows: int) -> str:
        try:
            with self._library.SoundFile(path) as file:
                frames, channels = file.frames, file.channels
        except self._library.LibsndfileError:
            return "cannot be read as audio"
        if frames != rows:
            return f"has {frames:,} samples"
        return "" if channels == len(self._channels) else "has other channels"

    def close(self) -> None:
        if self._file is not None and not self.checkpointed:  # what is written is settled, and no checkpoint has it
            self._finish()
            self.commit(self._files)
        elif self._file is not None:
            self._file = self._file.close()
        super().close()


def _iso(start: pa.Scalar) -> str:
    """A time with all of its digits."""
    ticks, unit = start.value, start.type.unit
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    whole, rest = divmod(ticks, per_second)
    text = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=whole)).replace(tzinfo=None).isoformat()
    digits = len(str(per_second)) - 1
    zone = "+00:00" if start.type.tz else ""
    return f"{text}.{rest:0{digits}}{zone}" if rest else f"{text}{zone}"
