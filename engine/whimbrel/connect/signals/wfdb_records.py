"""Source of records of PhysioNet in WFDB format."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column, Field
from whimbrel.clock import Instant, TickUnit
from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.signals.sample_ranges import SampleRanges
from whimbrel.connect.signals.sample_source import ReadSamples, SampleSource
from whimbrel.connect.signals.signal_files import (
    chosen_channels,
    distinct_labels,
    existing_file,
    signal_library,
    stamp_of,
)
from whimbrel.connect.signals.timebase_options import check_unit, sample_schema, sample_timebase
from whimbrel.errors import SourceError

_GAP = "~"


class WfdbSource(SampleSource):
    """Source of the signals of a WFDB record that have one rate.

    Parameters
    ----------
    path : str or path
        The record, with or without ``.hea``.
    channels : str or sequence of str, optional
        Names of signals of one rate. Default: all.
    start : str, datetime or int (ticks), optional
        Time of the first sample. Default: that of the record, or 0.
    physical : bool
        Whether samples are in physical units, as float64, or as they are stored, as int64.
    unit, zone, name
        As for arrays.
    """

    def __init__(self, path: FilePath, *, channels: str | Sequence[str] | None = None, start: Instant | None = None,
                 physical: bool = True, unit: TickUnit = "ns", zone: str | None = None,
                 name: str | None = None) -> None:
        where = f"read_wfdb({str(path)!r})"
        check_unit(unit, zone, where)
        self._where, self._physical = where, physical
        self._library = signal_library("wfdb", "wfdb", "wfdb", "read_wfdb")
        header = Path(path) if Path(path).suffix == ".hea" else Path(f"{Path(path)}.hea")
        self.file = existing_file(header, where)
        self._record = str(self.file.with_suffix(""))
        head = self._read_header(self._record)
        labels, frames = self._signals_of(head)
        self._labels = distinct_labels(labels)
        rate = Fraction(str(head.fs))
        chosen = chosen_channels(self._labels, [rate * each for each in frames], channels, where)
        self._per_frame = frames[chosen[0]]
        type_ = pa.float64() if physical else pa.int64()
        schema = sample_schema([Field(self._labels[each], type_) for each in chosen], unit, zone, where)
        begin = start if start is not None else head.base_datetime or 0
        timebase = sample_timebase(rate * self._per_frame, begin, unit, zone, where)
        super().__init__(name or head.record_name, schema, timebase, SampleRanges.of(self._runs(head)))
        self._check_length()

    def _read_header(self, record: str) -> Any:
        try:
            return self._library.rdheader(record, rd_segments=True)
        except Exception as error:  # noqa: BLE001 - of whatever kind
            raise SourceError(f"Cannot read the header of {Path(record).name}: {error}", where=self._where,
                              hint="Use a record in WFDB format, with its .hea file.") from None

    def _signals_of(self, head: Any) -> tuple[list[str], list[int]]:
        """Names of signals, and how many samples of each are in a frame."""
        segments = [each for each in getattr(head, "segments", None) or [head] if each is not None and each.n_sig]
        if not segments:
            return [], []
        first = segments[0]
        return ([str(each or "") for each in first.sig_name or [""] * first.n_sig],
                [int(each or 1) for each in first.samps_per_frame or [1] * first.n_sig])

    def _runs(self, head: Any) -> list[tuple[int, int]]:
        """Runs of samples: a segment called ``~`` is a gap."""
        per = self._per_frame
        if not hasattr(head, "seg_name"):
            if head.sig_len is None:
                raise SourceError(f"The header of {head.record_name} does not say how many samples there are.",
                                  where=self._where, hint="Add the number of samples to the .hea file.")
            return [(0, head.sig_len * per)]
        runs, at = [], 0
        for segment, length in zip(head.seg_name, head.seg_len, strict=True):
            if segment != _GAP:
                runs.append((at * per, (at + length) * per))
            at += length
        return runs

    def _check_length(self) -> None:
        """Read the last sample, which a truncated file lacks."""
        if self.rows:
            self._read(self.schema.names, self.runs.sample(self.rows - 1), 1)

    @contextmanager
    def opened(self, columns: tuple[str, ...]) -> Generator[ReadSamples]:
        yield lambda first, count: self._read(columns, first, count) if columns else ()

    def _read(self, columns: Sequence[str], first: int, count: int) -> tuple[Column, ...]:
        positions = [self._labels.index(name) for name in columns]
        per = self._per_frame
        begin, stop = first // per, -(-(first + count) // per)
        try:
            record = self._library.rdrecord(self._record, sampfrom=begin, sampto=stop, channels=positions,
                                            physical=self._physical, smooth_frames=False)
        except Exception as error:  # noqa: BLE001 - of whatever kind
            raise SourceError(f"The header and the file disagree, or the file is truncated: samples {first:,} to "
                              f"{first + count - 1:,} of {Path(self._record).name} cannot be read: {error}",
                              where=self._where, hint="Copy the files of the record again.") from None
        found = record.e_p_signal if self._physical else record.e_d_signal
        if found is None:
            whole = record.p_signal if self._physical else record.d_signal
            found = list(whole.T)
        skip = first - begin * per
        return tuple(self._column(name, np.asarray(values)[skip : skip + count])
                     for name, values in zip(columns, found, strict=True))

    def _column(self, name: str, values: np.ndarray[Any, Any]) -> Column:
        type_ = self.schema.type_of(name)
        if self._physical:
            there = ~np.isnan(values)  # the format marks missing samples
            return Column(type_, values.astype(np.float64, copy=False), None if there.all() else there)
        return Column(type_, values.astype(np.int64, copy=False))

    def stamp(self) -> str:
        folder, name = self.file.parent, self.file.stem
        return stamp_of(sorted(each for each in folder.iterdir() if each.name.startswith(name)))
