"""By which columns queries can be cut into parts. That the parts are the whole is a law (tests/laws)."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, col
from whimbrel.plan import partition_columns

ROWS = {"at": [1, 4], "k": [1, 2], "s": ["a", "b"], "x": [0.5, 1.5]}
log = wb.from_arrow(ROWS, time="at", name="log")
other = wb.from_arrow(ROWS, time="at", name="other").rename(kk="k")

QUERIES: dict[str, tuple[Callable[[], Stream], list[dict[str, str]]]] = {
    "a filter": (lambda: log.where(col.x > 1), [{"log": "at"}, {"log": "k"}, {"log": "s"}]),
    "one window for all": (lambda: log.tumbling_window(9).aggregate(n=wb.count()), []),
    "groups": (lambda: log.group_by("k", "s").aggregate(n=wb.count()), [{"log": "k"}, {"log": "s"}]),
    "renamed": (lambda: log.select(key=col.k).rename(z="key").group_by("z").aggregate(n=wb.count()), [{"log": "k"}]),
    "computed keys": (lambda: log.group_by(h=col.k % 2).session_window(3).aggregate(n=wb.count()), []),
    "sessions": (lambda: log.group_by("k").session_window(3).aggregate(n=wb.count()), [{"log": "k"}]),
    "groups of other groups": (lambda: log.group_by("k").aggregate(n=wb.count()).group_by("n").aggregate(m=wb.count()),
                               []),
    "a join": (lambda: log.join(other, on={"k": "kk"}), [{"log": "k", "other": "k"}]),
    "with itself": (lambda: log.join(log.select("k", y=col.x), on="k"), [{"log": "k"}]),
    "a join, then other groups": (lambda: log.join(other, on={"k": "kk"}).group_by("s").aggregate(n=wb.count()), []),
    "distinct": (lambda: log.select("k", "x").distinct(), [{"log": "k"}]),
    "stitched": (lambda: log.select("k").stitch(), [{"log": "k"}]),
}


@pytest.mark.parametrize("name", QUERIES)
def test_the_columns(name: str) -> None:
    query, expected = QUERIES[name]
    found = [{source.name: column for source, column in columns.items()} for columns in partition_columns(query().node)]
    assert found == expected


def test_floats_where_they_are_hashed_alike() -> None:
    groups = log.group_by("x").aggregate(n=wb.count()).node
    assert partition_columns(groups) == []
    assert [list(columns.values()) for columns in partition_columns(groups, floats=True)] == [["x"]]


def test_a_value_that_was_computed_is_no_column() -> None:
    narrow = wb.from_arrow(pa.table({"at": [1], "k": pa.array([1], pa.int32())}), time="at", name="narrow")
    both = log.select("k").union(narrow.select(k=col.k.cast("int64")))
    assert partition_columns(both.distinct().node) == []
