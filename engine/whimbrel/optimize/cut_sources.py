"""Cut sources to the rows that a range depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from whimbrel.clock import INF, MIN_TIME
from whimbrel.operators import Between
from whimbrel.plan import FilteredSource, Node, OrderingSpec, Source, SourceSlice, rewrite, times_needed, walk


def cut_sources(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Read, for a range of a result, only the rows that the lineage of the range asks for."""
    if not any(isinstance(node.op, Between) for node in walk(roots)):
        return tuple(roots)
    return rewrite(roots, _cut)


def cut_optimized(node: Node, below: Node) -> Node | None:
    """A range of a result, whose optimized plan is known; None if that reads its sources in another way.

    Plans for many ranges of one query are optimized once.
    """
    assert isinstance(node.op, Between)
    known = set(node.inputs[0].sources())
    if not all(_whole(source) in known for source in below.sources()):
        return None
    return _over(node.op, below, *_parts(node))


def _cut(node: Node) -> Node:
    return _over(node.op, node.inputs[0], *_parts(node)) if isinstance(node.op, Between) else node


def _parts(node: Node) -> tuple[dict[Source, Source], list[str]]:
    """What is read of each source, and why all rows are read of others."""
    parts: dict[Source, Source] = {}
    whole = []
    assert isinstance(node.op, Between)
    below, = node.inputs
    known = {source.measured(): source for source in below.sources()}
    measured = below.once("measured", lambda: below.rewrite(
        lambda each: Node(each.op.measured()) if isinstance(each.op, Source) else each))
    for found, (start, end) in times_needed(measured, node.op.start, node.op.end, active=True).items():
        source = known[found]
        if start == MIN_TIME and end == INF:
            whole.append(f"reads all rows of {source.name}: the range depends on all times")
        elif not _in_order(source):
            whole.append(f"reads all rows of {source.name}: they are not known to be in the order of time")
        else:
            parts[source] = _part(source, start, end)
    return parts, whole


def _over(op: Between, below: Node, parts: Mapping[Source, Source], whole: Sequence[str]) -> Node:
    def cut(node: Node) -> Node:
        if not isinstance(node.op, Source) or (part := parts.get(_whole(node.op))) is None:
            return node
        return Node(FilteredSource(part, node.op.columns) if isinstance(node.op, FilteredSource) else part)

    return Node(replace(op, reads=tuple(whole)), (below.rewrite(cut),))


def _whole(source: Source) -> Source:
    """The source with all of its columns."""
    return source.source if isinstance(source, FilteredSource) else source


def _in_order(source: Source) -> bool:
    """Whether the source knows which of its rows are of a range of time."""
    if source.live or source.edges or source.as_it_comes or source.disorder != OrderingSpec() or not source.rows:
        return False
    return bool(source.cuts(2)) and source.rows_between(MIN_TIME, MIN_TIME)[1] == 0


def _part(source: Source, start: int, end: int) -> Source:
    rows = source.rows or 0
    first, stop = source.rows_between(start, end)
    first = min(first, rows)
    stop = max(first, min(stop, rows))
    if stop - first == rows:
        return source
    part = source.excerpt(first, stop) if stop > first else SourceSlice(source, first, first)
    part.read_of = f"part of {rows:,} rows"
    return part
