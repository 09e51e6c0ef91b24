"""Methods of expressions as functions of SQL, by name.

Literals come after the value. Positions count from 1, as in DuckDB.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sqlglot import exp

from whimbrel.expr import Expr
from whimbrel.sql.scope import NameScope
from whimbrel.sql.text_functions import literal_text, literal_whole

_Methods = dict[str, tuple[tuple[type, ...], Callable[..., Expr]]]


def item(x: Expr, number: int) -> Expr:
    return x.list.get(number - 1) if number > 0 else x.list.get(number) if number else x.list.slice(0, 0).list.get(0)


def slice_between(first: int, last: int) -> tuple[int, int | None]:
    """A slice of Python from the first number to the last one, with both, from 1 or from -1 at the end."""
    return first - 1 if first > 0 else first, None if last == -1 else last if last >= 0 else last + 1


METHODS: Final[_Methods] = {
    "strptime": ((str,), lambda x, form: x.str.strptime(form)),
    "count_matches": ((str,), lambda x, text: x.str.count_matches(text)),
    "epoch": ((), lambda x: x.dt.epoch("us") / 1_000_000),
    "epoch_ms": ((), lambda x: x.dt.epoch("ms")), "epoch_us": ((), lambda x: x.dt.epoch("us")),
    "epoch_ns": ((), lambda x: x.dt.epoch("ns")),
    "millisecond": ((), lambda x: x.dt.second * 1000 + x.dt.millisecond),
    "microsecond": ((), lambda x: x.dt.second * 1_000_000 + x.dt.microsecond),
    "nanosecond": ((), lambda x: x.dt.second * 1_000_000_000 + x.dt.nanosecond),
    "dayofweek_iso": ((), lambda x: x.dt.weekday + 1),
    "to_timezone": ((str,), lambda x, zone: x.dt.to_timezone(zone)),
    "list_extract": ((int,), item),
    "list_slice": ((int, int), lambda x, first, last: x.list.slice(*slice_between(first, last))),
    "list_sort": ((), lambda x: x.list.sort()), "list_reverse_sort": ((), lambda x: x.list.sort(descending=True)),
    "list_join": ((str,), lambda x, separator: x.list.join(separator)),
    "struct_extract": ((str,), lambda x, name: x.field(name)),
}
"""Types of literals and the method, by the name in SQL."""


def method_function(node: Any, scope: NameScope, scalar: Callable[[Any, NameScope], Expr]) -> Expr | None:
    """The expression of a function that is a method; None for other functions and for those of the user."""
    if not isinstance(node, exp.Func) or isinstance(node, exp.AggFunc):
        return None
    name = node.name.lower() if isinstance(node, exp.Anonymous) else node.sql_name().lower()
    if name not in METHODS or name in scope.binder.functions:
        return None
    kinds, method = METHODS[name]
    given = [*node.expressions] if isinstance(node, exp.Anonymous) else [each for each in node.args.values() if each]
    if len(given) != 1 + len(kinds):
        literals = "no literals" if not kinds else "one literal" if len(kinds) == 1 else f"{len(kinds)} literals"
        raise scope.binder.text.error(f"{name}() takes one value and {literals}.", node,
                                      "See the functions in docs/sql.md.")
    options = [(literal_text if kind is str else literal_whole)(each, scope, scalar)
                for kind, each in zip(kinds, given[1:], strict=True)]
    found = method(scalar(given[0], scope), *options)
    scope.type_of(found, node)
    return found
