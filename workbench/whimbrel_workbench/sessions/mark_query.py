"""The query whose events are drawn over a signal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from whimbrel.run import Run
from whimbrel.stream import Stream
from whimbrel_workbench.frames import ColumnRoles, Result, Status
from whimbrel_workbench.frames.events import LineageEvents
from whimbrel_workbench.frames.mark import Mark, row_of
from whimbrel_workbench.sessions.lineage import source_events
from whimbrel_workbench.sessions.run_status import failure_of

LAYER: Final = "marks"


@dataclass(slots=True)
class MarkQuery:
    """A query that runs together with that of a view.

    Parameters
    ----------
    query : Stream, optional
        None: nothing is drawn over the result.

    Attributes
    ----------
    run : Run or None
    result : Result or None
        Its events, as they were read last.
    """

    query: Stream | None
    run: Run | None = None
    result: Result | None = None
    _version: int = -1

    @property
    def queries(self) -> tuple[Stream, ...]:
        """What is started together with the query of the view."""
        return () if self.query is None else (self.query,)

    def follow(self, runs: Sequence[object]) -> None:
        """Take the runs of :attr:`queries`."""
        self.run = next((run for run in runs if isinstance(run, Run)), None)
        self.result, self._version = None, -1

    @property
    def changed(self) -> bool:
        """Whether there are events that were not read yet."""
        return self.run is not None and self.run.version != self._version

    def read(self, current: Callable[[Run], Result]) -> Result | None:
        """The events, read again if they changed."""
        if self.run is not None and self.changed:
            self._version = self.run.version
            self.result = current(self.run)
        return self.result

    def stop(self, *, keep: bool) -> None:
        """End its run."""
        if self.run is not None and self.run.state in ("running", "paused"):
            self.run.stop(keep=keep)

    def with_failure(self, status: Status) -> Status:
        """The status of the view, with the error of this query."""
        error = self.run.error if self.run is not None and self.run.state == "failed" else None
        return status if error is None or status.failure is not None else replace(status, failure=failure_of(error))

    def row_of(self, mark: Mark) -> pa.Table | None:
        """The row of a mark that belongs to this query, if it is still there."""
        place = None if self.result is None else row_of(self.result, ColumnRoles((), None, ()), mark)
        if self.result is None or place is None:
            return None
        return self.result.table.slice(place, 1).replace_schema_metadata({"query": LAYER})

    def lineage(self, row: pa.Table) -> LineageEvents | None:
        """The source events of a row that :meth:`row_of` found; None for rows of the view's own query."""
        if self.query is None or self.run is None or (row.schema.metadata or {}).get(b"query") != LAYER.encode():
            return None
        return source_events(self.query, self.run, row)
