"""Functions of TigonSQL's manual, by their names."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import AddressValueError, IPv4Network, NetmaskValueError
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from whimbrel.expr import Expr, Lit, greatest, least, when
from whimbrel.sql.function_names import MANUAL_FUNCTIONS
from whimbrel.sql.scope import NameScope, matching
from whimbrel.sql.tables import as_table
from whimbrel.stream import Stream

Scalar = Callable[[Any, NameScope], Expr]

MAX_PREFIXES: Final = 500

_CASTS: Final[dict[str, pa.DataType]] = {
    "int": pa.int32(), "uint": pa.uint32(), "llong": pa.int64(), "ullong": pa.uint64(), "float": pa.float64(),
    "ushort": pa.uint16()}
_LARGER: Final = ("umax", "llmax", "ullmax", "fmax")
_SMALLER: Final = ("umin", "llmin", "ullmin", "fmin")
_TEXTS: Final = {"str_exists_substr": False, "str_regex_match": True}



def manual_function(node: Any, scope: NameScope, scalar: Scalar) -> Expr | None:
    """The expression of a function that only the manual has, or None."""
    name, arguments = node.name.lower(), node.expressions
    if name not in MANUAL_FUNCTIONS:
        return None
    count = 1 if name in _CASTS or name == "non_temporal" else 2
    if len(arguments) != count:
        raise scope.binder.text.error(f"{name} needs {'one value' if count == 1 else 'two values'}.", node,
                                      f"Use {name}({'x' if count == 1 else 'x, y'}).")
    if name == "getlpmid":
        return _longest_prefix(arguments[0], arguments[1], scope, scalar)
    if name in _TEXTS:
        pattern = scalar(arguments[1], scope)
        if not isinstance(pattern, Lit) or not isinstance(pattern.value, str):
            raise scope.binder.text.error("This function needs a literal text.", node, "Write the text in quotes.")
        return scalar(arguments[0], scope).str.contains(pattern.value, regex=_TEXTS[name])
    values = [scalar(each, scope) for each in arguments]
    if name in _CASTS:
        return values[0].cast(_CASTS[name])
    if name == "non_temporal":
        return values[0]
    return greatest(*values) if name in _LARGER else least(*values)


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
                         "Pass it: wb.sql(..., nets=pa.table({'prefix': ['10.0.0.0/8'], 'id': [1]})).")
    columns = as_table(data, name)
    if columns.num_columns != 2 or not pa.types.is_integer(columns.schema.types[1]):
        raise text.error("A table of prefixes has two columns: prefixes as texts, and integers.", table,
                         "Select these columns.")
    if columns.num_rows > MAX_PREFIXES:
        raise text.error(f"A table of prefixes has at most {MAX_PREFIXES} rows, got {columns.num_rows:,}.", table,
                         "Join with the table instead.")
    try:
        prefixes = [(IPv4Network(prefix), number) for prefix, number in zip(*(
            column.to_pylist() for column in columns.columns), strict=True)]
    except (AddressValueError, NetmaskValueError, ValueError, TypeError):
        raise text.error(f"A prefix of {name!r} cannot be read.", table, "Write prefixes such as 10.0.0.0/8.") from None
    ranges = _ranges(prefixes)
    found = scalar(address, scope)
    return when(found.is_not_null()).then(_chosen(found, ranges)).otherwise(Lit(None))


def _ranges(prefixes: list[tuple[IPv4Network, int]]) -> list[tuple[int, int]]:
    """Where the id changes: (first address, id), in order."""
    bounds = sorted({0, *(int(net.network_address) for net, _ in prefixes),
                     *(int(net.broadcast_address) + 1 for net, _ in prefixes)})
    by_length = sorted(prefixes, key=lambda each: -each[0].prefixlen)
    found: list[tuple[int, int]] = []
    for bound in bounds:
        number = next((each for net, each in by_length
                       if int(net.network_address) <= bound <= int(net.broadcast_address)), -1)
        if not found or found[-1][1] != number:
            found.append((bound, number))
    return found


def _chosen(address: Expr, ranges: list[tuple[int, int]]) -> Expr:
    """The id of the range that an address is in, by halving."""
    if len(ranges) == 1:
        return Lit(ranges[0][1])
    middle = len(ranges) // 2
    return when(address < ranges[middle][0]).then(_chosen(address, ranges[:middle])).otherwise(
        _chosen(address, ranges[middle:]))
