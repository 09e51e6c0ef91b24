"""Print a plan with what its steps cost in a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whimbrel.operators import EvictingAggregate
from whimbrel.operators.aggregation.evicting_kernel import EvictingKernel
from whimbrel.operators.rows.where import CostlyWhereKernel
from whimbrel.optimize import level_lines, plan_notation
from whimbrel.plan import Node, Source, explain, readable
from whimbrel.run.pipeline import Pipeline

_NS = 1e9


@dataclass(frozen=True)
class StepCost:
    """What a step did in a run.

    Attributes
    ----------
    rows_in, rows_out : int
        For a source: rows received, and rows passed downstream.
    seconds : float
        Its own time, without that of downstream steps.
    table : str
        For partial aggregates in an evicting table: its size, and the rows that leave it.
    conditions : tuple of str
        For an expensive filter: the cost of each expensive condition, and the share of the rows that it keeps.
    buffered_bytes : int, optional
        The most bytes that it buffered, where they were measured.
    """

    rows_in: int
    rows_out: int
    seconds: float
    table: str = ""
    conditions: tuple[str, ...] = ()
    buffered_bytes: int | None = None

    def show(self) -> list[str]:
        """Its lines under the step."""
        each = "" if not self.rows_in else f", {show_ns(self.seconds, self.rows_in)} a row in"
        buffered = "" if self.buffered_bytes is None else f", at most {self.buffered_bytes:,} bytes buffered"
        line = f"measured: {self.rows_in:,} rows in, {self.rows_out:,} out{each}{buffered}"
        return [line, *(f"measured: {each}" for each in ((self.table,) if self.table else self.conditions))]


def step_costs(pipeline: Pipeline, nodes: Sequence[int], waited_s: Sequence[float] = ()) -> dict[int, StepCost]:
    """The costs of some steps of a pipeline so far, by the identity of their nodes.

    Parameters
    ----------
    pipeline : Pipeline
    nodes : sequence of int
        The numbers of the steps.
    waited_s : sequence of float, optional
        Seconds that each step of the pipeline has waited for the compiler, which it is not charged for.
    """
    found = {}
    for number in nodes:
        work, kernel = pipeline.work[number], pipeline.kernels[number]
        seconds = work.seconds - (waited_s[number] if waited_s else 0.0)
        table = _table(kernel) if isinstance(kernel, EvictingKernel) else ""
        conditions = _conditions(kernel) if isinstance(kernel, CostlyWhereKernel) else ()
        found[id(pipeline.nodes[number])] = StepCost(pipeline.rows_in(number), work.rows_out, seconds, table,
                                                     conditions)
    return found


def explain_costs(plan: Node, costs: Mapping[int, StepCost]) -> str:
    """Print an optimized plan with the costs of its steps, and of its two levels if it has them."""
    lines: dict[int, list[str]] = {key: list(more) for key, more in plan_notation((plan,)).items()}
    for key, more in level_lines((plan,)).items():
        lines.setdefault(key, []).extend(more)
    for key, cost in costs.items():
        lines.setdefault(key, []).extend(cost.show())
    return readable("\n".join([explain(plan, lines), *_levels(plan, costs)]))


def _levels(plan: Node, costs: Mapping[int, StepCost]) -> list[str]:
    """What the two levels cost, per row of the sources; none of a plan with one level."""
    low = set[int]()
    for node in plan.walk():
        if isinstance(node.op, EvictingAggregate):
            low.update(id(below) for below in node.walk())
    rows = sum(cost.rows_in for node in plan.walk() if isinstance(node.op, Source) and id(node) in low
               and (cost := costs.get(id(node))) is not None)
    if not rows:
        return []
    spent = [sum(cost.seconds for key, cost in costs.items() if (key in low) == is_low) for is_low in (True, False)]
    return [f"low level: {show_ns(spent[0], rows)} a row of its source",
            f"high level: {show_ns(spent[1], rows)} a row of that"]


def _table(kernel: EvictingKernel) -> str:
    size = kernel.size
    if not size.total_rows:
        return ""
    aside = "; most rows pass it now, because it saves too little" if size.pause_rows else ""
    return f"{size.total_left / size.total_rows:.1%} of the rows leave a table of {size.slots:,} slots early{aside}"


def _conditions(kernel: CostlyWhereKernel) -> tuple[str, ...]:
    return tuple(f"{each.condition.show()}: {show_ns(each.ns * 1e-9, each.rows)} a row, keeps "
                 f"{each.rows_kept / each.rows:.1%} of {each.rows:,}"
                 for each in (*kernel.marked, *kernel.ordered, *kernel.last) if each.rows)


def show_ns(seconds: float, rows: int) -> str:
    """Time for each of so many rows."""
    each = _NS * max(seconds, 0.0) / rows
    return f"{each:.2g} ns" if each < 10 else f"{each:,.0f} ns"
