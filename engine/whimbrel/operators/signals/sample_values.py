"""Keys and values of samples, and which of them are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Mask, frozen
from whimbrel.expr import Expr, evaluate
from whimbrel.kernels import KeyTable
from whimbrel.operators.aggregation.running_aggregate import skipped_rows
from whimbrel.operators.aggregation.running_values import either
from whimbrel.plan.typed_aggregate import NO_MASK

Array = np.ndarray[Any, Any]


def groups_of(table: KeyTable, keys: Sequence[Column], rows: int) -> tuple[Array, Mask]:
    """The number of each row's key, 0 for rows without one, and the rows without one; empty if there are none."""
    hidden = skipped_rows(keys, None)
    groups = table.ids(keys, rows, hidden if len(hidden) else None)
    if len(hidden):
        groups[hidden] = 0
    return frozen(groups), hidden


def samples_of(expr: Expr, batch: Batch, *, keep_nan: bool = False) -> tuple[Array, Mask]:
    """The values of the rows, and the rows that count as missing samples: nulls and, unless it is kept, NaN."""
    column = evaluate(expr, batch)
    values = frozen(np.asarray(column.values).astype(np.float64, copy=False))
    missing = NO_MASK if column.valid is None else frozen(~column.valid)
    if not keep_nan and pa.types.is_floating(column.type) and (nan := np.isnan(values)).any():
        missing = either(missing, frozen(nan))
    return values, missing
