"""Python values of columns: pandas' single times keep their nanoseconds, or are refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel.errors import SourceError

TIME = pd.Timestamp("2024-01-01T00:00:00.000000001")
TICKS = 1_704_067_200_000_000_001
HOUR = 3_600 * 10**9

Way = Callable[[list[Any]], wb.Stream]


def of_dict(values: Any) -> wb.Stream:
    return wb.from_arrow({"n": list(range(len(values))), "v": values}, time="n")


def of_object_array(values: list[Any]) -> wb.Stream:
    return of_dict(np.array([*values, None], dtype=object)[:-1])


def of_frame(values: list[Any]) -> wb.Stream:
    return wb.from_pandas(pd.DataFrame({"n": range(len(values)), "v": pd.Series(values, dtype=object)}), time="n")


def of_frame_as_arrow(values: list[Any]) -> wb.Stream:
    return wb.from_arrow(pd.DataFrame({"n": range(len(values)), "v": pd.Series(values, dtype=object)}), time="n")


WAYS = (of_dict, of_object_array, of_frame, of_frame_as_arrow)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("values", "type_", "ticks"), [
    ([TIME], pa.timestamp("ns"), [TICKS]),
    ([None, TIME, datetime(2024, 1, 1)], pa.timestamp("ns"), [None, TICKS, TICKS - 1]),
    ([datetime(2024, 1, 1), TIME], pa.timestamp("ns"), [TICKS - 1, TICKS]),
    ([pd.Timestamp(TIME, tz="Europe/Berlin")], pa.timestamp("ns", "Europe/Berlin"), [TICKS - HOUR]),
    ([pd.Timedelta(1_500), None], pa.duration("ns"), [1_500, None]),
    ([pd.Timedelta(-1)], pa.duration("ns"), [-1]),
    ([TIME.floor("us")], pa.timestamp("us"), [TICKS // 1_000]),
    ([pd.Timedelta(2_000)], pa.duration("us"), [2]),
])
def test_single_times_of_pandas_are_exact(way: Way, values: list[Any], type_: pa.DataType,
                                          ticks: list[int | None]) -> None:
    column = way(values).collect()["v"]
    assert (column.type, column.cast(pa.int64()).to_pylist()) == (type_, ticks)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("values", [[[TIME]], [{"a": TIME}], [[{"a": pd.Timedelta(1)}]],
                                    [datetime(9999, 1, 1), TIME]], ids=repr)
def test_what_would_be_cut_is_refused_by_column(way: Way, values: list[Any]) -> None:
    with pytest.raises(SourceError, match="Column 'v' has times in nanoseconds"):
        way(values)


def test_days_with_a_finer_time_are_rejected() -> None:
    with pytest.raises(SourceError, match="which date32"):
        of_dict([date(2024, 1, 1), TIME])


def test_the_time_itself_may_be_of_such_values() -> None:
    for stream in (wb.from_arrow({"t": [TIME]}, time="t"),
                   wb.from_edges({"t": [TIME], "u": [TIME + pd.Timedelta(5)]}, sync="t", other="u"),
                   wb.from_pandas(pd.DataFrame({"t": pd.Series([TIME], dtype=object)}), time="t")):
        assert stream.collect()["start"].cast(pa.int64()).to_pylist() == [TICKS]


def test_a_window_of_nanoseconds_has_its_rows() -> None:
    log = wb.from_arrow({"t": [pd.Timestamp(1_400), pd.Timestamp(1_600)]}, time="t")
    assert log.tumbling_window("1500ns").aggregate(n=wb.count()).collect()["n"].to_pylist() == [1, 1]
