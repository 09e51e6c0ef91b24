"""Texts that are refused, with the whole error: statements, times and joins."""

from __future__ import annotations

REFUSED: dict[str, tuple[str, str]] = {
    'statement': ('VACUUM TCP', """
This statement is not part of the language: VACUUM TCP.
  where: line 1: VACUUM TCP
                 ^^^^^^
  hint:  Use SELECT, MERGE a.t : b.t, VALUES, CREATE VIEW, CREATE STREAM or EXPLAIN.
"""),
    'insert': ('INSERT INTO TCP VALUES (1)', """
This statement is not part of the language: INSERT INTO TCP VALUES (1).
  where: line 1: INSERT INTO TCP VALUES (1)
                 ^^^^^^
  hint:  Use SELECT, MERGE a.t : b.t, VALUES, CREATE VIEW, CREATE STREAM or EXPLAIN.
"""),
    'create function': ('CREATE FUNCTION f AS 1', """
This statement is not part of the language: CREATE FUNCTION f AS 1.
  where: line 1: CREATE FUNCTION f AS 1
                 ^^^^^^
  hint:  Use SELECT, MERGE a.t : b.t, VALUES, CREATE VIEW, CREATE STREAM or EXPLAIN.
"""),
    'set': ('SET x = 1', """
This statement is not part of the language: SET x = 1.
  where: line 1: SET x = 1
                 ^^^
  hint:  Use SELECT, MERGE a.t : b.t, VALUES, CREATE VIEW, CREATE STREAM or EXPLAIN.
"""),
    'pragma': ('PRAGMA threads', """
This statement is not part of the language: PRAGMA threads.
  where: line 1: PRAGMA threads
                 ^^^^^^
  hint:  Use SELECT, MERGE a.t : b.t, VALUES, CREATE VIEW, CREATE STREAM or EXPLAIN.
"""),
    'emit in order': ('SELECT len FROM TCP ORDER BY len EMIT AT 0, 5', """
Several latencies give a changelog, and ORDER BY and LIMIT work on one result.
  where: line 1: SELECT len FROM TCP ORDER BY len EMIT AT 0, 5
                                                  ^^^^^^^^^^^^
  hint:  Leave ORDER BY and LIMIT out, and sort the table of one latency.
"""),
    'emit of a view': ('CREATE VIEW v AS SELECT len FROM TCP EMIT AT 0, 5; SELECT * FROM v', """
A view has one result, and EMIT AT gives one for each latency.
  where: line 1: CREATE VIEW v AS SELECT len FROM TCP EMIT AT 0, 5; SELECT * FROM v
                                                      ^^^^^^^^^^^^
  hint:  Put EMIT AT at the end of the query that reads the view.
"""),
    'emit inside': ('SELECT * FROM (SELECT len FROM TCP EMIT AT 0, 5) AS s', """
EMIT AT is of a whole query, and its results go to no other query.
  where: line 1: SELECT * FROM (SELECT len FROM TCP EMIT AT 0, 5) AS s
                                                    ^^^^^^^
  hint:  Put EMIT AT at the end of the statement, after everything else.
"""),
    'falling latencies': ('SELECT len FROM TCP EMIT AT 5, 5', """
Latencies must be in increasing order, got 5, 5.
  where: line 1: SELECT len FROM TCP EMIT AT 5, 5
                                     ^^^^^^^^^^^^
  hint:  Put the shortest first: EMIT AT 5.
"""),
    'emit without a unit': ("SELECT price FROM bids EMIT AT 0, '5s'", """
A latency needs a unit, because times are timestamps.
  where: line 1: SELECT price FROM bids EMIT AT 0, '5s'
                                        ^^^^^^^^^^^^^^^
  hint:  Use EMIT AT '0s', '5s'.
"""),
    'explained comment': ('EXPLAIN -- SELECT * FROM TCP', """
The text has no query.
  where: wb.sql(...)
  hint:  Write a query, such as SELECT x FROM log.
"""),
    'empty rows': ('SELECT * FROM (VALUES (), ()) AS v (x)', """
A row of VALUES must have a value.
  where: line 1: SELECT * FROM (VALUES (), ()) AS v (x)
                                                  ^^^^
  hint:  Write the values in the parentheses.
"""),
    'empty': ('  -- nothing', """
The text has no query.
  where: wb.sql(...)
  hint:  Write a query, such as SELECT x FROM log.
"""),
    'several': ('SELECT 1; SELECT 2', """
wb.sql needs one query, got 2.
  where: line 1: SELECT 1; SELECT 2
                                  ^
  hint:  Use wb.sql.script for several.
"""),
    'explain': ('EXPLAIN SELECT * FROM TCP', """
wb.sql gives a stream, and EXPLAIN gives a text.
  where: line 1: EXPLAIN SELECT * FROM TCP
                                ^^^^^^^^^^
  hint:  Use wb.sql(...).explain(), or wb.sql.script.
"""),
    'copy': ("COPY TCP TO 'x.csv'", """
SQL reads the streams that it is given. It opens no files.
  where: line 1: COPY TCP TO 'x.csv'
                 ^^^^
  hint:  Pass the file as a stream: flights=wb.read_parquet("flights.parquet", time="departure").
"""),
    'attach': ("ATTACH 'x.db'", """
SQL reads the streams that it is given. It opens no files.
  where: line 1: ATTACH 'x.db'
                 ^^^^^^
  hint:  Pass the file as a stream: flights=wb.read_parquet("flights.parquet", time="departure").
"""),
    'file function': ("SELECT * FROM read_csv('x.csv')", """
SQL reads the streams that it is given. It opens no files.
  where: line 1: SELECT * FROM read_csv('x.csv')
                               ^^^^^^^^^^^^^^^^
  hint:  Pass the file as a stream: flights=wb.read_parquet("flights.parquet", time="departure").
"""),
    'file name': ("SELECT * FROM 'x.parquet'", """
SQL reads the streams that it is given. It opens no files.
  where: line 1: SELECT * FROM 'x.parquet'
                               ^^^^^^^^^^^
  hint:  Pass the file as a stream: flights=wb.read_parquet("flights.parquet", time="departure").
"""),
    'sample': ('SELECT * FROM TCP TABLESAMPLE 10 PERCENT', """
TABLESAMPLE is not part of the language here.
  where: line 1: SELECT * FROM TCP TABLESAMPLE 10 PERCENT
                               ^^^^^^^^^^^^^^^^^^
  hint:  Leave it out.
"""),
    'expression': ('SELECT len[1] FROM TCP', """
A subscript needs a list or a text, not int64.
  where: line 1: SELECT len[1] FROM TCP
                        ^^^^^
  hint:  Name a column of lists or texts.
"""),
    'wall clock': ('SELECT *\nFROM TCP\nWHERE time > now()', """
now() is another value in each run, so a backtest would differ from a live run.
  where: line 3: WHERE time > now()
                              ^^^
  hint:  Use the event time, or SLIDE(t, INTERVAL '1' HOUR) for the last hour.
"""),
    'current date': ('SELECT current_date', """
current_date() is another value in each run, so a backtest would differ from a live run.
  where: line 1: SELECT current_date
                 ^
  hint:  Use the event time, or SLIDE(t, INTERVAL '1' HOUR) for the last hour.
"""),
    'random': ('SELECT random() FROM TCP', """
random() gives other values in each run.
  where: line 1: SELECT random() FROM TCP
                        ^^^^^^
  hint:  Use a column of the stream.
"""),
    'group without epoch': ('SELECT srcIP, count(*)\nFROM TCP\nGROUP BY srcIP, destIP', """
Nothing in GROUP BY follows an ordered attribute, so no group is ever complete.
  where: line 3: GROUP BY srcIP, destIP
                          ^^^^^^^^^^^^^
  hint:  Add an epoch, such as time/60 AS tb, or a window; ordered here: time (increasing).
"""),
    'lost order': ('SELECT hour(ts), count(*) FROM bids GROUP BY hour(ts)', """
hour(ts) repeats, so it closes no group.
  where: line 1: SELECT hour(ts), count(*) FROM bids GROUP BY hour(ts)
                                                              ^^^^^^^
  hint:  Group by date_trunc('minute', ts) AS minute too.
"""),
    'modulo': ('SELECT count(*) FROM TCP GROUP BY time % 60', """
time % 60 repeats, so it closes no group.
  where: line 1: SELECT count(*) FROM TCP GROUP BY time % 60
                                                   ^^^^^^^^^
  hint:  Group by time/60 AS tb too.
"""),
    'endless aggregate': ('SELECT sum(len) FROM TCP', """
The aggregate of a stream has no end.
  where: line 1: SELECT sum(len) FROM TCP
                        ^^^^^^^
  hint:  Add GROUP BY with an epoch, such as time/60 AS tb, or use HOLD(t) for totals so far.
"""),
    'endless distinct': ('SELECT DISTINCT srcIP FROM TCP', """
DISTINCT of a stream has no end.
  where: line 1: SELECT DISTINCT srcIP FROM TCP
                 ^
  hint:  Use it over a window, such as TUMBLE, or over HOLD(t).
"""),
    'no column': ("SELECT FROM bids", """
SELECT names no column.
  where: line 1: SELECT FROM bids
                             ^^^^
  hint:  Name a column, or use *.
"""),
    'hop without group': ("SELECT window_start FROM HOP(bids, ts, INTERVAL '1' DAY, INTERVAL '1' MONTH)", """
The rows of HOP are in several windows, and only GROUP BY tells them apart.
  where: line 1: SELECT window_start FROM HOP(bids, ts, INTERVAL '1' DAY, INTERVAL '1' MONTH)
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Add GROUP BY window_start, window_end.
"""),
    'one bound': ("SELECT window_start, count(*) FROM (SELECT * FROM CUMULATE(TCP, 20, 60)) GROUP BY window_start", """
Windows with one window_start may overlap, so no group is ever complete.
  where: line 1: OM (SELECT * FROM CUMULATE(TCP, 20, 60)) GROUP BY window_start
                                                                   ^^^^^^^^^^^^
  hint:  Add window_end to GROUP BY.
"""),
    'partial windows of the calendar': ("SELECT * FROM CUMULATE(bids, ts, INTERVAL '1' DAY, INTERVAL '1' MONTH)", """
CUMULATE by days needs times in UTC or without a zone, and a size in days or weeks.
  where: line 1: ROM CUMULATE(bids, ts, INTERVAL '1' DAY, INTERVAL '1' MONTH)
                                                                   ^^^
  hint:  Use TUMBLE or HOP, or hours, such as INTERVAL '24' HOUR.
"""),
    'window not grouped': ("SELECT k, count(*) FROM TUMBLE(bids, ts, INTERVAL '1' MINUTE) GROUP BY k", """
This GROUP BY does not name its window, so no group is ever complete.
  where: line 1: OM TUMBLE(bids, ts, INTERVAL '1' MINUTE) GROUP BY k
                                                                   ^
  hint:  Add window_start to GROUP BY.
"""),
    'month': ("SELECT * FROM SESSION(bids, INTERVAL '1' MONTH)", """
A month has no fixed length.
  where: line 1: SELECT * FROM SESSION(bids, INTERVAL '1' MONTH)
                                                      ^^^
  hint:  Use GROUP BY date_trunc('month', ts), or days, such as INTERVAL '30' DAY.
"""),
    'order inside': ('SELECT * FROM (SELECT * FROM TCP ORDER BY len LIMIT 3)', """
Rows of a stream are in the order of time. ORDER BY and LIMIT work on the collected result only.
  where: line 1: SELECT * FROM (SELECT * FROM TCP ORDER BY len LIMIT 3)
                                                           ^^^
  hint:  Use QUALIFY row_number() OVER (... ORDER BY x DESC) <= n within a window.
"""),
    'limit': ('SELECT * FROM TCP LIMIT 3', """
LIMIT without ORDER BY gives other rows in each run.
  where: line 1: SELECT * FROM TCP LIMIT 3
                                         ^
  hint:  Add ORDER BY.
"""),
    'join without times': ('SELECT a.len FROM TCP a JOIN TCP b ON a.srcIP = b.srcIP', """
This join relates no times, so each row would wait for its partner without end.
  where: line 1: SELECT a.len FROM TCP a JOIN TCP b ON a.srcIP = b.srcIP
                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Relate the times, such as a.time = b.time or BETWEEN, or use ASOF JOIN, a table or HOLD(t).
"""),
    'column': ('SELECT sorceIP, srcip FROM TCP', """
There is no column 'sorceIP'.
  where: line 1: SELECT sorceIP, srcip FROM TCP
                        ^^^^^^^
  hint:  Use 'srcIP'; the columns are time, srcIP, destIP, protocol, len, fin.
"""),
    'table': ('SELECT * FROM tpc', """
There is no table 'tpc'.
  where: line 1: SELECT * FROM tpc
                               ^^^
  hint:  Use one of the tables TCP, bids, hosts.
"""),
    'function': ('SELECT cuont(len) FROM TCP', """
There is no function 'cuont'.
  where: line 1: SELECT cuont(len) FROM TCP
                        ^^^^^^^^^
  hint:  Use count.
"""),
    'ambiguous': ('SELECT len FROM TCP a JOIN TCP b ON a.time = b.time', """
The column 'len' is ambiguous: a.len, b.len.
  where: line 1: SELECT len FROM TCP a JOIN TCP b ON a.time = b.time
                        ^^^
  hint:  Write a.len.
"""),
    'other table': ('SELECT c.len FROM TCP a', """
There is no table 'c' here.
  where: line 1: SELECT c.len FROM TCP a
                        ^^^^^
  hint:  Use one of the tables a.
"""),
    'not grouped': ('SELECT tb, len FROM TCP GROUP BY time/60 AS tb', """
'len' must stand in GROUP BY or in an aggregate.
  where: line 1: SELECT tb, len FROM TCP GROUP BY time/60 AS tb
                            ^^^
  hint:  Use any_value(len), or add it to GROUP BY.
"""),
    'nested aggregate': ('SELECT tb, sum(max(len)) FROM TCP GROUP BY time/60 AS tb', """
An aggregate cannot have an aggregate in it.
  where: line 1: SELECT tb, sum(max(len)) FROM TCP GROUP BY time/60 AS tb
                            ^^^^^^^^^^^
  hint:  Use a subquery.
"""),
    'aggregate in where': ('SELECT * FROM TCP WHERE sum(len) > 1', """
An aggregate is not allowed here.
  where: line 1: SELECT * FROM TCP WHERE sum(len) > 1
                                         ^^^^^^^
  hint:  Use HAVING, or a subquery.
"""),
    'types': ('SELECT len + srcIP FROM TCP', """
'+' cannot take int64 and string.
  where: line 1: SELECT len + srcIP FROM TCP
                        ^^^^^^^^^^^^^^^^^^^^
  hint:  Cast one side, such as CAST(x AS DOUBLE).
"""),
    'condition': ('SELECT * FROM TCP WHERE len', """
A condition must be true or false, got int64.
  where: line 1: SELECT * FROM TCP WHERE len
                                         ^^^
  hint:  Compare it with a value.
"""),
    'like': ('SELECT * FROM TCP WHERE srcIP LIKE destIP', """
LIKE needs a literal text as its pattern.
  where: line 1: SELECT * FROM TCP WHERE srcIP LIKE destIP
                                         ^^^^^^^^^^^^^^^^^
  hint:  Use contains(x, 'text').
"""),
    'parameter': ('SELECT $limit FROM TCP', """
The parameter 'limit' has no value.
  where: line 1: SELECT $limit FROM TCP
                        ^^^^^^
  hint:  Pass it: wb.sql(..., parameters={'limit': ...}).
"""),
}
