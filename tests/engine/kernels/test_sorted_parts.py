"""Groups of values in two sorted parts, which are shown again and again."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.kernels import tier
from whimbrel.kernels.primitives.aggregation import multisets, sorted_parts

NONE = np.empty(0, np.int64)
ROWS = 3_000


@pytest.mark.parametrize(("tidy", "recent"), [(0, 5), (5, 0), (40, 7), (7, 40), (30, 30)])
@pytest.mark.parametrize("by_time", [False, True])
def test_an_element_is_found_by_its_number_in_both_parts_together(tidy: int, recent: int, *, by_time: bool) -> None:
    chance = np.random.default_rng(tidy)
    first = 3  # of a pool in which others come before
    pool, times = chance.integers(0, 20, (2, first + tidy + recent))
    for part in (slice(first, first + tidy), slice(first + tidy, None)):
        order = np.lexsort((pool[part], times[part] if by_time else np.zeros_like(pool[part])))
        pool[part], times[part] = pool[part][order], times[part][order]
    found = [sorted_parts.element(pool, times if by_time else NONE, NONE, first, tidy, tidy + recent, number)
             for number in range(tidy + recent)]
    assert sorted(found) == list(range(first, len(pool)))
    values = [(int(times[index]) if by_time else 0, int(pool[index])) for index in found]
    assert values == sorted(values)


def test_few_recent_values_are_sorted_among_themselves_and_many_into_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row of a running median moved half of all values before it: 200,000 rows took 12 s."""
    moved = 0
    move = multisets.move

    def counted(items: Any, starts: Any, begin: int, end: int, by: int) -> None:
        nonlocal moved
        moved += end - begin
        move(items, starts, begin, end, by)

    monkeypatch.setattr(multisets, "move", counted)
    rows = 4_000
    items = np.random.default_rng(1).integers(0, 2**60, rows)
    items[:2_000].sort()
    expected = np.sort(items)
    first, tidy, length = np.zeros(1, np.int64), np.array([2_000]), np.array([2_000])
    recent, different = np.zeros(1, np.int64), np.full(1, -1)
    while length[0] < rows:
        length[0] += 1
        assert sorted_parts.add_recent(items, NONE, NONE, NONE, first, tidy, length, 0, multisets.BETWEEN, recent,
                                       different)
    assert recent[0] == length[0] - tidy[0] > 0
    sorted_parts.merge_parts(items, NONE, NONE, NONE, first, tidy, length, recent)
    assert tidy[0] == rows
    np.testing.assert_array_equal(items, expected)
    assert moved < 2_000 * 400  # 1,500 for each row, where all are moved


def test_so_many_new_values_are_sorted_into_all_at_once() -> None:
    items = np.append(np.arange(2_000), np.random.default_rng(1).integers(0, 99, 5_000))
    first, tidy, length = np.zeros(1, np.int64), np.array([2_000]), np.array([7_000])
    recent, different = np.zeros(1, np.int64), np.array([2_000])
    assert not sorted_parts.add_recent(items, NONE, NONE, NONE, first, tidy, length, 0, multisets.DISTINCT, recent,
                                       different)
    assert (int(recent[0]), int(different[0])) == (0, -1)


def shown(values: pa.Array, aggregate: Any, keys: list[int], rows_of_batch: int) -> list[Any]:
    table = pa.table({"at": range(len(keys)), "x": values, "k": keys})
    log = wb.from_arrow(pa.Table.from_batches(table.to_batches(max_chunksize=rows_of_batch)), time="at")
    with tier("primitives"):
        answer = log.group_by("k").with_columns(m=aggregate.so_far()).collect()
    return list(answer["m"].to_pylist())


def expected(values: pa.Array, keys: list[int], what: Callable[[list[Any]], Any]) -> list[Any]:
    held: dict[int, list[Any]] = {}
    found = []
    for value, key in zip(values.to_pylist(), keys, strict=True):
        group = held.setdefault(key, [])
        if value is not None:
            bisect.insort(group, value)
        found.append(what(group))
    return found


def median(group: list[Any]) -> float | None:
    return (group[(len(group) - 1) // 2] + group[len(group) // 2]) / 2 if group else None


def third_and_above(group: list[Any]) -> list[Any]:
    return [value for value in group[::-1] if len(group) < 3 or value >= group[-3]]


@pytest.mark.parametrize("rows_of_batch", [ROWS, 701])
@pytest.mark.parametrize("text", [False, True])
def test_running_aggregates_of_large_groups_are_those_of_all_values_so_far(rows_of_batch: int, *, text: bool) -> None:
    chance = np.random.default_rng(3)
    numbers = chance.integers(0, 700, ROWS)
    mask = chance.random(ROWS) < 0.2
    keys = (chance.random(ROWS) < 0.9).astype(int).tolist()  # one group is large, and one is not
    values = pa.array([f"w{number:03}" for number in numbers] if text else numbers, mask=mask)
    distinct = shown(values, wb.count_distinct(col.x), keys, rows_of_batch)
    assert distinct == expected(values, keys, lambda group: len(set(group)))
    if not text:
        assert shown(values, wb.median(col.x), keys, rows_of_batch) == expected(values, keys, median)
        top = shown(values, wb.top_k(col.x, 3), keys, rows_of_batch)
        assert [[each["value"] for each in group or []] for group in top] == expected(values, keys, third_and_above)
