"""New rows of a PostgreSQL table, by polling with a cursor column."""

from __future__ import annotations

import time as clock
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from typing import Any, Unpack
from uuid import UUID

import pyarrow as pa

from whimbrel.clock import Duration
from whimbrel.connect.addresses import LIBPQ_TIMEOUTS, checked_conninfo, shown_cause, without_secrets
from whimbrel.connect.feeds.formats.python_records import Records
from whimbrel.connect.feeds.runtime.client import MAX_BYTES, Client, MessageBatch, Offset, size
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.feeds.runtime.row_validation import Fields
from whimbrel.connect.validation import check_name, checked_seconds
from whimbrel.errors import MissingExtraError, PlanError, SourceError

_MAX_ROWS = 10_000
_TYPES = {16: pa.bool_(), 20: pa.int64(), 21: pa.int16(), 23: pa.int32(), 25: pa.string(), 700: pa.float32(),
          701: pa.float64(), 1043: pa.string(), 1082: pa.date32(), 1114: pa.timestamp("us"),
          1184: pa.timestamp("us", "UTC"), 17: pa.binary(), 2950: pa.string(), 1700: pa.float64()}
_OBJECTS = (1700, 2950)
TIME_OUT_OF_RANGE = "a time that is infinite or out of range"
"""Reason of a dead letter with a time that Python cannot represent."""


class PostgresFeed(Feed):
    """Feed of new rows of a PostgreSQL table, by polling.

    Rows of the table or view come in the order of a growing column.

    Needs ``whimbrel[postgres]``. Updates and deletes are not seen; use ``postgres_cdc`` for them. The column must grow
    in the order in which rows become visible. With overlapping transactions, a serial number may become visible after a
    larger one. `visibility_delay` waits for it.

    Parameters
    ----------
    table : str
        ``"name"`` or ``"schema.name"``.
    url : str
        ``postgresql://user:password@host/database``. The password is in no plan, log or checkpoint.
    time : str
        The event-time column.
    cursor : str
        The growing column, such as a serial number or a write time. It needs an index if the table is large. Rows with
        null are not read. Rows of one value are all read if they are visible together. A row that becomes visible later
        with a value at or below the last one is not found; see `visibility_delay` or ``postgres_cdc``. If one value has
        more rows than a batch, they are read in parts, in the order of their texts, and must not change meanwhile.
    every : str, timedelta or float (seconds)
        Time between two polls while there is nothing new.
    visibility_delay : str, optional
        An interval such as ``"2 seconds"``. Rows whose `settle_by` is newer than this wait.
    settle_by : str, optional
        A column with the write time of rows. Default: the event time.
    schema : pyarrow.Schema or mapping of str to type, optional
        Default: all columns of the table with known types.
    **feed_options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.
    """

    def __init__(self, table: str, url: str, *, time: str, cursor: str, every: float | Duration = 0.5,
                 visibility_delay: str | None = None, settle_by: str | None = None, schema: Fields | None = None,
                 **options: Unpack[FeedOptions]) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("psycopg", "postgres", "feeds.postgres()") from None
        where = f"feeds.postgres({table!r})"
        check_name("table", table, where=where)
        every_s = checked_seconds("every", every, where=where)
        self.library: Any = psycopg
        remade = psycopg.errors  # raised when the table was recreated, perhaps with other types
        self.lost = (OSError, EOFError, TimeoutError, psycopg.OperationalError, remade.UndefinedTable,
                     remade.UndefinedColumn, remade.FeatureNotSupported)
        self.table, self.url, self.cursor, self.every = table.split("."), checked_conninfo(url), cursor, every_s
        self.visibility_delay, self.settle_by = visibility_delay, settle_by or time
        options.setdefault("name", table)
        super().__init__("postgres", time=time, format=Records(),
                         schema=columns_of(self.open, self.table) if schema is None else schema, **options)
        if cursor not in self.value_fields.names:
            raise PlanError(f"cursor must be a column of the table, got {cursor!r}.", where=self.call,
                            hint="Use a column that grows with each row, such as a serial number.")

    def open(self) -> Any:
        """Connect with autocommit."""
        return self.library.connect(self.url, autocommit=True, **LIBPQ_TIMEOUTS)

    def connect(self, offset: Offset) -> Client:
        return _Table(self, offset)

    def offset_after(self, offset: str, within: str | None, last: Mapping[Any, int]) -> Offset:
        return last.get(None) if offset == self.cursor else None


