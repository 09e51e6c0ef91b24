"""Queries being answered together: what was read, and what their answers look like now."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.batch import Batch
from whimbrel.errors import WhimbrelError
from whimbrel.optimize import optimize_together
from whimbrel.plan import Node
from whimbrel.run.answer import Answer
from whimbrel.run.metrics import Snapshot
from whimbrel.run.pipeline import Pipeline
from whimbrel.run.reader import Reader


class Session:
    """Reads once for all queries, and can say at any moment what each would answer if the streams ended.

    Not safe to share between threads: whoever steps it also asks it.

    Parameters
    ----------
    *plans : Node
        The queries as written.
    keep_rows : int, optional
        Settled result rows of each to keep; older ones are forgotten and counted. None keeps all.
    hurry : bool
        Nobody looks before the end: take large steps.

    Attributes
    ----------
    answers : tuple of Answer
        One for each query.
    left : set of int
        Numbers of the queries that were left while others went on.
    """

    def __init__(self, *plans: Node, keep_rows: int | None = None, hurry: bool = False) -> None:
        self.plans = plans
        self.pipeline = Pipeline(*optimize_together(plans))
        self.reader = Reader(self.pipeline, hurry=hurry)
        self.answers = tuple(Answer(plan, self.pipeline, number, keep_rows) for number, plan in enumerate(plans))
        self.left: set[int] = set()

    @property
    def finished(self) -> bool:
        return self.reader.finished

    def step(self) -> list[list[Batch]] | None:
        """Read and process a little; settled rows of each query, or None when no source had anything."""
        outs = self.reader.step()
        if outs is not None:
            for number, (answer, out) in enumerate(zip(self.answers, outs, strict=True)):
                if number not in self.left and not answer.finished:
                    answer.add(out)
                    self._end(answer)
        return outs

    def _end(self, answer: Answer) -> None:
        if self.reader.open.isdisjoint(answer.sources):
            answer.finished = True
            answer.end()

    def resume(self, told: list[int], settled: list[int], left: list[int]) -> None:
        """Go on where the kernels' restored state is: so many rows of each query went out before."""
        self.pipeline.told = told
        self.reader.resume()
        for answer, rows in zip(self.answers, settled, strict=True):
            answer.go_on(rows)
        for number in left:
            self.leave(number)
        for number, answer in enumerate(self.answers):
            if number not in self.left:
                self._end(answer)

    def leave(self, number: int) -> None:
        """Do no more for a query, and read no more of what only that one reads."""
        self.left.add(number)
        self.answers[number].end()
        staying = [other for other in range(len(self.plans)) if other not in self.left]
        self.pipeline.keep(staying)
        self.reader.keep({source for other in staying for source in self.answers[other].sources})

    def snapshots(self, asked: Sequence[int]) -> list[Snapshot]:
        """The answers of some queries now; only what is settled, where one would fail if its sources ended now."""
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
