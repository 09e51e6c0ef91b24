"""Functions of texts, bits and nulls of the table, each against the standard library."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime

import duckdb
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.expr.tables import batch, values
from whimbrel import col
from whimbrel.errors import ExpressionError, WhimbrelError

NUMBERS = ["7", "+7", "-007", " 7", "7 ", "", None, "0x1F", "1_0", "9223372036854775807", "9223372036854775808",
           "-9223372036854775808", "-9223372036854775809", "7.5", ".5", "5.", ".", "1e5", "1e999", "inf", "-Infinity",
           "nan", "ä", "٣", "00000000000000000000012"]
FORMS = {
    "%Y-%m-%d %H:%M:%S": ["2024-02-29 23:59:59", "2023-02-29 00:00:00", "2024-02-30 01:02:03", "2024-2-3 1:2:3",
                          "1969-12-31 23:59:59", "2024-02-03 01:02:03x", "2024-04-31 01:02:03", "2024-13-01 00:00:00",
                          "", None, "2024-02-03", "0001-01-01 00:00:00"],
    "%d/%b/%y %I:%M %p": ["03/Feb/24 12:04 AM", "31/Apr/99 01:00 PM", "03/feb/68 11:59 pm"],
    "%H:%M:%S.%f": ["01:02:03.5", "01:02:03.123456", "01:02:03", "01:02:03."],
    "%Y-%m-%dT%H:%M:%S.%f%z": ["2024-07-01T00:00:00.25+05:45", "2024-07-01T00:00:00.25-0330",
                               "2024-07-01T00:00:00.000001Z", "2024-07-01T00:00:00.1"],
    "%Y-%m-%dT%H:%M:%S%z": ["1900-07-01T00:00:00+05:53:28", "1900-07-01T00:00:00-055328", "1900-07-01T00:00:00+05:53",
                            "1900-07-01T00:00:00+05:53:60", "1900-07-01T00:00:00+05:53:2", None,
                            "1900-07-01T00:00:00+05:53:28.5", "0001-01-01T00:00:00+05:53:28"],
    "%z %Y-%m-%d": ["+005328 1900-07-01", "+0053:28 1900-07-01", "+00:53 1900-07-01"],
    "%j %Y": ["366 2024", "60 2023"],
    "%d.%m.%Y": ["05.02.24", "03.02.24", "5.2.0024", "30.02.2024"],
    "%d %B %Y": ["5 February 956", "5 February 0956", "5 May 2024", "31 April 2024"],
}


def plain_integer(text: str) -> int | None:
    digits = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
    if not digits.isascii() or not digits.isdigit():
        return None
    return int(text) if -(2**63) <= int(text) < 2**63 else None


def plain_float(text: str) -> float | None:
    if text != text.strip() or "_" in text or not text.isascii():
        return None
    try:
        return float(text)
    except ValueError:
        return None


@pytest.mark.parametrize("encode", (pa.Array.dictionary_encode, lambda x: x, lambda x: x.cast(pa.large_string())))
def test_numbers_of_texts(encode) -> None:
    of = batch(s=encode(pa.array(NUMBERS)))
    assert values(col.s.str.to_integer(), of) == [None if s is None else plain_integer(s) for s in NUMBERS]
    for one, s in zip(values(col.s.str.to_float(), of), NUMBERS, strict=True):
        wanted = None if s is None else plain_float(s)
        assert one == wanted or (math.isnan(one) and math.isnan(wanted))


@pytest.mark.parametrize("form", FORMS)
def test_times_of_texts(form: str) -> None:
    wanted = []
    for text in FORMS[form]:
        try:
            found = None if text is None else datetime.strptime(text, form)
            wanted.append(found and found.astimezone(UTC) if "%z" in form else found)
        except (ValueError, OverflowError):
            wanted.append(None)
    assert values(col.s.str.strptime(form), batch(s=FORMS[form])) == wanted
    back = values(col.s.str.strptime(form, unit="ms").cast("timestamp[us]"), batch(s=FORMS[form]))
    assert [each is None for each in back] == [each is None for each in wanted]


def test_leap_seconds_and_nanoseconds() -> None:
    of = batch(s=["2016-12-31 23:59:60.000000001", "2016-12-31 23:59:59.123456789"])
    found = values(col.s.str.strptime("%Y-%m-%d %H:%M:%S.%f", unit="ns").cast("int64"), of)
    assert found[1] == 1_483_228_799_123_456_789


def test_patterns_of_sql_are_those_of_duckdb() -> None:
    texts = ["a%b", "axb", "A%B", "a\nb", "ab", "aäb", "", None, "xaxbx", "a.b"]
    for pattern in ("a%", "a_b", "%a%b%", "", "%", "a.b", "A_B", "_"):
        for build, word in ((col.s.str.like, "LIKE"), (col.s.str.ilike, "ILIKE")):
            rows = duckdb.execute(f"SELECT unnest($1) {word} $2", [texts, pattern]).fetchall()
            assert values(build(pattern), batch(s=texts)) == [row[0] for row in rows], pattern
    assert values(col.s.str.like(r"a\%b"), batch(s=texts))[:3] == [True, False, False]


def test_json() -> None:
    texts = ['{"a": [1.50, {"b": "x"}], "n": null, "t": true, "c d": 12345678901234567890}', "[1]", "{", None, "7",
             '"s"']
    of = batch(s=texts)
    for path, wanted in (("$.a[0]", ["1.50"]), ("$.a[1].b", ["x"]), ("$.n", [None]), ("$.t", ["true"]), ("$.a[-1]", [
            '{"b":"x"}']), ('$["c d"]', ["12345678901234567890"]), ("$.a[9]", [None]), (
                '$."c d"', ["12345678901234567890"]), ("$.a.b", [None])):
        assert values(col.s.str.json_extract(path), of)[:1] == wanted, path
    assert values(col.s.str.json_extract("$[0]"), of)[1:] == ["1", None, None, None, None]
    assert values(col.s.str.json_extract("$"), of)[4:] == ["7", "s"]
    halves = batch(s=pa.array([r'{"a":"\ud800"}', r'{"a":["\ud83d"]}', r'{"a":"\ud83d\ude00"}']))
    assert values(col.s.str.json_extract("$.a"), halves) == [None, None, "😀"]
    assert json.loads(values(col.s.str.json_extract("$.a"), of)[0]) == [1.5, {"b": "x"}]
    large = batch(s=['{"f":1e400}'])
    assert values(col.s.str.json_extract("$.f"), large) + values(col.s.str.json_extract("$"), large) == ["1e400", None]
    with pytest.raises(ExpressionError, match="not a path of JSON"):
        values(col.s.str.json_extract('$.a"b"'), of)


@pytest.mark.parametrize(("text", "regex", "wanted"), [
    ("", False, [2, 1, 4]), ("x*", True, [2, 1, 3]), ("(x|)", True, [2, 1, 3]), (r"\bx*", True, [0, 0, 2]),
    ("x", True, [0, 0, 1])])
def test_matches_of_nothing_are_between_characters(text: str, regex: bool, wanted: list[int]) -> None:
    assert values(col.s.str.count_matches(text, regex=regex), batch(s=["é", "", "axb"])) == wanted


def test_joined_texts_and_the_first_value() -> None:
    of = batch(a=["x", None, ""], b=pa.array(["1", "2", "ä"]).dictionary_encode(), n=[4, 2, None])
    assert values(col.a.str.concat(col.b, "z", separator="-"), of) == ["x-1-z", None, "-ä-z"]
    assert values(wb.format("{}: {}", col.b, col.n), of) == ["1: 4", "2: 2", None]
    assert values(wb.format("none"), of) == ["none"] * 3
    assert values(wb.coalesce(col.a, col.b), of) == ["x", "2", ""]
    assert values(wb.coalesce(col.n, 0), of) == [4, 2, 0]
    assert values(col.b.cast("int64", errors="null"), of) == [1, 2, None]


def test_bits_are_those_of_python() -> None:
    x, y = [5, -1, 2**62, None, -(2**63)], [3, 63, 64, 1, -1]
    of = batch(x=pa.array(x, pa.int64()), y=y)
    for build, plain in ((col.x.bitwise_and(col.y), int.__and__), (col.x.bitwise_or(col.y), int.__or__),
                         (col.x.bitwise_xor(col.y), int.__xor__), (col.x.shift_right(col.y), int.__rshift__)):
        wanted = [None if a is None or (plain is int.__rshift__ and not 0 <= b < 64) else plain(a, b)
                  for a, b in zip(x, y, strict=True)]
        assert values(build, of) == wanted
    assert values(col.x.bitwise_not(), of) == [None if a is None else ~a for a in x]
    assert values(col.x.shift_left(2), of) == [20, -4, 0, None, 0]
    assert values(col.y.mod(2), of) == [1, 1, 0, 1, 1]
    assert values(col.y.pow(2), of) == [9, 3969, 4096, 1, 1]


@pytest.mark.parametrize("expr", [col.u.shift_right(1), col.u.bitwise_and(col.u), col.u.bitwise_not()])
def test_bits_of_an_integer_above_int64_are_an_overflow(expr: wb.Expr) -> None:
    assert values(expr, batch(u=pa.array([2], pa.uint64()))) == values(expr, batch(u=[2]))
    with pytest.raises(WhimbrelError, match="18446744073709551615 is above the largest int64"):
        values(expr, batch(u=pa.array([2**64 - 1], pa.uint64())))
    log = wb.from_arrow({"at": [0], "u": pa.array([2**64 - 1], pa.uint64())}, time="at")
    with pytest.raises(WhimbrelError, match="above the largest int64"):
        log.where(expr > 0).collect()


def test_hashes_never_change() -> None:
    of = batch(i=[0, 1, None, -1], f=[0.0, -0.0, math.nan, 1.5], s=["", "a", None, "ä"], b=[True, False, None, True])
    assert values(col.i.hash(), of) == values(col.i.cast("int8").hash(), of)
    assert values(col.i.hash(), of) == [0xE220A8397B1DCDAF >> 1, 5225608189600411232, None, 8245168133484221968]
    assert values(col.s.hash(), of) == values(col.s.hash(), batch(s=pa.array(["", "a", None, "ä"]).dictionary_encode()))
    assert values(col.s.hash(), of)[1] == 734586330201691595
    zero, negative, nan, _ = values(col.f.hash(), of)
    assert zero == negative != nan
    assert values((col.f * math.nan).hash(), of)[0] == nan
    assert values(col.b.hash(), of)[2] is None


def test_distances_on_the_earth() -> None:
    of = batch(a=[52.52, 0.0, None, 90.0], b=[13.405, 0.0, 0.0, 0.0])
    found = values(wb.haversine(col.a, col.b, 0, 180), of)
    half = math.pi * 6_371_008.8
    assert found[1:] == [pytest.approx(half), None, pytest.approx(half / 2)]
    assert found[0] == pytest.approx(half / 180 * math.degrees(math.acos(-math.cos(math.radians(52.52)) * math.cos(
        math.radians(13.405)))))


@pytest.mark.parametrize(("build", "message"), (
    (lambda: col.s.str.strptime("%Q"), "unknown directive '%Q'"), (lambda: col.s.str.strptime("%f"), "%f must follow"),
    (lambda: col.s.str.strptime("%Y", unit="m"), "unit must be"), (lambda: col.s.str.json_extract("a.b"), "not a path"),
    (lambda: col.s.str.like("a\\"), "ends in an escape"), (col.n.str.to_integer, "takes a string, not int64"),
    (lambda: col.n.str.concat(col.s), "takes a string"), (lambda: wb.format("{}", col.a, col.b), "one {} for each"),
    (lambda: col.s.bitwise_and(1), "takes an integer, not string"), (wb.coalesce, "at least one"),
    (lambda: col.s.cast("int64", errors="skip"), "must be 'raise' or 'null'"),
))
def test_what_does_not_fit_is_refused_before_any_row(build, message) -> None:
    with pytest.raises(ExpressionError, match=message):
        values(build(), batch(s=pa.array([], pa.string()), n=pa.array([], pa.int64())))


def test_texts_print_as_they_are_written_and_stand_in_sql() -> None:
    for text in ("col.s.str.ilike('%a')", "col.s.str.strptime('%Y', unit='ns')", "col.s.str.concat(col.t, 'x')",
                 "col.s.str.concat(col.t, separator='-')", "col.x.bitwise_and(1)", "col.s.str.to_float()"):
        assert repr(eval(text)) == text
    log = wb.from_arrow({"at": [0, 1], "s": ["7", '{"a": 1}'], "n": [6, 3]}, time="at")
    rows = wb.sql("SELECT to_integer(s) AS i, json_extract_string(s, '$.a') AS j, xor(n, 5) AS x, zfill(s, 3) AS z, "
                  "haversine(n, 0, n, 0) AS h FROM log", log=log).collect()
    assert rows["i"].to_pylist() == [7, None]
    assert rows["j"].to_pylist() == [None, "1"]
    assert rows["x"].to_pylist() == [3, 6]
    assert rows["z"].to_pylist()[0] == "007"
    assert rows["h"].to_pylist() == [0.0, 0.0]
    for wrong in ("json_extract_string(s)", "json_extract_string(s, 'a')", "zfill(s, s)", "haversine(n)"):
        with pytest.raises(WhimbrelError):
            wb.sql(f"SELECT {wrong} AS y FROM log", log=log)
