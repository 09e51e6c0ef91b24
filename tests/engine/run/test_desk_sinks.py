"""Queries of a desk as SQL, their sinks, and what a desk refuses."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pytest

import whimbrel as wb
from tests.engine.run.test_desk import SHAPES, made, rows_of
from whimbrel.errors import PlanError, SqlError
from whimbrel.plan import Sink

col = wb.col
SUMS = "SELECT tb, k, sum(x) AS total FROM events WHERE x > $least GROUP BY at/50 AS tb, k"


def written(folder: Path) -> list[tuple[Any, ...]]:
    files = sorted(folder.glob("*.parquet"))
    return rows_of(pa.concat_tables(pyarrow.dataset.dataset(file).to_table() for file in files)) if files else []


def test_a_query_of_text_is_that_of_python() -> None:
    events, _ = made(1)
    desk = wb.desk(events)
    desk.add("sums", SUMS, parameters={"least": wb.parameter("least", 3)})
    desk.add("large", "SELECT tb, total FROM sums WHERE total > 100")
    desk.add("same", wb.sql(SUMS, events=events, parameters={"least": wb.parameter("least", 3)}))
    desk.run(rows=1000)
    desk.set("sums", least=20)
    desk.run()
    begin = desk["sums"].parameter_values["least"].changes[0][0]
    value = f"CASE WHEN at >= {begin} THEN 20 ELSE 3 END"
    sums = wb.sql(SUMS.replace("$least", value), events=events)
    assert rows_of(desk["sums"].table) == rows_of(sums.collect())
    assert rows_of(desk["large"].table) == rows_of(
        wb.sql("SELECT tb, total FROM sums WHERE total > 100", sums=sums).collect())
    assert desk["large"].rows
    assert rows_of(desk["same"].table) == rows_of(wb.sql(SUMS, events=events, parameters={"least": 3}).collect())


def test_a_text_reads_tables_of_prefixes() -> None:
    events = wb.from_arrow({"at": [1, 2], "ip": ["10.0.0.1", "9.9.9.9"]}, time="at", name="events")
    nets = pa.table({"prefix": ["10.0.0.0/8"], "id": [7]})
    desk = wb.desk(events)
    desk.add("found", "SELECT getlpmid(ip, 'nets') AS net FROM events", tables={"nets": nets})
    desk.run()
    assert desk["found"].table["net"].to_pylist() == [7, -1]
    with pytest.raises(PlanError, match="The desk does not read 'nets'"):
        desk.add("rows", "SELECT id FROM events JOIN nets ON events.at = nets.id", tables={"nets": nets})
    with pytest.raises(PlanError, match="The desk has 'found' already"):
        desk.add("rows", "SELECT getlpmid(ip, 'found') AS net FROM events", tables={"found": nets})


@pytest.mark.parametrize(("text", "error", "words"), [
    ("SELECT x FROM evens", SqlError, "Use 'events'; the tables are events, sums"),
    ("SELECT x FROM events ORDER BY x", SqlError, "in the order of time"),
    ("SELECT x FROM events EMIT AT '1', '5'", PlanError, "has one result"),
    ("SELECT x FROM events WHERE x > $least", SqlError, "least"),
])
def test_a_wrong_text_says_what_to_do(text: str, error: type[Exception], words: str) -> None:
    desk = wb.desk(made(1)[0])
    desk.add("sums", SUMS, parameters={"least": 1})
    with pytest.raises(error) as caught:
        desk.add("a", text)
    assert words in str(caught.value)
    assert list(desk) == ["sums"]


def test_what_a_desk_refuses() -> None:
    _, columns = made(1, latency=20)
    events = wb.from_arrow(columns, time="at", name="events", reorder_latency=20, late="drop")
    desk = wb.desk(events)
    bands = events.where(col.x > 1).at_latencies(5, 20)
    for query, words in ((bands, "has one result"), (bands[0], "no late rows"),
                         (wb.late_rows(events), "no late rows"), (3, "needs a stream")):
        with pytest.raises(PlanError, match=words):
            desk.add("a", query)
    with pytest.raises(PlanError, match="are for SQL text"):
        desk.add("a", events, parameters={"least": 3})
    with pytest.raises(PlanError, match="sink must be"):
        desk.add("a", events, sink="folder")
    edges = wb.from_edges({"at": [0, 5], "other": [None, 0], "x": [1, 1]}, sync="at", other="other")
    with pytest.raises(PlanError, match="start and end edges"):
        wb.desk(edges)


def test_start_and_end_points_are_results_as_any() -> None:
    events, _ = made(3)
    points = events.where(col.x > 3).set_duration(30).edges()
    desk = wb.desk(events)
    desk.add("points", points)
    desk.add("ends", desk.stream("points").where(~col.other.is_null()))
    desk.run()
    assert rows_of(desk["points"].table) == rows_of(points.collect())
    assert rows_of(desk["ends"].table) == rows_of(points.where(~col.other.is_null()).collect())
    assert desk["ends"].rows


def test_sinks_without_checkpoints(tmp_path: Path) -> None:
    events, _ = made(2)
    desk = wb.desk(events)
    for number in (0, 2):
        desk.add(f"{number}", SHAPES[number](events, 3), sink=wb.sinks.parquet(tmp_path / f"{number}"))
    desk.run(rows=1000)
    desk.add("later", SHAPES[0](events, 3), sink=wb.sinks.parquet(tmp_path / "later"))
    desk.run(rows=1000)
    desk.remove("later")
    before = written(tmp_path / "later")
    desk.run()
    for number in (0, 2):
        assert written(tmp_path / f"{number}") == rows_of(desk[f"{number}"].table)
    whole = rows_of(desk["0"].table)
    assert before == written(tmp_path / "later")
    assert 0 < len(before) < len(whole)
    assert set(before) <= set(whole)


class Failing(Sink):
    """Takes some rows and then none."""

    name = "failing"

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.closed = False

    def open(self, schema: pa.Schema, rows: int, token: Any) -> None:
        pass

    def write(self, rows: pa.RecordBatch) -> None:
        if len(self.rows) > 100:
            raise OSError("full")
        self.rows += rows.to_pylist()

    def prepare(self) -> Any:
        return None

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(("checkpointed", "number"), [(False, 0), (True, 0), (False, 2)])
def test_a_failing_sink_touches_only_its_own_query(tmp_path: Path, checkpointed: bool, number: int) -> None:
    events, _ = made(3)
    desk = wb.desk(events, checkpoints=wb.Checkpoints(tmp_path / "state") if checkpointed else None)
    desk.add("good", SHAPES[number](events, 3), sink=wb.sinks.parquet(tmp_path / "good"))
    sink = Failing()
    desk.add("bad", SHAPES[number](events, 4), sink=sink)
    desk.add("reader", desk.stream("bad").where(wb.start_time() > 30))
    for _ in range(10):
        desk.run(rows=300)
    desk.run()
    assert (desk["good"].state, desk["bad"].state, desk["reader"].state) == ("finished", "failed", "finished")
    assert desk["bad"].error is not None
    assert desk["bad"].error.what == "Cannot write to failing: OSError: full"
    assert sink.closed
    whole = SHAPES[number](events, 4).where(wb.start_time() > 30)
    assert rows_of(desk["reader"].table) == rows_of(whole.collect())
    assert written(tmp_path / "good") == rows_of(desk["good"].table)
    desk.remove("reader")
    desk.remove("bad")
    assert len(desk._loop.session.pipeline.plans) == 1
    desk.stop()


def test_a_query_of_a_stopped_desk_is_stopped_and_resumes(tmp_path: Path) -> None:
    def opened() -> wb.Desk:
        desk = wb.desk(events, checkpoints=wb.Checkpoints(tmp_path, every="1h"))
        desk.add("sums", SHAPES[2](events, 3))
        return desk

    events, _ = made(3)
    desk = opened()
    desk.run(rows=1000)
    desk.stop()
    assert desk["sums"].state == "stopped"
    assert desk["sums"].rows
    desk = opened()
    assert desk["sums"].state == "running"
    desk.run()
    desk.stop()
    assert desk["sums"].state == "finished"


@pytest.mark.parametrize("number", [0, 2])
def test_readers_of_a_query_that_its_sink_ended_resume(tmp_path: Path, number: int) -> None:
    events, _ = made(3, 20_000)  # the sink fails in a thread of its own, some rows later

    def opened() -> wb.Desk:
        desk = wb.desk(events, checkpoints=wb.Checkpoints(tmp_path / "state", every="1h"))
        desk.add("bad", SHAPES[number](events, 4), sink=Failing())
        desk.add("reader", desk.stream("bad").where(wb.start_time() > 30), sink=wb.sinks.parquet(tmp_path / "reader"))
        return desk

    desk = opened()
    while desk["bad"].state == "running":
        desk.run(rows=200)
    for _ in range(2):  # the second time it was restored as failed already
        assert desk._loop.saved is not None
        desk._loop.saved.write(desk._loop.session)
        desk._loop.abandon()
        desk = opened()
        assert desk["bad"].state == "failed"
        desk.run(rows=300)
        assert desk["reader"].state == "running"
    with pytest.raises(PlanError, match="The query 'bad' has failed"):
        desk.add("other", desk.stream("bad").where(wb.start_time() > 30))
    desk.run()
    desk.stop()
    whole = SHAPES[number](events, 4).where(wb.start_time() > 30)
    assert written(tmp_path / "reader") == rows_of(whole.collect())


def test_readers_of_a_query_that_its_budget_stopped_are_added_again(tmp_path: Path) -> None:
    events, _ = made(3)

    def opened() -> wb.Desk:
        desk = wb.desk(events, checkpoints=wb.Checkpoints(tmp_path, every="1h"))
        wide = events.set_duration(1_000)
        desk.add("pairs", wide.join(wide, on="k"), budget=wb.Budget(rows=50))
        desk.add("reader", desk.stream("pairs").where(wb.start_time() > 30))
        desk.add("sums", SHAPES[2](events, 3))
        return desk

    desk = opened()
    desk.run(rows=1000)
    desk.stop()
    desk = opened()
    assert [desk[name].state for name in desk] == ["stopped", "stopped", "running"]
    desk.run()
    assert [desk[name].state for name in desk] == ["stopped", "stopped", "finished"]
    assert len(desk._loop.session.pipeline.plans) == 1
    desk.stop()


def test_returns_write_checkpoints_only_when_due(tmp_path: Path) -> None:
    events, _ = made(3)

    def opened() -> wb.Desk:
        desk = wb.desk(events, checkpoints=wb.Checkpoints(tmp_path / "state", every="1h"))
        desk.add("sums", SHAPES[2](events, 3), sink=wb.sinks.parquet(tmp_path / "sums"))
        return desk

    desk = opened()
    for rows in (500, 100, 300):
        desk.run(rows=rows)
    assert not list((tmp_path / "state").glob("0*"))
    assert not written(tmp_path / "sums")
    desk._loop.abandon()
    desk = opened()
    desk.run(rows=500)
    desk.run()
    assert len(list((tmp_path / "state").glob("0*"))) == 1
    desk._loop.abandon()
    assert written(tmp_path / "sums") == rows_of(SHAPES[2](events, 3).collect())


def kill_and_restart(seed: int, folder: Path, steps: int) -> None:
    """Add, remove, kill and restart at random: each sink has each settled row once."""
    choose = random.Random(seed)
    events, _ = made(seed, latency=choose.choice([0, 25]))
    checkpoints = wb.Checkpoints(folder / "state", every="1h", keep=2)
    program: dict[str, int] = {}

    def opened() -> Any:
        desk = wb.desk(events, checkpoints=checkpoints)
        for name, number in program.items():
            desk.add(name, SHAPES[number](events, 3), sink=wb.sinks.parquet(folder / name))
        return desk

    desk = opened()
    kept: dict[str, tuple[int, dict[str, int], int]] = {}
    for step in range(steps):
        match choose.choice(["run", "run", "add", "remove", "save", "kill", "stop"]):
            case "run":
                desk._loop._begin()
                for _ in range(choose.randrange(1, 4)):
                    desk._loop.session.step()
            case "add":
                name = f"q{step}"
                program[name] = choose.randrange(len(SHAPES))
                desk.add(name, SHAPES[program[name]](events, 3), sink=wb.sinks.parquet(folder / name))
            case "remove" if program:
                name = choose.choice(list(program))
                kept[name] = program.pop(name), dict(desk[name].since), desk[name].rows
                desk.remove(name)
            case "save":
                desk._loop._begin()
                desk._loop.saved.write(desk._loop.session)
            case "kill":
                desk._loop.abandon()
                desk = opened()
            case "stop":
                desk.stop()
                desk = opened()
    desk.run()
    desk.stop()
    for name, number in program.items():
        assert written(folder / name) == alone(events, number, desk[name].since), name
    for name, (number, since, rows) in kept.items():
        found, whole = written(folder / name), alone(events, number, since)
        assert not Counter(found) - Counter(whole), name
        assert len(found) >= rows, name  # settled rows at least; before the first reading there are none


def alone(events: wb.Stream, number: int, since: dict[str, int]) -> list[tuple[Any, ...]]:
    begin = since.get("events")
    return rows_of(SHAPES[number](events if begin is None else events.where(wb.start_time() >= begin), 3).collect())


@pytest.mark.parametrize("seed", [1, 2])
def test_sinks_have_each_row_once(seed: int, tmp_path: Path) -> None:
    kill_and_restart(seed, tmp_path, 20)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 20))
def test_sinks_have_each_row_once_long(seed: int, tmp_path: Path) -> None:
    kill_and_restart(seed, tmp_path, 50)
