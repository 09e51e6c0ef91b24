"""The cost of a batch of few rows (EngineBench of WaveScope, CIDR 2007).

By operator, and for queries of five steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

import whimbrel as wb
from bench.figure import Figure
from bench.pass_through import passed_through
from whimbrel import Stream, col
from whimbrel.kernels import wait_for_compiler
from whimbrel.optimize import optimize_together
from whimbrel.plan import Node
from whimbrel.run import Pipeline
from whimbrel.run.execution import Execution

BATCH_ROWS, BATCHES, OPERATORS = 20, 2_000, 1_000
_AT_ONCE = 10
_WARM = 120
"""Batches before the first one that counts: these compile, and fill what windows remember."""


def rows_of_fixed_costs() -> Iterator[Figure]:
    """Figures in microseconds of CPU time for a batch of 20 rows: the least of many times of ten batches each."""
    for case, steps in (("pass-through", _passing), ("where", _filters)):
        per_operator = _pushed(steps(_log(BATCHES // 10).node)) / OPERATORS
        yield Figure("F Engine", f"{OPERATORS:,} x {case}, an operator", "us", per_operator, "at most 3")
    for case, query in (("five steps", _five_steps(_log())), ("where", _log().where(col.x > 0)),
                        ("past", _log(periodic=True).with_columns(m=wb.mean(col.x).past(BATCH_ROWS)))):
        limit = "at most 40" if case == "five steps" else ""
        yield Figure("F Engine", f"{case}, operators only", "us", _pushed(*optimize_together((query.node,))),
                     limit)
        yield Figure("F Engine", f"{case}, from table to table", "us", _collected(query), limit)


def _log(batches: int = BATCHES, *, periodic: bool = False) -> Stream:
    random, rows = np.random.default_rng(1), batches * BATCH_ROWS
    table = pa.table({"at": np.arange(rows), "x": random.normal(size=rows), "k": random.integers(0, 5, rows)})
    log = wb.from_arrow(pa.Table.from_batches(table.to_batches(max_chunksize=BATCH_ROWS)), time="at", name="log")
    return log.assume(periodic=1) if periodic else log


def _five_steps(log: Stream) -> Stream:
    return (log.where(col.x > -1).select(y=col.x * 2, k=col.k).where(col.y < 2).with_columns(z=col.y + col.k)
            .select("z"))


def _passing(node: Node) -> Node:
    return passed_through(node, OPERATORS)


def _filters(node: Node) -> Node:
    """Conditions that are always true, each an operator of its own."""
    operator = _log(1).where(col.x > -100).node.op
    for _ in range(OPERATORS):
        node = Node(operator, (node,))
    return node


def _pushed(plan: Node) -> float:
    """Only what the operators and the driver take, for a batch."""
    pipeline = Pipeline(plan)
    pipeline.in_portions = True
    source = pipeline.sources[0]
    batches = [batch for batch in source.read(source.schema.names, 0) if batch is not None]
    following = iter(batches)
    return _least(lambda: pipeline.push(0, next(following)), len(batches))


def _collected(query: Stream) -> float:
    """With what reads the chunks of a table, and what keeps the rows of the result, for a batch."""
    session = Execution(query.node)
    taken = _least(session.step, BATCHES)
    session.close()
    return taken


def _least(step: Callable[[], object], steps: int) -> float:
    """Microseconds of CPU time of one step."""
    with wait_for_compiler():
        warm = min(_WARM, steps // 4)
        for _ in range(warm):
            step()
        times = []
        for _ in range((steps - warm) // _AT_ONCE):
            began = time.process_time()
            for _ in range(_AT_ONCE):
                step()
            times.append((time.process_time() - began) / _AT_ONCE)
    return 1e6 * min(times)
