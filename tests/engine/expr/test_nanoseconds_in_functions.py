"""Python's times have no nanoseconds: functions of rows are given and give exact times, or none."""

from __future__ import annotations

import datetime as dt
from typing import Any
from unittest import mock

import pandas as pd
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import KernelError


def log(nanoseconds: int, type_: pa.DataType) -> wb.Stream:
    return wb.from_arrow({"t": [0], "r": pa.array([nanoseconds], type_)}, time="t")


@pytest.mark.parametrize("type_", [pa.timestamp("ns"), pa.timestamp("ns", "UTC"), pa.duration("ns")])
def test_a_function_is_not_given_times_that_are_cut(type_: pa.DataType) -> None:
    assert log(1501, type_).with_columns(y=lambda e: getattr(e.r, "value", 0)).collect()["y"].to_pylist() == [1501]
    with mock.patch("whimbrel.expr.row_functions.find_spec", return_value=None):
        assert log(2000, type_).with_columns(y=lambda e: str(e.r)).collect().num_rows == 1
        with pytest.raises(KernelError, match="has nanoseconds") as caught:
            log(1501, type_).with_columns(y=lambda e: str(e.r)).collect()
    assert "cast" in caught.value.hint


def longer(row: Any) -> dt.timedelta:
    return pd.Timedelta(1500 + int(str(row.x)), "ns")


def test_a_result_that_would_be_cut_is_refused() -> None:
    with pytest.raises(KernelError, match="A result is not duration"):
        wb.from_arrow({"t": [0], "x": [1]}, time="t").with_columns(y=longer).collect()
    mine = wb.aggregate(init=0, accumulate=lambda s, x: s + x, result=lambda s: pd.Timestamp(1500 + s), name="mine")
    with pytest.raises(KernelError, match="not a value of type timestamp"):
        wb.from_arrow({"t": [0], "x": [1]}, time="t").tumbling_window(5).aggregate(v=mine(col.x)).collect()
