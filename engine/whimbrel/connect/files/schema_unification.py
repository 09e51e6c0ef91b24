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

_SAME = "Use files with the same columns, of types that one type holds exactly."
_TELL_SPARK = "Use spark.read.schema(...) with the wider type, columns= without this column, or read_parquet."


class OneSchema:
    """One schema for several files, whose types hold the values of each file exactly.

    Parameters
    ----------
    files : mapping of DataFile to pyarrow.Schema
        Schema of each file, in the order of reading; at least one.
    where : str
        The user's call, for errors.

    Attributes
    ----------
    fields : pyarrow.Schema
        Columns in the order of the first file.

    Raises
    ------
    SchemaError
        For a column that some file lacks, or types without an exact common type; it names both files.

    Examples
    --------
    >>> from pathlib import Path
    >>> one = OneSchema({Path("a"): pa.schema({"x": pa.int32()}), Path("b"): pa.schema({"x": pa.int64()})}, where="")
    >>> one.fields.field("x").type
    DataType(int64)
    """

    def __init__(self, files: Mapping[DataFile, pa.Schema], *, where: str) -> None:
        self._where, self._schemas = where, dict(files)
        self._first: dict[pa.Schema, DataFile] = {}
        for file, schema in files.items():
            self._first.setdefault(schema, file)
        first, *others = self._first
        for other in others:
            self._check_names(first, other)
        self.fields = first if not others else pa.schema([self._unified(name) for name in first.names])
        self._own = {file: schema for file, schema in files.items() if schema != self.fields}

    def ends(self, file: DataFile, group: pq.RowGroupMetaData, name: str) -> Column | None:
        """Smallest and largest value of a column in a row group, from footer statistics."""
        ends = smallest_and_largest(group, self._own.get(file, self.fields), name)
        if ends is None or file not in self._own:
            return ends
        try:
            return Column.from_arrow(as_wider(ends.to_arrow(), self.fields.field(name).type))
        except pa.ArrowInvalid:
            raise self._out_of_reach(file, name) from None

    def rows(self, file: DataFile, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Cast rows of a file to the common types; strings keep their layout.

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
        return pa.record_batch(arrays, names=rows.schema.names)

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
        own = [(schema, schema.field(name).type) for schema in self._first]
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

    def _check_names(self, fields: pa.Schema, other: pa.Schema) -> None:
        for name in dict.fromkeys([*fields.names, *other.names]):
            here, there = (len(schema.get_all_field_indices(name)) for schema in (fields, other))
            if here != 1 or there != 1:
                raise self._differ(name, fields, other)

    def _unified(self, name: str) -> pa.Field:
        """A column with the common type of all files."""
        field, *others = (schema.field(name) for schema in self._first)
        type_ = field.type
        for number, other in enumerate(others, 1):
            if other.type != type_:
                wider = wider_type(type_, other.type)
                if wider is None:
                    raise self._differ(name, *self._apart(name, number))
                type_ = wider
        return pa.field(name, type_, nullable=field.nullable or any(other.nullable for other in others))

    def _apart(self, name: str, number: int) -> tuple[pa.Schema, pa.Schema]:
        """The schema of this number, and one whose type of a column has no common type with it."""
        schemas = list(self._first)
        other = schemas[number]
        return next(one for one in schemas if wider_type(one.field(name).type, other.field(name).type) is None), other

    def _differ(self, name: str, one: pa.Schema, other: pa.Schema, *, then: str = "", hint: str = _SAME) -> SchemaError:
        here, there = shown_apart(self._first[one], self._first[other])
        return SchemaError(f"Column {name!r} is {_type_in(one, name)} in {here!r} and {_type_in(other, name)} in "
                           f"{there!r}{then}.", where=self._where, hint=hint)

    def _out_of_reach(self, file: DataFile, name: str) -> SourceError:
        type_, own = self.fields.field(name).type, self._own[file].field(name).type
        other = next(each for schema, each in self._first.items() if not _holds(own, schema.field(name).type))
        here, there = shown_apart(file, other)
        return SourceError(f"Column {name!r} of {here!r} holds times beyond {type_}, which {there!r} needs.",
                           where=self._where, hint="Write both files with one time unit, or read them separately.")


def _type_in(schema: pa.Schema, name: str) -> str:
    indices = schema.get_all_field_indices(name)
    return str(schema.field(indices[0]).type) if len(indices) == 1 else "there twice" if indices else "missing"


def _holds(type_: pa.DataType, other: pa.DataType) -> bool:
    """Whether a type holds all values of another type."""
    return wider_type(type_, other) == logical_type(type_)
