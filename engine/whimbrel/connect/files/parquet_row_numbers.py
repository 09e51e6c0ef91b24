"""Parquet files whose event time is the number of the row."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.clock.duration import Duration
from whimbrel.connect.files.parquet import ParquetSource
from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.partition_watermarks import PartitionWatermarks, by_of
from whimbrel.connect.tables.columnar_source import ColumnarSource
from whimbrel.connect.tables.time_column_markers import SEQUENCE_COLUMN, check_free


class NumberedParquet(ColumnarSource):
    """Rows of Parquet files in file order, with the row number as the event time.

    Parameters
    ----------
    path : str, path, or several
    filesystem : optional
        As of :class:`~whimbrel.connect.files.parquet.ParquetSource`.
    end, arrival, reorder_latency, late, name, partition
        As in :class:`~whimbrel.connect.tables.columnar_source.TimedSource`.

    Examples
    --------
    >>> from whimbrel.connect.datasets.catalog import flights_file
    >>> rows = NumberedParquet(flights_file())
    >>> next(rows.read(["sequence"])).sync[:3].tolist()
    [0, 1, 2]
    """

    def __init__(self, path: FilePath | Iterable[FilePath], *, end: str | None = None, arrival: str | None = None,
                 reorder_latency: Duration | None = None, late: str | None = None, name: str | None = None,
                 partition: str | PartitionWatermarks | None = None, filesystem: Any = None) -> None:
        where = "read_parquet(..., time=wb.SEQUENCE)"
        self._files, named, rows = ParquetSource.opened(path, where=where, wanted=(end, arrival, by_of(partition)),
                                                         filesystem=filesystem)
        check_free(SEQUENCE_COLUMN, self._files.schema.names, where)
        fields = self._files.schema.append(pa.field(SEQUENCE_COLUMN, pa.int64()))
        super().__init__(fields, time=SEQUENCE_COLUMN, end=end, arrival=arrival, reorder_latency=reorder_latency,
                         late=late, name=name or named, rows=rows, where=where, partition=partition)

    def stamp(self) -> str | None:
        return self._files.stamp()

    def _record_batches(self, columns: list[str], offset: int) -> Generator[pa.RecordBatch]:
        written = [name for name in columns if name != SEQUENCE_COLUMN]
        with closing(self._files.record_batches(written, offset)) as parts:
            for part in parts:
                numbers = pa.array(np.arange(offset, offset + part.num_rows))
                yield pa.RecordBatch.from_arrays([numbers if name == SEQUENCE_COLUMN else part.column(name)
                                                  for name in columns], names=columns)
                offset += part.num_rows
