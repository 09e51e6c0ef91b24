"""Rows without an event time: their number, or the wall clock of a feed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from whimbrel.errors import PlanError, SchemaError
from whimbrel.plan import SourceOffset
from whimbrel.testing.conformance.restart import collect_in_two

ROWS = {"x": [5, 3, 8, 1, 9, 2, 7]}
CAME = [{"x": x} for x in ROWS["x"]]


def in_file(folder: Path) -> wb.Stream:
    for part, (first, stop) in enumerate(((0, 3), (3, 7))):
        pq.write_table(pa.table({"x": ROWS["x"][first:stop]}), folder / f"{part}.parquet", row_group_size=2)
    return wb.read_parquet(folder, time=wb.SEQUENCE, name="log")


def of_pandas() -> wb.Stream:
    pd = pytest.importorskip("pandas")
    return wb.from_pandas(pd.DataFrame(ROWS, index=[4] * 7), time=wb.SEQUENCE, name="log")


def streams(folder: Path) -> dict[str, wb.Stream]:
    return {"arrow": wb.from_arrow(ROWS, time=wb.SEQUENCE, name="log"), "pandas": of_pandas(),
            "parquet": in_file(folder), "feed": wb.feeds.iterator(lambda: CAME, time=wb.SEQUENCE, name="log")}


def query(log: wb.Stream) -> wb.Stream:
    return log.tumbling_window(3).aggregate(n=wb.count(), total=wb.sum(wb.col.x))


@pytest.mark.parametrize("kind", ["arrow", "pandas", "parquet", "feed"])
def test_a_row_has_its_number(tmp_path: Path, kind: str) -> None:
    log = streams(tmp_path)[kind]
    table = log.collect()
    assert table["sequence"].to_pylist() == table["start"].to_pylist() == list(range(7))
    assert table["x"].to_pylist() == ROWS["x"]
    assert query(log).collect()["total"].to_pylist() == [16, 12, 7]
    assert log.where(wb.col.x > 6).select("sequence").collect()["sequence"].to_pylist() == [2, 4, 6]


@pytest.mark.parametrize("kind", ["arrow", "pandas", "parquet"])
def test_a_restart_gives_the_same_numbers(tmp_path: Path, kind: str) -> None:
    log = streams(tmp_path)[kind]
    for rows in range(8):
        assert collect_in_two(query(log), {"log": rows}).to_pylist() == query(log).collect().to_pylist()


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_a_replay_is_paced_by_the_numbers(tmp_path: Path, kind: str) -> None:
    log = streams(tmp_path)[kind]
    assert query(wb.replay(log, speed=float("inf"))).collect().to_pylist() == query(log).collect().to_pylist()
    assert wb.replay(log, speed=float("inf"), start=2, end=4).collect()["x"].to_pylist() == [8, 1]


def test_a_feed_that_resumes_counts_on() -> None:
    feed = wb.feeds.iterator(lambda: CAME, time=wb.SEQUENCE).sources[0]
    first = next(batch for batch in feed.read(("x",), SourceOffset(4, None)) if batch is not None)
    assert first.sync.tolist()[:3] == [4, 5, 6]


def test_a_feed_restarts_from_a_checkpoint(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(f'{{"x": {x}}}\n' for x in ROWS["x"][:4]))

    def asked() -> wb.Stream:
        return wb.feeds.tail(log, time=wb.SEQUENCE, schema={"x": "int64"}).select("sequence", "x")

    run = asked().start()
    while run.metrics.rows < 4:
        time.sleep(0.01)
    run.checkpoint(tmp_path / "run")
    run.stop()
    with log.open("a") as file:
        file.write("".join(f'{{"x": {x}}}\n' for x in ROWS["x"][4:]))
    later = wb.restore(tmp_path / "run", asked())
    while later.metrics.rows < 7:
        time.sleep(0.01)
    rows = later.snapshot().table.to_pylist()
    later.stop()
    assert {row["sequence"]: row["x"] for row in rows}.items() >= dict(enumerate(ROWS["x"])).items() - {
        (number, x) for number, x in enumerate(ROWS["x"]) if number < 4}


def test_the_wall_clock_is_the_time_of_a_feed() -> None:
    before = time.time()
    table = wb.feeds.iterator(lambda: CAME, time=wb.WALL_CLOCK).collect()
    after = time.time()
    assert table.schema.field("arrival_time").type == pa.timestamp("us", "UTC")
    seconds = [value.timestamp() for value in table["start"].to_pylist()]
    assert all(before - 0.001 <= value <= after + 0.001 for value in seconds)
    assert seconds == sorted(seconds)
    assert sorted(table["x"].to_pylist()) == sorted(ROWS["x"])


def test_the_column_of_the_wall_clock_may_have_a_name() -> None:
    table = wb.feeds.iterator(lambda: CAME, time=wb.WALL_CLOCK, arrival_column="came").collect()
    assert table["came"].to_pylist() == table["start"].to_pylist()


def test_an_arrival_and_a_latency_go_with_numbers(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1, 2], "seen": [3, 4]}), tmp_path / "log.parquet")
    log = wb.read_parquet(tmp_path / "log.parquet", time=wb.SEQUENCE, arrival="seen")
    assert wb.replay(log, speed=float("inf"), reorder_latency=0).collect()["sequence"].to_pylist() == [0, 1]


@pytest.mark.parametrize(("read", "kind", "what"), [
    (lambda: wb.from_arrow(ROWS, time=wb.WALL_CLOCK), PlanError, "is for feeds"),
    (lambda: wb.from_arrow({"sequence": [1]}, time=wb.SEQUENCE), SchemaError, "Cannot add"),
    (lambda: wb.feeds.iterator(lambda: [{"sequence": 1}], time=wb.SEQUENCE), SchemaError, "Cannot add"),
    (lambda: wb.feeds.iterator(lambda: [{"x": 1, "arrival_time": 2}], time=wb.WALL_CLOCK), SchemaError, "Cannot add"),
    (lambda: wb.feeds.iterator(lambda: CAME, time=wb.SEQUENCE, end="x"), PlanError, "needs an event-time column"),
    (lambda: wb.from_arrow(ROWS, time="wb.SEQUENCE"), SchemaError, "must be the name of a column"),
    (lambda: wb.from_arrow(ROWS, time=wb.SEQUENCE).then(wb.feeds.iterator(lambda: CAME, time=wb.SEQUENCE), cutover=3),
     PlanError, "start at 0"),
])
def test_what_cannot_be_is_refused(read: Any, kind: type, what: str) -> None:
    with pytest.raises(kind, match=what):
        read()


def test_files_have_no_wall_clock(tmp_path: Path) -> None:
    in_file(tmp_path)
    with pytest.raises(PlanError, match="is for feeds"):
        wb.read_parquet(tmp_path, time=wb.WALL_CLOCK)
