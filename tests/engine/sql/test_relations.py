"""Subqueries of groups and joins, LATERAL, DISTINCT ON and other forms over tables, equal to DuckDB's answer."""

from __future__ import annotations

import pytest

import whimbrel as wb
from tests.engine.sql.test_tables import TABLES, duck, multiset

QUERIES = [
    "SELECT k, (SELECT max(y) FROM b) AS m, count(*) AS n FROM a GROUP BY k",
    "SELECT k, (SELECT max(y) FROM b WHERE b.k = a.k) AS m FROM a GROUP BY k",
    "SELECT k, sum((SELECT count(*) FROM b WHERE b.k = a.k)) AS m FROM a GROUP BY k",
    "SELECT sum(x) - (SELECT sum(y) FROM b) AS d FROM a",
    "SELECT x % 2 + (SELECT min(y) FROM b) AS p, count(*) n FROM a GROUP BY x % 2",
    "SELECT k, sum(x) AS s FROM a GROUP BY k HAVING sum(x) > (SELECT min(y) - 9 FROM b)",
    "SELECT k, count(*) AS n FROM a GROUP BY k HAVING k IN (SELECT k FROM b)",
    "SELECT k, count(*) AS n FROM a GROUP BY k HAVING EXISTS (SELECT 1 FROM b WHERE b.k = a.k) AND n > 0",
    "SELECT k, sum(CASE WHEN k IN (SELECT k FROM b) THEN 1 END) AS m FROM a GROUP BY k HAVING max(x) > (SELECT 0)",
    "SELECT k, sum(x) AS s, rank() OVER (ORDER BY sum(x)) AS r FROM a GROUP BY k QUALIFY r <= 2",
    "SELECT k, sum(x) AS s, sum(sum(x)) OVER () AS t, count(*) OVER () AS n FROM a GROUP BY k",
    "SELECT t, k, sum(sum(x)) OVER w AS u FROM a GROUP BY t, k HAVING k > (SELECT 'a') WINDOW w AS (PARTITION BY t)",
    "SELECT a.x, b.y FROM a JOIN b ON a.k = b.k AND b.y > (SELECT min(y) FROM b)",
    "SELECT a.x, b.y FROM a JOIN b ON b.y > (SELECT min(y) FROM b)",
    "SELECT a.x, b.y FROM a LEFT JOIN b ON a.k = b.k AND b.y > (SELECT min(y) FROM b)",
    "SELECT a.x, b.y FROM a RIGHT JOIN b ON a.k = b.k AND a.x IN (SELECT x FROM a WHERE x > 1)",
    "SELECT a.x, b.y, c.x AS z FROM a c LEFT JOIN (a JOIN b ON a.k = b.k) ON c.x = a.x",
    "SELECT p.x, q.y FROM (a p CROSS JOIN b q), a r WHERE r.x = p.x",
    "SELECT x FROM ((a JOIN b ON a.k = b.k) JOIN b c ON a.k = c.k)",
    "SELECT * FROM a NATURAL LEFT JOIN b",
    "SELECT k, x FROM a UNION BY NAME SELECT y, k FROM b",
    "SELECT k, x FROM a UNION ALL BY NAME SELECT 1.5 AS x",
    "SELECT count(*) FROM (SELECT DISTINCT ON (k) k, x FROM a ORDER BY x)",
    "SELECT DISTINCT ON (k) k, x FROM a ORDER BY k, x",
    "SELECT x, q.n, q.m FROM a CROSS JOIN LATERAL (SELECT max(y) AS n, count(*) + 1 AS m FROM b WHERE b.y > a.x) q",
    "SELECT x, q.y FROM a, LATERAL (SELECT y FROM b WHERE b.k = a.k) q",
    "SELECT x, q.z FROM a LEFT JOIN LATERAL (SELECT y + 1 FROM b WHERE b.k = a.k AND y > a.x) q(z) ON true",
    "SELECT k, x, rank() OVER (PARTITION BY k ORDER BY f DESC) AS r FROM a",
    "PIVOT a ON k IN ('a', 'b') USING sum(x) GROUP BY t",
    "UNPIVOT (SELECT k, x, f FROM a) ON x, f INTO NAME n VALUE v",
    "SELECT c.f FROM a c CROSS JOIN b u RIGHT JOIN b v ON c.k = v.k WHERE c.x * 10 = u.y",
    "SELECT c.f, v.y FROM a c, b u FULL JOIN b v ON u.k = v.k WHERE c.x * 10 = u.y",
    "SELECT k FROM a GROUP BY ROLLUP (k)",
    "SELECT k, 1 AS one FROM none GROUP BY ROLLUP (k)",
    "SELECT 1 AS one FROM none HAVING true",
    "SELECT x, x + 1 AS y, count(*) AS n FROM a GROUP BY GROUPING SETS ((x), (x + 1))",
    "SELECT x, x + 1 AS y, count(*) + 1 AS n FROM a GROUP BY ROLLUP (x + 1, x)",
    "SELECT DISTINCT k, count(*) AS n FROM a GROUP BY GROUPING SETS ((k), (k))",
    "SELECT DISTINCT count(*) AS n FROM a GROUP BY CUBE (k, x)",
    "SELECT upper(k) AS u, GROUPING(k) AS g, count(*) AS n FROM a GROUP BY ROLLUP (k) HAVING k IS NULL OR k > 'a'",
    "SELECT k, count(*) + 1 AS n, (SELECT max(y) FROM b WHERE k = 'a') AS m FROM a GROUP BY ROLLUP (1)",
    "SELECT * FROM (SELECT x, t FROM a) PIVOT (count(*) FOR t IN (TRUE, FALSE))",
    "SELECT DISTINCT ON (k) k, x FROM a ORDER BY k, x NULLS FIRST",
    "SELECT * FROM (SELECT t, k FROM a) PIVOT (count(*) FOR k IN ('a', NULL))",
    "SELECT * FROM (SELECT x, k FROM a) PIVOT (count(*) FOR x IN (-7, 1))",
]


@pytest.mark.parametrize("text", QUERIES)
def test_the_answer_is_duckdbs(text: str) -> None:
    ours = wb.sql(text, **TABLES)
    assert multiset(ours.collect().drop(["start", "end"]).to_pylist()) == multiset(duck(text, TABLES))


def test_values_of_a_table_in_the_groups_of_a_stream() -> None:
    log = wb.from_arrow({"time": [1, 2, 61], "k": ["a", "b", "a"]}, time="time", name="log")
    found = wb.sql("""SELECT tb, sum((SELECT max(y) FROM b WHERE b.k = log.k)) AS s, rank() OVER (
                          PARTITION BY tb ORDER BY count(*)) AS r
                      FROM log GROUP BY time/60 AS tb QUALIFY r <= 1""", log=log, **TABLES)
    assert {(row["tb"], row["s"], row["r"]) for row in found.collect().to_pylist()} == {(0, 30, 1), (1, 10, 1)}
