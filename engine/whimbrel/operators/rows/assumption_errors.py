"""Errors that name a row which violates an assumption."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from whimbrel.batch import Batch
from whimbrel.errors import KernelError

MISSING_HINT: Final = "Add gaps=True if samples may be missing."


def assumption_error(batch: Batch, row: int, keys: Sequence[str], why: str, where: str,
                     hint: str = "Remove the assumption, or fix the data.") -> KernelError:
    """The error for one row of a batch, with the values of its key columns."""
    values = [f"{name} = {batch.column(name).slice(row, row + 1).to_arrow().to_pylist()[0]!r}" for name in keys]
    of = f" of {', '.join(values)}" if values else ""
    return KernelError(f"An event{of} at {shown_time(batch, int(batch.sync[row]))} {why}.", where=where, hint=hint)


def shown_time(batch: Batch, ticks: int) -> Any:
    """Ticks as a time of this stream."""
    return pa.scalar(ticks).cast(batch.schema.time_type).as_py()
