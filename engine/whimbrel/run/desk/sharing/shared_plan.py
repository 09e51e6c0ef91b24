"""Split a plan into what it shares and what is its own."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from whimbrel.expr import Col, Expr, ParameterValues
from whimbrel.operators import Coalesce, GroupAggregate, Select
from whimbrel.optimize import SharedNodes, optimize
from whimbrel.optimize.absorb_window import absorb_window
from whimbrel.optimize.lower_aggregates import reason_for_order, windowed_rows
from whimbrel.optimize.two_phase_aggregate import above, split_aggregate
from whimbrel.plan import AggregatePhase, Node, PushSource, Source, reads_lifetime, structure, walk
from whimbrel.run.desk.desk_sources import NamedRows
from whimbrel.run.desk.sharing.parameters_of_conditions import parameters_in, without_times


@dataclass(frozen=True)
class SharedPlan:
    """A query as partial aggregates of panes, which it shares with others, and the steps after them.

    Attributes
    ----------
    rows : NamedRows
        The source that it reads.
    states : GroupAggregate
        Partial aggregates of panes, without keys and condition.
    keys : tuple of Expr
    condition : Expr or None
    condition_key, key_keys : Hashable, tuple of Hashable
        Equal for equal conditions, and for equal keys.
    parameters : tuple of ParameterValues
        Those of the condition.
    rest : Node
        The steps after the partial aggregates, over a :class:`PushSource`, optimized.
    same : Hashable
        Equal for queries that have the same partial aggregates, keys, conditions and steps.
    """

    rows: NamedRows
    states: GroupAggregate
    keys: tuple[Expr, ...]
    condition: Expr | None
    condition_key: Hashable
    key_keys: tuple[Hashable, ...]
    parameters: tuple[ParameterValues, ...]
    rest: Node
    same: Hashable


class SharedPlans:
    """Splits plans, and keeps what queries of one shape have in common, so that it is planned once."""

    def __init__(self) -> None:
        self._sources: dict[Hashable, Node] = {}
        self._nodes = SharedNodes()
        self._keys: dict[tuple[Hashable, ...], tuple[Hashable, ...]] = {}

    def split(self, plan: Node) -> SharedPlan | None:
        """The plan of a query over named rows in two parts; None if the query has nothing to share.

        Partial aggregates are shared where the order in which they are merged shows in no result, and where neither
        they nor the conditions before them can fail: then no query can fail for another one.
        """
        if sum(isinstance(node.op, Source) for node in plan.walk()) != 1:
            return None
        for node in plan.walk():
            if isinstance(node.op, GroupAggregate):
                return self._split_at(plan, node)
        return None

    def _split_at(self, plan: Node, node: Node) -> SharedPlan | None:
        aggregate = node.op
        assert isinstance(aggregate, GroupAggregate)
        if aggregate.part is not AggregatePhase.WHOLE or aggregate.grid is not None or aggregate.even:
            return None
        found = windowed_rows(aggregate, without_times(node.inputs[0])) if aggregate.measures else None
        if found is None:
            return None
        aggregate, window, rows = found
        if not isinstance(rows.op, NamedRows) or rows.op.of is None or reads_lifetime(aggregate):
            return None
        if parameters_in((aggregate.keys, aggregate.measures)):
            return None
        if aggregate.reads_starts(rows.schema) or reason_for_order(aggregate, rows) is not None:
            return None
        measures = sorted(aggregate.measures, key=lambda named: named[1].show())
        alike = replace(aggregate, condition=None,
                        keys=tuple((f"k{place}", expr) for place, (_, expr) in enumerate(aggregate.keys)),
                        measures=tuple((f"m{place}", each) for place, (_, each) in enumerate(measures)))
        windowed = replace(window, remembers=False)
        split = split_aggregate((windowed,), Node(alike, (Node(windowed, (rows,)),)))
        if split is None:
            return None
        (panes, states, *lasting), merge, finish = split
        assert isinstance(states, GroupAggregate)
        in_panes = absorb_window(Node(states, (Node(panes, (rows,)),)))
        if not isinstance(in_panes.op, GroupAggregate) or in_panes.op.grid is None:
            return None
        given = {name: f"m{place}" for place, (name, _) in enumerate(measures)}
        names = [*((name, Col(f"k{place}")) for place, (name, _) in enumerate(aggregate.keys)),
                 *((name, Col(given[name])) for name, _ in aggregate.measures)]
        results = above(self._source(rows, in_panes), (*lasting, merge, finish, Select(columns=tuple(names))))
        whole = plan.rewrite(lambda each: results if each is node else each)
        if sum(isinstance(each.op, Source) for each in whole.walk()) != 1:
            return None
        has_parameters = any(parameters_in(each.op) for each in whole.walk())
        rest = whole if has_parameters else self._same(whole)
        keyless = replace(in_panes.op, keys=())
        optimized = optimize(rest)
        if isinstance(optimized.op, Coalesce):  # others may read the results
            optimized = rest.once("in order", lambda: Node(Coalesce(), optimized.inputs))
        keys = tuple(expr for _, expr in aggregate.keys)
        condition_key, key_keys = structure(aggregate.condition), tuple(map(structure, keys))
        key_keys = self._keys.setdefault(key_keys, key_keys)
        same = (rows.op.name, structure(keyless), key_keys, condition_key, object() if has_parameters else id(rest))
        return SharedPlan(rows.op, keyless, keys, aggregate.condition, condition_key, key_keys,
                          parameters_in(aggregate.condition), optimized, same)

    def _source(self, rows: Node, states: Node) -> Node:
        """Where the partial aggregates of a query come in."""
        assert isinstance(rows.op, NamedRows)
        assert isinstance(states.op, GroupAggregate)
        key = (rows.op.name, structure(states.op))
        if key not in self._sources:
            pushed = Node(PushSource("partial aggregates", rows.op.time, states.schema, states.op.grid.size
                                     if states.op.grid else None))
            vars(pushed)["properties"] = states.properties
            self._sources[key] = pushed
        return self._sources[key]

    def _same(self, plan: Node) -> Node:
        done: dict[int, Node] = {}
        for node in walk((plan,)):
            done[id(node)] = self._nodes.of(node, tuple(done[id(below)] for below in node.inputs))
        return done[id(plan)]
