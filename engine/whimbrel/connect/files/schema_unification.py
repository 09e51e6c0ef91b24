"""Unification of the schemas of files that are read together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from whimbrel.batch import Column, logical_type
from whimbrel.connect.files.common_type import as_wider, wider_type
from whimbrel.connect.files.data_file import DataFile
from whimbrel.connect.files.paths import shown_apart
from whimbrel.connect.row_group_pruning import smallest_and_largest
from whimbrel.errors import SchemaError, SourceError

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_SAME = "Use files with types that one type holds exactly."
_TELL_SPARK = "Use spark.read.schema(...) with the wider type, columns= without this column, or read_parquet."


class OneSchema:
    """One schema for several files, whose types hold the values of each file exactly.

    Parameters
    ----------
    files : mapping of DataFile to pyarrow.Schema
        Schema of each file, in the order of reading; at least one.
    where : str
        The user's call, for errors.
    required : sequence of str or None
        Columns that no file may lack, such as that of event time.

    Attributes
    ----------
    fields : pyarrow.Schema
        Columns in the order in which they first appear.
    complete : bool
        Whether each file has all columns.

    Raises
    ------
    SchemaError
        For a required column that a file lacks, a column that is in a file twice, or types without an exact common
        type; it names both files.

    Examples
    --------
    >>> from pathlib import Path
    >>> one = OneSchema({Path("a"): pa.schema({"x": pa.int32()}), Path("b"): pa.schema({"x": pa.int64()})}, where="")
    >>> one.fields.field("x").type
    DataType(int64)
    """

    def __init__(self, files: Mapping[DataFile, pa.Schema], *, where: str, required: Sequence[str | None] = ()) -> None:
        self._where, self._schemas = where, dict(files)
        self._first: dict[pa.Schema, DataFile] = {}
        for file, schema in files.items():
            self._first.setdefault(schema, file)
        first, *others = self._first or (pa.schema([]),)
        for schema in self._first:
            self._check_names(schema)
        names = dict.fromkeys(name for schema in self._first for name in schema.names)
        for name in filter(names.__contains__, required):
            self._check_required(name)
        self.complete = all(len(schema.names) == len(names) for schema in self._first)
        self.fields = first if not others else pa.schema([self._unified(name) for name in names])
        self._own = {file: schema for file, schema in files.items() if schema != self.fields}

    def ends(self, file: DataFile, group: pq.RowGroupMetaData, name: str) -> Column | None:
        """Smallest and largest value of a column in a row group, from footer statistics."""
        if file in self._own and name not in self._own[file].names:
            return None
        ends = smallest_and_largest(group, self._own.get(file, self.fields), name)
        if ends is None or file not in self._own:
            return ends
        try:
            return Column.from_arrow(as_wider(ends.to_arrow(), self.fields.field(name).type))
        except pa.ArrowInvalid:
            raise self._out_of_reach(file, name) from None

    def rows(self, file: DataFile, rows: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
        """Cast rows of a file to the common types; strings keep their layout. Columns that it lacks are null.

        Raises
        ------
        SourceError
            For a time that the unit of another file cannot hold.
        """
        if file not in self._own:
            return rows
        arrays = []
        for name, array in zip(rows.schema.names, rows.columns, strict=True):
            try:
                arrays.append(as_wider(array, self.fields.field(name).type))
            except pa.ArrowInvalid:
                raise self._out_of_reach(file, name) from None
        lacking = [name for name in columns if name in self.fields.names and name not in self._own[file].names]
        arrays += [pa.nulls(rows.num_rows, self.fields.field(name).type) for name in lacking]
        return pa.record_batch(arrays, names=[*rows.schema.names, *lacking])

    def check_reach(self, file: DataFile, footer: pq.FileMetaData) -> None:
        """Refuse times of a file outside the range of another file's unit, from footer statistics.

        Raises
        ------
        SourceError
        """
        for name in self.fields.names if file in self._own else ():
            if pa.types.is_timestamp(self.fields.field(name).type):
                for number in range(footer.num_row_groups):
                    self.ends(file, footer.row_group(number), name)

    def check_spark_type(self, name: str, given: pa.DataType, null: pa.DataType) -> None:
        """Refuse a type that Spark took from one file, if it does not hold the values of another one.

        Parameters
        ----------
        name : str
        given : pyarrow.DataType
            Type of the column in Spark.
        null : pyarrow.DataType
            Type in Spark of a column with only nulls.

        Raises
        ------
        SchemaError
        """
        own = [(schema, schema.field(name).type) for schema in self._first if name in schema.names]
        source = next((schema for schema, type_ in own
                       if logical_type(type_) == given or (pa.types.is_null(type_) and given == null)), None)
        if source is None:
            return
        for schema, type_ in own:
            wider = wider_type(given, type_)
            known = wider is not None or pa.types.is_null(source.field(name).type)  # else it may read one as the other
            if known and wider != given and not pa.types.is_null(type_):
                raise self._differ(name, source, schema, then=f"; Spark reads both as {given}", hint=_TELL_SPARK)

    def alike(self, files: Sequence[DataFile]) -> list[list[DataFile]]:
        """Groups of files with the same column types."""
        groups: dict[pa.Schema, list[DataFile]] = {}
        for file in files:
            groups.setdefault(self._schemas[file], []).append(file)
        return list(groups.values())

    def _check_names(self, schema: pa.Schema) -> None:
        twice = next((name for name in schema.names if len(schema.get_all_field_indices(name)) > 1), None)
        if twice is not None:
            raise SchemaError(f"Column {twice!r} is in {self._first[schema].name!r} twice.", where=self._where,
                              hint="Write the file again with a name for each column.")

    def _check_required(self, name: str | None) -> None:
        lacking = next((schema for schema in self._first if name not in schema.names), None)
        if name is not None and lacking is not None:
            holding = next(schema for schema in self._first if name in schema.names)
            raise self._differ(name, holding, lacking, hint="Use files that all have this column.")

    def _unified(self, name: str) -> pa.Field:
        """A column with the common type of all files."""
        schemas = [schema for schema in self._first if name in schema.names]
        field, *others = (schema.field(name) for schema in schemas)
        type_ = field.type
        for number, other in enumerate(others, 1):
            if other.type != type_:
                wider = wider_type(type_, other.type)
                if wider is None:
                    raise self._differ(name, *self._apart(name, schemas, number))
                type_ = wider
        nullable = field.nullable or len(schemas) < len(self._first) or any(other.nullable for other in others)
        return pa.field(name, type_, nullable=nullable)

    @staticmethod
    def _apart(name: str, schemas: Sequence[pa.Schema], number: int) -> tuple[pa.Schema, pa.Schema]:
        """The schema of this number, and one whose type of a column has no common type with it."""
        other = schemas[number]
        return next(one for one in schemas if wider_type(one.field(name).type, other.field(name).type) is None), other

    def _differ(self, name: str, one: pa.Schema, other: pa.Schema, *, then: str = "", hint: str = _SAME) -> SchemaError:
        here, there = shown_apart(self._first[one], self._first[other])
        return SchemaError(f"Column {name!r} is {_type_in(one, name)} in {here!r} and {_type_in(other, name)} in "
                           f"{there!r}{then}.", where=self._where, hint=hint)

    def _out_of_reach(self, file: DataFile, name: str) -> SourceError:
        type_, own = self.fields.field(name).type, self._own[file].field(name).type
        other = next(each for schema, each in self._first.items()
                     if name in schema.names and not _holds(own, schema.field(name).type))
        here, there = shown_apart(file, other)
        return SourceError(f"Column {name!r} of {here!r} holds times beyond {type_}, which {there!r} needs.",
                           where=self._where, hint="Write both files with one time unit, or read them separately.")


def _type_in(schema: pa.Schema, name: str) -> str:
    return str(schema.field(name).type) if name in schema.names else "missing"


def _holds(type_: pa.DataType, other: pa.DataType) -> bool:
    """Whether a type holds all values of another type."""
    return wider_type(type_, other) == logical_type(type_)
