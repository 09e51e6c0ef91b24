"""Print plans at several latencies, with what they share and cost."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from whimbrel.errors import PlanError
from whimbrel.kernels import wait_for_compiler
from whimbrel.optimize import optimize_together, plan_notation
from whimbrel.plan import Node, explain_together
from whimbrel.run.execution import Execution
from whimbrel.run.plan_costs import show_ns, step_costs

_MEASURED_ROWS = 4_000_000


def explain_latencies(names: Sequence[str], queries: Sequence[Node], *, measure: bool) -> str:
    """The optimized plans; measured, each step has its cost, and so have all steps that the latencies share.

    Raises
    ------
    PlanError
        When a feed would be read.
    """
    if not measure:
        plans = optimize_together(queries)
        return _plans(names, explain_together(plans, plan_notation(plans)))
    if any(source.live for query in queries for source in query.sources()):
        raise PlanError("explain(measure=True) cannot read a feed, whose rows may not come again.",
                        where="explain(measure=True)", hint="Start the bands, and use the metrics of their runs.")
    with wait_for_compiler():
        _run(queries)  # so that the compiler is part of no cost
        return _measured(names, _run(queries))


class _Costs:
    """Seconds and most buffered bytes of each step of a run."""

    def __init__(self, run: Execution) -> None:
        self.pipeline = run.pipeline
        self.peak_bytes = [0] * len(run.pipeline.nodes)

    def sample(self) -> None:
        for number, kernel in enumerate(self.pipeline.kernels):
            self.peak_bytes[number] = max(self.peak_bytes[number], kernel.buffered_bytes)

    def of(self, steps: set[int], rows: int) -> str:
        """The cost of several steps together."""
        seconds = sum(self.pipeline.work[number].seconds for number in steps)
        held_bytes = sum(self.peak_bytes[number] for number in steps)
        return f"{show_ns(seconds, max(rows, 1))} a row, at most {held_bytes:,} bytes buffered"

    def lines(self) -> dict[int, list[str]]:
        """The lines of each step, by the identity of its node."""
        costs = step_costs(self.pipeline, range(len(self.pipeline.nodes)))
        return {id(node): replace(costs[id(node)], buffered_bytes=self.peak_bytes[number]).show()
                for number, node in enumerate(self.pipeline.nodes)}


def _run(queries: Sequence[Node]) -> _Costs:
    with closing(Execution(*queries, keep_rows=0, hurry=True)) as run:
        costs = _Costs(run)
        while not run.finished and run.reader.rows < _MEASURED_ROWS:
            run.step()
            costs.sample()
    return costs


def _measured(names: Sequence[str], costs: _Costs) -> str:
    pipeline = costs.pipeline
    needs = [set(steps) for steps in pipeline.needs]
    plans = [pipeline.nodes[max(steps)] for steps in needs]  # inputs stand before what reads them
    lines = {key: list(more) for key, more in plan_notation(plans).items()}
    for key, more in costs.lines().items():
        lines.setdefault(key, []).extend(more)
    rows = sum(map(pipeline.rows_in, pipeline.entries))
    total = set[int]().union(*needs)
    shared = needs[0].intersection(*needs)
    only = [(f"only {name}", mine.difference(*(other for other in needs if other is not mine)))
            for name, mine in zip(names, needs, strict=True)]
    several = total.difference(shared, *(mine for _, mine in only))
    parts = [("all latencies", total), ("shared by all", shared), ("shared by some", several), *only]
    summary = "\n".join(f"{what}: {costs.of(steps, rows)}" for what, steps in parts if steps)
    return f"{_plans(names, explain_together(plans, lines))}\n\n{summary}"


def _plans(names: Sequence[str], texts: Sequence[str]) -> str:
    return "\n\n".join(f"{name}:\n{text}" for name, text in zip(names, texts, strict=True))
