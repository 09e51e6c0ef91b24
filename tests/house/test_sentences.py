"""Long sentences are found, on pages and in docstrings; how many are left is in the debt file."""

from __future__ import annotations

import pytest

from tests.house.sentences import long_in_docstring, long_in_page

SIX = "One two three four five six."


@pytest.mark.parametrize(("page", "count"), [
    (SIX, 1),
    ("One two three. Four five six.", 0),
    ("One two three\nfour five six.", 1),
    ("- one two three\n- four five six", 0),
    ("| one two three | four five six |", 0),
    ("| one two three four five six |", 1),
    (f"```\n{SIX}\n```", 0),
    ("One two three `four` `five` `six`.", 0),
    ("# One two three\nFour five six", 0),
])
def test_long_sentences_of_a_page(page: str, count: int) -> None:
    assert len(list(long_in_page(page, 5))) == count


@pytest.mark.parametrize(("text", "count"), [
    (SIX, 1),
    (f"Title.\n\n    >>> {SIX}", 0),
    ("Title.\n\nParameters\n----------\none : two\n    Three four five.\nsix : int\n    Seven.", 0),
    (f"Title.\n\nParameters\n----------\none : two\n    {SIX}", 1),
    ("Title.\n\n    a  [--one--)  |--two--|  [--three--)  [--four--)  five six", 0),
])
def test_long_sentences_of_a_docstring(text: str, count: int) -> None:
    assert len(list(long_in_docstring(text, 5))) == count
