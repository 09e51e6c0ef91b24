from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import whimbrel as wb
from tests.engine.connect.reading import batches, rows
from whimbrel.connect import ArrowSource, pandas_source
from whimbrel.errors import SchemaError, SourceError

TABLE = pa.table({"t": [1, 2, 5], "x": [10.0, None, 30.0], "name": ["a", None, "c"]})
ROWS = [(1, 2, 10.0, "a"), (2, 3, None, None), (5, 6, 30.0, "c")]


@pytest.mark.parametrize("data", (
    TABLE,
    TABLE.to_batches()[0],
    pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(max_chunksize=2)),
    pl.DataFrame({"t": [1, 2, 5], "x": [10.0, None, 30.0], "name": ["a", None, "c"]}),
), ids=["table", "record batch", "reader", "polars"])
def test_whatever_speaks_arrow_gives_the_same_rows(data: object) -> None:
    source = ArrowSource(data, time="t")
    assert (source.name, source.rows, source.live) == ("table", 3, False)
    for _ in range(2):
        assert rows(source, ["x", "name"]) == ROWS


@pytest.mark.parametrize("type_", (pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.large_string())))
def test_text_of_every_layout_is_a_string(type_: pa.DataType) -> None:
    source = ArrowSource(TABLE.set_column(2, "name", TABLE["name"].cast(type_)), time="t")
    assert source.schema.type_of("name") == pa.string()
    assert rows(source, ["x", "name"]) == ROWS


def test_runs_are_spelled_out() -> None:
    runs = pc.run_end_encode(TABLE["name"].combine_chunks())
    source = ArrowSource(TABLE.set_column(2, "name", runs), time="t")
    assert source.schema.type_of("name") == pa.string()
    assert rows(source, ["x", "name"], 1) == ROWS[1:]


def test_numbers_are_shared_not_copied() -> None:
    values = np.arange(5.0)
    batch = next(batches(ArrowSource(pa.table({"t": pa.array(range(5)), "x": values}), time="t"), ["x"]))
    assert np.shares_memory(batch.column("x").values, values)


@pytest.mark.parametrize("offset", (0, 1, 2, 3, 9))
def test_reading_from_a_row_gives_the_tail(offset: int) -> None:
    chunks = pa.concat_tables([TABLE.slice(0, 2), TABLE.slice(2)])
    assert rows(ArrowSource(chunks, time="t"), ["x", "name"], offset) == ROWS[offset:]


def test_only_the_columns_asked_for_in_their_order() -> None:
    batch = next(batches(ArrowSource(TABLE, time="t"), ["name", "t"]))
    assert batch.schema.names == ("name", "t")


def test_batches_stay_small() -> None:
    source = ArrowSource(pa.table({"t": np.arange(2_500_000)}), time="t")
    assert [len(batch) for batch in batches(source, [])] == [1_048_576, 1_048_576, 402_848]


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(SourceError, match="data must be an Arrow table, got list") as caught:
        ArrowSource([1, 2], time="t")
    assert "from_pandas" in caught.value.hint


def test_a_frame_leaves_its_index_out() -> None:
    frame = pd.DataFrame({"t": [1, 2], "x": [0.5, None]}, index=pd.Index(["a", "b"], name="key"))
    source = pandas_source(frame, time="t")
    assert source.schema.names == ("t", "x")
    assert rows(source, ["x"]) == [(1, 2, 0.5), (2, 3, None)]


def test_a_frame_may_be_timed_by_its_index() -> None:
    frame = pd.DataFrame({"x": [7]}, index=pd.DatetimeIndex(["1970-01-01 00:00:01"], name="when", tz="UTC"))
    source = pandas_source(frame, time="when")
    assert (source.schema.unit, source.schema.zone) == ("ns", "UTC")
    assert rows(source, ["x"]) == [(10**9, 10**9 + 1, 7)]


def test_a_frame_that_is_none_or_mixes_types_is_refused() -> None:
    with pytest.raises(SourceError, match="frame must be a pandas DataFrame, got Table"):
        pandas_source(TABLE, time="t")
    with pytest.raises(SchemaError, match="must have one type: Conversion failed for column x") as caught:
        pandas_source(pd.DataFrame({"t": [1, 2], "x": [b"a", 1]}), time="t")
    assert caught.value.where == "from_pandas(..., time='t')"


@pytest.mark.parametrize("column", [
    pd.arrays.SparseArray([0, 1]), [2**70, 1], pd.Series([1, 2]).to_numpy() + 1j,
], ids=["sparse", "beyond 64 bits", "complex"])
def test_a_frame_with_what_arrow_does_not_have_is_refused(column: Any) -> None:
    frame = pd.DataFrame({"t": [1, 2], "x": column})
    with pytest.raises(SchemaError):
        wb.from_pandas(frame, time="t")
    with pytest.raises(SourceError, match="Cannot convert this DataFrame to a table"):
        wb.from_arrow(frame, time="t")


def test_a_frame_with_two_columns_of_one_name_is_refused() -> None:
    frame = pd.DataFrame([[1, 2, 3]], columns=["t", "x", "x"])
    with pytest.raises(SchemaError, match="two columns named 'x'"):
        wb.from_pandas(frame, time="t")


def test_what_only_another_library_can_compare_is_no_key() -> None:
    stream = wb.from_pandas(pd.DataFrame({"t": [1, 2], "x": pd.interval_range(0, 2)}), time="t")
    with pytest.raises(SchemaError, match="cannot be a key"):
        stream.group_by("x")
    with pytest.raises(SchemaError, match="cannot be a key"):
        stream.join(stream, on="x")


def test_a_number_is_no_path() -> None:
    with pytest.raises(SourceError, match="path must be a path or a list of paths, got 3"):
        wb.read_parquet(3, time="t")


def test_python_objects_of_polars_are_no_values() -> None:
    """Their addresses in memory came as values of eight bytes."""
    frame = pl.DataFrame({"t": [1, 2], "x": pl.Series([object(), object()])})
    with pytest.raises(SourceError, match="Column 'x' of the DataFrame has Python objects"):
        wb.from_arrow(frame, time="t")
    assert wb.from_arrow(frame.drop("x"), time="t").collect().num_rows == 2
