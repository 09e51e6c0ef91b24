"""Arrow extension type of segments: windows of samples on a timebase."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch.fixed_width import numpy_type
from whimbrel.clock import TickUnit, ticks_per_second

EXTENSION_NAME = "whimbrel.segment"


class SegmentType(pa.ExtensionType):  # type: ignore[misc]  # Arrow has no types for checkers
    """Type of a segment: the samples of one signal from one sample number on.

    Its storage is a struct of ``index``, the number of the first sample, and ``samples``, a list. A complex sample is a
    fixed-size list of two floats. A null in a list is a missing sample. The metadata has what all segments of a column
    share.

    Parameters
    ----------
    samples : pyarrow.DataType
        Type of one sample: integers, floats, bools, times, or :data:`COMPLEX64` and :data:`COMPLEX128`.
    period : Fraction
        Ticks from one sample to the next.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is.
    clock : str
        Name of the clock that counts the ticks.
    phase : Fraction
        Part of a tick between sample 0 and the tick before it, at least 0 and below 1.
    decimation : int
        Samples of the signal for each of these: a level of a wavelet has half as many.

    Examples
    --------
    >>> SegmentType(pa.int16(), Fraction(25_000, 9), "us")
    SegmentType(segment<int16, 360 Hz>)
    >>> SegmentType(pa.float32(), Fraction(5)).storage_type.field("samples").type
    ListType(list<item: float>)
    """

    def __init__(self, samples: pa.DataType, period: Fraction, unit: TickUnit = None, clock: str = "",
                 phase: Fraction = Fraction(), decimation: int = 1) -> None:
        self.samples, self.period, self.unit, self.clock, self.phase = samples, Fraction(period), unit, clock, phase
        self.decimation = decimation
        super().__init__(pa.struct([("index", pa.int64()), ("samples", pa.list_(samples))]), EXTENSION_NAME)

    def __arrow_ext_serialize__(self) -> bytes:
        said = {"period": str(self.period), "unit": self.unit, "clock": self.clock, "phase": str(self.phase),
                "decimation": self.decimation}
        return json.dumps(said).encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> SegmentType:
        said = json.loads(serialized)
        return cls(storage_type.field("samples").type.value_type, Fraction(said["period"]), said["unit"],
                   said["clock"], Fraction(said["phase"]), said.get("decimation", 1))

    @property
    def timing(self) -> tuple[Any, ...]:
        """What segments must share to be compared sample by sample."""
        return self.period, self.unit, self.clock, self.phase

    @property
    def signal(self) -> tuple[Any, ...]:
        """What windows must share to be of signals with one timebase, even if their samples were decimated."""
        return self.period / self.decimation / (ticks_per_second(self.unit) or 1), self.clock

    def of(self, samples: pa.DataType, decimation: int = 1) -> SegmentType:
        """The type of other samples on the same clock: one for each so many of these."""
        return SegmentType(samples, self.period * decimation, self.unit, self.clock,
                           self.phase if decimation == 1 else Fraction(), self.decimation * decimation)

    def __reduce__(self) -> tuple[Any, ...]:
        return SegmentType, (self.samples, *self.timing, self.decimation)

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, SegmentType)
                and (self.samples, self.timing, self.decimation) == (other.samples, other.timing, other.decimation))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((str(self.samples), self.timing, self.decimation))

    def __str__(self) -> str:
        per_second = ticks_per_second(self.unit)
        rate = f"every {self.period} ticks" if per_second is None else f"{per_second / self.period} Hz"
        return f"segment<{_shown(self.samples)}, {rate}>"

    def __repr__(self) -> str:
        return f"SegmentType({self})"


COMPLEX64, COMPLEX128 = pa.list_(pa.float32(), 2), pa.list_(pa.float64(), 2)
"""How Arrow holds complex samples: real part, imaginary part."""

_COMPLEX: dict[pa.DataType, np.dtype[Any]] = {COMPLEX64: np.dtype(np.complex64), COMPLEX128: np.dtype(np.complex128)}


def sample_dtype(samples: pa.DataType) -> np.dtype[Any] | None:
    """The NumPy type of samples of an Arrow type; None where segments cannot hold it.

    >>> sample_dtype(COMPLEX64), sample_dtype(pa.string())
    (dtype('complex64'), None)
    """
    return _COMPLEX.get(samples) if pa.types.is_fixed_size_list(samples) else numpy_type(samples)


def sample_type(dtype: np.dtype[Any]) -> pa.DataType:
    """The Arrow type of samples of a NumPy type."""
    return next((type_ for type_, held in _COMPLEX.items() if held == dtype), None) or pa.from_numpy_dtype(dtype)


def _shown(samples: pa.DataType) -> str:
    return str(_COMPLEX[samples]) if samples in _COMPLEX else str(samples)


pa.register_extension_type(SegmentType(pa.null(), Fraction(1)))
