"""The full text of every refusal."""

from __future__ import annotations

import pytest

import whimbrel as wb
from tests.engine.sql import (
    refused_expressions,
    refused_patterns,
    refused_relations,
    refused_statements,
    refused_values,
)
from tests.engine.sql.logs import STREAMS
from whimbrel.sql.refusals import REFUSALS

REFUSED = {**refused_statements.REFUSED, **refused_expressions.REFUSED, **refused_patterns.REFUSED,
           **refused_values.REFUSED, **refused_relations.REFUSED}


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=list(REFUSED))
def test_the_refusal(text: str, words: str) -> None:
    with pytest.raises(wb.SqlError) as refused:
        wb.sql(text, **STREAMS)
    assert str(refused.value) == words.strip()
    assert len(str(refused.value).splitlines()) <= 8


def test_every_refusal_of_the_table_has_a_test() -> None:
    words = " ".join(words for _, words in REFUSED.values())
    beginnings = {name: what.split("{")[0].strip() for name, (what, _) in REFUSALS.items()}
    assert {name for name, begins in beginnings.items() if begins and begins not in words} == set()
