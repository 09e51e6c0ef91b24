"""Aggregates whose state is a few numbers, over every kind of window, against a reference of one line each."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError, KernelError
from whimbrel.kernels import tier
from whimbrel.plan import Aggregate, AggregateFunctions, State
from whimbrel.testing import Query, check_operator, laws, strategies
from whimbrel.testing.oracle import INF, Event
from whimbrel.testing.trial import Trial

STEADY = settings(derandomize=True, database=None, deadline=None)

SHAPES = {
    "any lifetime": ".{}", "tumbling": ".tumbling_window(8).{}",
    "labelled at the end": ".tumbling_window(8, label='end').{}",
    "hopping": ".hopping_window(12, 3).{}", "sliding": ".sliding_window(9).{}",
    "grouped": ".group_by('key').{}", "grouped tumbling": ".group_by('key').tumbling_window(8).{}",
    "grouped hopping": ".group_by('k2').hopping_window(12, 3).{}",
    "grouped sliding": ".group_by('key').sliding_window(9).{}",
    "window over window": ".hopping_window(4, 2).tumbling_window(8).{}",
}
OF_INTEGERS = {
    "count": wb.count(col.x), "sum": wb.sum(col.x), "mean": wb.mean(col.x), "min": wb.min(col.x), "max": wb.max(col.x),
    "product": wb.product(col.x), "sum_of_squares": wb.sum_of_squares(col.x), "var": wb.var(col.x),
    "std": wb.std(col.x), "first": wb.first(col.x), "last": wb.last(col.x),
}
KINDS = {
    **{name: f"wb.{name}(col.x)" for name in OF_INTEGERS},
    **{f"{name}_float": f"wb.{name}(col.y)" for name in OF_INTEGERS},
    "var_of_all": "wb.var(col.y, sample=False)", "std_of_all": "wb.std(col.x, sample=False)",
    "any": "wb.any(col.flag)", "all": "wb.all(col.flag)", "any_of": "wb.any(col.x > 3)",
    "filtered_product": "wb.product(col.x).where(col.flag)", "filtered_var": "wb.var(col.y).where(col.x > 1)",
    "filtered_last": "wb.last(col.y).where(col.flag)",
}
ONE_OF_EACH_STATE = ("mean", "min_float", "last", "filtered_var")


def several(names: Iterable[str]) -> str:
    return "aggregate(" + ", ".join(f"{name}={KINDS[name]}" for name in names) + ")"


EVERY = several(KINDS)


def stream(seed: int, rows: int = 30) -> list[Event]:
    chance = random.Random(seed)
    facts: list[Event] = []
    for _ in range(rows):
        time = chance.randint(-10, 30)
        facts.append((time, time + chance.choice([1, 1, 3, 8, 20, INF]), {
            "time": time, "key": chance.choice(["a", "b", None]), "k2": chance.choice([2**63 - 1, 0, None]),
            "x": chance.choice([*range(-2, 7), None]), "y": chance.choice([-1.25, 0.0, 1.5, 2.75, None]),
            "flag": chance.choice([True, True, False, None]),
        }))
    return facts


@pytest.mark.share(3)
@pytest.mark.parametrize("names", [ONE_OF_EACH_STATE, pytest.param(tuple(KINDS), marks=pytest.mark.long)], ids=len)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_tier_gives_the_reference(shape: str, names: tuple[str, ...]) -> None:
    query = Query((SHAPES[shape].format(several(names)),))
    trial = Trial(query.build, (stream(4),), query.reference)
    for name in ("interpreted", "primitives", "fused"):
        with tier(name):  # type: ignore[arg-type]
            trial.same(trial.run(), name)


@pytest.mark.share(3)
@pytest.mark.parametrize("law", (laws.batches_change_nothing, laws.disorder_changes_nothing, laws.nulls_propagate,
                                 laws.empty_input_is_safe, laws.schema_is_as_declared, laws.text_is_stable,
                                 laws.snapshots_change_nothing))
@pytest.mark.parametrize("shape", ("grouped", "grouped tumbling"))
def test_laws(shape: str, law: laws.Law) -> None:
    query = Query((SHAPES[shape].format(EVERY),))
    with tier("interpreted"):
        check_operator(query.build, stream(5, rows=20), reference=query.reference, laws=[law])


def test_compiled_kernels_take_over() -> None:
    text = "aggregate(p=wb.product(col.x), v=wb.var(col.y), f=wb.first(col.x).where(col.flag))"
    query = Query((SHAPES["grouped tumbling"].format(text),))
    check_operator(query.build, stream(5, rows=12), reference=query.reference, laws=[laws.take_over_changes_nothing])


@settings(STEADY, max_examples=60)
@given(st.sampled_from(sorted(KINDS)), st.sampled_from(sorted(SHAPES)), strategies.facts())
def test_random_streams_give_the_reference(kind: str, shape: str, facts: list[Event]) -> None:
    query = Query((SHAPES[shape].format(f"aggregate(value={KINDS[kind]})"),))
    with tier("interpreted"):
        check_operator(query.build, facts, reference=query.reference,
                       laws=[laws.matches_the_reference, laws.batches_change_nothing])


def run(steps: AggregateFunctions, values: list[float], at: int = 0) -> State:
    state = steps.init
    for start, value in enumerate(values, at):
        state = steps.accumulate(state, value, start) if steps.timed else steps.accumulate(state, value)
    return state


def forms(aggregate: Aggregate) -> list[tuple[AggregateFunctions, type]]:
    return [(aggregate.steps(type_, removable=removable), kind)
            for type_, kind in ((pa.int64(), int), (pa.float64(), float)) for removable in (False, True)]


def same(left: float | None, right: float | None) -> bool:
    return left is right if left is None or right is None else left == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("name", OF_INTEGERS)
@settings(STEADY)
@given(values=st.lists(st.integers(-4, 4), max_size=12), cut=st.integers(0, 12))
def test_merging_parts_is_accumulating_all(name: str, values: list[int], cut: int) -> None:
    for steps, kind in forms(OF_INTEGERS[name]):
        given_values = [kind(value) for value in values]
        whole = steps.result(run(steps, given_values))
        left, right = run(steps, given_values[:cut]), run(steps, given_values[cut:], cut)
        assert same(steps.result(steps.merge(left, right)), whole)
        assert same(steps.result(steps.merge(right, left)), whole)
        assert same(steps.result(steps.merge(steps.init, steps.merge(left, right))), whole)


@pytest.mark.parametrize("name", OF_INTEGERS)
@settings(STEADY)
@given(values=st.lists(st.integers(-4, 4), min_size=1, max_size=12), left=st.integers(0, 12))
def test_a_row_taken_back_was_never_there(name: str, values: list[int], left: int) -> None:
    for steps, kind in forms(OF_INTEGERS[name])[1::2]:
        if steps.remove is None:
            continue
        given_values = [kind(value) for value in values]
        state = run(steps, given_values)
        for value in given_values[:left]:
            state = steps.remove(state, value)
        assert same(steps.result(state), steps.result(run(steps, given_values[left:])))


def over(values: list[object], name: str = "v", **more: list[object]) -> wb.Stream:
    return wb.from_arrow(pa.table({"at": range(len(values)), name: values, **more}), time="at")


@pytest.mark.parametrize("values", ([2**62, -2], [-1, 2**62, 2], [-(2**63)], [2**40, 2**40, 0], [0, 2**62, 4],
                                    [-(2**63), 1], [-1, -1, 2**63 - 1]))
def test_a_product_that_fits_is_no_overflow_in_whatever_order(values: list[int]) -> None:
    for order in (values, values[::-1]):
        product = over(list(order)).tumbling_window(100).aggregate(p=wb.product(col.v)).collect()["p"].to_pylist()
        assert product == [list(accumulate(values, int.__mul__))[-1]]


@pytest.mark.parametrize("values", ([2**62, 2], [-(2**63), -1], [2**32, 2**32]))
def test_a_product_that_does_not_fit_is_an_error(values: list[int]) -> None:
    for query in (over(list(values)).tumbling_window(100), over(list(values)).sliding_window(100)):
        with pytest.raises(KernelError, match="An integer product leaves int64") as caught:
            query.aggregate(p=wb.product(col.v)).collect()
        assert caught.value.where == "aggregate(p=product(col.v))"


def test_squares_that_no_int64_holds_are_an_error_only_while_they_are_active() -> None:
    last = over([2**40, 3, 4]).aggregate(q=wb.sum_of_squares(col.v).where(col.v < 9))
    assert last.collect()["q"].to_pylist() == [0, 9, 16]
    with pytest.raises(KernelError, match="sum of squares leaves int64"):
        over([2**40]).aggregate(q=wb.sum_of_squares(col.v)).collect()


def test_a_large_mean_costs_no_digits() -> None:
    values = [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16] * 500
    answer = over(list(values)).sliding_window(4).aggregate(v=wb.var(col.v), s=wb.std(col.v)).collect().to_pydict()
    assert answer["v"][3:-3] == pytest.approx([30.0] * (len(values) - 3), rel=1e-12)
    assert answer["s"][3] == pytest.approx(30.0**0.5, rel=1e-12)


def test_what_is_not_finite_leaves_with_its_row() -> None:
    answer = over([1.0, float("nan"), float("inf"), 1.0, 3.0]).sliding_window(2).aggregate(v=wb.var(col.v)).collect()
    assert [str(value) for value in answer["v"].to_pylist()] == ["None", "nan", "nan", "nan", "2.0", "None"]


def test_first_and_last_know_when_events_happened_before_windows_rounded_them() -> None:
    prices = wb.from_arrow({"at": [1, 3, 8, 11, 14], "price": [5, 9, 2, 7, 4]}, time="at")
    bars = {"open": wb.first(col.price), "high": wb.max(col.price),
            "low": wb.min(col.price), "close": wb.last(col.price)}
    expected = [(5, 9, 2, 2), (7, 7, 4, 4)]
    windows = [prices.tumbling_window(10), prices.where(col.price > 0).tumbling_window(10, label="end"),
               prices.hopping_window(10, 10), prices.hopping_window(2, 1).tumbling_window(10)]
    for window, name in [*((window, "interpreted") for window in windows), (windows[0], "primitives"),
                         (windows[0], "fused"), (windows[1], "fused")]:
        with tier(name):  # type: ignore[arg-type]
            rows = window.aggregate(**bars).collect().drop(["start", "end"]).to_pylist()
        assert [tuple(row.values()) for row in rows] == expected
    hopping = prices.hopping_window(10, 5).aggregate(**bars).collect().drop(["start", "end"]).to_pylist()
    assert [tuple(row.values()) for row in hopping] == [(5, 9, 5, 9), (5, 9, 2, 2), (2, 7, 2, 4), (7, 7, 4, 4)]


def test_of_simultaneous_rows_the_smallest_is_first_and_the_largest_last() -> None:
    table = {"at": [0, 0, 0], "v": [2, 3, 1]}
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        rows = wb.from_arrow({name: [values[at] for at in order] for name, values in table.items()}, time="at")
        answer = rows.aggregate(a=wb.first(col.v), z=wb.last(col.v)).collect().to_pylist()
        assert answer == [{"start": 0, "end": 1, "a": 1, "z": 3}]


def test_of_nothing() -> None:
    kinds = {"p": wb.product(col.v), "q": wb.sum_of_squares(col.v), "v": wb.var(col.v),
             "z": wb.std(col.v, sample=False),
             "a": wb.any(col.v > 0), "b": wb.all(col.v > 0), "f": wb.first(col.v), "l": wb.last(col.v)}
    table = pa.table({"at": [0], "v": pa.array([None], pa.int64())})
    answer = wb.from_arrow(table, time="at").aggregate(**kinds).collect().drop(["start", "end"]).to_pylist()
    assert answer == [{"p": 1, "q": 0, "v": None, "z": None, "a": False, "b": True, "f": None, "l": None}]


def test_types_stay_and_shown_words_are_the_users() -> None:
    moments = pa.array([5, 6], pa.timestamp("us", "UTC"))
    query = over([1, 2], when=moments).aggregate(f=wb.first(col.when), v=wb.var(col.v, sample=False))
    assert query.schema.type_of("f") == moments.type
    assert "aggregate(f=first(col.when), v=var(col.v, sample=False))" in query.explain()


@pytest.mark.parametrize("aggregate", (wb.product(col.s), wb.sum_of_squares(col.s), wb.var(col.s), wb.any(col.s),
                                       wb.all(col.s)))
def test_meaningless_inputs_are_named(aggregate: Aggregate) -> None:
    with pytest.raises(ExpressionError, match=f"{aggregate.name} needs .*, got string"):
        over(["a"], name="s").aggregate(a=aggregate)


@pytest.mark.slow
@pytest.mark.parametrize("name", ("sum", "mean", "var"))
def test_a_sliding_float_does_not_drift(name: str) -> None:
    rows, size = 1_000_000, 50
    values = np.random.default_rng(1).normal(1e6, 1e3, rows) * np.where(np.arange(rows) % 997 == 0, 1e9, 1.0)
    log = wb.from_arrow({"at": np.arange(rows), "v": values}, time="at").sliding_window(size)
    answer = log.aggregate(value=getattr(wb, name)(col.v)).collect()["value"].to_numpy()
    windows = np.lib.stride_tricks.sliding_window_view(values[-10_000:], size)
    fresh = {"sum": windows.sum(1), "mean": windows.mean(1), "var": windows.var(1, ddof=1)}[name]
    assert np.abs(answer[rows - len(fresh):rows] / fresh - 1).max() < 1e-9


UNSIGNED = {"at": pa.array([0, 2, 5, 9, 12, 14]), "key": ["a", "b", "a", "a", "b", "a"],
            "u": pa.array([2**63 + 5, 3, None, 2**64 - 1, 7, 1], pa.uint64())}


@pytest.mark.share(4)
@pytest.mark.parametrize("name", ["interpreted", "primitives", "fused"])
@pytest.mark.parametrize("shape", SHAPES)
def test_unsigned_values_above_int64_are_counted_and_compared(shape: str, name: str) -> None:
    measures = "aggregate(n=wb.count(col.u), lo=wb.min(col.u), hi=wb.max(col.u), a=wb.first(col.u), z=wb.last(col.u))"
    events = wb.from_arrow(UNSIGNED, time="at").with_columns(k2=col.key)
    as_words = events.with_columns(u=col.u.cast(str))  # an independent way: texts of one width
    as_words = as_words.with_columns(u=wb.lit("0" * 20) + col.u).with_columns(u=lambda e: str(e.u)[-20:])
    with tier(name):  # type: ignore[arg-type]
        query = SHAPES[shape].format(measures)
        numbers = eval(f"events{query}", {"events": events, "wb": wb, "col": col}).collect()
        words = eval(f"events{query}", {"events": as_words, "wb": wb, "col": col}).collect()
    for column in ("lo", "hi", "a", "z"):
        expected = [None if text is None else int(text) for text in words[column].to_pylist()]
        assert numbers[column].to_pylist() == expected
    assert numbers["n"] == words["n"]


@pytest.mark.parametrize("name", ["interpreted", "primitives", "fused"])
@pytest.mark.parametrize("kind", ["sum", "product"])
def test_unsigned_values_above_int64_are_not_added_up(kind: str, name: str) -> None:
    query = wb.from_arrow(UNSIGNED, time="at").tumbling_window(8).aggregate(v=getattr(wb, kind)(col.u))
    with tier(name), pytest.raises(KernelError, match="above the largest int64"):  # type: ignore[arg-type]
        query.collect()
