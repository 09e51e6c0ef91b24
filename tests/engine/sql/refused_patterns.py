"""Texts that are refused, with the whole error: patterns of MATCH_RECOGNIZE."""

from __future__ import annotations

REFUSED: dict[str, tuple[str, str]] = {
    'pattern form': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (^ A B) WITHIN 9)'), """
A pattern is variables, groups, alternatives and quantifiers, got '^'.
  where: line 2: ORDER BY time MEASURES A.len AS x PATTERN (^ A B) WITHIN 9)
                                                            ^
  hint:  Use PATTERN (A (B | C)+ D?).
"""),
    'an absence': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A NOT B) WITHIN 9)'), """
A pattern matches rows that exist, not the absence of a row, got 'NOT'.
  where: line 2: ORDER BY time MEASURES A.len AS x PATTERN (A NOT B) WITHIN 9)
                                                              ^^^
  hint:  Use log.detect(..., then=wb.absent(within="1h")), and give its result to sql() as a stream.
"""),
    'an absence with a mark': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A !B) WITHIN 9)'), """
A pattern matches rows that exist, not the absence of a row, got '!'.
  where: line 2: ORDER BY time MEASURES A.len AS x PATTERN (A !B) WITHIN 9)
                                                              ^
  hint:  Use log.detect(..., then=wb.absent(within="1h")), and give its result to sql() as a stream.
"""),
    'an absence with a caret': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A ^B) WITHIN 9)'), """
A pattern matches rows that exist, not the absence of a row, got '^'.
  where: line 2: ORDER BY time MEASURES A.len AS x PATTERN (A ^B) WITHIN 9)
                                                              ^
  hint:  Use log.detect(..., then=wb.absent(within="1h")), and give its result to sql() as a stream.
"""),
    'an absence in brackets': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A [^B]) WITHIN 9)'), """
A pattern matches rows that exist, not the absence of a row, got '['.
  where: line 2: ORDER BY time MEASURES A.len AS x PATTERN (A [^B]) WITHIN 9)
                                                              ^
  hint:  Use log.detect(..., then=wb.absent(within="1h")), and give its result to sql() as a stream.
"""),
    'an absence in a group': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A (?!B)) WITHIN 9)'), """
A pattern matches rows that exist, not the absence of a row, got '?'.
  where: line 2: ORDER BY time MEASURES A.len AS x PATTERN (A (?!B)) WITHIN 9)
                                                               ^
  hint:  Use log.detect(..., then=wb.absent(within="1h")), and give its result to sql() as a stream.
"""),
    'an absence as a count': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A B{0}) WITHIN 9)'), """
A pattern matches rows that exist, not the absence of a row, got '{0}'.
  where: line 2: ORDER BY time MEASURES A.len AS x PATTERN (A B{0}) WITHIN 9)
                                                               ^^^
  hint:  Use log.detect(..., then=wb.absent(within="1h")), and give its result to sql() as a stream.
"""),
    'an absence as a function': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A absent(B)) WITHIN 9)'), """
A pattern matches rows that exist, not the absence of a row, got 'absent'.
  where: line 2: ORDER BY time MEASURES A.len AS x PATTERN (A absent(B)) WITHIN 9)
                                                              ^^^^^^
  hint:  Use log.detect(..., then=wb.absent(within="1h")), and give its result to sql() as a stream.
"""),
    'no part': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A | ) WITHIN 9)'), """
A pattern is variables, groups, alternatives and quantifiers, got '|'.
  where: line 2: ORDER BY time MEASURES A.len AS x PATTERN (A | ) WITHIN 9)
                                                              ^
  hint:  Use PATTERN (A (B | C)+ D?).
"""),
    'permutations': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (PERMUTE(A, B)) WITHIN 9)'), """
PERMUTE(...) is not part of the language.
  where: line 2: ORDER BY time MEASURES A.len AS x PATTERN (PERMUTE(A, B)) WITHIN 9)
                                                            ^^^^^^^
  hint:  Write the orders as alternatives, such as PATTERN ((A B) | (B A)).
"""),
    'a permutation of one': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A permute(B)) WITHIN 9)'), """
