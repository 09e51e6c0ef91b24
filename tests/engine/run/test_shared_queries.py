"""Queries of a desk that share their aggregation: each answers as it would alone."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import whimbrel as wb
from whimbrel.kernels import tier
from whimbrel.plan import Sink
from whimbrel.run import source_reader
from whimbrel.run.desk import DeskQuery
from whimbrel.run.desk.sharing import shared_groups
from whimbrel.run.desk.sharing.shared_aggregate import SharedAggregateKernel

col = wb.col
Condition = Callable[[Any], Any]
"""Of a limit: a parameter, or what stands for it."""
Shape = Callable[[wb.Stream, Any], wb.Stream]
LIMIT = 2
ROWS = 160
WORDS = ("dns", "web", "ssh", "ntp")


def rows_of(table: pa.Table) -> list[str]:
    """Rows as text; zeros of both signs are equal, and the least of them may be either."""
    return sorted(repr([value + 0.0 if isinstance(value, float) else value for value in row.values()])
                  for row in table.to_pylist())


def made(seed: int, latency: int) -> pa.Table:
    """Rows in the order in which they arrive, with nulls, NaN and zeros of both signs."""
    rng = np.random.default_rng(seed)
    at = np.sort(rng.integers(0, 2 * ROWS, ROWS))
    if latency:
        at = at[np.argsort(at + rng.integers(0, latency, ROWS), kind="stable")]

    def some(values: list[Any]) -> list[Any]:
        return [None if rng.random() < 0.1 else value for value in values]

    floats = rng.choice([-1.5, -0.0, 0.0, 0.5, 2.0, float("nan"), float("inf")], ROWS)
    return pa.table({
        "at": at, "k": rng.integers(0, 3, ROWS), "p": pa.array(some(rng.integers(-2, 6, ROWS).tolist()), pa.int64()),
        "q": pa.array(rng.integers(-100, 100, ROWS), pa.int8()), "f": pa.array(some(floats.tolist()), pa.float64()),
        "s": pa.array(some(rng.choice(WORDS, ROWS).tolist()), pa.string()),
        "flag": pa.array(some((rng.random(ROWS) < 0.5).tolist()), pa.bool_())})


def source(table: pa.Table, latency: int) -> wb.Stream:
    return wb.from_arrow(table, time="at", name="events", reorder_latency=latency)


COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda x, c: x == c, "!=": lambda x, c: x != c, "<": lambda x, c: x < c, "<=": lambda x, c: c >= x,
    ">": lambda x, c: x > c, ">=": lambda x, c: c <= x}
numbers = st.tuples(st.sampled_from(["p", "q"]), st.sampled_from(sorted(COMPARED)), st.integers(-3, 6))
floats = st.tuples(st.just("f"), st.sampled_from(sorted(COMPARED)), st.sampled_from([-1.5, 0.0, -0.0, 0.7, 2]))
words = st.tuples(st.just("s"), st.sampled_from(["==", "!="]), st.sampled_from([*WORDS, "none"]))


@st.composite
def constant_conditions(draw: st.DrawFn) -> Any:
    kind = draw(st.integers(0, 8))
    if kind < 5:
        name, op, constant = draw(st.one_of(numbers, floats, words))
        return COMPARED[op](col[name], constant)
    if kind == 5:
        return col.p.is_in(draw(st.lists(st.integers(-3, 6), min_size=1, max_size=3)))
    if kind == 6:
        return col.q.between(draw(st.integers(-90, 0)), draw(st.integers(-20, 90)))
    if kind == 7:
        return draw(st.sampled_from([col.flag, col.p < col.q, col.s.is_null(), col.f > col.p]))
    return ~(col.p > draw(st.integers(-3, 6)))


LIMITED: tuple[Condition, ...] = (
    lambda limit: col.p > limit, lambda limit: limit >= col.q, lambda limit: col.f < limit,
    lambda limit: col.q.between(-40, limit), lambda limit: (col.p == limit) | (col.p == 4), lambda limit: limit > 3,
    lambda limit: ~(col.p != limit))


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> Condition:
    kind = draw(st.integers(0, 9 if depth else 5))
    if kind < 4:
        constant = draw(constant_conditions())
        return lambda _: constant
    if kind < 6:
        return draw(st.sampled_from(LIMITED))
    left, right = draw(conditions(depth - 1)), draw(conditions(depth - 1))
    return lambda limit: left(limit) | right(limit) if kind == 6 else left(limit) & right(limit)


AGGREGATES: tuple[dict[str, Any], ...] = (
    {"n": wb.count()}, {"n": wb.count(), "total": wb.sum(col.p)}, {"total": wb.sum(col.p), "rows": wb.count()},
    {"low": wb.min(col.f), "high": wb.max(col.q)}, {"m": wb.mean(col.p), "n": wb.count()},
    {"some": wb.any(col.flag), "n": wb.count().where(col.flag)}, {"r": wb.sum(col.q) / wb.count()})
KEYS: tuple[dict[str, Any], ...] = (
    {}, {"k": col.k}, {"s": col.s}, {"k": col.k, "s": col.s}, {"big": col.p > 2}, {"s": col.s, "big": col.p > 2})
RESTS: tuple[Shape, ...] = (
    lambda s, _: s, lambda s, _: s, lambda s, _: s.shift(3),
    lambda s, _: s.tumbling_window(30).aggregate(rows=wb.count()),
    lambda s, _: s.set_duration(25).aggregate(rows=wb.count()),
    lambda s, limit: s.where(wb.end_time() > 20 * limit))


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    condition = draw(st.none() | conditions())
    keys, aggregates = draw(st.sampled_from(KEYS)), draw(st.sampled_from(AGGREGATES))
    window = draw(st.sampled_from([(7, 7, 0, "start"), (7, 7, 0, "start"), (10, 10, 3, "end"), (12, 4, 0, "start")]))
    emit, rest = draw(st.sampled_from(["change", "close"])), draw(st.sampled_from(RESTS))
    first = draw(st.booleans())

    def shape(rows: wb.Stream, limit: Any) -> wb.Stream:
        size, hop, offset, label = window
        if condition is not None and first:
            rows = rows.where(condition(limit))
        rows = rows.hopping_window(size, hop, offset=offset, label=label)
        if condition is not None and not first:
            rows = rows.where(condition(limit))
        return rest((rows.group_by(**keys) if keys else rows).aggregate(emit=emit, **aggregates), limit)

    return shape


class Kept(Sink):
    """Keeps rows that are durable in a list, which outlives it."""

    name = "kept"

    def __init__(self, durable: list[str]) -> None:
        self._durable = durable
        self._rows: list[str] = []

    def open(self, schema: pa.Schema, rows: int, token: Any) -> None:
        assert rows == (token or 0)
        del self._durable[token or 0:]

    def write(self, rows: pa.RecordBatch) -> None:
        self._rows += rows_of(pa.table(rows))

    def prepare(self) -> Any:
        self._durable += self._rows
        self._rows = []
        return len(self._durable)

    def close(self) -> None:
        pass


@dataclass
class Asked:
    """A query, and what is known of it."""

    shape: Shape
    options: str
    begun: int | None = None
    given: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    changes: list[tuple[int, int]] = field(default_factory=list)


class Program:
    """A desk, what was asked of it, and what each query should answer."""

    def __init__(self, seed: int, latency: int, folder: str) -> None:
        self.table, self.latency = made(seed, latency), latency
        self.events = source(self.table, latency)
        self.folder, self.asked = folder, dict[str, Asked]()
        self.desk = self.opened()

    def opened(self) -> wb.Desk:
        desk = wb.desk(self.events, checkpoints=wb.Checkpoints(self.folder, every="1h", keep=2))
        for name, asked in self.asked.items():
            self._ask(desk, name, asked)
            assert desk[name].since.get("events") == asked.begun
            assert limits(desk[name]) == asked.changes
        return desk

    def _ask(self, desk: wb.Desk, name: str, asked: Asked) -> None:
        budget = wb.Budget(rows=10**6, bytes=10**9, seconds=10**6) if "budget" in asked.options else None
        sink = Kept(asked.written) if "sink" in asked.options else None
        desk.add(name, asked.shape(self.events, wb.parameter("limit", LIMIT)), budget=budget, sink=sink)

    def add(self, name: str, shape: Shape, options: str) -> None:
        asked = self.asked[name] = Asked(shape, options)
        self._ask(self.desk, name, asked)
        asked.begun = self.desk[name].since.get("events")

    def remove(self, name: str) -> None:
        self.desk.remove(name)
        del self.asked[name]

    def set(self, name: str, limit: int) -> None:
        if self.desk[name].parameters:
            self.desk.set(name, limit=limit)
            self.asked[name].changes = limits(self.desk[name])

    def alone(self, name: str, rows: int = ROWS) -> list[str]:
        read, asked = self.table.slice(0, rows), self.asked[name]
        kept = read if asked.begun is None else read.filter(pa.array(np.asarray(read["at"]) >= asked.begun))
        limit = wb.lit(LIMIT)
        for at, value in asked.changes:
            limit = wb.when(wb.start_time() >= at).then(value).otherwise(limit)
        return rows_of(asked.shape(source(kept, self.latency), limit).collect())

    def check(self, name: str) -> None:
        """The current result is that of the rows that were read."""
        rows = self.desk._loop.session.reader.rows if self.desk._loop.session.began else 0
        table = self.desk[name].table
        found = self.asked[name].given + rows_of(table)
        assert sorted(found) == self.alone(name, rows), name

    def restart(self) -> None:
        """Write a checkpoint, read on, and die."""
        self.desk._loop._begin()
        self.desk._loop.saved.write(self.desk._loop.session)  # type: ignore[union-attr]
        for name, asked in self.asked.items():
            snapshot = self.desk[name].snapshot()
            asked.given += rows_of(snapshot.table.slice(0, snapshot.settled))
        for _ in range(3):
            self.desk._loop.session.step()
        self.close()
        self.desk = self.opened()

    def close(self) -> None:
        """Die. Hypothesis may end an example anywhere, and a desk holds a file."""
        self.desk._loop.abandon()


def limits(query: DeskQuery) -> list[tuple[int, int]]:
    return list(query.parameter_values["limit"].changes) if query.parameters else []


OPTIONS = ("", "", "sink", "budget", "sink and budget")


@pytest.mark.parametrize("latency", [0, 20])
@settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(data=st.data())
def test_shared_equals_alone(latency: int, data: st.DataObject) -> None:
    run_program(latency, data, data.draw(st.lists(shapes(), min_size=2, max_size=6)))


@pytest.mark.long
@pytest.mark.parametrize("latency", [0, 20])
@settings(max_examples=40, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(data=st.data())
def test_shared_equals_alone_long(latency: int, data: st.DataObject) -> None:
    run_program(latency, data, data.draw(st.lists(shapes(), min_size=2, max_size=12)))


def run_program(latency: int, data: st.DataObject, first: list[Shape]) -> None:
    with (tempfile.TemporaryDirectory() as folder, tier("interpreted"), pytest.MonkeyPatch.context() as patch,
          ExitStack() as closed):
        patch.setattr(shared_groups, "FIRST_SPAN", data.draw(st.sampled_from([1, 64])))
        patch.setattr(shared_groups, "CELLS_LIMIT", data.draw(st.sampled_from([0, 100, 1 << 18])))
        patch.setattr(shared_groups, "ROWS_A_GROUP", data.draw(st.sampled_from([0, 1, 4])))
        patch.setattr(shared_groups, "SAMPLE_ROWS", data.draw(st.sampled_from([1, 9, 1 << 16])))
        patch.setattr(source_reader, "_FEWEST_ROWS", 8)
        program = closed.enter_context(closing(Program(data.draw(st.integers(0, 50)), latency, folder + "/desk")))
        for number, shape in enumerate(first):
            program.add(f"first {number}", shape, data.draw(st.sampled_from(OPTIONS)))
        for step in range(data.draw(st.integers(1, 8))):
            names = list(program.asked)
            match data.draw(st.sampled_from(["run", "run", "add", "add", "set", "set", "remove", "look", "restart"])):
                case "run":
                    program.desk.run(rows=data.draw(st.integers(1, 60)))
                case "add":
                    program.add(f"added {step}", data.draw(shapes()), data.draw(st.sampled_from(OPTIONS)))
                case "set" if names:
                    program.set(data.draw(st.sampled_from(names)), data.draw(st.integers(-3, 6)))
                case "remove" if names:
                    program.remove(data.draw(st.sampled_from(names)))
                case "look" if names:
                    program.check(data.draw(st.sampled_from(names)))
                case "restart":
                    program.restart()
        program.desk.run()
        for name in program.asked:
            program.check(name)
            assert program.desk[name].state == "finished"
        program.desk.stop()
        for name, asked in program.asked.items():
            if "sink" in asked.options:
                assert sorted(asked.written) == program.alone(name)


def kernels(desk: wb.Desk) -> list[SharedAggregateKernel]:
    return [kernel for kernel in desk._loop.session.pipeline.kernels if isinstance(kernel, SharedAggregateKernel)]


def test_an_overflow_of_one_query_is_not_that_of_another() -> None:
    log = wb.from_arrow({"at": [0, 1, 2, 11], "x": [2**62, 2**62, 5, 5]}, time="at", name="events")
    desk = wb.desk(log)
    desk.add("small", log.where(col.x < 9).tumbling_window(10).aggregate(total=wb.sum(col.x)))
    desk.add("all", log.tumbling_window(10).aggregate(total=wb.sum(col.x)))
    desk.add("reader", desk.stream("all").where(col.total > 0))
    desk.run()
    assert len(kernels(desk)) == 1
    assert desk["small"].table["total"].to_pylist() == [5, 5]
    assert (desk["small"].state, desk["all"].state, desk["reader"].state) == ("finished", "failed", "failed")
    assert "sum" in str(desk["all"].error)
    desk.remove("reader")
    desk.remove("all")
    desk.remove("small")
    assert kernels(desk) == []


def test_sets_of_keys_share_groups_where_these_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_groups, "SAMPLE_ROWS", 500)
    rng = np.random.default_rng(3)
    table = {"at": np.arange(4_000), **{name: rng.integers(0, upto, 4_000)
                                        for name, upto in (("a", 3), ("b", 4), ("c", 4_000))}}
    log = wb.from_arrow(table, time="at", name="events")
    windows = log.tumbling_window(2_000)
    asked = {"none": windows, "a": windows.group_by("a"), "b": windows.group_by("b"), "ab": windows.group_by("a", "b")}
    desk = wb.desk(log)
    for name, query in asked.items():
        desk.add(name, query.aggregate(n=wb.count()))
    desk.run(rows=1_000)
    assert [kernel.groupings for kernel in kernels(desk)] == [[4]]
    desk.add("c", windows.group_by("c").aggregate(n=wb.count()))
    desk.run(rows=1_000)
    assert [kernel.groupings for kernel in kernels(desk)] == [[1, 1, 1, 1, 1]]
    desk.run()
    for name, query in asked.items():
        assert rows_of(desk[name].table) == rows_of(query.aggregate(n=wb.count()).collect())


def test_a_current_result_meets_patterns_and_groups_before_the_desk_does() -> None:
    table = {"at": range(400), "k": [max(0, n - 200) for n in range(400)], "x": [max(0, n - 300) for n in range(400)]}
    log = wb.from_arrow(table, time="at", name="events", reorder_latency=250)
    desk = wb.desk(log)
    queries = {f"{least}": log.where(col.x >= least).group_by("k").tumbling_window(100).aggregate(n=wb.count())
               for least in range(100)}
    for name, query in queries.items():
        desk.add(name, query)
    with tier("interpreted"):
        desk.run(rows=399)
        assert desk["0"].table.num_rows > 100
        desk.run()
        for name, query in queries.items():
            assert rows_of(desk[name].table) == rows_of(query.collect())


def test_a_query_of_which_no_row_is_does_nothing() -> None:
    log = wb.from_arrow({"at": range(100), "port": [53] * 100}, time="at", name="events")
    desk = wb.desk(log)
    for port in range(1_000):
        desk.add(f"{port}", log.where(col.port == port).tumbling_window(10).aggregate(n=wb.count()))
    desk.run()
    kernel, = kernels(desk)
    assert kernel.left_rows == 10
    assert desk["53"].table["n"].to_pylist() == [10] * 10
    assert desk["54"].table.num_rows == 0
    shared = desk["54"].shared
    assert shared is not None
    assert shared.kernels == []


def test_what_shares_and_what_stays_outside() -> None:
    log = wb.from_arrow({"at": range(9), "x": range(9)}, time="at", name="events")
    desk = wb.desk(log)
    windows, limit = log.tumbling_window(5), wb.parameter("p", 3)

    def counts(rows: wb.Stream) -> wb.Stream:
        return rows.tumbling_window(5).aggregate(n=wb.count())

    desk.add("fails", counts(log.where(col.x * 2 > 3)))
    desk.add("floats", windows.aggregate(total=wb.sum(col.x * 0.5)))
    desk.add("parameter of windows", windows.where(col.x > limit).aggregate(n=wb.count()))
    desk.add("parameter of values", log.select(y=limit).tumbling_window(5).aggregate(n=wb.sum(col.y)))
    outside = len(desk)
    desk.add("budget", counts(log), budget=wb.Budget(rows=1_000))
    desk.add("sink", counts(log), sink=Kept([]))
    desk.add("parameter", counts(log.where(col.x > limit)))
    desk.add("having", counts(log).where(col.n > limit))
    desk.add("shared", counts(log))
    desk.run()
    assert [desk[name].shared is not None for name in desk] == [False] * outside + [True] * 5
    assert len(kernels(desk)) == 1
    assert desk["budget"].table.equals(desk["shared"].table)
    assert "shared aggregate(count())" in desk.explain()
    assert {row.rows_in for row in desk.cost.queries} == {9}


def test_costs_have_own_steps_and_the_part_of_shared_ones() -> None:
    log = wb.from_arrow({"at": range(90), "x": range(90)}, time="at", name="events")
    desk = wb.desk(log)
    for name, least in (("one", 3), ("other", 5), ("same", 5)):
        desk.add(name, log.where(col.x > least).tumbling_window(5).aggregate(n=wb.count()).where(col.n > 1))
    desk.add("alone", log.where(col.x * 2 > 3))
    desk.run()
    cost = desk.cost
    one, other, same, alone = cost.queries
    assert one.steps == other.steps == same.steps > one.shared_steps > 0
    assert other.shared_steps == same.shared_steps == other.steps
    assert one.shared_seconds is not None
    assert 0 < one.shared_seconds < one.seconds
    assert other.shared_seconds == pytest.approx(other.seconds)
    assert sum(each.seconds for each in cost.queries) == pytest.approx(cost.seconds)
    once = [each.steps - each.shared_steps for each in (one, alone)]
    assert cost.steps == sum(once) + other.steps
    assert cost.shared_steps == other.steps
    desk.remove("same")
    assert desk.cost.queries[1].shared_steps == one.shared_steps


def test_equal_settings_are_one_condition_and_different_ones_are_not() -> None:
    log = wb.from_arrow({"at": range(100), "x": [n % 10 for n in range(100)]}, time="at", name="events")
    desk = wb.desk(log)
    for number in range(40):
        query = log.where(col.x >= wb.parameter("least", 5)).tumbling_window(10).aggregate(n=wb.count())
        desk.add(f"{number}", query)
    desk.set("0", least=9)
    desk.run()
    kernel, = kernels(desk)
    assert len(kernel.groups[0].patterns) == 2
    assert desk["0"].table["n"].to_pylist() == [1] * 10
    assert desk["39"].table["n"].to_pylist() == [5] * 10


@pytest.mark.parametrize("least", [9, 10])
def test_a_budget_counts_what_the_query_has_alone(least: int) -> None:
    """Other queries with many groups share its aggregate."""
    log = wb.from_arrow({"at": range(2_000), "x": range(2_000), "k": [n % 10 for n in range(2_000)]}, time="at",
                        name="events")
    windows = log.tumbling_window(1_000)
    states = []
    for others in (0, 5):
        desk = wb.desk(log)
        desk.add("few", windows.group_by("k").aggregate(n=wb.count()), budget=wb.Budget(rows=least))
        for number in range(others):
            desk.add(f"{number}", windows.where(col.x > number).group_by("k", "x").aggregate(n=wb.count()))
        for rows in (300, 300, 300):
            desk.run(rows=rows)
            desk.add(f"after {rows} of {len(desk)}", windows.where(col.k > 8).aggregate(n=wb.count()))
        desk.run()
        assert desk["few"].shared is not None
        states.append(desk["few"].state)
        assert {desk[name].state for name in desk if name != "few"} == {"finished"}
    assert states == ["stopped" if least < 10 else "finished"] * 2
