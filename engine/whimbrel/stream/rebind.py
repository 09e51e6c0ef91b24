"""The same query on another source, checked column by column before anything is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whimbrel.errors import PlanError, SchemaError, near_match
from whimbrel.optimize import optimize
from whimbrel.plan import Node, Source


def rebind(node: Node, other: Any) -> Node:
    """Replace sources of a plan.

    Parameters
    ----------
    node : Node
    other : Stream, Source, or mapping of the name of a source to either
    """
    sources = node.sources()
    if isinstance(other, Mapping):
        named = {source.name: source for source in sources}
        for name in other:
            if name not in named:
                raise PlanError(f"The query reads no source named {name!r}.", where=f"on({{{name!r}: ...}})",
                                hint=near_match(name, named, noun="source"))
        replacements = {named[name]: _source(value) for name, value in other.items()}
    elif len(sources) == 1:
        replacements = {sources[0]: _source(other)}
    else:
        names = ", ".join(source.name for source in sources)
        raise PlanError(f"The query reads {len(sources)} sources: {names}.", where="on(...)",
                        hint="say which is which: on({name: stream})")
    needed = {source.name: source.schema for source in optimize(node).sources()}
    for old, new in replacements.items():
        _check(old, new, needed[old.name].names)

    def replaced(place: Node) -> Node:
        return Node(replacements[place.op]) if isinstance(place.op, Source) and place.op in replacements else place

    return node.rewrite(replaced)


def _source(thing: Any) -> Source:
    if isinstance(thing, Source):
        return thing
    node = getattr(thing, "node", None)
    if isinstance(node, Node) and isinstance(node.op, Source):
        return node.op
    raise PlanError(f"A query cannot run on {type(thing).__name__}.", where="on(...)",
                    hint="give a source as it was read or replayed, without further steps")


def _check(old: Source, new: Source, columns: tuple[str, ...]) -> None:
    where = f"on({new.name})"
    if (old.schema.unit, old.schema.zone) != (new.schema.unit, new.schema.zone):
        raise SchemaError(f"Time {new.time!r} is {new.schema.time_type}; the query counts in {old.schema.time_type}.",
                          where=where, hint="cast the time column to the same type")
    for name in columns:
        if name not in new.schema:
            raise SchemaError(f"{new.name} has no column {name!r}, which the query reads.", where=where,
                              hint=near_match(name, new.schema.names))
        if old.schema.type_of(name) != new.schema.type_of(name):
            raise SchemaError(f"Column {name!r} is {new.schema.type_of(name)}; the query was written for "
                              f"{old.schema.type_of(name)}.", where=where, hint="cast it where the source is made")
