"""A plan: a directed acyclic graph of operators and sources."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeVar

from whimbrel.batch import Schema
from whimbrel.clock import unit_in_name
from whimbrel.plan.lineage import KnownInput
from whimbrel.plan.lookahead import derived
from whimbrel.plan.method_calls import MethodCall
from whimbrel.plan.operator import Operator
from whimbrel.plan.properties import Properties
from whimbrel.plan.reach import Reach
from whimbrel.plan.source import Source

T = TypeVar("T")


def schema_over(op: Operator, upstream: tuple[Schema, ...]) -> Schema:
    """The schema of an operator over these inputs. It is kept: a rewritten plan has many of the same operators."""
    over, known = vars(op).get("_schema", ((), None))
    if known is None or [*map(id, upstream)] != [*map(id, over)]:
        known = op.schema(*upstream)
        vars(op)["_schema"] = upstream, known
    found: Schema = known
    return found


@dataclass(frozen=True, eq=False)
class Node:
    """One operator or source, and the nodes upstream of it.

    Nodes are shared when a stream is used twice.

    A node checks itself when it is made, so a query that cannot run fails at once.
    """

    op: Operator | Source
    inputs: tuple[Node, ...] = field(default=(), repr=False)
    calls: tuple[MethodCall, ...] = field(default=(), repr=False)
    """Calls of methods that made the node, of which the last one is the outermost."""
    facts: dict[str, Any] = field(default_factory=dict, repr=False)
    """What a language that made the node knows of its rows, for later texts that read them."""
    _known: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        _ = self.schema

    def __getstate__(self) -> dict[str, Any]:
        """Leave calls and facts out of what is sent to other processes: they may have any objects."""
        return {**vars(self), "calls": (), "facts": {}}

    @cached_property
    def schema(self) -> Schema:
        if isinstance(self.op, Source):
            return self.op.schema
        return schema_over(self.op, tuple(node.schema for node in self.inputs))

    @cached_property
    def properties(self) -> Properties:
        if isinstance(self.op, Source):
            disorder = self.op.disorder
            in_order = not self.op.edges and disorder.partition is None and disorder.reorder_latency == 0
            sampling = self.op.sampling
            if sampling is not None and disorder.late != "raise":  # late samples are left out, or have another time
                sampling = None if disorder.late == "adjust" else sampling.with_gaps()
            return Properties(intervals_only=not self.op.edges, in_order=in_order, sampling=sampling,
                              late=disorder.late, apart=None if sampling is None else sampling.apart,
                              points=self.op.longest == 1 and not self.op.edges,
                              named_unit=unit_in_name(self.op.time) if self.op.schema.unit is None else None)
        known = [node.properties for node in self._inputs_with("properties")]
        ordered = self.op.ordered_columns([node.schema for node in self.inputs], known)
        return replace(derived(self.op.properties(*known), known), ordered=ordered)

    @cached_property
    def reach(self) -> Reach | None:
        """Reach of the halo of a range of time.

        None where no bound is known.
        """
        if isinstance(self.op, Source):
            return Reach(longest=self.op.longest)
        known = [reach for node in self._inputs_with("reach") if (reach := node.reach) is not None]
        return self.op.reach(*known) if len(known) == len(self.inputs) else None

    @cached_property
    def given(self) -> KnownInput:
        """Input of an operator's lineage: what is known of its rows.

        The operator says what it needs of them.
        """
        known = self.properties
        longest = known.duration if self.reach is None or self.reach.longest is None else self.reach.longest
        return KnownInput(self.schema, known, longest)

    def once(self, what: Hashable, make: Callable[[], T]) -> T:
        """Value made of this node alone, cached.

        It does not change, so it is made once.
        """
        if what not in self._known:
            self._known[what] = make()
        found: T = self._known[what]
        return found

    def _inputs_with(self, known: str) -> tuple[Node, ...]:
        """The inputs, with a cached property that follows from that of their own inputs, however long the chain is."""
        def unknown(node: Node) -> Sequence[Node]:
            return [below for below in node.inputs if known not in vars(below)]

        for node in walk(unknown(self), unknown):
            getattr(node, known)
        return self.inputs

    def over(self, inputs: tuple[Node, ...]) -> Node:
        """The same operator over other inputs; the node itself where they are its own."""
        same = all(new is old for new, old in zip(inputs, self.inputs, strict=True))
        return self if same else Node(self.op, inputs, self.calls)

    def walk(self) -> Iterator[Node]:
        """Every node once, inputs before what they feed."""
        return walk((self,))

    def sources(self) -> tuple[Source, ...]:
        """Sources of the query, each once.

        They are in the order in which the query names them.
        """
        found = [node.op for node in self.walk() if isinstance(node.op, Source)]
        return tuple(dict.fromkeys(found))

    def rewrite(self, rule: Callable[[Node], Node]) -> Node:
        """Apply a rule to every node, inputs first; shared nodes stay shared."""
        return rewrite((self,), rule)[0]


def walk(roots: Iterable[Node], inputs: Callable[[Node], Iterable[Node]] = attrgetter("inputs")) -> Iterator[Node]:
    """Every node below several roots once, inputs before what they feed, without recursion.

    Parameters
    ----------
    roots : iterable of Node
    inputs : callable
        The nodes to visit before a node; it is asked once for each, before any of these. By default all its inputs.
    """
    seen: set[int] = set()
    path: list[Node] = []
    todo = [iter(roots)]  # of the roots, then of the inputs of each node of the path
    while todo:
        for node in todo[-1]:
            if id(node) not in seen:
                seen.add(id(node))
                path.append(node)
                todo.append(iter(inputs(node)))
                break
        else:
            todo.pop()
            if path:
                yield path.pop()


def rewrite(roots: Sequence[Node], rule: Callable[[Node], Node]) -> tuple[Node, ...]:
    """Apply a rule to every node below several roots, inputs first; what they share stays shared."""
    done: dict[int, Node] = {}
    for node in walk(roots):
        done[id(node)] = rule(node.over(tuple(done[id(below)] for below in node.inputs)))
    return tuple(done[id(root)] for root in roots)


def replace_parts(root: Node, part: Callable[[Node], Node | None]) -> Node:
    """Replace parts of a plan, from the root down: where `part` gives a node, it stands for all that is below, too."""
    done: dict[int, Node] = {}

    def inputs(node: Node) -> tuple[Node, ...]:
        if (made := part(node)) is None:
            return node.inputs
        done[id(node)] = made
        return ()

    for node in walk((root,), inputs):
        if id(node) not in done:
            done[id(node)] = node.over(tuple(done[id(below)] for below in node.inputs))
    return done[id(root)]
