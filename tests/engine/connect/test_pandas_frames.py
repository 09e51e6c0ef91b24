"""What of a DataFrame becomes columns: never its row labels, unless they are asked for by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import SchemaError

FRAME = pd.DataFrame({"t": [1, 1, 2], "user": ["ann", "ann", "bob"]})

INDEXES: dict[str, Callable[[], Any]] = {
    "default": lambda: FRAME.index,
    "range from 5": lambda: pd.RangeIndex(5, 8),
    "named range": lambda: pd.RangeIndex(3, name="number"),
    "texts": lambda: pd.Index(["a", "b", "c"]),
    "named texts": lambda: pd.Index(["a", "b", "c"], name="label"),
    "times": lambda: pd.date_range("2024-01-01", periods=3),
    "named times": lambda: pd.date_range("2024-01-01", periods=3, name="day"),
    "periods": lambda: pd.period_range("2024-01", periods=3, freq="M"),
    "categories": lambda: pd.CategoricalIndex(["a", "b", "a"]),
    "named as a column": lambda: pd.Index(["a", "b", "c"], name="user"),
    "named as the time": lambda: pd.Index([7, 8, 9], name="t"),
    "named by a number": lambda: pd.Index([7, 8, 9], name=0),
    "two levels": lambda: pd.MultiIndex.from_arrays([[1, 2, 3], ["a", "b", "c"]]),
    "two levels with names": lambda: pd.MultiIndex.from_arrays([[1, 2, 3], ["a", "b", "c"]], names=["p", "q"]),
    "two levels, one with a name": lambda: pd.MultiIndex.from_arrays([[1, 2, 3], ["a", "b", "c"]], names=[None, "q"]),
    "two levels of one name": lambda: pd.MultiIndex.from_arrays([[1, 2, 3], ["a", "b", "c"]], names=["p", "p"]),
}


def from_pandas(index: str) -> wb.Stream:
    return wb.from_pandas(FRAME.set_axis(INDEXES[index]()), time="t", name="frame")


def as_arrow(index: str) -> wb.Stream:
    return wb.from_arrow(FRAME.set_axis(INDEXES[index]()), time="t", name="frame")


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("door", [from_pandas, as_arrow])
def test_no_index_is_a_column(door: Callable[[str], wb.Stream], index: str) -> None:
    log, plain = door(index), wb.from_arrow(FRAME.to_dict("list"), time="t", name="table")
    live = wb.from_arrow({"t": [5], "user": ["eve"]}, time="t", name="live")
    asked: list[Callable[[wb.Stream], wb.Stream]] = [
        lambda log: log,
        lambda log: log.drop("t").tumbling_window(10).distinct(),
        lambda log: log.set_duration(3).drop("t").stitch(),
        lambda log: log.where(col.user != "bob").on(live),
        lambda log: log.union(live),
        lambda log: log.drop("t").unpivot(),
        lambda log: log.group_by("user").tumbling_window(10).aggregate(n=wb.count()),
    ]
    assert log.schema == plain.schema
    for ask in asked:
        assert ask(log).collect().to_pylist() == ask(plain).collect().to_pylist()


@pytest.mark.parametrize("index", [name for name in INDEXES if name not in ("named range", "named texts", "named times")
                                   and "with names" not in name and "a name" not in name and "of one" not in name
                                   and "number" not in name])
def test_a_table_made_by_pandas_has_no_unnamed_index(index: str) -> None:
    table = pa.Table.from_pandas(FRAME.set_axis(INDEXES[index]()), preserve_index=True)
    assert wb.from_arrow(table, time="t").schema.names == ("t", "user")


def test_what_pandas_wrote_of_an_index_may_be_asked_for() -> None:
    table = pa.Table.from_pandas(pd.DataFrame({"x": [1]}, index=[3]), preserve_index=True)
    assert wb.from_arrow(table, time="__index_level_0__").schema.names == ("x", "__index_level_0__")


@pytest.mark.parametrize("name", ["time", "end", "arrival", "partition"])
@pytest.mark.parametrize("levels", [["wanted"], ["wanted", None], [None, "wanted"], ["other", "wanted"]])
def test_a_level_is_asked_for_by_name(levels: list[str | None], name: str) -> None:
    values = {"wanted": [10, 20], "other": [0, 0], None: [0, 1]}
    frame = pd.DataFrame({"t": [1, 2], "x": [7, 8]},
                         index=pd.MultiIndex.from_arrays([values[level] for level in levels], names=levels))
    named: dict[str, Any] = {"time": "t"} | {name: "wanted"}
    log = wb.from_pandas(frame, **named)
    assert log.schema.names == ("wanted", "t", "x")
    assert log.collect().select(["wanted", "x"]).to_pylist() == [{"wanted": 10, "x": 7}, {"wanted": 20, "x": 8}]


def test_levels_stand_before_the_columns_as_they_are_asked_for() -> None:
    index = pd.MultiIndex.from_arrays([[5, 6], [1, 2]], names=["stop", "at"])
    assert wb.from_pandas(pd.DataFrame({"x": [0, 0]}, index=index), time="at", end="stop").schema.names == (
        "at", "stop", "x")


def test_an_index_of_times_without_a_name_is_named_first() -> None:
    frame = pd.DataFrame({"x": [1, 2]}, index=pd.date_range("2024-01-01", periods=2))
    for name in ("index", "at"):
        with pytest.raises(SchemaError, match="the index has no name") as caught:
            wb.from_pandas(frame, time=name)
        assert f"frame.rename_axis('{name}')" in caught.value.hint
    assert wb.from_pandas(frame.rename_axis("at"), time="at").schema.unit in ("ns", "us", "s")


@pytest.mark.parametrize("columns", [["t", "x", "x"], ["t", 0, "0"], ["t", None, "None"]])
def test_two_columns_of_one_name_are_refused(columns: list[Any]) -> None:
    with pytest.raises(SchemaError, match="two columns named"):
        wb.from_pandas(pd.DataFrame([[1, 2, 3]], columns=columns), time="t")


def test_two_levels_of_the_name_that_is_asked_for_are_refused() -> None:
    frame = pd.DataFrame({"x": [1]}, index=pd.MultiIndex.from_tuples([(1, 2)], names=["t", "t"]))
    with pytest.raises(SchemaError, match="Two levels of the index are named 't'"):
        wb.from_pandas(frame, time="t")


def test_names_that_are_no_text_become_text() -> None:
    frame = pd.DataFrame([[1, 2, 3]], columns=["t", 0, ("a", 1)])
    assert wb.from_pandas(frame, time="t").schema.names == ("t", "0", "('a', '1')")
    assert wb.from_pandas(pd.DataFrame([[5, 6]], columns=[1, 0]), time="1").schema.names == ("1", "0")


@pytest.mark.parametrize(("column", "type_", "values"), [
    (pd.Categorical(["a", None]), pa.string(), ["a", None]),
    (pd.Categorical([5, None]), pa.int64(), [5, None]),
    (pd.array([1, None], "Int32"), pa.int32(), [1, None]),
    (pd.array([True, None], "boolean"), pa.bool_(), [True, None]),
    (pd.array([1.5, None], "Float32"), pa.float32(), [1.5, None]),
    (pd.array(["a", None], "string"), pa.string(), ["a", None]),
    (pd.array(["a", None], pd.ArrowDtype(pa.large_string())), pa.string(), ["a", None]),
    (pd.array([1, None], pd.ArrowDtype(pa.int16())), pa.int16(), [1, None]),
    (pd.array([None, None], pd.ArrowDtype(pa.null())), pa.null(), [None, None]),
    ([None, None], pa.null(), [None, None]),
])
def test_columns_of_every_dtype(column: Any, type_: pa.DataType, values: list[Any]) -> None:
    log = wb.from_pandas(pd.DataFrame({"t": [1, 2], "x": column}, index=["a", "b"]), time="t")
    assert log.schema.type_of("x") == type_
    assert log.collect()["x"].to_pylist() == values


def test_frames_of_other_libraries_have_no_row_labels() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(FRAME.to_dict("list"))
    assert wb.from_arrow(frame, time="t").schema.names == ("t", "user")
    duckdb = pytest.importorskip("duckdb")
    assert wb.from_arrow(duckdb.sql("select 1 as t, 'ann' as user"), time="t").schema.names == ("t", "user")


def test_a_frame_of_an_index_alone_has_its_rows() -> None:
    frame = pd.DataFrame(index=pd.DatetimeIndex(["2024-01-01", "2024-01-03"], name="t"))
    assert wb.from_pandas(frame, time="t").collect()["t"].to_pylist() == list(frame.index)
