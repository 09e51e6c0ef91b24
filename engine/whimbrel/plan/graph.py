"""A plan: a directed acyclic graph of operators and sources."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from whimbrel.batch import Schema
from whimbrel.plan.lineage import KnownInput
from whimbrel.plan.lookahead import derived
from whimbrel.plan.operator import Operator
from whimbrel.plan.properties import Properties
from whimbrel.plan.reach import Reach
from whimbrel.plan.source import Source

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Node:
    """One operator or source, and the nodes upstream of it.

    Nodes are shared when a stream is used twice.

    A node checks itself when it is made, so a query that cannot run fails at once.
    """

    op: Operator | Source
    inputs: tuple[Node, ...] = ()
    _known: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        _ = self.schema

    @cached_property
    def schema(self) -> Schema:
        if isinstance(self.op, Source):
            return self.op.schema
        return self.op.schema(*(node.schema for node in self.inputs))

    @cached_property
    def properties(self) -> Properties:
        if isinstance(self.op, Source):
            disorder = self.op.disorder
            in_order = not self.op.edges and disorder.partition is None and disorder.reorder_latency == 0
            return Properties(intervals_only=not self.op.edges, in_order=in_order,
                              points=self.op.longest == 1 and not self.op.edges)
        known = [node.properties for node in self.inputs]
        return derived(self.op.properties(*known), known)

    @cached_property
    def reach(self) -> Reach | None:
        """Reach of the halo of a range of time.

        None where no bound is known.
        """
        if isinstance(self.op, Source):
            return Reach(longest=self.op.longest)
        known = [reach for node in self.inputs if (reach := node.reach) is not None]
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


def walk(roots: Sequence[Node]) -> Iterator[Node]:
    """Every node below several roots once, inputs before what they feed."""
    seen: set[int] = set()

    def visit(node: Node) -> Iterator[Node]:
        if id(node) not in seen:
            seen.add(id(node))
            for below in node.inputs:
                yield from visit(below)
            yield node

    for root in roots:
        yield from visit(root)


def rewrite(roots: Sequence[Node], rule: Callable[[Node], Node]) -> tuple[Node, ...]:
    """Apply a rule to every node below several roots, inputs first; what they share stays shared."""
    done: dict[int, Node] = {}
    for node in walk(roots):
        inputs = tuple(done[id(below)] for below in node.inputs)
        same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
        done[id(node)] = rule(node if same else Node(node.op, inputs))
    return tuple(done[id(root)] for root in roots)
