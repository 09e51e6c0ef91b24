"""Progressive queries: iterate, prioritize, stop, save and compare estimates."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from whimbrel import display
from whimbrel.clock import Duration, Instant, parse_instant
from whimbrel.errors import PlanError
from whimbrel.expr import Expr
from whimbrel.migration_hints import PROGRESSIVE_QUERY, absent
from whimbrel.plan import Node
from whimbrel.progressive.estimation.compare import Comparison, Verdict
from whimbrel.progressive.estimation.estimate import Estimate, check_value
from whimbrel.progressive.estimation.notebook_claims import Verdicts, claims_in, read, written
from whimbrel.progressive.late.late_rows_model import LateRowsModel
from whimbrel.progressive.query.block_run import BlockRun
from whimbrel.progressive.query.interrupts import Interrupts
from whimbrel.progressive.query.persistence import load, write
from whimbrel.progressive.query.progressive_plan import (
    ORDERS,
    BlockPlan,
    Fallback,
    Intervals,
    ProgressiveOptions,
    plan_progressive,
)
from whimbrel.progressive.query.stopping_rule import StoppingRule, stopping_rule
from whimbrel.progressive.query.time_ordered import time_ordered_estimates
from whimbrel.progressive.query.update_schedule import UpdateSchedule
from whimbrel.progressive.sampling.block_scan import Order
from whimbrel.progressive.validation import (
    check_conditions,
    check_confidence,
    check_intervals,
    check_number,
    check_order,
    path_of,
)

Array = np.ndarray[Any, Any]

_MIN_CLAIMED = 0.5
"""The smallest confidence of a claim."""


class ProgressiveQuery(Iterator[Estimate]):
    """A query whose estimates converge to the exact result (online aggregation).

    Iterate over it to read rows. Stop at any estimate, and iterate again to resume: no row is read twice. Several
    threads may use it, so that a cell can prioritize blocks while a view reads.

    Parameters
    ----------
    plan : Node
        As written.
    schedule : UpdateSchedule
    options : ProgressiveOptions
    planned : BlockPlan or Fallback
        How :func:`~whimbrel.progressive.query.progressive_plan.plan_progressive` decided that the query runs.

    Attributes
    ----------
    fallback_reason : str
        Why rows are read in time order, without intervals; empty if blocks are sampled.
    latest : Estimate or None
        The last estimate.
    rule : StoppingRule
        When to stop.
    """

    if not TYPE_CHECKING:  # type checkers know the attributes
        __getattr__ = absent("A progressive query", PROGRESSIVE_QUERY)

    def __init__(self, plan: Node, schedule: UpdateSchedule, options: ProgressiveOptions,
                 planned: BlockPlan | Fallback) -> None:
        self.plan, self.schedule, self.confidence, self.late = plan, schedule, options.confidence, options.late
        self.latest: Estimate | None = None
        self.added_claims: list[Comparison] = []
        self.rule = StoppingRule()
        self._turn = threading.RLock()
        self._options = options
        self._began: float | None = None
        self._version = 0
        self.fallback_reason = planned.reason if isinstance(planned, Fallback) else ""
        self._block_run = None if isinstance(planned, Fallback) else BlockRun(plan, planned, options, schedule)
        self._snapshots = self._in_order_of_time()

    def __next__(self) -> Estimate:
        with self._turn:
            if self._began is None:
                self._began = time.perf_counter()
            if self.latest is not None and not self.latest.all_read and self._stop():
                self.rule = StoppingRule()  # iterating again resumes
                raise StopIteration
            try:
                answer = next(self._snapshots, None) if self.fallback_reason else self._by_blocks()
            except BaseException:  # interrupted, perhaps: iterating again resumes
                self._snapshots = self._in_order_of_time()
                raise
            if answer is None:
                raise StopIteration
            self._version += 1
            before, self.latest = self.latest, answer
            if before is not None and self.added_claims and not self.fallback_reason:
                answer.overturned = tuple(verdict.now for verdict in self.claims if not verdict.holds)
            return answer

    @property
    def block_run(self) -> BlockRun:
        """The run that reads blocks; not available in time order."""
        assert self._block_run is not None
        return self._block_run

    # Public operations.

    def prioritize(self, *conditions: Expr, between: tuple[Instant, Instant] | None = None,
               order: Order | None = None) -> ProgressiveQuery:
        """Read blocks first that may hold rows that meet all conditions.

        Each row is still read once. Blocks are chosen by the smallest and the largest value of a column in each block,
        so this helps if similar rows lie together. Windows and groups in the prioritized blocks become exact early. The
        intervals of the others do not change meanwhile.

        Parameters
        ----------
        *conditions : Expr
            Comparisons of source columns with values, such as ``col.origin == "JFK"``.
        between : tuple of (time, time), optional
            A time range, its end excluded: ISO strings, datetimes or ticks.
        order : {"random", "newest", "oldest"}, optional
            The order of blocks from now on.
        """
        if self.fallback_reason:
            raise PlanError(f"Cannot prioritize, because rows are read in time order: {self.fallback_reason}.",
                            where="prioritize(...)", hint="Narrow the query with where(...).")
        run = self.block_run
        wanted = np.ones(len(run.blocks), np.bool_)
        check_order(order, (None, *ORDERS), call="prioritize")
        if conditions:
            check_conditions(conditions, run.states.condition_schema)
            wanted &= run.states.source.holding(run.blocks, conditions)
        if between is not None:
            schema = run.states.source.schema
            where = f"prioritize(between={between!r})"
            if not isinstance(between, tuple | list) or len(between) != 2:
                raise PlanError(f"`between` must be a pair of times, got {between!r}.", where=where,
                                hint="Use between=(begin, end); the end is excluded.")
            first, end = (parse_instant(time, schema.unit, schema.zone, name=run.states.source.time, where=where,
                                        rounding="up") for time in between)
            if first >= end:
                raise PlanError(f"`between` must end after it begins, got {between!r}.", where=where,
                                hint="Use between=(begin, end); the end is excluded.")
            within = (run.blocks.latest >= first) & (run.blocks.earliest < end)
            if not within.any():
                raise PlanError("No row of the source lies in this time range.", where=where,
                                hint="Choose a range within the times of the source.")
            wanted &= within
        with self._turn, Interrupts():
            run.end_phase()
            run.scan.prioritize(wanted, order)
            run.read_statistics()
        return self

    def until(self, *, error: str | float | None = None, ranking_stable: int | None = None,
              seconds: float | None = None, value: str | None = None) -> ProgressiveQuery:
        """Set the stopping rule: the first of several conditions.

        Iteration stops at the first estimate that meets one of these conditions. Iterate again to resume.

        Parameters
        ----------
        error : str or float, optional
            The largest relative error of all values, such as ``"2%"``.
        ranking_stable : int, optional
            The order of this many largest values is certain.
        seconds : float, optional
            The time since the first estimate was requested.
        value : str, optional
            The value to check. Default: all for `error`, the first for `ranking_stable`.
        """
        if value is not None:
            run = self._block_run
            sampled = run is not None and not run.without_intervals
            check_value(value, self.block_run.split.result_columns if sampled else self.plan.schema.names)
        self.rule = stopping_rule(error, ranking_stable, seconds, value)
        return self

    def add_claim(self, claim: Comparison) -> Comparison:
        """Add a claim to check against later estimates.

        ``answer.compare(...)`` returns claims.

        Raises
        ------
        PlanError
            When the comparison is undecided, or belongs to another query.
        """
        if not isinstance(claim, Comparison):
            raise PlanError(f"`claim` must be a Comparison, got {claim!r}.", where="add_claim(...)",
                            hint="Pass the result of answer.compare(...).")
        if not self._is_of(claim):
            raise PlanError(f"This query has no such values: {claim.summary}.", where="add_claim(...)",
                            hint="Compare rows of an estimate of this query.")
        if claim.confidence < _MIN_CLAIMED:
            raise PlanError(f"The comparison is undecided: {claim.summary}.", where="add_claim(...)",
                            hint="Read on until the intervals do not overlap.")
        self.added_claims.append(claim)
        return claim

    def load_claims(self, notebook: str | os.PathLike[str]) -> list[Comparison]:
        """Load the claims of this query from a saved notebook.

        The notebook has cells that ended with :attr:`claims`.

        Raises
        ------
        PlanError
            When the notebook has none.
        """
        where = f"load_claims({notebook!r})"
        found = [claim for claim in claims_in(path_of(notebook, where=where), where=where) if self._is_of(claim)]
        if not found:
            raise PlanError("None of the claims in the notebook is about values of this query.", where=where,
                            hint="Use the names of values and keys that the notebook used.")
        self.added_claims += [claim for claim in found if claim not in self.added_claims]
        return found

    @property
    def claims(self) -> Verdicts:
        """State of each claim by the latest estimate.

        At the end of a cell, it is saved with the notebook.
        """
        answer = self.latest
        return Verdicts(Verdict(claim, claim.unknown()) if answer is None else answer.verdict(claim)
                        for claim in self.added_claims)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the state of the query as a file.

        ``query.progressive(resume=path)`` can resume from it in any process, without reading the rows again.

        Raises
        ------
        PlanError
            When rows are read in time order. Use the checkpoints of a run instead.
        """
        if self.fallback_reason:
            raise PlanError(f"Cannot save, because rows are read in time order: {self.fallback_reason}.",
                            where="save(...)",
                            hint='Use the checkpoints of a run: query.start(checkpoints=wb.Checkpoints("folder")).')
        with self._turn:
            write(path, self.state())

    def state(self) -> dict[str, Any]:
        """State of the query, for :meth:`save`.

        It has what was read, the order of the blocks that follow, and the claims.
        """
        return {**self.block_run.state(), "claims": written(self.added_claims)}

    def restore(self, state: dict[str, Any], *, where: str) -> None:
        """Restore the state of another query.

        This query must have read nothing.

        Raises
        ------
        CheckpointError
            When the state is of another query, or rows that were read have changed since.
        """
        self.block_run.restore(state, where=where)
        self.added_claims = read(state["claims"])

    def finish(self) -> pa.Table:
        """Read the remaining rows, and return the exact result.

        The rows are those of ``collect()``. Rows of one start may come in another order, and the last digit of a sum of
        floats may differ.
        """
        self.until()
        if self._block_run is not None:
            self._block_run.hurries = True
        try:
            for _ in self:
                pass
        finally:
            if self._block_run is not None:
                self._block_run.hurries = False
        assert self.latest is not None
        return self.latest.raw_table.select(["start", "end", *self.plan.schema.names])

    def restart(self) -> ProgressiveQuery:
        """Copy of the query that has read nothing."""
        schedule = UpdateSchedule(self.schedule.every, self.schedule.seconds, self.schedule.at)
        return ProgressiveQuery(self.plan, schedule, self._options, plan_progressive(self.plan, self._options))

    @property
    def view(self) -> display.Views:
        """Live view that reads in the background.

        Call ``view()``, or choose a kind: ``view.bar()``. Views need the workbench.
        """
        return display.Views(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        # A query that has begun shows text only: a second view would read on by itself.
        return display.mimebundle(self) if self.latest is None else ({"text/plain": repr(self)}, {})

    def __repr__(self) -> str:
        return f"ProgressiveQuery: {'nothing read yet' if self.latest is None else self.latest.summary}"

    def _is_of(self, claim: Comparison) -> bool:
        """Whether a claim is about values of this query."""
        if self._block_run is None or self._block_run.without_intervals:
            return False
        split = self._block_run.split
        keys = {"start", *(name for name, _ in split.finish.of.keys)}
        return claim.value in split.result_columns and {*claim.left, *claim.right} <= keys

    # Iteration.

    def _stop(self) -> bool:
        assert self.latest is not None
        assert self._began is not None
        return self.rule.met(self.latest, time.perf_counter() - self._began)

    def _by_blocks(self) -> Estimate | None:
        assert self._began is not None
        return self.block_run.read(self.latest, self._version, self._began)

    def _in_order_of_time(self) -> Iterator[Estimate]:
        return time_ordered_estimates(self.plan, self.schedule, self.confidence, self.fallback_reason, self.late)

def progressive(plan: Node, every: Duration | None = None, *, seconds: float | None = None, at: Sequence[float] = (),
             confidence: float = 0.95, order: Order | Literal["time"] | None = None, seed: int = 0,
             block_rows: int | None = None, resume: str | os.PathLike[str] | None = None,
             late: object = None, intervals: Intervals = "approximate") -> ProgressiveQuery:
    """Start a progressive query: check the options, plan it, and resume it if asked."""
    if isinstance(at, str) or not isinstance(at, Iterable):
        raise PlanError(f"`at` must hold fractions above 0 and at most 1, got {at!r}.",
                        where=f"progressive(at={at!r})", hint="Use at=[0.01, 0.1, 0.5].")
    model = None if late is None else LateRowsModel.of(plan, late)
    schedule = UpdateSchedule(every, seconds, tuple(at))
    check_intervals(intervals, late=late is not None)
    check_confidence(confidence, where=f"progressive(confidence={confidence!r})")
    check_number(seed, name="seed", must="an integer of at least 0", above=-1, whole=True,
                 where=f"progressive(seed={seed!r})", hint="Use seed=1.")
    check_order(order, (None, *ORDERS, "time"), call="progressive")
    if block_rows is not None:
        check_number(block_rows, name="block_rows", must="an integer of at least 1", whole=True,
                     where=f"progressive(block_rows={block_rows!r})", hint="Use block_rows=10_000.")
    where = f"progressive(resume={resume!r})"
    if resume is not None:
        path_of(resume, where=where)
    options = ProgressiveOptions(confidence, seed, order, block_rows, model, intervals)
    query = ProgressiveQuery(plan, schedule, options, plan_progressive(plan, options, resumes=resume is not None))
    if resume is not None:
        query.restore(load(resume, where=where), where=where)
    return query
