"""Bytes are compared as Python compares them: byte by byte, unsigned, whatever holds them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.expr.tables import batch, values
from whimbrel import col
from whimbrel.errors import ExpressionError

ONE = [b"a", b"\xff", None, b"", b"ab", b"a\x00"]
OTHER = [b"b", b"a", b"a", None, b"ab", b"a"]
KINDS: dict[str, Callable[[pa.Array], pa.Array]] = {
    "binary": lambda x: x, "large": lambda x: x.cast(pa.large_binary()), "coded": pa.Array.dictionary_encode,
}


def each(plain: Callable[..., Any], *columns: list[Any]) -> list[Any]:
    return [None if None in row else plain(*row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("one", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_bytes_are_compared_byte_by_byte(one: str, other: str) -> None:
    of = batch(x=KINDS[one](pa.array(ONE)), y=KINDS[other](pa.array(OTHER)))
    for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        assert values(compare(col.x, col.y), of) == each(compare, ONE, OTHER)
        assert values(compare(col.x, b"ab"), of) == each(lambda x, by=compare: by(x, b"ab"), ONE)
    assert values(col.x.is_in([b"a", b""]), of) == each(lambda x: x in (b"a", b""), ONE)
    assert values(col.x.between(b"a", b"ab"), of) == each(lambda x: b"a" <= x <= b"ab", ONE)
    assert values(wb.greatest(col.x, col.y), of) == [b"b", b"\xff", b"a", b"", b"ab", b"a\x00"]
    assert values(wb.least(col.x, b"aa"), of) == [b"a", b"aa", b"aa", b"", b"aa", b"a\x00"]
    assert values(wb.when(col.x > b"a").then(col.x).otherwise(b"q"), of) == [b"q", b"\xff", b"q", b"q", b"ab", b"a\x00"]


def test_bytes_of_a_fixed_size_meet_bytes_of_any_size() -> None:
    plain = [b"ab", b"\xff\x00", None, b"aa"]
    of = batch(x=pa.array(plain, pa.binary(2)), y=pa.array(plain), v=pa.array([plain], pa.list_(pa.binary(2))).take(
        pa.array([0, 0, 0, 0])))
    assert values(col.x == col.y, of) == [True, True, None, True]
    for bound in (b"ab", b"a", b"abc"):
        assert values(col.x <= bound, of) == each(lambda x, bound=bound: x <= bound, plain)
    assert values(col.x.is_in([b"ab", b"x"]), of) == [True, False, None, False]
    assert values(col.v.list.max(), of) == [b"\xff\x00"] * 4
    assert repr(col.x == b"\xff") == r"col.x == b'\xff'"


@pytest.mark.parametrize("other", (col.s, "x"))
def test_bytes_and_texts_do_not_go_together(other: Any) -> None:
    log = wb.from_arrow(pa.table({"at": [0], "x": pa.array([b"x"]), "s": ["x"]}), time="at")
    with pytest.raises(ExpressionError, match="cannot take binary and string") as error:
        log.where(col.x == other)
    assert "such as b'a'" in error.value.hint
