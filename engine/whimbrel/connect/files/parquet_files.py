"""Sequential reads of Parquet files as record batches."""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from whimbrel.batch import Column
from whimbrel.connect.files.broken_files import broken_file
from whimbrel.connect.files.data_file import DataFile, RemoteFile, is_removed, written, written_at_first
from whimbrel.connect.files.hive_partitions import FolderColumns
from whimbrel.connect.files.paths import shown_apart
from whimbrel.connect.files.read_ahead import read_ahead
from whimbrel.connect.files.schema_unification import OneSchema
from whimbrel.connect.row_group_pruning import may_meet
from whimbrel.connect.tables.columnar_source import BATCH_ROWS
from whimbrel.connect.tables.pandas_index import data_fields
from whimbrel.errors import SchemaError, SourceError
from whimbrel.expr import Expr

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_REPEATED_BYTES = 4
"""Text that takes fewer bytes a value is stored as a dictionary, and cheaper to keep as one than to spell out."""
_REQUESTS = 16
"""Footers of remote files that are requested at the same time."""
_MAX_OPEN = 64
"""Files that are left open."""
_FEW_ROWS = 8192
"""Row groups of fewer take longer to begin than to decode: they are read together."""
WHOLE_BYTES = 128 << 20
"""Row groups up to here are decoded at once, which is a fifth faster."""


