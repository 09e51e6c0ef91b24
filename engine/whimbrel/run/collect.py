"""Collect results on the calling thread: whole, by batch, or as snapshots."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing

import pyarrow as pa

from whimbrel.batch import table_from_batches
from whimbrel.clock import Duration
from whimbrel.connect.validation import checked_seconds
from whimbrel.errors import PlanError
from whimbrel.kernels import wait_for_compiler
from whimbrel.plan import Node
from whimbrel.run.execution import Execution
from whimbrel.run.metrics import Snapshot
from whimbrel.run.query_result import in_order
from whimbrel.run.source_reader import CONNECT_TIMEOUT_S
from whimbrel.run.time_partitions import collect_side_by_side

_WORTH_COMPILING_ROWS = 50_000
_INTERPRETED_ROWS_PER_S = 100_000
"""Roughly. Nobody waits longer for the compiler than it takes to do without."""


def collect(plan: Node, threads: int = 1) -> pa.Table:
    """Run until all sources end, and return the exact result in the order of start."""
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise PlanError(f"threads must be an integer of at least 1, got {threads!r}.",
                        where=f"collect(threads={threads!r})",
                        hint="Use 1 or more.")
    table = collect_side_by_side(plan, threads) if threads > 1 else None
    return collect_together((plan,))[0] if table is None else table


def collect_together(plans: Sequence[Node]) -> list[pa.Table]:
    """The exact results of several queries, from one reading."""
    with closing(Execution(*plans, hurry=True)) as session, ExitStack() as waiting:
        total = session.reader.total_rows
        if total is None or total > _WORTH_COMPILING_ROWS:
            waiting.enter_context(wait_for_compiler(math.inf if total is None else total / _INTERPRETED_ROWS_PER_S))
        while not session.finished:
            session.step()
            if session.pipeline.pending:  # rows are many, however few were read
                waiting.enter_context(wait_for_compiler())
            for error in session.failures.values():
                raise error
        return [answer.settled() for answer in session.answers]


def batches(plan: Node, timeout: float | Duration | None = 30.0) -> Generator[pa.RecordBatch, None, None]:
    """Settled rows as they come; those of one batch are in the order of start."""
    connect_timeout_s = None if timeout is None else checked_seconds("timeout", timeout,
                                                                     where=f"batches(timeout={timeout!r})")
    return _batches(plan, connect_timeout_s)


def _batches(plan: Node, connect_timeout_s: float | None) -> Generator[pa.RecordBatch, None, None]:
    with closing(Execution(plan, keep_rows=0)) as session:
        session.reader.connect_timeout_s = connect_timeout_s
        while not session.finished:
            for out in session.step() or []:
                if out:
                    yield from in_order(table_from_batches(plan.schema, out)).to_batches()


def intermediate_snapshots(plan: Node, every: str | int | None,
             asked: Callable[[int, int | None], bool] | None = None) -> Iterator[Snapshot]:
    """Snapshots in time order: every fraction or number of rows, and the exact result last.

    Or whenever `asked` says so, of the rows that were read and all there are.
    """
    with closing(Execution(plan)) as session:
        session.reader.connect_timeout_s = CONNECT_TIMEOUT_S
        total = session.reader.total_rows
        step_rows = 0 if asked is not None else _rows(every, total)
        due = 0
        while not session.finished:
            session.step()
            if asked is not None:
                if session.finished or (session.reader.rows != total and asked(session.reader.rows, total)):
                    yield from session.snapshots([0])
            elif session.finished or session.reader.rows > due:
                due = session.reader.rows // step_rows * step_rows + step_rows
                yield from session.snapshots([0])


def _rows(every: str | int | None, total: int | None) -> int:
    """Rows between two snapshots."""
    if every is None:
        return 65_536 if total is None else max(1, total // 100)
    where = f"progressive(every={every!r})"
    if isinstance(every, int):
        if every <= 0:
            raise PlanError(f"every must be at least 1 row, got {every}.", where=where,
                            hint='Use every="1%" or every=10_000.')
        return every
    percent = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", every)
    if percent is None or not 0 < float(percent[1]) <= 100:
        raise PlanError(f"every must be a percentage or a number of rows, got {every!r}.", where=where,
                        hint='Use every="1%" or every=10_000.')
    if total is None:
        raise PlanError("A percentage needs a source whose number of rows is known.", where=where,
                        hint="Use a number of rows: every=10_000.")
    return max(1, round(total * float(percent[1]) / 100))
