"""An operator that passes its rows on, which no optimizer removes."""

from __future__ import annotations

from dataclasses import dataclass

from whimbrel.batch import Batch, Schema
from whimbrel.kernels import Kernel, Stateless
from whimbrel.plan import Node, Operator, Properties


@dataclass(frozen=True, kw_only=True, eq=False)
class PassThrough(Operator):
    """Passes rows on as they are."""

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        return upstream[0]

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted,)

    def kernel(self, *upstream: Schema) -> Kernel:
        return PassThroughKernel()

    def show(self) -> str:
        return "pass_through()"


class PassThroughKernel(Stateless):
    """Gives each batch as it came."""

    def apply(self, batch: Batch) -> Batch:
        return batch


def passed_through(node: Node, operators: int) -> Node:
    """Rows after so many operators that pass them on."""
    for _ in range(operators):
        node = Node(PassThrough(), (node,))
    return node
