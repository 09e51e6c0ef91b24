"""Aggregates, by their names in SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from sqlglot import exp

from whimbrel import stream as wb
from whimbrel.aggregates import Interpolation, UserFunctions
from whimbrel.expr import Expr, Lit, when
from whimbrel.plan import Aggregate
from whimbrel.sql.closing_when import is_running, running
from whimbrel.sql.functions import unknown_function
from whimbrel.sql.list_aggregates import frequent_values, joined_texts, quantile_list
from whimbrel.sql.moment_aggregates import OF_MOMENTS, moment_name, moments
from whimbrel.sql.pair_aggregates import OF_PAIRS, ordered_aggregate
from whimbrel.sql.scalars import condition, scalar
from whimbrel.sql.scope import NameScope

Makes = Callable[[Expr], Aggregate]

PLAIN: Final[dict[Any, Makes]] = {
    exp.Avg: wb.mean, exp.Min: wb.min, exp.Max: wb.max, exp.Median: wb.median,
    exp.Stddev: wb.std, exp.StddevSamp: wb.std, exp.StddevPop: lambda x: wb.std(x, sample=False),
    exp.Variance: wb.var, exp.VariancePop: lambda x: wb.var(x, sample=False),
    exp.ArrayAgg: wb.collect, exp.First: wb.first, exp.Last: wb.last, exp.AnyValue: wb.any_value,
    exp.Mode: wb.mode, exp.FirstValue: wb.first, exp.LastValue: wb.last, exp.ApproxDistinct: wb.approx_count_distinct,
}
"""Aggregates that are null of nothing, or have no other choice."""

NULL_OF_NOTHING: Final[dict[Any, Makes]] = {exp.Sum: wb.sum, exp.LogicalOr: wb.any, exp.LogicalAnd: wb.all}
"""Aggregates that are a value of nothing in Python, and null in SQL."""

_OTHERS: Final = (exp.Count, exp.CountIf, exp.Quantile, exp.ApproxQuantile, exp.ApproxTopK, exp.GroupConcat,
                  exp.Anonymous)
"""Calls of aggregates that need a form of their own."""

_NAMED: Final[dict[str, tuple[Makes, bool]]] = {
    "product": (wb.product, True), "bool_or": (wb.any, True), "bool_and": (wb.all, True), "every": (wb.all, True),
    "last": (wb.last, False),
    "first": (wb.first, False),
    "bit_and": (wb.bit_and, False), "bit_or": (wb.bit_or, False), "bit_xor": (wb.bit_xor, False),
    "and_aggr": (wb.bit_and, False), "or_aggr": (wb.bit_or, False), "xor_aggr": (wb.bit_xor, False),
    "sum_distinct": (wb.sum_distinct, False),
    "mad": (wb.mad, False), "entropy": (wb.entropy, False), "increase": (wb.increase, False),
    "total": (wb.sum, False), "any": (wb.any, False), "all": (wb.all, False),
    "posavg": (lambda x: wb.mean(x).where(x > 0), False),
}
_QUANTILES: Final[dict[str, Interpolation]] = {"quantile_cont": "linear", "quantile_disc": "discrete"}


def is_aggregate(node: Any, scope: NameScope) -> bool:
    """Whether a node is a call of an aggregate."""
    if isinstance(node, exp.Anonymous):
        return (node.name.lower() in (*_NAMED, *_QUANTILES, *OF_MOMENTS) or is_running(node.name)
                or isinstance(scope.binder.functions.get(node.name), UserFunctions))
    return isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup) and not isinstance(node.parent, exp.Window)


def has_aggregate(node: Any, scope: NameScope) -> bool:
    """Whether an expression has an aggregate that is not of a subquery."""
    for part in node.walk(prune=lambda each: isinstance(each, exp.Query | exp.Window)):
        if is_aggregate(part, scope):
            return True
    return False


def aggregate(node: Any, scope: NameScope, where: Expr | None = None) -> Expr:
    """The aggregate of a call, over the rows of the scope for which a condition is true."""
    text = scope.binder.text
    if isinstance(node, exp.Filter):
        return aggregate(node.this, scope, condition(node.expression.this, scope))
    if isinstance(node, exp.WithinGroup):
        return _ordered_set(node, scope, where)

    def value(part: Any) -> Expr:
        if has_aggregate(part, scope):
            raise text.error("An aggregate cannot have an aggregate in it.", node, "Use a subquery.")
        return scalar(part, scope)

    def inner(part: Any) -> Expr | None:
        return aggregate(part, scope, where) if is_aggregate(part, scope) else None

    def kept(made: Aggregate) -> Aggregate:
        return made if where is None else made.where(where)

    def null_of_nothing(make: Makes, x: Expr) -> Expr:
        return when(kept(wb.count(x)) > 0).then(kept(make(x))).otherwise(Lit(None))

    if (name := moment_name(node)) is not None:
        if (made := moments(node, name, value, kept)) is None:
            raise unknown_function(node, name, scope)
        return made
    argument: Any = node.this if not isinstance(node, exp.Anonymous) else None
    distinct = isinstance(argument, exp.Distinct)
    if distinct:
        if len(argument.expressions) != 1:
            raise text.error("DISTINCT in an aggregate needs one value.", node, "Use one column.")
        argument = argument.expressions[0]
        if isinstance(node, exp.Count):
            return kept(wb.count_distinct(value(argument)))
        if isinstance(node, exp.Sum):
            return null_of_nothing(wb.sum_distinct, value(argument))
        if not isinstance(node, exp.Min | exp.Max | exp.LogicalOr | exp.LogicalAnd):
            raise text.error("DISTINCT is for count, sum, min and max.", node, "Use a subquery with SELECT DISTINCT.")
    if isinstance(argument, exp.Order) and not isinstance(node, exp.GroupConcat):
        return kept(ordered_aggregate(node, value, scope))
    kind = type(node)
    if kind not in (*NULL_OF_NOTHING, *PLAIN, *OF_PAIRS, *_OTHERS):
        raise text.error(f"There is no aggregate {node.sql_name().lower()!r}.", node,
                         "Use count, sum, avg, min, max, median, stddev, variance, first or last.")
    known = ("this", "expressions", "big_int", "quantile", "parameters", "separator",
             *(["expression"] if kind in (*OF_PAIRS, exp.ApproxTopK) else []),
             *(["counters"] if kind is exp.ApproxTopK else []))
    extra = [key for key, given in node.args.items() if given and key not in known]
    if extra or (node.args.get("expressions") and not isinstance(node, exp.Anonymous)):
        raise text.error("This aggregate has an argument that the language does not have.", node,
                         "Leave the argument out.")
    match node:
        case exp.Count() if argument is None or isinstance(argument, exp.Star):
            return kept(wb.count())
        case exp.Count():
            return kept(wb.count(value(argument)))
        case exp.CountIf():
            return kept(wb.count()).where(condition(argument, scope))
        case exp.GroupConcat():
            return kept(joined_texts(node, value, scope))
        case exp.ApproxTopK():
            return kept(frequent_values(node, value, scope))
        case exp.Quantile(args={"quantile": exp.Array() as fractions}):
            return kept(quantile_list(node, value(argument), fractions, scope))
        case exp.Quantile() | exp.ApproxQuantile():
            q = _fraction(node.args["quantile"], scope)
            approximate = isinstance(node, exp.ApproxQuantile)
            return kept((wb.approx_quantile if approximate else wb.quantile)(value(argument), q))
        case exp.Anonymous():
            return _named(node, scope, value, inner, kept, null_of_nothing)
    if kind in OF_PAIRS:
        return kept(OF_PAIRS[kind](value(argument), value(node.expression)))
    if kind in NULL_OF_NOTHING:
        return null_of_nothing(NULL_OF_NOTHING[kind], value(argument))
    return kept(PLAIN[kind](value(argument)))


def _named(node: Any, scope: NameScope, value: Any, inner: Any, kept: Any, null_of_nothing: Any) -> Expr:
    user = scope.binder.functions.get(node.name)
    if user is None and is_running(node.name):
        return running(node, scope.binder, value, inner, kept)
    lower = node.name.lower()
    if lower == "quantile_cont" and len(node.expressions) == 2 and isinstance(node.expressions[1], exp.Array):
        return cast("Expr", kept(quantile_list(node, value(node.expressions[0]), node.expressions[1], scope)))
    values = [value(each) for each in node.expressions]
    if isinstance(user, UserFunctions):
        made: Expr = kept(user(*values))
        return made
    if lower in _QUANTILES and len(values) == 2:
        return kept(wb.quantile(values[0], _fraction(node.expressions[1], scope), interpolation=_QUANTILES[lower]))
    if lower not in _NAMED:
        raise unknown_function(node, node.name, scope)
    make, null = _NAMED[lower]
    if len(values) != 1:
        raise scope.binder.text.error(f"{lower} needs one value.", node, f"Use {lower}(x).")
    return null_of_nothing(make, values[0]) if null else kept(make(values[0]))


def _ordered_set(node: Any, scope: NameScope, where: Expr | None) -> Expr:
    inner, order = node.this, node.expression.expressions
    if isinstance(inner, exp.Mode) and inner.this is None and len(order) == 1 and not order[0].args.get("desc"):
        made: Aggregate = wb.mode(scalar(order[0].this, scope))
        return made if where is None else made.where(where)
    if not isinstance(inner, exp.PercentileCont | exp.PercentileDisc) or len(order) != 1:
        raise scope.binder.text.error("WITHIN GROUP is for percentile_cont, percentile_disc, mode and listagg.", node,
                                      "Use percentile_cont(0.5) WITHIN GROUP (ORDER BY x).")
    discrete = isinstance(inner, exp.PercentileDisc)
    if isinstance(inner.this, exp.Array) and not discrete and not order[0].args.get("desc"):
        made = quantile_list(node, scalar(order[0].this, scope), inner.this, scope)
        return made if where is None else made.where(where)
    made = wb.quantile(scalar(order[0].this, scope), _fraction(inner.this, scope),
                       interpolation="discrete" if discrete else "linear", descending=bool(order[0].args.get("desc")))
    return made if where is None else made.where(where)


def _fraction(node: Any, scope: NameScope) -> float:
    found = scalar(node, scope)
    if isinstance(found, Lit) and isinstance(found.value, int | float):
        return float(found.value)
    raise scope.binder.text.error("A quantile needs a literal from 0 to 1.", node, "Write 0.5 for the median.")
