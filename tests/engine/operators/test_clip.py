"""clip: right starts end left events."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

import whimbrel as wb
from tests.engine.operators.twosided import ROWS, Row, answer, in_order, known, shown, stream, thorough
from whimbrel.errors import WhimbrelError

LEFT: list[Row] = [(0, 10, "a", 1)]


def reference(left: list[Row], right: list[Row], *, by_key: bool) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for start, end, key, x in left:
        starts = [s for s, _, k, _ in right if s > start and (not by_key or (key is not None and k == key))]
        rows.append((start, shown(min([known(end), *starts])), key, x))
    return in_order(rows)


@thorough
@given(ROWS, ROWS)
def test_against_plain_tuples(left: list[Row], right: list[Row]) -> None:
    mine, theirs = stream(left, "x"), stream(right, "y")
    assert answer(mine.clip_at(theirs, on="key")) == reference(left, right, by_key=True)
    assert answer(mine.clip_at(theirs)) == reference(left, right, by_key=False)
    assert answer(mine.clip_at(mine, on="key")) == reference(left, left, by_key=True)


@pytest.mark.parametrize(("right", "end"), [
    ([(0, 3, "a", 0)], 10), ([(-2, 5, "a", 0)], 10), ([(4, 5, "a", 0), (7, 9, "a", 0)], 4), ([(10, 11, "a", 0)], 10),
    ([(4, 5, "b", 0)], 10), ([(4, None, "a", 0)], 4),
], ids=["equal start", "earlier start", "the first", "at the end", "another key", "no end known"])
def test_which_start_counts(right: list[Row], end: int) -> None:
    assert answer(stream(LEFT, "x").clip_at(stream(right, "y"), on="key")) == [(0, end, "a", 1)]


def test_latest_values_last_until_the_next() -> None:
    prices = stream([(0, None, "a", 5), (2, None, "a", 6), (3, None, "b", 7)], "x")
    assert answer(prices.clip_at(prices, on="key")) == [(0, 2, "a", 5), (2, None, "a", 6), (3, None, "b", 7)]
    assert answer(prices.clip_at(prices)) == [(0, 2, "a", 5), (2, 3, "a", 6), (3, None, "b", 7)]


@pytest.mark.parametrize(("wrong", "words"), [
    (lambda s: s.clip_at(s, on=[]), ["clip_at() needs a key"]),
    (lambda s: s.clip_at(s, on="kye"), ["There is no column 'kye'", "clip_at(on=['kye'])"]),
    (lambda s: s.clip_at(5), ["clip_at() needs a stream, got int", "another stream"]),
], ids=["no key", "unknown key", "a number"])
def test_errors(wrong: Callable[[wb.Stream], object], words: list[str]) -> None:
    with pytest.raises(WhimbrelError) as caught:
        wrong(stream(LEFT, "x"))
    assert [word for word in words if word not in str(caught.value)] == []
