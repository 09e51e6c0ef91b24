"""Convert Arrow columns to NumPy arrays without loading pandas."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from whimbrel.batch import Column


def floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Numbers as floats; null is NaN.

    >>> floats(pa.chunked_array([[1, None], [3]])).tolist()
    [1.0, nan, 3.0]
    """
    # A slow feed brings a chunk for every row: as one array they cost nothing each.
    part = Column.from_arrow(pc.cast(column.combine_chunks(), pa.float64(), safe=False))
    return part.values.copy() if part.valid is None else np.where(part.valid, part.values, np.nan)


def integers(column: pa.Array, null: int) -> NDArray[np.int64]:
    """Integers, with a number in the place of nulls."""
    part = Column.from_arrow(column)
    values = part.values.astype(np.int64)
    return values if part.valid is None else np.where(part.valid, values, null)
