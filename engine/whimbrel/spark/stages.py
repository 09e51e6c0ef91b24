"""Divide a query into stages with shuffles between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from whimbrel.optimize import optimize
from whimbrel.optimize.two_phase_aggregate import above, states_of_windows, takes_any_order
from whimbrel.plan import Node, PushSource, Reach, Source, partition_columns, replace_parts
from whimbrel.spark.computed_keys import computed_first, keys_as_columns

Exchange = Literal["key", "time", "order"]


class How(Enum):
    """Which task gets which rows."""

    LOCAL = "where its rows are"
    KEY = "by key"
    TIME = "by ranges of time"
    ORDER = "in one task, in the order of time"


@dataclass(frozen=True)
class Stage:
    """A part of a query that tasks answer without asking one another.

    Parameters
    ----------
    plan : Node
        Over sources; an earlier stage is one too (:class:`Before`).
    how : How
    by : tuple of dict of Source to str
        Of ``How.KEY``: the columns by which the sources are partitioned.
    reach : Reach, optional
        Of ``How.TIME``.
    """

    plan: Node
    how: How
    by: tuple[dict[Source, str], ...] = ()
    reach: Reach | None = None

    @property
    def earlier(self) -> Iterator[Stage]:
        """The stages that make its rows."""
        return (source.stage for source in self.plan.sources() if isinstance(source, Before))


class Before(PushSource):
    """What an earlier stage answers."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        reach = optimize(stage.plan).reach
        super().__init__("an earlier stage", "", stage.plan.schema,
                         stage.plan.properties.duration or (None if reach is None else reach.longest))


def divide(plan: Node, exchange: Exchange | None = None) -> Stage | None:
    """Divide a query into stages. Returns the last one, which knows those before it.

    Aggregates over windows run in two phases if their states can be merged: partial aggregates where the rows are, and
    only states are shuffled. Steps per key are partitioned by key. Steps with bounded lifetimes are partitioned by time
    ranges, each with a halo of further rows. All other steps run in one task, in time order.

    Parameters
    ----------
    plan : Node
        As written.
    exchange : {"key", "time", "order"}, optional
        One stage with this shuffle; None: the planner chooses.

    Returns
    -------
    Stage or None
        None when the query cannot be exchanged in the requested way.
    """
    if exchange is None:
        return _stage(_in_two_phases(plan))
    return {"key": _by_key, "time": _by_time, "order": _in_order}[exchange](plan)


def _stage(plan: Node) -> Stage:
    return _in_place(plan) or _by_key(plan) or _by_time(plan) or _cut(plan) or _in_order(plan)


def _in_place(plan: Node) -> Stage | None:
    """A stage without a shuffle, if each row is processed alone."""
    return Stage(plan, How.LOCAL) if takes_any_order(plan) else None


def _by_key(plan: Node) -> Stage | None:
    """A stage partitioned by columns of the sources, or by columns that are computed first.

    Spark hashes 0.0 like -0.0, and every NaN alike, so floats can be keys.
    """
    for over in (plan, computed_first(plan, _rows_first), computed_first(keys_as_columns(plan) or plan, _rows_first)):
        if by := tuple(partition_columns(over, floats=True)):
            return Stage(over, How.KEY, by=by)
    return None


def _rows_first(plan: Node) -> Node | None:
    stage = _in_place(plan)
    return None if stage is None else Node(Before(stage))


def _by_time(plan: Node) -> Stage | None:
    """A stage partitioned by time ranges, over sources only: their rows decide the cuts."""
    reach = optimize(plan).reach
    if reach is None or any(isinstance(source, Before) for source in plan.sources()):
        return None
    return Stage(plan, How.TIME, reach=reach)


def _in_order(plan: Node) -> Stage:
    return Stage(plan, How.ORDER)


def _cut(plan: Node) -> Stage | None:
    """Put a part of the plan that can be partitioned by key into a stage before."""
    def cut(node: Node) -> Node | None:
        if isinstance(node.op, Source):
            return None
        if node is not plan and (stage := _by_key(node)) and not _in_place(node):
            return Node(Before(stage))
        if (split := states_of_windows(node)) is not None:
            below, states, after = split
            if (stage := _by_key(below)) and not _in_place(below):
                return above(Node(Before(Stage(states, How.KEY, by=stage.by))), after)
        return None

    after = replace_parts(plan, cut)
    return None if after is plan else _stage(after)


def _in_two_phases(plan: Node) -> Node:
    """Move partial aggregates to where the rows of a source are."""
    def split(node: Node) -> Node:
        found = states_of_windows(node)
        if found is None:
            return node
        below, states, after = found
        return above(Node(Before(Stage(states, How.LOCAL))), after) if _in_place(below) else node

    return plan.rewrite(split)
