"""Values that enter a bag which is in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whimbrel as wb
from whimbrel.kernels.primitives.aggregation import multisets
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
