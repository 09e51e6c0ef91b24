"""Epochs of results that another text made: a subquery, a view, a stream or a query of a desk."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb

COUNTS = "SELECT tb, count(*) AS n FROM log GROUP BY at/100 AS tb"
SUMS = "SELECT t, sum(n) AS s FROM m GROUP BY tb/5 AS t"


def log() -> wb.Stream:
    return wb.from_arrow({"at": np.arange(1_000)}, time="at", name="log")


def on_a_desk(overload: wb.Shed | None = None) -> pa.Table:
    desk = wb.desk(log())
    desk.add("m", COUNTS, overload=overload)
    desk.add("sums", SUMS)
    desk.run()
    return desk["sums"].table


@pytest.mark.parametrize("way", ["subquery", "view", "stream", "stream of a view", "desk", "desk that sheds"])
def test_an_epoch_of_results_is_an_epoch_wherever_they_are_made(way: str) -> None:
    """On a desk, the time of an earlier query was a number like any other, so each of its rows was a group."""
    match way:
        case "subquery":
            found = wb.sql(SUMS.replace("FROM m", f"FROM ({COUNTS}) AS m"), log=log()).collect()
        case "view":
            found = wb.sql(f"CREATE VIEW m AS {COUNTS}; {SUMS}", log=log()).collect()
        case "stream":
            found = wb.sql(SUMS, m=wb.sql(COUNTS, log=log())).collect()
        case "stream of a view":
            found = wb.sql(SUMS, m=wb.sql.script(f"CREATE VIEW m AS {COUNTS}", log=log())["m"]).collect()
        case "desk":
            found = on_a_desk()
        case _:
            found = on_a_desk(wb.Shed(100_000, per=100))
    assert found.to_pylist() == [{"start": 0, "end": 500, "t": 0, "s": 500},
                                 {"start": 500, "end": 1_000, "t": 1, "s": 500}]
