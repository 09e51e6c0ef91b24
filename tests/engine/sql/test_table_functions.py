"""Operators as functions of tables: the plan is that of the method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.sql.logs import TCP
from whimbrel import col
from whimbrel.plan import FLUENT

SYN = wb.from_arrow({"time": [2, 5, 62, 71], "srcIP": ["a", "c", "a", "b"], "n": [1, 2, 3, 4]}, time="time", name="SYN")
WAVE = wb.from_samples({"x": [0.0, 1.0, 2.0, 3.0]}, rate=100)
CLOCK = wb.from_arrow({"time": pa.array([0, 10], pa.timestamp("ms")), "index": [0, 1],
                       "at": pa.array([0, 10], pa.timestamp("ms"))}, time="time", name="CLOCK")
PLACES = wb.from_arrow({"time": [1, 2], "place": [{"lon": 8.1, "lat": 50.2}, None]}, time="time", name="PLACES")
STREAMS = {"TCP": TCP, "SYN": SYN, "WAVE": WAVE, "CLOCK": CLOCK, "PLACES": PLACES}

CALLS: dict[str, tuple[str, Callable[[], wb.Stream]]] = {
    "above": ("ABOVE(TCP, len, 15, min => 2)", lambda: TCP.above(col.len, 15, min=2)),
    "aggregate": ("AGGREGATE(TABLE SLIDING_WINDOW(TCP, 60) PARTITION BY srcIP, n => count(*), m => max(len))",
                  lambda: TCP.sliding_window(60).group_by("srcIP").aggregate(n=wb.count(), m=wb.max(col.len))),
    "alter_lifetime": ("ALTER_LIFETIME(TCP, duration => protocol)", lambda: TCP.alter_lifetime(duration=col.protocol)),
    "anti_join": ("ANTI_JOIN(TCP, SYN, srcIP)", lambda: TCP.anti_join(SYN, "srcIP")),
    "asof_join": ("ASOF_JOIN(TCP, SYN, on => srcIP, tolerance => 10)",
                  lambda: TCP.asof_join(SYN, on="srcIP", tolerance=10)),
    "assume": ("ASSUME(TCP, duration => 1)", lambda: TCP.assume(duration=1)),
    "cfar": ("CFAR(TCP, len, deviations => 3)", lambda: TCP.cfar(col.len, deviations=3)),
    "chop": ("CHOP(HOPPING_WINDOW(TCP, 60, 30), 15)", lambda: TCP.hopping_window(60, 30).chop(15)),
    "clip_at": ("CLIP_AT(SET_DURATION(TCP, NULL), SYN, srcIP)", lambda: TCP.set_duration(None).clip_at(SYN, "srcIP")),
    "clip_duration": ("CLIP_DURATION(SET_DURATION(TCP, 9), 5)", lambda: TCP.set_duration(9).clip_duration(5)),
    "cross_join": ("CROSS_JOIN(TCP, SYN, how => 'left')", lambda: TCP.cross_join(SYN, how="left")),
    "distinct": ('"distinct"(TCP, srcIP, destIP)', lambda: TCP.distinct("srcIP", "destIP")),
    "distinct_within": ("DISTINCT_WITHIN(TABLE TCP PARTITION BY srcIP, 30, by => 'destIP')",
                        lambda: TCP.group_by("srcIP").distinct_within(30, by="destIP")),
    "drop": ('"drop"(TCP, len)', lambda: TCP.drop("len")),
    "edges": ("EDGES(TCP)", TCP.edges),
    "explode": ("EXPLODE(TCP, x, ARRAY[len, protocol])", lambda: TCP.explode("x", [col.len, col.protocol])),
    "epoch_aggregate": (
        "EPOCH_AGGREGATE(TABLE TCP PARTITION BY srcIP, 60, count(*) = 0, n => count(*), m => max(len))",
        lambda: TCP.group_by("srcIP").epoch_aggregate(60, wb.count() == 0, n=wb.count(), m=wb.max(col.len))),
    "extend": ("EXTEND(TCP, 5)", lambda: TCP.extend(5)),
    "hopping_window": ("HOPPING_WINDOW(TCP, 60, hop => 30)", lambda: TCP.hopping_window(60, hop=30)),
    "join": ("\"join\"(TCP, SYN, DESCRIPTOR(srcIP), suffix => '_s')", lambda: TCP.join(SYN, "srcIP", suffix="_s")),
    "last_rows": ("LAST_ROWS(TABLE TCP PARTITION BY srcIP, 3)", lambda: TCP.group_by("srcIP").last_rows(3)),
    "on_clock": ("ON_CLOCK(WAVE, CLOCK, index => 'index', time => 'at')",
                 lambda: WAVE.on_clock(CLOCK, index="index", time="at")),
    "pivot": ('"pivot"(TUMBLING_WINDOW(TCP, 60), srcIP, attribute => protocol, value => len, "values" => ARRAY[6, 17])',
              lambda: TCP.tumbling_window(60).pivot("srcIP", attribute="protocol", value="len", values=[6, 17])),
    "point_at_end": ("POINT_AT_END(SET_DURATION(TCP, 5))", lambda: TCP.set_duration(5).point_at_end()),
    "progressive_window": ("PROGRESSIVE_WINDOW(TCP, 60, 60, 20)", lambda: TCP.progressive_window(60, 60, 20)),
    "quantize": ("QUANTIZE(TCP, 60, 30)", lambda: TCP.quantize(60, 30)),
    "rename": ('"rename"(TCP, bytes => len)', lambda: TCP.rename(bytes="len")),
    "retime": ("RETIME(TCP, start_time() * 2)", lambda: TCP.retime(wb.start_time() * 2)),
    "rewindow": ("REWINDOW(WAVE, 2)", lambda: WAVE.rewindow(2)),
    "sample": ("SAMPLE(TCP, 0.5, srcIP, seed => 7)", lambda: TCP.sample(0.5, "srcIP", seed=7)),
    "samples": ("SAMPLES(REWINDOW(WAVE, 2))", lambda: WAVE.rewindow(2).samples()),
    "select": ('"select"(TCP, time, twice => len * 2)', lambda: TCP.select("time", twice=col.len * 2)),
    "semi_join": ("SEMI_JOIN(TCP, SET_DURATION(SYN, 10), srcIP, nulls_equal => TRUE)",
                  lambda: TCP.semi_join(SYN.set_duration(10), "srcIP", nulls_equal=True)),
    "session_window": ("SESSION_WINDOW(TABLE TCP PARTITION BY srcIP, 10, emit => 'close')",
                       lambda: TCP.group_by("srcIP").session_window(10, emit="close")),
    "set_duration": ("SET_DURATION(TCP, NULL)", lambda: TCP.set_duration(None)),
    "shift": ("SHIFT(TCP, -5)", lambda: TCP.shift(-5)),
    "sliding_window": ("SLIDING_WINDOW(TCP, 60)", lambda: TCP.sliding_window(60)),
    "stitch": ("STITCH(TCP)", TCP.stitch),
    "sync": ("SYNC(CLOCK, WAVE, before => INTERVAL '1' SECOND)", lambda: CLOCK.sync(WAVE, before="1s")),
    "top_k": ("TOP_K(TABLE TCP PARTITION BY srcIP, 2, len, ties => FALSE)",
              lambda: TCP.group_by("srcIP").top_k(2, col.len, ties=False)),
    "tumbling_window": ("TUMBLING_WINDOW(TCP, 60, offset => 10)", lambda: TCP.tumbling_window(60, offset=10)),
    "union": ('"union"(TCP, TCP, TCP)', lambda: TCP.union(TCP, TCP)),
    "unnest": ('"unnest"(PLACES, place)', lambda: PLACES.unnest("place")),
    "unpivot": ('"unpivot"("select"(TCP, len, protocol), len, attribute => which)',
                lambda: TCP.select("len", "protocol").unpivot("len", attribute="which")),
    "where": ('"where"(TCP, len > 10, protocol = 6)', lambda: TCP.where(col.len > 10, col.protocol == 6)),
    "with_columns": ("WITH_COLUMNS(TCP, y => len * 2)", lambda: TCP.with_columns(y=col.len * 2)),
    "zip": ("ZIP(WAVE, WAVE)", lambda: WAVE.zip(WAVE)),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_plan_is_that_of_the_method(name: str) -> None:
    text, python = CALLS[name]
    assert wb.sql(f"SELECT * FROM {text}", **STREAMS).explain() == python().explain()


def test_every_operator_is_a_function_or_refused() -> None:
    assert {*CALLS, "detect", "process"} == {*FLUENT}


def test_calls_stand_where_tables_stand() -> None:
    found = wb.sql("SELECT tb, count(*) AS n FROM SAMPLE(TCP, 1.0, srcIP) s JOIN HOLD(SYN) h ON s.srcIP = h.srcIP "
                   "GROUP BY s.time/60 AS tb", **STREAMS)
    assert found.collect()["n"].to_pylist() == [3, 1]


REFUSED = {
    "of Python": ("SELECT * FROM DETECT(TCP)", """
