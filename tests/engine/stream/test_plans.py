"""Plans as text: what was written, and what runs."""

from __future__ import annotations

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col


def log() -> wb.Stream:
    columns = {"at": [1], "x": [1], "y": [1.0], "name": ["a"]}
    return wb.from_arrow(columns, time="at", name="log")


def plans(query: wb.Stream) -> list[list[str]]:
    return [part.splitlines() for part in query.explain().split("\n\nruns as\n")]


def test_filters_columns_and_windows_move_into_the_aggregate_and_unread_columns_are_not_read() -> None:
    query = (
        log()
        .where(col.x > 3)
        .select("name", z=col.x * 2)
        .tumbling_window(10)
        .group_by("name")
        .aggregate(total=wb.sum(col.z))
    )
    written, runs = plans(query)
    assert [line.lstrip("└─ ").split("(")[0] for line in written] == [
        "group_by",
        "tumbling_window",
        "select",
        "where",
        "log",
    ]
    windows = "group_by(name).aggregate(total=sum(col.x * 2)) where col.x > 3 in windows of 10"
    assert runs == [
        f"{windows}   [intervals, grid(size=10, hop=10, offset=0), non-overlapping per name, look-ahead]",
        "└─ log(x, name, 1 rows)",
    ]


def test_edges_are_joined_before_what_takes_intervals_only() -> None:
    counts = log().sliding_window(10).aggregate(n=wb.count())
    _, runs = plans(counts.aggregate(most=wb.max(col.n)))
    assert [line.lstrip("└─ ").split("   ")[0] for line in runs] == [
        "coalesce()",
        "aggregate(most=max(col.n))",
        "coalesce()",
        "aggregate(n=count())",
        "sliding_window(10)",
        "log(, 1 rows)",
    ]


def test_hopping_windows_are_made_of_panes() -> None:
    _, runs = plans(log().where(col.x > 3).group_by("name").hopping_window(10, 5).aggregate(total=wb.sum(col.x)))
    assert [line.lstrip("└─ ").split("   ")[0] for line in runs] == [
        "coalesce()",
        "finish(total=sum(col.x))",
        "group_by(name).merge(total=sum(col.x))",
        "set_duration(10)",
        "group_by(name).states(total=sum(col.x)) where col.x > 3 in windows of 5",
        "log(x, name, 1 rows)",
    ]


@pytest.mark.parametrize("size", [12, 4])
def test_windows_that_no_panes_make_up_stay_whole(size: int) -> None:
    _, runs = plans(log().hopping_window(size, 5).aggregate(n=wb.count()))
    assert not any("states" in line for line in runs)


def test_what_cannot_be_merged_needs_no_panes() -> None:
    _, runs = plans(log().hopping_window(10, 5).aggregate(m=wb.median(col.x)))
    assert not any("states" in line for line in runs)


def test_a_stream_used_twice_is_printed_once() -> None:
    base = log().where(col.x > 3)
    text = base.join(base, on="name").explain()
    assert text.split("\n\n")[0].count("where(col.x > 3)") == 1
    assert "#1, as above" in text


def test_windows_print_in_the_units_of_the_stream() -> None:
    import pyarrow as pa

    events = wb.from_arrow({"t": pa.array([0], pa.timestamp("ms"))}, time="t")
    assert "hopping_window('1h', '10m')" in events.hopping_window("1h", "10m").explain()
    assert "in windows of 1h" in events.tumbling_window("60m").aggregate(n=wb.count()).explain()


def test_only_labelling_at_the_end_is_causal() -> None:
    assert not log().tumbling_window(5).aggregate(n=wb.count()).node.properties.causal
    assert log().tumbling_window(5, label="end").aggregate(n=wb.count()).node.properties.causal


def test_a_stream_prints_its_plan_and_its_columns() -> None:
    assert (
        repr(log().group_by("name"))
        == "log(at, x, y, name, 1 rows)   grouped by name\nat: int64, x: int64, y: double, name: string"
    )


@pytest.mark.parametrize("name", ["self", "schema", "build", "keys", "known", "names", "columns", "results"])
def test_a_column_may_have_any_name(name: str) -> None:
    log = wb.from_arrow(pa.table({"at": [1, 2], "x": [3, 4]}), time="at", name="log")
    assert log.tumbling_window(5).aggregate(**{name: wb.sum(col.x)}).collect()[name].to_pylist() == [7]
    assert log.select(**{name: col.x}).collect()[name].to_pylist() == [3, 4]
    assert log.with_columns(**{name: col.x}).collect()[name].to_pylist() == [3, 4]
    assert log.rename(**{name: "x"}).collect()[name].to_pylist() == [3, 4]
