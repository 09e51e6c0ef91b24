"""Buffers of a string column as NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch.column import frozen

Array = np.ndarray[Any, Any]


def text_buffers(texts: pa.Array) -> tuple[Array, Array] | None:
    """All bytes, and where each text begins and the last one ends; None where there are none."""
    _, offsets, data = texts.buffers()
    if offsets is None or data is None or not len(texts):
        return None
    wide = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    return (frozen(np.frombuffer(data, np.uint8)),
            frozen(np.frombuffer(offsets, wide, len(texts) + 1, texts.offset * np.dtype(wide).itemsize)))