PERMUTE(...) is not part of the language.
  where: line 2: ORDER BY time MEASURES A.len AS x PATTERN (A permute(B)) WITHIN 9)
                                                              ^^^^^^^
  hint:  Write the orders as alternatives, such as PATTERN ((A B) | (B A)).
"""),
    'match number': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES MATCH_NUMBER() AS x AFTER MATCH SKIP TO NEXT ROW '
        'PATTERN (A B) WITHIN 9)'), """
MATCH_NUMBER() counts matches that do not overlap, and is a measure of its own.
  where: line 2: ORDER BY time MEASURES MATCH_NUMBER() AS x AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) WITHIN 9)
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use MATCH_NUMBER() AS n and AFTER MATCH SKIP PAST LAST ROW.
"""),
    'part of a match number': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES MATCH_NUMBER() + 1 AS x '
        'PATTERN (A B) WITHIN 9)'), """
MATCH_NUMBER() counts matches that do not overlap, and is a measure of its own.
  where: line 2: ORDER BY time MEASURES MATCH_NUMBER() + 1 AS x PATTERN (A B) WITHIN 9)
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use MATCH_NUMBER() AS n and AFTER MATCH SKIP PAST LAST ROW.
"""),
    'classifier in define': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        "PATTERN (A B) WITHIN 9 DEFINE B AS CLASSIFIER() = 'A')"), """
CLASSIFIER is not part of a pattern here.
  where: line 2: RES A.len AS x PATTERN (A B) WITHIN 9 DEFINE B AS CLASSIFIER() = 'A')
                                                                   ^^^^^^^^^^
  hint:  Use FIRST, LAST, aggregates, or PREV in DEFINE.
"""),
    'no within': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A B))'), """
MATCH_RECOGNIZE without WITHIN would keep each begin without end.
  where: line 2: ORDER BY time MEASURES A.len AS x PATTERN (A B))
                          ^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Add WITHIN INTERVAL '1' HOUR after the pattern.
"""),
    'within': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        "PATTERN (A B) WITHIN INTERVAL '1' MINUTE)"), """
WITHIN needs a positive duration.
  where: line 2: MEASURES A.len AS x PATTERN (A B) WITHIN INTERVAL '1' MINUTE)
                                                                   ^^^
  hint:  Use WITHIN 60.
"""),
    'no measures': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time '
        'PATTERN (A B) WITHIN 9)'), """
MATCH_RECOGNIZE needs MEASURES and a PATTERN.
  where: line 2: ORDER BY time PATTERN (A B) WITHIN 9)
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Add MEASURES LAST(A.x) AS x PATTERN (A B).
"""),
    'no pattern': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x WITHIN 9)'), """
MATCH_RECOGNIZE needs MEASURES and a PATTERN.
  where: line 2: ORDER BY time MEASURES A.len AS x WITHIN 9)
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Add MEASURES LAST(A.x) AS x PATTERN (A B).
"""),
    'measure without name': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len, B.len AS y '
        'PATTERN (A B) WITHIN 9)'), """
A measure needs a name.
  where: line 2: ORDER BY time MEASURES A.len, B.len AS y PATTERN (A B) WITHIN 9)
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Add AS and a name.
"""),
    'all rows': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x ALL ROWS EACH MATCH '
        'PATTERN (A B) WITHIN 9)'), """
ALL ROWS EACH MATCH is not part of the language.
  where: line 2: ORDER BY time MEASURES A.len AS x ALL ROWS EACH MATCH PATTERN (A B) WITHIN 9)
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use ONE ROW PER MATCH, or ALL ROWS PER MATCH.
"""),
    'ambiguous rows': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x ALL ROWS PER MATCH '
        'PATTERN (A B* C) WITHIN 9 DEFINE C AS len > 2)'), """
ALL ROWS PER MATCH needs one variable for each row, and a row may be B or C.
  where: line 2: ORDER BY time MEASURES A.len AS x ALL ROWS PER MATCH PATTERN (A B* C) WITHIN 9 DEFINE C AS len > 2)
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Let their conditions exclude each other, such as x < 0 and x >= 0.
"""),
    'measure of a column': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS len ALL ROWS PER MATCH '
        'PATTERN (A B) WITHIN 9)'), """
