"""Relational SQL over tables, equal to DuckDB's answer."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import whimbrel as wb

A = pa.table({"k": ["a", "b", None, "a", "c"], "x": pa.array([1, 2, 3, None, -7], pa.int64()),
              "f": [1.5, None, 2.5, 0.0, -1.0], "t": [True, False, None, True, False]})
B = pa.table({"k": ["a", "b", None, "d"], "y": pa.array([10, 20, None, 40], pa.int64())})
NONE = pa.table({"k": pa.array([], pa.string()), "x": pa.array([], pa.int64())})
TABLES = {"a": A, "b": B, "none": NONE}

QUERIES = [
    "SELECT * FROM a",
    "SELECT x, x + 1 AS y, -x AS z, x % 3 AS m, x * x AS q FROM a",
    "SELECT x FROM a WHERE x > 1 OR x IS NULL",
    "SELECT x FROM a WHERE NOT (x > 1)",
    "SELECT x FROM a WHERE x IN (1, 3)",
    "SELECT x FROM a WHERE x NOT IN (1, 3)",
    "SELECT x FROM a WHERE x NOT IN (1, NULL)",
    "SELECT x IN (1, NULL) AS t FROM a",
    "SELECT x FROM a WHERE x BETWEEN 1 AND 2",
    "SELECT k FROM a WHERE k LIKE '%a%' OR k LIKE '_' AND k <> 'c'",
    "SELECT k FROM a WHERE k ILIKE 'A'",
    "SELECT k || '!' AS s, upper(k) AS u, length(k) AS n FROM a",
    "SELECT coalesce(x, 0) AS x, nullif(k, 'a') AS k FROM a",
    "SELECT CASE WHEN x > 1 THEN 'large' WHEN x > 0 THEN 'small' END AS s FROM a",
    "SELECT CASE k WHEN 'a' THEN 1 WHEN 'b' THEN 2 ELSE 3 END AS n FROM a",
    "SELECT k IS NOT DISTINCT FROM NULL AS n, x IS DISTINCT FROM 1 AS d FROM a",
    "SELECT t IS TRUE AS a, t IS NOT TRUE AS b, t IS FALSE AS c, NOT t AS d FROM a",
    "SELECT t AND NULL AS a, t OR NULL AS b FROM a",
    "SELECT greatest(x, 2) AS g, least(x, 2) AS l, abs(x) AS a, sign(x) AS s FROM a",
    "SELECT floor(f) AS a, ceil(f) AS b, f * 2 AS c FROM a",
    "SELECT x = NULL AS n, NULL IS NULL AS t FROM a",
    "SELECT count(*) AS n, count(x) AS m, sum(x) AS s, min(x) AS lo, max(x) AS hi FROM a",
    "SELECT avg(x) AS m, count(DISTINCT k) AS d FROM a",
    "SELECT count(*) AS n, sum(x) AS s, max(x) AS hi FROM none",
    "SELECT count(*) AS n, sum(x) AS s FROM a WHERE x > 100",
    "SELECT count(*) + 1 AS n, coalesce(sum(x), -1) AS s FROM a WHERE false",
    "SELECT k, count(*) AS n, sum(x) AS s FROM a GROUP BY k",
    "SELECT k, sum(x) AS s FROM none GROUP BY k",
    "SELECT k, sum(x) AS s FROM a GROUP BY k HAVING sum(x) IS NULL OR sum(x) > 2",
    "SELECT count(*) AS n FROM a HAVING count(*) > 10",
    "SELECT x % 2 AS odd, count(*) AS n FROM a GROUP BY x % 2",
    "SELECT x % 2 + 1 AS odd, count(*) + 1 AS n FROM a GROUP BY x % 2",
    "SELECT k FROM a GROUP BY k",
    "SELECT bool_or(t) AS o, bool_and(t) AS a FROM a",
    "SELECT k, bool_or(x > 1) AS o FROM a GROUP BY k",
    "SELECT count(*) FILTER (WHERE x > 1) AS n, sum(x) FILTER (WHERE k = 'a') AS s FROM a",
    "SELECT median(x) AS m, stddev_pop(x) AS d, var_pop(x) AS v FROM a",
    "SELECT DISTINCT k FROM a",
    "SELECT DISTINCT k, x > 0 AS p FROM a",
    "SELECT a.k, x, y FROM a JOIN b ON a.k = b.k",
    "SELECT a.k, b.k AS bk, x, y FROM a LEFT JOIN b ON a.k = b.k",
    "SELECT a.k, b.k AS bk, x, y FROM a RIGHT JOIN b ON a.k = b.k",
    "SELECT a.k, b.k AS bk, x, y FROM a FULL JOIN b ON a.k = b.k",
    "SELECT k, x, y FROM a FULL JOIN b USING (k)",
    "SELECT a.k, y FROM a LEFT JOIN b ON a.k = b.k WHERE b.k IS NULL",
    "SELECT x, y FROM a, b WHERE x < y AND a.k <> b.k",
    "SELECT x, y FROM a LEFT JOIN b ON x * 10 = y",
    "SELECT x, y FROM a CROSS JOIN b",
    "SELECT p.x, q.x AS qx FROM a p JOIN a q ON p.k = q.k AND p.x < q.x",
    "SELECT x FROM a SEMI JOIN b ON a.k = b.k",
    "SELECT x FROM a ANTI JOIN b ON a.k = b.k",
    "SELECT k FROM a UNION SELECT k FROM b",
    "SELECT k FROM a UNION ALL SELECT k FROM b",
    "SELECT k FROM a INTERSECT SELECT k FROM b",
    "SELECT k FROM a EXCEPT SELECT k FROM b",
    "SELECT k FROM a INTERSECT ALL SELECT k FROM b",
    "SELECT k FROM a EXCEPT ALL SELECT k FROM b",
    "SELECT k, x > 1 AS p FROM a EXCEPT ALL SELECT k, y > 10 FROM b",
    "SELECT x, row_number() OVER (PARTITION BY k ORDER BY x DESC) AS n FROM a WHERE x IS NOT NULL",
    "SELECT x FROM a UNION SELECT 1.5",
    "SELECT n, s FROM (VALUES (1, 'x'), (2, 'y'), (NULL, 'z')) AS v(n, s) WHERE n > 1 OR n IS NULL",
    "SELECT 1 AS one, 'x' AS s",
    "WITH c AS (SELECT k, sum(x) AS s FROM a GROUP BY k), d AS (SELECT * FROM c WHERE s > 0) SELECT count(*) n FROM d",
    "SELECT max(n) AS m FROM (SELECT k, count(*) AS n FROM a GROUP BY k)",
    "SELECT * FROM (SELECT k, count(*) n FROM a GROUP BY k) JOIN (SELECT k, sum(y) s FROM b GROUP BY k) USING (k)",
]

QUERIES += [
    "SELECT x FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND y > 10)",
    "SELECT x FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
    "SELECT x FROM a WHERE EXISTS (SELECT 1 FROM b WHERE y > 10 AND x < 3)",
    "SELECT x FROM a WHERE EXISTS (SELECT 1 FROM none)",
    "SELECT x FROM a WHERE NOT EXISTS (SELECT 1 FROM none)",
    "SELECT x FROM a WHERE k IN (SELECT k FROM b)",
    "SELECT x FROM a WHERE k IN (SELECT k FROM a WHERE x > 1)",
    "SELECT x FROM a WHERE k NOT IN (SELECT k FROM b)",
    "SELECT x FROM a WHERE k NOT IN (SELECT k FROM b WHERE k IS NOT NULL)",
    "SELECT x FROM a WHERE k NOT IN (SELECT k FROM none)",
    "SELECT x FROM a WHERE NOT k IN (SELECT k FROM b WHERE y < 15)",
    "SELECT x FROM a WHERE x IN (SELECT count(*) FROM b GROUP BY k)",
    "SELECT x FROM a WHERE x IN (SELECT max(y) / 10 FROM b)".replace(" / 10", " - 38"),
    "SELECT x FROM a WHERE x NOT IN (SELECT y FROM b WHERE b.k = a.k)",
    "SELECT x FROM a WHERE x > (SELECT avg(x) FROM a)",
    "SELECT x FROM a WHERE x = (SELECT max(x) FROM a WHERE x < 3) OR x IS NULL",
    "SELECT x - (SELECT min(x) FROM a) AS d FROM a",
    "SELECT x FROM a WHERE x > (SELECT max(x) FROM none)",
    "SELECT k, x, sum(x) OVER (PARTITION BY k) AS s FROM a",
    "SELECT k, x, count(*) OVER () AS n, max(x) OVER () AS m FROM a",
    "SELECT k, x FROM a QUALIFY row_number() OVER (PARTITION BY k ORDER BY x DESC) = 1 AND k = 'b'",
    "SELECT k, x, rank() OVER (PARTITION BY k ORDER BY x) AS r FROM a QUALIFY r <= 1",
    "SELECT x FROM (SELECT x, rank() OVER (ORDER BY x DESC) AS r FROM a WHERE x IS NOT NULL) WHERE r <= 2",
    "SELECT x FROM (SELECT x, row_number() OVER (ORDER BY f) AS r FROM a) WHERE r < 4",
    "SELECT k, count(*) AS n FROM a GROUP BY k QUALIFY rank() OVER (ORDER BY count(*) DESC) = 1",
    "SELECT k, x FROM a QUALIFY x = max(x) OVER (PARTITION BY k)",
]


def multiset(rows: list[dict[str, Any]]) -> Counter[tuple[object, ...]]:
    return Counter(tuple(float(value) if isinstance(value, int) and not isinstance(value, bool) else value
                         for value in row.values()) for row in rows)


def duck(text: str, tables: dict[str, pa.Table]) -> list[dict[str, Any]]:
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        return connection.sql(text).to_arrow_table().to_pylist()


@pytest.mark.parametrize("text", QUERIES)
def test_the_answer_is_duckdbs(text: str) -> None:
    ours = wb.sql(text, **TABLES).collect().drop(["start", "end"]).to_pylist()
    assert multiset(ours) == multiset(duck(text, TABLES))


@pytest.mark.parametrize("text", [
    "SELECT x FROM a ORDER BY x", "SELECT x, f FROM a ORDER BY f DESC, x",
    "SELECT k, x FROM a ORDER BY k NULLS FIRST, 2",
    "SELECT x FROM a ORDER BY x DESC LIMIT 2", "SELECT x FROM a ORDER BY x LIMIT 2 OFFSET 1",
    "SELECT k, count(*) AS n FROM a GROUP BY k ORDER BY count(*), k",
    "SELECT f FROM a ORDER BY k DESC, x, f", "SELECT x AS y FROM a ORDER BY f, y LIMIT 3",
    "SELECT k FROM a GROUP BY k ORDER BY sum(x) DESC, k", "SELECT x AS n, k FROM a ORDER BY -n, a.k, f",
    "WITH c AS (SELECT k, x FROM a) SELECT k FROM c ORDER BY x * x DESC, k",
])
def test_the_order_of_the_outermost_query(text: str) -> None:
    ours = wb.sql(text, **TABLES).collect().drop(["start", "end"]).to_pylist()
    assert ours == duck(text, TABLES)


def test_columns_of_the_order_alone_are_no_columns_of_the_stream() -> None:
    stream = wb.sql("SELECT k FROM a ORDER BY x DESC LIMIT 2", **TABLES)
    assert stream.schema.names == ("k",)
    assert stream.collect().column_names == ["start", "end", "k"]
    assert stream.where(wb.col.k == "a").collect().column_names == ["start", "end", "k"]


def test_tables_of_pandas_and_polars() -> None:
    import pandas as pd
    import polars as pl

    rows = {"k": ["a", "b"], "x": [1, 2]}
    for table in (pd.DataFrame(rows), pl.DataFrame(rows), rows, pa.RecordBatch.from_pydict(rows)):
        assert wb.sql("SELECT sum(x) AS s FROM t", t=table).collect()["s"].to_pylist() == [3]


def test_a_table_joins_a_stream_at_all_times() -> None:
    log = wb.from_arrow({"at": pa.array([-5, 7], pa.timestamp("ms")), "k": ["a", "b"]}, time="at", name="log")
    found = wb.sql("SELECT log.k, y FROM log JOIN b USING (k)", log=log, b=B).collect()
    assert found["y"].to_pylist() == [10, 20]


def test_integers_are_divided_toward_zero() -> None:
    numbers = pa.table({"x": [-7, 7, -6, 6, -7, None], "y": [2, -2, 3, -3, 0, 1]})
    found = wb.sql("SELECT x / y AS q, x % y AS r FROM t", t=numbers).collect()
    assert found["q"].to_pylist() == [-3, -3, -2, -2, None, None]
    assert found["r"].to_pylist() == [-1, 1, 0, 0, None, None]


def test_what_is_no_table() -> None:
    with pytest.raises(wb.SqlError, match="t must be a stream or a table, got int"):
        wb.sql("SELECT * FROM t", t=1)


@pytest.mark.parametrize("text", [
    "SELECT k, t, count(*) AS n, sum(x) AS s FROM a GROUP BY ROLLUP (k, t)",
    "SELECT k, t, count(*) AS n FROM a GROUP BY CUBE (k, t) HAVING count(*) > 1",
    "SELECT k, x > 0 AS p, max(x) AS m FROM a GROUP BY GROUPING SETS ((k, x > 0), (k), ())",
    "SELECT k, t, count(*) AS n FROM a GROUP BY k, ROLLUP (t)",
    "SELECT k, count(*) AS n FROM none GROUP BY ROLLUP (k)",
])
def test_several_sets_of_keys(text: str) -> None:
    ours = wb.sql(text, **TABLES).collect().drop(["start", "end"]).to_pylist()
    assert multiset(ours) == multiset(duck(text, TABLES))


def test_sets_of_keys_in_an_epoch() -> None:
    log = wb.from_arrow({"time": [1, 2, 61], "k": ["a", "b", "a"]}, time="time", name="log")
    found = wb.sql("SELECT tb, k, count(*) AS n FROM log GROUP BY time/60 AS tb, ROLLUP (k)", log=log).collect()
    rows = {(row["tb"], row["k"], row["n"]) for row in found.to_pylist()}
    assert rows == {(0, "a", 1), (0, "b", 1), (0, None, 2), (1, "a", 1), (1, None, 1)}


@pytest.mark.parametrize("text", [
    "SELECT sum(DISTINCT x) AS s, avg(DISTINCT x) AS a, count(*) AS n, count(DISTINCT x) AS d FROM a",
    "SELECT sum(DISTINCT x) AS s FROM none",
    "SELECT k, sum(DISTINCT x + 1) AS s, sum(x) AS t FROM (SELECT * FROM a UNION ALL SELECT * FROM a) GROUP BY k",
    "SELECT k FROM a GROUP BY k HAVING sum(DISTINCT x) > 1",
    "SELECT k, sum(DISTINCT x) FILTER (WHERE x > 1) AS s FROM a GROUP BY k",
    "SELECT x, (SELECT count(*) FROM b WHERE b.k = a.k) AS n FROM a",
    "SELECT x, (SELECT count(*) + a.x FROM b WHERE b.k = a.k) AS n FROM a",
    "SELECT x, (SELECT sum(y) FROM b WHERE b.y > a.x * 10) AS s FROM a",
    "SELECT x, (SELECT count(*) FROM a z WHERE z.x < a.x) AS n FROM a",
    "SELECT x FROM a WHERE x > 2 OR EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND y > 10)",
    "SELECT x, k IN (SELECT k FROM b) AS p, k NOT IN (SELECT k FROM b WHERE k IS NOT NULL) AS q FROM a",
    "SELECT x, NOT EXISTS (SELECT 1 FROM none) AS p, EXISTS (SELECT count(*) FROM none) AS q FROM a",
    "SELECT x FROM a WHERE x > ALL (SELECT x FROM a z WHERE z.k = 'b') OR x = ANY (SELECT 3)",
    "SELECT x FROM a WHERE x < (SELECT max(y) FROM b WHERE y > (SELECT min(z.x) FROM a z WHERE z.x <> a.x))",
    "SELECT x, (SELECT x + 1) AS n FROM a",
    "SELECT * FROM (SELECT k, t, x FROM a) PIVOT (max(x) AS m, count(*) AS n FOR k IN ('a' AS p, 'b')) AS q",
    "SELECT * FROM (SELECT k, x FROM a) PIVOT (min(x) FOR k IN ('a', 'c'))",
    "SELECT q.g, v FROM (SELECT k, x, f FROM a) UNPIVOT (v FOR g IN (x, f)) AS q WHERE v > 0",
    "SELECT x FROM a WHERE (k, x) IN (('a', 1), ('b', 3)) OR (k, x) = ('c', -7)",
    "WITH c(p, q) AS (SELECT k, x FROM a) SELECT p, q FROM c WHERE q > 1",
    "SELECT k, t, GROUPING(k, t) AS g, count(*) AS n FROM a GROUP BY CUBE (k, t)",
    "SELECT k FROM a WHERE k NOT LIKE 'a%' OR k NOT ILIKE 'B'",
    "SELECT x FROM a WHERE x NOT BETWEEN 1 AND 2 AND NOT k IN ('c')",
    "SELECT x FROM a WHERE (k, x) IN (SELECT k, x FROM a WHERE f > 0)",
    "SELECT x FROM a WHERE (k, x) NOT IN (SELECT k, y FROM b WHERE k <> 'a')",
    "SELECT x IN (SELECT * FROM (VALUES (1), (2))) AS t FROM a WHERE x IN (SELECT * FROM (VALUES (1), (3)))",
])
def test_subqueries_for_each_row_and_aggregates_of_different_values(text: str) -> None:
    ours = wb.sql(text, **TABLES).collect().drop(["start", "end"]).to_pylist()
    assert multiset(ours) == multiset(duck(text, TABLES))


S = pa.table({"s": ["Whimbrel, a bird", "", None, " \t a_b%c \n ", "ä,ö,ü"],
              "ts": pa.array([0, 1_234_567, -1, 10**15 + 1, None], pa.timestamp("us")),
              "f": [0.5, -1.5, 2.5, None, 8.0]})


@pytest.mark.parametrize("values", [
    "substring(s, 2, 3), substr(s, 4), substring(s FROM 2 FOR 2), substring(s, 0, 3), substring(s, -3, 2)",
    "left(s, 2), right(s, 3), left(s, -2), right(s, -2), right(s, 0)",
    "trim(s), ltrim(s), rtrim(s), trim(s, ' W'), trim(LEADING ' ' FROM s), trim(BOTH 'ä' FROM s)",
    "trim(BOTH FROM s), trim(LEADING FROM s), trim(TRAILING FROM s), ltrim(s, ' W'), rtrim(s, 'd'), trim(s, '')",
    "replace(s, '', 'xy'), split_part(s, ',', -1), split_part(s, ',', -3), regexp_replace(s, '', '-')",
    "replace(s, 'a', 'xy'), split_part(s, ',', 1), split_part(s, ',', 2), split_part(s, ',', 9)",
    "lpad(s, 5, '*'), rpad(s, 18, ' '), lpad(s, 0, 'x'), reverse(s), repeat(s, 2)",
    "regexp_replace(s, '[a-m]', '<\\0>'), regexp_replace(s, '[a-m]+', '', 'g'), regexp_extract(s, '(.) (.)', 2)",
    "regexp_extract(s, 'b.*'), regexp_matches(s, 'b'), position('b' IN s), strpos(s, ','), concat(s, '!')",
    "s LIKE '%a!_b!%%' ESCAPE '!', s NOT LIKE '%b%', s ILIKE 'W%', s || '?', length(s), upper(s)",
    "extract(quarter FROM ts), extract(week FROM ts), extract(doy FROM ts), extract(millisecond FROM ts)",
    "date_part('year', ts), dayofyear(ts), week(ts), extract(microsecond FROM ts), date_trunc('hour', ts)",
    "trunc(f), power(f, 2), mod(7, 3), degrees(f), radians(f), pi() * f, sign(f), round(f, 1), log(2, abs(f) + 1)",
    "tan(f), nullif(f, 0.5), coalesce(f, 0), greatest(f, 1), least(f, 1, NULL), ifnull(f, 3)",
])
def test_functions_of_values(values: str) -> None:
    text = f"SELECT {values} FROM t"
    ours = wb.sql(text, t=S).collect().drop(["start", "end"]).to_pylist()
    theirs = duck(text, {"t": S})

    def plain(rows: list[dict[str, Any]]) -> list[list[object]]:
        return [[float(f"{value:.12g}") if isinstance(value, int | float) else value for value in row.values()]
                for row in rows]

    assert plain(ours) == plain(theirs)
