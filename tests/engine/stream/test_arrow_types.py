"""Every operator takes a column of every Arrow type, or refuses it in the project's words."""

from __future__ import annotations

import pytest

import whimbrel as wb
from tests.engine.stream.arrow_types import ASKED, CARRIED, VALUES, log
from whimbrel.batch import plain_type
from whimbrel.errors import WhimbrelError


@pytest.mark.share(3)
@pytest.mark.parametrize("name", VALUES)
def test_operators_that_do_not_look_at_a_column_carry_every_type(name: str) -> None:
    right = log(name).collect()["x"].to_pylist()
    for operator, build in CARRIED.items():
        answer = build(log(name)).collect()
        for column in ("x", "y", "z"):
            if column in answer.column_names and operator != "union_with_nothing":
                assert answer[column].type == plain_type(log(name).schema.type_of("x")), operator
                values = answer[column].to_pylist()
                assert values, operator
                assert [value for value in values if value is not None and value not in right] == [], operator


@pytest.mark.share(3)
@pytest.mark.parametrize("name", VALUES)
def test_operators_that_look_at_a_column_answer_or_say_why_not(name: str) -> None:
    answered, refused = [], []
    for build in ASKED.values():
        try:
            made = build(log(name))
            answer = made.collect() if isinstance(made, wb.Stream) else made
        except WhimbrelError as error:
            refused.append(error)
        else:
            answered.append(answer)
    assert len(answered) >= 2
    assert [error for error in refused if len(str(error).splitlines()) > 8] == []


@pytest.mark.parametrize("name", ["uuid", "json", "list", "struct", "map", "tensor"])
def test_what_kernels_cannot_tell_apart_is_no_key(name: str) -> None:
    for operator in ("key", "distinct", "join on", "stitch", "sample by"):
        with pytest.raises(WhimbrelError, match=r"cannot be a key|cannot compare|A key must be"):
            ASKED[operator](log(name)).collect()


CHOSEN = sorted(set(VALUES) - {"list of uuid", "dense_union", "sparse_union"})
"""Arrow does not choose among the others; they are refused."""


@pytest.mark.parametrize("name", CHOSEN)
def test_every_type_can_be_chosen_row_by_row(name: str) -> None:
    right = log(name).collect()["x"].to_pylist()
    assert ASKED["when"](log(name)).collect()["n"].to_pylist() == [*right[:2], None, None]
    assert ASKED["filled"](log(name)).collect()["n"].to_pylist() == right
