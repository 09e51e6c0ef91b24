"""Frames, relations and streams of other libraries as tables, by Arrow's C stream."""

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import whimbrel as wb


class Streamed:
    """What has an Arrow C stream and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


TABLE = pa.table({"at": range(1000), "x": [at / 4 for at in range(1000)], "k": [f"k{at % 3}" for at in range(1000)]})


@pytest.mark.parametrize("make", [
    Streamed, lambda table: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(100)),
    lambda table: pl.from_arrow(table).lazy().with_columns(pl.col("k")), pl.from_arrow,
    lambda table: duckdb.from_arrow(table).filter('"at" >= 0').order('"at"'),
    duckdb.arrow],
    ids=["C stream", "reader", "lazy frame", "data frame", "DuckDB query", "DuckDB relation"])
def test_whatever_streams_arrow_is_a_table(make):
    asked = wb.from_arrow(make(TABLE), time="at").group_by("k").tumbling_window(100).aggregate(x=wb.sum(wb.col.x))
    wanted = wb.from_arrow(TABLE, time="at").group_by("k").tumbling_window(100).aggregate(x=wb.sum(wb.col.x))
    for _ in range(2):  # a stream that is read once is held
        assert asked.collect().equals(wanted.collect())
