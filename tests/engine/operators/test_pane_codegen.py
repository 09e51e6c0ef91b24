from __future__ import annotations

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import KernelError
from whimbrel.kernels import Tier, tier


@pytest.mark.parametrize("name", ["interpreted", "primitives", "fused"])
def test_functions_that_print_alike_and_close_over_other_values_are_two(name: Tier) -> None:
    def above(limit: int) -> object:
        return lambda e: True if e.x > limit else False  # noqa: SIM210 - an `if` cannot be traced

    log = wb.from_arrow({"at": [0, 1, 2], "x": [1, 5, 9]}, time="at")
    query = log.tumbling_window(10).aggregate(a=wb.sum(above(0)), b=wb.sum(above(6)))  # type: ignore[arg-type]
    with tier(name):
        assert query.collect().to_pylist() == [{"start": 0, "end": 10, "a": 3, "b": 1}]


@pytest.mark.parametrize("name", ("interpreted", "primitives", "fused"))
def test_texts_and_lists_are_counted_where_they_are_there(name: Tier) -> None:
    rows = {"at": [0, 1, 2, 5], "s": ["a", None, "b", None], "l": [[1], None, [], [2]]}
    log = wb.from_arrow(pa.table(rows), time="at")
    with tier(name):
        table = log.tumbling_window(5).aggregate(s=wb.count(col.s), l=wb.count(col.l)).collect()
    assert table.select(["s", "l"]).to_pylist() == [{"s": 2, "l": 2}, {"s": 0, "l": 1}]


MOST = 2**63 - 1
GUARDED = {
    "text": (col.s != "n/a", col.s.cast("int64")),
    "nan": (col.f > 0, col.f.cast("int64")),
    "product": (col.x < 10, col.x * 2),
    "small": (col.x < 10, col.x.cast("int8")),
}


@pytest.mark.share(4)
@pytest.mark.parametrize("where", ["in the query", "in the aggregate"])
@pytest.mark.parametrize("window", ["tumbling", "sliding", "of keys"])
@pytest.mark.parametrize("name", ["interpreted", "primitives", "fused"])
@pytest.mark.parametrize("guarded", GUARDED)
def test_rows_that_are_left_out_cannot_fail(guarded: str, name: Tier, window: str, where: str) -> None:
    rows = {"at": [0, 1, 1], "s": ["n/a", "5", "5"], "f": [float("nan"), 2.0, 2.0], "x": [MOST, 1, 1]}
    condition, value = GUARDED[guarded]
    log = wb.from_arrow(pa.table(rows), time="at")
    total = wb.sum(value)
    if where == "in the query":
        log = log.where(condition)
    else:
        total = total.where(condition)
    log = log.group_by("s") if window == "of keys" else log
    log = log.sliding_window(1) if window == "sliding" else log.tumbling_window(9)
    with tier(name):
        found = log.aggregate(a=total).collect()["a"].to_pylist()
    assert found[-1] == {"text": 10, "nan": 4, "product": 4, "small": 2}[guarded]


@pytest.mark.parametrize("name", ["interpreted", "primitives", "fused"])
def test_a_condition_that_leaves_int64_says_where(name: Tier) -> None:
    log = wb.from_arrow({"at": [0, 1], "x": [MOST, 1]}, time="at")
    with tier(name), pytest.raises(KernelError, match="integer overflow") as caught:
        log.where(col.x * 2 > 0).tumbling_window(9).aggregate(n=wb.count()).collect()
    assert caught.value.where == "col.x * 2"
