"""Bind CLOSING_WHEN: running aggregates until a group closes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from sqlglot import exp

from whimbrel import stream as wb
from whimbrel.expr import Expr
from whimbrel.operators.aggregation.result_expressions import Running
from whimbrel.plan import Aggregate
from whimbrel.sql.binder import Binder
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import SqlRelation, epoch_hint, reduced_parts

OPTIONS: Final = ("size", "closing_when", "offset")
"""Results of ``epoch_aggregate`` cannot have the names of its options."""

RUNNING: Final[dict[str, Callable[[Any], Expr]]] = {
    "sum_of_dups": lambda kept: kept(wb.count) - kept(wb.count_distinct),
}
"""Running aggregates of TigonSQL's manual; each gets what makes an aggregate of the value."""


def is_running(name: str) -> bool:
    """Whether a function is a running aggregate."""
    return name.lower() == "running" or name.lower() in RUNNING


def running(node: Any, binder: Binder, value: Callable[[Any], Expr], inner: Callable[[Any], Expr | None],
            kept: Callable[[Aggregate], Aggregate]) -> Expr:
    """The running aggregate of a call.

    `value` is the expression of an argument, `inner` the aggregate that it is, and `kept` adds the condition of FILTER.
    """
    name = node.name.lower()
    if len(node.expressions) != 1:
        raise binder.text.error(f"{name} needs one value.", node,
                                f"Use {name}({'sum(x)' if name == 'running' else 'x'}).")
    [argument] = node.expressions
    if name == "running":
        made = inner(argument)
        if made is None or any(isinstance(part, Running) for part in reduced_parts(made)):
            raise binder.text.error("running needs an aggregate.", node, "Use running(sum(x)).")
        return wb.running(made)
    of = value(argument)
    return wb.running(RUNNING[name](lambda make: kept(make(of))))


def closing_of(node: Any) -> Any:
    """The condition of CLOSING_WHEN, which stands after GROUP BY or after HAVING."""
    parts = [node.args.get("group"), node.args.get("having")]
    return next((each.args["closing"] for each in parts if each is not None and each.args.get("closing")), None)


def check_closing(node: Any, closing: Any, has_epoch: bool, relation: SqlRelation, binder: Binder) -> None:
    """Refuse CLOSING_WHEN without an epoch."""
    if closing is not None and (not has_epoch or relation.window is not None):
        what, hint = refusal("closing without epoch", **epoch_hint(relation))
        raise binder.text.error(what, node.args.get("group") or node, hint)


def check_running(node: Any, results: Sequence[Expr], closing: Any, binder: Binder) -> None:
    """Refuse running aggregates without CLOSING_WHEN."""
    if closing is None and any(isinstance(part, Running) for expr in results for part in reduced_parts(expr)):
        first = next(part for part in node.find_all(exp.Anonymous) if is_running(part.name))
        what, hint = refusal("running without closing")
        raise binder.text.error(what, first, hint)


def refuse_sets(node: Any, binder: Binder) -> None:
    """Refuse CLOSING_WHEN with several sets of keys."""
    if closing_of(node) is not None:
        raise binder.text.error("CLOSING_WHEN is for one set of keys.", node.args["group"],
                                "Use UNION ALL of queries in place of GROUPING SETS, CUBE and ROLLUP.")

