"""CREATE STREAM: what a stream of Python must be."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.sql.logs import BIDS, TCP
from whimbrel import col

LATE = wb.from_arrow({"time": [5, 1, 9], "x": [1, 2, 3]}, time="time", reorder_latency=4, name="LATE")
NUMBERS = wb.from_arrow({"time": [1, 2, 3], "seq": [3, 2, 4], "left": [9, 9, 4]}, time="time", name="NUMBERS")
STREAMS: dict[str, Any] = {"NUMBERS": NUMBERS, "TCP": TCP, "bids": BIDS, "late": LATE, "hosts": pa.table({"ip": ["a"]})}


def test_a_declared_stream_has_its_declared_columns() -> None:
    text = """
        CREATE STREAM TCP (time BIGINT INCREASING, len BIGINT, srcIP VARCHAR(15), TIME time);
        SELECT * FROM TCP WHERE len > 20
    """
    found = wb.sql(text, **STREAMS)
    assert found.explain() == TCP.select("time", "len", "srcIP").where(wb.col.len > 20).explain()
    counts = wb.sql(text.replace("SELECT *", "SELECT tb, count(*) AS n") + "GROUP BY time/60 AS tb", **STREAMS)
    assert counts.collect()["n"].to_pylist() == [2]
    assert list(wb.sql.script(text, **STREAMS)) == ["result"]


@pytest.mark.parametrize("text", [
    "CREATE STREAM bids (ts TIMESTAMP INCREASING, k TEXT, price DOUBLE, TIME ts); SELECT * FROM bids",
    "CREATE STREAM bids (ts TIMESTAMP BANDED '5s', k TEXT, price DOUBLE, TIME ts); SELECT * FROM bids"])
def test_a_declaration_of_all_columns_adds_no_step(text: str) -> None:
    assert wb.sql(text, **STREAMS).explain() == BIDS.explain()


def test_a_band_is_the_most_reorder_latency() -> None:
    text = "CREATE STREAM late (time BIGINT BANDED 4, x BIGINT, TIME time); SELECT * FROM late"
    assert wb.sql(text, **STREAMS).explain() == LATE.explain()


def test_other_columns_have_orders_too() -> None:
    text = """
        CREATE STREAM NUMBERS (time BIGINT INCREASING, seq BIGINT BANDED 1, left BIGINT DECREASING, TIME time);
        SELECT s, count(*) AS n FROM NUMBERS GROUP BY {} AS s
    """
    declared = NUMBERS.assume(increasing="seq", band=1).assume(decreasing="left")
    by_number, by_rest = (wb.sql(text.format(key), **STREAMS) for key in ("seq * 2", "left + 1"))
    assert by_number.explain() == declared.retime(col.seq * 2).group_by(s=col.seq * 2).aggregate(n=wb.count()).explain()
    assert by_number.collect()["n"].to_pylist() == [1, 1, 1]
    assert by_rest.explain() == declared.retime(-(col.left + 1)).group_by(s=col.left + 1).aggregate(
        n=wb.count()).explain()
    assert by_rest.collect()["s"].to_pylist() == [10, 5]


def test_an_ordered_column_can_be_the_event_time() -> None:
    text = """
        CREATE STREAM NUMBERS (seq BIGINT BANDED 1, TIME seq);
        SELECT s, count(*) AS n FROM NUMBERS GROUP BY seq/2 AS s
    """
    python = NUMBERS.select("seq").assume(increasing="seq", band=1).retime(col.seq).tumbling_window(2).aggregate(
        s=wb.window_start() // 2, n=wb.count())
    assert wb.sql(text, **STREAMS).explain() == python.explain()
    assert python.collect()["n"].to_pylist() == [2, 1]
    falling = wb.sql("CREATE STREAM NUMBERS (left BIGINT DECREASING, TIME left); SELECT * FROM NUMBERS", **STREAMS)
    assert falling.explain() == NUMBERS.select("left").assume(decreasing="left").retime(-col.left).explain()


REFUSED = {
    "order": ("CREATE STREAM late (time BIGINT BANDED 3, TIME time)", """
The text says that 'time' is at most 3 out of order, and its source has a reorder latency of 4.
  where: line 1: CREATE STREAM late (time BIGINT BANDED 3, TIME time)
                                                 ^^^^^^
  hint:  Use BANDED 4.
"""),
    "in order": ("CREATE STREAM late (time BIGINT INCREASING, TIME time)", """
The text says that 'time' is in order, and its source has a reorder latency of 4.
  where: line 1: CREATE STREAM late (time BIGINT INCREASING, TIME time)
                                                 ^^^^^^^^^^
  hint:  Use BANDED 4.
"""),
    "decreasing": ("CREATE STREAM late (time BIGINT DECREASING, TIME time)", """
An event time must be INCREASING or BANDED.
  where: line 1: CREATE STREAM late (time BIGINT DECREASING, TIME time)
                                                 ^^^^^^^^^^
  hint:  Make a time of the negative value where the stream is made.
"""),
    "another column": ("CREATE STREAM TCP (time BIGINT, srcIP VARCHAR INCREASING, TIME time)", """
