"""PostgreSQL table as a sink, with upserts by key."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.connect.addresses import LIBPQ_TIMEOUTS, checked_conninfo
from whimbrel.connect.sinks.nanosecond_times import with_exact_times
from whimbrel.connect.sinks.retrying_sink import ServerSink
from whimbrel.connect.validation import check_name, column_names
from whimbrel.errors import MissingExtraError, SinkError, near_match

_MAX_ROWS, _TOGETHER = 10_000, 500
_TYPES: list[tuple[Any, str]] = [
    (pa.types.is_boolean, "boolean"), (pa.types.is_uint64, "numeric(20)"),
    (pa.types.is_integer, "bigint"), (pa.types.is_floating, "double precision"),
    (pa.types.is_date, "date"), (pa.types.is_binary, "bytea"), (pa.types.is_string, "text"),
]

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # its warnings are raised as errors as well


class PostgresSink(ServerSink):
    """Sink of a PostgreSQL table, with upserts by key.

    A settled row replaces the row with its key. Needs ``whimbrel[postgres]``.

    Exactly once by key: rows that are written again after a crash replace themselves. Rows become visible up to one
    checkpoint interval before the checkpoint. PostgreSQL has microseconds: further digits are truncated, and an error
    in the key.

    Parameters
    ----------
    table : str
        ``"name"`` or ``"schema.name"``. It is created if it does not exist.
    url : str
        ``postgresql://user:password@host/database``. The password is in no plan, log or checkpoint.
    key : sequence of str
        Columns that identify a row, such as start and the group keys.
    """

    kind = "postgres"
    guarantee: Literal["exactly once", "at least once"] = "exactly once"

    def __init__(self, table: str, url: str, *, key: Sequence[str]) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("psycopg", "postgres", "sinks.postgres()") from None
        self._library: Any = psycopg
        self.lost, self.permanent_errors = (OSError, psycopg.OperationalError), (psycopg.Error,)
        where = f"sinks.postgres({table!r}, key={key!r})"
        check_name("table", table, where=where)
        self.name, self._url, self._key = table, checked_conninfo(url), column_names("key", key, where=where)
        self._link: Any = None

    def _connect(self, schema: pa.Schema, rows: int) -> None:
        from psycopg import sql

        where = f"sinks.postgres({self.name!r}, key={list(self._key)!r})"
        for name in self._key:
            if name not in schema.names:
                raise SinkError(f"key must name columns of the result, got {name!r}.", where=where,
                                hint=near_match(name, schema.names))
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
        self._parts: list[pa.RecordBatch] = []
        self._link = self._library.connect(self._url, **LIBPQ_TIMEOUTS)
        self._link.execute(sql.SQL("CREATE TABLE IF NOT EXISTS {} ({}, PRIMARY KEY ({}))").format(
            table, sql.SQL(", ").join(columns), key))
        self._link.commit()

    def _send(self, rows: pa.RecordBatch) -> None:
        self._check(rows)
        self._parts.append(rows)
        if sum(part.num_rows for part in self._parts) >= _MAX_ROWS:
            self._write()

    def _check(self, rows: pa.RecordBatch) -> None:
        """Check for values that PostgreSQL cannot store; its own errors name neither column nor row."""
        for field in rows.schema:
            column, row, why = rows.column(field.name), -1, "which a key column must not hold"
            hint = "Use where(...) to drop such rows."
            if field.name in self._key and column.null_count:
                row = pc.index(column.is_null(), True).as_py()
            elif field.name in self._key and _is_finer(field.type):
                row = pc.index(pc.not_equal(_in_us(column).cast(field.type), column), True).as_py()
                why = "a key with more digits than the microseconds of PostgreSQL"
                hint = 'Round the times, for example with quantize("1ms").'
            elif pa.types.is_string(field.type):
                row = pc.index(pc.match_substring(column, "\0"), True).as_py()
                why = "a string with the character 0, which PostgreSQL cannot store"
            if row >= 0:
                values = with_exact_times(rows.slice(row, 1)).to_pylist()[0]
                key = ", ".join(f"{name} = {values[name]}" for name in self._key if name != field.name)
                raise SinkError(f"Cannot write to {self.name}: {field.name!r} is {values[field.name]!r}"
                                f"{f' where {key}' if key else ''}, {why}.", where=f"sinks.postgres({self.name!r})",
                                hint=hint)

    def _write(self) -> None:
        """Write rows in the open transaction."""
        rows = [row for part in self._parts
                for row in zip(*(_in_us(column).to_pylist() for column in part.columns), strict=True)]
        self._parts = []
        if rows:
            with self._link.cursor() as cursor:
                for start in range(0, len(rows), _TOGETHER):  # in small parts, so that a slow server does not seem hung
                    cursor.executemany(self._put, rows[start : start + _TOGETHER])
                    self._responded()

    def _settle(self) -> None:
        self._write()
        self._link.commit()

    def _disconnect(self) -> None:
        if self._link is not None:
            self._link.close()


def _is_finer(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.unit == "ns"


def _in_us(column: pa.Array) -> pa.Array:
    return column.cast(pa.timestamp("us", column.type.tz), safe=False) if _is_finer(column.type) else column


def _type(field: pa.Field, where: str) -> str:
    if pa.types.is_timestamp(field.type):
        return "timestamp" if field.type.tz is None else "timestamptz"
    for is_type, name in _TYPES:
        if is_type(field.type):
            return name
    raise SinkError(f"PostgreSQL has no type for the column {field.name!r} ({field.type}).", where=where,
                    hint="Cast the column, or select other columns.")