def columns_of(open: Callable[[], Any], table: Sequence[str]) -> pa.Schema:
    """Columns of a table with known types.

    Raises
    ------
    SourceError
        If the server cannot be reached or the table does not exist.
    """
    from psycopg import Error, sql

    try:
        with open() as link:
            known = link.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(sql.Identifier(*table))).description
    except Error as error:
        raise SourceError(f"Cannot read the columns of {'.'.join(table)} because the server failed: "
                          f"{without_secrets(error)}.", where=f"feeds.postgres({'.'.join(table)!r}, ...)",
                          hint="Check the address, or use schema=... to start without the server."
                          ) from shown_cause(error)
    return pa.schema([(column.name, _TYPES[column.type_code]) for column in known if column.type_code in _TYPES])


def plain(value: Any, wanted: pa.DataType) -> Any:
    """Convert Decimal and UUID values of psycopg to the type of a column.

    >>> plain(Decimal("1.50"), pa.float64()), plain(Decimal("1.50"), pa.decimal128(5, 2))
    (1.5, Decimal('1.50'))
    """
    if isinstance(value, Decimal) and pa.types.is_floating(wanted):
        return float(value)
    return str(value) if isinstance(value, UUID) and pa.types.is_string(wanted) else value


def _literal(value: Any) -> str:
    r"""A value as a literal that PostgreSQL can parse.

    >>> _literal(b"ab"), _literal(Decimal("1.50"))
    ('\\x6162', '1.50')
    """
    return f"\\x{value.hex()}" if isinstance(value, bytes) else str(value)


def _as_offset(value: Any) -> int | str:
    return value if isinstance(value, int) else _literal(value)


class _Untold(str):
    """A time beyond Python's range, as PostgreSQL writes it."""

    __slots__ = ()


def _let_texts_stand(cursor: Any) -> None:
    """Make a cursor load times beyond Python's range as strings, instead of failing for all rows."""
    from psycopg import DataError
    from psycopg.types import datetime as times

    def lenient(loader: Any) -> Any:
        class Lenient(loader):  # type: ignore[misc]
            def load(self, data: Any) -> Any:
                try:
                    return super().load(data)
                except DataError:
                    return _Untold(bytes(data).decode())

        return Lenient

    for name, loader in (("date", times.DateLoader), ("timestamp", times.TimestampLoader),
                         ("timestamptz", times.TimestamptzLoader)):
        cursor.adapters.register_loader(name, lenient(loader))


