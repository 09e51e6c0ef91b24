"""What becomes of the rows of a PostgreSQL table, as its log of changes tells."""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from typing import Any, Unpack

import pyarrow as pa

from whimbrel.connect.addresses import PATIENCE, checked_conninfo
from whimbrel.connect.arguments import check_name, check_seconds
from whimbrel.connect.feeds.client import Client, Delivery, Place, as_many
from whimbrel.connect.feeds.enforce import Fields
from whimbrel.connect.feeds.feed import Feed, Usual
from whimbrel.connect.feeds.pgoutput import Change, Transaction, transactions
from whimbrel.connect.feeds.postgres import UNTOLD_TIME, columns_of, plain
from whimbrel.connect.feeds.records import Records
from whimbrel.errors import MissingExtraError, PlanError, SourceError, near_match

_MOST_CHANGES = 10_000
_STEP_BYTES = 16 << 20
"""So much of the log may pass without a change of this table before the server is told that it was read."""
_UNTOLD = "an update that does not tell a long value which it left alone: it needs REPLICA IDENTITY FULL"
_BESIDE = {"change": pa.string(), "committed": pa.timestamp("us", "UTC"), "lsn": pa.int64()}


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
    beside : sequence of {"change", "committed", "lsn"}
        Columns to add to the table's: "insert", "update" or "delete"; when its transaction was committed; and the place
        in the server's log.
    every : float
        Seconds between two looks while there is nothing new.
    schema : pyarrow.Schema or mapping of str to type, optional
        Default: all columns of the table whose types are known.
    **told
        What every feed can be told. See :class:`whimbrel.connect.feeds.feed.Usual`.
    """

    def __init__(self, table: str, url: str, *, time: str, slot: str = "whimbrel", publication: str | None = None,
                 beside: Sequence[str] = ("change", "committed"), every: float = 0.1, schema: Fields | None = None,
                 **told: Unpack[Usual]) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("psycopg", "postgres", "feeds.postgres_changes()") from None
        for name in beside:
            if name not in _BESIDE:
                raise PlanError(f"{name!r} is nothing that is known of a change.",
                                where=f"feeds.postgres_changes({table!r})", hint=near_match(name, list(_BESIDE)))
        where = f"feeds.postgres_changes({table!r})"
        check_name("table", table, where=where)
        check_seconds("every", every, where=where)
        self.library: Any = psycopg
        self.lost = (OSError, EOFError, TimeoutError, psycopg.OperationalError)
        self.table, self.url, self.every = table.split("."), checked_conninfo(url), every
        self.slot, self.publication = slot, publication or slot
        told.setdefault("name", table)
        super().__init__("postgres_changes", time=time, format=Records(),
                         schema=columns_of(self.open, self.table) if schema is None else schema,
                         beside=pa.schema([(name, _BESIDE[name]) for name in beside]), **told)
        self.told_of = frozenset(self.value_fields.names)

    def open(self) -> Any:
        """A connection in which each statement is a transaction, and times are told in UTC."""
        return self.library.connect(self.url, autocommit=True, options="-c TimeZone=UTC", **PATIENCE)

    def connect(self, place: Place) -> Client:
        return _Changes(self, place)


class _Changes(Client):
    """Its place: behind the last transaction that was read, in the server's log.

    It reads a copy of the slot, which the server forgets with the connection; the slot itself stays behind, at what is
    safe.
    """

    def __init__(self, feed: PostgresChangesFeed, place: int | None) -> None:
        from psycopg.adapt import Transformer

        self._feed, self._wait_s = feed, 0.0
        self._most = 1  # transaction: how long they are nobody knows yet
        self._link = feed.open()
        try:
            safe = self._prepare(place)
            self._copy = f"{feed.slot}_{self._link.info.backend_pid}"
            self._ask("SELECT pg_copy_logical_replication_slot(%s, %s, true)", feed.slot, self._copy)
            self._place = safe if place is None else place
            if self._place > safe:
                self._ask("SELECT pg_replication_slot_advance(%s, %s::pg_lsn)", self._copy, _lsn(self._place))
        except BaseException:
            self._link.close()
            raise
        self._safe = safe
        self._types = Transformer(self._link)

    def _ask(self, words: str, *told: Any) -> list[Any]:
        return self._link.execute(words, told, binary=True).fetchall()  # as text, bytes take twice the room

    def _prepare(self, place: int | None) -> int:
        """Have a publication and a slot, one feed after the other; how far the slot is."""
        self._link.execute("SELECT pg_advisory_lock(hashtext('whimbrel'))")
        try:
            return self._prepared(place)
        finally:
            self._link.execute("SELECT pg_advisory_unlock(hashtext('whimbrel'))")

    def _prepared(self, place: int | None) -> int:
        feed = self._feed
        safe = self._read_to(feed.slot)
        if place is not None and (safe is None or safe > place):
            raise SourceError(f"The slot {feed.slot!r} {'is gone' if safe is None else 'has read on'}: "
                              "changes are missing.", where=feed.call, hint="begin anew, with other checkpoints")
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
        told = self._ask("SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s", feed.publication)
        if not any(each[-len(feed.table):] == tuple(feed.table) for each in told):
            table = sql.Identifier(*feed.table).as_string(self._link)
            raise SourceError(
                f"The publication {feed.publication!r} does not tell of {'.'.join(feed.table)!r}.", where=feed.call,
                hint=f"ALTER PUBLICATION {name.as_string(self._link)} ADD TABLE {table}; or, of a partitioned table, "
                     "... SET (publish_via_partition_root = true)")

    def receive(self, timeout_s: float) -> Delivery | None:
        if self._wait_s > 0:
            clock.sleep(min(self._wait_s, timeout_s))
            self._wait_s -= timeout_s
            return None
        told = self._ask("SELECT data FROM pg_logical_slot_get_binary_changes(%s, NULL, %s, 'proto_version', '1',"
                         " 'publication_names', %s)", self._copy, self._most, self._feed.publication)
        messages = [data for data, in told]
        if messages:
            self._most = as_many(Delivery(messages), _MOST_CHANGES)
        found = list(transactions(messages))
        if found:
            self._place = found[-1].end
            return self._delivery(found)
        self._wait_s = self._feed.every
        read = self._read_to(self._copy)
        if read is None or read - self._place < _STEP_BYTES:
            return None
        self._place = read
        return self._delivery([])

    def _read_to(self, slot: str) -> int | None:
        """How far a slot has read the server's log; None where there is no such slot."""
        found = self._ask("SELECT confirmed_flush_lsn - '0/0'::pg_lsn FROM pg_replication_slots WHERE slot_name = %s",
                          slot)
        return int(found[0][0]) if found else None

    def _delivery(self, found: Sequence[Transaction]) -> Delivery:
        rows: list[dict[str, Any]] = []
        beside: dict[str, list[Any]] = {name: [] for name in _BESIDE}
        for each in found:
            for change in each.changes:
                if change.relation.name[-len(self._feed.table):] != tuple(self._feed.table):
                    continue
                if not self._feed.told_of.isdisjoint(change.untold):
                    self._feed.letters.refuse(repr(change.values).encode(), _UNTOLD)
                    continue
                try:
                    rows.append(self._row(change))
                except self._feed.library.DataError:  # the driver's word for times that Python does not have
                    self._feed.letters.refuse(repr(change.values).encode(), UNTOLD_TIME)
                    continue
                for name, value in (("change", change.kind), ("committed", each.committed_us), ("lsn", each.end)):
                    beside[name].append(value)
        return Delivery(rows, self._place, {field.name: beside[field.name] for field in self._feed.beside})

    def _row(self, change: Change) -> dict[str, Any]:
        """Values as the database's driver reads them."""
        fields, row = self._feed.value_fields, {}
        for name, type_ in change.relation.columns:
            text = change.values.get(name)
            if name in fields.names and text is not None:
                value = self._types.get_loader(type_, self._feed.library.pq.Format.TEXT).load(text)
                row[name] = plain(value, fields.field(name).type)
        return row

    def acknowledge(self, place: Place) -> None:
        if place is not None and place > self._safe:
            self._ask("SELECT pg_replication_slot_advance(%s, %s::pg_lsn)", self._feed.slot, _lsn(place))
            self._safe = place

    def close(self) -> None:
        self._link.close()


def _lsn(place: int) -> str:
    """A place as PostgreSQL writes it.

    >>> _lsn(0x16_0000_2A90)
    '16/2A90'
    """
    return f"{place >> 32:X}/{place & 0xFFFFFFFF:X}"
