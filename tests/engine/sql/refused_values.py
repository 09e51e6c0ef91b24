"""Texts that are refused, with the whole error: arguments of functions, and subqueries as values."""

from __future__ import annotations

REFUSED: dict[str, tuple[str, str]] = {
    'regexp flags': ("SELECT regexp_replace(ip, 'a', 'b', 'i') FROM hosts", """
regexp_replace has the option 'g' only.
  where: line 1: SELECT regexp_replace(ip, 'a', 'b', 'i') FROM hosts
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Write (?i) at the beginning of the pattern to ignore case.
"""),
    'unknown aggregate': ("SELECT array_unique_agg(len) FROM TCP GROUP BY time/60", """
There is no aggregate 'array_unique_agg'.
  where: line 1: SELECT array_unique_agg(len) FROM TCP GROUP BY time/60
                        ^^^^^^^^^^^^^^^^^^^^
  hint:  Use count, sum, avg, min, max, median, stddev, variance, first or last.
"""),
    'digits of a decimal': ("SELECT CAST(len AS DECIMAL('B', 1)) FROM TCP", """
DECIMAL needs 1 to 76 digits, and no more of them after the point.
  where: line 1: SELECT CAST(len AS DECIMAL('B', 1)) FROM TCP
                             ^^^^^^^^^^^^^^^^^^^^^
  hint:  Use DECIMAL(18, 3).
"""),
    'missing argument': ("SELECT split_part(ip, ',') FROM hosts", """
This function needs more arguments.
  where: line 1: SELECT split_part(ip, ',') FROM hosts
                        ^^^^^^^^^^^^^^^^^^
  hint:  See the functions in docs/sql.md.
"""),
    'unpivot of nothing': ('SELECT * FROM hosts UNPIVOT (v FOR n IN ())', """
UNPIVOT needs names of columns.
  where: line 1: SELECT * FROM hosts UNPIVOT (v FOR n IN ())
                                              ^^^^^^^
  hint:  Use FOR n IN (x, y).
"""),
    'rows in nothing': ('SELECT * FROM hosts WHERE (ip, rank) IN ()', """
IN needs a list of values.
  where: line 1: SELECT * FROM hosts WHERE (ip, rank) IN ()
                                            ^^^^^^^^
  hint:  Write the values in parentheses.
"""),
    'rows of nothing': ('SELECT () = () FROM hosts', """
Rows of values are compared with = and <>, and have as many values.
  where: line 1: SELECT () = () FROM hosts
                 ^
  hint:  Compare the values one by one.
"""),
    'negative length': ('SELECT substring(ip, 1, -1) FROM hosts', """
A length is not negative.
  where: line 1: SELECT substring(ip, 1, -1) FROM hosts
                                  ^^^^^^^^^
  hint:  Write a length from 0.
"""),
    'date part': ("SELECT date_part('yaer', ts) FROM bids", """
date_part has no part 'yaer'.
  where: line 1: SELECT date_part('yaer', ts) FROM bids
                        ^^^^^^^^^^^^^^^^^^^^
  hint:  Use year, quarter, month, week, day, hour, minute or second.
"""),
    'split part': ("SELECT split_part(ip, ',', 0) FROM hosts", """
split_part() has no part 0.
  where: line 1: SELECT split_part(ip, ',', 0) FROM hosts
                        ^^^^^^^^^^^^^^^^^^^^^
  hint:  Count parts from 1, or from -1 at the end.
"""),
    'pad': ("SELECT lpad(ip, 5, 'ab') FROM hosts", """
pad_start() needs one character, got 'ab'.
  where: line 1: SELECT lpad(ip, 5, 'ab') FROM hosts
                        ^^^^^^^^^^^^^^^^
  hint:  Use a space or '0'.
"""),
    'literal start': ('SELECT substring(ip, rank) FROM hosts', """
This function needs a literal integer.
  where: line 1: SELECT substring(ip, rank) FROM hosts
                                      ^^^^
  hint:  Write the number.
"""),
    'group of a pattern': ("SELECT regexp_extract(ip, 'a', 1) FROM hosts", """
The pattern 'a' has no group 1.
  where: line 1: SELECT regexp_extract(ip, 'a', 1) FROM hosts
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use a group from 0 to 0; 0 is the whole match.
"""),
    'like escape': (r"SELECT ip LIKE 'a\%' FROM hosts", r"""
LIKE has no escapes here.
  where: line 1: SELECT ip LIKE 'a\%' FROM hosts
                        ^^^^^^^^^^^^^
  hint:  Add ESCAPE '\' after the pattern.
"""),
    'value for each row': ('SELECT time, (SELECT count(*) FROM hosts WHERE rank < len) FROM TCP', """
A subquery for each row of a stream needs equal columns alone.
  where: line 1: SELECT time, (SELECT count(*) FROM hosts WHERE rank < len) FROM TCP
                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Compare with =, or use HOLD or SLIDE.
"""),
    'value of a live stream': ('SELECT rank FROM hosts WHERE rank > (SELECT count(*) FROM TCP WHERE srcIP = ip)', """
Nothing in GROUP BY follows an ordered attribute, so no group is ever complete.
  where: line 1: osts WHERE rank > (SELECT count(*) FROM TCP WHERE srcIP = ip)
                                                                   ^^^^^
  hint:  Add an epoch, such as time/60 AS tb, or a window; ordered here: time (increasing).
"""),
    'rows of in': ('SELECT * FROM hosts WHERE (ip, rank) IN (SELECT ip FROM hosts)', """
IN needs a subquery of 2 columns.
  where: line 1: SELECT * FROM hosts WHERE (ip, rank) IN (SELECT ip FROM hosts)
                                                                 ^^^^^^^^^^^^^
  hint:  Select 2 columns.
"""),
    'compared types': ('SELECT rank, (SELECT count(*) FROM hosts h WHERE h.ip = hosts.rank) FROM hosts', """
Values of int64 and string cannot be compared.
  where: line 1: SELECT rank, (SELECT count(*) FROM hosts h WHERE h.ip = hosts.rank) FROM hosts
                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Cast one side.
"""),
    'nulls of unpivot': ('SELECT * FROM hosts UNPIVOT INCLUDE NULLS (v FOR n IN (rank))', """
UNPIVOT leaves nulls out.
  where: line 1: SELECT * FROM hosts UNPIVOT INCLUDE NULLS (v FOR n IN (rank))
                                                            ^^^^^^^^^^^^^^^^
  hint:  Replace nulls with coalesce first.
"""),
    'types of unpivot': ('SELECT * FROM hosts UNPIVOT (v FOR n IN (rank, ip))', """
Columns of UNPIVOT have types without a common one: int64 and string.
  where: line 1: SELECT * FROM hosts UNPIVOT (v FOR n IN (rank, ip))
                                              ^^^^^^^^^^^^^^^^^^^^
  hint:  Cast them in a subquery.
"""),
    'name of unpivot': ('SELECT * FROM hosts UNPIVOT (v FOR n IN (rank AS ip))', """
A name of UNPIVOT is that of another column.
  where: line 1: SELECT * FROM hosts UNPIVOT (v FOR n IN (rank AS ip))
                                              ^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use another name.
"""),
    'rows of values': ('SELECT (ip, rank) < (ip, 1) FROM hosts', """
Rows of values are compared with = and <>, and have as many values.
  where: line 1: SELECT (ip, rank) < (ip, 1) FROM hosts
                         ^^
  hint:  Compare the values one by one.
"""),
    'in as a value': ('SELECT rank IN (SELECT rank, ip FROM hosts) FROM hosts', """
IN needs a subquery of one column.
  where: line 1: SELECT rank IN (SELECT rank, ip FROM hosts) FROM hosts
                                        ^^^^^^^^^^^^^^^^^^^
  hint:  Select one column.
"""),
    'caret': ('SELECT len ^ 2 FROM TCP', """
^ is a power in some databases, and the bits that differ in others.
  where: line 1: SELECT len ^ 2 FROM TCP
                        ^^^^^^^
  hint:  Use power(x, y), or xor(x, y) for bits.
"""),
    'expression of another database': ("SELECT len GLOB 'a' FROM TCP", """
This expression is not part of the language: len GLOB 'a'.
  where: line 1: SELECT len GLOB 'a' FROM TCP
                        ^^^^^^^^^^^^
  hint:  Use the functions of the page on SQL.
"""),
}