DETECT has arguments that only Python can write.
  where: line 1: SELECT * FROM DETECT(TCP)
                               ^^^^^^^^^^
  hint:  Use MATCH_RECOGNIZE.
"""),
    "a missing argument": ("SELECT * FROM SHIFT(TCP)", """
SHIFT needs amount.
  where: line 1: SELECT * FROM SHIFT(TCP)
                               ^^^^^^^^^
  hint:  Add amount => value.
"""),
    "too many": ("SELECT * FROM SHIFT(TCP, 5, 6)", """
SHIFT has too many arguments.
  where: line 1: SELECT * FROM SHIFT(TCP, 5, 6)
                                             ^
  hint:  Its arguments are amount.
"""),
    "a name": ("SELECT * FROM SHIFT(TCP, amnt => 5)", """
SHIFT has no argument 'amnt'.
  where: line 1: SELECT * FROM SHIFT(TCP, amnt => 5)
                                                  ^
  hint:  Use 'amount'; the arguments are amount.
"""),
    "a table": ("SELECT * FROM SHIFT(len + 1, 5)", """
SHIFT needs a table.
  where: line 1: SELECT * FROM SHIFT(len + 1, 5)
                                     ^^^^^^^
  hint:  Use SHIFT(t, ...).
"""),
    "two tables": ("SELECT * FROM SEMI_JOIN(TCP)", """
