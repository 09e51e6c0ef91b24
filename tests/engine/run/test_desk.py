"""Desks: queries come and go on one reading, and each answers as it would alone."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from whimbrel.errors import CheckpointError, ExpressionError, PlanError
from whimbrel.expr import ParameterValues
from whimbrel.kernels import finish_compiling, tier
from whimbrel.run.desk import DeskQuery

col = wb.col
_ROWS = 3_000


def made(seed: int, rows: int = _ROWS, *, latency: int = 0) -> tuple[wb.Stream, dict[str, Any]]:
    rng = np.random.default_rng(seed)
    at = np.sort(rng.integers(0, 2 * rows, rows))
    if latency:
        at = at[np.argsort(at + rng.integers(0, latency, rows), kind="stable")]
    columns = {"at": at, "k": rng.integers(0, 5, rows), "x": rng.integers(-50, 50, rows)}
    return wb.from_arrow(columns, time="at", name="events", reorder_latency=latency), columns


SHAPES = (
    lambda s, c: s.where(col.x > c),
    lambda s, c: s.where(col.x > c).tumbling_window(100).aggregate(n=wb.count(), total=wb.sum(col.x)),
    lambda s, c: s.where(col.x > c).tumbling_window(100).group_by("k").aggregate(n=wb.count(), top=wb.max(col.x)),
    lambda s, c: s.where(col.k == c % 5).hopping_window(60, 20).aggregate(n=wb.count()),
    lambda s, c: s.set_duration(30).group_by("k").aggregate(total=wb.sum(col.x + c)),
    lambda s, c: s.where(col.x > c).set_duration(20).join(s.where(col.x < -c).set_duration(9), on="k"),
    lambda s, c: s.group_by("k").session_window(40).aggregate(n=wb.count(), least=wb.min(col.x - c)),
    lambda s, c: s.tumbling_window(50).group_by("k").aggregate(total=wb.sum(col.x)).where(col.total > c),
)


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.to_pylist())


def alone(columns: dict[str, Any], shape: Any, constant: Any, since: int | None = None,
          latency: int = 0) -> list[tuple[Any, ...]]:
    """The rows of a query by itself, over a source that begins at a time."""
    kept = np.ones(len(columns["at"]), np.bool_) if since is None else columns["at"] >= since
    source = wb.from_arrow({name: values[kept] for name, values in columns.items()}, time="at", name="events",
                           reorder_latency=latency)
    return rows_of(shape(source, constant).collect())


@pytest.mark.parametrize("latency", [0, 40])
def test_each_query_answers_as_alone(latency: int) -> None:
    events, columns = made(1, latency=latency)
    desk = wb.desk(events)
    for number, shape in enumerate(SHAPES):
        for constant in (3, 11):
            desk.add(f"{number}-{constant}", shape(events, constant))
    desk.run(rows=700)
    for number, shape in enumerate(SHAPES):
        desk.add(f"late {number}", shape(events, 3))
    desk.run()
    for number, shape in enumerate(SHAPES):
        for constant in (3, 11):
            query = desk[f"{number}-{constant}"]
            assert query.state == "finished"
            assert rows_of(query.table) == alone(columns, shape, constant, latency=latency), number
        late = desk[f"late {number}"]
        begin = late.since["events"]
        assert columns["at"][0] < begin < columns["at"].max()
        assert rows_of(late.table) == alone(columns, shape, 3, begin, latency), number


def test_equal_steps_written_apart_run_once() -> None:
    events, _ = made(2)
    desk = wb.desk(events)

    def query(name: str) -> wb.Stream:
        return events.where(col.x > 3).tumbling_window(100).aggregate(**{name: wb.sum(col.x)})

    desk.add("one", query("total"))
    before = len(desk._loop.session.pipeline.nodes)
    desk.add("two", query("total"))
    assert len(desk._loop.session.pipeline.nodes) == before
    desk.add("three", query("other"))
    assert len(desk._loop.session.pipeline.nodes) == before == 2
    desk.run(rows=500)
    desk.remove("one")
    desk.run()
    assert rows_of(desk["two"].table) == rows_of(query("total").collect()) == rows_of(desk["three"].table)
    assert "#1" in desk.explain()


def test_adding_a_query_of_a_known_shape_compiles_nothing() -> None:
    events, columns = made(10)

    def query(source: wb.Stream, least: int) -> wb.Stream:
        named = {f"of_{least}": wb.sum(col.x * least), "n": wb.count()}
        return source.where(col.x > least).tumbling_window(100).group_by("k").aggregate(**named)

    desk = wb.desk(events)
    desk.add("first", query(events, 3))
    with tier("fused"):
        desk.run(rows=500)
        before = finish_compiling()
        for least in (5, 7):
            desk.add(f"{least}", query(events, least))
            desk.run(rows=300)
        desk.run()
    assert finish_compiling() == before
    for least in (5, 7):
        assert rows_of(desk[f"{least}"].table) == alone(columns, query, least, desk[f"{least}"].since["events"])
        assert desk[f"{least}"].rows


def test_a_failure_touches_only_its_own_query() -> None:
    events, columns = made(3)
    desk = wb.desk(events)
    desk.add("good", SHAPES[1](events, 3))
    desk.add("bad", events.select(y=(col.at - 900).cast("uint64")).where(col.y > 5))
    desk.add("reader", desk.stream("bad").where(col.y > 7))
    desk.run()
    assert (desk["good"].state, desk["bad"].state, desk["reader"].state) == ("finished", "failed", "failed")
    assert desk["bad"].error is not None
    assert desk["bad"].error.what in desk.explain()
    assert rows_of(desk["good"].table) == alone(columns, SHAPES[1], 3)
    desk.remove("reader")
    desk.remove("bad")
    assert list(desk) == ["good"]


@pytest.mark.parametrize(("budget", "words"), [
    ({"rows": 100}, "buffers"), ({"bytes": 1000}, "bytes"), ({"seconds": 1e-9}, "seconds")])
def test_a_budget_stops_only_its_own_query(budget: dict[str, Any], words: str) -> None:
    events, columns = made(4)
    desk = wb.desk(events)
    shape = SHAPES[5]
    desk.add("kept", SHAPES[1](events, 3))
    wide = events.set_duration(10_000)
    desk.add("large", wide.join(wide.where(col.x > 40), on="k"), budget=wb.Budget(**budget))
    desk.add("same", shape(events, 3))
    desk.run()
    large = desk["large"]
    assert large.state == "stopped"
    assert large.error is not None
    assert words in large.error.what
    assert (desk["kept"].state, desk["same"].state) == ("finished", "finished")
    assert rows_of(desk["same"].table) == alone(columns, shape, 3)
    costs = {row["query"]: row for row in desk.metrics.to_pylist()}
    assert costs["same"]["seconds"] > 0
    assert costs["large"]["state"] == "stopped"


def test_a_budget_of_bytes_counts_rows_and_not_the_memory_for_more() -> None:
    events, columns = made(4, latency=40)
    desk = wb.desk(events)
    desk.add("small", SHAPES[1](events, 3), budget=wb.Budget(bytes=120_000))
    desk.run()
    assert desk["small"].state == "finished"
    assert rows_of(desk["small"].table) == alone(columns, SHAPES[1], 3, latency=40)


def test_a_query_reads_the_results_of_another() -> None:
    events, columns = made(5)
    desk = wb.desk(events)
    desk.add("sums", SHAPES[2](events, 3))
    desk.add("large", desk.stream("sums").where(col.top > 45))
    desk.run(rows=1000)
    desk.add("from now", desk.stream("sums").where(col.top > 45))
    with pytest.raises(PlanError, match="read by large, from now"):
        desk.remove("sums")
    desk.run()
    whole = alone(columns, lambda s, c: SHAPES[2](s, c).where(col.top > 45), 3)
    assert rows_of(desk["large"].table) == whole
    begin = desk["from now"].since["sums"]
    assert rows_of(desk["from now"].table) == [row for row in whole if row[0] >= begin]
    assert 0 < desk["from now"].rows < len(whole)


@pytest.mark.parametrize("number", [2, 4, 5, 6])
def test_results_are_read_in_the_order_of_their_start(number: int) -> None:
    events, columns = made(11)

    def counts(source: wb.Stream, _: int) -> wb.Stream:
        return source.tumbling_window(200).aggregate(n=wb.count())

    desk = wb.desk(events)
    desk.add("results", SHAPES[number](events, 3))
    desk.add("counts", counts(desk.stream("results"), 0))
    desk.run()
    assert desk["counts"].state == "finished", desk["counts"].error
    assert rows_of(desk["counts"].table) == alone(columns, lambda s, c: counts(SHAPES[number](s, c), 0), 3)


def at_least(events: wb.Stream, least: Any) -> wb.Stream:
    return events.where(col.x >= least).tumbling_window(50).group_by("k").aggregate(n=wb.count())


def measured(events: wb.Stream) -> wb.Stream:
    return at_least(events, wb.parameter("least", 0))


def having(events: wb.Stream) -> wb.Stream:
    sums = events.tumbling_window(50).aggregate(total=wb.sum(col.x))
    return sums.where(col.total >= wb.parameter("least", 0)).shift(500).where(col.total < wb.parameter("most", 10**6))


def test_a_change_replaces_later_ones_of_the_time_before_a_restart() -> None:
    values = ParameterValues("least", 0, pa.int64())
    for value, at in ((1, 0), (2, 10), (3, 5)):
        values.set(value, at)
    assert values.changes == [(0, 1), (5, 3)]
    assert [values.value_at(start, None) for start in (-1, 4, 5, 20)] == [0, 1, 3, 3]


def test_a_parameter_holds_for_rows_after_the_change() -> None:
    events, columns = made(6, latency=30)
    desk = wb.desk(events)
    desk.add("a", measured(events))
    desk.add("b", measured(events))
    desk.run(rows=600)
    desk.set("a", least=20)
    (begin, _), = desk["a"].parameter_values["least"].changes
    desk.run(rows=600)
    desk["a"].snapshot()
    desk.set("a", least=-10)
    (_, (second, _)) = desk["a"].parameter_values["least"].changes
    desk.run()
    assert columns["at"].min() < begin < second < columns["at"].max()
    first = wb.when(wb.start_time() >= begin).then(20).otherwise(0)
    value = wb.when(wb.start_time() >= second).then(-10).otherwise(first)
    wanted = at_least(events, value)
    assert rows_of(desk["a"].table) == rows_of(wanted.collect())
    assert rows_of(desk["b"].table) == rows_of(measured(events).collect())
    assert desk["a"].parameters == {"least": -10}
    assert "least=-10" in desk.explain()


def test_a_change_after_a_shift_holds_after_the_rows_that_were_read() -> None:
    events, _ = made(7)
    desk = wb.desk(events)
    desk.add("a", having(events))
    desk.run(rows=1500)
    desk.set("a", least=50, most=90)
    times = {name: values.changes[0][0] for name, values in desk["a"].parameter_values.items()}
    assert times["most"] > times["least"] + 300
    desk.run()
    sums = events.tumbling_window(50).aggregate(total=wb.sum(col.x))

    def value(name: str, before: int, after: int) -> Any:
        return wb.when(wb.start_time() >= times[name]).then(after).otherwise(before)

    wanted = sums.where(col.total >= value("least", 0, 50)).shift(500).where(col.total < value("most", 10**6, 90))
    assert rows_of(desk["a"].table) == rows_of(wanted.collect())


def another(events: wb.Stream) -> wb.Desk:
    """A desk that has a query of the same name."""
    desk = wb.desk(events)
    desk.add("a", events.where(col.x > 1))
    return desk


def test_results_of_a_removed_query_are_not_those_of_a_later_one_of_its_name() -> None:
    events, _ = made(8, 10)
    desk = another(events)
    kept = desk.stream("a")
    desk.remove("a")
    with pytest.raises(PlanError, match="no query named 'a'"):
        desk.add("b", kept)
    desk.add("a", events.where(col.x > 2))
    with pytest.raises(PlanError, match="a query that was removed"):
        desk.add("b", kept)
    desk.add("b", desk.stream("a"))
    desk.run()
    assert rows_of(desk["b"].table) == rows_of(desk["a"].table)


@pytest.mark.parametrize(("wrong", "error", "words"), [
    (lambda at: at.desk.add("a", at.events), PlanError, "has 'a' already"),
    (lambda at: at.desk.add("b", wb.from_arrow({"at": [1]}, time="at", name="other")), PlanError, "not read 'other'"),
    (lambda at: at.desk.add("b", 3), PlanError, "needs a stream"),
    (lambda at: at.desk.add("b", at.events, budget=3), PlanError, "budget must be"),
    (lambda at: at.desk["b"], PlanError, "no query named 'b'"),
    (lambda at: at.desk.remove("b"), PlanError, "no query named 'b'"),
    (lambda at: at.desk.stream("b"), PlanError, "no query named 'b'"),
    (lambda at: at.desk.set("a", most=3), PlanError, "no parameter 'most'"),
    (lambda at: at.desk.set("a", least="x"), ExpressionError, "must be int64"),
    (lambda at: at.desk.set("a", least=True), ExpressionError, "must be int64"),
    (lambda at: at.desk.set("a", least=2.5), ExpressionError, "must be int64, got 2.5"),
    (lambda at: at.desk.set("a", least=2**70), ExpressionError, "an integer that fits into int64"),
    (lambda at: at.events.tumbling_window(wb.parameter("w", 10)), PlanError, "size, hop and offset of a window are"),
    (lambda at: at.desk.stream("c"), PlanError, "Use one of the queries a"),
    (lambda at: at.desk.add("b", another(at.events).stream("a")), PlanError, "'a' is of another desk"),
    (lambda _: wb.desk(), PlanError, "needs a stream"),
    (lambda at: wb.desk(at.events, at.events), PlanError, "same name"),
    (lambda at: wb.desk(at.events.where(col.x > 1)), PlanError, "without further steps"),
    (lambda at: wb.desk(at.events, checkpoints="folder"), PlanError, "wb.Checkpoints"),
    (lambda _: wb.Budget(rows=0), PlanError, "positive"),
    (lambda _: wb.Budget(bytes=1.5), PlanError, "positive integer"),
    (lambda _: wb.parameter("a b", 3), ExpressionError, "identifier"),
    (lambda _: wb.parameter("a", None), ExpressionError, "number, a string or a bool"),
    (lambda at: at.desk.add("b", at.events.where(wb.parameter("p", 1) < wb.parameter("p", 2))), PlanError,
     "two defaults"),
    (lambda at: at.desk.stream("a").collect(), PlanError, "outside its desk"),
])
def test_errors_say_what_to_do(wrong: Any, error: type[Exception], words: str) -> None:
    events, _ = made(8, 10)
    desk = wb.desk(events)
    desk.add("a", measured(events))
    with pytest.raises(error, match=words):
        wrong(SimpleNamespace(desk=desk, events=events))
    desk.run()
    assert desk["a"].state == "finished"


def test_a_desk_on_a_thread_takes_queries_from_others() -> None:
    feed = wb.feeds.synthetic(rate=20_000, rows=20_000, speed=1.0, seed=3)
    counts = feed.tumbling_window("100ms").aggregate(n=wb.count())
    desk = wb.desk(feed)
    desk.add("counts", counts)
    with desk:
        with pytest.raises(PlanError, match="thread of its own"):
            desk.run()
        desk.add("late", counts.where(col.n > 0))
        desk.add("sums", desk.stream("counts").aggregate(n=wb.sum(col.n)))
        assert desk["counts"].snapshot().table.num_rows >= 0
        assert desk["late"].seconds >= 0
        desk.remove("late")
        assert desk.wait(60)
    assert [desk[name].state for name in desk] == ["finished", "finished"]
    assert sum(desk["counts"].table["n"].to_pylist()) == 20_000
    with pytest.raises(PlanError, match="was stopped"):
        desk.add("more", counts)


def kill_and_restart(seed: int, folder: Path, steps: int, at_once: int = 1) -> None:
    """Add, remove, set, kill and restart at random: each query answers as alone.

    So many queries are added at once.
    """
    choose = random.Random(seed)
    latency = choose.choice([0, 25])
    events, columns = made(seed, latency=latency)
    checkpoints = wb.Checkpoints(folder / str(seed), every="1h", keep=2)
    program: dict[str, int] = {}
    given: dict[str, list[tuple[Any, ...]]] = {}
    written: dict[str, int] = {}
    begun: dict[str, int | None] = {}

    def opened() -> Any:
        desk = wb.desk(events, checkpoints=checkpoints)
        for name, number in program.items():
            desk.add(name, query(number))
            assert begun.get(name) == desk[name].since.get("events"), name
        return desk

    def query(number: int) -> wb.Stream:
        return measured(events) if number == len(SHAPES) else SHAPES[number](events, 3 + number)

    desk = opened()
    changes: dict[str, list[tuple[int, int]]] = {}
    for step in range(steps):
        match choose.choice(["run", "run", "add", "add", "remove", "set", "save", "kill"]):
            case "run":
                desk.run(rows=choose.randrange(1, 400))
            case "add":
                for number in range(at_once):
                    name = f"q{step}.{number}"
                    program[name] = choose.randrange(len(SHAPES) + 1)
                    desk.add(name, query(program[name]))
                    begun[name] = desk[name].since.get("events")
            case "remove" if program:
                name = choose.choice(list(program))
                desk.remove(name)
                del program[name]
            case "set" if measuring := [name for name, number in program.items() if number == len(SHAPES)]:
                name = choose.choice(measuring)
                desk.set(name, least=choose.randrange(-40, 40))
                changes[name] = list(desk[name].parameter_values["least"].changes)
            case "save":
                desk._loop._begin()
                desk._loop.saved.write(desk._loop.session)
                written = {name: desk[name].rows for name in program}
                given = {name: settled(desk[name], given.get(name, [])) for name in program}
            case "kill":
                desk._loop.abandon()
                desk = opened()
                for name, known in changes.items():
                    if name in program:
                        assert desk[name].parameter_values["least"].changes == known
                for name in program:
                    assert desk[name].rows == written.get(name, 0), name
    desk.run()
    for name, number in program.items():
        found = sorted(settled(desk[name], given.get(name, [])))
        if number == len(SHAPES):
            value = wb.lit(0)
            for at, least in changes.get(name, []):
                value = wb.when(wb.start_time() >= at).then(least).otherwise(value)
            wanted = alone(columns, at_least, value, begun[name], latency)
        else:
            wanted = alone(columns, SHAPES[number], 3 + number, begun[name], latency)
        assert found == wanted, (name, number)
    desk.stop()


@pytest.mark.parametrize(("seed", "steps", "at_once"), [
    pytest.param(30, 24, 8, marks=pytest.mark.long), pytest.param(31, 200, 40, marks=pytest.mark.soak)])
def test_many_queries_killed_and_restarted(seed: int, steps: int, at_once: int, tmp_path: Path) -> None:
    kill_and_restart(seed, tmp_path, steps, at_once)


def settled(query: DeskQuery, before: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Settled rows of earlier processes up to their checkpoints, and those since."""
    snapshot = query.snapshot()
    new = [tuple(row.values()) for row in snapshot.table.slice(0, snapshot.settled).to_pylist()]
    return before + new[len(new) - (query.rows - len(before)):]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_killed_and_restarted(seed: int, tmp_path: Path) -> None:
    kill_and_restart(seed, tmp_path, 25)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 25))
