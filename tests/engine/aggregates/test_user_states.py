"""User-defined aggregates: several inputs, any Python state, results of any type, saved and resumed."""

from __future__ import annotations

import math
from collections import Counter
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError, KernelError, PlanError
from whimbrel.kernels import tier
from whimbrel.run.checkpoint import load, save
from whimbrel.run.execution import Execution

TABLE = pa.table({
    "at": [0, 1, 2, 5, 6, 12, 13, 20], "k": list("aabbabab"), "x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, None, 8.0],
    "w": [1, 2, 1, 2, None, 2, 1, 2], "word": ["p", "q", "p", "r", "q", "s", "t", "p"]})


class Model:
    """A line through points, updated row by row; no value that can be written as it is."""

    def __init__(self, sums: tuple[float, ...] = (0.0,) * 5) -> None:
        self.sums = sums

    def with_point(self, x: float, y: float) -> Model:
        return Model(tuple(one + two for one, two in zip(self.sums, (1.0, x, y, x * x, x * y), strict=True)))

    def slope(self) -> float | None:
        n, x, y, xx, xy = self.sums
        below = n * xx - x * x
        return (n * xy - x * y) / below if below else None


weighted = wb.aggregate(init=(0.0, 0), accumulate=lambda s, x, w: (s[0] + x * w, s[1] + w),
                        merge=lambda one, two: (one[0] + two[0], one[1] + two[1]),
                        result=lambda s: s[0] / s[1] if s[1] else None, name="weighted")
slid = wb.aggregate(init=(0.0, 0), accumulate=lambda s, x, w: (s[0] + x * w, s[1] + w),
                    remove=lambda s, x, w: (s[0] - x * w, s[1] - w),
                    result=lambda s: s[0] / s[1] if s[1] else None, name="slid")
latest = wb.aggregate(init=-1, accumulate=lambda s, _, start: max(s, start), result=lambda s: s, name="latest")
counted = wb.aggregate(init=dict, accumulate=lambda s, word: {**s, word: s.get(word, 0) + 1},
                       merge=lambda one, two: dict(Counter(one) + Counter(two)),
                       result=lambda s: [f"{word}{s[word]}" for word in sorted(s)], name="counted")
fields = wb.aggregate(init=[], accumulate=lambda s, word, x: sorted([*s, (word, x)]), name="fields",
                      result=lambda s: {"first": s[0][0], "of": len(s)} if s else None,
                      returns=pa.struct([("first", pa.string()), ("of", pa.int32())]))
spread = wb.aggregate(init=lambda: np.zeros(2), accumulate=lambda s, x: s + np.array([x, x * x]),
                      merge=lambda one, two: one + two, result=lambda s: float(s[1] - s[0]), name="spread")
line = wb.aggregate(init=Model, accumulate=lambda s, x, w: s.with_point(x, float(w)), result=lambda s: s.slope(),
                    save=lambda s: s.sums, load=Model, name="line")

ANSWERS: dict[str, tuple[Any, list[Any]]] = {
    "several inputs": (weighted(col.x, col.w), [8 / 4, 4.0, 6.0, 8.0]),
    "an expression and a number": (weighted(col.x * 2, 3), [4.0, 9.0, 12.0, 16.0]),
    "the time of the event": (latest(col.w), [2, 5, 13, 20]),
    "a dict, and a list as result": (counted(col.word), [["p2", "q1"], ["q1", "r1"], ["s1", "t1"], ["p1"]]),
    "a struct as result": (fields(col.word, col.x), [
        {"first": "p", "of": 3}, {"first": "q", "of": 2}, {"first": "s", "of": 1}, {"first": "p", "of": 1}]),
    "an array": (spread(col.x), [8.0, 32.0, 30.0, 56.0]),
    "a model": (line(col.x, col.w), [0.0, None, None, None]),
    "under a condition": (counted(col.word).where(col.x > 2), [["p1"], ["q1", "r1"], ["s1"], ["p1"]]),
}


