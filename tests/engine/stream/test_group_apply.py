"""group_apply: sub-queries for each group, and joins that stay within groups."""

from __future__ import annotations

import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import PlanError

EVENTS = {"at": [0, 0, 1, 1], "k": ["a", "a", "b", "b"], "j": [1, 2, 1, 1], "x": [1, 2, 3, 4]}


def stream() -> wb.Stream:
    return wb.from_arrow(EVENTS, time="at").select("k", "j", "x").tumbling_window(10)


def rows(query: wb.Stream) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values())[2:] for row in query.collect().to_pylist())


def test_an_aggregate_within_leaves_the_outer_groups() -> None:
    done = stream().group_by("k").group_apply(
        lambda g: g.group_by("j").aggregate(s=wb.sum(col.x)).aggregate(n=wb.count(), most=wb.max(col.s)))
    assert rows(done) == [("a", 2, 2), ("b", 1, 7)]
    assert done.keys == ()


def test_nested_groups_come_back_one_by_one() -> None:
    inner = stream().group_by("k").group_apply(
        lambda g: g.group_by("j").group_apply(lambda h: h.select("x").aggregate(s=wb.sum(col.x))))
    assert rows(inner) == [("a", 1, 1), ("a", 2, 2), ("b", 1, 7)]


def test_streams_of_the_same_groups_join_within_them() -> None:
    left, right = stream().group_by("k"), stream().group_by("k")
    assert rows(left.join(right, on="j").select("k", "x", "x_right")) == [
        ("a", 1, 1), ("a", 2, 2), ("b", 3, 3), ("b", 3, 4), ("b", 4, 3), ("b", 4, 4)]
    assert len(rows(stream().join(right, on="j"))) == 10
    assert len(rows(left.join(stream().group_by("j"), on="j"))) == 10


def test_computed_keys_are_matched_too() -> None:
    left, right = (stream().group_by(big=col.x > 1) for _ in range(2))
    assert rows(left.join(right, on="j").select("big", "x", "x_right")) == [
        (False, 1, 1), (True, 2, 2), (True, 3, 3), (True, 3, 4), (True, 4, 3), (True, 4, 4)]


def test_the_key_is_not_to_be_changed_or_hidden() -> None:
    with pytest.raises(PlanError, match="is the name of a group key"):
        stream().group_by("k").group_apply(lambda g: g.with_columns(k=col.x))
    with pytest.raises(PlanError, match="is the name of a group key"):
        stream().group_by("k").group_apply(lambda g: g.explode("k", [col.x]))
    with pytest.raises(PlanError, match="has the name of a column"):
        stream().group_by(x=col.x // 2).group_apply(lambda g: g)
    with pytest.raises(PlanError, match="needs group_by"):
        stream().group_apply(lambda g: g)
    with pytest.raises(PlanError, match="builds from its argument"):
        stream().group_by("k").group_apply(lambda _: stream())


def test_windows_are_filled_to_the_last_one_of_any_group() -> None:
    log = wb.from_arrow({"at": [0, 2], "k": ["a", "b"]}, time="at")
    done = log.group_by("k").group_apply(lambda g: g.tumbling_window(1).aggregate(n=wb.count(), fill=True))
    assert done.collect().equals(log.group_by("k").tumbling_window(1).aggregate(n=wb.count(), fill=True).collect())
    assert rows(done) == [("a", 0), ("a", 0), ("a", 1), ("b", 1)]
