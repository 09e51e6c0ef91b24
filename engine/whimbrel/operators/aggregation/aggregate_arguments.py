"""Check the arguments of aggregate()."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whimbrel.batch import Schema
from whimbrel.errors import PlanError, near_match
from whimbrel.expr import Expr, Lit, check_name, check_text, lift
from whimbrel.expr.reductions import columns_in, reduced_in
from whimbrel.operators.aggregation.result_expressions import Running
from whimbrel.plan import Properties


def check_options(emit: Any, fill: Any, fill_limit: Any, flush: Any, known: Properties) -> None:
    """Refuse options that are not what they should be, or that the stream has no window for."""
    for name, option in (("emit", emit), ("fill", fill), ("fill_limit", fill_limit), ("flush", flush)):
        if isinstance(option, Expr):
            raise PlanError(f"{name!r} is an option of aggregate(), not a column.",
                            where=f"aggregate({name}={option.show()})", hint="Choose another name for the result.")
    if emit not in ("change", "close"):
        raise PlanError(f"emit must be 'change' or 'close', got {emit!r}.",
                        where=f"aggregate(emit={emit!r})", hint='Use "close" for one row per window.')
    if not isinstance(fill, bool | Mapping) and fill != "previous":
        raise PlanError(f"fill must be True, False, 'previous' or a dict of values, got {fill!r}.",
                        where=f"aggregate(fill={fill!r})",
                        hint='Use fill=True, or a value for each result: fill={"n": 0}.')
    if fill_limit is not None and (fill != "previous" or isinstance(fill_limit, bool) or not isinstance(fill_limit, int)
                                   or fill_limit < 1):
        raise PlanError(f'fill_limit must be an integer of at least 1 and needs fill="previous", got {fill_limit!r}.',
                        where=f"aggregate(fill={fill!r}, fill_limit={fill_limit!r})",
                        hint='Use fill="previous", fill_limit=3 for three windows.')
    if flush not in ("close", "even"):
        raise PlanError(f"flush must be 'close' or 'even', got {flush!r}.", where=f"aggregate(flush={flush!r})",
                        hint='Use "even" for groups that leave little by little.')
    if flush == "even" and (known.grid is None or not known.grid.tumbling or known.grid.shared):
        raise PlanError('flush="even" needs a tumbling window directly before aggregate().',
                        where='aggregate(flush="even")', hint='Put aggregate() after tumbling_window(60).')


def check_filled(fill: Any, results: Mapping[str, Any]) -> None:
    """Refuse values for empty windows that are no constants, or of no result."""
    if not isinstance(fill, Mapping):
        return
    for name, value in fill.items():
        if not isinstance(lift(value), Lit):
            raise PlanError(f"fill must give a constant for {name!r}, got {lift(value).show()}.",
                            where=f"aggregate(fill={fill!r})",
                            hint='Use plain values, such as fill={"n": 0}.')
        if name not in results:
            raise PlanError(f"fill names an unknown result {name!r}.", where=f"aggregate(fill={fill!r})",
                            hint=near_match(name, list(results)))


def check_results(results: Mapping[str, Any], keys: Sequence[str], schema: Schema, verb: str = "aggregate") -> None:
    """Refuse what is not a result: each must be computed from aggregates and keys."""
    example = "aggregate(n=wb.count())" if verb == "aggregate" else "n=wb.count()"
    if not results:
        raise PlanError(f"{verb}() needs at least one aggregate.", where=f"{verb}()",
                        hint=f"Add one, such as {example}.")
    for name, expr in results.items():
        where = f"{verb}({name}=...)"
        check_name(name, verb)
        if not isinstance(expr, Expr):
            raise PlanError(f"{name} must be an aggregate, got {expr!r}.", where=where,
                        hint="Use an aggregate, such as wb.sum(col.x).")
        for part in reduced_in(expr):
            if isinstance(part, Running) and verb == "aggregate":
                raise PlanError(f"{part.show()} needs groups that close.", where=f"{verb}({name}=...)",
                                hint="Use epoch_aggregate(size, closing_when=...).")
            for given in vars(part).values():
                check_text(given, schema.names, where=f"{verb}({name}={part.show()})")
        single = [column for column in columns_in(expr) if column not in keys]
        if single or not any(True for _ in reduced_in(expr)):
            raise PlanError(f"{name} must be an aggregate, got {expr.show()}.", where=where,
                            hint=f"Aggregate its rows, such as wb.sum(col.{single[0]})." if single
                            else "Use an aggregate, such as wb.sum(col.x).")