@pytest.mark.share(4)
@pytest.mark.parametrize("name", ["interpreted", "primitives", "fused"])
@pytest.mark.parametrize("case", ANSWERS)
def test_windows_in_every_tier(case: str, name: Any) -> None:
    mine, right = ANSWERS[case]
    with tier(name):
        assert wb.from_arrow(TABLE, time="at").tumbling_window(5).aggregate(v=mine).collect()["v"].to_pylist() == right


def queries(log: wb.Stream, mine: Any) -> dict[str, wb.Stream]:
    return {"tumbling": log.group_by("k").tumbling_window(5).aggregate(v=mine),
            "hopping": log.group_by("k").hopping_window(10, 5).aggregate(v=mine),
            "a row for each window": log.hopping_window(10, 5).aggregate(v=mine, emit="close"),
            "sliding": log.group_by("k").sliding_window(7).aggregate(v=mine),
            "uneven hops": log.hopping_window(7, 3).aggregate(v=mine)}


EVERYWHERE = {"weighted": weighted(col.x, col.w), "slid": slid(col.x, col.w), "latest": latest(col.w),
              "counted": counted(col.word), "spread": spread(col.x), "line": line(col.x, col.w),
              "fields": fields(col.word, col.x)}


def by_hand(mine: Any, rows: list[dict[str, Any]]) -> Any:
    """The functions called one after another."""
    functions, state = mine.functions, mine.functions.init
    for row in rows:
        given = {"weighted": ("x", "w"), "slid": ("x", "w"), "latest": ("w", "at"), "counted": ("word",),
                 "spread": ("x",), "line": ("x", "w"), "fields": ("word", "x")}[functions.name]
        values = [row[name] for name in given]
        if None not in values:
            state = functions.accumulate(state, *values)
    return functions.result(state)


