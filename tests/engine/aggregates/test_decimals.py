"""Exact sums and means of decimals of every width, and wide sums of integers, against Python's decimals."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing
from decimal import ROUND_HALF_UP, Context, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError, KernelError, PlanError
from whimbrel.kernels import tier
from whimbrel.run.checkpoint import load, save
from whimbrel.run.execution import Execution

TYPES = [pa.decimal32(9, 2), pa.decimal64(18, 4), pa.decimal128(5, -2), pa.decimal128(4, -12), pa.decimal128(9, 9),
         pa.decimal128(18, 3), pa.decimal128(19, 3), pa.decimal128(37, 4), pa.decimal256(10, 2), pa.decimal256(38, 7),
         pa.decimal256(60, 3), pa.decimal256(75, 0)]
WORDS = [pa.decimal128(18, 3), pa.decimal128(30, 4), pa.decimal256(60, 3)]
MANY = Context(prec=200)
BOTH = {"s": wb.sum(col.x), "m": wb.mean(col.x)}

Active = Callable[[dict[str, Any], int, int], bool]
"""Whether an event that starts and ends there is in the window of a result."""

QUERIES: dict[str, tuple[Callable[[wb.Stream], wb.Stream], Active]] = {
    "tumbling": (lambda log: log.group_by("k").tumbling_window(10).aggregate(**BOTH),
                 lambda row, start, _: row["start"] <= start < row["end"]),
    "hopping": (lambda log: log.group_by("k").hopping_window(20, 5).aggregate(**BOTH, emit="close"),
                lambda row, start, _: row["end"] - 20 <= start < row["end"]),
    "sliding": (lambda log: log.group_by("k").sliding_window(13).aggregate(**BOTH),
                lambda row, start, _: row["start"] - 13 < start <= row["start"]),
    "intervals": (lambda log: log.group_by("k").aggregate(**BOTH),
                  lambda row, start, end: start <= row["start"] < end),
}


def table(type_: pa.DataType, rows: int = 60, seed: int = 1) -> pa.Table:
    """Values of all sizes, some of them missing, none so large that a sum of them does not fit."""
    rng = random.Random(f"{type_} {seed}")
    most = type_.precision - 2
    values = [None if rng.random() < 0.1 else Decimal(rng.choice([-1, 1]) * rng.randrange(10**rng.randint(1, most)))
              .scaleb(-type_.scale, MANY) for _ in range(rows)]
    start = sorted(rng.randrange(100) for _ in range(rows))
    return pa.table({"t": start, "until": [each + rng.randrange(1, 40) for each in start],
                     "k": rng.choices("ab", k=rows), "x": pa.array(values, type_)})


def check(query: str, type_: pa.DataType) -> None:
    given = table(type_)
    ask, active = QUERIES[query]
    log = wb.from_arrow(given, time="t", end="until" if query == "intervals" else None)
    found = ask(log).collect().to_pylist()
    assert found
    for row in found:
        values = [event["x"] for event in given.to_pylist()
                  if event["x"] is not None and event["k"] == row["k"] and active(row, event["t"], event["until"])]
        total = Decimal(0)
        for value in values:
            total = MANY.add(total, value)
        assert row["s"] == total
        if values:
            ticks = Decimal(1).scaleb(-max(type_.scale, min(6, 76 - type_.precision + type_.scale)))
            share = MANY.divide(total, Decimal(len(values)))
            assert row["m"] == share.quantize(ticks, rounding=ROUND_HALF_UP, context=MANY)
        else:
            assert row["m"] is None


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_sums_and_means_are_those_of_python(type_: pa.DataType, query: str) -> None:
    check(query, type_)


@pytest.mark.share(9)
@pytest.mark.parametrize("name", ["interpreted", "primitives", "fused"])
@pytest.mark.parametrize("type_", WORDS, ids=str)
def test_in_every_tier(type_: pa.DataType, name: Any) -> None:
    with tier(name):
        for query in QUERIES:
            check(query, type_)


RESULTS = [
    (pa.decimal32(5, 2), pa.decimal128(38, 2), pa.decimal128(9, 6)),
    (pa.decimal128(38, 0), pa.decimal128(38, 0), pa.decimal256(44, 6)),
    (pa.decimal128(38, 30), pa.decimal128(38, 30), pa.decimal128(38, 30)),
    (pa.decimal256(39, 1), pa.decimal256(76, 1), pa.decimal256(44, 6)),
    (pa.decimal256(76, 2), pa.decimal256(76, 2), pa.decimal256(76, 2)),
]


@pytest.mark.parametrize(("given", "total", "mean"), RESULTS)
def test_types_of_results(given: pa.DataType, total: pa.DataType, mean: pa.DataType) -> None:
    assert BOTH["s"].result_type(given) == total
    assert BOTH["m"].result_type(given) == mean


def one_window(values: Any, type_: pa.DataType, **asked: Any) -> dict[str, Any]:
    log = wb.from_arrow(pa.table({"t": range(len(values)), "x": pa.array(values, type_)}), time="t")
    (row,) = log.tumbling_window(1000).aggregate(**asked).collect().to_pylist()
    return row


NINES = Decimal("9" * 38)
LONGER = Decimal("9" * 76)
MEANS = [
    (["0.000001", "0"], pa.decimal128(9, 6), "0.000001"),  # half a millionth, away from zero
    (["-0.000001", "0"], pa.decimal128(9, 6), "-0.000001"),
    (["1", "0", "0"], pa.decimal128(9, 0), "0.333333"),
    (["2", "0", "0"], pa.decimal128(9, 0), "0.666667"),
    (["-2", "0", "0"], pa.decimal128(9, 0), "-0.666667"),
    ([NINES, NINES], pa.decimal128(38, 0), NINES),
    ([LONGER, LONGER, LONGER], pa.decimal256(76, 0), LONGER),
    ([LONGER.copy_negate(), LONGER.copy_negate()], pa.decimal256(76, 0), LONGER.copy_negate()),
    ([LONGER, LONGER.copy_negate()], pa.decimal256(76, 0), 0),
]


@pytest.mark.parametrize(("values", "type_", "mean"), MEANS)
def test_means_at_the_edge(values: list[Any], type_: pa.DataType, mean: Any) -> None:
    assert one_window([Decimal(each) for each in values], type_, m=wb.mean(col.x))["m"] == Decimal(mean)


def test_a_sum_may_leave_its_digits_on_the_way_but_not_in_the_end() -> None:
    assert one_window([NINES, NINES, NINES.copy_negate()], pa.decimal128(38, 0), s=wb.sum(col.x))["s"] == NINES
    assert one_window([LONGER, LONGER, LONGER.copy_negate()], pa.decimal256(76, 0), s=wb.sum(col.x))["s"] == LONGER
    one, less = Decimal(1), Decimal(-1)
    for values, digits in (([NINES, one], 38), ([NINES.copy_negate(), less], 38), ([LONGER, one], 76),
                           ([LONGER] * 40, 76)):
        type_ = pa.decimal128(38, 0) if digits == 38 else pa.decimal256(76, 0)
        with pytest.raises(KernelError, match=f"A sum needs more than {digits} digits") as caught:
            one_window(values, type_, s=wb.sum(col.x))
        assert ("widen=True" in caught.value.hint) == (digits == 38)
    assert one_window([NINES, NINES], pa.decimal128(38, 0), s=wb.sum(col.x, widen=True))["s"] == MANY.add(NINES, NINES)


def test_of_no_rows_a_sum_is_zero_and_a_mean_null() -> None:
    assert one_window([None, None], pa.decimal128(9, 2), **BOTH) == {
        "start": 0, "end": 1000, "s": Decimal("0.00"), "m": None}


WIDE = [
    (pa.int8(), [127] * 3, 381), (pa.int64(), [2**62, 2**62], 2**63), (pa.int64(), [-(2**63), -(2**63)], -(2**64)),
    (pa.uint64(), [2**64 - 1, 2**64 - 1, 1], 2**65 - 1), (pa.uint32(), [2**32 - 1, 5], 2**32 + 4),
    (pa.bool_(), [True, True, False], 2), (pa.int64(), [None], 0),
]


@pytest.mark.parametrize("name", ["interpreted", "primitives", "fused"])
@pytest.mark.parametrize(("type_", "values", "total"), WIDE)
def test_sums_of_integers_are_widened_on_request(type_: pa.DataType, values: list[Any], total: int, name: Any) -> None:
    with tier(name):
        found = one_window(values, type_, s=wb.sum(col.x, widen=True), half=wb.sum(col.x, widen=True) / 2)
        assert found["s"] == total
        assert found["half"] == MANY.divide(Decimal(total), Decimal(2))
    assert wb.sum(col.x, widen=True).result_type(type_) == pa.decimal128(38, 0)


def test_wide_sums_over_rows_that_leave() -> None:
    log = wb.from_arrow(pa.table({"t": [0, 3, 6], "x": pa.array([2**64 - 1] * 3, pa.uint64())}), time="t")
    found = log.sliding_window(5).aggregate(s=wb.sum(col.x, widen=True)).collect()["s"].to_pylist()
    assert found == [2**64 - 1, 2**65 - 2, 2**64 - 1, 2**65 - 2, 2**64 - 1]


def test_what_fails_without_it_names_it() -> None:
    for type_, value in ((pa.int64(), 2**62), (pa.uint64(), 2**63)):
        with pytest.raises(KernelError) as caught:
            one_window([value] * 2, type_, s=wb.sum(col.x))
        assert "widen=True" in caught.value.hint
    for type_, of in ((pa.float64(), 1.5), (pa.duration("s"), 1)):
        with pytest.raises(ExpressionError, match="widen=True needs integers or decimals"):
            one_window([of], type_, s=wb.sum(col.x, widen=True))
    with pytest.raises(PlanError, match="widen must be True or False, got 1"):
        wb.sum(col.x, widen=1)  # type: ignore[arg-type]
    assert wb.sum(col.x, widen=True).show() == "sum(col.x, widen=True)"


@pytest.mark.parametrize("query", QUERIES)
def test_a_run_resumes_from_its_checkpoint(query: str, tmp_path: Path) -> None:
    given = table(pa.decimal128(30, 4))
    portions = pa.concat_tables([given.slice(row, 7) for row in range(0, len(given), 7)])
    source = wb.from_arrow(portions, time="t", end="until" if query == "intervals" else None)
    whole = QUERIES[query][0](source).collect()
    for stop in (1, 4):
        asked = QUERIES[query][0](source)
        with closing(Execution(asked.node)) as session:
            for _ in range(stop):
                session.step()
            save(session, tmp_path / str(stop))
            before = session.answers[0].settled()
        with closing(Execution(asked.node)) as later:
            load(later, tmp_path / str(stop))
            while not later.finished:
                later.step()
            assert lines(pa.concat_tables([before, later.answers[0].settled()])) == lines(whole)


def lines(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


def test_several_latencies_and_updates_end_in_the_same_answer() -> None:
    given = table(pa.decimal128(30, 4)).drop_columns("until")
    seen = [each + (row * 7) % 11 for row, each in enumerate(given["t"].to_pylist())]
    log = wb.from_arrow(given.append_column("seen", pa.array(seen)), time="t", arrival="seen")
    for query in ("tumbling", "hopping", "sliding"):
        asked = QUERIES[query][0](log)
        *_, last = asked.at_latencies(0, 5, 30)
        assert lines(last.collect()) == lines(asked.collect())
    plain = QUERIES["tumbling"][0](wb.from_arrow(given, time="t"))
    assert plain.progressive(block_rows=10).finish().equals(plain.collect())
