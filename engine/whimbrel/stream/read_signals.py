"""Create streams of samples from arrays and files of signals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow.compute as pc

from whimbrel.clock import Duration, Instant, Rate, TickUnit
from whimbrel.connect import ArrowSource, ParquetSource
from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.signals.audio_files import AudioSource
from whimbrel.connect.signals.edf_files import EdfSource
from whimbrel.connect.signals.sample_arrays import ArraySource
from whimbrel.connect.signals.wfdb_records import WfdbSource
from whimbrel.connect.sinks.sample_blocks import BLOCK
from whimbrel.errors import PlanError
from whimbrel.operators.rows.block_samples import Duplicates, block_duration, block_samples
from whimbrel.plan import Node, Source
from whimbrel.stream.stream import Stream


def from_samples(signals: Mapping[str, Any], *, rate: Rate, start: Instant = 0, unit: TickUnit = "ns",
                 zone: str | None = None, name: str | None = None) -> Stream:
    """Create a stream of samples from arrays, without copies.

    A sample is an event of one tick. No times are stored: they follow from the rate.

    Parameters
    ----------
    signals : mapping of str to array
        One array per channel, all of one length: integers, floats or booleans of any size, also memory maps and Arrow
        arrays. Samples that are masked in all channels are gaps, and those that are masked in some are null there. The
        arrays must not change afterwards.
    rate : int, float, str, Fraction or Decimal
        Samples per second, such as ``48_000`` or ``"24000/1001"``.
    start : str, datetime or int (ticks)
        Time of the first sample. Default: 0.
    unit : {"s", "ms", "us", "ns"}
        Unit of the times.
    zone : str, optional
        Time zone of the times.
    name : str, optional
        For plans, errors and ``on({...})``.

    Examples
    --------
    >>> import numpy as np
    >>> import whimbrel as wb
    >>> mics = wb.from_samples({"m1": np.arange(4, dtype="int16"), "m2": np.ones(4)}, rate=1000, unit="ms")
    >>> mics.where(wb.col.m1 > 1).select("m1").collect()["m1"].to_pylist()
    [2, 3]
    >>> mics.between(1, 3).collect_samples()["m1"].tolist()
    [1, 2]
    """
    return Stream(Node(ArraySource(signals, rate=rate, start=start, unit=unit, zone=zone, name=name)))


def read_audio(path: FilePath | Iterable[FilePath], *, start: Instant | Sequence[Instant] | None = None,
               unit: TickUnit = "ns", zone: str | None = None, channels: Sequence[str] | None = None,
               name: str | None = None) -> Stream:
    """Create a stream of samples from audio files.

    Formats are WAV, FLAC, OGG and others of libsndfile. Only the header is read now. Integer samples stay integers:
    16 bits are int16, and 24 bits are int32, shifted to the left. Needs the extra ``signals``.

    Parameters
    ----------
    path : str, path, or several
        A file, a list of files of one kind, or a folder, such as one of ``wb.sinks.audio``.
    start : str, datetime, int (ticks), or a list of these, optional
        Time of the first sample, for each file. It is moved to the nearest sample of the first file. What lies between
        two files is a gap. Default: what ``wb.sinks.audio`` wrote to the files, or 0 for one file.
    unit, zone, name : optional
        As in :func:`from_samples`.
    channels : sequence of str, optional
        Names of the channels. Default: left and right, or ch1, ch2 and so on.

    Raises
    ------
    SourceError
        If a file is truncated, if its header and length disagree, or if files differ or overlap.
    """
    return Stream(Node(AudioSource(path, start=start, unit=unit, zone=zone, channels=channels, name=name)))


def read_edf(path: FilePath, *, channels: str | Sequence[str] | None = None, start: Instant | None = None,
             physical: bool = True, unit: TickUnit = "ns", zone: str | None = None, name: str | None = None) -> Stream:
    """Create a stream of samples from an EDF or BDF file.

    Gaps of discontinuous files (EDF+D) are kept. A record that begins between two samples is moved to the nearest one.
    Needs the extra ``signals``.

    Parameters
    ----------
    path : str or path
    channels : str or sequence of str, optional
        Labels of signals, all of one rate. Default: all. Use one stream for each rate.
    start : str, datetime or int (ticks), optional
        Time of the first sample. Default: that of the file.
    physical : bool
        True: physical units, as float64. False: the stored integers.
    unit, zone, name : optional
        As in :func:`from_samples`.

    Raises
    ------
    SourceError
        If the header and the length disagree, if channels differ in rate, or if records overlap.
    """
    return Stream(Node(EdfSource(path, channels=channels, start=start, physical=physical, unit=unit, zone=zone,
                                 name=name)))


def read_wfdb(path: FilePath, *, channels: str | Sequence[str] | None = None, start: Instant | None = None,
              physical: bool = True, unit: TickUnit = "ns", zone: str | None = None, name: str | None = None) -> Stream:
    """Create a stream of samples from a WFDB record.

    PhysioNet uses this format. Missing samples of a channel are null, and missing segments are gaps. Needs the extra
    ``wfdb``.

    Parameters
    ----------
    path : str or path
        The record, with or without ``.hea``.
    channels : str or sequence of str, optional
        Names of signals, all of one rate. Default: all. Use one stream for each rate.
    start : str, datetime or int (ticks), optional
        Time of the first sample. Default: that of the record, or 0.
    physical : bool
        True: physical units, as float64. False: the stored integers.
    unit, zone, name : optional
        As in :func:`from_samples`.

    Raises
    ------
    SourceError
        If the record is truncated, or channels differ in rate.
    """
    return Stream(Node(WfdbSource(path, channels=channels, start=start, physical=physical, unit=unit, zone=zone,
                                  name=name)))


def with_samples(source: Source, samples: str | Sequence[str] | None, rate: Rate | None, *,
                 jitter: Duration | None = None, duplicates: Duplicates = "raise", call: str) -> Node:
    """The rows of a source; as samples on a timebase, if columns with blocks of samples are named."""
    if samples is None:
        if rate is not None or jitter is not None or duplicates != "raise":
            raise PlanError("rate=, jitter= and duplicates= need samples=, the columns with blocks of samples.",
                            where=f"{call}(rate={rate!r})",
                            hint="Add samples=; for a row per sample, use .assume(rate=...) on the stream.")
        return Node(source)
    where = f"{call}(samples={samples!r}, rate={rate!r})"
    if rate is None:
        raise PlanError("samples= needs rate=, the samples per second.", where=where,
                        hint="Use for example rate=48_000.")
    if source.disorder.late == "adjust":
        raise PlanError('late="adjust" cannot move a block of samples to another time.', where=where,
                        hint='Use late="drop", and dropped blocks are gaps.')
    if source.disorder.partition is not None or source.edges:
        raise PlanError("samples= needs blocks of one signal, not partitions or edges.", where=where,
                        hint="Use one stream for each signal.")
    made = block_samples(source.schema, samples, rate, jitter=jitter, duplicates=duplicates, call=call)
    phase, longest = _bounds(source, made.columns)
    ticks = None if longest is None else block_duration(made.period, longest)
    return Node(replace(made, phase=phase, block_ticks=ticks), (Node(source),))


def _bounds(source: Source, columns: Sequence[str]) -> tuple[int | None, int | None]:
    """The time of the first block and the most samples of a block, if they are known without reading."""
    if not isinstance(source, ArrowSource | ParquetSource) or not (blocks := source.blocks(1)):
        return None, None
    phase = int(blocks.earliest.min())
    if isinstance(source, ArrowSource):
        return phase, max(pc.max(pc.list_value_length(source.table.column(name))).as_py() or 0 for name in columns)
    known = [notes.get(BLOCK) for notes in source.notes]
    return phase, max((int(each) for each in known if each is not None), default=None) if all(known) else None
