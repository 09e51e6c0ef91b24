"""Result of a query of a database as a source, through ADBC."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.clock.duration import Duration
from whimbrel.connect.addresses import shown_address, without_secrets
from whimbrel.connect.partition_watermarks import PartitionWatermarks
from whimbrel.connect.tables.columnar_source import BATCH_ROWS, ColumnarSource
from whimbrel.errors import MissingExtraError, SourceError, shortened

_DRIVERS = {"sqlite": ("adbc_driver_sqlite", "adbc"), "postgresql": ("adbc_driver_postgresql", "adbc"),
            "postgres": ("adbc_driver_postgresql", "adbc"), "duckdb": ("adbc_driver_duckdb", "frames")}
_FEW_ROWS = 65_536
_MIXED = re.compile(r"\[SQLite\] Type mismatch in column (\d+): expected (\S+) but got (.+?)\.?$", re.MULTILINE)
_SHORTENED = r"^-?[0-9]\.[0-9]{6}e[+-][0-9]{2,3}$"
_SQLITE_TYPES = {"INT64": "integer or null", "DOUBLE": "real", "STRING/BINARY": "text or blob", "BLOB": "blob",
                 "unknown type 1": "integer", "unknown type 2": "real", "unknown type 3": "text"}
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class SqlQuery(ColumnarSource):
    """Source of the rows of a query of a database.

    Each read runs the query again, and takes its rows in batches.

    Parameters
    ----------
    query : str
    connection : str or connection
        ``sqlite:///file``, ``duckdb:///file`` or ``postgresql://user:password@host/database``, or an open connection of
        ADBC. A password is in no plan, error or checkpoint.
    time, end, arrival, late, partition
        As in :class:`~whimbrel.connect.tables.columnar_source.TimedSource`.
    reorder_latency : str, timedelta or int, optional
        Default: rows are sorted here. 0 if the query sorts them by `time`.
    name : str, optional
        Default: "query".

    Raises
    ------
    SourceError
        If the database does not answer, or does not accept the query.
    """

    def __init__(self, query: str, connection: Any, *, time: str, end: str | None = None, arrival: str | None = None,
                 reorder_latency: Duration | None = None, late: str | None = None, name: str | None = None,
                 partition: str | PartitionWatermarks | None = None) -> None:
        if not isinstance(query, str) or not query.strip():
            raise SourceError(f"query must be a text of SQL, got {query!r}.", where="from_sql(...)",
                              hint='Use for example "SELECT * FROM log ORDER BY at".')
        self._query = query
        self._where = f"from_sql({shortened(' '.join(query.split()), 60)!r}, time={time!r})"
        self._connected = _connector(connection, self._where)
        with self._result() as result:
            fields = result.schema
        super().__init__(fields, time=time, end=end, arrival=arrival, reorder_latency=reorder_latency, late=late,
                         name=name or "query", rows=None, where=self._where, partition=partition)

    def _default_latency(self) -> int | None:
        return None

    def stamp(self) -> str | None:
        return blake2b(self._query.encode(), digest_size=16).hexdigest()

    def _record_batches(self, columns: list[str], offset: int) -> Generator[pa.RecordBatch]:
        with self._result() as result:
            parts: list[pa.RecordBatch] = []
            enough = 1  # the first rows come early
            for batch in result:
                rows = batch.select(columns).slice(min(offset, batch.num_rows))
                _check_texts(rows, self._where)
                self._check_shortened(rows)
                offset -= batch.num_rows - rows.num_rows
                parts += [rows] if rows.num_rows else []
                if sum(part.num_rows for part in parts) >= enough:
                    yield from pa.Table.from_batches(parts).combine_chunks().to_batches(BATCH_ROWS)
                    parts, enough = [], _FEW_ROWS
            if parts:
                yield from pa.Table.from_batches(parts).combine_chunks().to_batches(BATCH_ROWS)

    def _check_shortened(self, rows: pa.RecordBatch) -> None:
        """The driver of SQLite writes numbers among texts with seven digits."""
        for name, values in zip(rows.schema.names, rows.columns, strict=True):
            if not (pa.types.is_string(values.type) or pa.types.is_binary(values.type)):
                continue
            if pc.any(pc.match_substring_regex(values, _SHORTENED)).as_py() and self._has_reals(name):
                shown = _quoted(name)
                raise SourceError(f"Column {name!r} has values of several types: real and others.", where=self._where,
                                  hint=f"Use CAST({shown} AS TEXT) AS {shown} in the query.")

    def _has_reals(self, name: str) -> bool:
        quoted = '"' + name.replace('"', '""') + '"'
        with self._connected() as connection, connection.cursor() as cursor:
            if connection.adbc_get_info().get("vendor_name") != "SQLite":
                return False
            query = self._query.rstrip().rstrip(";")
            cursor.execute(f"SELECT 1 FROM ({query}) WHERE typeof({quoted}) = 'real' LIMIT 1")  # noqa: S608 - the user's
            return cursor.fetchone() is not None

    @contextmanager
    def _result(self) -> Iterator[pa.RecordBatchReader]:
        """Run the query; errors of the database name it."""
        names: list[str] = []
        with self._connected() as connection:
            try:
                with connection.cursor() as cursor:
                    cursor.execute(self._query)
                    with cursor.fetch_record_batch() as result:
                        names = result.schema.names
                        yield result
            except Exception as error:
                if type(error).__module__.startswith("adbc_driver_manager") or isinstance(
                        error, pa.ArrowException | OSError):
                    raise _mixed_types(error, names, self._where) or _failure(error, self._where) from None
                raise


def _connector(connection: Any, where: str) -> Callable[[], Any]:
    """Opens a connection for a read, or lends the connection of the user to one read at a time."""
    if not isinstance(connection, str):
        if not hasattr(connection, "cursor") or not hasattr(connection, "adbc_get_info"):
            raise SourceError("connection must be an address or a connection of ADBC, got "
                              f"{type(connection).__name__}.", where=where,
                              hint='Use for example "sqlite:///log.db".')
        alone = threading.RLock()

        @contextmanager
        def lent() -> Iterator[Any]:
            with alone:
                yield connection

        return lent
    scheme, _, rest = connection.partition("://")
    if scheme not in _DRIVERS or not rest:
        raise SourceError(f"connection must begin with sqlite://, duckdb:// or postgresql://, got "
                          f"{shown_address(connection)!r}.", where=where,
                          hint='Use for example "sqlite:///log.db".')
    module, extra = _DRIVERS[scheme]
    try:
        library = import_module(f"{module}.dbapi")
    except ImportError:
        raise MissingExtraError(module.replace("_", "-"), extra, f"from_sql() with {scheme}://") from None
    target = connection if scheme.startswith("postgres") else rest.removeprefix("/")

    in_file = scheme in ("sqlite", "duckdb") and not target.startswith((":memory:", "file:", "md:"))

    @contextmanager
    def opened() -> Iterator[Any]:
        if in_file and not Path(target).exists():  # the driver would create it
            raise SourceError(f"There is no file {target!r}.", where=where,
                              hint=f"Check the path; a relative one begins in {Path.cwd()}.")
        try:
            link = library.connect(target)
        except library.Error as error:
            raise _failure(error, where) from None
        with link:
            yield link

    return opened


def _mixed_types(error: Exception, names: Sequence[str], where: str) -> SourceError | None:
    """Error for a value of SQLite that does not have the type of the first rows of its column."""
    found = _MIXED.search(str(error))
    if found is None or int(found[1]) >= len(names):
        return None
    name = names[int(found[1])]
    shown = _quoted(name)
    first, later = (_SQLITE_TYPES.get(type_, type_) for type_ in found.group(2, 3))
    cast = "REAL" if later == "real" and found[2] == "INT64" else "TEXT"
    return SourceError(f"Column {name!r} has values of several types: {first} in its first rows, {later} in a later "
                       "one.", where=where,
                       hint=f"Use CAST({shown} AS {cast}) AS {shown} in the query. If the first rows have no value, "
                            f"add ORDER BY {shown} IS NULL.")


def _check_texts(rows: pa.RecordBatch, where: str) -> None:
    """SQLite takes bytes of any kind as text."""
    for name, values in zip(rows.schema.names, rows.columns, strict=True):
        if pa.types.is_string(values.type):
            try:
                values.validate(full=True)
            except pa.ArrowInvalid:
                shown = _quoted(name)
                raise SourceError(f"Column {name!r} has text that is not UTF-8.", where=where,
                                  hint=f"Use CAST({shown} AS BLOB) AS {shown} in the query.") from None


def _quoted(name: str) -> str:
    """A name of a column in SQL."""
    return name if _PLAIN_NAME.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _failure(error: Exception, where: str) -> SourceError:
    lines = [line for line in str(error).splitlines() if line.strip()]
    said = without_secrets(lines[0] if lines else error).rstrip(".:")
    away = "connect" in said.lower() or " to open" in said.lower()
    return SourceError(f"The database {'cannot be reached' if away else 'does not accept the query'}: {said}.",
                       where=where, hint="Check the address, the user and the network." if away else
                       "Run the query with a tool of the database to check it.")
