"""Fusion ladder of the TiLT paper's example (figure 3), pass by pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from unittest import mock

import numpy as np
import pyarrow as pa

import whimbrel as wb
from bench.assumptions import same_tables
from bench.compare import Row, compare
from bench.sides import Ours, collected
from whimbrel import Stream, col, optimize
from whimbrel.operators import SlidingWindow
from whimbrel.plan import Node
from whimbrel.plan.graph import replace_parts


def trend(rows: int, short: int = 10, long: int = 20) -> Stream:
    """Where the mean of the last 10 ticks is above the mean of the last 20, as windows and a join of one log."""
    x = np.random.default_rng(3).uniform(-50, 50, rows).astype(np.float32)
    log = wb.from_arrow(pa.table({"at": np.arange(rows), "x": x}), time="at", name="log").assume(periodic=1).select("x")
    few = log.sliding_window(short).aggregate(s=wb.sum(col.x))
    many = log.sliding_window(long).aggregate(s=wb.sum(col.x))
    return few.cross_join(many).select(d=col.s / short - col.s_right / long).where(col.d > 0)


def operators_apart(node: Node) -> Node:
    """The plan after all passes but the one that makes loops: no operator of this query absorbs another one."""
    with mock.patch.object(optimize, "fuse_periodic", lambda plans: plans):
        return optimize.optimize(node)


def windows_as_loops(node: Node) -> Node:
    """The plan in which each aggregate of a window is a loop, and the rest is not."""
    def loop(part: Node) -> Node | None:
        window = part.inputs and isinstance(part.inputs[0].op, SlidingWindow)
        return optimize.optimize(part) if window else None

    return operators_apart(replace_parts(node, loop))


RUNGS: dict[str, Callable[[Node], Node]] = {"operators apart": operators_apart, "windows as loops": windows_as_loops}


def rows_of_ladder(rows: int) -> Iterator[Row]:
    """Compare the query after all passes with each rung.

    The paper's query is 8.55 times as fast with all passes as with none (figure 10).
    """
    for name, rung in RUNGS.items():
        yield from compare("E fusion ladder", "one loop", rows, collected(lambda: trend(rows)),
                           {name: Ours(lambda rung=rung: _pinned(trend(rows), rung), Stream.collect)},
                           same_tables(("d",)))


def _pinned(query: Stream, rung: Callable[[Node], Node]) -> Stream:
    """A query whose plan is that of a rung."""
    plan = rung(query.node)
    assert query.node.once("optimized", lambda: plan) is plan, "the query has a plan already"
    return query