@pytest.mark.parametrize("window", queries(wb.from_arrow(TABLE, time="at"), weighted(col.x, col.w)))
@pytest.mark.parametrize("case", EVERYWHERE)
def test_all_windows_say_what_the_functions_say(case: str, window: str) -> None:
    mine = EVERYWHERE[case]
    size = {"tumbling": 5, "sliding": 7, "uneven hops": 7}.get(window, 10)
    answer = queries(wb.from_arrow(TABLE, time="at"), mine)[window].collect().to_pylist()
    assert answer
    for row in answer:
        moment = row["start"]
        if window in ("tumbling", "hopping", "a row for each window", "uneven hops"):
            hop = {"tumbling": 5, "uneven hops": 3}.get(window, 5)
            end = (moment // hop + 1) * hop
            inside = [each for each in TABLE.to_pylist() if end - size <= each["at"] < end]
        else:
            inside = [each for each in TABLE.to_pylist() if moment - size < each["at"] <= moment]
        if "k" in row:
            inside = [each for each in inside if each["k"] == row["k"]]
        right = by_hand(mine, inside)
        same = math.isclose(row["v"], right) if isinstance(right, float) and row["v"] is not None else row["v"] == right
        assert same, (row, right)


def row_by_row() -> wb.Stream:
    return wb.from_arrow(pa.concat_tables([TABLE.slice(row, 1) for row in range(len(TABLE))]), time="at")


def rows(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


@pytest.mark.share(4)
@pytest.mark.parametrize("window", queries(row_by_row(), weighted(col.x, col.w)))
@pytest.mark.parametrize("case", EVERYWHERE)
def test_a_run_resumes_from_its_checkpoint(case: str, window: str, tmp_path: Path) -> None:
    query = queries(row_by_row(), EVERYWHERE[case])[window]
    whole = query.collect()
    for stop in (0, 3, 5, 7):
        with closing(Execution(query.node)) as session:
            for _ in range(stop):
                session.step()
            save(session, tmp_path / str(stop))
            before = session.answers[0].settled()
        with closing(Execution(query.node)) as later:
            load(later, tmp_path / str(stop))
            while not later.finished:
                later.step()
            assert rows(pa.concat_tables([before, later.answers[0].settled()])) == rows(whole)


@pytest.mark.parametrize("case", EVERYWHERE)
def test_several_latencies_end_in_the_same_answer(case: str) -> None:
    late = TABLE.append_column("seen", pa.array([0, 6, 2, 5, 8, 12, 22, 23]))
    log = wb.from_arrow(late, time="at", arrival="seen")
    for query in queries(log, EVERYWHERE[case]).values():
        whole = query.collect()
        bands = query.at_latencies(0, 5, 30)
        assert list(bands)[-1].collect().equals(whole)


def test_a_state_that_cannot_be_written_is_refused_by_name(tmp_path: Path) -> None:
    bare = wb.aggregate(init=Model, accumulate=lambda s, x: s.with_point(x, x), result=lambda s: s.slope(), name="bare")
    query = row_by_row().tumbling_window(5).aggregate(v=bare(col.x))
    with closing(Execution(query.node)) as session:
        session.step()
        with pytest.raises(KernelError, match=r"Cannot write a state of bare .*: it holds a Model") as caught:
            save(session, tmp_path / "never")
    assert "save=" in caught.value.hint
    assert not (tmp_path / "never").exists()


def append(state: list[Any], value: Any) -> list[Any]:
    state.append(value)
    return state


def count_in_place(state: dict[Any, int], value: Any) -> dict[Any, int]:
    state[value] = state.get(value, 0) + 1
    return state


def difference(one: dict[Any, int], other: dict[Any, int]) -> dict[Any, int]:
    return {value: count - other.get(value, 0) for value, count in one.items() if count > other.get(value, 0)}


class Pair(NamedTuple):
    total: float
    rows: int


NUMBERS = wb.from_arrow({"t": [0, 1, 2, 3], "x": [1, 2, 3, 4]}, time="t")
IN_PLACE = {
    "a list that is the result": (wb.aggregate(init=list, accumulate=append, result=lambda s: s, name="mine"),
                                  [[1], [1, 2], [2, 3], [3, 4], [4]]),
    "a dict that is subtracted from": (
        wb.aggregate(init=dict, accumulate=count_in_place, difference=difference, result=sorted,
                     name="mine"), [[1], [1, 2], [2, 3], [3, 4], [4]]),
    "a tuple with names": (
        wb.aggregate(init=Pair(0.0, 0), accumulate=lambda s, x: Pair(s.total + x, s.rows + 1),
                     result=lambda s: s.total / s.rows if s.rows else None, name="mine"), [1.0, 1.5, 2.5, 3.5, 4.0]),
    "None": (wb.aggregate(init=None, accumulate=lambda s, x: x if s is None else max(s, x), result=lambda s: s,
                          name="mine"), [1, 2, 3, 4, 4]),
    "a tuple that grows": (wb.aggregate(init=(), accumulate=lambda s, x: (*s, x), result=len, name="mine"),
                           [1, 2, 2, 2, 1]),
}


@pytest.mark.parametrize("case", IN_PLACE)
def test_states_that_change_or_have_a_shape_of_their_own(case: str) -> None:
    mine, right = IN_PLACE[case]
    rows = NUMBERS.sliding_window(2).aggregate(v=mine(col.x)).collect().to_pylist()
    assert [row["v"] for row in rows for _ in range(row["start"], row["end"])] == right


def test_an_error_of_many_lines_is_reported_in_one() -> None:
    def fail(_: Any, value: Any) -> Any:
        raise ValueError(f"first {value}\nsecond\nthird")

    mine = wb.aggregate(init=0, accumulate=fail, result=lambda s: s, name="mine", returns=pa.int64())
    with pytest.raises(KernelError, match="ValueError: first 1") as caught:
        NUMBERS.tumbling_window(2).aggregate(v=mine(col.x)).collect()
    assert "second" not in str(caught.value)


def test_what_is_no_aggregate_is_refused() -> None:
    with pytest.raises(PlanError, match="save and load must be given together"):
        wb.aggregate(init=Model, accumulate=lambda s, _: s, result=lambda s: s.slope(), save=lambda s: s.sums)
    with pytest.raises(PlanError, match="returns must be an Arrow type"):
        wb.aggregate(init=0, accumulate=lambda s, _: s, result=lambda s: s, returns=float)  # type: ignore[arg-type]
    with pytest.raises(ExpressionError, match="needs at least one input"):
        counted()
    unknown = wb.aggregate(init=list, accumulate=lambda s, _: s, result=lambda s: s, name="unknown")
    with pytest.raises(ExpressionError, match="Cannot infer the result type of unknown"):
        wb.from_arrow(TABLE, time="at").tumbling_window(5).aggregate(v=unknown(col.x))
    with pytest.raises(ExpressionError, match="does not accept"):
        wb.from_arrow(TABLE, time="at").tumbling_window(5).aggregate(v=weighted(col.x, col.word))


def test_a_result_that_its_type_does_not_hold_is_named() -> None:
    wrong = wb.aggregate(init=0, accumulate=lambda s, x: s + x, result=lambda s: "seven" if s > 3 else s, name="wrong",
                         returns=pa.float64())
    with pytest.raises(KernelError, match="result of wrong gave 'seven', not a value of type double"):
        wb.from_arrow(TABLE, time="at").tumbling_window(5).aggregate(v=wrong(col.x)).collect()


@pytest.mark.parametrize(("value", "type_", "expected"), [
    (np.datetime64(1500, "ns"), None, pa.scalar(1500, pa.timestamp("ns"))),
    (np.datetime64(48, "h"), pa.date32(), pa.scalar(2, pa.date32())),
    (datetime(1970, 1, 1, 5), pa.timestamp("s", "Asia/Tokyo"), pa.scalar(-4 * 3600, pa.timestamp("s", "Asia/Tokyo"))),
    (np.datetime64(1500, "ns"), pa.date32(), None), (np.timedelta64(1, "M"), pa.duration("s"), None),
    (datetime(1970, 1, 1, 5), pa.date32(), None), (1.5, pa.timestamp("s"), None), (1e300, pa.float32(), None),
    ([1.5], pa.list_(pa.int64()), None), ({"at": np.datetime64(1, "ns")}, pa.struct({"at": pa.date32()}), None),
], ids=repr)
def test_a_result_is_exact_or_refused(value: Any, type_: pa.DataType | None, expected: pa.Scalar | None) -> None:
    """Arrow makes 1 of 1.5, a day of a time, and the number of its ticks of a NumPy time."""
    mine = wb.aggregate(init=list, accumulate=lambda s, x: [*s, x], returns=type_,
                        result=lambda _: value, name="mine")
    query = wb.from_arrow(TABLE, time="at").tumbling_window(50).aggregate(v=mine(col.x))
    if expected is None:
        with pytest.raises(KernelError, match="not a value of type"):
            query.collect()
    else:
        assert query.collect()["v"][0] == expected


UNSIGNED = pa.table({"at": [1, 2, 3], "ids": pa.array([[1, 2**63], [2**64 - 1], None], pa.list_(pa.uint64()))})


@pytest.mark.parametrize(("result", "type_", "expected", "what", "hint"), (
    (lambda s: s, pa.list_(pa.uint64()), [1, 2**63, 2**64 - 1], "not a value of type list<item: int64>",
     "Declare a type with unsigned integers, for example returns=pa.list_(pa.uint64())."),
    (max, pa.uint64(), 2**64 - 1, "an integer that leaves int64",
     "Declare unsigned results with returns=pa.uint64(), or return a float."),
    (lambda s: {"most": max(s)}, pa.struct([("most", pa.uint64())]), {"most": 2**64 - 1}, "not a value of type struct",
     "Declare a type with unsigned integers, for example returns=pa.list_(pa.uint64())."),
), ids=["list", "number", "struct"])
def test_unsigned_results_are_declared(result: Any, type_: pa.DataType, expected: Any, what: str, hint: str) -> None:
    """Whether a result is unsigned is not inferred, since no type holds negative integers and those above int64."""
    def query(returns: pa.DataType | None) -> wb.Stream:
        taken = wb.aggregate(init=list, accumulate=lambda s, x: s + list(x), returns=returns,
                             result=lambda s: result(s) if s else None)
        return wb.from_arrow(UNSIGNED, time="at").tumbling_window(5).aggregate(v=taken(col.ids))

    assert query(type_).collect()["v"].to_pylist() == [expected]
    with pytest.raises(KernelError, match=what) as caught:
        query(None).collect()
    assert caught.value.hint == hint
