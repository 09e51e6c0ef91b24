"""Functions, aggregates and PROTOCOL blocks of TigonSQL's manual."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_, xor
from typing import Any

import pytest

import whimbrel as wb

LOG = wb.from_arrow({
    "time": [1, 2, 61, 62, 130, 200], "x": [6, 3, 5, None, 2, -2], "f": [True, False, None, True, None, None],
    "s": ["GET /a", "PUT /b", None, "xGET", "", "G"]}, time="time", name="LOG")


def rows(text: str, **options: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values())[2:] for row in wb.sql(text, LOG=LOG, **options).collect().to_pylist()]


VALUES: dict[str, list[Any]] = {
    "str_match_offset(1, 'GET', s)": [False, False, None, True, False, False],
    "str_partial_regex_match(s, '/.', 6)": [True, True, None, False, False, False],
    "str_partial_regex_match(s, '/.', 5)": [False, False, None, False, False, False],
    "str_truncate(s, 2)": ["GE", "PU", None, "xG", "", "G"],
    "str_extract_regex(s, '[A-Z]+')": ["GET", "PUT", None, "GET", None, "G"],
    "str_compare(s, 'GET')": [1, 1, None, 1, -1, -1],
    "str_compare(s, s)": [0, 0, None, 0, 0, 0],
    "EQ(x, 2)": [0, 0, 0, None, 1, 0], "GEQ(x, 5)": [1, 0, 1, None, 0, 0], "LEQ(x, 3)": [0, 1, 0, None, 1, 1],
    "IPV6_VAL'2001:DB8:0:0::1'": ["2001:db8::1"] * 6,
}


@pytest.mark.parametrize("text", VALUES)
def test_values(text: str) -> None:
    assert [row[0] for row in rows(f"SELECT {text} AS y FROM LOG")] == VALUES[text]


def test_aggregates_of_bits() -> None:
    query = ("SELECT tb, and_aggr(x), or_aggr(x), xor_aggr(x), bit_and(f), bit_or(f), bit_xor(x) FILTER (WHERE x > 3) "
             "FROM LOG GROUP BY time/60 AS tb")
    epochs: dict[int, list[int]] = {0: [6, 3], 1: [5], 2: [2], 3: [-2]}
    of_bools = {0: (False, True), 1: (True, True), 2: (None, None), 3: (None, None)}
    large = {0: 6, 1: 5, 2: None, 3: None}
    assert rows(query) == [(tb, reduce(and_, xs), reduce(or_, xs), reduce(xor, xs), *of_bools[tb], large[tb])
                           for tb, xs in epochs.items()]
    assert wb.sql(wb.sql(query, LOG=LOG).sql(), LOG=LOG).explain() == wb.sql(query, LOG=LOG).explain()


def test_sliding_aggregates_of_bits() -> None:
    over = "OVER (ORDER BY time RANGE BETWEEN 60 PRECEDING AND CURRENT ROW)"
    found = rows(f"SELECT time, xor_aggr(x) {over} AS y FROM LOG")
    assert sorted(found) == [(1, 6), (2, 5), (61, 6 ^ 3 ^ 5), (62, 3 ^ 5), (130, 2), (200, -2)]


def test_moving_sums_are_rows_of_epochs() -> None:
    epochs = "SELECT tb, sum(x) AS s FROM LOG GROUP BY time/60 AS tb"
    assert rows(f"SELECT tb, sum(s) OVER (ORDER BY tb ROWS 1 PRECEDING) AS moving FROM ({epochs})") == [
        (0, 9), (1, 14), (2, 7), (3, 0)]


PROTOCOLS = """PROTOCOL IP { uint time get_time (increasing); }
PROTOCOL LOG (IP) { int x get_x (required, snap_len 128); v_str s get_s; }
"""


def test_protocols_say_what_streams_must_be() -> None:
    query = f"{PROTOCOLS} DEFINE {{ query_name 'q'; }} SELECT x FROM LOG WHERE x > 5"
    assert rows(query) == [(6,)]
    found = wb.sql(query.replace("FROM LOG", "FROM eth0.LOG"), **{"eth0.LOG": LOG})
    assert found.collect()["x"].to_pylist() == [6]


REFUSED: dict[str, tuple[str, str]] = {
    "a field that is missing": ("PROTOCOL LOG { uint y get_y; } SELECT x FROM LOG", """
The stream 'LOG' has no column 'y'.
  where: line 1: PROTOCOL LOG { uint y get_y; } SELECT x FROM LOG
                                     ^
  hint:  Use one of the columns time, x, f, s.
"""),
    "a field of another type": ("PROTOCOL LOG { string x get_x; } SELECT x FROM LOG", """