SEMI_JOIN needs two tables.
  where: line 1: SELECT * FROM SEMI_JOIN(TCP)
                               ^^^^^^^^^^^^^
  hint:  Use SEMI_JOIN(a, b, ...).
"""),
    "keys": ("SELECT * FROM SHIFT(TABLE TCP PARTITION BY srcIP, 5)", """
SHIFT has no keys.
  where: line 1: SELECT * FROM SHIFT(TABLE TCP PARTITION BY srcIP, 5)
                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Leave PARTITION BY out.
"""),
    "keys that are no columns": ("SELECT * FROM TOP_K(TABLE TCP PARTITION BY 1, 2, len)", """
PARTITION BY needs columns.
  where: line 1: SELECT * FROM TOP_K(TABLE TCP PARTITION BY 1, 2, len)
                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Name the columns.
"""),
    "a duration": ("SELECT * FROM SHIFT(TCP, 'x')", """
Cannot read 'x' as a duration.
  where: line 1: SELECT * FROM SHIFT(TCP, 'x')
                               ^^^^^^^^^^^^^^
  hint:  Use a number with a unit, such as "250ms", "5m" or "1h30m"; units: ns us ms s m h d w, alone mo q y.
"""),
    "a word of SQL": ("SELECT * FROM UNPIVOT(TCP, len)", """
UNPIVOT is an operator, and a word of SQL too.
  where: line 1: SELECT * FROM UNPIVOT(TCP, len)
                               ^^^^^^^^^^^^^^^^
  hint:  Write its name in double quotes: "unpivot"(t, ...).
"""),
    "other values": ("SELECT * FROM EXPLODE(TCP, len, 5)", """
explode() needs a list of values, got 5.
  where: line 1: SELECT * FROM EXPLODE(TCP, len, 5)
                               ^^^^^^^^^^^^^^^^^^^
  hint:  See the functions in docs/sql.md.
"""),
    "a window": ("SELECT * FROM SHIFT(TUMBLE(TCP, time, 60), 5)", """
A window needs rows that have no window yet.
  where: line 1: SELECT * FROM SHIFT(TUMBLE(TCP, time, 60), 5)
                                     ^^^^^^^^^^^^^^^^^^^^
  hint:  Use GROUP BY window_start first, in a subquery.
"""),
}


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=list(REFUSED))
def test_the_refusal(text: str, words: Any) -> None:
    with pytest.raises(wb.SqlError) as refused:
        wb.sql(text, **STREAMS)
    assert str(refused.value) == words.strip()
