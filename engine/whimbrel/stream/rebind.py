"""Rebind a query to another source, with a check of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from whimbrel.batch import Schema
from whimbrel.errors import PlanError, SchemaError, near_match
from whimbrel.operators import BlockSamples, FinerUnit
from whimbrel.optimize import optimize
from whimbrel.plan import Node, Source


def rebind(node: Node, other: Any) -> Node:
    """Replace sources of a plan.

    Parameters
    ----------
    node : Node
    other : Stream, Source, or mapping of a source, or the name of one, to either
    """
    sources = node.sources()
    if isinstance(other, Mapping):
        replacements = {old: _read_as(value, old) for name, value in other.items() for old in [_named(name, sources)]}
    elif len(sources) == 1:
        replacements = {sources[0]: _read_as(other, sources[0])}
    else:
        names = ", ".join(source.name for source in sources)
        raise PlanError(f"The query reads {len(sources)} sources: {names}.", where="on(...)",
                        hint="Use names: on({name: stream}).")
    needed = _columns_read(node, sources)
    blocks: dict[Any, Node] = {}
    for old, new in list(replacements.items()):
        makes_samples = _blocks_over(node, old)
        if makes_samples is not None and new.properties.sampling is not None:  # samples instead of blocks and a step
            blocks[makes_samples.op] = replacements.pop(old)
            _check(makes_samples.schema, new, makes_samples.schema.names)
        else:
            _check(old.schema, new, needed[old])

    def replaced(step: Node) -> Node:
        if isinstance(step.op, FinerUnit):  # other data may have ends where these are points
            return Node(replace(step.op, points=step.inputs[0].properties.points), step.inputs)
        if isinstance(step.op, Source):
            return replacements.get(step.op, step)
        return blocks.get(step.op, step)

    return node.rewrite(replaced)


def _blocks_over(node: Node, source: Source) -> Node | None:
    """The step that makes samples of the blocks of a source, if there is one."""
    return next((step for step in node.walk() if isinstance(step.op, BlockSamples) and step.inputs[0].op is source),
                None)


def _named(name: Any, sources: Sequence[Source]) -> Source:
    if isinstance(name, Source) and name in sources:
        return name
    found = [source for source in sources if source.name == name]
    if len(found) == 1:
        return found[0]
    where = f"on({{{name!r}: ...}})"
    if found:
        raise PlanError(f"The query reads {len(found)} sources named {name!r}.", where=where,
                        hint="Name them where they are read: from_arrow(..., name=...).")
    raise PlanError(f"The query reads no source named {name!r}.", where=where,
                    hint=near_match(str(name), [source.name for source in sources], noun="source"))


def _columns_read(node: Node, sources: Sequence[Source]) -> dict[Source, tuple[str, ...]]:
    """Columns that the query needs of each source."""
    read: dict[Source, tuple[str, ...]] = dict.fromkeys(sources, ())
    for source in optimize(node).sources():
        inside = source
        while inside not in read and (whole := getattr(inside, "source", None)) is not None:
            inside = whole
        read[inside] = tuple(dict.fromkeys((*read.get(inside, ()), *source.schema.names)))
    return read


def _read_as(value: Any, old: Source) -> Node:
    """A source; for blocks, with the step that makes samples of them."""
    if isinstance(value, Source):
        return Node(value)
    node = value if isinstance(value, Node) else getattr(value, "node", None)
    if isinstance(node, Node) and isinstance(node.op, Source):
        return node
    if isinstance(node, Node) and isinstance(node.op, BlockSamples) and isinstance(node.inputs[0].op, Source):
        return node
    if type(value).__module__.startswith("pyspark.sql"):
        from whimbrel.spark import spark_source  # when it is asked for

        timeline = getattr(old, "timeline", None)
        return Node(spark_source(value, time=old.time, end=None if timeline is None else timeline.end, name=old.name))
    raise PlanError(f"on() needs a source without further steps, got {type(value).__name__}.", where="on(...)",
                    hint="Pass the source as it was read or replayed.")


def _check(old: Schema, node: Node, columns: Sequence[str]) -> None:
    source = node.sources()[0]
    new, where = node.schema, f"on({source.name})"
    if (old.unit, old.zone) != (new.unit, new.zone):
        raise SchemaError(f"The time column {source.time!r} must be {old.time_type}, got {new.time_type}.",
                          where=where, hint="Cast the time column where the source is read.")
    for name in columns:
        if name not in new:
            raise SchemaError(f"{source.name} has no column {name!r}, which the query reads.", where=where,
                              hint=near_match(name, new.names))
        if old.type_of(name) != new.type_of(name):
            raise SchemaError(f"Column {name!r} must be {old.type_of(name)}, got {new.type_of(name)}.",
                              where=where, hint="Cast it where the source is read.")
