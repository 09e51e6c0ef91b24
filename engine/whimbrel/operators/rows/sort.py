"""Sort rows after the late policy was applied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from whimbrel.batch import Batch, Schema
from whimbrel.clock import INF
from whimbrel.disorder import Sorter, SorterSizes
from whimbrel.kernels import Kernel
from whimbrel.plan import Operator, Ordered, Properties, Reach


@dataclass(frozen=True, kw_only=True, eq=False)
class Sort(Operator):
    r"""Sort rows by event time.

        time     0    5    10
        arrives  3 1 2
        out      1 2 3              (once nothing before 3 can come)

    The planner puts it where order is first needed. It sorts after operators that read one row at a time, so that
    filtered rows never wait. It sorts after windows on a grid, so that the rows of one window need no order.

    Parameters
    ----------
    None.

    Notes
    -----
    Shapes: the rows that came in. State: rows that may still be overtaken.
    Source: Chandramouli et al., Impatience (ICDE 2018), sections III and IV-A.

    Examples
    --------
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> log = wb.from_arrow({"at": [3, 1, 2], "seen": [3, 4, 5]}, time="at", arrival="seen", name="log")
    >>> print(log.where(col.at > 1).explain().split("runs as\n")[1])
    sort()   [intervals]
    └─ where(col.at > 1)   [intervals, with gaps in batches]
       └─ log(at, seen, 3 rows), unsorted
    """

    accepts_edges: ClassVar[bool] = True

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        return replace(upstream[0], packed=True)

    def ordered_columns(self, schemas: Sequence[Schema], known: Sequence[Properties]) -> Ordered:
        return known[0].ordered

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def reach(self, *inputs: Reach) -> Reach | None:
        return inputs[0]

    def partitioned(self, *by: str) -> str | None:
        return by[0]

    def kernel(self, *upstream: Schema) -> Kernel:
        return SortKernel()

    def show(self) -> str:
        return "sort()"


class SortKernel(SorterSizes, Kernel):
    """Buffer rows in a sorter until the watermark passes them."""

    def __init__(self) -> None:
        self.sorter = Sorter()

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        self.sorter.add(batch)
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = watermark
        return self.sorter.release(INF if watermark == INF else watermark - 1)