'len' is a column of the rows already.
  where: line 2: ORDER BY time MEASURES A.len AS len ALL ROWS PER MATCH PATTERN (A B) WITHIN 9)
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Give the measure another name.
"""),
    'skip to': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x AFTER MATCH SKIP TO LAST B '
        'PATTERN (A B) WITHIN 9)'), """
AFTER MATCH SKIP TO LAST B is not part of the language.
  where: line 2: ORDER BY time MEASURES A.len AS x AFTER MATCH SKIP TO LAST B PATTERN (A B) WITHIN 9)
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use AFTER MATCH SKIP PAST LAST ROW, or AFTER MATCH SKIP TO NEXT ROW.
"""),
    'pattern order': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY len MEASURES A.len AS x '
        'PATTERN (A B) WITHIN 9)'), """
MATCH_RECOGNIZE needs ORDER BY with the event time.
  where: line 2: ORDER BY len MEASURES A.len AS x PATTERN (A B) WITHIN 9)
                          ^^^
  hint:  Use the ordered attribute: time.
"""),
    'no pattern order': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'MEASURES A.len AS x '
        'PATTERN (A B) WITHIN 9)'), """
MATCH_RECOGNIZE needs ORDER BY with the event time.
  where: line 2: MEASURES A.len AS x PATTERN (A B) WITHIN 9)
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Use the ordered attribute: time.
"""),
    'pattern of a table': (('SELECT * FROM hosts MATCH_RECOGNIZE (\n'
        'ORDER BY ip MEASURES A.ip AS x '
        'PATTERN (A B) WITHIN 9)'), """
MATCH_RECOGNIZE needs the rows of a stream, each at one time.
  where: line 2: ORDER BY ip MEASURES A.ip AS x PATTERN (A B) WITHIN 9)
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Leave out the table, HOLD, SLIDE or window.
"""),
    'pattern variable': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES D.len AS x '
        'PATTERN (A B) WITHIN 9)'), """
The pattern has no variable 'D'.
  where: line 2: ORDER BY time MEASURES D.len AS x PATTERN (A B) WITHIN 9)
                                        ^^^^^
  hint:  Its variables are A, B.
"""),
    'defined variable': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A B) WITHIN 9 DEFINE D AS len > 1)'), """
The pattern has no variable 'D'.
  where: line 2: MEASURES A.len AS x PATTERN (A B) WITHIN 9 DEFINE D AS len > 1)
                                                                   ^^^^^^^^^^^^
  hint:  Its variables are A, B.
"""),
    'pattern navigation': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A B) WITHIN 9 DEFINE B AS FIRST(len) > 1)'), """
FIRST needs a column of a variable.
  where: line 2: RES A.len AS x PATTERN (A B) WITHIN 9 DEFINE B AS FIRST(len) > 1)
                                                                   ^^^^^^^^^
  hint:  Use FIRST(A.x).
"""),
    'pattern offset': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES LAST(A.len, 2) AS x '
        'PATTERN (A B) WITHIN 9)'), """
LAST needs a column of a variable.
  where: line 2: ORDER BY time MEASURES LAST(A.len, 2) AS x PATTERN (A B) WITHIN 9)
                                        ^^^^^^^^^^^^^
  hint:  Use LAST(A.x).
"""),
    'next': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A B) WITHIN 9 DEFINE A AS len > NEXT(len))'), """
NEXT is not part of a pattern here.
  where: line 2: len AS x PATTERN (A B) WITHIN 9 DEFINE A AS len > NEXT(len))
                                                                   ^^^^^^^^
  hint:  Use FIRST, LAST, aggregates, or PREV in DEFINE.
"""),
    'pattern aggregate': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES median(A.len) AS x '
        'PATTERN (A B) WITHIN 9)'), """
MEASURES has count, sum, min, max and avg of a column.
  where: line 2: ORDER BY time MEASURES median(A.len) AS x PATTERN (A B) WITHIN 9)
                                        ^^^^^^^^^^^^
  hint:  Use sum(A.x), or count(*).
"""),
    'pattern sum of texts': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES sum(A.srcIP) AS x '
        'PATTERN (A B) WITHIN 9)'), """
MEASURES has count, sum, min, max and avg of a column.
  where: line 2: ORDER BY time MEASURES sum(A.srcIP) AS x PATTERN (A B) WITHIN 9)
                                        ^^^^^^^^^^^
  hint:  Use sum(A.x), or count(*).
