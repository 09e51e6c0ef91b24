"""Take the results of one reorder latency."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whimbrel.batch import Batch, Schema
from whimbrel.clock import INF, MIN_TIME, show_ticks
from whimbrel.kernels import Kernel
from whimbrel.operators.aggregation.latency_aggregate import NUMBER, LatencyAggregate, first_open
from whimbrel.plan import Operator, Reach


@dataclass(frozen=True, kw_only=True, eq=False)
class OneLatency(Operator):
    """Take the results of one reorder latency.

        time     0    4    8
        in       2────1────         (latency 2)
                 3────1────         (latency 10)
        out      3────1────         (latency 10)

    Parameters
    ----------
    number : int
        Which of the latencies.
    of : LatencyAggregate

    Notes
    -----
    The planner puts it after :class:`LatencyAggregate`.
    Shapes: the rows of one latency. State: the largest time seen.
    Source: Chandramouli et al., Impatience (ICDE 2018), section V.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [1, 5, 3, 9, 2], "seen": [1, 5, 6, 9, 9]}, time="at", arrival="seen", name="log")
    >>> early, late = log.tumbling_window(4).aggregate(n=wb.count()).at_latencies(2, 10)
    >>> early.collect()["n"].to_pylist(), late.collect()["n"].to_pylist()
    ([2, 1, 1], [3, 1, 1])
    """

    number: int
    of: LatencyAggregate

    @property
    def latency(self) -> int:
        """The latency, in ticks."""
        return self.of.latencies[self.number]

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0].with_fields([field for field in upstream[0].fields if field.name != NUMBER])

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted | {NUMBER},)

    def reach(self, *inputs: Reach) -> Reach | None:
        return inputs[0]

    def kernel(self, *upstream: Schema) -> Kernel:
        return OneLatencyKernel(self, self.schema(*upstream))

    def show(self) -> str:
        return f"latency {show_ticks(self.latency, self.of.unit)}"


class OneLatencyKernel(Kernel):
    """Passes rows of its number, which stand together, and makes a watermark of the largest time."""

    def __init__(self, op: OneLatency, out_schema: Schema) -> None:
        grid = op.of.of.grid
        assert grid is not None
        self.latency, self.out_schema = op.latency, out_schema
        self.numbers = np.array([op.number, op.number + 1], np.int8)
        self.hop, self.offset, self.lead = grid.hop, grid.offset, op.of.of.lead

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        first, stop = batch.columns[-1].values.searchsorted(self.numbers).tolist()
        if first == stop:
            return []
        return [batch.having(schema=self.out_schema, columns=batch.columns[:-1]).slice(first, stop)]

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        begin = first_open(watermark, self.latency, self.hop, self.offset)
        self.watermark = begin if begin in (INF, MIN_TIME) else begin + self.lead
        return []
