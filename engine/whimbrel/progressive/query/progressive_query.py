"""A query that is answered while its rows are read, in an order that can be changed."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from whimbrel import display
from whimbrel.clock import Duration, Instant, parse_instant
from whimbrel.errors import PlanError
from whimbrel.expr import Expr
from whimbrel.kernels import wait_for_compiler
from whimbrel.plan import Node
from whimbrel.progressive.estimation.block_statistics import statistics_of
from whimbrel.progressive.estimation.compare import Comparison, Verdict
from whimbrel.progressive.estimation.estimate import Estimate, bounds, check_ends, check_value
from whimbrel.progressive.estimation.merged_state import Merged
from whimbrel.progressive.estimation.notebook_claims import Verdicts, claims_in
from whimbrel.progressive.late.late_estimate import LateBlocks
from whimbrel.progressive.late.late_rows_model import SAMPLED, Late
from whimbrel.progressive.plan.post_aggregation import Tail
from whimbrel.progressive.plan.query_split import one_ended
from whimbrel.progressive.query.interrupts import Interrupts
from whimbrel.progressive.query.pending_estimates import PendingEstimates
from whimbrel.progressive.query.persistence import go_on, write
from whimbrel.progressive.query.stopping_rule import Rule, rule
from whimbrel.progressive.query.time_ordered import snapshots
from whimbrel.progressive.query.update_schedule import UpdateSchedule
from whimbrel.progressive.sampling.block_bounds import BlockBounds, wide_blocks
from whimbrel.progressive.sampling.block_scan import Order, Scan
from whimbrel.progressive.sampling.block_states import MAX_WAITING
from whimbrel.progressive.sampling.blocks import FEWEST_BLOCKS, read_in_blocks
from whimbrel.progressive.sampling.file_statistics import windows_with_rows
from whimbrel.progressive.validation import (
    GUARANTEED,
    check_conditions,
    check_confidence,
    check_intervals,
    check_number,
    check_order,
    path_of,
)
from whimbrel.run import Metrics

Array = np.ndarray[Any, Any]

_WORTH_COMPILING_ROWS = 50_000
_INTERPRETED_S = 1e-5
"""What a row takes about where nothing is compiled: so long even a first answer waits for what an earlier process left,
which is sooner there than rows are worked on beside it."""
Intervals = Literal["approximate", "guaranteed"]
_MANY_ROWS = 1 << 20
_LEAST_CLAIMED = 0.5
_ORDERS = ("random", "newest", "oldest")
_FIRST_PHASE = 0.95
"""Of what may go wrong, the part that the first phase may use; the others share the rest."""


class ProgressiveQuery(Iterator[Estimate]):
    """Estimates of an answer, each better than the one before; the last is the answer.

    Iterate over it; stop whenever you like, and go on by iterating again: no row is read twice. It may be asked and
    steered from several threads, so that a view can read on while a cell steers.

    Parameters
    ----------
    plan : Node
        As written.
    looks : Looks
    confidence : float
    order : {"random", "newest", "oldest", "time"}, optional
        None: random where the query allows it, else the order of time.
    seed, block_rows : int, optional
    resume : str or path, optional
        What :meth:`save` wrote.
    late : Late, optional
        How late rows are, for intervals that allow for those that have not come yet.
    intervals : {"approximate", "guaranteed"}

    Attributes
    ----------
    fallback_reason : str
        Why rows are read in the order of time and no interval is known; empty where that is not so.
    latest : Estimate or None
        The last answer that was given.
    rule : Rule
        When an answer is good enough.
    """

    def __init__(self, plan: Node, looks: UpdateSchedule, *, confidence: float = 0.95, seed: int = 0,
                 order: Order | Literal["time"] | None = None, block_rows: int | None = None,
                 resume: str | os.PathLike[str] | None = None, late: Late | None = None,
                 intervals: Intervals = "approximate") -> None:
        check_intervals(intervals, late=late is not None)
        check_confidence(confidence, where=f"progressive(confidence={confidence!r})")
        check_number(seed, what="whole number from 0 on", above=-1, whole=True, where=f"progressive(seed={seed!r})",
                     hint="such as seed=1")
        check_order(order, (None, *_ORDERS, "time"), call="progressive")
        if block_rows is not None:
            check_number(block_rows, what="number of rows above 0", whole=True,
                         where=f"progressive(block_rows={block_rows!r})", hint="such as block_rows=10_000")
        if resume is not None:
            path_of(resume, where=f"progressive(resume={resume!r})")
        self.plan, self.looks, self.confidence, self.late = plan, looks, confidence, late
        self.latest: Estimate | None = None
        self.added_claims: list[Comparison] = []
        self.rule = Rule()
        self._turn = threading.RLock()
        self._asked: dict[str, Any] = {"confidence": confidence, "seed": seed, "order": order, "block_rows": block_rows,
                                       "late": late, "intervals": intervals}
        self._began: float | None = None
        self._version = 0
        self._hurries = False
        asked = plan if late is None else late.plan
        found = read_in_blocks(asked, block_rows) if order != "time" else "it was asked for in the order of time"
        if order is None and not isinstance(found, str) and len(found[2]) < FEWEST_BLOCKS:
            found = f"its source has no more than {len(found[2])} blocks, too few for a sample"
        self.fallback_reason = found if isinstance(found, str) else ""
        if late is not None and order is None and self.fallback_reason and not late.live:
            raise PlanError(f"It is not clear when {late.source.name} ends: {self.fallback_reason}.",
                            where="progressive(late=...)",
                            hint='order="random": it ends now; order="time": its rows come as they lie, to its end')
        if isinstance(found, str):
            check_ends(plan, one_ended(plan))
            if resume is not None:
                raise PlanError(f"Rows are read in the order of time: {found}.",
                                where=f"progressive(resume={resume!r})",
                                hint='query.start(checkpoints=wb.Checkpoints("folder"))')
            if order in ("random", "newest", "oldest"):
                raise PlanError(f"Rows cannot be read in the order {order!r}: {found}.",
                                where=f"progressive(order={order!r})",
                                hint='order="time" answers early, without intervals')
        else:
            self.division, self.states, self.blocks, begin, self._vague = found
            self._begun = np.empty(0, np.int64) if begin is None else begin
            bounds = None
            if intervals == GUARANTEED:
                bounds = BlockBounds(self.division, self.states.source, self.blocks, self._begun)
                begin = self._begun
            check_ends(plan, () if self._vague else self.division.told)
            self.scan = Scan(self.blocks, order if order in {"newest", "oldest"} else "random", seed, begin=begin)
            self._tail = Tail(self.division)
            self._total = int(self.blocks.rows.sum())
            looks.begin(self._total)
            self.phases = 1
            self.merged = Merged(self.division, float(self.blocks.rows.mean()), bounds)
            if len(starts := windows_with_rows(self.division, self.scan)):
                self.merged.windows.expect(starts)
            self.moments = PendingEstimates(self.states, self.merged)
            if resume is not None:
                go_on(self, resume)
        self._snapshots = self._in_order_of_time()

    def __next__(self) -> Estimate:
        with self._turn:
            if self._began is None:
                self._began = time.perf_counter()
            if self.latest is not None and not self.latest.all_read and self._stop():
                self.rule = Rule()  # iterating again goes on
                raise StopIteration
            try:
                answer = next(self._snapshots, None) if self.fallback_reason else self._by_blocks()
            except BaseException:  # interrupted, maybe: who iterates again goes on
                self._snapshots = self._in_order_of_time()
                raise
            if answer is None:
                raise StopIteration
            self._version += 1
            before, self.latest = self.latest, answer
            if before is not None and self.added_claims and not self.fallback_reason:
                answer.overturned = tuple(verdict.now for verdict in self.claims if not verdict.holds)
            return answer

    # What can be asked of it.

    def prioritize(self, *conditions: Expr, between: tuple[Instant, Instant] | None = None,
               order: Order | None = None) -> ProgressiveQuery:
        """Read first what may hold rows that meet all conditions; from now on, every row still once.

        Where rows lie is known block by block, from the smallest and largest value of a column in it: it helps as far
        as rows of a kind lie together. Windows and groups in the preferred part become exact early. Meanwhile the
        intervals of others stay what they were.

        Parameters
        ----------
        *conditions : Expr
            That compare columns of the source with values, such as ``col.origin == "JFK"``.
        between : tuple of (time, time), optional
            A range of time, its end not included: ISO texts, datetimes or ticks.
        order : {"random", "newest", "oldest"}, optional
            The order of blocks from now on.
        """
        if self.fallback_reason:
            raise PlanError(f"Rows are read in the order of time: {self.fallback_reason}.", where="prioritize(...)",
                            hint="narrow the query with where(...) instead")
        wanted = np.ones(len(self.blocks), np.bool_)
        check_order(order, (None, *_ORDERS), call="prioritize")
        if conditions:
            check_conditions(conditions, self.states.condition_schema)
            wanted &= self.states.source.holding(self.blocks, conditions)
        if between is not None:
            schema = self.states.source.schema
            where = f"prioritize(between={between!r})"
            if not isinstance(between, tuple | list) or len(between) != 2:
                raise PlanError(f"{between!r} is no range of time.", where=where,
                                hint="between=(begin, end), the end not included")
            first, end = (parse_instant(time, schema.unit, schema.zone, name=self.states.source.time, where=where,
                                        rounding="up") for time in between)
            if first >= end:
                raise PlanError("The range of time is empty: its end is not behind its begin.", where=where,
                                hint="between=(begin, end), the end not included")
            within = (self.blocks.latest >= first) & (self.blocks.earliest < end)
            if not within.any():
                raise PlanError("No row lies in that range of time.", where=where,
                                hint="choose one within the times of the source")
            wanted &= within
        with self._turn, Interrupts():
            self._end_phase()
            self.scan.prioritize(wanted, order)
            self.read_statistics()
        return self

    def until(self, *, error: str | float | None = None, ranking_stable: int | None = None,
              seconds: float | None = None, value: str | None = None) -> ProgressiveQuery:
        """Stop at the first answer for which one of these is true. Iterating once more goes on from there.

        Parameters
        ----------
        error : str or float, optional
            Such as ``"2%"``: no interval ends farther from its value than that share of it.
        ranking_stable : int, optional
            The order of so many largest values is certain.
        seconds : float, optional
            So much time has passed since the first answer was asked for.
        value : str, optional
            Of which value. Default: error of all, ranking of the first.
        """
        if value is not None:
            check_value(value, self.plan.schema.names if self.fallback_reason or self._vague else self.division.told)
        self.rule = rule(error, ranking_stable, seconds, value)
        return self

    def add_claim(self, claim: Comparison) -> Comparison:
        """Keep a claim, such as ``answer.compare(...)`` makes, to see what becomes of it.

        Raises
        ------
        PlanError
            When it is not known which of the two is larger, or it is of another query.
        """
        if not isinstance(claim, Comparison):
            raise PlanError(f"{claim!r} is no claim.", where="add_claim(...)",
                            hint="remember what answer.compare(...) gives")
        if not self._is_of(claim):
            raise PlanError(f"{claim.summary}: this query has no such values.", where="add_claim(...)",
                            hint="remember what an answer of this query compares")
        if claim.confidence < _LEAST_CLAIMED:
            raise PlanError(f"{claim.summary}: there is no claim to keep.", where="add_claim(...)",
                            hint="read on until the intervals lie apart")
        self.added_claims.append(claim)
        return claim

    def load_claims(self, notebook: str | os.PathLike[str]) -> list[Comparison]:
        """Remember the claims of this query that a saved notebook shows, where cells ended with :attr:`claims`.

        Raises
        ------
        PlanError
            When there is none.
        """
        where = f"load_claims({notebook!r})"
        found = [claim for claim in claims_in(path_of(notebook, where=where), where=where) if self._is_of(claim)]
        if not found:
            raise PlanError("None of the claims there is of values of this query.", where=where,
                            hint="its values and keys must have the names they had")
        self.added_claims += [claim for claim in found if claim not in self.added_claims]
        return found

    @property
    def claims(self) -> Verdicts:
        """What became of every claim by the latest answer. At the end of a cell it is saved with the notebook."""
        answer = self.latest
        return Verdicts(Verdict(claim, claim.unknown()) if answer is None else answer.verdict(claim)
                        for claim in self.added_claims)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write down what was read, so that ``query.progressive(resume=path)`` goes on from here, in any process.

        Raises
        ------
        PlanError
            When rows are read in the order of time; a run has checkpoints of its own.
        """
        if self.fallback_reason:
            raise PlanError(f"Rows are read in the order of time: {self.fallback_reason}.", where="save(...)",
                            hint='query.start(checkpoints=wb.Checkpoints("folder"))')
        with self._turn:
            self.moments.merge()
            write(self, path)

    def finish(self) -> pa.Table:
        """Read what is left, and give the exact answer, as ``collect()`` does; rows that were read are not read again.

        Rows are the same; those of one start may come in another order, and the last digit of a sum of floats may
        differ.
        """
        self.until()
        self._hurries = True
        try:
            for _ in self:
                pass
        finally:
            self._hurries = False
        assert self.latest is not None
        return self.latest.raw_table.select(["start", "end", *self.plan.schema.names])

    def restart(self) -> ProgressiveQuery:
        """The same question once more, of which nothing was read yet."""
        looks = UpdateSchedule(self.looks.every, self.looks.seconds, self.looks.at)
        return ProgressiveQuery(self.plan, looks, **self._asked)

    @property
    def view(self) -> display.Views:
        """A live view that reads on by itself: ``view()``, or by kind, as ``view.bar()`` (needs the workbench)."""
        return display.Views(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        # What was begun elsewhere is told in words: a second view of it would read on by itself.
        return display.mimebundle(self) if self.latest is None else ({"text/plain": repr(self)}, {})

    def __repr__(self) -> str:
        return f"Progress: {'nothing was read yet' if self.latest is None else self.latest.summary}"

    def _is_of(self, claim: Comparison) -> bool:
        """Whether answers can be held to a claim."""
        if self.fallback_reason or self._vague:
            return False
        keys = {"start", *(name for name, _ in self.division.finish.of.keys)}
        return claim.value in self.division.told and {*claim.left, *claim.right} <= keys

    # How it goes on.

    def _stop(self) -> bool:
        assert self.latest is not None
        assert self._began is not None
        return self.rule.met(self.latest, time.perf_counter() - self._began)

    def _in_order_of_time(self) -> Iterator[Estimate]:
        return snapshots(self.plan, self.looks, self.confidence, self.fallback_reason, self.late)

    def _by_blocks(self) -> Estimate | None:
        """Read until an answer is due; None where nothing is left."""
        looks, total = self.looks, self._total
        if self.latest is None and not self.scan.rows_read and len(self.merged.windows) and not (
                self._hurries or looks.at) and looks.before(total):
            return self._estimate(0, total)
        while self.scan.next is not None or self._next_phase():
            at_once = (self._hurries or not looks.before(total)) and self.scan.rest_in_few_parts
            first = not self.scan.rows_read and not at_once
            with self._compiler(first=first):
                if at_once:
                    self._read_rest()
                due = looks.due(total, total) if at_once else self._read_block()
                while not (due or first or self.scan.next is None):
                    due = self._read_block()
            if due:
                return self._estimate(self.scan.rows_read, total)
        told = self.latest is not None and self.latest.all_read
        return None if told else self._estimate(total, total)  # kept at the end, or interrupted after it

    def _compiler(self, *, first: bool) -> AbstractContextManager[None]:
        """How long the compiler is waited for, before the first answer and later."""
        block = self.scan.rows
        if self._total <= _WORTH_COMPILING_ROWS or block is None:
            return nullcontext()
        return wait_for_compiler(_INTERPRETED_S * (block[1] - block[0]) if first else math.inf)

    def _read_block(self) -> bool:
        """Read the block that is next; whether an answer is due then."""
        block = self.scan.rows
        assert block is not None
        then = self.scan.coming if self.scan.rows_read else ()  # whoever waits for a first answer has all processors
        self._take_in(block[1] - block[0], lambda: self.states.read(block, then), self.scan.took)
        return self.looks.due(self.scan.rows_read, self._total)

    def _read_rest(self) -> None:
        """Read all that is left as one, in the order of time: nobody looks before it is exact."""
        rest = self._total - self.scan.rows_read
        if rest > _MANY_ROWS:  # who asks for an earlier answer meanwhile does not wait for so many
            self.moments.merge()
        self._take_in(rest, lambda: self.states.read_rest(self.scan.rest), self.scan.took_all)

    def _take_in(self, rows: int, read: Callable[[], int], took: Callable[[], None]) -> None:
        """Make states of so many rows and count them as read: both or neither, whenever it is interrupted."""
        with self.moments.lock, Interrupts() as interrupts:
            before = self.states.waiting
            try:
                states = interrupts.let_through(read)
            except BaseException:
                self.states.forget(before)
                raise
            self.moments.read(rows, len(self.scan.drawn), states)
            took()
            if self.merged.overlap or self.states.waiting >= MAX_WAITING:
                self.moments.merge()

    def _next_phase(self) -> bool:
        with Interrupts():
            if len(self.scan.later):
                self._end_phase()
            if self.scan.begins and not self._hurries and len(first := self.read_statistics()):
                self.scan.read_first(first)
                return True
            return self.scan.go_on()

    def read_statistics(self) -> Array:
        """Look at rows of all blocks, once; the blocks that are read before a sample of the others is drawn."""
        if self.merged.statistics is not None or self.scan.order != "random":
            return np.empty(0, np.int64)
        if self.merged.bounds is not None:
            first = self.merged.bounds.certain
            return first[~self.scan.read[first]]
        found = self.merged.statistics = statistics_of(self.division, self.states, self.blocks, self._begun,
                                                       self._asked["block_rows"])
        if found is not None:
            return found.certain
        source = self.states.source
        first = np.empty(0, np.int64) if source.in_memory else wide_blocks(self.division, source, self.blocks)
        return first[~self.scan.read[first]]

    def _end_phase(self) -> None:
        """Intervals that hold when a phase ends hold for ever: the next one can only make them narrower.

        Of what is read before a sample is drawn nothing was said that may be false.
        """
        if not len(self.scan.drawn):
            return
        if self.scan.begins:
            self.moments.merge()
        else:
            sample = self.moments.now(self.scan.stand).sample
            if len(sample):
                self.merged.before = bounds(sample, self._alpha * (1 if self.late is None else SAMPLED))
            self.phases += 1
        self.merged.windows.begin_phase()

    @property
    def _alpha(self) -> float:
        alpha = 1 - self.confidence
        later = self.phases - 1
        return alpha * (_FIRST_PHASE if later == 0 else (1 - _FIRST_PHASE) / (later * (later + 1)))

    def _estimate(self, rows: int, total: int) -> Estimate:
        began = time.perf_counter() if self._began is None else self._began
        elapsed = time.perf_counter() - began
        rate = rows / max(elapsed, 1e-9)
        metrics = Metrics(rows=rows, fraction_read=rows / total, elapsed_s=elapsed, rows_per_s=rate)
        final = rows == total
        moments, merged, tail = self.moments, self.merged, self._tail
        moment = moments.now(self.scan.stand, last=final)
        if self.division.kept:  # values are many while they wait
            moments.merge()
        finished = None
        if final and merged.overlap:
            def finished() -> pa.Table:
                moments.merge()
                return tail.of_states(merged.states)
        elif self.division.tail:
            def finished() -> pa.Table:
                return tail.of_values(moment.sample.answer)
        if self._vague:
            return Estimate(metrics, version=self._version, final=final, confidence=self.confidence, rows=finished,
                            fallback_reason=self._vague, settled=0)
        if self.late is not None:
            return LateBlocks(metrics, self.late, int(self.blocks.latest.max()), version=self._version, last=final,
                              confidence=self.confidence, moment=moment, alpha=self._alpha, rows=finished)
        return Estimate(metrics, version=self._version, final=final, confidence=self.confidence, moment=moment,
                        alpha=self._alpha, rows=finished)


def progressive(plan: Node, every: Duration | None = None, *, seconds: float | None = None, at: Sequence[float] = (),
             confidence: float = 0.95, order: Order | Literal["time"] | None = None, seed: int = 0,
             block_rows: int | None = None, resume: str | os.PathLike[str] | None = None,
             late: object = None, intervals: Intervals = "approximate") -> ProgressiveQuery:
    """Answers that refine, and can be steered."""
    if isinstance(at, str) or not isinstance(at, Iterable):
        raise PlanError(f"{at!r} are no shares.", where=f"progressive(at={at!r})", hint="such as at=[0.01, 0.1, 0.5]")
    model = None if late is None else Late.of(plan, late)
    return ProgressiveQuery(plan, UpdateSchedule(every, seconds, tuple(at)), confidence=confidence, order=order,
                            seed=seed,
                    block_rows=block_rows, resume=resume, late=model, intervals=intervals)
