"""Source of samples in arrays."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column, Field, Mask, sample_type
from whimbrel.clock import Instant, Rate, TickUnit
from whimbrel.connect.signals.sample_ranges import SampleRanges
from whimbrel.connect.signals.sample_source import ReadSamples, SampleSource
from whimbrel.connect.signals.timebase_options import sample_schema, sample_timebase
from whimbrel.errors import SchemaError, SourceError

Array = np.ndarray[Any, Any]


class ArraySource(SampleSource):
    """Source of samples in arrays, without copies.

    Parameters
    ----------
    signals : mapping of str to array
        One array per channel, of one length: numbers of any type, memory maps, masked arrays, or Arrow arrays.
    rate : int, float, str, Fraction or Decimal
        Samples per second.
    start : str, datetime or int (ticks)
        Time of the first sample.
    unit : {"s", "ms", "us", "ns"}
        Unit of the ticks.
    zone : str, optional
        Time zone of the stream.
    name : str, optional
        Default ``"samples"``.

    Raises
    ------
    SchemaError
        If an array has no numbers, or not one dimension.
    SourceError
        If arrays differ in length.
    PlanError
        If the rate is not positive, or has more than one sample per tick.
    """

    in_memory = True

    def __init__(self, signals: Mapping[str, Any], *, rate: Rate, start: Instant = 0, unit: TickUnit = "ns",
                 zone: str | None = None, name: str | None = None) -> None:
        where = f"from_samples(..., rate={rate!r})"
        if not isinstance(signals, Mapping) or not signals:
            raise SourceError("from_samples() needs a dict of arrays, one for each channel.", where=where,
                              hint='Use for example from_samples({"left": array}, rate=48_000).')
        self._arrays: dict[str, tuple[Array, Mask | None]] = {}
        for channel, values in signals.items():
            self._arrays[channel] = _samples(channel, values, where)
        lengths = {channel: len(values) for channel, (values, _) in self._arrays.items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{channel!r} has {length:,}" for channel, length in lengths.items())
            raise SourceError(f"Channels must have the same number of samples: {told}.", where=where,
                              hint="Use one stream for each length, or cut the arrays.")
        schema = sample_schema([Field(channel, sample_type(_carried(values.dtype)))
                                for channel, (values, _) in self._arrays.items()], unit, zone, where)
        super().__init__(name or "samples", schema, sample_timebase(rate, start, unit, zone, where), self._runs())

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(values.nbytes for values, _ in self._arrays.values())

    def _runs(self) -> SampleRanges:
        """Samples that any channel has."""
        valid = [mask for _, mask in self._arrays.values()]
        length = len(next(iter(self._arrays.values()))[0])
        masks = [mask for mask in valid if mask is not None]
        if len(masks) < len(valid):
            return SampleRanges.of([(0, length)])
        return SampleRanges.of_mask(np.logical_or.reduce(masks))

    @contextmanager
    def opened(self, columns: tuple[str, ...]) -> Generator[ReadSamples]:
        readers = [_reader(self.schema.type_of(name), *self._arrays[name]) for name in columns]
        yield lambda first, count: tuple(read(first, first + count) for read in readers)


def _reader(type_: pa.DataType, values: Array, valid: Mask | None) -> Callable[[int, int], Column]:
    dtype = _carried(values.dtype)

    def read(first: int, stop: int) -> Column:
        part = values[first:stop].astype(dtype, copy=False)
        known = None if valid is None or valid[first:stop].all() else valid[first:stop]
        return Column.of_samples(type_, part, known)

    return read


def _samples(channel: Any, values: Any, where: str) -> tuple[Array, Mask | None]:
    """The numbers of a channel, and where they are there."""
    valid: Mask | None = None
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.Array):
        _check_type(channel, values.type.to_pandas_dtype() if pa.types.is_primitive(values.type) else object, where)
        column = Column.from_arrow(values)
        return np.asarray(column.values), column.valid
    if isinstance(values, np.ma.MaskedArray):
        valid = None if values.mask is np.ma.nomask else ~np.ma.getmaskarray(values)
        values = values.data
    try:
        array = np.asarray(values)
    except (ValueError, TypeError) as error:
        raise SchemaError(f"Channel {channel!r} must be an array of numbers: {error}", where=where,
                          hint="Use a NumPy array.") from None
    _check_type(channel, array.dtype, where)
    if array.ndim != 1:
        raise SchemaError(f"Channel {channel!r} must have one dimension, got the shape {array.shape}.", where=where,
                          hint='Use one channel for each signal, such as {"left": audio[:, 0], "right": audio[:, 1]}.')
    return array, valid


def _check_type(channel: Any, type_: Any, where: str) -> None:
    dtype = np.dtype(type_)
    if dtype.kind not in "buifc" or dtype.itemsize > (16 if dtype.kind == "c" else 8):
        raise SchemaError(f"Channel {channel!r} must be an array of numbers, got {dtype}.", where=where,
                          hint="Use integers, floats or booleans of at most 64 bits, or complex64 or complex128.")


def _carried(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which a batch holds samples: that of the array in native byte order; half floats are widened."""
    return np.dtype(np.float32) if dtype.str[1:] == "f2" else dtype.newbyteorder("=")
