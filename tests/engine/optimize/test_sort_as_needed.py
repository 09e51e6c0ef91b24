"""Where rows of a disordered source are sorted, and that it changes nothing but the work."""

from __future__ import annotations

import random

import pytest

import whimbrel as wb
from whimbrel import col


def log(**options: object) -> wb.Stream:
    chance = random.Random(5)
    times = [max(at - chance.choice([0, 0, 0, 9, 30]), 0) for at in range(400)]
    rows = {"at": times, "seen": list(range(400)), "k": [chance.choice("ab") for _ in times], "x": list(range(400))}
    return wb.from_arrow(rows, time="at", arrival="seen", name="log", **options)  # type: ignore[arg-type]


def runs_as(query: wb.Stream) -> list[str]:
    return [line.strip("└─├│ ").split("   [")[0] for line in query.explain().split("runs as\n")[1].splitlines()]


PLANS = {
    "a filter": (lambda s: s.where(col.x > 390),
                 ["sort()", "where(col.x > 390)", "log(at, seen, k, x, 400 rows), unsorted"]),
    "a projection": (lambda s: s.select("x"), ["sort()", "select(x)", "log(x, 400 rows), unsorted"]),
    "a window": (
        lambda s: s.group_by("k").tumbling_window(50).aggregate(n=wb.count()),
        ["group_by(k).aggregate(n=count()) in windows of 50", "sort()", "tumbling_window(50)",
         "log(k, 400 rows), unsorted"]),
    "all of them": (
        lambda s: s.where(col.x > 200).with_columns(y=col.x * 2).tumbling_window(50).aggregate(n=wb.sum(col.y)),
        ["aggregate(n=sum(col.y)) in windows of 50", "sort()", "tumbling_window(50)", "select(y=col.x * 2)",
         "where(col.x > 200)", "log(x, 400 rows), unsorted"]),
    "wider rows are made of sorted ones": (
        lambda s: s.where(col.x > 1).with_columns(y=col.x * 2),
        [None, "sort()", "where(col.x > 1)", "log(at, seen, k, x, 400 rows), unsorted"]),
    "nothing to gain": (lambda s: s.sliding_window(5), ["sliding_window(5)", "log(at, seen, k, x, 400 rows)"]),
    "a stream used twice": (
        lambda s: s.where(col.x > 390).union(s.where(col.x < 3)),
        ["union(...)", "where(col.x > 390)", "log = log(at, seen, k, x, 400 rows)", "where(col.x < 3)", None]),
}


@pytest.mark.parametrize("name", PLANS)
def test_where_rows_are_sorted(name: str) -> None:
    build, expected = PLANS[name]
    lines = runs_as(build(log()))
    assert len(lines) == len(expected), lines
    if name != "a stream used twice":
        assert all(line == wanted for line, wanted in zip(lines, expected, strict=True) if wanted), lines
    assert ("sort()" in lines) == ("sort()" in expected)


def test_a_source_in_order_is_not_sorted() -> None:
    ordered = wb.from_arrow({"at": [1, 2], "x": [1, 2]}, time="at", name="log")
    assert runs_as(ordered.where(col.x > 1)) == ["where(col.x > 1)", "log(at, x, 2 rows)"]


def test_rows_that_are_filtered_out_do_not_wait() -> None:
    waiting = [max(snapshot.metrics.buffered_rows for snapshot in query.progressive(every=10, order="time"))
               for query in (log().where(col.x % 100 == 0), log().sliding_window(1))]
    assert waiting[0] <= 4
    assert waiting[1] > 300


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("options", [{"reorder_latency": 30}, {"reorder_latency": 8, "late": "drop"},
                                     {"partition": wb.PartitionWatermarks(by="k", max_lag=60), "reorder_latency": 30}])
def test_the_answer_is_that_of_rows_sorted_first(name: str, options: dict[str, object]) -> None:
    build, _ = PLANS[name]
    source = log(**options)
    let_in = source.sliding_window(1).collect()  # sorted at the source: nothing here takes rows in any order
    sorted_first = wb.from_arrow(let_in.drop(["start", "end"]), time="at", name="log")
    assert build(source).collect().equals(build(sorted_first).collect())