"""),
    'previous': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A B) WITHIN 9 DEFINE B AS len > PREV(len, 2))'), """
PREV needs one column of the current row.
  where: line 2: len AS x PATTERN (A B) WITHIN 9 DEFINE B AS len > PREV(len, 2))
                                                                   ^^^^^^^^^^^
  hint:  Use PREV(x).
"""),
    'previous of the first': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A B) WITHIN 9 DEFINE A AS len > PREV(len))'), """
PREV in the condition of A would be of a row before the match.
  where: line 2: len AS x PATTERN (A B) WITHIN 9 DEFINE A AS len > PREV(len))
                                                                   ^^^^^^^^
  hint:  Add lag(x) OVER (...) AS before in a subquery, and compare with it.
"""),
    'own first': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A B) WITHIN 9 DEFINE B AS len > FIRST(B.len))'), """
FIRST in the condition of B is of the variable itself.
  where: line 2:  x PATTERN (A B) WITHIN 9 DEFINE B AS len > FIRST(B.len))
                                                                   ^^^^^
  hint:  Use a variable before it.
"""),
    'define': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A B) WITHIN 9 DEFINE B)'), """
DEFINE needs a condition for each variable.
  where: line 2: MEASURES A.len AS x PATTERN (A B) WITHIN 9 DEFINE B)
                                                                   ^
  hint:  Use DEFINE A AS x > 1.
"""),
    'empty braces': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A{}) WITHIN 9)'), """
Braces in a pattern hold counts.
  where: line 2: ORDER BY time MEASURES A.len AS x PATTERN (A{}) WITHIN 9)
                                                             ^
  hint:  Use {2}, {2,} or {2,5}.
"""),
    'open braces': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A{3, len + 1) WITHIN 9)'), """
Braces in a pattern hold counts.
  where: line 2: ORDER BY time MEASURES A.len AS x PATTERN (A{3, len + 1) WITHIN 9)
                                                             ^
  hint:  Use {2}, {2,} or {2,5}.
"""),
    'braces': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A{x}) WITHIN 9)'), """
Braces in a pattern hold counts.
  where: line 2: ORDER BY time MEASURES A.len AS x PATTERN (A{x}) WITHIN 9)
                                                             ^
  hint:  Use {2}, {2,} or {2,5}.
"""),
    'counts': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A{3,2}) WITHIN 9)'), """
Counts of a pattern are from small to large, and at most 60.
  where: line 2: ORDER BY time MEASURES A.len AS x PATTERN (A{3,2}) WITHIN 9)
                                                             ^^^^^
  hint:  Use {2}, {2,} or {2,5}.
"""),
    'pattern partition': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'PARTITION BY len + 1 ORDER BY time MEASURES A.len AS x '
        'PATTERN (A B) WITHIN 9)'), """
PARTITION BY needs columns.
  where: line 2: PARTITION BY len + 1 ORDER BY time MEASURES A.len AS x PATTERN (A B) WITHIN 9)
                              ^^^^^^^
  hint:  Name the columns.
"""),
    'nothing matches': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A*) WITHIN 9)'), """
A pattern must match at least one event; this one also matches none.
  where: line 2: ORDER BY time MEASURES A.len AS x PATTERN (A*) WITHIN 9)
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Make one of its events mandatory.
"""),
    'an aggregate in define': (('SELECT * FROM TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x '
        'PATTERN (A B) WITHIN 9 DEFINE B AS sum(A.len) > 5)'), """
An aggregate is not allowed here.
  where: line 2: RES A.len AS x PATTERN (A B) WITHIN 9 DEFINE B AS sum(A.len) > 5)
                                                                   ^^^^^^^^^
  hint:  Use HAVING, or a subquery.
"""),
    'pattern of a join': (('SELECT * FROM bids, TCP MATCH_RECOGNIZE (\n'
        'ORDER BY time MEASURES A.len AS x PATTERN (A B) WITHIN 9)'), """
MATCH_RECOGNIZE reads one stream, not a join.
  where: line 2: ORDER BY time MEASURES A.len AS x PATTERN (A B) WITHIN 9)
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Put the join into a subquery.
"""),
}
