"""What becomes of the rows of a PostgreSQL table, as its log of changes tells."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Unpack

import pyarrow as pa

from whimbrel.clock import Duration
from whimbrel.connect.addresses import LIBPQ_TIMEOUTS, checked_conninfo
from whimbrel.connect.feeds.formats.python_records import Records
from whimbrel.connect.feeds.postgres.pgoutput import Change, Relation, Truncation, changes
from whimbrel.connect.feeds.postgres.postgres_feed import UNTOLD_TIME, columns_of, plain
from whimbrel.connect.feeds.runtime.client import MAX_BYTES, Client, MessageBatch, Offset
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.feeds.runtime.row_validation import Fields
from whimbrel.connect.validation import check_name, checked_seconds
from whimbrel.errors import MissingExtraError, PlanError, SourceError, near_match

_MAX_ROWS = 10_000
_STEP_BYTES = 16 << 20
"""So much of the log is asked for at once, or may pass without a change before the server is told that it was read."""
_LOOK_S = 5.0
_ADVANCE = "SELECT pg_replication_slot_advance(%s, %s::pg_lsn)"
_UNTOLD = "an update that does not tell a long value which it left alone: it needs REPLICA IDENTITY FULL"
_UNTIMED = "a deletion that does not tell {!r}, which is not of the key: it needs REPLICA IDENTITY FULL"
_TRUNCATED = "TRUNCATE, which does not say what rows are gone"
_METADATA = {"change": pa.string(), "committed": pa.timestamp("us", "UTC"), "lsn": pa.int64()}


class PostgresChangesFeed(Feed):
    """Rows that are inserted, updated and deleted, by transactions in the order of their commits.

    Needs ``whimbrel[postgres]``, a server with ``wal_level = logical`` and a user who may replicate. A publication of
    the table and a replication slot are made when they are not there; changes from then on are told. The server keeps
    its log until it hears that changes are safe: when they are in a checkpoint, or, for a run that writes none, when
    they were taken in. A slot that is not read any more fills the server's disk: end it with
    ``SELECT pg_drop_replication_slot('whimbrel')``.

    The server does not tell long values (TOAST, from 2 kB on) that an update left alone, unless the table's replica
    identity is full: such an update is a dead letter. Say ``ALTER TABLE ... REPLICA IDENTITY FULL``, or give a `schema`
    without these columns. A partitioned table is told as one, by a publication with ``publish_via_partition_root``.
    A publication does not tell of another table that has the name later, unless it is of all: the query ends with an
    error, then. So it does when a column of the schema is renamed or dropped; one that is added is not read. A
    ``TRUNCATE`` is a dead letter: it does not say what rows are gone.

    Parameters
    ----------
    table : str
        ``"name"`` or ``"schema.name"``.
    url : str
        ``postgresql://user:password@host/database``. The password is in no plan, log or checkpoint.
    time : str
        The event-time column: of the table, or ``"committed"``. A deletion knows the columns of the key only, unless
        the table's replica identity is full.
    slot, publication : str
        Each feed that is read at the same time needs a slot of its own. Default of `publication`: the slot's name.
    metadata_columns : sequence of {"change", "committed", "lsn"}
        Columns to add to the table's: "insert", "update" or "delete"; when its transaction was committed; and the place
        in the server's log.
    every : str, timedelta or float (seconds)
        Seconds between two looks while there is nothing new.
    schema : pyarrow.Schema or mapping of str to type, optional
        Default: all columns of the table whose types are known, but for generated ones: the log does not tell them.
    **feed_options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.
    """

    forgets = True

    def __init__(self, table: str, url: str, *, time: str, slot: str = "whimbrel", publication: str | None = None,
                 metadata_columns: Sequence[str] = ("change", "committed"), every: float | Duration = 0.1,
                 schema: Fields | None = None, **options: Unpack[FeedOptions]) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("psycopg", "postgres", "feeds.postgres_cdc()") from None
        for name in metadata_columns:
            if name not in _METADATA:
                raise PlanError(f"metadata_columns must name metadata of changes, got {name!r}.",
                                where=f"feeds.postgres_cdc({table!r})", hint=near_match(name, list(_METADATA)))
        where = f"feeds.postgres_cdc({table!r})"
        check_name("table", table, where=where)
        every_s = checked_seconds("every", every, where=where)
        self.library: Any = psycopg
        self.lost = (OSError, EOFError, TimeoutError, psycopg.OperationalError)
        self.table, self.url, self.every = table.split("."), checked_conninfo(url), every_s
        self.slot, self.publication = slot, publication or slot
        options.setdefault("name", table)
        super().__init__("postgres_cdc", time=time, format=Records(),
                         schema=self._columns() if schema is None else schema,
                         metadata_columns=pa.schema([(name, _METADATA[name]) for name in metadata_columns]), **options)
        self.read_columns = frozenset(self.value_fields.names)

    def open(self) -> Any:
        """A connection in which each statement is a transaction, and times are told in UTC."""
        return self.library.connect(self.url, autocommit=True, options="-c TimeZone=UTC", **LIBPQ_TIMEOUTS)

    def _columns(self) -> pa.Schema:
        """Those of the table that the log tells."""
        from psycopg import sql

        known = columns_of(self.open, self.table)
        with self.open() as link:
            generated = link.execute("SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass"
                                     " AND attgenerated <> ''", (sql.Identifier(*self.table).as_string(link),))
            untold = {name for name, in generated}
        return pa.schema([field for field in known if field.name not in untold])

    def connect(self, offset: Offset) -> Client:
        return _Changes(self, offset)


class _Changes(Client):
    """Its place: behind the last transaction that was read, in the server's log.

    It reads a copy of the slot, which the server forgets with the connection; the slot itself stays behind, at what is
    safe.
    """

    def __init__(self, feed: PostgresChangesFeed, offset: int | None) -> None:
        from psycopg.adapt import Transformer

        self._feed, self._wait_s = feed, 0.0
        self._span, self._bytes = _STEP_BYTES, 0
        self._coming: Iterator[MessageBatch] = iter(())
        self._look_at = clock.monotonic() + _LOOK_S
        self._gone_at: int | None = None
        self._known: Relation | None = None
        self._link = feed.open()
        try:
            safe = self._prepare(offset)
            self._copy = f"{feed.slot}_{self._link.info.backend_pid}"
            self._ask("SELECT pg_copy_logical_replication_slot(%s, %s, true)", feed.slot, self._copy)
            self._offset = safe if offset is None else offset
            if self._offset > safe:
                self._ask(_ADVANCE, self._copy, _lsn(self._offset))
        except BaseException:
            self._link.close()
            raise
        self._safe = self._taken = safe
        self._types = Transformer(self._link)

    def _ask(self, query: str, *values: Any) -> list[Any]:
        return self._link.execute(query, values, binary=True).fetchall()  # as text, bytes take twice the room

    def _prepare(self, offset: int | None) -> int:
        """Have a publication and a slot, one feed after the other; how far the slot is."""
        self._link.execute("SELECT pg_advisory_lock(hashtext('whimbrel'))")
        try:
            return self._prepared(offset)
        finally:
            self._link.execute("SELECT pg_advisory_unlock(hashtext('whimbrel'))")

    def _prepared(self, offset: int | None) -> int:
        feed = self._feed
        safe = self._read_to(feed.slot)
        if offset is not None and (safe is None or safe > offset):
            state = "was dropped" if safe is None else "is past the checkpoint"
            raise SourceError(f"The replication slot {feed.slot!r} {state}, so changes are missing.", where=feed.call,
                              hint="Start again with a new checkpoint folder.")
        self._publish()
        if safe is None:
            self._ask("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", feed.slot)
            safe = self._read_to(feed.slot)
            assert safe is not None
        return safe

    def _publish(self) -> None:
        """Have a publication that tells of the table, by its own name."""
        from psycopg import sql

        feed, name = self._feed, sql.Identifier(self._feed.publication)
        if not self._ask("SELECT 1 FROM pg_publication WHERE pubname = %s", feed.publication):
            self._link.execute(sql.SQL("CREATE PUBLICATION {} FOR TABLE {} WITH (publish_via_partition_root = true)"
                                       ).format(name, sql.Identifier(*feed.table)))
        if not self._tells():
            raise self._not_published(".", "for a partitioned table, ... SET (publish_via_partition_root = true)")

    def _tells(self) -> bool:
        """Whether the publication tells of a table of this name."""
        tables = self._ask("SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s",
                         self._feed.publication)
        return any(self._is_of(each) for each in tables)

    def _is_of(self, name: Sequence[str]) -> bool:
        """Whether a table's name, in parts, is that of this feed."""
        return tuple(name[-len(self._feed.table):]) == tuple(self._feed.table)

    def _not_published(self, why: str, hint: str) -> SourceError:
        from psycopg import sql

        feed = self._feed
        name, table = (sql.Identifier(*each).as_string(self._link) for each in ([feed.publication], feed.table))
        return SourceError(f"The publication {feed.publication!r} does not contain {'.'.join(feed.table)!r}{why}",
                           where=feed.call, hint=f"Run ALTER PUBLICATION {name} ADD TABLE {table}; {hint}.")

    def _look(self) -> None:
        """Look from time to time whether the table is told of still: what was told before is read to its end first."""
        if self._gone_at is None and clock.monotonic() >= self._look_at:
            self._look_at = clock.monotonic() + _LOOK_S
            if not self._tells():
                self._gone_at = self._ask("SELECT (pg_current_wal_lsn() - '0/0')::int8")[0][0]
        elif self._gone_at is not None and self._read_on() >= self._gone_at:
            raise self._not_published(" any more: it was renamed, dropped or recreated, so changes are missing.",
                                      "if it was renamed, use its new name")

    def receive(self, timeout_s: float) -> MessageBatch | None:
        if self._wait_s > 0:
            clock.sleep(min(self._wait_s, timeout_s))
            self._wait_s -= timeout_s
            return None
        came = next(self._coming, None)
        if came is None:
            self._pass_on()
            self._look()
            self._coming = self._deliveries()
            came = next(self._coming, None)
        return self._moved_on() if came is None else came

    def _moved_on(self) -> MessageBatch | None:
        """The place behind what the log has of others."""
        passed = self._read_on() - self._offset
        at_end = passed < self._span
        self._wait_s = self._feed.every if at_end else 0.0
        self._span = _STEP_BYTES if at_end else 2 * self._span  # what a long transaction begins with is read each time
        if passed < _STEP_BYTES:
            return None
        self._offset += passed
        return self._delivery([], {name: [] for name in _METADATA})

    def _read_to(self, slot: str) -> int | None:
        """How far a slot has read the server's log; None where there is no such slot."""
        found = self._ask("SELECT confirmed_flush_lsn - '0/0'::pg_lsn FROM pg_replication_slots WHERE slot_name = %s",
                          slot)
        return int(found[0][0]) if found else None

    def _read_on(self) -> int:
        """How far its own copy of the slot has read."""
        return self._read_to(self._copy) or self._offset

    def _deliveries(self) -> Iterator[MessageBatch]:
        """What the log tells further on, in whole transactions: together, until they are many or long."""
        self._bytes = 0
        rows: list[dict[str, Any]] = []
        metadata_columns: dict[str, list[Any]] = {name: [] for name in _METADATA}
        found = False
        for each in changes(self._messages()):
            if isinstance(each, Change):
                try:
                    row = self._row_of(each)
                except SourceError:
                    if found:  # what was told before comes first
                        whole = len(metadata_columns["lsn"])
                        yield self._delivery(rows[:whole], {name: values[:whole] for name,
                                                            values in metadata_columns.items()})
                    raise
                if row is not None:
                    rows.append(row)
                    metadata_columns["change"].append(each.kind)
                continue
            if isinstance(each, Truncation):
                if any(self._is_of(relation.name) for relation in each.relations):
                    self._feed.dead_letters.refuse(b"TRUNCATE", _TRUNCATED)
                continue
            for name, value in (("committed", each.committed_us), ("lsn", each.end)):
                metadata_columns[name] += [value] * (len(rows) - len(metadata_columns[name]))
            self._offset, self._span, found = each.end, _STEP_BYTES, True
            if self._bytes >= MAX_BYTES or len(rows) >= _MAX_ROWS:
                yield self._delivery(rows, metadata_columns)
                rows, metadata_columns, found = [], {name: [] for name in _METADATA}, False
        if found:
            yield self._delivery(rows, metadata_columns)

    def _delivery(self, rows: list[dict[str, Any]], metadata_columns: dict[str, list[Any]]) -> MessageBatch:
        bytes_, self._bytes = self._bytes, 0
        return MessageBatch(rows, self._offset,
                            {field.name: metadata_columns[field.name] for field in self._feed.metadata_columns}, bytes_)

    def _messages(self) -> Iterator[bytes]:
        """What the log tells further on, as it comes: however much that is, little of it is here at once."""
        values = (self._copy, _lsn(self._offset + self._span), self._feed.publication)
        for data, in self._link.cursor().stream(
                "SELECT data FROM pg_logical_slot_get_binary_changes(%s, %s::pg_lsn, NULL, 'proto_version', '1',"
                " 'publication_names', %s)", values, binary=True):
            self._bytes += len(data)
            yield data

    def _row_of(self, change: Change) -> dict[str, Any] | None:
        """A row of the table; None of others, and of letters."""
        if not self._is_of(change.relation.name):
            return None
        self._check(change.relation)
        time = self._feed.time
        if change.kind == "delete" and time in self._feed.read_columns and change.values.get(time) is None:
            self._feed.dead_letters.refuse(repr(change.values).encode(), _UNTIMED.format(time))
            return None
        if self._feed.read_columns.isdisjoint(change.untold):
            try:
                return self._row(change)
            except self._feed.library.DataError:  # the driver's word for times that Python does not have
                self._feed.dead_letters.refuse(repr(change.values).encode(), UNTOLD_TIME)
        else:
            self._feed.dead_letters.refuse(repr(change.values).encode(), _UNTOLD)
        return None

    def _check(self, relation: Relation) -> None:
        """Fail if the table has not all columns any more: they would be null without a word."""
        if relation is self._known:
            return
        names = {name for name, _ in relation.columns}
        if lost := [name for name in self._feed.value_fields.names if name not in names]:
            raise SourceError(f"Changes of {'.'.join(self._feed.table)!r} lack the column {lost[0]!r}: it was renamed "
                              "or dropped, or is not published.", where=self._feed.call,
                              hint=f"Use schema= with published columns ({', '.join(sorted(names))}), or create the "
                                   "feed again.")
        self._known = relation

    def _row(self, change: Change) -> dict[str, Any]:
        """Values as the database's driver reads them."""
        fields, row = self._feed.value_fields, {}
        for name, type_ in change.relation.columns:
            text = change.values.get(name)
            if name in fields.names and text is not None:
                value = self._types.get_loader(type_, self._feed.library.pq.Format.TEXT).load(text)
                row[name] = plain(value, fields.field(name).type)
        return row

    def acknowledge(self, offset: Offset) -> None:
        """Passed on when all that was asked for has come: until then the connection is taken."""
        self._taken = max(self._taken, offset or 0)

    def _pass_on(self) -> None:
        if self._taken > self._safe:
            self._ask(_ADVANCE, self._feed.slot, _lsn(self._taken))
            self._safe = self._taken

    def close(self) -> None:
        self._link.close()
        if self._taken > self._safe:
            with suppress(OSError, self._feed.library.Error), self._feed.open() as link:
                link.execute(_ADVANCE, (self._feed.slot, _lsn(self._taken)))


def _lsn(offset: int) -> str:
    """A place as PostgreSQL writes it.

    >>> _lsn(0x16_0000_2A90)
    '16/2A90'
    """
    return f"{offset >> 32:X}/{offset & 0xFFFFFFFF:X}"
