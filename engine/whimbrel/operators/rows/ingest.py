"""Ingress as an operator, for a source with several readers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from whimbrel.batch import Schema
from whimbrel.disorder import Ingress
from whimbrel.kernels import Kernel
from whimbrel.plan import Operator, Properties, Source


@dataclass(frozen=True, kw_only=True, eq=False)
class Ingest(Operator):
    """Apply the reorder latency and late policy of a source.

        time     1  5  3  9  2      (in the order of arrival)
        out      1  3  5  9         (reorder latency 2, late="drop")

    The planner puts it there when the same source is also asked for its late rows, or at several latencies, so that it
    is read once.

    Parameters
    ----------
    source : Source
        Whose promise it is.

    Notes
    -----
    Shapes: late rows are dropped, moved, or an error. State: rows that may still be overtaken.
    Source: docs/semantics.md, order and late events.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [1, 5, 3, 9, 2]}, time="at", reorder_latency=2, late="side_output")
    >>> on_time, late = wb.start(log, wb.late_rows(log))
    >>> on_time.wait(), late.wait()
    (True, True)
    >>> on_time.snapshot().table["at"].to_pylist(), late.snapshot().table["at"].to_pylist()
    ([1, 3, 5, 9], [2])
    """

    source: Source

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        return replace(upstream[0], packed=True)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        partition = self.source.disorder.partition
        return (wanted if partition is None else wanted | {partition},)

    def kernel(self, *upstream: Schema) -> Kernel:
        return Ingress(self.source)

    def show(self) -> str:
        return f"ingest({self.source.name})"
