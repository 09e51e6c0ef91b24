"""Leave out the rows that were read before a query was added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from whimbrel.batch import Batch, Schema
from whimbrel.kernels import Kernel, Stateless
from whimbrel.plan import Operator


@dataclass(frozen=True, kw_only=True, eq=False)
class RowsFrom(Operator):
    """Keep the rows that start at a time or later, of rows in the order of their start.

    A desk puts it into plans that are optimized already. Rows are cut and never marked as absent, so that generated
    loops see the same kind of batch as before.

        time     0    5    10
        in       a────
                      b────
        out           b────           (since(5))

    Parameters
    ----------
    begin : int
        In ticks.

    Notes
    -----
    Shapes: at most as many rows out as in, columns unchanged. State: none.
    """

    row_by_row: ClassVar[bool] = True

    begin: int

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def kernel(self, *upstream: Schema) -> Kernel:
        return RowsFromKernel(self.begin)

    def show(self) -> str:
        return f"since({self.begin})"


class RowsFromKernel(Stateless):
    """Cuts the first rows off."""

    def __init__(self, begin: int) -> None:
        self._begin = begin

    def apply(self, batch: Batch) -> Batch:
        if batch.sync[0] >= self._begin:
            return batch
        return batch.slice(int(np.searchsorted(batch.sync, self._begin)), len(batch))
