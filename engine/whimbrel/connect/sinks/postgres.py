"""A PostgreSQL table, row by row of its key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.connect.addresses import checked_conninfo, without_secrets
from whimbrel.errors import MissingExtraError, SinkError, near_match
from whimbrel.plan.sink import Sink, Token

_MOST_ROWS = 10_000
_TYPES: list[tuple[Any, str]] = [
    (pa.types.is_boolean, "boolean"), (pa.types.is_uint64, "numeric(20)"),
    (pa.types.is_integer, "bigint"), (pa.types.is_floating, "double precision"),
    (pa.types.is_date, "date"), (pa.types.is_binary, "bytea"), (pa.types.is_string, "text"),
]


class PostgresSink(Sink):
    """Settled rows in a table, where a row takes the place of one with its key; needs ``whimbrel[postgres]``.

    Exactly once by its key: what is written again after a run was killed replaces itself. Rows are seen when they are
    prepared, up to a checkpoint's period before it.

    Parameters
    ----------
    table : str
        ``"name"`` or ``"schema.name"``; it is made if it is not there.
    url : str
        ``postgresql://user:password@host/database``. The password is in no plan, log or checkpoint.
    key : sequence of str
        Columns that tell rows apart, such as start and the keys of groups.
    """

    guarantee: Literal["exactly once", "at least once"] = "exactly once"

    def __init__(self, table: str, url: str, *, key: Sequence[str]) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("psycopg", "postgres", "sinks.postgres()") from None
        self._library: Any = psycopg
        self.name, self._url, self._key = table, checked_conninfo(url), tuple(key)
        self._parts: list[pa.RecordBatch] = []

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        from psycopg import sql

        where = f"sinks.postgres({self.name!r}, key={list(self._key)!r})"
        for name in self._key:
            if name not in schema.names:
                raise SinkError(f"There is no column {name!r}.", where=where, hint=near_match(name, schema.names))
        table = sql.Identifier(*self.name.split("."))
        columns = [sql.SQL("{} {}").format(sql.Identifier(field.name), sql.SQL(_type(field, where)))
                   for field in schema]
        key = sql.SQL(", ").join(map(sql.Identifier, self._key))
        others = [sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in schema.names
                  if name not in self._key]
        self._put = sql.SQL("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT ({}) DO {}").format(
            table, sql.SQL(", ").join(map(sql.Identifier, schema.names)),
            sql.SQL(", ").join([sql.Placeholder()] * len(schema)), key,
            sql.SQL("UPDATE SET {}").format(sql.SQL(", ").join(others)) if others else sql.SQL("NOTHING"))
        self._link: Any = None
        try:
            self._link = self._library.connect(self._url, connect_timeout=5)
            self._link.execute(sql.SQL("CREATE TABLE IF NOT EXISTS {} ({}, PRIMARY KEY ({}))").format(
                table, sql.SQL(", ").join(columns), key))
            self._link.commit()
        except self._library.Error as error:
            raise self._failed(error) from error

    def write(self, rows: pa.RecordBatch) -> None:
        self._check(rows)
        self._parts.append(rows)
        if sum(part.num_rows for part in self._parts) >= _MOST_ROWS:
            self._write()

    def _check(self, rows: pa.RecordBatch) -> None:
        """What no table can hold is said with its column, and its row; the server would say neither."""
        for field in rows.schema:
            column, row, why = rows.column(field.name), -1, "which a column of the key cannot be"
            if field.name in self._key and column.null_count:
                row = pc.index(column.is_null(), True).as_py()
            elif pa.types.is_string(field.type):
                row = pc.index(pc.match_substring(column, "\0"), True).as_py()
                why = "a text with the character 0, which PostgreSQL does not hold"
            if row >= 0:
                key = ", ".join(f"{name} = {rows.column(name)[row]}" for name in self._key if name != field.name)
                raise SinkError(f"{self.name} cannot be written: {field.name!r} is {column[row].as_py()!r}"
                                f"{f' where {key}' if key else ''}, {why}.", where=f"sinks.postgres({self.name!r})",
                                hint="leave such rows out with where(...); it fails again until then")

    def _write(self) -> None:
        """In the transaction that the next checkpoint ends."""
        rows = [row for part in self._parts for row in zip(*part.to_pydict().values(), strict=True)]
        self._parts = []
        if rows:
            try:
                with self._link.cursor() as cursor:
                    cursor.executemany(self._put, rows)
            except self._library.Error as error:
                raise self._failed(error) from error

    def prepare(self) -> Token:
        self._write()
        try:
            self._link.commit()
        except self._library.Error as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> SinkError:
        lasting = not isinstance(error, self._library.OperationalError)
        return SinkError(f"{self.name} cannot be written: {without_secrets(error)}",
                         where=f"sinks.postgres({self.name!r})",
                         hint="it fails again until the query, or the table, is another one" if lasting
                         else "start the run again when it can: nothing is lost")

    def close(self) -> None:
        if self._link is not None:
            self._link.close()


def _type(field: pa.Field, where: str) -> str:
    if pa.types.is_timestamp(field.type):
        return "timestamp" if field.type.tz is None else "timestamptz"
    for is_type, name in _TYPES:
        if is_type(field.type):
            return name
    raise SinkError(f"{field.name!r} is {field.type}, which a table does not hold.", where=where,
                    hint="select other columns, or cast it")
