"""Refusals of joins, subqueries, groups and misspelt words, with their texts."""

from __future__ import annotations

REFUSED = {
    'natural join': ('SELECT * FROM (SELECT rank AS r FROM hosts) NATURAL JOIN hosts', """
NATURAL JOIN needs columns of the same names.
  where: line 1: * FROM (SELECT rank AS r FROM hosts) NATURAL JOIN hosts
                                                                   ^^^^^
  hint:  Use ON, or CROSS JOIN.
"""),
    'distinct on': ('SELECT DISTINCT ON (ip) * FROM hosts', """
DISTINCT ON needs ORDER BY with one more expression, which chooses the row of each key.
  where: line 1: SELECT DISTINCT ON (ip) * FROM hosts
                                     ^^
  hint:  Use SELECT DISTINCT ON (k) ... ORDER BY k, x.
"""),
    'distinct on and qualify': (
        ('SELECT DISTINCT ON (ip) * FROM hosts QUALIFY rank() OVER (ORDER BY rank) '
         '< 2 ORDER BY rank'), """
DISTINCT ON and QUALIFY are not part of one query.
  where: line 1: SELECT DISTINCT ON (ip) * FROM hosts QUALIFY rank() OVER (ORDER BY rank) < 2 ORDER BY rank
                                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use row_number() in QUALIFY alone.
"""),
    'lateral': ('SELECT * FROM hosts a, LATERAL (SELECT 1) b', """
LATERAL needs a plain SELECT, or aggregates without GROUP BY, and no condition of its own.
  where: line 1: SELECT * FROM hosts a, LATERAL (SELECT 1) b
                                                        ^^^^
  hint:  For the first rows of each key use QUALIFY row_number() OVER (...) <= n in a subquery, and join it.
"""),
    'lateral value': (
        ('SELECT * FROM hosts a, LATERAL (SELECT b.rank + a.rank AS r FROM hosts b '
         'WHERE b.ip = a.ip) q'), """
A value of LATERAL is of the rows inside.
  where: line 1: SELECT * FROM hosts a, LATERAL (SELECT b.rank + a.rank AS r FROM hosts b WHERE b.ip = a.ip) q
                                                        ^^^^^^^^^^^^^^^
  hint:  Compute it in the outer SELECT list.
"""),
    'lateral of an outer join': ('SELECT * FROM hosts a JOIN LATERAL (SELECT ip FROM hosts b) q ON a.rank = 1', """
LATERAL needs a plain SELECT, or aggregates without GROUP BY, and no condition of its own.
  where: line 1: SELECT * FROM hosts a JOIN LATERAL (SELECT ip FROM hosts b) q ON a.rank = 1
                                                            ^^^^^^^^^^^^^^^^^^
  hint:  For the first rows of each key use QUALIFY row_number() OVER (...) <= n in a subquery, and join it.
"""),
    'subquery in on': (
        ('SELECT * FROM hosts a LEFT JOIN hosts b ON a.ip = b.ip AND a.rank > '
         '(SELECT min(rank) FROM hosts)'), """
A subquery in ON of an outer join must choose rows of the side that may be missing.
  where: line 1: FROM hosts a LEFT JOIN hosts b ON a.ip = b.ip AND a.rank > (SELECT min(rank) FROM hosts)
                                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Put the condition into WHERE, or into a subquery of that side.
"""),
    'pivot statement': ('PIVOT hosts ON ip USING sum(rank)', """
PIVOT needs one column with its values, and USING.
  where: line 1: PIVOT hosts ON ip USING sum(rank)
                       ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use PIVOT t ON k IN ('a', 'b') USING sum(x).
"""),
    'unknown window': ('SELECT sum(rank) OVER v FROM hosts WINDOW w AS (PARTITION BY ip)', """
There is no window 'v'.
  where: line 1: SELECT sum(rank) OVER v FROM hosts WINDOW w AS (PARTITION BY ip)
                        ^^^^^^^^^^^^^^^^
  hint:  Use one of the windows w.
"""),
    'part of a window': ('SELECT sum(rank) OVER (w PARTITION BY ip) FROM hosts WINDOW w AS (PARTITION BY ip)', """
The window 'w' has this part already.
  where: line 1: SELECT sum(rank) OVER (w PARTITION BY ip) FROM hosts WINDOW w AS (PARTITION BY ip)
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Leave it out of OVER.
"""),
    'lookahead': (
        ('SELECT n FROM bids b ASOF JOIN (SELECT k, window_start AS ts, count(*) AS n FROM '
         "TUMBLE(bids, ts, INTERVAL '1' MINUTE) GROUP BY k, window_start) w USING (k, ts)"), """
Results of a window would be used before the window has closed.
  where: line 1: SELECT n FROM bids b ASOF JOIN (SELECT k, window_start AS ts, count(*) AS n FROM TUMBLE(bids, ts, IN
                                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Give both sides windows of one size, or join with a table.
"""),
    'windows of two sizes': (
        ("WITH minutes AS (SELECT window_start AS m, count(*) AS n FROM TUMBLE(bids, ts, INTERVAL '1' MINUTE) GROUP BY "
         "window_start)\nSELECT price, n FROM bids LEFT JOIN minutes ON ts = m"), """
Rows of windows of two sizes do not meet.
  where: line 2: SELECT price, n FROM bids LEFT JOIN minutes ON ts = m
                                                     ^^^^^^^^^^^^^^^^^
  hint:  Give both sides windows of one size.
"""),
    'value of a group': ('SELECT rank, (SELECT max(rank) FROM hosts) AS m FROM hosts GROUP BY ip', """
'rank' must stand in GROUP BY or in an aggregate.
  where: line 1: SELECT rank, (SELECT max(rank) FROM hosts) AS m FROM hosts GROUP BY ip
                        ^^^^
  hint:  Use any_value(rank), or add it to GROUP BY.
"""),
    'misspelt statement': ('SELCT ip FROM hosts', """
This statement is not part of the language: SELCT ip FROM hosts.
  where: line 1: SELCT ip FROM hosts
                 ^^^^^
  hint:  Use SELECT in place of 'SELCT'.
"""),
    'misspelt clause': ('SELECT ip FROM hosts WERE rank > 1', """
The query cannot be read from 'rank' on.
  where: line 1: SELECT ip FROM hosts WERE rank > 1
                                           ^^^^
  hint:  Use WHERE in place of 'WERE'.
"""),
    'misspelt join': ('SELECT * FROM hosts a LEFT JION hosts b USING (ip)', """
The query cannot be read from 'LEFT' on.
  where: line 1: SELECT * FROM hosts a LEFT JION hosts b USING (ip)
                                       ^^^^
  hint:  Use JOIN in place of 'JION'.
"""),
    'into': ('UNPIVOT hosts ON rank INTO NAME n', """
INTO needs NAME and VALUE.
  where: line 1: UNPIVOT hosts ON rank INTO NAME n
                         ^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use INTO NAME n VALUE v.
"""),
    'pivot of no aggregate': ("PIVOT hosts ON ip IN ('a') USING rank", """
PIVOT needs aggregates.
  where: line 1: PIVOT hosts ON ip IN ('a') USING rank
                                                  ^^^^
  hint:  Use an aggregate, such as sum(x).
"""),
    'over of sets': ('SELECT rank, rank() OVER (ORDER BY count(*)) AS r FROM hosts GROUP BY ROLLUP(rank)', """
OVER and QUALIFY are of the rows of all sets, and each set has its own rows here.
  where: line 1: SELECT rank, rank() OVER (ORDER BY count(*)) AS r FROM hosts GROUP BY ROLLUP(rank)
                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Put the groups into a subquery, and OVER outside.
"""),
    'sets without epoch': ('SELECT time, len FROM TCP EXCEPT SELECT time + 5, len FROM TCP', """
EXCEPT of two streams needs an epoch that both select, as rows meet in equal epochs.
  where: line 1: SELECT time, len FROM TCP EXCEPT SELECT time + 5, len FROM TCP
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Select the event time or an epoch, such as time/60, in the same place on both sides.
"""),
    'grouping of no key': ('SELECT GROUPING(ip) AS g FROM hosts GROUP BY ROLLUP(rank)', """
GROUPING needs keys of GROUP BY.
  where: line 1: SELECT GROUPING(ip) AS g FROM hosts GROUP BY ROLLUP(rank)
                                 ^^
  hint:  Name a key of the sets.
"""),
    'rows around the current one': (
        ('SELECT sum(len) OVER (ORDER BY time RANGE BETWEEN 5 PRECEDING AND CURRENT ROW EXCLUDE '
         'CURRENT ROW) AS s FROM TCP'), """
EXCLUDE is not part of the language here.
  where: line 1: SELECT sum(len) OVER (ORDER BY time RANGE BETWEEN 5 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) A
                                                                   ^
  hint:  Leave it out.
"""),
    'symmetric': ('SELECT ip FROM hosts WHERE rank BETWEEN SYMMETRIC 9 AND 1', """
SYMMETRIC is not part of the language here.
  where: line 1: SELECT ip FROM hosts WHERE rank BETWEEN SYMMETRIC 9 AND 1
                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Leave it out.
"""),
    'a part of the rows': ('SELECT ip FROM hosts ORDER BY rank LIMIT 50%', """
PERCENT is not part of the language here.
  where: line 1: SELECT ip FROM hosts ORDER BY rank LIMIT 50%
                                                          ^^
  hint:  Leave it out.
"""),
    'with ties': ('SELECT ip FROM hosts ORDER BY rank FETCH FIRST 2 ROWS WITH TIES', """
WITH TIES is not part of the language here.
  where: line 1: SELECT ip FROM hosts ORDER BY rank FETCH FIRST 2 ROWS WITH TIES
                                                                ^
  hint:  Leave it out.
"""),
    'version of the first table': ('SELECT len FROM TCP FOR SYSTEM_TIME AS OF 5', """
FOR SYSTEM_TIME AS OF is not part of the language here.
  where: line 1: SELECT len FROM TCP FOR SYSTEM_TIME AS OF 5
                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Leave it out.
"""),
    'unnest with a condition': ("SELECT tag FROM TCP LEFT JOIN UNNEST([srcIP, destIP]) AS u(tag) ON tag > 'a'", """
UNNEST makes a row for each item, and has no condition or outer join.
  where: line 1: SELECT tag FROM TCP LEFT JOIN UNNEST([srcIP, destIP]) AS u(tag) ON tag > 'a'
                                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use CROSS JOIN UNNEST(list) AS u(x), and WHERE.
"""),
}
