"""Names of streams: of interfaces, of sets of interfaces, and of libraries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from whimbrel.expr import lit
from whimbrel.sql.binder import Binder
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import SqlColumn, SqlRelation
from whimbrel.sql.set_operations import in_order_of, of_common_types, united
from whimbrel.sql.table_functions import is_operator


def stream_of(node: Any, binder: Binder) -> SqlRelation:
    """The relation of a name such as ``TCP``, ``eth0.TCP``, ``[links].TCP`` or ``lib/query``."""
    whole = ".".join(part.name for part in node.parts)
    if whole.startswith("["):
        return _of_set(whole, node, binder)
    known = whole in binder.streams or whole in binder.views
    if len(node.parts) > 1:
        if not known:
            raise binder.text.error(f"There is no table {whole!r}.", node,
                                    f"Pass it by its whole name: **{{{whole!r}: stream}}.")
        interface = ".".join(part.name for part in node.parts[:-1])
        relation = _with_properties(binder.relation(whole, node), interface, node, binder)
        return relation.named(node.parts[-1].name)
    if not known and (any(mark in whole for mark in ("/", "\\"))
                      or whole.lower().endswith((".parquet", ".csv", ".json"))):
        raise binder.text.error(refusal("files")[0], node, refusal("files")[1])
    if not known and is_operator(whole):
        raise binder.text.error(f"{whole} is an operator, and a word of SQL too.", node,
                                f'Write its name in double quotes: "{whole.lower()}"(t, ...).')
    return binder.relation(whole, node)


def _of_set(whole: str, node: Any, binder: Binder) -> SqlRelation:
    """The rows of all interfaces of a set, in the order of time."""
    name, dot, stream = whole[1:].partition("].")
    if not dot or not stream:
        raise binder.text.error(f"There is no table {whole!r}.", node,
                                "Write a set of interfaces and the name of a stream: [links].TCP.")
    members = binder.parameters.get(f"[{name}]")
    if not isinstance(members, list | tuple) or not members:
        raise binder.text.error(f"There is no set of interfaces {name!r}.", node,
                                f"Pass it: wb.sql(..., parameters={{'[{name}]': ['eth0', 'eth1']}}).")
    relations = []
    for member in members:
        if f"{member}.{stream}" not in binder.streams:
            raise binder.text.error(f"The interface {member!r} has no stream {stream!r}.", node,
                                    f"Pass it by its whole name: **{{'{member}.{stream}': stream}}.")
        relation = binder.relation(f"{member}.{stream}", node)
        relations.append(_with_properties(relation, str(member), node, binder))
    first = relations[0]
    alike = [first, *(in_order_of(first, each, node, binder, "A set of interfaces") for each in relations[1:])]
    return united(of_common_types(alike, node, binder), node, binder).named(stream)


def _with_properties(relation: SqlRelation, interface: str, node: Any, binder: Binder) -> SqlRelation:
    """The relation with a column for each property that the text uses."""
    for name in sorted(binder.properties):
        values = binder.parameters.get(name)
        if not isinstance(values, Mapping) or interface not in values:
            raise binder.text.error(f"The interface {interface!r} has no property {name!r}.", node,
                                    f"Pass it: wb.sql(..., parameters={{{name!r}: {{{interface!r}: 'value'}}}}).")
        value, stream = values[interface], relation.stream
        made = binder.step(node, lambda stream=stream, name=name, value=value:  # type: ignore[misc]
                           stream.with_columns(**{name: lit(value)}))
        source = relation.sources[0] if relation.sources else ""
        relation = replace(relation, stream=made, columns=(*relation.columns, SqlColumn(name, source, name)))
    return relation
