"""What is found in texts is what Python finds in each of them, by the kernels and by Arrow."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.expr.string_search import contains, ends_with, index_of, is_ascii, split, starts_with
from whimbrel.kernels import Tier, tier

LETTERS = "ab ä€🐦"
TEXTS = st.lists(st.none() | st.text(LETTERS, max_size=6) | st.text(LETTERS, min_size=60, max_size=300), max_size=12)
TIERS: tuple[Tier, ...] = ("interpreted", "primitives")
TYPES = [pa.string(), pa.large_string()]


def arrays(texts: list[str | None], type_: pa.DataType) -> list[pa.Array]:
    """The texts, alone and in the midst of others."""
    whole = pa.array(["a b", None, "ab", *texts, "ba", "€"], type_)
    return [pa.array(texts, type_), whole.slice(3, len(texts))]


@pytest.mark.parametrize("by", TIERS)
@pytest.mark.parametrize("type_", TYPES, ids=str)
@given(texts=TEXTS, text=st.text(LETTERS, min_size=1, max_size=3))
def test_what_python_finds(by: Tier, type_: pa.DataType, texts: list[str | None], text: str) -> None:
    with tier(by):
        for array in arrays(texts, type_):
            assert contains(array, text).to_pylist() == [None if each is None else text in each for each in texts]
            assert index_of(array, text).to_pylist() == [None if each is None else each.find(text) for each in texts]
            assert starts_with(array, text).to_pylist() == [
                None if each is None else each.startswith(text) for each in texts]
            assert ends_with(array, text).to_pylist() == [
                None if each is None else each.endswith(text) for each in texts]


@pytest.mark.parametrize("by", TIERS)
@pytest.mark.parametrize("type_", TYPES, ids=str)
@given(texts=TEXTS, text=st.text(LETTERS, min_size=1, max_size=2))
def test_what_python_splits(by: Tier, type_: pa.DataType, texts: list[str | None], text: str) -> None:
    expected = [(row, piece) for row, each in enumerate(texts) if each is not None for piece in each.split(text)]
    with tier(by):
        for array in arrays(texts, type_):
            rows, pieces = split(array, text)
            assert pieces.type == type_
            assert list(zip(rows.tolist(), pieces.to_pylist(), strict=True)) == expected


@pytest.mark.parametrize("by", TIERS)
def test_no_text_is_found_across_two(by: Tier) -> None:
    texts = pa.array(["x" * 100 + "a", "b" + "y" * 100, "ab", "a", "b"] * 3)
    with tier(by):
        assert contains(texts, "ab").to_pylist() == [False, False, True, False, False] * 3
        assert split(texts, "ab")[1].to_pylist() == ["x" * 100 + "a", "b" + "y" * 100, "", "", "a", "b"] * 3


@pytest.mark.parametrize("by", TIERS)
def test_what_lies_under_a_null_is_not_looked_at(by: Tier) -> None:
    texts = pa.array(["aXb", "cXd", "eXf"])
    there = pa.array([True, False, True]).buffers()[1]
    hidden = pa.Array.from_buffers(texts.type, 3, [there, *texts.buffers()[1:]])
    with tier(by):
        assert contains(hidden, "X").to_pylist() == [True, None, True]
        assert index_of(hidden, "d").to_pylist() == [-1, None, -1]
        assert ends_with(hidden, "d").to_pylist() == [False, None, False]
        rows, pieces = split(hidden, "X")
        assert (rows.tolist(), pieces.to_pylist()) == ([0, 0, 2, 2], ["a", "b", "e", "f"])


def test_ascii() -> None:
    assert is_ascii(pa.array(["a", None, "z"]))
    assert not is_ascii(pa.array(["a", "ä"]))
    assert is_ascii(pa.array(["ä", "a"]).slice(1))
