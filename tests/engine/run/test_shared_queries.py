"""Queries of a desk that share their aggregation: each answers as it would alone."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import whimbrel as wb
from whimbrel.kernels import tier
from whimbrel.run import source_reader
from whimbrel.run.desk.sharing import shared_groups
from whimbrel.run.desk.sharing.shared_aggregate import SharedAggregateKernel

col = wb.col
Shape = Callable[[wb.Stream], wb.Stream]
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
def conditions(draw: st.DrawFn, depth: int = 2) -> Any:
    kind = draw(st.integers(0, 11 if depth else 8))
    if kind < 5:
        name, op, constant = draw(st.one_of(numbers, floats, words))
        return COMPARED[op](col[name], constant)
    if kind == 5:
        return col.p.is_in(draw(st.lists(st.integers(-3, 6), min_size=1, max_size=3)))
    if kind == 6:
        return col.q.between(draw(st.integers(-90, 0)), draw(st.integers(-20, 90)))
    if kind == 7:
        return draw(st.sampled_from([col.flag, col.p < col.q, col.s.is_null(), col.f > col.p]))
    if kind == 8:
        return ~(col.p > draw(st.integers(-3, 6)))
    left, right = draw(conditions(depth - 1)), draw(conditions(depth - 1))
    return left | right if kind == 9 else left & right


AGGREGATES: tuple[dict[str, Any], ...] = (
    {"n": wb.count()}, {"n": wb.count(), "total": wb.sum(col.p)}, {"total": wb.sum(col.p), "rows": wb.count()},
    {"low": wb.min(col.f), "high": wb.max(col.q)}, {"m": wb.mean(col.p), "n": wb.count()},
    {"some": wb.any(col.flag), "n": wb.count().where(col.flag)}, {"r": wb.sum(col.q) / wb.count()})
KEYS: tuple[dict[str, Any], ...] = (
    {}, {"k": col.k}, {"s": col.s}, {"k": col.k, "s": col.s}, {"big": col.p > 2}, {"s": col.s, "big": col.p > 2})
RESTS: tuple[Shape, ...] = (
    lambda s: s, lambda s: s, lambda s: s.shift(3), lambda s: s.tumbling_window(30).aggregate(rows=wb.count()),
    lambda s: s.set_duration(25).aggregate(rows=wb.count()))


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    condition = draw(st.none() | conditions())
    keys, aggregates = draw(st.sampled_from(KEYS)), draw(st.sampled_from(AGGREGATES))
    window = draw(st.sampled_from([(7, 7, 0, "start"), (7, 7, 0, "start"), (10, 10, 3, "end"), (12, 4, 0, "start")]))
    emit, rest = draw(st.sampled_from(["change", "close"])), draw(st.sampled_from(RESTS))
    first = draw(st.booleans())

    def shape(rows: wb.Stream) -> wb.Stream:
        size, hop, offset, label = window
        if condition is not None and first:
            rows = rows.where(condition)
        rows = rows.hopping_window(size, hop, offset=offset, label=label)
        if condition is not None and not first:
            rows = rows.where(condition)
        return rest((rows.group_by(**keys) if keys else rows).aggregate(emit=emit, **aggregates))

    return shape


class Program:
    """A desk, what was asked of it, and what each query should answer."""

    def __init__(self, seed: int, latency: int, folder: str) -> None:
        self.table, self.latency = made(seed, latency), latency
        self.events = source(self.table, latency)
        self.folder, self.shapes, self.begun = folder, dict[str, Shape](), dict[str, int | None]()
        self.given: dict[str, list[str]] = {}
        self.desk = self.opened()

    def opened(self) -> wb.Desk:
        desk = wb.desk(self.events, checkpoints=wb.Checkpoints(self.folder, every="1h", keep=2))
        for name, shape in self.shapes.items():
            desk.add(name, shape(self.events))
            assert desk[name].since.get("events") == self.begun[name]
        return desk

    def add(self, name: str, shape: Shape) -> None:
        self.desk.add(name, shape(self.events))
        self.shapes[name], self.begun[name] = shape, self.desk[name].since.get("events")

    def remove(self, name: str) -> None:
        self.desk.remove(name)
        del self.shapes[name]

    def alone(self, name: str, rows: int = ROWS) -> list[str]:
        read, begin = self.table.slice(0, rows), self.begun[name]
        kept = read if begin is None else read.filter(pa.array(np.asarray(read["at"]) >= begin))
        return rows_of(self.shapes[name](source(kept, self.latency)).collect())

    def check(self, name: str) -> None:
        """The current result is that of the rows that were read."""
        rows = self.desk._loop.session.reader.rows if self.desk._loop.session.began else 0
        table = self.desk[name].table
        found = self.given.get(name, []) + rows_of(table)
        assert sorted(found) == self.alone(name, rows), name

    def restart(self) -> None:
        """Write a checkpoint, read on, and die."""
        self.desk._loop._begin()
        self.desk._loop.saved.write(self.desk._loop.session)  # type: ignore[union-attr]
        for name in self.shapes:
            snapshot = self.desk[name].snapshot()
            self.given[name] = self.given.get(name, []) + rows_of(snapshot.table.slice(0, snapshot.settled))
        self.desk.run(rows=20)
        self.close()
        self.desk = self.opened()

    def close(self) -> None:
        """Die. Hypothesis may end an example anywhere, and a desk holds a file."""
        self.desk._loop.abandon()


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
        patch.setattr(shared_groups, "ROWS_A_GROUP", data.draw(st.sampled_from([0, 1, 4])))
        patch.setattr(source_reader, "_FEWEST_ROWS", 8)
        program = closed.enter_context(closing(Program(data.draw(st.integers(0, 50)), latency, folder + "/desk")))
        for number, shape in enumerate(first):
            program.add(f"first {number}", shape)
        for step in range(data.draw(st.integers(1, 8))):
            names = list(program.shapes)
            match data.draw(st.sampled_from(["run", "run", "add", "add", "remove", "look", "restart"])):
                case "run":
                    program.desk.run(rows=data.draw(st.integers(1, 60)))
                case "add":
                    program.add(f"added {step}", data.draw(shapes()))
                case "remove" if names:
                    program.remove(data.draw(st.sampled_from(names)))
                case "look" if names:
                    program.check(data.draw(st.sampled_from(names)))
                case "restart":
                    program.restart()
        program.desk.run()
        for name in program.shapes:
            program.check(name)
            assert program.desk[name].state == "finished"
        program.desk.stop()


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


def test_sets_of_keys_share_groups_where_these_are_few() -> None:
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


def test_budgets_parameters_and_failing_conditions_stay_outside() -> None:
    log = wb.from_arrow({"at": range(9), "x": range(9)}, time="at", name="events")
    desk = wb.desk(log)

    def counts(rows: wb.Stream) -> wb.Stream:
        return rows.tumbling_window(5).aggregate(n=wb.count())

    desk.add("budget", counts(log), budget=wb.Budget(rows=1_000))
    desk.add("parameter", counts(log.where(col.x > wb.parameter("p", 3))))
    desk.add("fails", counts(log.where(col.x * 2 > 3)))
    desk.add("floats", log.tumbling_window(5).aggregate(total=wb.sum(col.x * 0.5)))
    desk.add("shared", counts(log))
    desk.run()
    assert [name for name in desk if desk[name].shared is not None] == ["shared"]
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
