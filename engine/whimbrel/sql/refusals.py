"""Sentences and hints for constructs that the language does not have."""

from __future__ import annotations

from typing import Final

REFUSALS: Final[dict[str, tuple[str, str]]] = {
    "statement": ("This statement is not part of the language: {text}.",
                  "Use SELECT, MERGE a.t : b.t, VALUES, CREATE VIEW, CREATE STREAM or EXPLAIN."),
    "empty": ("The text has no query.", "Write a query, such as SELECT x FROM log."),
    "several": ("wb.sql needs one query, got {count}.", "Use wb.sql.script for several."),
    "explain": ("wb.sql gives a stream, and EXPLAIN gives a text.", "Use wb.sql(...).explain(), or wb.sql.script."),
    "clause": ("{clause} is not part of the language here.", "Leave it out."),
    "expression": ("This expression is not part of the language: {text}.", "Use the functions of the page on SQL."),
    "caret": ("^ is a power in some databases, and the bits that differ in others.",
              "Use power(x, y), or xor(x, y) for bits."),
    "files": ("SQL reads the streams that it is given. It opens no files.",
              'Pass the file as a stream: flights=wb.read_parquet("flights.parquet", time="departure").'),
    "wall clock": ("{name} is another value in each run, so a backtest would differ from a live run.",
                   "Use the event time, or SLIDE(t, INTERVAL '1' HOUR) for the last hour."),
    "group without epoch": (
        "Nothing in GROUP BY follows an ordered attribute, so no group is ever complete.",
        "Add an epoch, such as {epoch}, or a window; ordered here: {ordered}."),
    "lost order": ("{text} {reason}, so it closes no group.", "Group by {epoch} too."),
    "endless aggregate": (
        "The aggregate of a stream has no end.",
        "Add GROUP BY with an epoch, such as {epoch}, or use HOLD(t) for totals so far."),
    "endless distinct": ("DISTINCT of a stream has no end.", "Use it over a window, such as TUMBLE, or over HOLD(t)."),
    "unnest with a condition": ("UNNEST makes a row for each item, and has no condition or outer join.",
                                "Use CROSS JOIN UNNEST(list) AS u(x), and WHERE."),
    "over of sets": ("OVER and QUALIFY are of the rows of all sets, and each set has its own rows here.",
                     "Put the groups into a subquery, and OVER outside."),
    "sets without epoch": ("{name} of two streams needs an epoch that both select, as rows meet in equal epochs.",
                           "Select the event time or an epoch, such as time/60, in the same place on both sides."),
    "hop without group": ("The rows of HOP are in several windows, and only GROUP BY tells them apart.",
                          "Add GROUP BY window_start, window_end."),
    "window not grouped": ("This GROUP BY does not name its window, so no group is ever complete.",
                           "Add window_start to GROUP BY."),
    "one bound": ("Windows with one {bound} may overlap, so no group is ever complete.", "Add {other} to GROUP BY."),
    "partial windows of the calendar": (
        "CUMULATE by days needs times in UTC or without a zone, and a size in days or weeks.",
        "Use TUMBLE or HOP, or hours, such as INTERVAL '24' HOUR."),
    "month as size": ("A month has no fixed length.",
                      "Use GROUP BY date_trunc('month', ts), or days, such as INTERVAL '30' DAY."),
    "order inside": ("Rows of a stream are in the order of time. ORDER BY and LIMIT work on the collected result only.",
                     "Use QUALIFY row_number() OVER (... ORDER BY x DESC) <= n within a window."),
    "limit without order": ("LIMIT without ORDER BY gives other rows in each run.", "Add ORDER BY."),
    "emit inside": ("EMIT AT is of a whole query, and its results go to no other query.",
                    "Put EMIT AT at the end of the statement, after everything else."),
    "emit of a view": ("A view has one result, and EMIT AT gives one for each latency.",
                       "Put EMIT AT at the end of the query that reads the view."),
    "emit in order": ("Several latencies give a changelog, and ORDER BY and LIMIT work on one result.",
                      "Leave ORDER BY and LIMIT out, and sort the table of one latency."),
    "join without times": (
        "This join relates no times, so each row would wait for its partner without end.",
        "Relate the times, such as {left} = {right} or BETWEEN, or use ASOF JOIN, a table or HOLD(t)."),
    "lookahead": ("Results of a window would be used before the window has closed.",
                  "Give both sides windows of one size, or join with a table."),
    "windows of two sizes": ("Rows of windows of two sizes do not meet.", "Give both sides windows of one size."),
    "rows frame": ("ROWS counts rows before the current row, and rows without an order have none.",
                   "Add ORDER BY with the event time."),
    "following": ("A frame that ends after the current row looks ahead.", "End the frame at CURRENT ROW."),
    "lateral": ("LATERAL needs a plain SELECT, or aggregates without GROUP BY, and no condition of its own.",
                "For the first rows of each key use QUALIFY row_number() OVER (...) <= n in a subquery, and join it."),
    "lateral value": ("A value of LATERAL is of the rows inside.", "Compute it in the outer SELECT list."),
    "subquery in on": ("A subquery in ON of an outer join must choose rows of the side that may be missing.",
                       "Put the condition into WHERE, or into a subquery of that side."),
    "distinct on": ("DISTINCT ON needs ORDER BY with one more expression, which chooses the row of each key.",
                    "Use SELECT DISTINCT ON (k) ... ORDER BY k, x."),
    "distinct on and qualify": ("DISTINCT ON and QUALIFY are not part of one query.",
                                "Use row_number() in QUALIFY alone."),
    "pivot statement": ("PIVOT needs one column with its values, and USING.",
                        "Use PIVOT t ON k IN ('a', 'b') USING sum(x)."),
    "lead": ("LEAD looks ahead.", "Use LAG."),
    "unbounded numbers": ("{name} numbers every row, so every row of the stream would be kept.",
                          "Use QUALIFY {name}() OVER (...) <= n, or ORDER BY the event time."),
    "numbers across windows": ("{name} of rows of several windows is never final.",
                               "Add window_start to PARTITION BY, or the epoch."),
    "operator of Python": ("{name} has arguments that only Python can write.", "Use {use}."),
    "random": ("{name} gives other values in each run.", "Use a column of the stream."),
    "closing without epoch": ("CLOSING_WHEN is asked at the end of each epoch, and GROUP BY has none.",
                              "Add an epoch, such as {epoch}; ordered here: {ordered}."),
    "running without closing": ("A running aggregate keeps a state for each key ever seen.",
                                "Add CLOSING_WHEN count(*) = 0, or CLOSING_WHEN FALSE if that is meant."),
    "pattern form": ("A pattern is variables, groups, alternatives and quantifiers, got {text!r}.",
                     "Use PATTERN (A (B | C)+ D?)."),
    "pattern absence": ("A pattern matches rows that exist, not the absence of a row, got {text!r}.",
                        'Use log.detect(..., then=wb.absent(within="1h")), and give its result to sql() as a stream.'),
    "pattern permutation": ("PERMUTE(...) is not part of the language.",
                            "Write the orders as alternatives, such as PATTERN ((A B) | (B A))."),
    "no within": ("MATCH_RECOGNIZE without WITHIN would keep each begin without end.",
                  "Add WITHIN INTERVAL '1' HOUR after the pattern."),
    "within": ("WITHIN needs a positive duration.", "Use {form}."),
    "no measures": ("MATCH_RECOGNIZE needs MEASURES and a PATTERN.", "Add MEASURES LAST(A.x) AS x PATTERN (A B)."),
    "measure without name": ("A measure needs a name.", "Add AS and a name."),
    "all rows": ("{text} is not part of the language.", "Use ONE ROW PER MATCH, or ALL ROWS PER MATCH."),
    "ambiguous rows": ("ALL ROWS PER MATCH needs one variable for each row, and a row may be {one} or {other}.",
                       "Let their conditions exclude each other, such as x < 0 and x >= 0."),
    "measure of a column": ("{name!r} is a column of the rows already.", "Give the measure another name."),
    "skip to": ("{text} is not part of the language.",
                "Use AFTER MATCH SKIP PAST LAST ROW, or AFTER MATCH SKIP TO NEXT ROW."),
    "match number": ("MATCH_NUMBER() counts matches that do not overlap, and is a measure of its own.",
                     "Use MATCH_NUMBER() AS n and AFTER MATCH SKIP PAST LAST ROW."),
    "pattern order": ("MATCH_RECOGNIZE needs ORDER BY with the event time.", "Use the ordered attribute: {name}."),
    "pattern of others": ("MATCH_RECOGNIZE needs the rows of a stream, each at one time.",
                          "Leave out the table, HOLD, SLIDE or window."),
    "pattern of a join": ("MATCH_RECOGNIZE reads one stream, not a join.", "Put the join into a subquery."),
    "pattern variable": ("The pattern has no variable {name!r}.", "Its variables are {known}."),
    "pattern navigation": ("{name} needs a column of a variable.", "Use {name}({variable}.x)."),
    "pattern function": ("{name} is not part of a pattern here.", "Use FIRST, LAST, aggregates, or PREV in DEFINE."),
    "pattern aggregate": ("MEASURES has count, sum, min, max and avg of a column.", "Use sum(A.x), or count(*)."),
    "previous": ("PREV needs one column of the current row.", "Use PREV(x)."),
    "previous of the first": ("PREV in the condition of {name} would be of a row before the match.",
                              "Add lag(x) OVER (...) AS before in a subquery, and compare with it."),
    "own first": ("FIRST in the condition of {name} is of the variable itself.", "Use a variable before it."),
    "moving_sum": ("{name} keeps sums of epochs, and OVER has them.",
                   "Use sum(s) OVER (PARTITION BY k ORDER BY tb ROWS 4 PRECEDING) over a query of epochs."),
    "histogram": ("histogram is a map of counts elsewhere, and a list of counts of given bins here.",
                  "Use count(*) FILTER (WHERE x >= 0 AND x < 10) for each bin, or wb.histogram in Python."),
    "rate": ("The rate of a counter needs the time of its values, and no word of SQL takes it.",
             "Divide increase(x) by the length of the window, or use wb.rate in Python."),
    "sampling": ("{text} is not part of the language.", "Use SAMPLE(t, 0.1, k) for all rows of a tenth of the keys."),
    "byte_match_offset": ("{name} reads bytes, and payloads are texts here.", "Use str_match_offset(0, 'GET', text)."),
    "define": ("DEFINE needs a condition for each variable.", "Use DEFINE A AS x > 1."),
}
"""Sentences and hints by name; the braces are filled at the place."""

