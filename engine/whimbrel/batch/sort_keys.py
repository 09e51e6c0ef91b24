"""Sort keys of columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch.column import Column


def sort_key(column: Column) -> pa.Array:
    """Values that Arrow can sort: -0.0 is before 0.0, all NaNs are one, and nested values are texts.

    >>> pc.sort_indices(sort_key(Column(pa.float64(), np.array([0.0, np.nan, -0.0, -1.5])))).to_pylist()
    [3, 2, 0, 1]
    """
    values = column.to_arrow()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_floating(values.type):
        return _float_keys(Column.from_arrow(values))
    try:
        pc.sort_indices(values.slice(0, 0))
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return pa.array([None if value is None else repr(value) for value in values.to_pylist()], pa.string())
    return values


def _float_keys(column: Column) -> pa.Array:
    """Integers in the order of floats; Arrow's sort leaves 0.0 and -0.0 in the order of the rows."""
    wide = np.asarray(column.values).astype(np.float64)
    wide[np.isnan(wide)] = np.nan
    bits = wide.view(np.int64)
    return Column(pa.int64(), np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits), column.valid).to_arrow()
