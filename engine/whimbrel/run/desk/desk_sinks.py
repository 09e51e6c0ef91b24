"""Sinks of the queries of a desk."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from whimbrel.batch import Batch, table_from_batches, table_schema
from whimbrel.errors import SinkError, WhimbrelError
from whimbrel.plan import Sink
from whimbrel.run.desk.desk_query import DeskQuery, SavedSink
from whimbrel.run.desk.sharing.shared_query import SharedQuery
from whimbrel.run.query_result import in_order

_EVERY_S = 1.0


class DeskSinks:
    """Hands settled rows of queries to their sinks. The error of a sink ends its own query.

    Parameters
    ----------
    fail : callable
        Called with a query and the error of its sink.
    """

    def __init__(self, fail: Callable[[DeskQuery, WhimbrelError], None]) -> None:
        self._fail = fail
        self._sinks: dict[str, tuple[DeskQuery, Sink]] = {}
        self._names: dict[int | SharedQuery, list[str]] = {}
        self._stopped = threading.Event()
        self._due = 0.0

    def __len__(self) -> int:
        return len(self._sinks)

    def open(self, query: DeskQuery, sink: Sink, saved: SavedSink, *, checkpointed: bool) -> None:
        """Open the sink of a query after the rows that the query has given already."""
        sink.run, sink.checkpointed, sink.stopped = saved.run, checkpointed, self._stopped
        sink.open(table_schema(query.answer.schema), query.rows, saved.token)
        self._sinks[query.name] = query, sink
        query.sink, query.saved_sink = sink, saved
        if query.status not in ("running", "finished"):
            return
        self._names.setdefault(query.answered_by, []).append(query.name)
        if query.shared is not None and query.shared.for_sinks is None:
            query.shared.for_sinks = []

    @property
    def shared(self) -> list[DeskQuery]:
        """Running queries that take part in a shared aggregate, one of those that are equal."""
        running = ((of, self._sinks[name][0]) for of, names in self._names.items() if not isinstance(of, int)
                   for name in names if self._sinks[name][0].status == "running")
        return list(dict(running).values())

    def take(self, of: int | SharedQuery, batches: list[Batch]) -> None:
        """Settled rows of a plan, by its number, or of a query that takes part in a shared aggregate."""
        for name in list(self._names.get(of, ())):
            query, _ = self._sinks[name]
            if query.status == "running":
                with self._each(name) as sink:
                    for rows in in_order(table_from_batches(query.answer.schema, batches)).to_batches():
                        sink.write(rows)

    @contextmanager
    def _each(self, name: str) -> Iterator[Sink]:
        query, sink = self._sinks[name]
        try:
            yield sink
        except Exception as error:  # noqa: BLE001 - anybody may write a sink
            failure = error if isinstance(error, WhimbrelError) else SinkError(
                f"Cannot write to {sink.name}: {type(error).__name__}: {error}", where=f"desk[{name!r}]",
                hint="Fix the sink, remove the query and add it again.")
            self._close(name)
            self._fail(query, failure)

    @property
    def ready(self) -> bool:
        """Whether no sink waits for its server."""
        waits = []
        for name in list(self._sinks):
            with self._each(name) as sink:
                waits.append(not sink.ready())
        return not any(waits)

    def prepare(self) -> dict[str, SavedSink]:
        """Make all rows durable; commit tokens by query."""
        prepared = {}
        for name in list(self._sinks):
            with self._each(name) as sink:
                query = self._sinks[name][0]
                query.saved_sink = prepared[name] = SavedSink(sink.run, sink.prepare())
        return prepared

    def commit(self, prepared: dict[str, SavedSink]) -> None:
        """Show prepared rows to readers."""
        for name, saved in prepared.items():
            if name in self._sinks:
                with self._each(name) as sink:
                    sink.commit(saved.token)

    def commit_when_due(self) -> None:
        """Commit about every second, on a desk without checkpoints."""
        if self._sinks and time.monotonic() >= self._due and self.ready:
            self._due = time.monotonic() + _EVERY_S
            self.commit(self.prepare())

    def remove(self, name: str) -> None:
        """Commit the rows of a query and let go of its sink."""
        if name in self._sinks:
            with self._each(name) as sink:
                sink.commit(sink.prepare())
            self._close(name)

    def end(self, query: DeskQuery) -> None:
        """Hand on no more rows of a query. Those that its sink has are still committed."""
        names = self._names.get(query.answered_by, [])
        if query.name in names:
            names.remove(query.name)
            if not names:
                del self._names[query.answered_by]
                if query.shared is not None:
                    query.shared.for_sinks = None

    def _close(self, name: str) -> None:
        found = self._sinks.pop(name, None)
        if found is not None:
            query, sink = found
            self.end(query)
            with suppress(Exception):
                sink.close()

    def stop(self) -> None:
        """Wait for no server any more."""
        self._stopped.set()

    def close(self) -> None:
        """Let go of all sinks. Rows that were not prepared are lost."""
        for name in list(self._sinks):
            self._close(name)


def new_run() -> str:
    """An id under which the sink of a new query writes."""
    return secrets.token_hex(8)
