"""Values of samples as float64, and which of them are missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Mask, frozen
from whimbrel.expr import Expr, evaluate
from whimbrel.operators.aggregation.running_values import either
from whimbrel.plan.typed_aggregate import NO_MASK

Array = np.ndarray[Any, Any]


def samples_of(expr: Expr, batch: Batch, *, keep_nan: bool = False) -> tuple[Array, Mask]:
    """The values of the rows, and the rows that count as missing samples: nulls and, unless it is kept, NaN."""
    column = evaluate(expr, batch)
    values = frozen(np.asarray(column.values).astype(np.float64, copy=False))
    missing = NO_MASK if column.valid is None else frozen(~column.valid)
    if not keep_nan and pa.types.is_floating(column.type) and (nan := np.isnan(values)).any():
        missing = either(missing, frozen(nan))
    return values, missing
