"""Texts that are refused, with the whole error: clauses, names and expressions."""

from __future__ import annotations

REFUSED: dict[str, tuple[str, str]] = {
    'arguments': ('SELECT regexp_matches(len) FROM TCP', """
regexp_matches() takes other arguments.
  where: line 1: SELECT regexp_matches(len) FROM TCP
                        ^^^^^^^^^^^^^^^^^^
  hint:  See the functions in docs/sql.md.
"""),
    'histogram': ('SELECT tb, histogram(len) FROM TCP GROUP BY time/60 AS tb', """
histogram is a map of counts elsewhere, and a list of counts of given bins here.
  where: line 1: SELECT tb, histogram(len) FROM TCP GROUP BY time/60 AS tb
                            ^^^^^^^^^^^^^
  hint:  Use count(*) FILTER (WHERE x >= 0 AND x < 10) for each bin, or wb.histogram in Python.
"""),
    'rate of a counter': ('SELECT tb, rate(len, time) FROM TCP GROUP BY time/60 AS tb', """
The rate of a counter needs the time of its values, and no word of SQL takes it.
  where: line 1: SELECT tb, rate(len, time) FROM TCP GROUP BY time/60 AS tb
                            ^^^^^^^^^^^^^^
  hint:  Divide increase(x) by the length of the window, or use wb.rate in Python.
"""),
    'most frequent': ('SELECT tb, approx_top_k(len, protocol) FROM TCP GROUP BY time/60 AS tb', """
approx_top_k needs literal integers.
  where: line 1: SELECT tb, approx_top_k(len, protocol) FROM TCP GROUP BY time/60 AS tb
                            ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use approx_top_k(x, 10).
"""),
    'window time': ("SELECT * FROM TUMBLE(bids, price, INTERVAL '1' MINUTE)", """
A window needs the event time of its stream.
  where: line 1: SELECT * FROM TUMBLE(bids, price, INTERVAL '1' MINUTE)
                                            ^^^^^
  hint:  Use the ordered attribute: ts.
"""),
    'window size': ("SELECT * FROM TUMBLE(TCP, time, INTERVAL '1' MINUTE)", """
Times of this stream are integers, so durations are integers too.
  where: line 1: SELECT * FROM TUMBLE(TCP, time, INTERVAL '1' MINUTE)
                                                          ^^^
  hint:  Write the number of ticks.
"""),
    'window of a table': ('SELECT * FROM HOLD(hosts)', """
HOLD needs a stream, and the rows of a table hold at all times.
  where: line 1: SELECT * FROM HOLD(hosts)
                               ^^^^^^^^^^
  hint:  Pass a stream: wb.from_arrow(table, time="...").
"""),
    'cumulate': ("SELECT 1 FROM CUMULATE(bids, ts, INTERVAL '40' SECOND, INTERVAL '1' MINUTE)", """
The size of CUMULATE must be a multiple of its step.
  where: line 1: SELECT 1 FROM CUMULATE(bids, ts, INTERVAL '40' SECOND, INTERVAL '1' MINUTE)
                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Change one of the two.
"""),
    'argument': ("SELECT * FROM TUMBLE(DATA => TABLE bids, SIZZE => INTERVAL '1' MINUTE)", """
TUMBLE has no argument 'SIZZE' here.
  where: line 1: FROM TUMBLE(DATA => TABLE bids, SIZZE => INTERVAL '1' MINUTE)
                                                                   ^^^
  hint:  Use DATA, TIMECOL, SIZE, OFFSET.
"""),
    'session key': ("SELECT window_end FROM SESSION(TABLE bids PARTITION BY k, gap => INTERVAL '1' DAY) GROUP BY 1", """
'k' partitions the sessions, so it must be a key.
  where: line 1: PARTITION BY k, gap => INTERVAL '1' DAY) GROUP BY 1
                                                                   ^
  hint:  Add k to GROUP BY.
"""),
    'columns of a union': ('SELECT time, len FROM TCP UNION ALL SELECT time FROM TCP', """
UNION needs as many columns on both sides, got 2 and 1.
  where: line 1: SELECT time, len FROM TCP UNION ALL SELECT time FROM TCP
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Select the same columns on both sides.
"""),
    'types of a union': ('SELECT len FROM TCP UNION ALL SELECT srcIP FROM TCP', """
Columns 'len' have types without a common one: int64 and string.
  where: line 1: SELECT len FROM TCP UNION ALL SELECT srcIP FROM TCP
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Cast one side.
"""),
    'merge': ('MERGE a.len : b.len FROM TCP a, TCP b', """
'len' is not the event time of its stream.
  where: line 1: MERGE a.len : b.len FROM TCP a, TCP b
                       ^^^^^
  hint:  Use the ordered attribute: time.
"""),
    'outer join within a time': ('SELECT a.len FROM TCP a LEFT JOIN TCP b ON b.time BETWEEN a.time AND a.time + 60', """
An outer, semi or anti join between times is not part of the language.
  where: line 1: SELECT a.len FROM TCP a LEFT JOIN TCP b ON b.time BETWEEN a.time AND a.time + 60
                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Join in an epoch, such as a.ts/60 = b.ts/60, or use JOIN.
"""),
    'no condition': ('SELECT * FROM hosts a JOIN hosts b', """
This join has no condition.
  where: line 1: SELECT * FROM hosts a JOIN hosts b
                                            ^^^^^^^
  hint:  Add ON or USING, or use CROSS JOIN.
"""),
    'recursive': ('WITH RECURSIVE r AS (SELECT 1) SELECT * FROM r', """
WITH RECURSIVE is not part of the language.
  where: line 1: WITH RECURSIVE r AS (SELECT 1) SELECT * FROM r
                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Leave RECURSIVE out.
"""),
    'tuple key': ('SELECT count(*) FROM hosts GROUP BY (ip, rank)', """
A key of GROUP BY must be one value.
  where: line 1: SELECT count(*) FROM hosts GROUP BY (ip, rank)
                                                      ^^^^^^^^
  hint:  Leave the parentheses out.
"""),
    'syntax': ('SELECT time,\n  len +\nFROM TCP WHERE', """
The query cannot be read from 'FROM' on.
  where: line 3: FROM TCP WHERE
                 ^^^^
  hint:  Check the words before it: a comma, a parenthesis or a keyword may be missing.
"""),
    'quote': ("SELECT 'abc", """
The text cannot be read.
  where: line 1: SELECT 'abc
                        ^
  hint:  Close quotes and comments.
"""),
    'type': ('SELECT CAST(len AS JSON) FROM TCP', """
There is no type JSON.
  where: line 1: SELECT CAST(len AS JSON) FROM TCP
                             ^^^
  hint:  Use BIGINT, DOUBLE, VARCHAR, BOOLEAN, DATE, TIMESTAMP or DECIMAL.
"""),
    'interval': ("SELECT ts + INTERVAL 'soon' FROM bids", """
Cannot read the interval 'soon'.
  where: line 1: SELECT ts + INTERVAL 'soon' FROM bids
                                      ^^^^^^
  hint:  Use INTERVAL '5' MINUTE.
"""),
    'interval unit': ("SELECT ts + INTERVAL '1' FORTNIGHT FROM bids", """
There is no unit 'FORTNIGHT' of intervals.
  where: line 1: SELECT ts + INTERVAL '1' FORTNIGHT FROM bids
                                      ^^^
  hint:  Use WEEK, DAY, HOUR, MINUTE, SECOND, MILLISECOND or MICROSECOND.
"""),
    'emit': ('SELECT * FROM TCP EMIT CHANGES', """
EMIT must name latencies, or FINAL.
  where: line 1: SELECT * FROM TCP EMIT CHANGES
                                   ^^^^^^^^^^^^
  hint:  Use EMIT AT '1s', '1m', or EMIT AT 0, 5 if time is an integer, after all other clauses.
"""),
    'order by': ('SELECT DISTINCT ip FROM hosts ORDER BY rank', """
ORDER BY needs a column of the result.
  where: line 1: SELECT DISTINCT ip FROM hosts ORDER BY rank
                                                        ^^^^
  hint:  Put it in the SELECT list.
"""),
    'order of a union': ('SELECT ip FROM hosts UNION SELECT ip FROM hosts ORDER BY rank', """
ORDER BY needs a column of the result.
  where: line 1: ip FROM hosts UNION SELECT ip FROM hosts ORDER BY rank
                                                                   ^^^^
  hint:  Put it in the SELECT list.
"""),
    'order by nothing': ('SELECT ip FROM hosts ORDER BY rnk', """
There is no column 'rnk'.
  where: line 1: SELECT ip FROM hosts ORDER BY rnk
                                               ^^^
  hint:  Use 'rank'; the columns are ip, rank.
"""),
    'values': ("SELECT * FROM (VALUES (1), ('a')) AS v(x)", """
A column of VALUES must have one type.
  where: line 1: SELECT * FROM (VALUES (1), ('a')) AS v(x)
                                        ^^^^^^^^^^^^^^^^^
  hint:  Use values of one type.
"""),
    'array': ('SELECT unnest(len) FROM TCP', """
There is no function 'unnest'.
  where: line 1: SELECT unnest(len) FROM TCP
                        ^^^^^^^^^^
  hint:  Pass it: wb.sql(..., functions={...}).
"""),
    'a product of times': ('SELECT count(*) FROM TCP GROUP BY time*time', """
time*time multiplies values that may be negative, so it closes no group.
  where: line 1: SELECT count(*) FROM TCP GROUP BY time*time
                                                   ^^^^^^^^^
  hint:  Group by time/60 AS tb too.
"""),
    'a time that stays': ('SELECT count(*) FROM TCP GROUP BY time * 0 + 1', """
time * 0 + 1 never rises, so it closes no group.
  where: line 1: SELECT count(*) FROM TCP GROUP BY time * 0 + 1
                                                   ^^^^^^^^^^^^
  hint:  Group by time/60 AS tb too.
"""),
    'rows frame': ('SELECT sum(price) OVER (ROWS 3 PRECEDING) FROM bids', """
ROWS counts rows before the current row, and rows without an order have none.
  where: line 1: SELECT sum(price) OVER (ROWS 3 PRECEDING) FROM bids
                        ^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Add ORDER BY with the event time.
"""),
    'rows frame without a number': ('SELECT sum(price) OVER (ORDER BY ts ROWS price PRECEDING) FROM bids', """
A frame of ROWS needs a literal number of rows before the current row.
  where: line 1: SELECT sum(price) OVER (ORDER BY ts ROWS price PRECEDING) FROM bids
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use ROWS BETWEEN 9 PRECEDING AND CURRENT ROW.
"""),
    'groups frame': ('SELECT sum(price) OVER (ORDER BY ts GROUPS 3 PRECEDING) FROM bids', """
A frame is RANGE or ROWS.
  where: line 1: SELECT sum(price) OVER (ORDER BY ts GROUPS 3 PRECEDING) FROM bids
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use RANGE for times, or ROWS for counts.
"""),
    'rows of a table': ('SELECT sum(rank) OVER (ORDER BY ip ROWS 3 PRECEDING) FROM hosts', """
ORDER BY in OVER needs the event time of a stream, ascending.
  where: line 1: SELECT sum(rank) OVER (ORDER BY ip ROWS 3 PRECEDING) FROM hosts
                                                 ^^
  hint:  Use the ordered attribute: nothing.
"""),
    'following': ('SELECT max(k) OVER (ORDER BY ts RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM bids', """
A frame that ends after the current row looks ahead.
  where: line 1: SELECT max(k) OVER (ORDER BY ts RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM bids
                        ^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  End the frame at CURRENT ROW.
"""),
    'lead': ('SELECT lead(price) OVER (ORDER BY ts) FROM bids', """
LEAD looks ahead.
  where: line 1: SELECT lead(price) OVER (ORDER BY ts) FROM bids
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use LAG.
"""),
    'numbers of a stream': ('SELECT *, rank() OVER (PARTITION BY k ORDER BY price) AS n FROM bids', """
rank numbers every row, so every row of the stream would be kept.
  where: line 1: SELECT *, rank() OVER (PARTITION BY k ORDER BY price) AS n FROM bids
                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use QUALIFY rank() OVER (...) <= n, or ORDER BY the event time.
"""),
    'numbers of all rows so far': ('SELECT *, row_number() OVER (ORDER BY price) AS n FROM HOLD(bids)', """
row_number numbers every row, so every row of the stream would be kept.
  where: line 1: SELECT *, row_number() OVER (ORDER BY price) AS n FROM HOLD(bids)
                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use QUALIFY row_number() OVER (...) <= n, or ORDER BY the event time.
"""),
    'numbers across windows': (
        ('SELECT k, n FROM (SELECT window_start, k, count(*) AS n FROM TUMBLE(bids, ts, INTERVAL \'1\' MINUTE) '
         'GROUP BY window_start, k) QUALIFY row_number() OVER (PARTITION BY k ORDER BY n DESC) = 1'), """
row_number of rows of several windows is never final.
  where: line 1: VAL '1' MINUTE) GROUP BY window_start, k) QUALIFY row_number() OVER (PARTITION BY k ORDER BY n DESC)
                                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Add window_start to PARTITION BY, or the epoch.
"""),
    'unknown time zone': ("SELECT ts AT TIME ZONE 'Mars' AS t FROM bids", """
There is no time zone 'Mars'.
  where: line 1: SELECT ts AT TIME ZONE 'Mars' AS t FROM bids
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use a name of the IANA database, such as "Europe/Berlin" or "UTC".
"""),
    'zone of a number': ("SELECT price AT TIME ZONE 'UTC' AS t FROM bids", """
A clock shows times, got double.
  where: line 1: SELECT price AT TIME ZONE 'UTC' AS t FROM bids
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Cast it to a time first.
"""),
    'zone of a column': ("SELECT ts AT TIME ZONE k AS t FROM bids", """
This function needs a literal text.
  where: line 1: SELECT ts AT TIME ZONE k AS t FROM bids
                                        ^
  hint:  Write the text in quotes.
"""),
    'cast that no value has': ("SELECT TRY_CAST(ts AS BOOLEAN) AS t FROM bids", """
Cannot cast timestamp[s] to bool.
  where: line 1: SELECT TRY_CAST(ts AS BOOLEAN) AS t FROM bids
                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Cast it to text or to an integer first.
"""),
    'over a stream': ('SELECT sum(price) OVER (PARTITION BY k) FROM bids', """
The aggregate of a stream has no end.
  where: line 1: SELECT sum(price) OVER (PARTITION BY k) FROM bids
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Add GROUP BY with an epoch, such as date_trunc('minute', ts) AS minute, or use HOLD(t) for totals so far.
"""),
    'order of over': ('SELECT sum(price) OVER (ORDER BY price) FROM bids', """
ORDER BY in OVER needs the event time of a stream, ascending.
  where: line 1: SELECT sum(price) OVER (ORDER BY price) FROM bids
                                                  ^^^^^
  hint:  Use the ordered attribute: ts.
"""),
    'order by a decimal': ('SELECT * FROM hosts QUALIFY rank() OVER (ORDER BY CAST(rank AS DECIMAL(5, 1))) <= 3', """
Numbers need an order by a number, a text or a time, got decimal128(5, 1).
  where: line 1: T * FROM hosts QUALIFY rank() OVER (ORDER BY CAST(rank AS DECIMAL(5, 1))) <= 3
                                                                   ^^^^^^^^^^^^^^^^^^^^
  hint:  Order by a number, a text or a time.
"""),
    'two lags': ('SELECT lag(price, 2) OVER (ORDER BY ts) FROM bids', """
LAG looks further back only if rows of one time have an order.
  where: line 1: SELECT lag(price, 2) OVER (ORDER BY ts) FROM bids
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use an offset of 1, or add a column after the time in ORDER BY.
"""),
    'value of many rows': ('SELECT * FROM hosts WHERE rank = (SELECT rank FROM hosts)', """
A subquery as a value must be an aggregate without GROUP BY.
  where: line 1: SELECT * FROM hosts WHERE rank = (SELECT rank FROM hosts)
                                                          ^^^^^^^^^^^^^^^
  hint:  Use max or any_value, or EXISTS and IN as conditions.
"""),
    'exists of a stream': ('SELECT * FROM TCP WHERE EXISTS (SELECT 1 FROM bids)', """
This join relates no times, so each row would wait for its partner without end.
  where: line 1: SELECT * FROM TCP WHERE EXISTS (SELECT 1 FROM bids)
                                                        ^^^^^^^^^^^
  hint:  Relate the times, such as TCP.time = bids.ts or BETWEEN, or use ASOF JOIN, a table or HOLD(t).
"""),
    'columns of in': ('SELECT * FROM hosts WHERE rank IN (SELECT * FROM hosts)', """
IN needs a subquery of one column.
  where: line 1: SELECT * FROM hosts WHERE rank IN (SELECT * FROM hosts)
                                                           ^^^^^^^^^^^^
  hint:  Select one column.
"""),
    'struct': ("SELECT {'a': 1}", """
A query makes no structs.
  where: line 1: SELECT {'a': 1}
                              ^
  hint:  Select each value as a column.
"""),
    'long text': ('SELECT time, srcIP, destIP, protocol, len, time + len, time + len + protocol, nothing FROM TCP', """
There is no column 'nothing'.
  where: line 1: protocol, len, time + len, time + len + protocol, nothing FROM TCP
                                                                   ^^^^^^^
  hint:  Use one of the columns time, srcIP, destIP, protocol, len, fin.
"""),
    'running without closing': ('SELECT srcIP, running(count(*)) AS n FROM TCP GROUP BY srcIP, time/60', """
A running aggregate keeps a state for each key ever seen.
  where: line 1: SELECT srcIP, running(count(*)) AS n FROM TCP GROUP BY srcIP, time/60
                               ^^^^^^^^^^^^^^^
  hint:  Add CLOSING_WHEN count(*) = 0, or CLOSING_WHEN FALSE if that is meant.
"""),
    'running aggregate of a table': ('SELECT running(max(rank)) FROM hosts', """
A running aggregate keeps a state for each key ever seen.
  where: line 1: SELECT running(max(rank)) FROM hosts
                        ^^^^^^^^^^^^^^^^
  hint:  Add CLOSING_WHEN count(*) = 0, or CLOSING_WHEN FALSE if that is meant.
"""),
    'closing without epoch': ('SELECT srcIP, count(*) AS n FROM TCP GROUP BY srcIP CLOSING_WHEN FALSE', """
CLOSING_WHEN is asked at the end of each epoch, and GROUP BY has none.
  where: line 1: SELECT srcIP, count(*) AS n FROM TCP GROUP BY srcIP CLOSING_WHEN FALSE
                                                               ^^^^^
  hint:  Add an epoch, such as time/60 AS tb; ordered here: time (increasing).
"""),
    'closing of a window': ('SELECT count(*) FROM TUMBLE(TCP, time, 60) GROUP BY window_start CLOSING_WHEN FALSE', """
CLOSING_WHEN is asked at the end of each epoch, and GROUP BY has none.
  where: line 1: LECT count(*) FROM TUMBLE(TCP, time, 60) GROUP BY window_start CLOSING_WHEN FALSE
                                                                   ^^^^^^^^^^^^
  hint:  Add an epoch, such as time/60 AS tb; ordered here: time (increasing).
"""),
    'closing with sets': ('SELECT srcIP, count(*) AS n FROM TCP GROUP BY CUBE(srcIP), time/60 CLOSING_WHEN FALSE', """
CLOSING_WHEN is for one set of keys.
  where: line 1: ELECT srcIP, count(*) AS n FROM TCP GROUP BY CUBE(srcIP), time/60 CLOSING_WHEN FALSE
                                                                   ^^^^^^^^^^^^^^^
  hint:  Use UNION ALL of queries in place of GROUPING SETS, CUBE and ROLLUP.
"""),
    'closing by a row': ('SELECT srcIP FROM TCP GROUP BY srcIP, time/60 CLOSING_WHEN fin', """
'fin' must stand in GROUP BY or in an aggregate.
  where: line 1: cIP FROM TCP GROUP BY srcIP, time/60 CLOSING_WHEN fin
                                                                   ^^^
  hint:  Use any_value(fin), or add it to GROUP BY.
"""),
    'running value': ('SELECT srcIP, running(len) FROM TCP GROUP BY srcIP, time/60 CLOSING_WHEN FALSE', """
running needs an aggregate.
  where: line 1: SELECT srcIP, running(len) FROM TCP GROUP BY srcIP, time/60 CLOSING_WHEN FALSE
                               ^^^^^^^^^^^
  hint:  Use running(sum(x)).
"""),
    'running twice': ('SELECT running(running(count(*))) FROM TCP GROUP BY time/60 CLOSING_WHEN FALSE', """
running needs an aggregate.
  where: line 1: SELECT running(running(count(*))) FROM TCP GROUP BY time/60 CLOSING_WHEN FALSE
                        ^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use running(sum(x)).
"""),
    'running of two': ('SELECT sum_of_dups(len, time) FROM TCP GROUP BY time/60 CLOSING_WHEN FALSE', """
sum_of_dups needs one value.
  where: line 1: SELECT sum_of_dups(len, time) FROM TCP GROUP BY time/60 CLOSING_WHEN FALSE
                        ^^^^^^^^^^^^^^^^^^^^^
  hint:  Use sum_of_dups(x).
"""),
}
