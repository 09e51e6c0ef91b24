"""Lazy frames of Polars as tables."""

import polars as pl
import pytest

import whimbrel as wb
from whimbrel.errors import SourceError

FRAME = pl.LazyFrame({"at": [1, 2, 4], "x": [3, 4, 5]}).filter(pl.col("x") > 3)


def test_a_lazy_frame_is_a_table_as_its_data_frame_is():
    assert wb.from_arrow(FRAME, time="at").collect().equals(wb.from_arrow(FRAME.collect(), time="at").collect())
    assert wb.sql("SELECT x FROM t", t=FRAME).collect()["x"].to_pylist() == [4, 5]


def test_a_lazy_frame_that_fails_is_an_error_with_the_cause():
    wrong = FRAME.select("y")
    with pytest.raises(SourceError, match=r"Cannot run the query of this LazyFrame: .*y"):
        wb.from_arrow(wrong, time="at")
    with pytest.raises(SourceError, match=r"wb\.sql\(\.\.\., t=\.\.\.\)"):
        wb.sql("SELECT y FROM t", t=wrong)
