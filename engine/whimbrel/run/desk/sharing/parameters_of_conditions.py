"""Parameters in the conditions of shared aggregates."""

from __future__ import annotations

from typing import Any

from whimbrel.batch import Schema
from whimbrel.expr import PARAMETER, Call, Expr, Lit, ParameterValues, start_time
from whimbrel.operators import HoppingWindow, Select, Where
from whimbrel.plan import Node, with_parts
from whimbrel.run.desk.sharing.value_classes import column_of


def parameters_in(part: Any) -> tuple[ParameterValues, ...]:
    """The parameters in an operator or an expression."""
    found: list[ParameterValues] = []

    def look(each: Any) -> None:
        if isinstance(each, Call) and each.function == PARAMETER:
            found.append(each.options[0])

    with_parts(part, look)
    return tuple(dict.fromkeys(found))


def without_times(node: Node, *, below_window: bool = False) -> Node:
    """Rows of a window, with filters and projections below it whose parameters name no time.

    It is that of rows as they were read, wherever the expressions go. A parameter above the window reads its start.
    """
    if not isinstance(node.op, Where | Select | HoppingWindow):
        return node
    made = without_times(node.inputs[0], below_window=below_window or isinstance(node.op, HoppingWindow))
    op = with_parts(node.op, _without_time) if below_window else node.op
    return node if made is node.inputs[0] and op is node.op else Node(op, (made,), node.calls)


def _without_time(part: Any) -> Expr | None:
    known = isinstance(part, Call) and part.function == PARAMETER
    return Call(PARAMETER, (Lit(0),), part.options) if known else None


def condition_at(condition: Expr, start: int, schema: Schema) -> Expr:
    """A condition for rows from a start on until a parameter changes.

    A parameter that a column is compared with is replaced by its value where constants are answered by a search.
    """
    def value(part: Any) -> Expr | None:
        if isinstance(part, Call) and part.function == PARAMETER:
            return Lit(part.options[0].value_at(start, schema.unit))
        return None

    def change(part: Any) -> Expr | None:
        if isinstance(part, Call) and part.function == PARAMETER:
            return Call(PARAMETER, (start_time(),), part.options)
        if not isinstance(part, Expr):
            return None
        settled: Expr = with_parts(part, value)
        return settled if column_of(settled, schema) is not None else None

    return with_parts(condition, change)