FILE_FUNCTIONS: Final = frozenset((
    "read_csv", "read_csv_auto", "read_parquet", "parquet_scan", "read_json", "read_json_auto", "read_text",
    "read_blob", "glob", "csv_scan", "sniff_csv", "iceberg_scan", "delta_scan", "sqlite_scan", "postgres_scan",
    "load_file",
))
"""Functions of other engines that open files."""

WALL_CLOCK: Final = frozenset((
    "now", "current_date", "current_time", "current_timestamp", "localtime", "localtimestamp", "today", "getdate",
    "sysdate", "proctime", "unix_timestamp", "clock_timestamp", "transaction_timestamp", "mz_now", "utc_timestamp",
    "utc_date", "utc_time", "get_current_timestamp", "statement_timestamp",
))
"""Functions of other engines that read the wall clock."""

RANDOM: Final = frozenset(("random", "rand", "uuid", "gen_random_uuid", "setseed", "nextval", "randn"))
"""Functions of other engines that give other values in each run."""

MANUAL_JOINS: Final[dict[str, str]] = {
    "INNER_JOIN": "SELECT R.k INNER_JOIN FROM R, S WHERE R.k = S.k",
    "OUTER_JOIN": "SELECT R.k OUTER_JOIN FROM R, S WHERE R.k = S.k",
    "LEFT_OUTER_JOIN": "SELECT R.k LEFT_OUTER_JOIN FROM R, S WHERE R.k = S.k",
    "RIGHT_OUTER_JOIN": "SELECT R.k RIGHT_OUTER_JOIN FROM R, S WHERE R.k = S.k",
    "FILTER_JOIN": "SELECT R.k FILTER_JOIN(time, 60) FROM R, S WHERE R.k = S.k",
}
"""Joins as TigonSQL's manual spells them, and how to write them."""


def refusal(kind: str, /, **values: object) -> tuple[str, str]:
    """The sentence and the hint of a refusal, with values filled in."""
    what, hint = REFUSALS[kind]
    return what.format(**values), hint.format(**values)
