"""Run several queries over one reading of their sources."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from whimbrel.batch import SPACIOUS_BYTES, Batch
from whimbrel.connect import ReplayClock
from whimbrel.errors import WhimbrelError
from whimbrel.optimize import optimize_together
from whimbrel.plan import Node, check_shown
from whimbrel.run.metrics import Snapshot
from whimbrel.run.pipeline import Pipeline
from whimbrel.run.query_result import Answer
from whimbrel.run.rewind_points import Marks, RewindPoint
from whimbrel.run.source_reader import SourceReader


class Execution:
    """Read once for all queries, and give the current result of each at any moment.

    It belongs to one thread: the caller that steps it also takes snapshots.

    Parameters
    ----------
    *plans : Node
        The queries as written.
    keep_rows : int, optional
        Settled result rows to keep per query; older ones are evicted and counted. None keeps all.
    hurry : bool
        Take large steps, for a result that is read only at the end.
    rewindable : bool
        Rewind when the clock of its replays is set back.

    Attributes
    ----------
    clock : ReplayClock or None
        The clock of its replays.
    marks : Marks or None
        The rewind points.
    answers : tuple of Answer
        One for each query.
    left : set of int
        Numbers of the queries that ended while others continue.
    """

    def __init__(self, *plans: Node, keep_rows: int | None = None, hurry: bool = False,
                 rewindable: bool = False) -> None:
        for plan in plans:
            check_shown(plan)
        self.plans = plans
        self.pipeline = Pipeline(*optimize_together(plans))
        self.reader = SourceReader(self.pipeline, hurry=hurry)
        follower = self.reader.follower
        self.clock: ReplayClock | None = None if follower is None else follower.clock
        self.answers = tuple(Answer(plan, self.pipeline, number, keep_rows, self.clock, self.reader)
                             for number, plan in enumerate(plans))
        self.left: set[int] = set()
        self.marks = Marks(self.mark()) if rewindable and self.reader.rewindable else None

    @property
    def finished(self) -> bool:
        return self.reader.finished

    def step(self) -> list[list[Batch]] | None:
        """Read and process a little; settled rows of each query, or None when no source had anything."""
        if self.marks is None:
            self.follow_clock()
        began = time.perf_counter()
        outs = self.reader.step()
        if outs is not None:
            self._add(outs)
            if self.marks is not None:
                self.marks.worked(time.perf_counter() - began, self.reader.rows, self.mark)
        return outs

    def complete(self) -> Iterator[list[list[Batch]]]:
        """Work on what is left of rows that feeds gave at once, so that their offsets can be saved."""
        for outs in self.reader.complete():
            self._add(outs)
            yield outs

    def drain(self) -> Iterator[list[list[Batch]]]:
        """Process rows that feeds have received, and receive no more; settled rows of each query."""
        for outs in self.reader.drain():
            self._add(outs)
            yield outs

    def _add(self, outs: list[list[Batch]]) -> None:
        for number, (answer, out) in enumerate(zip(self.answers, outs, strict=True)):
            if number not in self.left and not answer.finished:
                answer.add(out)
                if answer.held_bytes > SPACIOUS_BYTES and self.pipeline.pending:
                    self.pipeline.check_memory(answer.held_bytes)
                self._end(answer)

    def follow_clock(self) -> bool:
        """Go back if the clock was set to where this session has been already; whether it went."""
        follower = self.reader.follower
        if follower is None or follower.seeks == follower.clock.seeks:
            return False
        seeks, instant = follower.clock.last_seek
        back = self.marks is not None and instant < self.reader.arrival_ns
        if self.marks is not None and back:
            self.go_back(self.marks.back_to(instant))
        follower.seeks = seeks
        return back

    @property
    def must_rewind(self) -> bool:
        """Whether the clock was set to where this session has been, and it can go back."""
        follower = self.reader.follower
        if self.marks is None or follower is None:
            return False
        seeks, instant = follower.clock.last_seek
        return seeks != follower.seeks and instant < self.reader.arrival_ns

    def mark(self) -> RewindPoint:
        """Where it is now."""
        for answer in self.answers:  # to rewind drops whole tables
            answer.gather()
        return RewindPoint(self.reader.arrival_ns, self.reader.rows, self.pipeline.fork(range(len(self.plans))),
                    tuple(answer.settled_rows for answer in self.answers))

    def go_back(self, mark: RewindPoint) -> None:
        """Be where it was."""
        self.pipeline.become(mark.pipeline)
        self.reader.resume(mark.arrival_ns)
        for number, (answer, settled) in enumerate(zip(self.answers, mark.settled, strict=True)):
            if number not in self.left:
                answer.go_back(settled)
        self._settle_up()

    def _end(self, answer: Answer) -> None:
        if self.reader.open.isdisjoint(answer.sources) and not self.pipeline.pending:
            answer.finished = True
            answer.end()

    def resume(self, sent_watermarks: list[int], settled: list[int], left: list[int],
               offsets: Mapping[int, Any]) -> None:
        """Resume from restored operator state, after so many settled rows of each query."""
        self.pipeline.sent_watermarks = sent_watermarks
        self.reader.resume(offsets=offsets)
        for answer, rows in zip(self.answers, settled, strict=True):
            answer.resume(rows)
        self.left.update(left)
        self._settle_up()

    def _settle_up(self) -> None:
        """After a change of state: leave out queries that were left, and end those whose sources have ended."""
        for number in sorted(self.left):
            self.leave(number)
        for number, answer in enumerate(self.answers):
            if number not in self.left:
                self._end(answer)

    @property
    def failures(self) -> dict[int, Exception]:
        """Errors of failed queries, while others continue."""
        return {number: error for number, error in self.pipeline.failures.items() if number not in self.left}

    def leave(self, number: int) -> None:
        """Leave a query, and sources that only it reads."""
        self.left.add(number)
        self.answers[number].end()
        staying = [other for other in range(len(self.plans)) if other not in self.left]
        self.pipeline.keep(staying)
        self.reader.keep({source for other in staying for source in self.answers[other].sources})

    def snapshots(self, asked: Sequence[int]) -> list[Snapshot]:
        """Current results of some queries; only settled rows if a query would fail when its sources ended now."""
        rests = self._rests([number for number in asked if not self.answers[number].finished])
        return [self.answers[number].snapshot(rests.get(number, [])) for number in asked]

    def _rests(self, open_: list[int]) -> dict[int, list[Batch]]:
        if not open_:
            return {}
        try:
            rest = self.pipeline.rest(open_)
        except WhimbrelError:
            if len(open_) == 1:
                return {}
            return {number: batches for one in open_ for number, batches in self._rests([one]).items()}
        return {number: rest[number] for number in open_}

    def close(self) -> None:
        """Let go of the sources."""
        for answer in self.answers:
            answer.end()
        self.reader.close()
