"""Row groups that cannot hold what a query asks for are not read; the answer is the same."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from whimbrel import Stream, col

ROWS, GROUP = 1_000, 100
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    number = list(range(ROWS))
    table = pa.table({
        "at": pa.array([EPOCH + timedelta(seconds=n) for n in number], pa.timestamp("us", "UTC")),
        "fine": pa.array([n * 1_000_000_001 for n in number], pa.timestamp("ns")),
        "coarse": pa.array(number, pa.timestamp("s")),
        "x": number,
        "part": [n // GROUP for n in number],
        "small": pa.array([n % 256 for n in number], pa.uint8()),
        "y": pa.array([float("nan") if n % 7 == 0 else n / 2 for n in number]),
        "day": pa.array([date(2024, 1, 1) + timedelta(days=n) for n in number]),
        "name": [f"{n:04}" for n in number],
        "none": pa.array([None] * ROWS, pa.int64()),
        "some": pa.array([None if n // GROUP % 2 else n for n in number], pa.int64()),
    })
    file = tmp_path_factory.mktemp("logs") / "log.parquet"
    pq.write_table(table, file, row_group_size=GROUP)
    return file


def log(path: Path, **more: Any) -> Stream:
    return wb.read_parquet(path, time="at", **more)


READ: list[tuple[Callable[[], Any], int]] = [
    (lambda: col.x > 950, 1),
    (lambda: col.x > 899, 1),
    (lambda: col.x >= 899, 2),
    (lambda: col.x < 100, 1),
    (lambda: col.x <= 100, 2),
    (lambda: col.x == 555, 1),
    (lambda: 555 == col.x, 1),  # noqa: SIM300 - as some write it
    (lambda: 200 > col.x, 2),  # noqa: SIM300
    (lambda: col.x > 5_000, 0),
    (lambda: (col.x > 150) & (col.x < 250), 2),
    (lambda: col.x.between(150, 250), 2),
    (lambda: (col.x > 150) & (col.y * 2 < 3), 9),
    (lambda: (col.x > 950) | (col.x < 10), 2),
    (lambda: (col.x > 950) | (col.y * 2 < 3), 10),
    (lambda: (col.x > 350) & ((col.x < 10) | (col.x == 420) | (col.x == 555) & (col.name > "06")), 1),
    (lambda: col.x.is_in([5, 555, 5_000]), 2),
    (lambda: col.name.is_in(["0005", "0006"]), 1),
    (lambda: ~(col.x > 950), 10),
    (lambda: ~(col.x < 950), 1),
    (lambda: ~(col.y < 480), 10),
    (lambda: ~((col.x < 150) | ~(col.x < 250)), 2),
    (lambda: ~col.x.between(100, 899), 2),
    (lambda: ~col.part.is_in([1, 2]), 8),
    (lambda: ~(col.part == 3) & (col.some != 1), 9),
    (lambda: col.x != 5, 10),
    (lambda: col.part != 5, 9),
    (lambda: col.name != "0005", 10),
    (lambda: col.x + 1 > 950, 10),
    (lambda: col.x > col.y, 10),
    (lambda: col.x > 949.5, 1),
    (lambda: col.y > 480, 1),
    (lambda: col.small > 254, 3),
    (lambda: col.at >= EPOCH + timedelta(seconds=800), 2),
    (lambda: col.at < "2024-01-01T00:01:40+00:00", 1),
    (lambda: col.fine < datetime(1970, 1, 1, 0, 1, 40), 1),
    (lambda: col.coarse < datetime(1970, 1, 1, 0, 1, 40), 1),
    (lambda: col.day >= date(2026, 9, 1), 1),
    (lambda: col.name < "0100", 1),
    (lambda: col.name.str.starts_with("00"), 10),
    (lambda: col.none > 3, 10),
    (lambda: col.some > 850, 6),
]


@pytest.mark.parametrize(("condition", "groups"), READ)
def test_what_cannot_pass_is_not_read(path: Path, condition: Callable[[], Any], groups: int) -> None:
    query = log(path).where(condition())
    whole = wb.from_arrow(pq.read_table(path), time="at").where(condition())
    assert repr(query.collect().to_pylist()) == repr(whole.collect().to_pylist())
    plan = query.explain().split("runs as")[1]
    assert (f"{groups} of 10 row groups" in plan) == (groups < 10)
    if groups < 10:
        assert f"{groups * GROUP:,} rows, {groups} of 10" in plan


def test_filters_in_a_row_are_all_pushed_down(path: Path) -> None:
    query = log(path).where(col.x > 150).where(lambda e: e.x < 250).select("x")
    assert "2 of 10 row groups" in query.explain()
    assert query.collect()["x"].to_pylist() == list(range(151, 250))


def test_an_aggregate_reads_what_its_filter_lets_through(path: Path) -> None:
    query = log(path).where(col.x >= 950).tumbling_window("1h").aggregate(n=wb.count())
    assert "1 of 10 row groups" in query.explain()
    assert query.collect()["n"].to_pylist() == [50]


def test_who_needs_all_rows_gets_all(path: Path) -> None:
    events = log(path)
    few = events.where(col.x > 950)
    for query in (few.union(events), events.select(x=col.x + 500).where(col.x > 950), events.set_duration("1h").where(
            col.x > 950)):
        assert "row groups" not in query.explain()


def test_a_log_whose_order_is_promised_is_read_whole(path: Path) -> None:
    assert "row groups" not in log(path, reorder_latency="1m", late="drop").where(col.x > 950).explain()


def test_a_query_resumes_after_a_checkpoint(path: Path, tmp_path: Path) -> None:
    query = log(path).where(col.x >= 150).tumbling_window("1s").aggregate(n=wb.count())
    run = query.start()
    run.checkpoint(tmp_path / "run")
    before = run.metrics.settled_rows
    later = wb.restore(tmp_path / "run", query)
    assert later.wait(30)
    assert run.wait(30)
    assert before <= run.metrics.settled_rows == 850


def test_on_another_log(path: Path) -> None:
    query = log(path).where(col.x >= 950)
    other = wb.from_arrow(pq.read_table(path).slice(940, 20), time="at")
    assert query.on(other).collect()["x"].to_pylist() == list(range(950, 960))


def test_a_part_of_a_struct_is_not_the_column_of_its_name(tmp_path: Path) -> None:
    table = pa.table({"at": [0, 1, 2, 3], "a": pa.array([{"b": 100}, {"b": 100}, {"b": 200}, {"b": 200}]),
                      "a.b": [1, 1, 2, 2]})
    pq.write_table(table, tmp_path / "log.parquet", row_group_size=2)
    rows = wb.read_parquet(tmp_path / "log.parquet", time="at")
    assert rows.where(getattr(col, "a.b") == 1).select("a.b").collect()["start"].to_pylist() == [0, 1]
