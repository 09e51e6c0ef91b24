"""DISTINCT ON: the first row of each key, as QUALIFY says it."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from whimbrel.sql.binder import Binder
from whimbrel.sql.refusals import refusal


def has_keys(node: Any) -> bool:
    """Whether a query is SELECT DISTINCT ON."""
    given = node.args.get("distinct") if isinstance(node, exp.Select) else None
    return given is not None and given.args.get("on") is not None


def first_rows(node: Any, binder: Binder) -> Any:
    """The SELECT with QUALIFY in place of DISTINCT ON; ORDER BY, which chooses the rows, stays."""
    on = node.args["distinct"].args["on"]
    named = {each.alias.lower(): each.this for each in node.expressions if isinstance(each, exp.Alias)}

    def meant(part: Any) -> Any:
        alias = isinstance(part, exp.Column) and not part.table and named.get(part.name.lower())
        return alias or part

    keys = [meant(each) for each in (on.expressions if isinstance(on, exp.Tuple) else [on])]
    order = node.args.get("order")
    others = [each for each in (order.expressions if order is not None else []) if meant(each.this) not in keys]
    if not others:
        what, hint = refusal("distinct on")
        raise binder.text.error(what, order or on, hint)
    first = [exp.Ordered(this=meant(each.this).copy(), desc=each.args.get("desc"),
                         nulls_first=each.args.get("nulls_first")) for each in others]
    number = exp.Window(this=exp.RowNumber(), partition_by=[each.copy() for each in keys],
                        order=exp.Order(expressions=first))
    bound = exp.EQ(this=number, expression=exp.Literal.number(1))
    made = node.copy()
    made.set("distinct", None)
    known = made.args.get("qualify")
    if known is not None:
        raise binder.text.error(*_with_qualify(known))
    made.set("qualify", exp.Qualify(this=bound))
    return made


def _with_qualify(node: Any) -> tuple[str, Any, str]:
    what, hint = refusal("distinct on and qualify")
    return what, node, hint
