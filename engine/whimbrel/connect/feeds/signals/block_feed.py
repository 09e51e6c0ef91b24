"""Base class of feeds of samples, with a row for each block."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from whimbrel.batch import Ticks
from whimbrel.clock import Rate, TickUnit, Timebase, sample_period, ticks_per_second
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.signals.audio_files import channel_names
from whimbrel.connect.signals.timebase_options import check_unit
from whimbrel.connect.validation import is_whole
from whimbrel.errors import PlanError

Array = np.ndarray[Any, Any]


class BlockFeed(Feed):
    """A feed of blocks of samples.

    Rows have the time of the first sample of a block, `at`, and a list of samples for each channel.

    Parameters
    ----------
    kind : str
        Name of the function in ``wb.feeds``.
    rate : int, float, str, Fraction or Decimal
        Samples per second.
    channels : int or sequence of str
        The number of channels, or their names.
    dtype : str or numpy.dtype
        Type of the samples: an integer or a float.
    unit, zone
        Unit and zone of the times.
    """

    def __init__(self, kind: str, *, rate: Rate, channels: int | Sequence[str], dtype: Any, unit: TickUnit,
                 zone: str | None, **options: Unpack[FeedOptions]) -> None:
        where = f"feeds.{kind}(..., rate={rate!r})"
        check_unit(unit, zone, where)
        self.rate, self.unit = rate, unit
        self.period = sample_period(rate, unit, where=where)
        self.per_second = Fraction(ticks_per_second(unit) or 1) / self.period
        self.channels = _names(channels, where)
        self.dtype = _sample_type(dtype, where)
        item = pa.from_numpy_dtype(self.dtype.newbyteorder("="))
        fields = pa.schema([("at", pa.timestamp(unit, zone)), *((name, pa.list_(item)) for name in self.channels)])
        super().__init__(kind, time="at", schema=fields, format=None, **options)

    def timebase(self, zero: int) -> Timebase:
        """The timebase whose sample 0 is at a tick."""
        return Timebase(self.period, Fraction(zero), "")

    def now(self, seconds: float) -> int:
        """A moment of the wall clock in ticks."""
        return round(Fraction(seconds) * (ticks_per_second(self.unit) or 1))

    def blocks_of(self, at: Ticks, lengths: Ticks, samples: Array) -> pa.RecordBatch:
        """Blocks of these lengths, which begin at these times; samples have a column for each channel."""
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
        native = samples.astype(self.dtype.newbyteorder("="), copy=False)
        lists = [pa.ListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(native[:, channel])))
                 for channel in range(len(self.channels))]
        times = pa.array(at).cast(self.fields.field("at").type)
        return pa.RecordBatch.from_arrays([times, *lists], schema=self.fields.remove_metadata())


def _names(channels: Any, where: str) -> tuple[str, ...]:
    if is_whole(channels) and channels > 0:
        return tuple(channel_names(int(channels)))
    named = isinstance(channels, Sequence) and not isinstance(channels, str)
    if not named or not channels or not all(isinstance(name, str) and name for name in channels):
        raise PlanError(f"channels must be a number of at least 1 or a list of names, got {channels!r}.", where=where,
                        hint='Use for example channels=["left", "right"].')
    names = tuple(channels)
    if len(set(names)) < len(names) or {"at", "start", "end"} & set(names):
        raise PlanError(f"channels must have different names other than at, start and end, got {list(names)!r}.",
                        where=where, hint="Rename the channels.")
    return names


def _sample_type(dtype: Any, where: str) -> np.dtype[Any]:
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if found.kind not in "iuf" or found.itemsize > 8 or found.str[1:] == "f2":
        raise PlanError(f"dtype must be an integer or a float of at most 64 bits, got {dtype!r}.", where=where,
                        hint='Use for example dtype="int16".')
    return found
