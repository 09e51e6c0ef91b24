from __future__ import annotations

import pyarrow as pa
import pytest

from tests.engine.expr.tables import batch, values
from whimbrel.errors import ExpressionError
from whimbrel.expr import col, evaluate

NAMES = ["Whimbrel", "curlew", "", None, "ä"]
KINDS = [pa.array(NAMES), pa.array(NAMES).dictionary_encode(), pa.array(NAMES, pa.large_string())]


@pytest.mark.parametrize("names", KINDS, ids=lambda names: str(names.type))
@pytest.mark.parametrize(("build", "expected"), (
    (lambda s: s.str.contains("w"), [False, True, False, None, False]),
    (lambda s: s.str.contains("."), [False, False, False, None, False]),
    (lambda s: s.str.contains("^[Wc]", regex=True), [True, True, False, None, False]),
    (lambda s: s.str.starts_with("Wh"), [True, False, False, None, False]),
    (lambda s: s.str.ends_with("w"), [False, True, False, None, False]),
    (lambda s: s.str.index_of("r"), [5, 2, -1, None, -1]),
    (lambda s: s.str.index_of(""), [0, 0, 0, None, 0]),
    (lambda s: s.str.lower(), ["whimbrel", "curlew", "", None, "ä"]),
    (lambda s: s.str.upper(), ["WHIMBREL", "CURLEW", "", None, "Ä"]),
    (lambda s: s.str.length(), [8, 6, 0, None, 1]),
    (lambda s: s.str.slice(1, 3), ["hi", "ur", "", None, ""]),
    (lambda s: s.str.slice(-2), ["el", "ew", "", None, "ä"]),
    (lambda s: s.str.replace("r", "R"), ["WhimbRel", "cuRlew", "", None, "ä"]),
    (lambda s: s.str.replace("[a-m]+", "<\\0>", regex=True), ["W<himb>r<el>", "<c>ur<le>w", "", None, "ä"]),
    (lambda s: s.str.split_part("r", 2), ["el", "lew", "", None, ""]),
    (lambda s: s.str.extract("r(.)(.)", 2), ["l", "e", None, None, None]),
    (lambda s: s.str.split_part("r", -1), ["el", "lew", "", None, "ä"]),
    (lambda s: s.str.split_part("r", -2), ["Whimb", "cu", "", None, ""]),
    (lambda s: s.str.extract("(?P<found>r)(?:.)(.)", 2), ["l", "e", None, None, None]),
    (lambda s: s.str.extract("(?P<found>r).*"), ["rel", "rlew", None, None, None]),
    (lambda s: s.str.extract("[a-z]+"), ["himbrel", "curlew", None, None, None]),
    (lambda s: s.str.strip("Wwlä"), ["himbre", "curle", "", None, ""]),
    (lambda s: (" " + s).str.lstrip().str.rstrip("w"), ["Whimbrel", "curle", "", None, "ä"]),
    (lambda s: s.str.pad_start(7, "."), ["Whimbrel", ".curlew", ".......", None, "......ä"]),
    (lambda s: s.str.pad_end(7, "."), ["Whimbrel", "curlew.", ".......", None, "ä......"]),
    (lambda s: s.str.reverse().str.repeat(2), ["lerbmihWlerbmihW", "welrucwelruc", "", None, "ää"]),
    (lambda s: s + "!", ["Whimbrel!", "curlew!", "!", None, "ä!"]),
    (lambda s: "a " + s, ["a Whimbrel", "a curlew", "a ", None, "a ä"]),
    (lambda s: s + s, ["WhimbrelWhimbrel", "curlewcurlew", "", None, "ää"]),
    (lambda s: s == "curlew", [False, True, False, None, False]),
    (lambda s: s != "curlew", [True, False, True, None, True]),
    (lambda s: s > "X", [False, True, False, None, True]),
    (lambda s: s == s.fill_null(""), [True, True, True, None, True]),
    (lambda s: s.cast("string"), NAMES),
    (lambda s: s.str.lower().str.contains("w"), [True, True, False, None, False]),
))
def test_functions_of_strings(names, build, expected):
    assert values(build(col.name), batch(name=names)) == expected


def test_patterns_are_asked_of_few_distinct_texts_once() -> None:
    names = [*NAMES * 1_000, "seldom", None]
    few, many = batch(name=names).slice(3, len(names)), batch(name=[*names, *map(str, range(2 * len(names)))])
    s = col.name.str
    for expr in (s.contains("^[Wcs]", regex=True), s.replace("[a-m]+", "<\\0>", regex=True), s.extract("[a-z]+")):
        assert values(expr, few) == values(expr, many)[3 : len(names)], expr
        assert evaluate(expr, few).to_arrow().type == evaluate(expr, many).to_arrow().type
    assert values(s.extract("x"), batch(name=pa.nulls(5_000, pa.string()))) == [None] * 5_000


def test_a_dictionary_stays_one_without_duplicates():
    of = batch(name=pa.array(["A", "a", None, "A"]).dictionary_encode())
    column = evaluate(col.name.str.lower(), of)
    assert column.values.dictionary.to_pylist() == ["a"]
    assert column.to_arrow().to_pylist() == ["a", "a", None, "a"]


def test_a_bad_pattern_is_an_error_in_the_users_words():
    with pytest.raises(ExpressionError, match="is not a pattern") as caught:
        evaluate(col.name.str.contains("(", regex=True), batch(name=["x"]))
    assert caught.value.where == "col.name.str.contains('(', regex=True)"
