"""Random typed SQL over random rows, equal to DuckDB's answer."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import whimbrel as wb

COLUMNS = {"int": ["x", "y"], "float": ["f"], "text": ["k", "s"], "bool": ["t"]}


def table(draw: random.Random, rows: int) -> pa.Table:
    def column(values: list[Any]) -> list[Any]:
        return [None if draw.random() < 0.2 else draw.choice(values) for _ in range(rows)]

    return pa.table({
        "x": pa.array(column([*range(-4, 5)]), pa.int64()), "y": pa.array(column([0, 1, 2, 100]), pa.int64()),
        "f": pa.array(column([-1.5, 0.0, 0.25, 2.0]), pa.float64()),
        "k": pa.array(column(["a", "b", "c"]), pa.string()),
        "s": pa.array(column(["", "ab", "b_", "A%"]), pa.string()), "t": pa.array(column([True, False]), pa.bool_())})


class Writer:
    """Writes expressions of a type over the columns of some tables."""

    def __init__(self, draw: random.Random, tables: list[str]) -> None:
        self.draw, self.tables = draw, tables

    def column(self, kind: str) -> str:
        return f"{self.draw.choice(self.tables)}.{self.draw.choice(COLUMNS[kind])}"

    def literal(self, kind: str) -> str:
        return self.draw.choice({"int": ["0", "1", "3", "-2"], "float": ["0.5", "-1.25", "2.0"],
                                 "text": ["'a'", "'ab'", "''"], "bool": ["true", "false"]}[kind])

    def any(self, kind: str, depth: int) -> str:
        if depth == 0 or self.draw.random() < 0.2:
            return self.column(kind) if self.draw.random() < 0.8 else self.literal(kind)
        return getattr(self, f"a_{kind}")(depth - 1)

    def common(self, kind: str, depth: int) -> str:
        one, other, truth = self.any(kind, depth), self.any(kind, depth), self.any("bool", depth)
        return self.draw.choice([
            f"coalesce({one}, {other})", f"nullif({one}, {other})", f"CASE WHEN {truth} THEN {one} ELSE {other} END",
            f"CASE WHEN {truth} THEN {one} END", f"greatest({one}, {other})", f"({one})"])

    def a_int(self, depth: int) -> str:
        x, y = self.any("int", depth), self.any("int", depth)
        return self.draw.choice([f"({x} + {y})", f"({x} - {y})", f"({x} * {self.literal('int')})", f"(- {x})",
                                 f"abs({x})", f"({x} % 3)", f"length({self.any('text', depth)})", f"sign({x})",
                                 f"TRY_CAST({self.any('text', depth)} AS BIGINT)", self.common("int", depth)])

    def a_float(self, depth: int) -> str:
        x, n = self.any("float", depth), self.any("int", depth)
        return self.draw.choice([f"({x} + {n})", f"({x} * {x})", f"floor({x})", f"CAST({n} AS DOUBLE)", f"abs({x})",
                                 self.common("float", depth)])

    def a_text(self, depth: int) -> str:
        s = self.any("text", depth)
        return self.draw.choice([f"upper({s})", f"lower({s})", f"({s} || {self.literal('text')})",
                                 f"CAST({self.any('int', depth)} AS VARCHAR)", self.common("text", depth)])

    def a_bool(self, depth: int) -> str:
        kind = self.draw.choice(["int", "float", "text"])
        x, y = self.any(kind, depth), self.any(kind, depth)
        p, q = self.any("bool", depth), self.any("bool", depth)
        return self.draw.choice([
            f"({x} {self.draw.choice(['=', '<>', '<', '<=', '>', '>='])} {y})", f"({p} AND {q})", f"({p} OR {q})",
            f"(NOT {p})", f"({x} IS NULL)", f"({x} IS NOT NULL)", f"({x} BETWEEN {y} AND {self.any(kind, depth)})",
            f"({x} IN ({self.literal(kind)}, {self.literal(kind)}))", f"({x} NOT IN ({self.literal(kind)}, NULL))",
            f"({x} IS DISTINCT FROM {y})", f"({p} IS TRUE)", f"({p} IS NOT FALSE)",
            f"({self.any('text', depth)} LIKE {self.draw.choice(['%a%', 'a%', '%b', '_', 'a_%', ''])!r})"])

    def measure(self, depth: int) -> str:
        x = self.any(self.draw.choice(["int", "float"]), depth)
        call = self.draw.choice(["count(*)", f"count({x})", f"sum({x})", f"min({x})", f"max({x})", f"avg({x})",
                                 f"count(DISTINCT {self.any('text', depth)})", f"bool_or({self.any('bool', depth)})",
                                 f"min({self.any('text', depth)})"])
        return call if self.draw.random() < 0.7 else f"{call} FILTER (WHERE {self.any('bool', depth)})"


def source(draw: random.Random) -> tuple[str, list[str]]:
    """A FROM clause, and its tables."""
    kind = draw.choice(["one", "one", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "comma", "CROSS JOIN"])
    if kind == "one":
        return "a", ["a"]
    if kind == "comma":
        return "a, b", ["a", "b"]
    if kind == "CROSS JOIN":
        return "a CROSS JOIN b", ["a", "b"]
    key = draw.choice(["a.k = b.k", "a.x = b.x AND a.k = b.k", "a.x = b.y", "b.s = a.s AND a.x < b.y"])
    return f"a {kind} b ON {key}", ["a", "b"]


def query(draw: random.Random) -> str:
    """A random query; each of its rows has a meaning of its own in SQL, so that the answer is one multiset."""
    tables, names = source(draw)
    write = Writer(draw, names)
    where = f" WHERE {write.any('bool', 2)}" if draw.random() < 0.6 else ""
    shape = draw.choice(["rows", "rows", "groups", "groups", "whole", "distinct", "set", "subquery", "over"])
    kinds = [draw.choice(list(COLUMNS)) for _ in range(draw.randint(1, 3))]
    values = ", ".join(f"{write.any(kind, 3)} AS c{number}" for number, kind in enumerate(kinds))
    match shape:
        case "groups":
            keys = [write.any(kind, 1) for kind in kinds]
            listed = ", ".join(f"{key} AS c{number}" for number, key in enumerate(keys))
            having = f" HAVING {write.measure(1)} IS NOT NULL" if draw.random() < 0.3 else ""
            return (f"SELECT {listed}, {write.measure(2)} AS m, {write.measure(1)} AS n FROM {tables}{where} "
                    f"GROUP BY {', '.join(str(1 + number) for number in range(len(keys)))}{having}")
        case "whole":
            return f"SELECT {write.measure(2)} AS m, {write.measure(1)} AS n FROM {tables}{where}"
        case "distinct":
            return f"SELECT DISTINCT {values} FROM {tables}{where}"
        case "set":
            other = Writer(draw, ["b"])
            second = ", ".join(f"{other.any(kind, 2)} AS c{number}" for number, kind in enumerate(kinds))
            word = draw.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"])
            return f"SELECT {values} FROM {tables}{where} {word} SELECT {second} FROM b"
        case "subquery":
            inner = Writer(draw, ["c"]).any("bool", 1)
            test = draw.choice([
                f"a.k IN (SELECT c.k FROM b AS c WHERE {inner})", f"a.x NOT IN (SELECT c.x FROM b AS c WHERE {inner})",
                f"EXISTS (SELECT 1 FROM b AS c WHERE c.k = a.k AND {inner})",
                f"NOT EXISTS (SELECT 1 FROM b AS c WHERE c.x = a.x AND {inner})",
                f"a.x > (SELECT avg(c.x) FROM b AS c WHERE {inner})"])
            return f"SELECT {values} FROM a WHERE {test}".replace("b.", "a.")
        case "over":
            ranked = f"rank() OVER (PARTITION BY a.k ORDER BY a.x{draw.choice(['', ' DESC'])}) AS r"
            more = draw.choice(["count(*) OVER () AS n", ranked])
            return f"SELECT a.k, a.x, sum(a.x) OVER (PARTITION BY a.k) AS s, {more} FROM {tables}{where}"
    return f"SELECT {values} FROM {tables}{where}"


def multiset(rows: list[dict[str, Any]]) -> Counter[tuple[object, ...]]:
    def plain(value: Any) -> Any:
        if isinstance(value, bool | str) or value is None:
            return value
        number = float(value)
        return "nan" if math.isnan(number) else float(f"{number:.9g}") + 0.0

    return Counter(tuple(plain(value) for value in row.values()) for row in rows)


@pytest.mark.parametrize("seed", range(60))
def test_the_answer_is_duckdbs(seed: int) -> None:
    draw = random.Random(seed)
    tables = {name: table(draw, draw.choice([0, 1, 6, 9])) for name in ("a", "b")}
    with duckdb.connect() as connection:
        for name, rows in tables.items():
            connection.register(name, rows)
        for _ in range(4):
            text = query(draw)
            theirs = connection.sql(text).to_arrow_table().to_pylist()
            ours = wb.sql(text, **tables).collect().drop(["start", "end"]).to_pylist()
            assert multiset(ours) == multiset(theirs), text
