from __future__ import annotations

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
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
