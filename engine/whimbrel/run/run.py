"""Queries running on a thread of their own, and the handles to them."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from whimbrel.connect import ReplayClock
from whimbrel.errors import PlanError, WhimbrelError
from whimbrel.plan import Node, Sink
from whimbrel.run.checkpoint import load
from whimbrel.run.checkpoint_coordinator import Checkpoints, Keeping
from whimbrel.run.execution import Execution
from whimbrel.run.lineage import Lineage, Read, lineage
from whimbrel.run.metrics import Metrics, Snapshot
from whimbrel.run.run_loop import FilePath, Loop, QueryHandle, State


def start(*plans: Node, keep_rows: int = 1_000_000, restore: FilePath | None = None,
          sinks: Sequence[Sink | None] = (), checkpoints: Checkpoints | None = None) -> tuple[Run, ...]:
    """Let queries run on one thread of their own, in one reading of their sources.

    Parameters
    ----------
    *plans : Node
    keep_rows : int
        Settled result rows of each to keep; older ones are forgotten, and counted.
    restore : path, optional
        A checkpoint to go on from.
    sinks : sequence of Sink or None
        Where settled rows go, one for each plan.
    checkpoints : Checkpoints, optional
        Where it is written down from time to time, and goes on from.
    """
    for sink in sinks:
        if not isinstance(sink, Sink | None):
            raise PlanError(f"sink must be a sink, got {type(sink).__name__}.", where="start(sink=...)",
                            hint='Use sink=wb.sinks.parquet("folder").')
    if not isinstance(checkpoints, Checkpoints | None):
        raise PlanError(f"checkpoints must be wb.Checkpoints(...), got {type(checkpoints).__name__}.",
                        where="start(checkpoints=...)", hint='Use checkpoints=wb.Checkpoints("folder").')
    keeping = None
    if checkpoints is None and not any(sinks):
        session = Execution(*plans, keep_rows=keep_rows, rewindable=True)
        if restore is not None:
            load(session, restore)
    else:
        keeping = Keeping([*sinks, *[None] * (len(plans) - len(sinks))], checkpoints)
        session = keeping.open(lambda: Execution(*plans, keep_rows=keep_rows))
    loop = Loop(session, keeping)
    runs = tuple(Run(loop, shown) for shown in loop.shown)
    loop.begin()
    return runs


class Run:
    """A handle on a running query. Letting go of it stops the query.

    Queries that were started together are read together: pausing, resuming and checkpoints are of all of them. One that
    fails leaves the others going; a source that cannot be read on ends all.

    Attributes
    ----------
    state : {"running", "paused", "finished", "stopped", "failed"}
    error : WhimbrelError or None
        What ended it, when it failed.
    """

    def __init__(self, loop: Loop, shown: QueryHandle) -> None:
        self._loop = loop
        self._shown = shown
        self._end = weakref.finalize(self, loop.stop, shown, keep=False)

    @property
    def state(self) -> State:
        return self._shown.state

    @property
    def error(self) -> WhimbrelError | None:
        return self._shown.error

    @property
    def clock(self) -> ReplayClock | None:
        """The clock of the replays that are read, to pause, step, hurry or set it; None where nothing is replayed."""
        return self._loop.session.clock

    @property
    def version(self) -> int:
        """Grows whenever there is something new to show."""
        return self._shown.answer.version

    @property
    def metrics(self) -> Metrics:
        """Counters, at most 50 ms old while it runs; costs nothing to ask.

        Where the clock of replays is paused, they are those of now when ``run.clock.wait()`` says that all was read.
        """
        return self._loop.metrics(self._shown)

    def snapshot(self, timeout: float = 1.0, *, after: int | None = None) -> Snapshot:
        """The answer now, computed by the run's own thread between two steps; after `timeout` seconds the last one.

        However often it is asked, looking takes no more than a quarter of the thread's time, for all queries that were
        started together.

        Parameters
        ----------
        timeout : float
            Seconds to wait at most.
        after : int, optional
            Wait for something newer than this version; it is answered right behind the step that brought it.
        """
        return self._loop.snapshot(self._shown, timeout, after)

    def lineage(self, row: Mapping[str, Any] | None = None, /, *, limit: int = 1000, **columns: Any) -> Lineage:
        """The events behind a row of the answer, among those that were read so far. See :meth:`whimbrel.Stream.behind`.

        The sources are read once more, by the calling thread; the run goes on.

        Raises
        ------
        SourceError
            When a source is a feed whose rows are gone.
        """
        plan = self._loop.session.plans[self._shown.number]
        return lineage(plan, {**(row or {}), **columns}, limit=limit, read=self.read)

    @property
    def read(self) -> Read:
        """What was read of each source so far, for :func:`whimbrel.run.behind`."""
        return self._loop.session.reader.read

    def kernels(self) -> dict[str, str]:
        """The source text that is generated for each operator, by its name as in ``explain()``.

        Operators that have seen no rows yet, and those that need no text of their own, are left out.
        """
        return self._shown.answer.kernels()

    def checkpoint(self, path: FilePath) -> None:
        """Write down what is needed to go on later, with :func:`whimbrel.restore`.

        Arrow files in a folder, which appears when it is complete. What is settled by now is not part of it: those
        rows and the ones that the restored run gives make the whole answer. Queries that were started together are
        written down together; one that was stopped before the others stays so.

        Parameters
        ----------
        path : str or path
            A folder; a checkpoint that is there is replaced.

        Raises
        ------
        CheckpointError
            When something else is there, or the run has failed.
        """
        self._loop.checkpoint(path)

    @property
    def checkpoint_error(self) -> WhimbrelError | None:
        """Why the last of its own checkpoints could not be written, such as a full disk; it tries again."""
        return None if self._loop.keeping is None else self._loop.keeping.failed

    @property
    def skipped_checkpoints(self) -> tuple[str, ...]:
        """Names of checkpoints that were damaged, and passed over for an older one when it started."""
        return () if self._loop.keeping is None else tuple(self._loop.keeping.skipped)

    def pause(self) -> None:
        """Stop reading; the sources wait, and so do the queries that were started together with this one."""
        self._loop.pause(self._shown)

    def resume(self) -> None:
        """Read on, for all queries that were started together."""
        self._loop.resume(self._shown)

    def stop(self, *, keep: bool = True, drain: bool = False) -> None:
        """Stop for good. `keep` what is settled, or drop it. Queries that were started together go on without it.

        It does not wait, so a process that ends at once leaves its last rows in no sink. With `drain` it stops
        gracefully, and with it all queries that were started together: feeds receive no more, what they had received is
        worked on, sinks and the last checkpoint are written; then it returns. So does the end of a ``with`` block.

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
        """Wait for the end; False if it did not come in time.

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
