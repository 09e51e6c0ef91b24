"""Text of UUID columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_HEX = np.frombuffer(bytes(range(256)).hex().encode(), np.uint8).reshape(256, 2)
"""The two digits of each byte."""
_LENGTH, _DASHES = 36, (8, 13, 18, 23)
_DIGITS = np.delete(np.arange(_LENGTH), _DASHES)


def uuid_text(uuids: Any) -> Any:
    """Lower-case strings with dashes, as Python's UUID shows itself; null for null.

    >>> uuid_text(pa.array([b"0123456789abcdef", None], pa.uuid())).to_pylist()
    ['30313233-3435-3637-3839-616263646566', None]
    """
    if isinstance(uuids, pa.Scalar):
        return pa.scalar(str(uuids.as_py()) if uuids.is_valid else None, pa.string())
    storage, rows = uuids.storage, len(uuids)
    if rows == storage.null_count:
        return pa.nulls(rows, pa.string())
    held = np.frombuffer(storage.buffers()[1], np.uint8, 16 * rows, 16 * storage.offset)
    digits = np.full((rows, _LENGTH), ord("-"), np.uint8)
    digits[:, _DIGITS] = _HEX[held].reshape(rows, 32)
    ends = np.arange(rows + 1, dtype=np.int32) * np.int32(_LENGTH)
    strings = pa.StringArray.from_buffers(rows, pa.py_buffer(ends), pa.py_buffer(digits))
    return pc.if_else(storage.is_valid(), strings, None) if storage.null_count else strings
