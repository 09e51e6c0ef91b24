"""Hash columns by compiled loops, or by NumPy before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column, frozen, numpy_type, text_buffers
from whimbrel.batch.fixed_width import present
from whimbrel.expr.type_predicates import is_text
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.hashing import value_hashes as loops
from whimbrel.kernels.primitives.hashing.text_hashes import hash_texts

Array = np.ndarray[Any, Any]

_words, _floats = Compiled(loops.hash_integers), Compiled(loops.hash_floats)
_texts = Compiled(hash_texts)


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
    """Hashes of values that NumPy does not hold, by their bytes, or by the text that shows them; null for null."""
    if numpy_type(values.type) is not None:
        column = Column.from_arrow(values)
        return Column(pa.int64(), hash_numbers(column.values), column.valid).to_arrow()
    if is_text(values.type):
        return Column(pa.int64(), _hash_texts(values), present(values) if values.null_count else None).to_arrow()
    codes = values.dictionary_encode()
    shown = [each if isinstance(each, bytes) else str(each).encode() for each in codes.dictionary.to_pylist()]
    return pa.array(_hash_texts(pa.array(shown, pa.binary()))).take(codes.indices)


def _hash_texts(texts: pa.Array) -> Array:
    memory = text_buffers(texts)
    if memory is None:  # no rows, or empty texts only
        memory = frozen(np.empty(0, np.uint8)), frozen(np.zeros(len(texts) + 1, np.int32))
    hashes = np.empty(len(texts), np.int64)
    if _texts.ready(*memory, hashes):
        _texts(*memory, hashes)
        return hashes
    return _texts_in_whole(*memory)


def _texts_in_whole(data: Array, offsets: Array) -> Array:
    """The loop by NumPy: the first words of all texts, then the following ones, and so on."""
    places = offsets.astype(np.int64)
    first, stop, sizes = places[:-1], places[1:], np.diff(places)
    at, one, other = first.copy(), sizes.astype(np.uint64), np.full(len(sizes), loops.GOLDEN, np.uint64)
    rows = np.flatnonzero(sizes > 16)
    while len(rows):
        one[rows] = _stirred(one[rows] ^ _words_at(data, at[rows]))
        other[rows] = _stirred(other[rows] ^ _words_at(data, at[rows] + 8))
        at[rows] += 16
        rows = rows[at[rows] + 16 < stop[rows]]
    rows = np.flatnonzero(sizes >= 8)
    one[rows] ^= _words_at(data, np.maximum(stop[rows] - 16, first[rows]))
    other[rows] ^= _words_at(data, stop[rows] - 8)
    word = np.zeros(len(sizes), np.uint64)
    for byte in range(7):
        rows = np.flatnonzero((sizes < 8) & (sizes > byte))
        word[rows] = word[rows] << np.uint64(8) | data[first[rows] + byte]
    return _in_whole(_stirred(one ^ word) ^ other)


def _words_at(data: Array, places: Array) -> Array:
    """Eight bytes from each place, the low one first."""
    return np.ascontiguousarray(data[places[:, None] + np.arange(8)]).view("<u8")[:, 0].astype(np.uint64)


def _in_whole(words: Array) -> Array:
    return (_stirred(words) >> np.uint64(1)).view(np.int64)


def _stirred(words: Array) -> Array:
    with np.errstate(over="ignore"):
        words = words + np.uint64(loops.GOLDEN)
        words = (words ^ words >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ words >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return words ^ words >> np.uint64(31)
