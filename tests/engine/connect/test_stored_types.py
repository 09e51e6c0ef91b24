"""Types that Delta and Iceberg tables lack: what is stored in their place, and what is refused."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import SinkError


def written(kind: str, log: wb.Stream, folder: Path) -> dict[str, list[Any]]:
    """The columns of a table that is written and read again."""
    catalog = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/lake"}
    sink = wb.sinks.delta(folder / "t") if kind == "delta" else wb.sinks.iceberg("s.t", catalog)
    with log.start(sink=sink) as run:
        run.wait()
    if kind == "delta":
        return wb.read_delta(folder / "t", time="start", end="end").collect().to_pydict()
    return wb.read_iceberg("s.t", catalog, time="start", end="end").collect().to_pydict()


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_values_come_back(kind: str, tmp_path: Path) -> None:
    """Nanoseconds are cut, and ends rounded up: a lifetime of one nanosecond stays one."""
    moments = [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)]
    log = wb.from_arrow(pa.table({
        "at": pa.array(moments, pa.timestamp("ns")), "u": pa.array([2**64 - 1, None], pa.uint64()),
        "pair": pa.array([[1, 2], None], pa.list_(pa.int8(), 2)), "key": pa.array([b"ab", None], pa.binary(2)),
        "of": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int8())),
        "us": pa.array([[2**64 - 1], [3]], pa.list_(pa.uint64())), "d": pa.array(moments, pa.date64()),
        "v": pa.array([{"a": [1]}, None], pa.struct([("a", pa.large_list(pa.uint8()))]))}), time="at")
    found = written(kind, log, tmp_path)
    assert found["u"] == [2**64 - 1, None]
    assert (found["pair"], found["key"], found["of"]) == ([[1, 2], None], [b"ab", None], [[("a", 1)], None])
    assert found["us"] == [[2**64 - 1], [3]]
    assert found["d"] == [each.date() for each in moments]
    assert found["v"] == [{"a": [1]}, None]
    assert found["start"] == found["at"] == moments
    assert found["end"] == [each + dt.timedelta(microseconds=1) for each in moments]


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_type_that_tables_lack_is_refused(kind: str, tmp_path: Path) -> None:
    log = wb.from_arrow(pa.table({"at": [0], "x": pa.array([1], pa.time64("ns"))}), time="at")
    for refused in (log, log.select(x=wb.lit(None))):
        with pytest.raises(SinkError, match=r"Column 'x' is (time64\[ns\]|null), which such tables do not have"):
            written(kind, refused, tmp_path)
    assert not (tmp_path / "t").exists()
    with_lists = log.tumbling_window(5).aggregate(q=wb.quantiles(col.at, [0.1, 0.9]))
    assert written(kind, with_lists, tmp_path)["q"] == [[0.0, 0.0]]


def test_a_null_list_of_structs_is_no_empty_list_in_iceberg(tmp_path: Path) -> None:
    type_ = pa.list_(pa.struct({"a": pa.int64()}))
    log = wb.from_arrow(pa.table({"at": [0, 1], "x": pa.array([[{"a": 1}], []], type_)}), time="at")
    assert written("iceberg", log, tmp_path)["x"] == [[{"a": 1}], []]
    log = wb.from_arrow(pa.table({"at": [0], "x": pa.array([None], type_)}), time="at")
    with pytest.raises(SinkError, match="Column 'x' has null in place of a list or map of structs"):
        written("iceberg", log, tmp_path)
