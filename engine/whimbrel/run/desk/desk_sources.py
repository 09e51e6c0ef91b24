"""Placeholders of sources in the plans of a desk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from whimbrel.batch import Batch, Schema
from whimbrel.clock import INF, MIN_TIME
from whimbrel.errors import PlanError
from whimbrel.expr import Call, Col, Expr, ParameterValues
from whimbrel.expr.parameter import PARAMETER
from whimbrel.operators import Coalesce, Select
from whimbrel.optimize import optimize
from whimbrel.plan import FilteredSource, Node, OrderingSpec, Source, with_parts
from whimbrel.run.desk.rows_from import RowsFrom


class NamedRows(Source):
    """Rows that a desk has anyway, by name: those of a source in the order of time, or the results of a query.

    They belong to one source or one query, also where a later query or another desk has the same name.
    """

    def __init__(self, name: str, schema: Schema, *, time: str = "start", source: Source | None = None,
                 query: object = None) -> None:
        self.name, self.schema, self.time = name, schema, time
        self.of, self.query = source, query
        if source is not None:
            self.longest, self.sampling, self.hidden = source.longest, source.sampling, source.hidden
            self.disorder = OrderingSpec(0, source.disorder.late)

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        raise PlanError(f"Cannot read {self.name!r} outside its desk.", where=self.name,
                        hint="Add the query to the desk: desk.add(name, query).")
        yield None


def on_desk(plan: Node, rows: Callable[[Node], Node], since: Callable[[NamedRows], int | None]) -> Node:
    """The optimized plan of a query over what a desk reads.

    Parameters
    ----------
    plan : Node
        Over named rows.
    rows : callable
        The node that has these rows, for a node of :class:`NamedRows`.
    since : callable
        The first time, in ticks of named rows, from which the query reads them; None: from their beginning.

    Raises
    ------
    PlanError
        When the query needs rows in the order of arrival.
    """
    def attached(node: Node) -> Node:
        if not isinstance(node.op, Source):
            return node
        named = node.op.source if isinstance(node.op, FilteredSource) else node.op
        if not isinstance(named, NamedRows):
            raise PlanError("A desk sorts the rows of its sources once, so its queries get no late rows.",
                            where=named.name, hint="Run queries with late_rows() or at_latencies() by themselves.")
        below = rows(Node(named))
        if node.schema.names and named.schema.names != node.schema.names:
            below = Node(Select(columns=tuple((name, Col(name)) for name in node.schema.names)), (below,))
        begin = since(named)
        return below if begin is None else Node(RowsFrom(begin=begin), (below,))

    root = optimize(plan)
    if isinstance(root.op, Coalesce):  # which need not keep the order where results leave; here others may read them
        root = Node(Coalesce(), root.inputs)
    return root.rewrite(attached)


def following(watermark: int) -> int | None:
    """The first time after all rows that have left a sorter with this watermark; None if none has."""
    return None if watermark == MIN_TIME else watermark + (watermark < INF)


def with_own_parameters(plan: Node, per_second: int | None) -> tuple[Node, dict[str, ParameterValues]]:
    """The plan with values of its own for each parameter, by name.

    Raises
    ------
    PlanError
        When two parameters of one name have different defaults.
    """
    own: dict[str, ParameterValues] = {}

    def change(part: object) -> Expr | None:
        if not isinstance(part, Call) or part.function != PARAMETER:
            return None
        values: ParameterValues = part.options[0]
        mine = own.setdefault(values.name, values.copy(per_second))
        if (mine.default, mine.type) != (values.default, values.type):
            raise PlanError(f"The parameter {values.name!r} has two defaults: {mine.default!r} and {values.default!r}.",
                            where=part.show(), hint="Use one default, or two names.")
        return Call(PARAMETER, part.args, (mine,))

    def rewritten(node: Node) -> Node:
        if isinstance(node.op, Source):
            return node
        op = with_parts(node.op, change)
        return node if op is node.op else Node(op, node.inputs, node.calls)

    return plan.rewrite(rewritten), own
