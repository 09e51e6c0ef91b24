"""Aggregates of users: compiled where possible, interpreted where not, and refused where they make no sense."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError, KernelError, PlanError
from whimbrel.kernels import tier
from whimbrel.testing import Query, check_operator, laws, strategies
from whimbrel.testing.oracle import Event

STEADY = settings(derandomize=True, database=None, deadline=None)

TIERS = ("interpreted", "primitives", "fused")
SHAPES = (".aggregate", ".group_by('key').aggregate", ".tumbling_window(8).aggregate",
          ".group_by('key').tumbling_window(8).aggregate", ".hopping_window(12, 3).aggregate",
          ".group_by('key').sliding_window(9).aggregate")


class Mean:
    """With everything, as a class."""

    @staticmethod
    def init() -> tuple[float, int]:
        return 0.0, 0

    @staticmethod
    def accumulate(state: Any, value: Any) -> Any:
        return state[0] + value, state[1] + 1

    @staticmethod
    def remove(state: Any, value: Any) -> Any:
        return state[0] - value, state[1] - 1

    @staticmethod
    def merge(left: Any, right: Any) -> Any:
        return left[0] + right[0], left[1] + right[1]

    @staticmethod
    def result(state: Any) -> Any:
        return None if state[1] == 0 else state[0] / state[1]


def total(*, invertible: bool) -> Any:
    return wb.aggregate(init=0, accumulate=lambda s, x: s + x, result=lambda s: s,
                        remove=(lambda s, x: s - x) if invertible else None, name="total")


mean = wb.aggregate(Mean)
apart = wb.aggregate(init=0, accumulate=lambda s, x: s + x, result=lambda s: s, difference=lambda s, t: s - t)
spread = wb.aggregate(init=(0, 0), accumulate=lambda s, x: (s[0] + x, s[1] + 1), result=lambda s: s[0],
                      difference=lambda s, t: (s[0] - t[0], s[1] - t[1]))
refused = wb.aggregate(init=0, accumulate=lambda s, x: int(str(int(s + x))), result=lambda s: s, name="refused")
MINE = {"m": mean(col.y), "a": total(invertible=True)(col.x), "b": total(invertible=False)(col.x),
        "c": refused(col.x).where(col.flag), "d": apart(col.x), "e": spread(col.x)}
BUILT_IN = ("(m=wb.mean(col.y), a=wb.sum(col.x), b=wb.sum(col.x), c=wb.sum(col.x).where(col.flag), d=wb.sum(col.x), "
            "e=wb.sum(col.x))")


def build(shape: str) -> Any:
    return lambda stream: eval("stream" + shape, {"stream": stream, "col": col})(**MINE)


@pytest.mark.share(3)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("law", (laws.matches_the_reference, laws.batches_change_nothing))
@settings(STEADY, max_examples=8)
@given(facts=strategies.facts())
def test_mine_is_as_the_built_in(shape: str, law: laws.Law, facts: list[Event]) -> None:
    with tier("interpreted"):
        check_operator(build(shape), facts, reference=Query((shape + BUILT_IN,)).reference, laws=[law])


@pytest.mark.share(6)
@pytest.mark.parametrize("shape", SHAPES[3:])
def test_every_tier_gives_the_same(shape: str) -> None:
    rows = {"at": [0, 1, 5, 7, 12], "key": ["a", "b", "a", "a", "b"], "x": [3, -4, 5, None, 2],
            "y": [0.5, None, 2.0, 3.0, 1.0], "flag": [True, True, False, True, None]}
    answers = []
    for name in TIERS:
        with tier(name):  # type: ignore[arg-type]
            answers.append(build(shape)(wb.from_arrow(rows, time="at")).collect().to_pylist())
    assert answers[0] == answers[1] == answers[2]


def log() -> wb.Stream:
    return wb.from_arrow({"at": [0, 1], "x": [2, 3], "s": ["a", "b"]}, time="at").tumbling_window(10)


def test_what_cannot_be_compiled_is_said_and_still_works() -> None:
    query = log().aggregate(r=refused(col.x))
    with tier("fused"):
        assert query.collect()["r"].to_pylist() == [5]
    for text in (query.explain(), query.kernels()):
        assert "note: refused runs interpreted: accumulate cannot be compiled (" in text
        assert "note: refused has no remove" in text
        assert "note: refused has no merge" in text
    assert "note" not in log().aggregate(m=mean(col.x)).explain()


def test_states_that_can_be_subtracted_need_no_row_taken_back() -> None:
    shown = wb.from_arrow({"at": [1], "x": [1]}, time="at").sliding_window(5).aggregate(d=apart(col.x)).explain()
    assert "computed again" not in shown


def test_what_a_function_reads_is_read_again() -> None:
    factor = 2
    scaled = wb.aggregate(init=0, accumulate=lambda s, x: s + factor * x, result=lambda s: s, name="scaled")
    with tier("fused"):
        assert log().aggregate(v=scaled(col.x)).collect()["v"].to_pylist() == [10]
        factor = 10
        assert log().aggregate(v=scaled(col.x)).collect()["v"].to_pylist() == [50]


def test_states_become_floats_when_values_are_and_infinity_may_begin() -> None:
    lowest = wb.aggregate(init=float("inf"), accumulate=min, result=lambda s: s, name="lowest")
    halves = wb.aggregate(init=0, accumulate=lambda s, x: s + x / 2, result=lambda s: s, name="halves")
    for name in TIERS:
        with tier(name):  # type: ignore[arg-type]
            answer = log().aggregate(low=lowest(col.x), half=halves(col.x), big=wb.aggregate(
                init=0, accumulate=lambda s, x: s + x, result=lambda s: s > 4, name="big")(col.x)).collect()
        assert answer.drop(["start", "end"]).to_pylist() == [{"low": 2.0, "half": 2.5, "big": True}]


@pytest.mark.parametrize(("functions", "message"), (
    ({"init": (0, 0), "accumulate": lambda s, x: s[0] + x}, "gave .* for a state like \\(0, 0\\)"),
    ({"init": 0, "accumulate": lambda s, x: (s, x)}, "for a state like 0"),
    ({"init": (0, 0), "accumulate": lambda s, x: (s[0], s[1], x)}, "for a state like"),
    ({"init": [], "accumulate": lambda s, x: s.append(x)}, "gave None for a state like \\[\\]"),
    ({"init": 0, "accumulate": lambda s, x: f"a{s}{x}"}, "gave 'a01'"),
))
def test_a_state_keeps_its_shape(functions: dict[str, Any], message: str) -> None:
    mine = wb.aggregate(**functions, result=lambda s: s, name="mine")
    with pytest.raises(ExpressionError, match=message):
        log().aggregate(v=mine(col.x))


def test_results_and_inputs_make_sense() -> None:
    with pytest.raises(ExpressionError, match="Cannot infer the result type of mine"):
        log().aggregate(v=wb.aggregate(init=0, accumulate=max, result=type, name="mine")(col.x))
    with pytest.raises(ExpressionError, match="Mean does not accept string"):
        log().aggregate(v=mean(col.s))
    with pytest.raises(PlanError, match="needs result"):
        wb.aggregate(init=0, accumulate=max)


def test_two_without_a_name_are_distinguished() -> None:
    up = wb.aggregate(init=0, accumulate=lambda s, x: s + x, result=lambda s: s)
    down = wb.aggregate(init=0, accumulate=lambda s, x: s - x, result=lambda s: s)
    events = wb.from_arrow({"at": [0, 1, 5], "x": [1, 2, 3]}, time="at").set_duration(9)
    found = events.tumbling_window(10).aggregate(d=up(col.x) - down(col.x), share=up(col.x) / wb.count())
    assert found.collect().to_pylist() == [{"start": 0, "end": 10, "d": 12, "share": 2.0}]


@pytest.mark.parametrize("windows", [".tumbling_window(5)", ".sliding_window(5)", ""])
def test_a_function_that_fails_is_named(windows: str) -> None:
    bad = wb.aggregate(init=0, accumulate=lambda s, x: s + 1 // (x - 2), result=lambda s: s, name="bad")
    lost = wb.aggregate(init=0, accumulate=lambda s, x: s + x + nowhere,  # type: ignore[name-defined] # noqa: F821
                        result=lambda s: s, name="lost")
    for mine, why in ((bad, "ZeroDivisionError"), (lost, "NameError")):
        query = Query((f"{windows}.aggregate",)).build(wb.from_arrow({"at": [0, 1], "x": [1, 2]}, time="at"))
        for name in TIERS:
            with tier(name), pytest.raises(KernelError, match=why) as caught:
                query(n=wb.count(), b=mine(col.x)).collect()
            assert caught.value.where == f"aggregate(b={mine.name}(col.x))"


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(PlanError, match="accumulate must be a function, got 3"):
        wb.aggregate(init=0, accumulate=3, result=lambda s: s)  # type: ignore[arg-type]


def test_two_of_one_line_are_distinguished() -> None:
    steps = [lambda s, x: s + x, lambda s, x: s - x]
    more, less = (wb.aggregate(init=0, accumulate=step, result=lambda s: s) for step in steps)
    events = wb.from_arrow({"at": [0], "x": [1]}, time="at")
    assert events.aggregate(d=more(col.x) - less(col.x)).collect()["d"].to_pylist() == [2]
