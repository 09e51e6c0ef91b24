"""Joins in which a null key is a key, and as-of joins that see only what held before: each operator by hand."""

from __future__ import annotations

from typing import Any

import pytest

import whimbrel as wb
from whimbrel import col

LEFT = {"at": [1, 2], "until": [9, 9], "k": ["a", None], "x": [1, 2]}
RIGHT = {"at": [3, 4, 5], "until": [6, 7, 8], "k": ["b", None, "a"], "y": [10, 20, 30]}


def rows(stream: wb.Stream) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in stream.collect().to_pylist()), key=repr)


def sides() -> tuple[wb.Stream, wb.Stream]:
    return tuple(wb.from_arrow(table, time="at", end="until").drop("at", "until")  # type: ignore[return-value]
                 for table in (LEFT, RIGHT))


BY_NULLS = {
    "inner": (lambda s, t, nulls: s.join(t, on="k", nulls_equal=nulls),
              [(5, 8, "a", 1, 30)], [(4, 7, None, 2, 20), (5, 8, "a", 1, 30)]),
    "right": (lambda s, t, nulls: s.join(t, on="k", how="right", nulls_equal=nulls),
              [(3, 6, "b", None, 10), (4, 7, None, None, 20), (5, 8, "a", 1, 30)],
              [(3, 6, "b", None, 10), (4, 7, None, 2, 20), (5, 8, "a", 1, 30)]),
    "left": (lambda s, t, nulls: s.join(t, on="k", how="left", nulls_equal=nulls).where(col.k.is_null()),
             [(2, 9, None, 2, None)], [(2, 4, None, 2, None), (4, 7, None, 2, 20), (7, 9, None, 2, None)]),
    "semi": (lambda s, t, nulls: s.semi_join(t, on="k", nulls_equal=nulls),
             [(5, 8, "a", 1)], [(4, 7, None, 2), (5, 8, "a", 1)]),
    "anti": (lambda s, t, nulls: s.anti_join(t, on="k", nulls_equal=nulls).where(col.x == 2),
             [(2, 9, None, 2)], [(2, 4, None, 2), (7, 9, None, 2)]),
    "clip": (lambda s, t, nulls: s.clip_at(t, on="k", nulls_equal=nulls), [(1, 5, "a", 1), (2, 9, None, 2)],
             [(1, 5, "a", 1), (2, 4, None, 2)]),
    "as-of": (lambda s, t, nulls: s.asof_join(t, on="k", direction="forward", tolerance=9, nulls_equal=nulls),
              [(1, 9, "a", 1, 30), (2, 9, None, 2, None)], [(1, 9, "a", 1, 30), (2, 9, None, 2, 20)]),
    "as-of backward": (lambda s, t, nulls: t.asof_join(s, on="k", nulls_equal=nulls).select("k", "x"),
                       [(3, 6, "b", None), (4, 7, None, None), (5, 8, "a", 1)],
                       [(3, 6, "b", None), (4, 7, None, 2), (5, 8, "a", 1)]),
}


@pytest.mark.parametrize("name", BY_NULLS)
def test_a_null_key_matches_a_null_key_where_that_is_asked_for(name: str) -> None:
    query, plain, equal = BY_NULLS[name]
    assert rows(query(*sides(), False)) == sorted(plain, key=repr)
    assert rows(query(*sides(), True)) == sorted(equal, key=repr)
    assert "nulls_equal=True" in query(*sides(), True).explain()
    assert "nulls_equal" not in query(*sides(), False).explain()


def test_a_null_in_one_of_several_keys_is_a_value_of_its_own() -> None:
    keys = {"at": [0] * 4, "a": [1, 1, None, None], "b": [1, None, 1, None], "n": [1, 2, 3, 4]}
    events = wb.from_arrow(keys, time="at").drop("at")
    paired = events.join(events.select("a", "b", m=col.n), on=["a", "b"], nulls_equal=True).select("n", "m")
    assert rows(paired) == [(0, 1, n, n) for n in (1, 2, 3, 4)]
    assert rows(events.join(events.select("a", "b", m=col.n), on=["a", "b"]).select("n", "m")) == [(0, 1, 1, 1)]


TOGETHER = [(direction, tolerance) for direction in ("backward", "forward", "nearest") for tolerance in (0, 1, 2, 4, 9)]


@pytest.mark.parametrize("latency", [None, 0, 5])
@pytest.mark.parametrize(("direction", "tolerance"), TOGETHER)
def test_an_equal_start_is_no_match_where_it_is_strict(direction: Any, tolerance: int, latency: int | None) -> None:
    arrived = [0, 3, 2, 2, 7, 4, 9, 6, 12] if latency else [0, 2, 2, 3, 4, 6, 7, 9, 12]
    late = {} if latency is None else {"reorder_latency": latency}
    left = wb.from_arrow({"at": arrived}, time="at", **late)  # type: ignore[arg-type]
    right = wb.from_arrow({"at": [2, 4, 4, 7], "y": [20, 40, 41, 70]}, time="at", **late)  # type: ignore[arg-type]
    expected = []
    for start in arrived:
        near = [time for time in (2, 4, 7) if time != start and abs(time - start) <= tolerance
                and (direction != "backward" or time < start) and (direction != "forward" or time > start)]
        found = min(near, key=lambda time: (abs(time - start), time), default=None)
        expected += [(start, start + 1, y) for y in {None: [None], 2: [20], 4: [40, 41], 7: [70]}[found]]
    joined = left.select(n=1).asof_join(right.select("y"), strict=True, direction=direction, tolerance=tolerance)
    assert rows(joined.drop("n")) == sorted(expected, key=repr)
    assert "strict=True" in joined.explain()


def test_the_value_before_an_instant_is_its_own_row_before() -> None:
    prices = wb.from_arrow({"at": [1, 1, 2, 5], "p": [10, 11, 20, 50]}, time="at").select("p")
    before = prices.asof_join(prices, strict=True)
    assert rows(before) == [(1, 2, 10, None), (1, 2, 11, None), (2, 3, 20, 10), (2, 3, 20, 11), (5, 6, 50, 20)]
    found = before.lineage(p=50, start=5)
    assert sorted({p for table in found.events.values() for p in table["p"].to_pylist()}) == [20, 50]
