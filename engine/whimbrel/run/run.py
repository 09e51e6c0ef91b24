"""Handles of queries that run on a thread of their own."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from whimbrel.connect import ReplayClock
from whimbrel.connect.validation import is_whole
from whimbrel.errors import PlanError, WhimbrelError
from whimbrel.migration_hints import RUN, absent
from whimbrel.plan import Node, Sink
from whimbrel.run.checkpoint import load, planned_as_in
from whimbrel.run.checkpoint_coordinator import CheckpointCoordinator, Checkpoints
from whimbrel.run.execution import Execution
from whimbrel.run.lineage import Lineage, Read, lineage
from whimbrel.run.metrics import Metrics, Snapshot
from whimbrel.run.run_loop import FilePath, Loop, QueryHandle, State


def start(*plans: Node, keep_rows: int = 1_000_000, restore: FilePath | None = None,
          sinks: Sequence[Sink | None] = (), checkpoints: Checkpoints | None = None) -> tuple[Run, ...]:
    """Run queries together on one thread, which reads each source once.

    Parameters
    ----------
    *plans : Node
    keep_rows : int
        Settled result rows to keep per query; older ones are evicted and counted.
    restore : path, optional
        A checkpoint to resume from.
    sinks : sequence of Sink or None
        Where settled rows go, one for each plan.
    checkpoints : Checkpoints, optional
        Where checkpoints are written, and which one the run resumes from.
    """
    for sink in sinks:
        if not isinstance(sink, Sink | None):
            raise PlanError(f"sink must be a sink, got {type(sink).__name__}.", where="start(sink=...)",
                            hint='Use sink=wb.sinks.parquet("folder").')
    if not isinstance(checkpoints, Checkpoints | None):
        raise PlanError(f"checkpoints must be wb.Checkpoints(...), got {type(checkpoints).__name__}.",
                        where="start(checkpoints=...)", hint='Use checkpoints=wb.Checkpoints("folder").')
    if not is_whole(keep_rows) or keep_rows < 0:
        raise PlanError(f"keep_rows must be an integer of at least 0, got {keep_rows!r}.", where="start(...)",
                        hint="Use for example keep_rows=100_000.")
    coordinator = None
    if checkpoints is None and not any(sinks):
        with nullcontext() if restore is None else planned_as_in(restore):
            session = Execution(*plans, keep_rows=keep_rows, rewindable=True)
        if restore is not None:
            load(session, restore)
    else:
        coordinator = CheckpointCoordinator([*sinks, *[None] * (len(plans) - len(sinks))], checkpoints)
        session = coordinator.open(lambda: Execution(*plans, keep_rows=keep_rows))
    loop = Loop(session, coordinator)
    runs = tuple(Run(loop, shown) for shown in loop.shown)
    loop.begin()
    return runs


class Run:
    """A handle on a running query.

    Garbage collection of the handle stops the query.

    Queries that were started together are read together: pausing, resuming and checkpoints are of all of them. One that
    fails leaves the others going; a source that cannot be read on ends all.

    Attributes
    ----------
    state : {"running", "paused", "finished", "stopped", "failed"}
    error : WhimbrelError or None
        What ended it, when it failed.
    """

    if not TYPE_CHECKING:  # type checkers know the attributes
        __getattr__ = absent("A run", RUN)

    def __init__(self, loop: Loop, shown: QueryHandle) -> None:
        self._loop = loop
        self._shown = shown
        self._end = weakref.finalize(self, loop.stop, shown, keep=False)

    @property
    def state(self) -> State:
        """The state of the run."""
        return self._shown.state

    @property
    def error(self) -> WhimbrelError | None:
        """The error that ended a failed run; else None."""
        return self._shown.error

    @property
    def clock(self) -> ReplayClock | None:
        """Clock of the replays: pause, step, accelerate, set.

        None if nothing is replayed.
        """
        return self._loop.session.clock

    @property
    def version(self) -> int:
        """Version of the current result; grows with each change."""
        return self._shown.answer.version

    @property
    def metrics(self) -> Metrics:
        """Counters of the run, at most 50 ms old while it runs.

        They cost nothing.

        Where the clock of replays is paused, they are those of now when ``run.clock.wait()`` says that all was read.
        """
        return self._loop.metrics(self._shown)

    def snapshot(self, timeout: float = 1.0, *, after: int | None = None) -> Snapshot:
        """Take a snapshot: the current result.

        After `timeout` seconds it is the last one.

        The thread of the run computes it between two steps. Snapshots take at most a quarter of its time, for all
        queries that were started together.

        Parameters
        ----------
        timeout : float
            Seconds to wait at most.
        after : int, optional
            Wait for a newer version; it is taken directly after the step that made it.
        """
        return self._loop.snapshot(self._shown, timeout, after)

    def lineage(self, row: Mapping[str, Any] | None = None, /, *, limit: int = 1000, **columns: Any) -> Lineage:
        """Find the source events of a result row.

        They are among the rows read so far. See :meth:`whimbrel.Stream.lineage`.

        The calling thread reads the sources again. The run continues.

        Raises
        ------
        SourceError
            When a source is a feed, whose rows cannot be read again.
        """
        plan = self._loop.session.plans[self._shown.number]
        return lineage(plan, {**(row or {}), **columns}, limit=limit, read=self.read)

    @property
    def read(self) -> Read:
        """Rows read of each source, for :func:`whimbrel.run.lineage`."""
        return self._loop.session.reader.read

    def explain(self) -> str:
        """Show the optimized plan with what its steps have cost so far.

        A step has its rows and its time for each row. Time of the compiler may be part of it, in which the first rows
        wait. A plan with two levels has the time of each, and what its table saves.

        Examples
        --------
        >>> import whimbrel as wb
        >>> log = wb.from_arrow({"at": range(1000), "x": range(1000)}, time="at", name="log")
        >>> with log.where(wb.col.x > 9).start() as run:
        ...     ended = run.wait()
        >>> print(run.explain())
        where(col.x > 9)   ...
        │  measured: 1,000 rows in, 990 out, ... ns a row in
        └─ log(at, x, 1,000 rows)
              measured: 1,000 rows in, 1,000 out, ... ns a row in
        """
        return self._shown.answer.explain()

    def kernels(self) -> dict[str, str]:
        """The generated source code of each operator, by its name in ``explain()``.

        Operators without rows so far, and those that need no code, are left out.
        """
        return self._shown.answer.kernels()

    def checkpoint(self, path: FilePath) -> None:
        """Write a checkpoint, from which :func:`whimbrel.restore` resumes.

        It is a folder of Arrow files, which appears when it is complete. Rows that are settled now are not part of
        it: together with the rows of the restored run they are the whole result. Queries that were started together
        share a checkpoint. A query that was stopped stays stopped.

        Parameters
        ----------
        path : str or path
            A folder. An existing checkpoint is replaced.

        Raises
        ------
        CheckpointError
            When the folder holds something else, or the run has failed.
        """
        self._loop.checkpoint(path)

    @property
    def checkpoint_error(self) -> WhimbrelError | None:
        """Error of the last periodic checkpoint, such as a full disk.

        The run tries again.
        """
        return None if self._loop.coordinator is None else self._loop.coordinator.failed

    @property
    def skipped_checkpoints(self) -> tuple[str, ...]:
        """Names of damaged checkpoints that the run skipped when it started."""
        return () if self._loop.coordinator is None else tuple(self._loop.coordinator.skipped)

    def pause(self) -> None:
        """Pause reading, for all queries that were started together."""
        self._loop.pause(self._shown)

    def resume(self) -> None:
        """Resume reading, for all queries that were started together."""
        self._loop.resume(self._shown)

    def stop(self, *, keep: bool = True, drain: bool = False) -> None:
        """Stop the query, and `keep` its settled rows or drop them.

        The query cannot resume. Queries that were started together continue.

        It does not wait: when the process ends at once, the last rows reach no sink. With `drain`, all queries that
        were started together stop gracefully. Feeds receive no more, received rows are processed, and sinks and the
        last checkpoint are written before it returns. The end of a ``with`` block does the same.

        Raises
        ------
        WhimbrelError
            What ended it, when it failed: by `drain`, by the end of a ``with`` block, and by :meth:`wait`.

        Examples
        --------
        >>> import whimbrel as wb
        >>> feed = wb.feeds.synthetic(rate=100, rows=500, speed=float("inf"))
        >>> with feed.tumbling_window("1s").aggregate(n=wb.count()).start() as run:
        ...     run.wait()
        True
        """
        if drain:
            self._shown.keep = keep
            self._loop.drain()
            self.wait()
        else:
            self._loop.stop(self._shown, keep=keep)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        try:
            self.stop(drain=True)
        except WhimbrelError as failed:
            if failed is not error:
                raise

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the query.

        False if it did not come in time.

        Raises
        ------
        WhimbrelError
            What ended it, when it failed.
        """
        ended = self._shown.ended.wait(timeout)
        if ended and self.error is not None:
            raise self.error
        return ended

    def __repr__(self) -> str:
        last_error = self.metrics.sink_error if self.state == "running" else ""
        if last_error:
            return f"<Run {self.state}; its sink waits: {last_error}>"
        return f"<Run {self.state}>" if self.error is None else f"<Run {self.state}: {self.error.what}>"
