"""Spellings and functions of TigonSQL's manual."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.sql.logs import TCP
from whimbrel import col
from whimbrel.errors import ExpressionError, SqlError

SYN = wb.from_arrow({"time": [2, 5, 62, 71], "srcIP": ["a", "c", "a", "b"], "n": [1, 2, 3, 4]}, time="time", name="SYN")
PACKETS = wb.from_arrow({"time": [1, 5, 61, 62], "x": [-1, 2, 4, 8], "payload": ["abc", "b", "c", None],
                         "ip": pa.array([10 * 2**24 + 5, 10 * 2**24 + 2**16 + 9, 11 * 2**24, None], pa.uint32())},
                        time="time", name="PACKETS")
STREAMS: dict[str, Any] = {"TCP": TCP, "SYN": SYN, "PACKETS": PACKETS, "eth0.TCP": TCP, "eth1.TCP": TCP,
                           "lib/long": TCP.where(col.len > 10)}
LINKS: dict[str, Any] = {"[links]": ["eth0", "eth1"], "@Host": {"eth0": "alpha", "eth1": "beta"}}


def made(text: str, **options: Any) -> wb.Stream:
    return wb.sql(text, **{**STREAMS, **options})


def rows(text: str, **options: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values())[2:] for row in made(text, **options).collect().to_pylist()]


PLANS = {
    "inner join": ("SELECT r.time INNER_JOIN FROM TCP r, SYN s WHERE r.srcIP = s.srcIP AND r.time = s.time",
                   "SELECT r.time FROM TCP r, SYN s WHERE r.srcIP = s.srcIP AND r.time = s.time"),
    "lists and numbers": ("SELECT time FROM TCP WHERE protocol IN [6, 17] AND len IN [HEX'1E', 9ULL, IP_VAL'0.0.0.20']",
                          "SELECT time FROM TCP WHERE protocol IN (6, 17) AND len IN (30, 9, 20)"),
    "define": (("DEFINE { query_name 'large'; low 10; ip 'a'; real_time 'true'; }\n"
                "SELECT time FROM TCP WHERE len > #low AND srcIP = #ip"),
               "SELECT time FROM TCP WHERE len > 10 AND srcIP = 'a'"),
    "a query of a library": ("SELECT l.time FROM lib/long l, SYN s WHERE l.time = s.time",
                             "SELECT l.time FROM (SELECT * FROM TCP WHERE len > 10) l, SYN s WHERE l.time = s.time"),
    "a predicate": ("SELECT time FROM TCP WHERE str_exists_substr[srcIP, 'a'] AND NOT str_regex_match[destIP, '^b']",
                    "SELECT time FROM TCP WHERE contains(srcIP, 'a') AND NOT regexp_matches(destIP, '^b')"),
    "functions": ("SELECT UMAX(len, 5) AS a, LLMIN(len, 5) AS b, float(len) AS c, non_temporal(time) AS d FROM TCP",
                  "SELECT greatest(len, 5) AS a, least(len, 5) AS b, CAST(len AS DOUBLE) AS c, time AS d FROM TCP"),
    "aggregates": ("SELECT tb, or_aggr(fin) AS f, and_aggr(fin) AS g FROM TCP GROUP BY time/60 AS tb",
                   "SELECT tb, bit_or(fin) AS f, bit_and(fin) AS g FROM TCP GROUP BY time/60 AS tb"),
    "positive values": ("SELECT tb, POSAVG(x) AS p FROM PACKETS GROUP BY time/60 AS tb",
                        "SELECT tb, avg(x) FILTER (WHERE x > 0) AS p FROM PACKETS GROUP BY time/60 AS tb"),
}


@pytest.mark.parametrize("pair", PLANS.values(), ids=list(PLANS))
def test_the_plan_is_that_of_the_other_spelling(pair: tuple[str, str]) -> None:
    assert made(pair[0]).explain() == made(pair[1]).explain()


def test_an_outer_join_fills_the_key_of_the_missing_side() -> None:
    found = rows("SELECT r.tb, s.tb AS other, r.srcIP, s.srcIP AS ip, r.n, s.m OUTER_JOIN FROM "
                 "(SELECT tb, srcIP, count(*) AS n FROM TCP GROUP BY time/60 AS tb, srcIP) r, "
                 "(SELECT tb, srcIP, count(*) AS m FROM SYN GROUP BY time/60 AS tb, srcIP) s "
                 "WHERE r.srcIP = s.srcIP AND r.tb = s.tb")
    assert sorted(found, key=str) == [
        (0, 0, "a", "a", 1, 1), (0, 0, "b", "b", 1, None), (0, 0, "c", "c", None, 1), (1, 1, "a", "a", 2, 1),
        (1, 1, "b", "b", None, 1), (2, 2, "b", "b", 1, None)]


@pytest.mark.parametrize(("word", "others"), [("LEFT_OUTER_JOIN", []), ("RIGHT_OUTER_JOIN", [("c", "c", None, 2)])])
def test_one_sided_outer_joins(word: str, others: list[Any]) -> None:
    found = rows(f"SELECT r.srcIP, s.srcIP AS ip, r.len, s.n {word} FROM TCP r, SYN s "
                 "WHERE r.srcIP = s.srcIP AND r.time/60 = s.time/60 AND s.time < 60 AND r.time < 60")
    assert sorted(found, key=str) == sorted([
        ("a", "a", 10, 1), *([("b", "b", 20, None)] if word[0] == "L" else []), *others], key=str)


def test_a_filter_join_keeps_rows_with_a_partner_before() -> None:
    chosen = made("SELECT * FILTER_JOIN(time, 5) FROM SYN r, TCP s WHERE r.srcIP = s.srcIP AND s.len > 10")
    assert chosen.explain() == SYN.semi_join(TCP.where(col.len > 10).set_duration(6), "srcIP").explain()
    every = [(row["time"], row["srcIP"]) for row in SYN.collect().to_pylist()]
    before = [(row["time"], row["srcIP"]) for row in TCP.collect().to_pylist()]
    expected = [time for time, ip in every if any(ip == other and time - 5 <= at <= time for at, other in before)]
    assert [row[0] for row in rows("SELECT r.time FILTER_JOIN(time, 5) FROM SYN r, TCP s WHERE r.srcIP = s.srcIP")] == (
        expected)


def test_a_set_of_interfaces_with_a_property() -> None:
    found = rows("SELECT time, @Host AS host FROM [links].TCP WHERE len = 10 OR TCP.@Host = 'beta' AND len = 20",
                 parameters=LINKS)
    assert found == [(1, "alpha"), (1, "beta"), (5, "beta")]
    starred = made("SELECT *, @Host AS h FROM eth1.TCP", parameters=LINKS)
    assert starred.schema.names == (*TCP.schema.names, "h")


def test_merge_of_interfaces() -> None:
    merged = made("MERGE a.time : b.time FROM eth0.TCP a, eth1.TCP b")
    assert merged.explain() == TCP.union(TCP).explain()


def test_queries_with_names_are_views_of_later_ones() -> None:
    text = ("DEFINE { query_name 'long'; } SELECT * FROM TCP WHERE len > 10;\n"
            "DEFINE { query_name 'counts'; } SELECT tb, count(*) AS n FROM long GROUP BY time/60 AS tb")
    assert rows(text) == [(0, 1), (1, 2)]
    results = wb.sql.script(text, **STREAMS)
    assert list(results) == ["result", "long", "counts"]
    assert results["result"].explain() == results["counts"].explain()


def test_slow_flush_gives_the_same_rows() -> None:
    plain = "SELECT tb, srcIP, count(*) AS n FROM TCP GROUP BY time/60 AS tb, srcIP"
    even = f"DEFINE {{ slow_flush '1'; }} {plain}"
    assert rows(even) == rows(plain)
    assert "flushed evenly" in made(even).explain()
    assert made(f"DEFINE {{ slow_flush '0'; }} {plain}").explain() == made(plain).explain()


def test_declared_parameters() -> None:
    text = "PARAM { uint low; string ip; } SELECT len FROM TCP WHERE len > $low AND srcIP = $ip"
    assert rows(text, parameters={"low": 10, "ip": "a"}) == [(30,), (40,)]


def test_the_longest_prefix() -> None:
    nets = pa.table({"prefix": ["10.0.0.0/8", "10.1.0.0/16", "10.1.0.8/29"], "id": [1, 2, 3]})
    text = "SELECT getlpmid(ip, 'nets') AS net FROM PACKETS"
    assert rows(text, nets=nets) == [(1,), (3,), (-1,), (None,)]
    assert rows(text, nets=nets.slice(0, 2)) == [(1,), (2,), (-1,), (None,)]
    assert rows(text, nets=nets.slice(0, 0)) == [(-1,), (-1,), (-1,), (None,)]
    assert rows(text, nets=wb.prefix_table({"10.0.0.0/8": 1, "10.1.0.8/29": 3})) == [(1,), (3,), (-1,), (None,)]
    with pytest.raises(SqlError, match="integers as the values of prefixes, got string"):
        rows(text, nets=wb.prefix_table({"10.0.0.0/8": "a"}))
    with pytest.raises(ExpressionError, match="their values of one type"):
        wb.prefix_table({"0.0.0.0/0": 1, "::/0": "a"})


def test_predicates_of_python() -> None:
    assert rows("SELECT time FROM PACKETS WHERE large[x]", functions={"large": lambda x: x > 3}) == [(61,), (62,)]


REFUSED = {
    "a join without FROM": ("SELECT R.a OUTER_JOIN", {}, """