class ParquetFiles:
    """One or several Parquet files, in order.

    A column that a file lacks is null in its rows. If the type of a column differs between files, the common type holds
    all values exactly. At first only the footers are read. Reads decode only the requested columns, two row groups in
    parallel and a few batches ahead. They hold a few row groups in memory, or parts of large ones.

    Parameters
    ----------
    files : sequence of DataFile
        The files in the order of reading.
    where : str
        The user's call, for errors.
    folders : FolderColumns, optional
        Columns that the folders of these files name.
    wanted : sequence of str or None
        Columns that no file may lack; a pandas index without a name is kept only if it is one of them.
    table : str, optional
        The table whose metadata names these files, without secrets.

    Attributes
    ----------
    paths : sequence of DataFile
    schema : pyarrow.Schema
    rows : int
    complete : bool
        Whether each file has all columns.
    notes : sequence of dict of bytes to bytes
        What their writers noted in the footers.

    Raises
    ------
    SourceError
        For an empty or broken file. A broken page is noticed when it is read.
    SchemaError
        For files whose columns have no common type, or that hold a column that their folders name.
    """

    def __init__(self, files: Sequence[DataFile], *, where: str, folders: FolderColumns | None = None,
                 wanted: Sequence[str | None] = (), table: str | None = None) -> None:
        self.paths = files
        self._table = table
        self._where = where
        self._folders = folders
        self._written = {file: written_at_first(file) for file in files}
        footers = self._all_footers(files)
        schemas = {file: data_fields(schema, wanted) for file, (_, schema) in zip(files, footers, strict=True)}
        self._one_schema = OneSchema(schemas, where=where, required=wanted)
        for file, (footer, _) in zip(files, footers, strict=True):
            self._one_schema.check_reach(file, footer)
        self.complete = self._one_schema.complete
        self.schema = self._with_folders(self._one_schema.fields)
        self.rows = sum(footer.num_rows for footer, _ in footers)
        self._footers = [footer for footer, _ in footers]
        self.notes: list[dict[bytes, bytes]] = [footer.metadata or {} for footer in self._footers]
        self._kept = [list(range(footer.num_row_groups)) for footer in self._footers]
        self._repeated = _repeated_text([footer for footer, _ in footers], self.schema)
        self._left_open: dict[DataFile, pq.ParquetFile] | None = None

    def where(self, conditions: Sequence[Expr]) -> ParquetFiles:
        """Without the row groups none of whose rows can meet all conditions."""
        kept = [[number for number in groups if may_meet(self._ends(file, footer, number), conditions)]
                for file, footer, groups in zip(self.paths, self._footers, self._kept, strict=True)]
        clone = copy.copy(self)
        vars(clone).update(_kept=kept, rows=sum(sum(_sizes(*each)) for each in zip(self._footers, kept, strict=True)))
        return clone

    def each(self) -> Iterator[ParquetFiles]:
        """Its row groups, one after the other."""
        for file, footer, kept in zip(self.paths, self._footers, self._kept, strict=True):
            for number in kept:
                one = copy.copy(self)
                vars(one).update(paths=[file], _footers=[footer], _kept=[[number]], rows=sum(_sizes(footer, [number])))
                yield one

    def between(self, first: int, stop: int, rows: int) -> ParquetFiles:
        """Only the row groups from number `first` up to `stop`, in the order of reading; they have so many rows."""
        paths, footers, kept, begin = [], [], [], 0
        for file, footer, groups in zip(self.paths, self._footers, self._kept, strict=True):
            if mine := groups[max(first - begin, 0) : max(stop - begin, 0)]:
                paths.append(file)
                footers.append(footer)
                kept.append(mine)
            begin += len(groups)
        clone = copy.copy(self)
        vars(clone).update(paths=paths, _footers=footers, _kept=kept, rows=rows)
        return clone

    def opened(self) -> ParquetFiles:
        """The same, but that files are left open once they were read, some of them: for one thread, and many reads."""
        clone = copy.copy(self)
        vars(clone).update(_left_open={})
        return clone

    def holding(self, conditions: Sequence[Expr]) -> list[bool]:
        """Of each row group, whether some of its rows may meet all conditions."""
        return [may_meet(self._ends(file, footer, number), conditions)
                for file, footer, kept in zip(self.paths, self._footers, self._kept, strict=True) for number in kept]

    def stamp(self) -> str:
        """Sizes, times of writing and footers, as they were when the files were opened."""
        digest = blake2b(repr([self._written[file] for file in self.paths]).encode(), digest_size=16)
        for footer in self._footers:
            sink = pa.BufferOutputStream()
            footer.write_metadata_file(sink)
            digest.update(sink.getvalue())
        return digest.hexdigest()

    def check_spark_type(self, name: str, given: pa.DataType, null: pa.DataType) -> None:
        """As :meth:`OneSchema.check_spark_type`."""
        self._one_schema.check_spark_type(name, given, null)

    def alike(self) -> list[list[DataFile]]:
        """Files whose columns are of the same types, together."""
        return self._one_schema.alike(self.paths)

    def lies_in(self, row: int) -> str:
        """In which of several files a row lies, and after which that one is read; empty where there is one file."""
        before: DataFile | None = None
        for file, footer, kept in zip(self.paths, self._footers, self._kept, strict=True):
            for number in kept:
                rows = footer.row_group(number).num_rows
                if row < rows and len(self.paths) > 1:
                    here, there = shown_apart(file, before or file)
                    inside = row + sum(_sizes(footer, range(number)))
                    return f"row {inside:,} of {here!r}" + (f", read after {there!r}" if before else "")
                row -= rows
            before = file
        return ""

    @property
    def stored_schemas(self) -> list[pa.Schema]:
        """Different schemas of the files, with the ids of their fields as their writers gave them."""
        return list({str(schema): schema for schema in (footer.schema.to_arrow_schema() for footer in self._footers)
                     }.values())

    @cached_property
    def int96(self) -> frozenset[str]:
        """Columns of the legacy 96-bit timestamps: moments in UTC by convention, though they come without a zone."""
        return frozenset.intersection(*map(_int96, self._footers))

    @property
    def row_groups(self) -> tuple[int, int]:
        """How many row groups are read, and how many there are."""
        return sum(map(len, self._kept)), sum(footer.num_row_groups for footer in self._footers)

    @property
    def nbytes(self) -> int:
        """Bytes of all columns once decoded, as writers of footers say."""
        return sum(footer.row_group(number).total_byte_size
                   for footer, kept in zip(self._footers, self._kept, strict=True) for number in kept)

    def bounds(self, name: str) -> list[tuple[int, Column]] | None:
        """Rows of each row group, and the smallest and largest value of a column in it; None if one is unknown."""
        found = [(footer.row_group(number).num_rows, self._ends(file, footer, number)(name))
                 for file, footer, kept in zip(self.paths, self._footers, self._kept, strict=True) for number in kept]
        known = [(rows, ends) for rows, ends in found if ends is not None]
        return known if len(known) == len(found) else None

    def _ends(self, file: DataFile, footer: pq.FileMetaData, number: int) -> Callable[[str], Column | None]:
        """What tells the smallest and the largest value of a column in a row group."""
        group = footer.row_group(number)

        def ends(name: str) -> Column | None:
            ends = None if self._folders is None else self._folders.ends(file, name)
            return self._one_schema.ends(file, group, name) if ends is None else ends

        return ends

    def record_batches(self, columns: Sequence[str], offset: int) -> Generator[pa.RecordBatch]:
        """Rows from `offset` on with these columns, at most :data:`BATCH_ROWS` at a time."""
        return read_ahead(self._parts(list(columns), offset))

    def decoded(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The same, on the calling thread."""
        for part in self._parts(list(columns), 0):
            yield from part

    def _parts(self, columns: list[str], offset: int) -> Iterator[Generator[pa.RecordBatch]]:
        """What is decoded by one reader at a time: a row group, or some small ones of a file."""
        for file, footer, kept in zip(self.paths, self._footers, self._kept, strict=True):
            sizes = _sizes(footer, kept)
            for first, stop in pairwise(_spans(sizes, BATCH_ROWS)):  # enough to open the file again for each
                rows = sum(sizes[first:stop])
                if offset < rows:
                    yield self._decode(file, footer, columns, kept[first:stop], offset)
                offset = max(0, offset - rows)

    def _decode(self, file: DataFile, footer: pq.FileMetaData, columns: list[str], row_groups: list[int],
                skip: int) -> Generator[pa.RecordBatch]:
        try:
            with self._reader(file, footer) as reader:
                self._check_unchanged(file)
                held = reader.schema_arrow.names
                inside = [name for name in columns if name in held]
                for data in _record_batches(reader, inside or (self._one_schema.fields.names or held)[:1], row_groups):
                    if skip < data.num_rows:
                        rows = self._one_schema.rows(file, data.slice(skip), columns)
                        yield rows if self._folders is None else self._folders.added(file, rows, columns)
                    skip = max(0, skip - data.num_rows)
        except (OSError, pa.ArrowException) as error:
            self._check_unchanged(file)
            raise self._broken(file, error) from None
        self._check_unchanged(file)

    def _reader(self, file: DataFile, footer: pq.FileMetaData) -> AbstractContextManager[pq.ParquetFile]:
        left_open = self._left_open
        if left_open is None:
            return self._open(file, self._repeated, footer)
        if file not in left_open:
            if len(left_open) >= _MAX_OPEN:
                left_open.pop(next(iter(left_open))).close()
            left_open[file] = self._open(file, self._repeated, footer)
        return nullcontext(left_open[file])

    def _all_footers(self, files: Sequence[DataFile]) -> list[tuple[pq.FileMetaData, pa.Schema]]:
        if not any(isinstance(file, RemoteFile) for file in files):
            return [self._footer(file) for file in files]
        with ThreadPoolExecutor(_REQUESTS, thread_name_prefix="whimbrel-footers") as threads:
            return list(threads.map(self._footer, files))

    def _footer(self, file: DataFile) -> tuple[pq.FileMetaData, pa.Schema]:
        try:
            if (self._written[file] or (0, 0))[0] == 0:
                raise SourceError(f"{str(file)!r} is empty (0 bytes).", where=self._where,
                                  hint="Write the file again; a Parquet file without rows still has a footer.")
            with self._open(file) as reader:
                return reader.metadata, reader.schema_arrow
        except (OSError, pa.ArrowException) as error:
            raise self._broken(file, error) from None

    def _open(self, file: DataFile, repeated: Sequence[str] = (),
              footer: pq.FileMetaData | None = None) -> pq.ParquetFile:
        # Without pre_buffer only one row group's columns are held at a time; a server is asked for few large ranges.
        import pyarrow.parquet as pq  # when it is needed: it takes as long to load as the rest of Arrow

        place, system = (file.key, file.system) if isinstance(file, RemoteFile) else (file, None)
        return pq.ParquetFile(place, metadata=footer, read_dictionary=list(repeated), coerce_int96_timestamp_unit="us",
                              pre_buffer=system is not None, filesystem=system)

    def _check_unchanged(self, file: DataFile) -> None:
        """Refuse a file that changed after its footer was read."""
        if written(file) not in (None, self._written[file]):  # what was removed while it is open stays as it was
            raise SourceError(f"{str(file)!r} changed after it was opened.", where=self._where,
                              hint="Use read_parquet again, and write new data to new files.")

    def _broken(self, file: DataFile, error: Exception) -> SourceError:
        if self._table is not None and is_removed(file, error):
            return SourceError(f"{file.name!r} of {self._table!r} was removed: the table was vacuumed or changed after "
                               "this read was planned.", where=self._where,
                               hint=f"Use {self._where.partition('(')[0]} again, or keep removed files for longer.")
        return broken_file(file, error, title="Parquet", where=self._where)

    def _with_folders(self, fields: pa.Schema) -> pa.Schema:
        for field in self._folders.fields if self._folders is not None else ():
            if field.name in fields.names:
                raise SchemaError(f"Column {field.name!r} is both in the files and in the names of their folders.",
                                  where=self._where, hint="Use a list of the files to read the column of the files.")
            fields = fields.append(field)
        return fields


def _record_batches(reader: pq.ParquetFile, columns: list[str], row_groups: list[int]) -> Iterator[pa.RecordBatch]:
    """Decode row groups: small ones whole with parallel columns, tiny ones merged, large ones in parts."""
    for first, stop in pairwise(_spans(_sizes(reader.metadata, row_groups), _FEW_ROWS)):
        together = row_groups[first:stop]
        if sum(reader.metadata.row_group(number).total_byte_size for number in together) <= WHOLE_BYTES:
            data = reader.read_row_groups(together, columns=columns)
            yield from (data.combine_chunks() if len(together) > 1 else data).to_batches(BATCH_ROWS)
        else:
            yield from reader.iter_batches(BATCH_ROWS, row_groups=together, columns=columns)


def _sizes(footer: pq.FileMetaData, row_groups: Sequence[int]) -> list[int]:
    return [footer.row_group(number).num_rows for number in row_groups]


def _int96(footer: pq.FileMetaData) -> frozenset[str]:
    columns = (footer.schema.column(index) for index in range(len(footer.schema)))
    return frozenset(column.path for column in columns if column.physical_type == "INT96")


def _spans(sizes: Sequence[int], enough: int) -> list[int]:
    """Starts of parts with enough rows each, except the last; and the end."""
    begins, rows = [0], 0
    for number, size in enumerate(sizes):
        if rows >= enough:
            begins.append(number)
            rows = 0
        rows += size
    return [*begins, len(sizes)]


def _repeated_text(footers: list[pq.FileMetaData], fields: pa.Schema) -> list[str]:
    """String columns with few distinct values, by the size of their first row group."""
    groups = [footer.row_group(0) for footer in footers if footer.num_row_groups]
    if not groups:
        return []
    chunks = (groups[0].column(index) for index in range(groups[0].num_columns))
    small = {chunk.path_in_schema for chunk in chunks
             if chunk.has_dictionary_page and chunk.total_uncompressed_size < _REPEATED_BYTES * chunk.num_values}
    return [field.name for field in fields
            if field.name in small and (pa.types.is_string(field.type) or pa.types.is_large_string(field.type))]
