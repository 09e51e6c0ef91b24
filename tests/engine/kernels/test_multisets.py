"""Values that enter a bag which is in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

import whimbrel as wb
from whimbrel.kernels.primitives.aggregation import multiset_replay, multisets
from whimbrel.operators.aggregation import multiset_accumulator

NONE = np.empty(0, np.int64)


@pytest.mark.parametrize(("tidy", "entering", "seed"), [(0, 50, 1), (500, 1, 2), (500, 7, 3), (500, 400, 4),
                                                        (3, 90, 5)])
@pytest.mark.parametrize("by_time", [False, True])
def test_what_enters_is_put_in_order_wherever_it_belongs(tidy: int, entering: int, seed: int, *, by_time: bool) -> None:
    chance = np.random.default_rng(seed)
    items = chance.integers(0, 300, tidy + entering)
    starts = chance.integers(0, 9, tidy + entering) if by_time else NONE
    for part in (slice(0, tidy), slice(0, tidy + entering)):
        order = np.lexsort((items[part], starts[part]) if by_time else (items[part],))
        expected = items[part][order], starts[part][order] if by_time else NONE
        if part.stop == tidy:
            items[part], starts[part] = expected
    multisets.put_in_order(items, starts, NONE, NONE, 0, tidy, tidy + entering)
    np.testing.assert_array_equal(items, expected[0])
    np.testing.assert_array_equal(starts, expected[1])


@pytest.mark.parametrize(("tidy", "size", "leaving", "seed"), [(9, 9, 9, 1), (500, 500, 4, 2), (300, 500, 400, 3)])
@pytest.mark.parametrize("by_time", [False, True])
@pytest.mark.parametrize("ranked", [False, True])
def test_many_that_leave_are_taken_out_of_all(tidy: int, size: int, leaving: int, seed: int, *, by_time: bool,
                                              ranked: bool) -> None:
    chance = np.random.default_rng(seed)
    by_rank = chance.permutation(300) if ranked else NONE
    rank = by_rank.argsort() if ranked else NONE
    keys, began = chance.integers(0, 300, size), chance.integers(0, 9, size)
    order = np.lexsort([rank[keys] if ranked else keys, began] if by_time else [rank[keys] if ranked else keys])
    items, starts = keys[order], began[order] if by_time else NONE
    chance.shuffle(rows := np.arange(tidy, size))
    items[tidy:] = items[rows]
    starts[tidy:] = starts[rows] if by_time else NONE
    left = chance.choice(size, leaving, replace=False)
    expected = sorted(zip(np.delete(items, left), np.delete(starts, left) if by_time else np.zeros(size - leaving),
                          strict=True), key=lambda each: (each[1], rank[each[0]] if ranked else each[0]))
    items, first, length, tidies = np.append(-1, items), np.array([1]), np.array([size]), np.array([tidy])
    padded = np.append(-1, starts) if by_time else NONE
    multisets.remove_many(items, padded, rank, by_rank, first, length, tidies, 0, items[1 + left],
                          padded[1 + left] if by_time else NONE)
    rest = items[1 : 1 + size - leaving], padded[1 : 1 + size - leaving] if by_time else np.zeros(size - leaving)
    assert list(zip(*rest, strict=True)) == expected
    assert (first[0], length[0], tidies[0]) == (1, size - leaving, size - leaving)


def test_many_that_enter_are_not_each_looked_for_among_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each update of a progressive median searched all values that were there, once for each one that came."""
    asked = 0
    is_after = multisets.is_after

    def counted(*arguments: Any) -> bool:
        nonlocal asked
        asked += 1
        return is_after(*arguments)

    monkeypatch.setattr(multisets, "is_after", counted)
    items = np.random.default_rng(1).integers(0, 2**60, 11_000)
    items[:10_000].sort()
    multisets.put_in_order(items, NONE, NONE, NONE, 0, 10_000, 11_000)
    assert asked < 10_000  # 14 for each of the thousand, where all are searched


def test_rows_that_leave_at_once_do_not_each_move_all_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hopping windows of 160,000 rows took four times as long as those of 80,000."""
    alone = 0
    remove = multiset_replay.remove

    def counted(*arguments: Any) -> None:
        nonlocal alone
        alone += 1
        remove(*arguments)

    monkeypatch.setattr(multiset_replay, "remove", counted)
    values = np.random.default_rng(1).integers(0, 900, 4_000)
    log = wb.from_arrow({"at": np.arange(4_000), "k": values % 2, "x": values}, time="at")
    windows = log.group_by("k").hopping_window(1_000, 500).aggregate(m=wb.median(wb.col.x)).collect()
    inside = [values[max(0, first) : first + 1_000] for first in range(-500, 4_000, 500)]
    for key in (0, 1):
        found = windows.filter(pc.field("k") == key)["m"].to_pylist()
        assert found == [np.median(each[each % 2 == key]) for each in inside]
    assert alone == 0


def test_groups_that_grow_side_by_side_are_not_moved_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool that was packed again had no capacity left in any group: it was copied whole after a few rows of each."""
    packed = 0
    repack = multiset_accumulator._repack

    def counted(*arguments: Any) -> Any:
        nonlocal packed
        packed += 1
        return repack(*arguments)

    monkeypatch.setattr(multiset_accumulator, "_repack", counted)
    rows, groups = 6_000, 100
    log = wb.from_arrow({"at": np.arange(rows), "k": np.arange(rows) % groups, "x": np.arange(rows)}, time="at")
    found = log.group_by("k").tumbling_window(rows).aggregate(m=wb.median(wb.col.x)).collect()
    assert sorted(found["m"].to_pylist()) == [rows / 2 - groups / 2 + k for k in range(groups)]
    assert packed < 20
