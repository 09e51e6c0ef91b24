"""join and cross_join: pairs, and what has no partner."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given

import whimbrel as wb
from tests.engine.operators.twosided import ROWS, Row, answer, in_order, known, shown, stream, thorough
from whimbrel import col
from whimbrel.errors import WhimbrelError
from whimbrel.operators import How
from whimbrel.optimize import optimize
from whimbrel.plan import OrderingSpec
from whimbrel.run import Pipeline
from whimbrel.testing import BatchedRows

Where = Callable[[int, int], bool]
LEFT: list[Row] = [(0, 10, "a", 1)]


def anything(x: int, y: int) -> bool:
    return True


def reference(left: list[Row], right: list[Row], how: str, where: Where) -> list[tuple[object, ...]]:
    """Instant by instant: who is there together; who is there alone."""
    rows: list[tuple[object, ...]] = [
        (max(s, s2), shown(min(known(e), known(e2))), k, x, y) for s, e, k, x in left for s2, e2, k2, y in right
        if k is not None and k == k2 and max(s, s2) < min(known(e), known(e2)) and where(x, y)]
    for mine, others, kept, flip in ((left, right, "left", False), (right, left, "right", True)):
        for s, e, k, x in mine if how in (kept, "full") else []:
            spans = [(s2, known(e2)) for s2, e2, k2, y in others if k is not None and k == k2
                     and (where(y, x) if flip else where(x, y))]
            cuts = sorted({s, known(e)} | {t for span in spans for t in span if s < t < known(e)})
            lonely = [(a, b) for a, b in pairwise(cuts) if not any(p <= a < q for p, q in spans)]
            merged: list[tuple[int, int]] = []
            for a, b in lonely:
                merged = [*merged[:-1], (merged[-1][0], b)] if merged and merged[-1][1] == a else [*merged, (a, b)]
            rows += [(a, shown(b), k, None, x) if flip else (a, shown(b), k, x, None) for a, b in merged]
    return in_order(rows)


@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
@thorough
@given(ROWS, ROWS)
def test_against_plain_tuples(how: How, left: list[Row], right: list[Row]) -> None:
    joined = stream(left, "x").join(stream(right, "y"), on="key", how=how)
    assert answer(joined) == reference(left, right, how, anything)
    joined = stream(left, "x").join(stream(right, "y"), on="key", how=how, where=col.x < col.y)
    assert answer(joined) == reference(left, right, how, lambda x, y: x < y)


@pytest.mark.parametrize(("right", "rows"), [
    ([(2, 4, "a", 7)], [(0, 2, "a", 1, None), (2, 4, "a", 1, 7), (4, 10, "a", 1, None)]),
    ([(2, 4, "a", 7), (4, 6, "a", 8)],
     [(0, 2, "a", 1, None), (2, 4, "a", 1, 7), (4, 6, "a", 1, 8), (6, 10, "a", 1, None)]),
    ([(0, 10, "a", 7)], [(0, 10, "a", 1, 7)]),
    ([(10, 20, "a", 7), (-5, 0, "a", 8)], [(0, 10, "a", 1, None)]),
    ([(0, None, "b", 7)], [(0, 10, "a", 1, None)]),
], ids=["inside", "adjacent", "whole", "touching", "another key"])
def test_a_left_join_says_when_there_is_no_partner(right: list[Row], rows: list[tuple[object, ...]]) -> None:
    assert answer(stream(LEFT, "x").join(stream(right, "y"), on="key", how="left")) == rows


def test_null_keys_have_no_partner_and_are_kept() -> None:
    nobody: list[Row] = [(0, 5, None, 1)]
    joined = stream(nobody, "x").join(stream(nobody, "y"), on="key", how="full")
    assert answer(joined) == [(0, 5, None, 1, None), (0, 5, None, None, 1)]


def test_keys_of_two_names_stand_side_by_side() -> None:
    right = stream([(5, 6, "a", 7), (20, 21, "c", 8)], "y").select(other=col.key, y=col.y)
    joined = stream(LEFT, "x").join(right, on={"key": "other"}, how="right")
    assert answer(joined) == [(5, 6, "a", 1, "a", 7), (20, 21, None, None, "c", 8)]


def test_a_condition_sees_columns_that_nothing_else_needs() -> None:
    right = stream([(0, 4, "a", 0), (5, 9, "a", 2)], "x")
    joined = stream(LEFT, "x").join(right, on="key", where=lambda row: row.x < row.x_right).select("key")
    assert answer(joined) == [(5, 9, "a")]


def test_a_condition_that_is_null_makes_no_pair() -> None:
    right = stream([(0, 4, "a", 2)], "y").with_columns(y=wb.when(col.y > 5).then(col.y).otherwise(None))
    assert answer(stream(LEFT, "x").join(right, on="key", how="left", where=col.y > 0)) == [(0, 10, "a", 1, None)]


def test_a_cross_join_needs_common_time_only() -> None:
    right = stream([(3, 4, "b", 7), (10, 11, "b", 8)], "y").select("y")
    assert answer(stream(LEFT, "x").cross_join(right)) == [(3, 4, "a", 1, 7)]
    assert answer(stream(LEFT, "x").cross_join(right, where=col.x > col.y)) == []
    assert stream(LEFT, "x").cross_join(right).explain().startswith("cross_join()   [intervals]")


@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
@thorough
@given(ROWS, ROWS)
def test_a_cross_join_is_a_join_on_one_key_for_all(how: How, left: list[Row], right: list[Row]) -> None:
    mine, theirs = ([(start, end, "a", x) for start, end, _, x in rows] for rows in (left, right))
    crossed = stream(mine, "x").select("x").cross_join(stream(theirs, "y").select("y"), how=how)
    assert answer(crossed) == [(*times, x, y) for *times, _, x, y in reference(mine, theirs, how, anything)]


def test_a_cross_join_says_what_it_keeps() -> None:
    right = stream([(3, 4, "b", 7), (10, 11, "b", 8)], "y").select("y")
    crossed = stream(LEFT, "x").cross_join(right, how="full", where=col.y > 6)
    assert answer(crossed) == [(0, 3, "a", 1, None), (3, 4, "a", 1, 7), (4, 10, "a", 1, None), (10, 11, None, None, 8)]
    assert crossed.explain().startswith("cross_join(how='full', where=col.y > 6)   [")


def test_a_part_without_a_match_is_emitted_when_the_watermark_has_passed_its_start() -> None:
    def row(at: int, length: int) -> tuple[int, int, dict[str, object]]:
        return at, at + length, {"time": at, "key": "a", "k2": 0, "x": at, "y": 0.0, "flag": True}

    left, right = (wb.Stream(wb.plan.Node(BatchedRows([[]], disorder=OrderingSpec(0)))) for _ in range(2))
    pipeline = Pipeline(left.join(right, on="key", how="left").node)
    kernel = pipeline.kernels[-1]
    push = [BatchedRows([[row(0, 100)]]), BatchedRows([[row(50, 1)]])]
    for port, source in enumerate(push):
        for batch in source.read(source.schema.names):
            assert batch is not None
            assert kernel.push(batch, port) == []
    assert kernel.advance(50, 0) == []
    (released,) = kernel.advance(40, 1)
    assert (released.sync.tolist(), kernel.watermark) == ([0], 40)
    (ended,) = kernel.advance(51, 1)
    assert [(int(sync), int(other)) for sync, other in zip(ended.sync, ended.other, strict=True)] == [(50, 51), (50, 0)]


@pytest.mark.parametrize(("wrong", "words"), [
    (lambda s: s.join(s, on="key", how="outer"), ["got 'outer'", "join(how='outer')", '"full" to keep both']),
    (lambda s: s.cross_join(s, how="outer"), ["got 'outer'", "cross_join(how='outer')", '"full" to keep both']),
    (lambda s: s.join(s, on="key", where=col.y > 1), ["There is no column 'y'", "where=col.y > 1"]),
    (lambda s: s.join(s, on="key", where=col.x + 1), ["must be boolean", "Compare it"]),
    (lambda s: s.join(s, on=[]), ["join() needs a key"]),
    (lambda s: s.join(s.with_columns(x_right=1), on="key"), ["Two columns would be named 'x_right'"]),
], ids=["how", "how of a cross join", "unknown column", "no condition", "no key", "two of a name"])
def test_errors(wrong: Callable[[wb.Stream], object], words: list[str]) -> None:
    with pytest.raises(WhimbrelError) as caught:
        wrong(stream(LEFT, "x"))
    assert [word for word in words if word not in str(caught.value)] == []


def test_a_point_meets_what_starts_at_its_time_and_comes_later() -> None:
    left = wb.from_arrow({"at": [4, 4], "k": [1, 1], "x": [1, 2]}, time="at").select("k", "x")
    right = wb.from_arrow({"at": [4, 4], "k": [1, 1], "y": [3, 4]}, time="at").select("k", "y")
    query = left.join(right, on="k")
    pipeline = Pipeline(optimize(query.node))
    streams = [source.read(source.schema.names) for source in pipeline.sources]
    rows = [batch for stream in streams for batch in stream if batch is not None]
    found = []
    for number in (1, 0):
        for row in range(2):
            found += pipeline.push(number, rows[number].slice(row, row + 1))[0]
    for number in (0, 1):
        found += pipeline.finish(number)[0]
    pairs = [pair for batch in found for pair in zip(batch.column("x").values, batch.column("y").values, strict=True)]
    assert sorted(pairs) == [(1, 3), (1, 4), (2, 3), (2, 4)]
