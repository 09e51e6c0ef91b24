"""Hive-partitioned Parquet files of Spark, read through Arrow."""

from __future__ import annotations

import copy
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema, plain_array
from whimbrel.connect import Timeline
from whimbrel.connect.files.data_file import DataFile
from whimbrel.connect.files.parquet_files import ParquetFiles
from whimbrel.expr import Expr, columns_of, predicate
from whimbrel.plan import Blocks

Order = Literal["newest", "random"]


class PlainFiles:
    """Files, and columns that have one value in all rows of a file.

    Parameters
    ----------
    files : ParquetFiles
    known : pyarrow.Schema
        The columns that folders name.
    constants : mapping of DataFile to (mapping of str to value)
        Their values by file, as Arrow counts them.

    Attributes
    ----------
    rows : int
    """

    def __init__(self, files: ParquetFiles, known: pa.Schema, constants: Mapping[DataFile, Mapping[str, Any]]) -> None:
        self.files, self.known, self._constants = files, known, constants
        self._whole = True
        self.rows = files.rows

    @cached_property
    def parts(self) -> tuple[ParquetFiles, ...]:
        """Row groups, in the order in which they are read."""
        return tuple(self.files.each())

    def blocks(self, timeline: Timeline) -> Blocks | None:
        """Row groups as blocks; None where one does not say its times."""
        bounds = [part.bounds(timeline.time) for part in self.parts]
        if not bounds or not all(bounds):
            return None
        ends = np.cumsum([part.rows for part in self.parts])
        times = np.array([timeline.starts(known[0][1].to_arrow()) for known in bounds if known])
        return Blocks(ends - [part.rows for part in self.parts], ends, times[:, 0], times[:, 1])

    def between(self, first: int, stop: int) -> PlainFiles:
        """Only the row groups that begin within rows [first, stop)."""
        begins = accumulate((part.rows for part in self.parts), initial=0)
        return self._with([part for part, begin in zip(self.parts, begins, strict=False) if first <= begin < stop])

    def where(self, conditions: Sequence[Expr]) -> PlainFiles:
        """Without files and row groups none of whose rows can meet all conditions."""
        on_known = [each for each in conditions if columns_of(each) and columns_of(each) <= set(self.known.names)]
        parts = [part for part in self.parts if part.where(conditions).rows and self._may_meet(part, on_known)]
        rows = sum(part.rows for part in parts)
        return self if rows == self.rows else self._with(parts)

    def in_order(self, order: Order, time: str) -> PlainFiles:
        """With row groups in another order: by their newest row, the newest first, or by chance, always the same."""
        parts = self.parts
        if order == "random":
            return self._with([parts[index] for index in np.random.default_rng(1).permutation(len(parts))])
        known = [part.bounds(time) for part in parts]
        if any(bounds is None for bounds in known):
            return self
        newest = [max(bounds[0][1].values) if bounds else 0 for bounds in known if bounds is not None]
        return self._with([parts[index] for index in sorted(range(len(parts)), key=lambda index: -newest[index])])

    def record_batches(self, columns: Sequence[str], offset: int) -> Generator[pa.RecordBatch]:
        """Rows from `offset` on with these columns."""
        inside = [name for name in columns if name not in self.known.names]
        if self._whole and len(inside) == len(columns):
            yield from self.files.record_batches(columns, offset)
            return
        for part in self.parts:
            if offset >= part.rows:
                offset -= part.rows
                continue
            with closing(part.record_batches(inside or part.schema.names[:1], offset)) as data:
                for rows in data:
                    arrays = [rows.column(name) if name in inside else self._constant(part, name, len(rows))
                              for name in columns]
                    yield pa.record_batch(arrays, names=list(columns))
            offset = 0

    def _with(self, parts: Sequence[ParquetFiles]) -> PlainFiles:
        copied = copy.copy(self)
        vars(copied).update(parts=tuple(parts), _whole=False, rows=sum(part.rows for part in parts))
        return copied

    def _may_meet(self, part: ParquetFiles, on_known: Sequence[Expr]) -> bool:
        if not on_known:
            return True
        columns = tuple(Column.from_arrow(plain_array(self._constant(part, field.name, 1))) for field in self.known)
        row = Batch(Schema(tuple(Field(field.name, field.type) for field in self.known)), np.zeros(1, np.int64), 1,
                    columns)
        return all(predicate(condition, row).all() for condition in on_known)

    def _constant(self, part: ParquetFiles, name: str, rows: int) -> pa.Array:
        type_, value = self.known.field(name).type, self._constants[part.paths[0]][name]
        whole = pa.int32() if pa.types.is_date(type_) else type_
        return pa.repeat(pa.scalar(value, whole), rows).cast(type_)
