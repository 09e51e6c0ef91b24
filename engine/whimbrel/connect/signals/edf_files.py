"""Source of EDF and BDF files."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime, time
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column, Field
from whimbrel.clock import Instant, TickUnit, Timebase, parse_instant, sample_period, ticks_per_second
from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.signals.edf_header import BDF_BYTES, EdfLayout
from whimbrel.connect.signals.sample_ranges import SampleRanges
from whimbrel.connect.signals.sample_source import ReadSamples, SampleSource
from whimbrel.connect.signals.signal_files import (
    chosen_channels,
    distinct_labels,
    existing_file,
    signal_library,
    stamp_of,
)
from whimbrel.connect.signals.timebase_options import check_unit, sample_schema
from whimbrel.errors import SourceError


class EdfSource(SampleSource):
    """Source of the signals of an EDF or BDF file that have one rate.

    Parameters
    ----------
    path : str or path
    channels : str or sequence of str, optional
        Labels of signals of one rate. Default: all.
    start : str, datetime or int (ticks), optional
        Time of the first sample. Default: that of the file.
    physical : bool
        Whether samples are in physical units, as float64, or as they are stored.
    unit, zone, name
        As for arrays.
    """

    def __init__(self, path: FilePath, *, channels: str | Sequence[str] | None = None, start: Instant | None = None,
                 physical: bool = True, unit: TickUnit = "ns", zone: str | None = None,
                 name: str | None = None) -> None:
        where = f"read_edf({str(path)!r})"
        check_unit(unit, zone, where)
        library = signal_library("edfio", "edfio", "signals", "read_edf")
        self.file = existing_file(path, where)
        self._layout = layout = EdfLayout.of(self.file, where)
        file = _header(library, layout, self.file.name, where)
        labels = distinct_labels([signal.label for signal in file.signals])
        rates = [layout.rate(each) for each in layout.signals]
        chosen = chosen_channels(labels, rates, channels, where)
        self._signals = {labels[each]: layout.signals[each] for each in chosen}
        self._scales = {labels[each]: _scale(file.signals[each]) for each in chosen} if physical else {}
        rate = rates[chosen[0]]
        self._count = layout.counts[layout.signals[chosen[0]]]
        self._first = layout.first_samples(rate, self.file, where)
        type_ = pa.float64() if physical else pa.int32() if layout.sample_bytes == BDF_BYTES else pa.int16()
        schema = sample_schema([Field(labels[each], type_) for each in chosen], unit, zone, where)
        begin = _start(file, layout.clock, self.file.name, where) if start is None else start
        at = Fraction(parse_instant(begin, unit, zone, name="start", where=where))
        if start is None:
            at += round(layout.onsets[0] * (ticks_per_second(unit) or 1))
        timebase = Timebase(sample_period(rate, unit, where=where), at, "")
        super().__init__(name or self.file.name, schema, timebase,
                         SampleRanges.of((first, first + self._count) for first in self._first.tolist()))

    @contextmanager
    def opened(self, columns: tuple[str, ...]) -> Generator[ReadSamples]:
        def read(first: int, count: int) -> tuple[Column, ...]:
            begin = int(np.searchsorted(self._first, first, "right")) - 1
            stop = int(np.searchsorted(self._first, first + count))
            skip = first - int(self._first[begin])
            return tuple(self._column(name, begin, stop, skip, count) for name in columns)

        yield read

    def _column(self, name: str, begin: int, stop: int, skip: int, count: int) -> Column:
        values = self._layout.digital(self._signals[name], begin, stop)[skip : skip + count]
        if name in self._scales:
            gain, offset = self._scales[name]
            values = (values + offset) * gain
        return Column(self.schema.type_of(name), values)

    def stamp(self) -> str:
        return stamp_of([self.file])


def _header(library: Any, layout: EdfLayout, name: str, where: str) -> Any:
    """The header as edfio reads it, from the first record alone."""
    read = library.read_bdf if layout.sample_bytes == BDF_BYTES else library.read_edf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the number of records
        try:
            return read(layout.head)
        except Exception as error:  # noqa: BLE001 - of whatever kind
            raise SourceError(f"Cannot read {name} as EDF: {error}", where=where,
                              hint="Use a file in EDF, EDF+, BDF or BDF+.") from None


def _start(file: Any, clock: str, name: str, where: str) -> datetime:
    """The start that the header has, in whole seconds; the first record has the rest."""
    try:
        hour, minute, second = map(int, clock.split("."))
        return datetime.combine(file.startdate, time(hour, minute, second))
    except (ValueError, TypeError):  # also of anonymized dates
        raise SourceError(f"{name} does not say when it starts.", where=where,
                          hint='Use start=, such as start="2024-01-01".') from None


def _scale(signal: Any) -> tuple[float, float]:
    """The gain of a signal, and the offset that is added before."""
    digital, physical = signal.digital_range, signal.physical_range
    if digital.max == digital.min:
        return 1.0, 0.0
    gain = (physical.max - physical.min) / (digital.max - digital.min)
    return gain, physical.max / gain - digital.max if gain else 0.0
