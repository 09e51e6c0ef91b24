"""Functions of bits, hashes and distances of the table of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.expr.function_entry import Function, held, numbers_of
from whimbrel.expr.value_hashes import hash_numbers, hash_others

_INT = pa.int64()
EARTH_RADIUS: Final = 6_371_008.8
"""Mean radius of the Earth in meters (IUGG)."""


def _shifted(shift: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compute(numbers: Any, count: Any) -> Any:
        bits = numbers_of(count, _INT)
        right = bits.view(np.uint64) < 64
        if right.all():
            return held(_INT, shift(numbers_of(numbers, _INT), bits), True, numbers, count)
        return held(_INT, shift(numbers_of(numbers, _INT), np.where(right, bits, 0)), right, numbers, count)

    return compute


def _haversine(*degrees: Any) -> Any:
    first_lat, first_lon, lat, lon = (np.radians(np.asarray(each.fill_null(0.0))) for each in degrees)
    with np.errstate(all="ignore"):
        half = (np.sin((lat - first_lat) / 2) ** 2
                + np.cos(first_lat) * np.cos(lat) * np.sin((lon - first_lon) / 2) ** 2)
        meters = 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(half, 1.0)))
    return held(pa.float64(), meters, True, *degrees)


def _shifted_within(shift: np.ufunc) -> Callable[[Any, Any], Any]:
    """The shift of NumPy values; None if one of the counts has another bit than those of 0 to 63."""
    return lambda numbers, count: shift(numbers, count) if 0 <= np.bitwise_or.reduce(count) < 64 else None


BITS: Final[dict[str, Function]] = {
    "bitwise_and": Function("an integer", _INT, pc.bit_wise_and, 2, sql=None, direct=np.bitwise_and),
    "bitwise_or": Function("an integer", _INT, pc.bit_wise_or, 2, sql=None, direct=np.bitwise_or),
    "bitwise_xor": Function("an integer", _INT, pc.bit_wise_xor, 2, sql="xor", direct=np.bitwise_xor),
    "bitwise_not": Function("an integer", _INT, pc.bit_wise_not, sql=None, direct=np.bitwise_not),
    "shift_left": Function("an integer", _INT, _shifted(np.left_shift), 2, sql=None, arrays=True,
                           direct=_shifted_within(np.left_shift)),
    "shift_right": Function("an integer", _INT, _shifted(np.right_shift), 2, sql=None, arrays=True,
                            direct=_shifted_within(np.right_shift)),
    "hash": Function("a plain value", _INT, hash_others, arrays=True, direct=hash_numbers),
    "haversine": Function("a number", pa.float64(), _haversine, 4, arrays=True),
}
"""Functions by the names of their calls."""