OUTER_JOIN stands before FROM.
  where: line 1: SELECT R.a OUTER_JOIN
                            ^^^^^^^^^^
  hint:  Use SELECT R.k OUTER_JOIN FROM R, S WHERE R.k = S.k.
"""),
    "a filter join without its time": ("SELECT * FILTER_JOIN FROM TCP a, SYN b WHERE a.time = b.time", {}, """
FILTER_JOIN stands before FROM.
  where: line 1: SELECT * FILTER_JOIN FROM TCP a, SYN b WHERE a.time = b.time
                          ^^^^^^^^^^^
  hint:  Use SELECT R.k FILTER_JOIN(time, 60) FROM R, S WHERE R.k = S.k.
"""),
    "three sides": ("SELECT * OUTER_JOIN FROM TCP a, SYN b, SYN c WHERE a.time = b.time", {}, """
OUTER_JOIN needs two streams, got 3.
  where: line 1: SELECT * OUTER_JOIN FROM TCP a, SYN b, SYN c WHERE a.time = b.time
                                          ^^^^^
  hint:  Use SELECT R.k OUTER_JOIN FROM R, S WHERE R.k = S.k.
"""),
    "no condition": ("SELECT * OUTER_JOIN FROM TCP a, SYN b WHERE a.len > 1", {}, """
