"""Aggregates of all values in order, by their names in SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from whimbrel import stream as wb
from whimbrel.expr import Expr, Lit
from whimbrel.plan import Aggregate
from whimbrel.sql.scalars import scalar
from whimbrel.sql.scope import NameScope


def joined_texts(node: Any, value: Callable[[Any], Expr], scope: NameScope) -> Aggregate:
    """The aggregate of ``string_agg(x, ', ' ORDER BY x DESC)``."""
    text = scope.binder.text
    written = Lit(",") if node.args.get("separator") is None else scalar(node.args["separator"], scope)
    separator = written.value if isinstance(written, Lit) else None
    if not isinstance(separator, str):
        raise text.error("The separator of string_agg must be a literal text.", node, "Use string_agg(x, ', ').")
    argument = node.this
    if not isinstance(argument, exp.Order):
        return wb.string_agg(value(argument), separator)
    texts = value(argument.this)
    if len(argument.expressions) != 1 or value(argument.expressions[0].this).show() != texts.show():
        raise text.error("string_agg is in the order of time, or of its texts.", node,
                         "Leave ORDER BY out for the order of time.")
    return wb.string_agg(texts, separator, order="value", descending=bool(argument.expressions[0].args.get("desc")))


def quantile_list(node: Any, value: Expr, fractions: Any, scope: NameScope) -> Aggregate:
    """The aggregate of ``quantile_cont(x, [0.5, 0.9])``."""
    found = [scalar(each, scope) for each in fractions.expressions]
    known = [float(each.value) for each in found if isinstance(each, Lit) and isinstance(each.value, int | float)]
    if len(known) != len(found) or not known:
        raise scope.binder.text.error("Quantiles need literals from 0 to 1.", node, "Use [0.5, 0.9].")
    return wb.quantiles(value, known)


def frequent_values(node: Any, value: Callable[[Any], Expr], scope: NameScope) -> Aggregate:
    """The aggregate of ``approx_top_k(x, 10)``, or with so many counters."""
    asked = [node.args.get("expression"), *([node.args["counters"]] if node.args.get("counters") else [])]
    numbers = [each.value for each in (scalar(part, scope) for part in asked if part is not None)
               if isinstance(each, Lit) and isinstance(each.value, int)]
    if len(numbers) < len(asked):
        raise scope.binder.text.error("approx_top_k needs literal integers.", node, "Use approx_top_k(x, 10).")
    return wb.approx_top_k(value(node.this), numbers[0], **dict(zip(["counters"], numbers[1:], strict=False)))