def test_killed_and_restarted_long(seed: int, tmp_path: Path) -> None:
    kill_and_restart(seed, tmp_path, 60)


def test_another_query_of_a_saved_name_is_refused(tmp_path: Path) -> None:
    events, _ = made(9)
    desk = wb.desk(events, checkpoints=wb.Checkpoints(tmp_path / "desk"))
    desk.add("a", SHAPES[1](events, 3))
    desk.run(rows=100)
    desk.stop()
    again = wb.desk(events, checkpoints=wb.Checkpoints(tmp_path / "desk"))
    with pytest.raises(CheckpointError, match="saved query 'a' is another one"):
        again.add("a", SHAPES[2](events, 3))
    again.add("a", SHAPES[1](events, 3))
    again.run()
    assert again["a"].rows
    again.stop()


@pytest.mark.parametrize("killed", [False, True])
def test_a_desk_over_a_feed_resumes_at_its_offset(killed: bool, tmp_path: Path) -> None:
    def opened() -> wb.Desk:
        schema = {"at": "int64", "x": "int64"}
        feed = wb.feeds.tail(tmp_path / "in.jsonl", time="at", schema=schema, name="feed", reorder_latency=5)
        log = wb.from_arrow({"at": [1, 2]}, time="at", name="log")
        desk = wb.desk(feed, log, checkpoints=wb.Checkpoints(tmp_path / "state", every="1h"))
        desk.add("ten", feed.where(col.x > 1).tumbling_window(10).aggregate(n=wb.count()),
                 sink=wb.sinks.parquet(tmp_path / "ten"))
        return desk

    for begin in (0, 100, 200):
        with (tmp_path / "in.jsonl").open("a") as file:
            file.write("?\n" if begin == 200 else "")
            file.writelines(f'{{"at": {at}, "x": {at % 7}}}\n' for at in range(begin, begin + 100))
        desk = opened()
        desk.run(rows=100 if begin else 102)
        status = desk["ten"].metrics.feeds["feed"]
        assert status.connection == "live"
        assert status.dead_letters == ({"not a JSON object": 1} if begin == 200 else {})
        assert desk.cost.feeds["feed"].messages == status.messages == 100 + (begin == 200)
        assert f"feed: {status}\n" in desk.explain()
        if begin == 100 and killed:
            desk._loop.abandon()
            desk = opened()
            desk.run(rows=100)
        desk.stop()
    found = [row["n"] for file in sorted((tmp_path / "ten").glob("[!.]*.parquet"))
             for row in pq.read_table(file).to_pylist()]
    assert found == [sum(at % 7 > 1 for at in range(begin, begin + 10)) for begin in range(0, 290, 10)]
