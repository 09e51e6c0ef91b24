"""Base of sinks that add files to a table with each checkpoint."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import pyarrow as pa

from whimbrel.connect.addresses import without_secrets
from whimbrel.connect.table_formats.stored_types import missing_type, with_whole_ends
from whimbrel.connect.validation import column_names
from whimbrel.errors import SinkError
from whimbrel.plan.sink import Sink, Token

_MAX_ROWS = 1 << 20
"""Rows of a file."""
_MAX_MESSAGE = 200


class TableSink(Sink):
    """Writes files when a checkpoint is prepared, and adds them to the table when it is complete.

    The table remembers how many rows of the run it has. Rows that are already in it are not added again.

    Parameters
    ----------
    name : str
        The table, for errors.
    partition_by : sequence of str
        Columns by whose values a new table is partitioned.
    """

    guarantee: Literal["exactly once", "at least once"] = "exactly once"
    method: ClassVar[str]
    """The name of the sink in ``wb.sinks``."""
    has_times: ClassVar[bool] = False
    """Whether its tables have times of day."""
    storage: ClassVar[str]
    """What to check if writing fails."""

    def __init__(self, name: str, partition_by: Sequence[str]) -> None:
        self.name = name
        self._partition_by = column_names("partition_by", partition_by, where=self._where)
        self._parts: list[pa.RecordBatch] = []
        self._files: list[dict[str, Any]] = []

    @property
    def _where(self) -> str:
        return f"sinks.{self.method}({self.name!r})"

    @abstractmethod
    def _open_table(self, schema: pa.Schema) -> None:
        """Open the table, or create it for the columns of a result."""

    @abstractmethod
    def _table_schema(self) -> pa.Schema:
        """The columns of the table."""

    @abstractmethod
    def _stored_schema(self, schema: pa.Schema) -> pa.Schema:
        """The columns of a result, with the types that they have in such tables."""

    @abstractmethod
    def _committed_rows(self) -> int:
        """Rows of this run that are in the table."""

    @abstractmethod
    def _store(self, rows: pa.Table) -> list[dict[str, Any]]:
        """Write rows of :attr:`_rows` on into files. Return what is known of these."""

    @abstractmethod
    def _add_files(self, token: Any) -> None:
        """Add the files of a checkpoint to the table, unless it has them."""

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        self._parts, self._files, self._buffered, self._rows = [], [], 0, rows
        self._check_types(self._stored_schema(schema))
        self._check_partitions(self._stored_schema(schema))
        self._open_table(schema)
        self._check_columns(self._stored_schema(schema))
        if token is not None:
            self.commit(token)
        self._in_table = self._committed_rows()
        if self._in_table < rows:
            raise SinkError(f"The run wrote {rows:,} rows, and the table has {self._in_table:,} of them.",
                            where=self._where, hint="Restore the table, or start with new checkpoints.")

    def write(self, rows: pa.RecordBatch) -> None:
        known = min(max(self._in_table - self._rows - self._buffered, 0), rows.num_rows)
        self._rows += known  # an older checkpoint: these rows are in the table
        rows = rows.slice(known)
        if rows.num_rows:
            self._parts.append(rows)
            self._buffered += rows.num_rows
        if self._buffered >= _MAX_ROWS:
            self._write()

    def prepare(self) -> Token:
        self._write()
        return {"rows": self._rows, "files": list(self._files)}

    def commit(self, token: Any) -> None:
        if not token["files"]:
            return
        self._add_files(token)
        self._files = [file for file in self._files if file not in token["files"]]

    def close(self) -> None:
        self._parts = []

    def _write(self) -> None:
        if not self._buffered:
            return
        rows = with_whole_ends(pa.Table.from_batches(self._parts))
        self._files += self._store(rows.cast(self._stored_schema(rows.schema), safe=False))
        self._rows += rows.num_rows
        self._parts, self._buffered = [], 0

    def _check_types(self, schema: pa.Schema) -> None:
        if (field := missing_type(schema, times=self.has_times)) is not None:
            raise SinkError(f"Column {field.name!r} is {field.type}, which such tables do not have.", where=self._where,
                            hint='Cast it, for example with .cast("string"), or leave the column out.')

    def _check_partitions(self, schema: pa.Schema) -> None:
        for name in self._partition_by:
            if name not in schema.names:
                raise SinkError(f"partition_by must name columns of the result, got {name!r}.", where=self._where,
                                hint=f"Its columns are {', '.join(schema.names)}.")

    def _check_columns(self, schema: pa.Schema) -> None:
        there = self._table_schema()
        for field in schema:
            if field.name not in there.names or there.field(field.name).type != field.type:
                found = str(there.field(field.name).type) if field.name in there.names else "missing"
                raise SinkError(f"Column {field.name!r} of the result is {field.type}, and {found} in the table "
                                f"{self.name!r}.", where=self._where,
                                hint="Use another table, or cast the column to the type of the table.")

    def _failed(self, error: Exception) -> SinkError:
        return SinkError(f"Cannot write to {self.name!r}: {without_secrets(error)[:_MAX_MESSAGE]}", where=self._where,
                         hint=f"Check {self.storage}. {self.again}")
