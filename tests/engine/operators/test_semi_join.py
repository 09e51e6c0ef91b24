"""semi_join and anti_join: left lifetimes cut by the union of matching right ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

import whimbrel as wb
from tests.engine.operators.twosided import ROWS, Row, answer, in_order, known, shown, stream, thorough
from whimbrel import col
from whimbrel.errors import WhimbrelError

Where = Callable[[int, int], bool]
LEFT: list[Row] = [(0, 10, "a", 1)]


def anything(x: int, y: int) -> bool:
    return True


def reference(left: list[Row], right: list[Row], where: Where, *, anti: bool) -> list[tuple[object, ...]]:
    """Tick by tick, as far as anything changes; runs of ticks are the parts."""
    rows: list[tuple[object, ...]] = []
    for start, end, key, x in left:
        spans = [(s, known(e)) for s, e, k, y in right if key is not None and k == key and where(x, y)]
        ticks = [t for t in [*range(start, min(known(end), 40)), known(end)] if t < known(end)]
        kept = [t for t in ticks if any(s <= t < e for s, e in spans) != anti]
        begins = [t for t in kept if t - 1 not in kept]
        for begin in begins:
            last = next(t for t in range(begin, 41) if t not in kept)
            rows.append((begin, end if last == 40 else shown(last), key, x))
    return in_order(rows)


@pytest.mark.parametrize("anti", [False, True])
@thorough
@given(ROWS, ROWS)
def test_against_plain_tuples(anti: bool, left: list[Row], right: list[Row]) -> None:
    mine, theirs = stream(left, "x"), stream(right, "y")
    joined = mine.anti_join if anti else mine.semi_join
    assert answer(joined(theirs, on="key")) == reference(left, right, anything, anti=anti)
    assert answer(joined(theirs, on="key", where=col.x < col.y)) == reference(
        left, right, lambda x, y: x < y, anti=anti)


@pytest.mark.parametrize(("right", "semi", "anti"), [
    ([(2, 4, "a", 0), (4, 6, "a", 0)], [(2, 6)], [(0, 2), (6, 10)]),
    ([(2, 5, "a", 0), (4, 6, "a", 0), (4, 5, "a", 0)], [(2, 6)], [(0, 2), (6, 10)]),
    ([(-3, 30, "a", 0)], [(0, 10)], []),
    ([(-3, 0, "a", 0), (10, 12, "a", 0)], [], [(0, 10)]),
    ([(2, 4, "a", 0), (5, 6, "a", 0)], [(2, 4), (5, 6)], [(0, 2), (4, 5), (6, 10)]),
    ([(2, None, "a", 0)], [(2, 10)], [(0, 2)]),
], ids=["adjacent", "several at once", "all of it", "touching", "a gap", "no end known"])
def test_parts(right: list[Row], semi: list[tuple[int, int]], anti: list[tuple[int, int]]) -> None:
    left = stream(LEFT, "x")
    assert [row[:2] for row in answer(left.semi_join(stream(right, "y"), on="key"))] == semi
    assert [row[:2] for row in answer(left.anti_join(stream(right, "y"), on="key"))] == anti


def test_right_columns_need_no_names_of_their_own() -> None:
    right = stream(LEFT, "x").with_columns(x_right=1)
    assert answer(stream(LEFT, "x").semi_join(right, on="key")) == LEFT


@pytest.mark.parametrize(("wrong", "words"), [
    (lambda s: s.semi_join(s, on=[]), ["semi_join() needs a key"]),
    (lambda s: s.anti_join(s, on="kye"), ["There is no column 'kye'", "Use 'key'", "anti_join(on=['kye'])"]),
    (lambda s: s.semi_join(s, on={"key": "x"}), ["must have one type, got 'key' (string) and 'x' (int64)", "Cast"]),
    (lambda s: s.anti_join(s, on="key", where=col.x), ["must be boolean", "where=col.x"]),
    (lambda s: s.anti_join(3, on="key"), ["anti_join() needs a stream, got int", "another stream"]),
], ids=["no key", "unknown key", "types", "no condition", "no stream"])
def test_errors(wrong: Callable[[wb.Stream], object], words: list[str]) -> None:
    with pytest.raises(WhimbrelError) as caught:
        wrong(stream(LEFT, "x"))
    assert [word for word in words if word not in str(caught.value)] == []
