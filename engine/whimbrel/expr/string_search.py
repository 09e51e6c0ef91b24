"""Search for a string in a column, compiled or through Arrow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch import Column, frozen, text_buffers
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.strings.character_counts import count_characters
from whimbrel.kernels.primitives.strings.string_search import count_matches, find_edge, find_text, split_text

Array = np.ndarray[Any, Any]

_find, _edge = Compiled(find_text), Compiled(find_edge)
_count, _split, _characters = Compiled(count_matches), Compiled(split_text), Compiled(count_characters)
_NO_MASK = frozen(np.empty(0, np.bool_))


def contains(texts: Any, text: str) -> Any:
    """Whether it stands in each; null where that is null."""
    found = _found(texts, text)
    return pc.match_substring(texts, text) if found is None else _with_nulls(texts, pa.bool_(), found >= 0)


def starts_with(texts: Any, text: str) -> Any:
    """Whether each begins with it; null where that is null."""
    found = _at_edge(texts, text, at_end=False)
    return pc.starts_with(texts, text) if found is None else _with_nulls(texts, pa.bool_(), found)


def ends_with(texts: Any, text: str) -> Any:
    """Whether each ends with it; null where that is null."""
    found = _at_edge(texts, text, at_end=True)
    return pc.ends_with(texts, text) if found is None else _with_nulls(texts, pa.bool_(), found)


def index_of(texts: Any, text: str) -> Any:
    """How many characters of each stand before it; -1 where it is not found."""
    found = _found(texts, text)
    if found is not None:
        return _with_nulls(texts, pa.int64(), found.astype(np.int64))
    if isinstance(texts, pa.Scalar):
        return pa.scalar(None if texts.as_py() is None else texts.as_py().find(text), pa.int64())
    positions = pc.find_substring(texts, text).cast(pa.int64())
    if is_ascii(texts):
        return positions
    # Arrow counts bytes.
    counted = [None if whole is None else whole.find(text) for whole in texts.to_pylist()]
    return pa.array(counted, pa.int64())


def split(texts: pa.Array, by: str) -> tuple[Array, pa.Array]:
    """What stands between: of which row each piece is, and the pieces. A null has none."""
    memory, pattern = text_buffers(texts), _bytes(by)
    there = frozen(Column(pa.string(), texts).validity()) if texts.null_count else _NO_MASK
    if memory is not None:
        data, offsets = memory
        room = (np.empty(0, np.uint8), np.empty(0, offsets.dtype), np.empty(0, np.int64))
        if _count.ready(data, offsets, pattern) and _split.ready(data, offsets, there, pattern, *room):
            maximum, size = int(_count(data, offsets, pattern)), int(offsets[-1] - offsets[0])
            pieces, ends = np.empty(size + 1, np.uint8), np.empty(maximum + 2, offsets.dtype)
            parent = np.empty(maximum + 1, np.int64)
            ends[0] = 0
            done = int(_split(data, offsets, there, pattern, pieces, ends[1:], parent))
            buffers = [None, pa.py_buffer(ends[: done + 1]), pa.py_buffer(pieces)]
            return parent[:done], pa.Array.from_buffers(texts.type, done, buffers)
    lists = pc.split_pattern(texts, by)
    lengths = Column.from_arrow(pc.list_value_length(lists))
    counts = np.where(lengths.validity(), lengths.values, 0)
    return np.repeat(np.arange(len(texts)), counts), pc.list_flatten(lists)


def lengths(texts: Any) -> Any:
    """How many characters each has; null where that is null."""
    if is_ascii(texts):
        return pc.binary_length(texts).cast(pa.int64())
    if isinstance(texts, pa.Array) and (memory := text_buffers(texts)) is not None:
        counts = np.empty(len(texts), np.int64)
        if _characters.ready(*memory, counts):
            _characters(*memory, counts)
            return _with_nulls(texts, pa.int64(), counts)
    return pc.utf8_length(texts).cast(pa.int64())


def is_ascii(texts: Any) -> bool:
    """Whether every character is one byte."""
    memory = text_buffers(texts) if isinstance(texts, pa.Array) else None
    if memory is None:
        return False
    data, offsets = memory
    here = data[offsets[0] : offsets[-1]]
    return not len(here) or (int(here[:4096].max()) < 0x80 and int(here.max()) < 0x80)  # others mostly show early


def _found(texts: Any, text: str) -> Array | None:
    """The answer of the kernel, if it can be asked."""
    if not isinstance(texts, pa.Array) or not text or (memory := text_buffers(texts)) is None:
        return None
    found = np.empty(len(texts), np.int32)
    if not _find.ready(*memory, _bytes(text), found):
        return None
    _find(*memory, _bytes(text), found)
    return found


def _at_edge(texts: Any, text: str, *, at_end: bool) -> Array | None:
    """The answer of the kernel, if it can be asked."""
    if not isinstance(texts, pa.Array) or (memory := text_buffers(texts)) is None:
        return None
    found = np.empty(len(texts), np.bool_)
    if not _edge.ready(*memory, _bytes(text), at_end, found):
        return None
    _edge(*memory, _bytes(text), at_end, found)
    return found


def _with_nulls(texts: pa.Array, type_: pa.DataType, answers: Array) -> pa.Array:
    """Answers, null where the texts are."""
    there = Column(pa.string(), texts).validity() if texts.null_count else None
    return Column(type_, answers, there).to_arrow()


def _bytes(text: str) -> Array:
    return frozen(np.frombuffer(text.encode(), np.uint8))