This join has no condition.
  where: line 1: SELECT * OUTER_JOIN FROM TCP a, SYN b WHERE a.len > 1
                                          ^^^^^
  hint:  Compare columns of both sides in WHERE.
"""),
    "the time of a filter join": ("SELECT * FILTER_JOIN(len, 5) FROM TCP a, SYN b WHERE a.srcIP = b.srcIP", {}, """
FILTER_JOIN needs the event time of the left side.
  where: line 1: SELECT * FILTER_JOIN(len, 5) FROM TCP a, SYN b WHERE a.srcIP = b.srcIP
                                                   ^^^^^
  hint:  Use the ordered attribute: time.
"""),
    "a filter join of windows": ("SELECT * FILTER_JOIN(time, 5) FROM TCP a, HOLD(SYN) b WHERE a.time = b.time", {}, """
FILTER_JOIN needs events of one time each, and a whole number.
  where: line 1: SELECT * FILTER_JOIN(time, 5) FROM TCP a, HOLD(SYN) b WHERE a.time = b.time
                                                           ^^^^^^^^^^^
  hint:  Leave HOLD, SLIDE and windows out.
"""),
    "an address": ("SELECT time FROM TCP WHERE len = IP_VAL'1.2.3'", {}, """
IP_VAL cannot read '1.2.3'.
  where: line 1: SELECT time FROM TCP WHERE len = IP_VAL'1.2.3'
                                                        ^^^^^^^
  hint:  Use an address, such as IP_VAL'10.0.0.1'.
"""),
    "digits": ("SELECT time FROM TCP WHERE len = HEX'1G'", {}, """
HEX cannot read '1G'.
  where: line 1: SELECT time FROM TCP WHERE len = HEX'1G'
                                                     ^^^^
  hint:  Use digits of base 16, such as HEX'1F'.
"""),
    "an entry that is missing": ("DEFINE { low 5; } SELECT time FROM TCP WHERE len > #lo", {}, """
DEFINE has no entry 'lo'.
  where: line 1: EFINE { low 5; } SELECT time FROM TCP WHERE len > #lo
                                                                   ^^^
  hint:  Use 'low'; the names are low.
"""),
    "a block without an end": ("DEFINE { low 5; SELECT time FROM TCP", {}, """
DEFINE has no end.
  where: line 1: DEFINE { low 5; SELECT time FROM TCP
                 ^^^^^^
  hint:  Add the brace }.
"""),
    "an entry of three words": ("PARAM { uint a b; } SELECT time FROM TCP", {}, """
An entry of PARAM has two words.
  where: line 1: PARAM { uint a b; } SELECT time FROM TCP
                         ^^^^^^^^
  hint:  Use DEFINE { query_name 'n'; } or PARAM { uint n; }.
