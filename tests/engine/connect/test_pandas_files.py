"""Files that pandas wrote: an index without a name is no column, as of a frame."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from tests.engine.connect.feeds.listen import reading, values
from whimbrel import col
from whimbrel.connect import ParquetSource
from whimbrel.errors import SchemaError

FRAME = pd.DataFrame({"t": [1, 2, 5], "user": ["ann", "ann", "bob"]})
LEVEL = "__index_level_0__"
INDEXES = {
    "numbers": pd.Index([3, 5, 8]),
    "texts": pd.Index(["a", "b", "c"]),
    "times": pd.DatetimeIndex(["2024-01-01", "2024-01-05", "2024-01-02"]),
    "categories": pd.CategoricalIndex(["a", "b", "a"]),
    "called as a column": pd.Index([7, 8, 9], name="t"),
    "two levels": pd.MultiIndex.from_arrays([[1, 2, 3], ["a", "b", "c"]]),
}


def written(path: Path, index: pd.Index | None, frame: pd.DataFrame = FRAME) -> Path:
    """A file as pandas writes a frame with this index; None: without it."""
    table = pa.Table.from_pandas(frame if index is None else frame.set_axis(index), preserve_index=index is not None)
    pq.write_table(table, path)
    return path


@pytest.mark.parametrize("index", INDEXES)
def test_no_index_without_a_name_is_a_column(tmp_path: Path, index: str) -> None:
    path = written(tmp_path / "log.parquet", INDEXES[index])
    assert any("__index_level_" in name for name in pq.read_schema(path).names)
    log, plain = wb.read_parquet(path, time="t"), wb.from_pandas(FRAME, time="t")
    assert log.schema == plain.schema
    for ask in (lambda log: log, lambda log: log.drop("t").tumbling_window(10).distinct(),
                lambda log: log.set_duration(3).drop("t").stitch(), lambda log: log.drop("t").unpivot(),
                lambda log: log.union(wb.from_arrow({"t": [5], "user": ["eve"]}, time="t", name="more")),
                lambda log: log.where(col.user != "bob").on(wb.from_arrow({"t": [5], "user": ["eve"]}, time="t"))):
        assert ask(log).collect().to_pylist() == ask(plain).collect().to_pylist()


def test_one_that_has_a_name_is_a_column(tmp_path: Path) -> None:
    path = written(tmp_path / "log.parquet", pd.Index([7, 8, 9], name="label"))
    assert wb.read_parquet(path, time="t").schema.names == ("t", "user", "label")


def test_it_may_be_asked_for_by_name(tmp_path: Path) -> None:
    times = pd.DatetimeIndex(["2024-01-01", "2024-01-02", "2024-01-05"])
    log = wb.read_parquet(written(tmp_path / "log.parquet", times), time=LEVEL)
    assert log.schema.names == ("t", "user", LEVEL)
    assert log.collect()[LEVEL].to_pylist() == list(times)
    ended = wb.read_parquet(written(tmp_path / "log.parquet", pd.Index([3, 5, 8])), time="t", end=LEVEL)
    assert ended.collect()["end"].to_pylist() == [3, 5, 8]


@pytest.mark.parametrize("indexes", [("numbers", None), (None, "numbers"), ("texts", "numbers"), ("two levels", None)])
def test_files_with_and_without_an_index_are_one_log(tmp_path: Path, indexes: tuple[str | None, str | None]) -> None:
    for number, index in enumerate(indexes):
        written(tmp_path / f"{number}.parquet", index and INDEXES[index], FRAME.assign(t=FRAME.t + 10 * number))
    log = wb.read_parquet(tmp_path, time="t")
    assert log.collect()["t"].to_pylist() == [1, 2, 5, 11, 12, 15]
    if None in indexes:
        with pytest.raises(SchemaError, match=rf"'{LEVEL}' is .* in '\d.parquet' and .* in '\d.parquet'"):
            wb.read_parquet(tmp_path, time="t", arrival=LEVEL)


def test_a_column_that_only_its_name_says_to_be_an_index_is_kept(tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": [1], LEVEL: [2]}), tmp_path / "log.parquet")
    assert wb.read_parquet(tmp_path / "log.parquet", time="t").schema.names == ("t", LEVEL)


def test_rows_are_counted_where_only_columns_of_folders_are_asked_for(tmp_path: Path) -> None:
    for day, type_ in ((1, "int32"), (2, "int64")):
        (tmp_path / f"day={day}").mkdir()
        frame = pd.DataFrame({"x": pd.Series([1, 2], dtype=type_)}, index=pd.Index(["a", "b"]))
        written(tmp_path / f"day={day}" / "log.parquet", frame.index, frame)
    log = ParquetSource(tmp_path, time="day")
    assert log.schema.names == ("x", "day")
    assert [day for batch in log.read(["day"]) if batch for day in batch.sync.tolist()] == [1, 1, 2, 2]


def test_a_feed_of_a_directory_leaves_it_out_too(tmp_path: Path) -> None:
    written(tmp_path / "1.parquet", INDEXES["numbers"])
    feed = wb.feeds.directory(tmp_path, time="t")
    assert feed.schema.names == ("t", "user")
    with reading(feed) as found:
        written(tmp_path / ".2", None)
        (tmp_path / ".2").rename(tmp_path / "2.parquet")
        assert values(found, 6, "user") == ["ann", "ann", "bob"] * 2
    assert wb.feeds.directory(tmp_path, time="t", end=LEVEL).schema.names == ("t", "user", LEVEL)
