"""Functions of TigonSQL's manual, by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from whimbrel.errors import ExpressionError
from whimbrel.expr import Expr, Lit, greatest, least, prefix_table, when
from whimbrel.expr.prefix_table import PrefixTable
from whimbrel.sql.function_names import MANUAL_FUNCTIONS
from whimbrel.sql.scope import NameScope, matching
from whimbrel.sql.tables import as_table
from whimbrel.sql.text_functions import literal_text, literal_whole
from whimbrel.stream import Stream

Scalar = Callable[[Any, NameScope], Expr]

_CASTS: Final[dict[str, pa.DataType]] = {
    "int": pa.int32(), "uint": pa.uint32(), "llong": pa.int64(), "ullong": pa.uint64(), "float": pa.float64(),
    "ushort": pa.uint16()}
_LARGER: Final = ("umax", "llmax", "ullmax", "fmax")
_SMALLER: Final = ("umin", "llmin", "ullmin", "fmin")
_COMPARED: Final[dict[str, Callable[[Expr, Expr], Expr]]] = {
    "eq": lambda x, y: x == y, "geq": lambda x, y: x >= y, "leq": lambda x, y: x <= y}
_PLACES: Final = ("str_exists_substr", "str_extract_regex", "str_match_offset", "str_partial_regex_match",
                  "str_regex_match", "str_truncate")
"""Functions of texts."""

_COUNTS: Final = {"non_temporal": 1, "str_match_offset": 3, "str_partial_regex_match": 3, **dict.fromkeys(_CASTS, 1)}
_NUMBERS: Final = {1: "one value", 2: "two values", 3: "three values"}


def manual_function(node: Any, scope: NameScope, scalar: Scalar) -> Expr | None:
    """The expression of a function that only the manual has, or None."""
    name, arguments = node.name.lower(), node.expressions
    if name not in MANUAL_FUNCTIONS:
        return None
    count = _COUNTS.get(name, 2)
    if len(arguments) != count:
        raise scope.binder.text.error(f"{name} needs {_NUMBERS[count]}.", node,
                                      f"Use {name}({', '.join('xyz'[:count])}).")
    if name == "getlpmid":
        return _longest_prefix(arguments[0], arguments[1], scope, scalar)
    if name in _PLACES:
        return _of_text(name, arguments, scope, scalar)
    values = [scalar(each, scope) for each in arguments]
    if name in _CASTS:
        return values[0].cast(_CASTS[name])
    if name == "non_temporal":
        return values[0]
    if name in _COMPARED:
        return _COMPARED[name](*values).cast(pa.int32())
    if name == "str_compare":
        return when(values[0] < values[1]).then(-1).otherwise((values[0] > values[1]).cast(pa.int64()))
    return greatest(*values) if name in _LARGER else least(*values)


def _of_text(name: str, arguments: list[Any], scope: NameScope, scalar: Scalar) -> Expr:
    def words(place: int) -> str:
        return literal_text(arguments[place], scope, scalar)

    def whole(place: int) -> int:
        return literal_whole(arguments[place], scope, scalar)

    def text(place: int) -> Any:
        return scalar(arguments[place], scope).str

    match name:
        case "str_exists_substr":
            return text(0).contains(words(1))
        case "str_regex_match":
            return text(0).contains(words(1), regex=True)
        case "str_partial_regex_match":
            return text(0).slice(0, whole(2)).str.contains(words(1), regex=True)
        case "str_extract_regex":
            return text(0).extract(words(1), 0)
        case "str_truncate":
            return text(0).slice(0, whole(1))
    return text(2).slice(whole(0), whole(0) + len(words(1))) == words(1)  # an offset, a text, and what has it


def predicate(node: Any, scope: NameScope, scalar: Scalar) -> Expr | None:
    """The condition ``f[x]``: the call ``f(x)``; None if ``f`` is a column."""
    name = node.this
    if not isinstance(name, exp.Column) or name.table or matching(scope.relation, name.name):
        return None
    call = exp.func(name.name, *(each.copy() for each in node.expressions), copy=False)
    for part in call.walk():
        if "start" in name.this.meta and not part.meta:
            part.meta.update(name.this.meta)
    return scalar(call, scope)


def _longest_prefix(address: Any, table: Any, scope: NameScope, scalar: Scalar) -> Expr:
    """The id of the longest prefix of an address, from a table of prefixes and ids; -1 without one."""
    text = scope.binder.text
    name = table.name if isinstance(table, exp.Column | exp.Literal) else ""
    data = scope.binder.streams.get(name)
    if data is None or isinstance(data, Stream):
        raise text.error("getlpmid needs a table of prefixes.", table,
                         "Pass it, on a desk in tables=: wb.sql(..., nets=pa.table({'prefix': ['10.0.0.0/8'], "
                         "'id': [1]})).")
    if isinstance(data, PrefixTable):
        prefixes = data
        if not pa.types.is_integer(prefixes.values.type):
            raise text.error(f"getlpmid needs integers as the values of prefixes, got {prefixes.values.type}.", table,
                             'Use for example wb.prefix_table({"10.0.0.0/8": 1}).')
    else:
        columns = as_table(data, name)
        if columns.num_columns != 2 or not pa.types.is_integer(columns.schema.types[1]):
            raise text.error("A table of prefixes has two columns: prefixes as texts, and integers.", table,
                             "Select these columns.")
        try:
            prefixes = prefix_table(columns.rename_columns(["prefix", "id"]), value="id")
        except ExpressionError as error:
            raise text.error(error.what, table, error.hint) from None
    found = scalar(address, scope)
    longest = found.ip.lookup(prefixes)
    scope.type_of(longest, address)
    return when(found.is_not_null()).then(longest.fill_null(-1)).otherwise(Lit(None))
