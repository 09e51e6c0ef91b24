"""One query of a desk, for its users."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

import pyarrow as pa

from whimbrel.errors import WhimbrelError
from whimbrel.expr import ParameterValues
from whimbrel.plan import Node, Sink, Token
from whimbrel.run.checkpoint import describe_plans
from whimbrel.run.desk.budget import Budget
from whimbrel.run.desk.sharing.shared_query import SharedQuery
from whimbrel.run.desk.shedding.shed import ShedRows
from whimbrel.run.metrics import Metrics, Snapshot
from whimbrel.run.query_result import Answer

T = TypeVar("T")

DeskQueryState = Literal["running", "finished", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class SavedSink:
    """What a checkpoint knows of the sink of a query.

    Parameters
    ----------
    run : str
        The id under which it writes; empty for a query without a sink.
    token : JSON value
        The commit token of its last row.
    """

    run: str = ""
    token: Token = None


class DeskQuery:
    """A named query of a desk: its result, state and cost.

    Attributes
    ----------
    name : str
    since : dict of str to int
        By source, in its ticks: the first time from which the query reads rows. Sources that it reads from their
        beginning are left out.
    status : {"running", "finished", "failed", "stopped"}
        The state as far as it is known; :attr:`state` first runs steps that wait until somebody asks.
    failure : WhimbrelError or None
        The error, likewise.
    desk_stopped : bool
        Whether the desk reads no more. A restart resumes with :attr:`status`.
    shared : SharedQuery or None
        Its steps, where it takes part in a shared aggregate.
    """

    def __init__(self, name: str, plan: Node, budget: Budget | None, do: Callable[[Callable[[], Any]], Any]) -> None:
        self.name, self.plan, self.budget = name, plan, budget
        self.since: dict[str, int] = {}
        self.status: DeskQueryState = "running"
        self.failure: WhimbrelError | None = None
        self.shared: SharedQuery | None = None
        self.desk_stopped = False
        self.number = -1
        self.answer: Answer
        self.root: Node
        self.parameter_values: Mapping[str, ParameterValues] = {}
        self.sources: tuple[str, ...] = ()
        self.reads: frozenset[str] = frozenset()
        self.sink: Sink | None = None
        self.saved_sink = SavedSink()
        self.last: Snapshot | None = None
        self.last_seconds = 0.0
        self.last_rows_in = 0
        self.last_shed: ShedRows | None = None
        self.now: Callable[[DeskQuery], tuple[Snapshot, float]]
        self.settle: Callable[[DeskQuery], None]
        self._do = do

    @cached_property
    def steps_as_written(self) -> list[str]:
        """Steps of the query as written, for checkpoints."""
        return describe_plans([self.plan])

    def _settled(self) -> None:
        """Run the steps that wait until somebody asks."""
        if self.shared is not None and self.last is None:
            self._do(lambda: self.settle(self))

    @property
    def answered_by(self) -> int | SharedQuery:
        """Identity of its steps, the same for equal queries.

        It is the number of a plan, or the steps after a shared aggregate.
        """
        return self.number if self.shared is None else self.shared

    @property
    def state(self) -> DeskQueryState:
        """State of the query: "running", "finished", "failed" or "stopped"."""
        self._settled()
        return "stopped" if self.desk_stopped and self.status == "running" else self.status

    @property
    def is_current(self) -> bool:
        """True unless an error or a limit ended the query."""
        self._settled()
        return self.status in ("running", "finished")

    @property
    def error(self) -> WhimbrelError | None:
        """The error of a failed query, or the limit that stopped it."""
        self._settled()
        return self.failure

    def _current(self) -> tuple[Snapshot, float]:
        return (self.last, self.last_seconds) if self.last is not None else self.now(self)

    def snapshot(self) -> Snapshot:
        """Take a snapshot: the current result, settled rows first."""
        found: Snapshot = self._do(lambda: self._current()[0])
        return found

    @property
    def table(self) -> pa.Table:
        """The current result."""
        return self.snapshot().table

    def newest(self, rows: int) -> pa.Table:
        """Take the rows that have settled last, at most so many."""
        self._settled()
        found: pa.Table = self._do(lambda: self.answer.newest(rows))
        return found

    @property
    def metrics(self) -> Metrics:
        """Counters of the query.

        Rows that were read are those of the whole desk.
        """
        return self.snapshot().metrics

    @property
    def rows(self) -> int:
        """Number of settled result rows."""
        self._settled()
        return self.answer.settled_rows

    @property
    def seconds(self) -> float:
        """Seconds of work on its steps.

        The time of a shared step is divided by the number of its queries.
        """
        found: float = self._do(lambda: self._current()[1])
        return found

    @property
    def parameters(self) -> dict[str, Any]:
        """The newest value of each parameter."""
        return {name: values.newest_value for name, values in self.parameter_values.items()}

    def __repr__(self) -> str:
        return f"<query {self.name!r}: {self.state}{'' if self.error is None else f'; {self.error.what}'}>"
