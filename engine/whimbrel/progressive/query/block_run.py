"""Read the blocks of a query in phases, and make its estimates."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Mask
from whimbrel.errors import CheckpointError
from whimbrel.kernels import restored, wait_for_compiler
from whimbrel.plan import Node, explain
from whimbrel.progressive.estimation.block_statistics import statistics_of
from whimbrel.progressive.estimation.estimate import Estimate
from whimbrel.progressive.estimation.merged_state import Merged
from whimbrel.progressive.late.late_estimate import LateBlocks
from whimbrel.progressive.late.late_rows_model import SAMPLED
from whimbrel.progressive.plan.post_aggregation import PostAggregation
from whimbrel.progressive.query.interrupts import Interrupts
from whimbrel.progressive.query.lazy_estimates import LazyEstimates
from whimbrel.progressive.query.progressive_plan import BlockPlan, ProgressiveOptions
from whimbrel.progressive.query.update_schedule import UpdateSchedule
from whimbrel.progressive.sampling.block_bounds import BlockBounds, wide_blocks
from whimbrel.progressive.sampling.block_scan import Order, Scan
from whimbrel.progressive.sampling.block_states import MAX_WAITING
from whimbrel.progressive.sampling.fingerprint import fingerprint
from whimbrel.progressive.sampling.windows_with_rows import windows_with_rows
from whimbrel.progressive.validation import GUARANTEED
from whimbrel.run import Metrics

Array = np.ndarray[Any, Any]

_WORTH_COMPILING_ROWS = 50_000
_INTERPRETED_S = 1e-5
"""About the time of a row in interpreted code. A first estimate waits as long for compiled code of an earlier process:
loading that is faster than to work on rows at the same time."""
_MANY_ROWS = 1 << 20
_FIRST_PHASE = 0.95
"""The fraction of alpha that the first phase may use; the other phases share the rest."""


class BlockRun:
    """A query that runs block by block.

    Parameters
    ----------
    plan : Node
        As written.
    planned : BlockPlan
    options : ProgressiveOptions
    schedule : UpdateSchedule

    Attributes
    ----------
    split, states, blocks
        As planned.
    scan : Scan
    merged : Merged
    lazy_estimates : LazyEstimates
    phases : int
        The number of phases that have begun.
    without_intervals : str
        Why there are no intervals before the end; empty if there are.
    hurries : bool
        Whether only the final estimate counts.
    """

    def __init__(self, plan: Node, planned: BlockPlan, options: ProgressiveOptions, schedule: UpdateSchedule) -> None:
        self.plan, self.schedule, self.options, begin = plan, schedule, options, planned.begin
        self.split, self.states, self.blocks = planned.split, planned.states, planned.blocks
        self.without_intervals = planned.without_intervals
        self._begun = np.empty(0, np.int64) if begin is None else begin
        bounds = None
        if options.intervals == GUARANTEED:
            bounds = BlockBounds(self.split, self.states.source, self.blocks, self._begun)
            begin = self._begun
        order: Order = "random" if options.order is None or options.order == "time" else options.order
        self.scan = Scan(self.blocks, order, options.seed, begin=begin)
        self._tail = PostAggregation(self.split)
        self._total = int(self.blocks.rows.sum())
        self.schedule.begin(self._total)
        self.phases = 1
        self.merged = Merged(self.split, float(self.blocks.rows.mean()), bounds)
        if len(starts := windows_with_rows(self.split, self.scan)):
            self.merged.windows.expect(starts)
        self.lazy_estimates = LazyEstimates(self.states, self.merged)
        self.hurries = False

    def read(self, latest: Estimate | None, version: int, began: float) -> Estimate | None:
        """Read until an update is due, and make its estimate; None when nothing is left.

        Parameters
        ----------
        latest : Estimate or None
            The one before.
        version : int
        began : float
            The time of the first request, by the performance counter.
        """
        schedule, total = self.schedule, self._total
        if latest is None and not self.scan.rows_read and len(self.merged.windows) and not (
                self.hurries or schedule.at) and schedule.before(total):
            return self._estimate(0, total, version, began)
        while self.scan.next is not None or self._next_phase():
            at_once = (self.hurries or not schedule.before(total)) and self.scan.rest_in_few_parts
            first = not self.scan.rows_read and not at_once
            with self._compiler(first=first):
                if at_once:
                    self._read_rest()
                due = schedule.due(total, total) if at_once else self._read_block()
                while not (due or first or self.scan.next is None):
                    due = self._read_block()
            if due:
                return self._estimate(self.scan.rows_read, total, version, began)
        given = latest is not None and latest.all_read
        return None if given else self._estimate(total, total, version, began)  # saved or interrupted at the end

    def _compiler(self, *, first: bool) -> AbstractContextManager[None]:
        """How long to wait for the compiler, before the first estimate and later."""
        block = self.scan.rows
        if self._total <= _WORTH_COMPILING_ROWS or block is None:
            return nullcontext()
        return wait_for_compiler(_INTERPRETED_S * (block[1] - block[0]) if first else math.inf)

    def _read_block(self) -> bool:
        """Read the next block. Returns whether an update is due."""
        block = self.scan.rows
        assert block is not None
        then = self.scan.coming if self.scan.rows_read else ()  # the first estimate gets all processors
        self._take_in(block[1] - block[0], lambda: self.states.read(block, then), self.scan.mark_read)
        return self.schedule.due(self.scan.rows_read, self._total)

    def _read_rest(self) -> None:
        """Read all remaining blocks as one, in time order: no update is due before the end."""
        rest = self._total - self.scan.rows_read
        if rest > _MANY_ROWS:  # users of an earlier estimate do not wait for these
            self.lazy_estimates.merge()
        self._take_in(rest, lambda: self.states.read_rest(self.scan.rest), self.scan.mark_all_read)

    def _take_in(self, rows: int, read: Callable[[], int], mark_read: Callable[[], None]) -> None:
        """Make states of rows and count them as read: both or neither, if interrupted."""
        with self.lazy_estimates.lock, Interrupts() as interrupts:
            before = self.states.waiting
            try:
                states = interrupts.let_through(read)
            except BaseException:
                self.states.discard(before)
                raise
            self.lazy_estimates.read(rows, len(self.scan.drawn), states)
            mark_read()
            if self.merged.overlap or self.states.waiting >= MAX_WAITING:
                self.lazy_estimates.merge()

    def _next_phase(self) -> bool:
        with Interrupts():
            if len(self.scan.later):
                self.end_phase()
            if self.scan.begins and not self.hurries and len(first := self.read_statistics()):
                self.scan.read_first(first)
                return True
            return self.scan.next_phase()

    def read_statistics(self) -> Array:
        """Draw a pilot sample once. Returns the blocks to read before a sample of the others is drawn."""
        if self.merged.statistics is not None or self.scan.order != "random":
            return np.empty(0, np.int64)
        if self.merged.bounds is not None:
            first = self.merged.bounds.certain
            return first[~self.scan.read[first]]
        found = self.merged.statistics = statistics_of(self.split, self.states, self.blocks, self._begun,
                                                       self.options.block_rows)
        if found is not None:
            return found.certain
        source = self.states.source
        first = np.empty(0, np.int64) if source.in_memory else wide_blocks(self.split, source, self.blocks)
        return first[~self.scan.read[first]]

    def end_phase(self) -> None:
        """Keep the intervals at the end of a phase: they stay valid, and the next phase can only narrow them.

        Before a sample is drawn, there are no intervals that could be wrong.
        """
        if not len(self.scan.drawn):
            return
        if self.scan.begins:
            self.lazy_estimates.merge()
        else:
            sample = self.lazy_estimates.now(self.scan.position).sample
            if len(sample):
                self.merged.before = sample.bounds(self._alpha * (1 if self.options.late is None else SAMPLED))
            self.phases += 1
        self.merged.windows.begin_phase()

    @property
    def _alpha(self) -> float:
        alpha = 1 - self.options.confidence
        later = self.phases - 1
        return alpha * (_FIRST_PHASE if later == 0 else (1 - _FIRST_PHASE) / (later * (later + 1)))

    def _estimate(self, rows: int, total: int, version: int, began: float) -> Estimate:
        confidence, late = self.options.confidence, self.options.late
        elapsed = time.perf_counter() - began
        rate = rows / max(elapsed, 1e-9)
        metrics = Metrics(rows=rows, fraction_read=rows / total, elapsed_s=elapsed, rows_per_s=rate)
        final = rows == total
        lazy_estimates, merged, tail = self.lazy_estimates, self.merged, self._tail
        pending = lazy_estimates.now(self.scan.position, last=final)
        if self.split.kept:  # unmerged values take much memory
            lazy_estimates.merge()
        finished = None
        if final and merged.overlap:
            def finished() -> pa.Table:
                lazy_estimates.merge()
                return tail.of_states(merged.states)
        elif self.split.tail:
            def finished() -> pa.Table:
                return tail.of_values(pending.sample.values.answer)
        if self.without_intervals:
            return Estimate(metrics, version=version, final=final, confidence=confidence, rows=finished,
                            fallback_reason=self.without_intervals, settled=0)
        if late is not None:
            return LateBlocks(metrics, late, int(self.blocks.latest.max()), version=version, last=final,
                              confidence=confidence, pending=pending, alpha=self._alpha, rows=finished)
        return Estimate(metrics, version=version, final=final, confidence=confidence, pending=pending,
                        alpha=self._alpha, rows=finished)

    def state(self) -> dict[str, Any]:
        """What was read, and the order of the blocks that follow."""
        self.lazy_estimates.merge()
        merged, known = self.merged, self.merged.before is not None
        low, high = merged.before or (np.empty((0, 0)), np.empty((0, 0)))
        return {"of": self._identity, "rows": self._rows_of(self.scan.read), "panes": merged.panes,
                "windows": merged.windows, "scan": self.scan.state_parts(), "phases": self.phases,
                "looked": merged.statistics is not None, "known": known,
                "low": low, "high": high}

    def restore(self, state: dict[str, Any], *, where: str) -> None:
        """Put this query, which has read nothing, into the state of another one.

        Raises
        ------
        CheckpointError
            When the state is of another query, or rows that were read have changed since.
        """
        if state["of"] != self._identity:
            raise CheckpointError("The saved state belongs to another query or other rows.", where=where,
                                  hint="Use the same query, rows, confidence and intervals.")
        if state.get("rows") != self._rows_of(state["scan"]["read"]):
            raise CheckpointError("Rows that were read before the save have changed since.", where=where,
                                  hint="Start again without resume=. A copied file counts as changed.")
        merged = self.merged
        restored(merged.panes, state["panes"])
        if merged.overlap:
            restored(merged.windows, state["windows"])
        self.scan.restore_state(state["scan"])
        if state.get("looked"):
            self.read_statistics()
        self.phases = state["phases"]
        merged.before = (state["low"], state["high"]) if state["known"] else None

    @property
    def _identity(self) -> dict[str, Any]:
        """What must be the same to resume: the printed query, and the rows of each block."""
        late = self.options.late
        plan = self.plan if late is None else late.plan
        kind = {} if self.merged.bounds is None else {"intervals": GUARANTEED}
        return {"plan": explain(plan), "confidence": self.options.confidence, **kind,
                "blocks": self.blocks.first.tolist(), "latest": self.blocks.latest.tolist()}

    def _rows_of(self, read: Mask) -> str:
        """The fingerprint of the blocks that were read; the others may change."""
        first, stop = self.blocks.first[read].tolist(), self.blocks.stop[read].tolist()
        return fingerprint(self.states.source, self.states.columns, zip(first, stop, strict=True))
