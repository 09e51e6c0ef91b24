"""Hash columns by compiled loops, or by NumPy before."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column, frozen, numpy_type
from whimbrel.expr.type_predicates import is_text
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.hashing import value_hashes as loops

Array = np.ndarray[Any, Any]

_words, _floats = Compiled(loops.hash_integers), Compiled(loops.hash_floats)


def hash_numbers(values: Array) -> Array:
    """Hashes of numbers, booleans, or times in ticks."""
    if values.dtype.kind == "f":
        words = np.atleast_1d(values.astype(np.float64, copy=False)).view(np.uint64)
        hashes = np.empty(len(words), np.int64)
        if _floats.ready(frozen(words), hashes):
            _floats(frozen(words), hashes)
        else:
            floats = words.view(np.float64) + 0.0
            hashes = _in_whole(np.where(np.isnan(floats), np.nan, floats).view(np.uint64))
    else:
        words = np.atleast_1d(values.astype(np.int64, copy=False)).view(np.uint64)
        hashes = np.empty(len(words), np.int64)
        if _words.ready(frozen(words), hashes):
            _words(frozen(words), hashes)
        else:
            hashes = _in_whole(words)
    return hashes if values.ndim else hashes[0]


def hash_others(values: pa.Array) -> pa.Array:
    """BLAKE2b of the texts of an array of values that NumPy does not hold, without the sign; null for null."""
    if numpy_type(values.type) is not None:
        column = Column.from_arrow(values)
        return Column(pa.int64(), hash_numbers(column.values), column.valid).to_arrow()
    codes = values.dictionary_encode()
    words = codes.dictionary
    if is_text(words.type):
        words = words.cast(pa.large_binary())
    hashes = [int.from_bytes(blake2b(word if isinstance(word, bytes) else str(word).encode(), digest_size=8).digest(),
                             "little") >> 1 for word in words.to_pylist()]
    return pa.array(hashes, pa.int64()).take(codes.indices)


def _in_whole(words: Array) -> Array:
    with np.errstate(over="ignore"):
        words = words + np.uint64(loops.GOLDEN)
        words = (words ^ words >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ words >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        words = words ^ words >> np.uint64(31)
    return (words >> np.uint64(1)).view(np.int64)