The column 'x' of 'LOG' is int64, and the text says string.
  where: line 1: PROTOCOL LOG { string x get_x; } SELECT x FROM LOG
                                       ^
  hint:  Change the type, or cast the column of the stream.
"""),
    "a type": ("PROTOCOL LOG { strng s get_s; } SELECT x FROM LOG", """
There is no type 'strng' of fields.
  where: line 1: PROTOCOL LOG { strng s get_s; } SELECT x FROM LOG
                                ^^^^^
  hint:  Use 'string'; the types are bool, ushort, uint, int, ullong, llong, ip, float, string, v_str, ipv6.
"""),
    "a parent": ("PROTOCOL LOG (IP) { uint x get_x; } SELECT x FROM LOG", """
There is no protocol 'IP' before this one.
  where: line 1: PROTOCOL LOG (IP) { uint x get_x; } SELECT x FROM LOG
                               ^^
  hint:  There are no protocols.
"""),
    "a field without a function": ("PROTOCOL LOG { uint x; } SELECT x FROM LOG", """
PROTOCOL needs a name, and fields of a type, a name and a function.
  where: line 1: PROTOCOL LOG { uint x; } SELECT x FROM LOG
                                ^^^^
  hint:  Use PROTOCOL TCP (IP) { uint time get_time (increasing); uint len get_len; }.
"""),
    "no name": ("PROTOCOL { uint x get_x; } SELECT x FROM LOG", """
PROTOCOL needs a name, and fields of a type, a name and a function.
  where: line 1: PROTOCOL { uint x get_x; } SELECT x FROM LOG
                 ^^^^^^^^
  hint:  Use PROTOCOL TCP (IP) { uint time get_time (increasing); uint len get_len; }.
"""),
    "no end": ("PROTOCOL LOG { uint x get_x; SELECT x FROM LOG", """
PROTOCOL has no end.
  where: line 1: PROTOCOL LOG { uint x get_x; SELECT x FROM LOG
                 ^^^^^^^^
  hint:  Add the brace }.
"""),
    "no order": ("PROTOCOL late { uint time get_time (increasing); } SELECT x FROM late", """
The text says that 'time' is in order, and 'late' has a reorder latency.
  where: line 1: PROTOCOL late { uint time get_time (increasing); } SELECT x FROM late
                                      ^^^^
  hint:  Leave increasing out.
"""),
    "an address": ("SELECT IPV6_VAL'1::2::3' AS a FROM LOG", """
IPV6_VAL cannot read '1::2::3'.
  where: line 1: SELECT IPV6_VAL'1::2::3' AS a FROM LOG
                                ^^^^^^^^^
  hint:  Use an address, such as IPV6_VAL'2001:db8::1'.
"""),
    "bits of texts": ("SELECT xor_aggr(s) FROM LOG GROUP BY time/60", """
bit_xor needs integers or bools, got string.
  where: line 1: SELECT xor_aggr(s) FROM LOG GROUP BY time/60
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Cast the values to integers.
"""),
    "moving sums": ("SELECT moving_sum(x, 5) FROM LOG GROUP BY time/60 CLOSING_WHEN FALSE", """
moving_sum keeps sums of epochs, and OVER has them.
  where: line 1: SELECT moving_sum(x, 5) FROM LOG GROUP BY time/60 CLOSING_WHEN FALSE
                        ^^^^^^^^^^^^^^^
  hint:  Use sum(s) OVER (PARTITION BY k ORDER BY tb ROWS 4 PRECEDING) over a query of epochs.
"""),
    "bytes": ("SELECT byte_match_offset(1, 5, s) FROM LOG", """
byte_match_offset reads bytes, and payloads are texts here.
  where: line 1: SELECT byte_match_offset(1, 5, s) FROM LOG
                        ^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use str_match_offset(0, 'GET', text).
"""),
    "three values": ("SELECT str_match_offset(1, s) FROM LOG", """
str_match_offset needs three values.
  where: line 1: SELECT str_match_offset(1, s) FROM LOG
                        ^^^^^^^^^^^^^^^^^^^^^
  hint:  Use str_match_offset(x, y, z).
"""),
    "supergroups": ("SELECT x FROM LOG GROUP BY time/60 SUPERGROUP x", """
SUPERGROUP is not part of the language.
  where: line 1: SELECT x FROM LOG GROUP BY time/60 SUPERGROUP x
                                                    ^^^^^^^^^^
  hint:  Use SAMPLE(t, 0.1, k) for all rows of a tenth of the keys.
"""),
}


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=list(REFUSED))
def test_the_refusal(text: str, words: str) -> None:
    late = wb.from_arrow({"time": [2, 1], "x": [1, 2]}, time="time", name="late", reorder_latency=5)
    with pytest.raises(wb.SqlError) as refused:
        wb.sql(text, LOG=LOG, late=late)
    assert str(refused.value) == words.strip()