An ordered column must have integers or timestamps, got 'srcIP' of type string.
  where: line 1: CREATE STREAM TCP (time BIGINT, srcIP VARCHAR INCREASING, TIME time)
                                                 ^^^^^^^^^^^^^^^^^^^^^^^^
  hint:  Cast it to int64.
"""),
    "a duration of integers": ("CREATE STREAM TCP (time BIGINT, len BIGINT BANDED '5s', TIME time)", """
This stream has integer times, so a duration must be an int in ticks, got '5s'.
  where: line 1: CREATE STREAM TCP (time BIGINT, len BIGINT BANDED '5s', TIME time)
                                                 ^^^^^^^^^^^^^^^^^
  hint:  Use an int, in ticks, or a time column of type timestamp.
"""),
    "type": ("CREATE STREAM TCP (time BIGINT, len DOUBLE, TIME time)", """
The column 'len' is int64, and the text says double.
  where: line 1: CREATE STREAM TCP (time BIGINT, len DOUBLE, TIME time)
                                                 ^^^
  hint:  Change the type, or cast the column of the stream.
"""),
    "no such type": ("CREATE STREAM TCP (time BIGINTT, TIME time)", """
There is no type 'BIGINTT'.
  where: line 1: CREATE STREAM TCP (time BIGINTT, TIME time)
                                    ^^^^^^^^^^^^
  hint:  Use BIGINT, DOUBLE, VARCHAR, BOOLEAN, DATE, TIMESTAMP or DECIMAL.
"""),
    "column": ("CREATE STREAM TCP (time BIGINT, lenn BIGINT, TIME time)", """
The stream has no column 'lenn'.
  where: line 1: CREATE STREAM TCP (time BIGINT, lenn BIGINT, TIME time)
                                                 ^^^^
  hint:  Use 'len'; the columns are time, srcIP, destIP, protocol, len, fin.
"""),
    "time": ("CREATE STREAM TCP (time BIGINT, len BIGINT, TIME len)", """
'len' is not the event time of the stream 'TCP'.
  where: line 1: CREATE STREAM TCP (time BIGINT, len BIGINT, TIME len)
                                                                  ^^^
  hint:  Use the event time: time.
"""),
    "time without a column": ("CREATE STREAM TCP (time BIGINT, TIME tim)", """
TIME names no column: 'tim'.
  where: line 1: CREATE STREAM TCP (time BIGINT, TIME tim)
                                                      ^^^
  hint:  Use 'time'; the columns are time.
"""),
    "no time": ("CREATE STREAM TCP (time BIGINT)", """
CREATE STREAM must name the event time.
  where: line 1: CREATE STREAM TCP (time BIGINT)
                               ^^^
  hint:  Use CREATE STREAM s (ts TIMESTAMP INCREASING, k VARCHAR, TIME ts).
"""),
    "a table": ("CREATE STREAM hosts (ip VARCHAR, TIME ip)", """
CREATE STREAM declares a stream that is passed, and 'hosts' is a table.
  where: line 1: CREATE STREAM hosts (ip VARCHAR, TIME ip)
                               ^^^^^
  hint:  Pass it: wb.sql(..., hosts=wb.from_arrow(table, time='ip')).
"""),
    "nothing": ("CREATE STREAM flights (ts TIMESTAMP, TIME ts)", """
CREATE STREAM declares a stream that is passed, and 'flights' is no stream.
  where: line 1: CREATE STREAM flights (ts TIMESTAMP, TIME ts)
                               ^^^^^^^
  hint:  Pass it: wb.sql(..., flights=wb.from_arrow(table, time='ts')).
"""),
    "no columns": ("CREATE STREAM flights", """
CREATE STREAM needs a name and columns in parentheses.
  where: line 1: CREATE STREAM flights
                        ^^^^^^
  hint:  Use CREATE STREAM s (ts TIMESTAMP INCREASING, k VARCHAR, TIME ts).
"""),
    "no type": ("CREATE STREAM TCP (time, TIME time)", """
A column of CREATE STREAM has a name and a type.
  where: line 1: CREATE STREAM TCP (time, TIME time)
                                    ^^^^
  hint:  Use CREATE STREAM s (ts TIMESTAMP INCREASING, k VARCHAR, TIME ts).
"""),
    "a band": ("CREATE STREAM late (time BIGINT BANDED, TIME time)", """
BANDED needs a number of ticks or a duration.
  where: line 1: CREATE STREAM late (time BIGINT BANDED, TIME time)
                                                 ^^^^^^
  hint:  Use BANDED 5, or BANDED '5s'.
"""),
    "words after an order": ("CREATE STREAM late (time BIGINT INCREASING 5, TIME time)", """
Nothing stands after INCREASING.
  where: line 1: CREATE STREAM late (time BIGINT INCREASING 5, TIME time)
                                                 ^^^^^^^^^^^^
  hint:  Use BANDED 5, or BANDED '5s'.
"""),
}


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=list(REFUSED))
def test_the_refusal(text: str, words: str) -> None:
    with pytest.raises(wb.SqlError) as refused:
        wb.sql(f"{text}; SELECT 1", **STREAMS)
    assert str(refused.value).replace("; SELECT 1", "") == words.strip()
