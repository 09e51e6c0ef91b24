"""Change data capture (CDC) of PostgreSQL tables by logical replication."""

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
from whimbrel.connect.feeds.postgres.postgres_feed import TIME_OUT_OF_RANGE, columns_of, plain
from whimbrel.connect.feeds.runtime.client import MAX_BYTES, Client, MessageBatch, Offset
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.feeds.runtime.row_validation import Fields
from whimbrel.connect.validation import check_name, checked_seconds
from whimbrel.errors import MissingExtraError, PlanError, SourceError, near_match

_MAX_ROWS = 10_000
_STEP_BYTES = 16 << 20
"""Bytes of the log per request, and without a change before the slot is advanced."""
_LOOK_S = 5.0
_ADVANCE = "SELECT pg_replication_slot_advance(%s, %s::pg_lsn)"
_UNCHANGED_VALUE = "an update without the long values that did not change; set REPLICA IDENTITY FULL"
_DELETE_WITHOUT_TIME = "a deletion without the column {!r}, which is not in the key; set REPLICA IDENTITY FULL"
_TRUNCATED = "TRUNCATE, which does not list the rows that it deletes"
_METADATA = {"change": pa.string(), "committed": pa.timestamp("us", "UTC"), "lsn": pa.int64()}


class PostgresCdcFeed(Feed):
    """Feed of a PostgreSQL table's changes (change data capture).

    Inserted, updated and deleted rows come by transaction, in commit order.

    Needs ``whimbrel[postgres]``, a server with ``wal_level = logical`` and a user with the right to replicate. The feed
    creates a publication of the table and a replication slot if they do not exist, and reads changes from then on. The
    server retains its log until changes are acknowledged: when a checkpoint contains them, or, in a run without
    checkpoints, when the query reads the next rows. An unused slot fills the disk of the server. Drop it with
    ``SELECT pg_drop_replication_slot('whimbrel')``.

    The server omits long values (TOAST, from 2 kB on) that an update did not change, unless the replica identity of the
    table is full. Such an update becomes a dead letter. Use ``ALTER TABLE ... REPLICA IDENTITY FULL``, or a `schema`
    without these columns. A ``TRUNCATE`` becomes a dead letter as well, because it does not name the removed rows.

    A partitioned table is read as one, by a publication with ``publish_via_partition_root``. The query fails if the
    table is replaced by another one of its name, unless the publication is for all tables. It also fails if a column of
    the schema is renamed or dropped. New columns are not read.

    Parameters
    ----------
    table : str
        ``"name"`` or ``"schema.name"``.
    url : str
        ``postgresql://user:password@host/database``. The password is in no plan, log or checkpoint.
    time : str
        The event-time column: of the table, or ``"committed"``. A delete has only the key columns, unless the replica
        identity of the table is full.
    slot, publication : str
        Each running feed needs its own slot. Default of `publication`: the name of the slot.
    metadata_columns : sequence of {"change", "committed", "lsn"}
        Metadata columns to add: "insert", "update" or "delete"; the commit time; and the position in the log.
    every : str, timedelta or float (seconds)
        Time between two polls while there is nothing new.
    schema : pyarrow.Schema or mapping of str to type, optional
        Default: all columns of the table with known types, except generated ones, which the log omits.
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
        """Connect with autocommit and the time zone UTC."""
        return self.library.connect(self.url, autocommit=True, options="-c TimeZone=UTC", **LIBPQ_TIMEOUTS)

    def _columns(self) -> pa.Schema:
        """Columns of the table that the log contains."""
        from psycopg import sql

        known = columns_of(self.open, self.table)
        with self.open() as link:
            generated = link.execute("SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass"
                                     " AND attgenerated <> ''", (sql.Identifier(*self.table).as_string(link),))
            unpublished = {name for name, in generated}
        return pa.schema([field for field in known if field.name not in unpublished])

    def connect(self, offset: Offset) -> Client:
        return _Changes(self, offset)


class _Changes(Client):
    """A connection that reads a temporary copy of the slot.

    Its offset is the log position after the last transaction that was read. The slot itself stays at the acknowledged
    position.
    """

    def __init__(self, feed: PostgresCdcFeed, offset: int | None) -> None:
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
        return self._link.execute(query, values, binary=True).fetchall()  # as text, bytes take twice the memory

    def _prepare(self, offset: int | None) -> int:
        """Create the publication and the slot under a lock; return the position of the slot."""
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
        """Create the publication if it does not exist, and check that it contains the table."""
        from psycopg import sql

        feed, name = self._feed, sql.Identifier(self._feed.publication)
        if not self._ask("SELECT 1 FROM pg_publication WHERE pubname = %s", feed.publication):
            self._link.execute(sql.SQL("CREATE PUBLICATION {} FOR TABLE {} WITH (publish_via_partition_root = true)"
                                       ).format(name, sql.Identifier(*feed.table)))
        if not self._tells():
            raise self._not_published(".", "for a partitioned table, ... SET (publish_via_partition_root = true)")

    def _tells(self) -> bool:
        """Whether the publication contains a table of this name."""
        tables = self._ask("SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s",
                         self._feed.publication)
        return any(self._is_of(each) for each in tables)

    def _is_of(self, name: Sequence[str]) -> bool:
        """Whether a name, in parts, is that of the table."""
        return tuple(name[-len(self._feed.table):]) == tuple(self._feed.table)

    def _not_published(self, why: str, hint: str) -> SourceError:
        from psycopg import sql

        feed = self._feed
        name, table = (sql.Identifier(*each).as_string(self._link) for each in ([feed.publication], feed.table))
        return SourceError(f"The publication {feed.publication!r} does not contain {'.'.join(feed.table)!r}{why}",
                           where=feed.call, hint=f"Run ALTER PUBLICATION {name} ADD TABLE {table}; {hint}.")

    def _look(self) -> None:
        """Check from time to time that the table is still published; earlier changes are read first."""
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
        """Advance the offset past changes of other tables."""
        passed = self._read_on() - self._offset
        at_end = passed < self._span
        self._wait_s = self._feed.every if at_end else 0.0
        self._span = _STEP_BYTES if at_end else 2 * self._span  # each request rereads the start of a long transaction
        if passed < _STEP_BYTES:
            return None
        self._offset += passed
        return self._delivery([], {name: [] for name in _METADATA})

    def _read_to(self, slot: str) -> int | None:
        """Log position of a slot; None if the slot does not exist."""
        found = self._ask("SELECT confirmed_flush_lsn - '0/0'::pg_lsn FROM pg_replication_slots WHERE slot_name = %s",
                          slot)
        return int(found[0][0]) if found else None

    def _read_on(self) -> int:
        """Log position of the copy of the slot."""
        return self._read_to(self._copy) or self._offset

    def _deliveries(self) -> Iterator[MessageBatch]:
        """Message batches of whole transactions, merged up to a limit of rows and bytes."""
        self._bytes = 0
        rows: list[dict[str, Any]] = []
        metadata_columns: dict[str, list[Any]] = {name: [] for name in _METADATA}
        found = False
        for each in changes(self._messages()):
            if isinstance(each, Change):
                try:
                    row = self._row_of(each)
                except SourceError:
                    if found:  # rows before the error come first
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
        """Messages of the log, streamed so that few are in memory at once."""
        values = (self._copy, _lsn(self._offset + self._span), self._feed.publication)
        for data, in self._link.cursor().stream(
                "SELECT data FROM pg_logical_slot_get_binary_changes(%s, %s::pg_lsn, NULL, 'proto_version', '1',"
                " 'publication_names', %s)", values, binary=True):
            self._bytes += len(data)
            yield data

    def _row_of(self, change: Change) -> dict[str, Any] | None:
        """The row of a change; None for other tables and for dead letters."""
        if not self._is_of(change.relation.name):
            return None
        self._check(change.relation)
        time = self._feed.time
        if change.kind == "delete" and time in self._feed.read_columns and change.values.get(time) is None:
            self._feed.dead_letters.refuse(repr(change.values).encode(), _DELETE_WITHOUT_TIME.format(time))
            return None
        if self._feed.read_columns.isdisjoint(change.unchanged):
            try:
                return self._row(change)
            except self._feed.library.DataError:  # psycopg raises it for times beyond Python's range
                self._feed.dead_letters.refuse(repr(change.values).encode(), TIME_OUT_OF_RANGE)
        else:
            self._feed.dead_letters.refuse(repr(change.values).encode(), _UNCHANGED_VALUE)
        return None

    def _check(self, relation: Relation) -> None:
        """Fail if the table has lost a column, which would be null otherwise."""
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
        """Values as psycopg loads them."""
        fields, row = self._feed.value_fields, {}
        for name, type_ in change.relation.columns:
            text = change.values.get(name)
            if name in fields.names and text is not None:
                value = self._types.get_loader(type_, self._feed.library.pq.Format.TEXT).load(text)
                row[name] = plain(value, fields.field(name).type)
        return row

    def acknowledge(self, offset: Offset) -> None:
        """Note the offset; the slot is advanced when the current request has ended."""
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
    """A log position as PostgreSQL writes it.

    >>> _lsn(0x16_0000_2A90)
    '16/2A90'
    """
    return f"{offset >> 32:X}/{offset & 0xFFFFFFFF:X}"