"""),
    "a parameter without a value": ("PARAM { uint low; } SELECT time FROM TCP", {}, """
The parameter 'low' has no value.
  where: line 1: PARAM { uint low; } SELECT time FROM TCP
                              ^^^
  hint:  Pass it: wb.sql(..., parameters={'low': ...}).
"""),
    "a parameter of another type": ("PARAM { uint low; } SELECT time FROM TCP", {"low": -1}, """
The parameter 'low' must be uint, got -1.
  where: line 1: PARAM { uint low; } SELECT time FROM TCP
                              ^^^
  hint:  Pass a value of this type.
"""),
    "a type of parameters": ("PARAM { unit low; } SELECT time FROM TCP", {"low": 1}, """
There is no type 'unit' of parameters.
  where: line 1: PARAM { unit low; } SELECT time FROM TCP
                         ^^^^
  hint:  Use 'uint'; the types are bool, ushort, uint, int, ullong, llong, float, string, ip, ipv6.
"""),
    "an interface": ("SELECT time FROM eth7.TCP", {}, """
There is no table 'eth7.TCP'.
  where: line 1: SELECT time FROM eth7.TCP
                                  ^^^^^^^^
  hint:  Pass it by its whole name: **{'eth7.TCP': stream}.
"""),
    "a set of interfaces": ("SELECT time FROM [lines].TCP", LINKS, """
There is no set of interfaces 'lines'.
  where: line 1: SELECT time FROM [lines].TCP
                                  ^^^^^^^^^^^
  hint:  Pass it: wb.sql(..., parameters={'[lines]': ['eth0', 'eth1']}).
"""),
    "a stream of a set": ("SELECT time FROM [links].UDP", LINKS, """
The interface 'eth0' has no stream 'UDP'.
  where: line 1: SELECT time FROM [links].UDP
                                  ^^^^^^^^^^^
  hint:  Pass it by its whole name: **{'eth0.UDP': stream}.
"""),
    "a property": ("SELECT @Speed FROM eth0.TCP", LINKS, """
The interface 'eth0' has no property '@Speed'.
  where: line 1: SELECT @Speed FROM eth0.TCP
                                    ^^^^^^^^
  hint:  Pass it: wb.sql(..., parameters={'@Speed': {'eth0': 'value'}}).
"""),
    "a property of a plain stream": ("SELECT @Host FROM TCP", LINKS, """
There is no property '@Host' here.
  where: line 1: SELECT @Host FROM TCP
                        ^^^^^
  hint:  Properties are those of streams of an interface, such as eth0.TCP.
"""),
    "a predicate": ("SELECT time FROM TCP WHERE huge[len]", {}, """
There is no function 'huge'.
  where: line 1: SELECT time FROM TCP WHERE huge[len]
                                            ^^^^^^^^
  hint:  Pass it: wb.sql(..., functions={...}).
"""),
    "prefixes": ("SELECT getlpmid(len, 'nets') FROM TCP", {}, """
getlpmid needs a table of prefixes.
  where: line 1: SELECT getlpmid(len, 'nets') FROM TCP
                                      ^^^^^^
  hint:  Pass it, on a desk in tables=: wb.sql(..., nets=pa.table({'prefix': ['10.0.0.0/8'], 'id': [1]})).
"""),
    "columns of prefixes": ("SELECT getlpmid(len, 'names') FROM TCP", {}, """
A table of prefixes has two columns: prefixes as texts, and integers.
  where: line 1: SELECT getlpmid(len, 'names') FROM TCP
                                      ^^^^^^^
  hint:  Select these columns.
"""),
    "texts of prefixes": ("SELECT getlpmid(len, 'wrong') FROM TCP", {}, """
'a' is not a prefix.
  where: line 1: SELECT getlpmid(len, 'wrong') FROM TCP
                                      ^^^^^^^
  hint:  Use a prefix, such as 10.0.0.0/8 or 2001:db8::/32.
"""),
    "two values": ("SELECT UMAX(len) FROM TCP", {}, """
umax needs two values.
  where: line 1: SELECT UMAX(len) FROM TCP
                        ^^^^^^^^
  hint:  Use umax(x, y).
"""),
}
TABLES = {"names": pa.table({"prefix": ["a"]}), "wrong": pa.table({"prefix": ["a"], "id": [1]})}


@pytest.mark.parametrize(("text", "parameters", "words"), REFUSED.values(), ids=list(REFUSED))
def test_the_refusal(text: str, parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(wb.SqlError) as refused:
        made(text, parameters=parameters, **TABLES)
    assert str(refused.value) == words.strip()
    assert len(str(refused.value).splitlines()) <= 8
