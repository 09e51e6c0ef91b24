"""Lineage around a change of clocks: rows are asked for by instants, not by what a clock on the wall shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import PlanError

ZONE = "America/Havana"
BACK, FORTH = 1730610000, 1710046800


def log_around(change: int) -> wb.Stream:
    seconds = np.arange(change - 3 * 3600, change + 3 * 3600, 600)
    at = pa.array(seconds).cast(pa.timestamp("s", "UTC")).cast(pa.timestamp("ns", ZONE))
    return wb.from_arrow(pa.table({"t": at, "x": np.arange(len(seconds))}), time="t", name="log")


def sums(change: int) -> wb.Stream:
    return log_around(change).tumbling_window("30m").aggregate(x=wb.sum(col.x))


@pytest.mark.parametrize("change", [BACK, FORTH], ids=["back", "forth"])
def test_every_way_to_say_a_row_finds_its_events(change: int) -> None:
    query = sums(change)
    answer = query.collect()
    run = query.start()
    assert run.wait(60)
    for number, row in enumerate(answer.to_pylist()):
        start = answer["start"][number]
        ways: list[Any] = [row["start"], start, row["start"].isoformat(), int(start.value), start.as_py(),
                           np.datetime64(start.value, "ns"), answer.to_pandas()["start"][number]]
        for asked in (query, run):
            for way in ways:
                found = asked.lineage(start=way)
                assert sum(found.events["log"]["x"].to_pylist()) == row["x"], way
                assert found.rerun().to_pylist() == [row]


def test_a_text_that_is_two_instants_is_refused() -> None:
    with pytest.raises(PlanError, match="is ambiguous in the time zone of"):
        sums(BACK).lineage(start="2024-11-03T00:30")


def test_a_key_that_is_a_time_is_one_instant() -> None:
    halves = log_around(BACK).group_by(half=col.t.dt.floor("30m"))
    query = halves.tumbling_window("1d").aggregate(x=wb.sum(col.x))
    assert query.collect().num_rows == 12
    for row in query.collect().to_pylist():
        found = query.lineage(row)
        assert sum(found.events["log"]["x"].to_pylist()) == row["x"]
        assert found.rerun().to_pylist() == [row]
