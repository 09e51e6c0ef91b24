"""Sides of a comparison that this engine runs, and a check that no query is timed against itself.

An optimized plan is kept on the last node of its query. A query that is run a second time under another rule of the
optimizer therefore runs the first plan again. For that reason each side builds its own query, and what it ran is
recorded where every plan starts to run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from unittest import mock

from whimbrel import Stream
from whimbrel.plan import Node, explain
from whimbrel.run import Pipeline

Q = TypeVar("Q")


@dataclass(frozen=True)
class Ours(Generic[Q]):
    """A side that this engine runs.

    Attributes
    ----------
    build : callable
        Makes the query, with source nodes of its own. It is called once, outside of the times.
    run : callable
        Answers the query.
    setting : str
        What differs from the other side where the plan is the same, such as ``"2 threads"``.
    """

    build: Callable[[], Q]
    run: Callable[[Q], Any]
    setting: str = ""


@dataclass
class Ran:
    """What one side ran.

    Attributes
    ----------
    nodes : list of Node
        Of its query as written and of its plans.
    plans : set of str
        The texts of the optimized plans.
    setting : str
    declared : bool
        Whether it is an :class:`Ours`.
    """

    setting: str = ""
    declared: bool = False
    nodes: list[Node] = field(default_factory=list)
    plans: set[str] = field(default_factory=set)


def collected(build: Callable[[], Stream], setting: str = "") -> Ours[Stream]:
    """A side that collects a query."""
    return Ours(build, Stream.collect, setting)


def ready(side: Callable[[], Any] | Ours[Any]) -> tuple[Callable[[], Any], Ran]:
    """Build the query of a side; what runs it, and the record of what it runs."""
    if not isinstance(side, Ours):
        return side, Ran()
    query = side.build()
    written = list(query.node.walk()) if isinstance(query, Stream) else []
    return lambda: side.run(query), Ran(side.setting, declared=True, nodes=written)


@contextmanager
def recorded(ran: Ran) -> Iterator[None]:
    """Note every plan that starts to run meanwhile, on whatever thread of this process."""
    begin = Pipeline.__init__

    def noting(pipeline: Pipeline, *plans: Node) -> None:
        ran.nodes += [node for plan in plans for node in plan.walk()]
        ran.plans.update(map(explain, plans))
        begin(pipeline, *plans)

    with mock.patch.object(Pipeline, "__init__", noting):
        yield


def differ(case: str, ours: Ran, peers: dict[str, Ran]) -> None:
    """Check that no peer ran what ours ran.

    Raises
    ------
    AssertionError
        When a peer that ran plans of this engine does not build its query as :class:`Ours`. When a peer shares a
        node with the query of our side, or ran the same plans under the same setting.
    """
    mine = set(map(id, ours.nodes))
    for name, peer in peers.items():
        if not peer.plans:
            continue
        declared = ours.declared and peer.declared
        assert declared, f"{case}: {name} is run by this engine, too; declare both sides as Ours"
        shared = next((node for node in peer.nodes if id(node) in mine), None)
        assert shared is None, (
            f"{case}: {name} shares {explain(shared).splitlines()[0]} with ours; build a fresh query for each side")
        assert ours.plans != peer.plans or ours.setting != peer.setting, (
            f"{case}: {name} runs the same plan as ours\n{min(ours.plans)}")
