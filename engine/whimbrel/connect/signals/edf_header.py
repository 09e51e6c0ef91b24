"""Layout and record times of EDF and BDF files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from whimbrel.batch import Ticks
from whimbrel.errors import SourceError

BDF_BYTES = 3
"""Bytes of a sample in BDF; EDF has two."""

_FIXED, _OF_SIGNAL = 256, 256
_LABEL_BYTES, _BEFORE_COUNTS = 16, 216
_ONSET = re.compile(rb"([+-]\d+(?:\.\d*)?)\x14")
_ANNOTATIONS = ("EDF Annotations", "BDF Annotations")


@dataclass(frozen=True)
class EdfLayout:
    """Where the samples of an EDF or BDF file are.

    Attributes
    ----------
    counts : tuple of int
        Samples of each signal in a data record.
    signals : tuple of int
        Positions of the signals that are no annotations.
    seconds : Fraction
        Duration of a data record.
    records : numpy.ndarray of uint8
        The bytes of all records, mapped.
    sample_bytes : int
        2 for EDF, 3 for BDF.
    onsets : list of Fraction
        Seconds from the start of the recording to each record.
    clock : str
        The time of day of the start, such as ``"09.30.00"``.
    head : bytes
        The header and the first record.
    """

    counts: tuple[int, ...]
    signals: tuple[int, ...]
    seconds: Fraction
    records: np.ndarray[Any, Any]
    sample_bytes: int
    onsets: list[Fraction]
    clock: str
    head: bytes

    @staticmethod
    def of(path: Path, where: str) -> EdfLayout:
        """Read the header of a file, and the times of its records."""
        with path.open("rb") as file:
            head = file.read(_FIXED)
            try:
                header_bytes, said = int(head[184:192]), int(head[236:244])
                seconds, count = Fraction(head[244:252].decode().strip()), int(head[252:256])
                rest = file.read(_OF_SIGNAL * count)
                labels = [rest[at : at + _LABEL_BYTES].decode("latin-1").strip()
                          for at in range(0, _LABEL_BYTES * count, _LABEL_BYTES)]
                at = _BEFORE_COUNTS * count
                counts = tuple(int(rest[at + 8 * each : at + 8 * each + 8]) for each in range(count))
            except (ValueError, ZeroDivisionError):
                raise SourceError(f"Cannot read the header of {path.name} as EDF or BDF.", where=where,
                                  hint="Use a file in EDF, EDF+, BDF or BDF+.") from None
        sample_bytes = BDF_BYTES if head[:1] == b"\xff" else 2
        records = _records(path, header_bytes, sample_bytes * sum(counts), said, where)
        signals = tuple(each for each, label in enumerate(labels) if label not in _ANNOTATIONS)
        if signals and (seconds <= 0 or min(counts[each] for each in signals) < 1):
            raise SourceError(f"Data records of {path.name} must have samples and last longer than 0 seconds, got "
                              f"{float(seconds):g} s.", where=where, hint="Fix the header of the file.")
        notes = next((each for each, label in enumerate(labels) if label in _ANNOTATIONS), None)
        if notes is None:
            onsets = [seconds * number for number in range(len(records))]
        else:
            begin = sample_bytes * sum(counts[:notes])
            onsets = _onsets(records[:, begin : begin + sample_bytes * counts[notes]], path, where)
        return EdfLayout(counts, signals, seconds, records, sample_bytes, onsets, head[176:184].decode("latin-1"),
                         head + rest + records[0].tobytes())

    def rate(self, signal: int) -> Fraction:
        """Samples per second of a signal."""
        return self.counts[signal] / self.seconds

    def first_samples(self, rate: Fraction, path: Path, where: str) -> Ticks:
        """The first sample of each record, by its time; sample 0 is the first of the file."""
        first = [round((onset - self.onsets[0]) * rate) for onset in self.onsets]
        count = int(self.seconds * rate)
        for number, (one, other) in enumerate(pairwise(first)):
            if other < one + count:
                raise SourceError(f"Data record {number + 1:,} of {path.name} begins before the one before it ends.",
                                  where=where, hint="Fix the times of the records.")
        return np.array(first, np.int64)

    def digital(self, signal: int, first: int, stop: int) -> np.ndarray[Any, Any]:
        """The numbers of a signal in the records from `first` up to `stop`, as int16, or int32 for BDF."""
        begin = self.sample_bytes * sum(self.counts[:signal])
        part = self.records[first:stop, begin : begin + self.sample_bytes * self.counts[signal]]
        if self.sample_bytes != BDF_BYTES:
            return np.ascontiguousarray(part).view("<i2").reshape(-1)
        wide = np.zeros((part.size // BDF_BYTES, 4), np.uint8)
        wide[:, 1:] = np.ascontiguousarray(part).reshape(-1, BDF_BYTES)
        return wide.view("<i4").reshape(-1) >> 8  # the shift keeps the sign


def _records(path: Path, header_bytes: int, record_bytes: int, said: int, where: str) -> np.ndarray[Any, Any]:
    """The bytes of all data records; an error if there are not as many as the header says."""
    found, more = divmod(path.stat().st_size - header_bytes, record_bytes) if record_bytes else (0, 0)
    if more or said not in (-1, found) or found < 1:
        part = " and a part of one" if more else ""
        raise SourceError(f"The header and the file disagree: {path.name} has {found:,} data records{part}, but its "
                          f"header says {said:,}.", where=where,
                          hint="Copy the file again, or rewrite it with edfio to keep what is there.")
    return np.asarray(np.memmap(path, np.uint8, "r", header_bytes, (found, record_bytes)))


def _onsets(notes: np.ndarray[Any, Any], path: Path, where: str) -> list[Fraction]:
    """The time of each record, which its first annotation has."""
    onsets = []
    for number, record in enumerate(notes):
        found = _ONSET.match(record.tobytes())
        if found is None:
            raise SourceError(f"Data record {number:,} of {path.name} has no time.", where=where,
                              hint="Use a file in EDF+, or remove its annotations with edfio.")
        onsets.append(Fraction(found[1].decode()))
    return onsets