class _Table(Client):
    """A connection that polls the table.

    Its offset has the last cursor value and the file node of the table, if any. A poll that does not get all rows
    of its last value leaves them to the next poll. If a batch has only one value, its rows are read in parts, and the
    offset has the number of rows read.
    """

    def __init__(self, feed: PostgresFeed, offset: Offset) -> None:
        from psycopg import sql
        from psycopg.rows import dict_row

        self._feed = feed
        self._storage: int | None
        self._had: int | None
        self._offset, self._storage, self._had = (
            (*offset, None)[:3] if isinstance(offset, list) else (offset, None, None))
        self.lost: Counter[str] = Counter()
        self._link = feed.open()
        self._rows = self._link.cursor(row_factory=dict_row)
        settled = [] if feed.visibility_delay is None else [
            sql.SQL("{} < now() - %(visibility_delay)s::interval").format(sql.Identifier(feed.settle_by))]
        newer = sql.SQL("{} > %(offset)s").format(sql.Identifier(feed.cursor))

        columns = sql.SQL(", ").join(map(sql.Identifier, feed.value_fields.names))
        by_cursor, none = sql.Identifier(feed.cursor), sql.SQL("0")

        def ask(conditions: list[Any], order: Any = by_cursor, had: Any = none) -> Any:
            return sql.SQL("SELECT {} FROM {} WHERE {} ORDER BY {} LIMIT {} OFFSET {}").format(
                columns, sql.Identifier(*feed.table), sql.SQL(" AND ").join(conditions), order,
                sql.Placeholder("most"), had)

        known = sql.SQL("{} IS NOT NULL").format(sql.Identifier(feed.cursor))
        self._first, self._further = ask([known, *settled]), ask([newer, *settled])
        alike = sql.SQL("{} = %(offset)s").format(sql.Identifier(feed.cursor))  # any type has a text, not each an order
        self._alike = ask([alike, *settled], sql.SQL('ROW({})::text COLLATE "C"').format(columns),
                          sql.Placeholder("had"))
        self._has_older = sql.SQL("SELECT max({}) < %(offset)s FROM {}").format(
            sql.Identifier(feed.cursor), sql.Identifier(*feed.table))
        self._name = sql.Identifier(*feed.table).as_string(self._link)
        self._wait_s = 0.0

    def receive(self, timeout_s: float) -> MessageBatch | None:
        if self._wait_s > 0:
            clock.sleep(min(self._wait_s, timeout_s))
            self._wait_s -= timeout_s
            return None
        self._check_recreated()
        ask = self._first if self._offset is None else self._further if self._had is None else self._alike
        parameters = {"offset": self._offset, "visibility_delay": self._feed.visibility_delay, "most": _MAX_ROWS + 1,
                "had": self._had}
        try:
            found, bytes_, next_row = self._found(ask, parameters)
        except self._feed.library.DataError:
            _let_texts_stand(self._rows)
            found, bytes_, next_row = self._found(ask, parameters)
        if self._had is None:
            self._stand_behind_whole_values(found, next_row)
        else:
            self._had = None if next_row is None else self._had + len(found)
        if next_row is None and ask is not self._alike:
            self._wait_s = self._feed.every
        if not found:
            return None
        self._make_plain(found)
        offset = [self._offset, self._storage, self._had]
        if self._had is None:
            offset = self._offset if self._storage is None else offset[:2]
        return MessageBatch([row for row in found if self._is_readable(row)], offset, counted=bytes_)

    def _stand_behind_whole_values(self, found: list[dict[str, Any]], next_row: Mapping[str, Any] | None) -> None:
        """Drop rows with the value of the next row; the next poll starts with them."""
        cursor = self._feed.cursor
        if next_row is not None:
            cut = next_row[cursor]
            while found and found[-1][cursor] == cut:
                found.pop()
            if not found:
                self._offset, self._had = _as_offset(cut), 0
        if found:
            self._offset = _as_offset(found[-1][cursor])

    def _check_recreated(self) -> None:
        """Start from the beginning if the table was truncated or recreated with smaller values."""
        storage, = self._link.execute("SELECT pg_relation_filenode(to_regclass(%s))::int8", (self._name,)).fetchone()
        if storage in (None, self._storage):
            return
        if self._storage is not None and self._offset is not None:
            is_older, = self._link.execute(self._has_older, {"offset": self._offset}).fetchone()
            if is_older is None:  # the table has no rows yet
                return
            if is_older:
                self._offset = self._had = None
                self.lost["a table was recreated"] += 1
        self._storage = storage

    def _found(self, ask: Any,
               parameters: Mapping[str, Any]) -> tuple[list[dict[str, Any]], int, dict[str, Any] | None]:
        """Rows up to a limit, their size, and the next row."""
        found: list[dict[str, Any]] = []
        bytes_ = 0
        with closing(self._rows.stream(ask, parameters)) as coming:
            for row in coming:
                if len(found) == _MAX_ROWS or bytes_ >= MAX_BYTES:
                    return found, bytes_, row
                found.append(row)
                bytes_ += size(row)
        return found, bytes_, None

    def _make_plain(self, rows: Sequence[dict[str, Any]]) -> None:
        for column in self._rows.description:
            if column.type_code in _OBJECTS:
                wanted = self._feed.value_fields.field(column.name).type
                for row in rows:
                    row[column.name] = plain(row[column.name], wanted)

    def _is_readable(self, row: Mapping[str, Any]) -> bool:
        """Whether Python can represent all values of a row; otherwise it becomes a dead letter."""
        if any(isinstance(value, _Untold) for value in row.values()):
            self._feed.dead_letters.refuse(repr(row).encode(), TIME_OUT_OF_RANGE)
            return False
        return True

    def close(self) -> None:
        self._link.close()
