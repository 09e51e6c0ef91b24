"""Small batches, and what expressions make of them, for the tests of this room."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema
from whimbrel.expr import Expr, evaluate, type_of


def batch(absent=None, /, **columns) -> Batch:
    arrays = {name: values if isinstance(values, pa.Array) else pa.array(values) for name, values in columns.items()}
    taken = tuple(Column.from_arrow(array) for array in arrays.values())
    rows = len(taken[0])
    schema = Schema(tuple(Field(name, column.type) for name, column in zip(arrays, taken, strict=True)))
    return Batch(schema, np.arange(rows), np.arange(rows) + 1, taken, None if absent is None else np.array(absent))


def values(expr: Expr, of: Batch) -> list:
    """The values of an expression as Python values; its type must be the one foretold."""
    column = evaluate(expr, of)
    assert column.type == type_of(expr, of.schema)
    array = column.to_arrow()
    array.validate(full=True)
    return array.to_pylist()
