"""Functions of bits, hashes and distances of the table of functions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as t

from whimbrel.batch import numpy_type
from whimbrel.expr.function_entry import Function, held, numbers_of

_INT = pa.int64()
EARTH_RADIUS: Final = 6_371_008.8
"""Mean radius of the Earth in meters (IUGG)."""


def _shifted(shift: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compute(numbers: Any, count: Any) -> Any:
        bits = numbers_of(count, _INT)
        right = (bits >= 0) & (bits < 64)
        found = shift(numbers_of(numbers, _INT), np.where(right, bits, 0))
        return held(_INT, found, right, numbers, count)

    return compute


def _hash(values: Any) -> Any:
    """SplitMix64 of numbers, and BLAKE2b of the text of other values, without the sign."""
    words: Any
    if numpy_type(values.type) is None:
        codes = values.dictionary_encode()
        words = [int.from_bytes(hashlib.blake2b(word if isinstance(word, bytes) else str(word).encode(),
                                                digest_size=8).digest(), "little") >> 1
                 for word in codes.dictionary.to_pylist()]
        return pa.array(words, _INT).take(codes.indices)
    if t.is_floating(values.type):
        floats = np.asarray(values.cast(pa.float64()).fill_null(0.0)) + 0.0
        words = np.where(np.isnan(floats), np.nan, floats).view(np.uint64)
    elif t.is_boolean(values.type) or t.is_integer(values.type):
        words = np.asarray(pc.fill_null(values, pa.scalar(0).cast(values.type))).astype(np.int64).view(np.uint64)
    else:
        width = pa.int32() if values.type.bit_width == 32 else _INT
        words = numbers_of(values, width).astype(np.int64).view(np.uint64)
    with np.errstate(over="ignore"):
        words = words + np.uint64(0x9E3779B97F4A7C15)
        words = (words ^ words >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ words >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        words = words ^ words >> np.uint64(31)
    return held(_INT, (words >> np.uint64(1)).view(np.int64), True, values)


def _haversine(*degrees: Any) -> Any:
    first_lat, first_lon, lat, lon = (np.radians(np.asarray(each.fill_null(0.0))) for each in degrees)
    with np.errstate(all="ignore"):
        half = (np.sin((lat - first_lat) / 2) ** 2
                + np.cos(first_lat) * np.cos(lat) * np.sin((lon - first_lon) / 2) ** 2)
        meters = 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(half, 1.0)))
    return held(pa.float64(), meters, True, *degrees)


BITS: Final[dict[str, Function]] = {
    "bitwise_and": Function("an integer", _INT, pc.bit_wise_and, 2, sql=None),
    "bitwise_or": Function("an integer", _INT, pc.bit_wise_or, 2, sql=None),
    "bitwise_xor": Function("an integer", _INT, pc.bit_wise_xor, 2, sql="xor"),
    "bitwise_not": Function("an integer", _INT, pc.bit_wise_not, sql=None),
    "shift_left": Function("an integer", _INT, _shifted(np.left_shift), 2, sql=None, arrays=True),
    "shift_right": Function("an integer", _INT, _shifted(np.right_shift), 2, sql=None, arrays=True),
    "hash": Function("any value", _INT, _hash, arrays=True),
    "haversine": Function("a number", pa.float64(), _haversine, 4, arrays=True),
}
"""Functions by the names of their calls."""
