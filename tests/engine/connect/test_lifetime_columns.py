from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv

import whimbrel as wb
from tests.engine.connect.reading import rows
from whimbrel.clock import INF
from whimbrel.connect import ArrowSource
from whimbrel.errors import PlanError, SchemaError, SourceError, WhimbrelError
from whimbrel.plan import OrderingSpec


def table(type_: pa.DataType, *values: int | None, **more: pa.Array) -> pa.Table:
    return pa.table({"t": pa.array(values, pa.int64()).cast(type_), **more})


def refusal(kind: type[WhimbrelError], data: pa.Table, **arguments: object) -> WhimbrelError:
    with pytest.raises(kind) as caught:
        rows(ArrowSource(data, **{"time": "t", **arguments}), [])
    return caught.value


@pytest.mark.parametrize(("type_", "unit", "zone"), (
    (pa.int64(), None, None),
    (pa.int32(), None, None),
    (pa.uint64(), None, None),
    (pa.timestamp("s"), "s", None),
    (pa.timestamp("ns", "Europe/Paris"), "ns", "Europe/Paris"),
    (pa.date64(), "ms", None),
))
def test_the_time_column_says_what_a_tick_is(type_: pa.DataType, unit: str | None, zone: str | None) -> None:
    ticks = [0, 86_400_000]
    source = ArrowSource(pa.table({"t": pa.array(ticks, pa.int64()).cast(type_)}), time="t")
    assert (source.schema.unit, source.schema.zone) == (unit, zone)
    assert [row[:2] for row in rows(source, [])] == [(0, 1), (86_400_000, 86_400_001)]


def test_days_are_counted_in_seconds() -> None:
    days = pa.table({"t": [date(1970, 1, 2)], "until": [date(1970, 1, 4)]})
    assert rows(ArrowSource(days, time="t", end="until"), ["t"]) == [(86_400, 3 * 86_400, date(1970, 1, 2))]


def test_an_end_that_is_not_known_is_infinite() -> None:
    data = pa.table({"t": [1, 2], "until": [5, None]})
    assert rows(ArrowSource(data, time="t", end="until"), []) == [(1, 5), (2, INF)]


def test_an_end_may_be_coarser_or_finer_than_the_time() -> None:
    milliseconds = table(pa.timestamp("ms"), 1_500, until=pa.array([2], pa.timestamp("s")))
    assert rows(ArrowSource(milliseconds, time="t", end="until"), []) == [(1_500, 2_000)]
    seconds = table(pa.timestamp("s"), 1, until=pa.array([2_000], pa.timestamp("ms")))
    assert rows(ArrowSource(seconds, time="t", end="until"), []) == [(1, 2)]


def test_an_end_between_two_ticks_is_refused() -> None:
    until = pa.array([2_000, 2_500], pa.timestamp("ms"))
    error = refusal(SourceError, table(pa.timestamp("s"), 1, 1, until=until), end="until")
    assert error.what == ("Row 1 of 'until', 1970-01-01 00:00:02.500, is not a whole number of ticks of 't' "
                          "(timestamp[s]).")


@pytest.mark.parametrize("type_", (pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us")))
def test_an_end_beyond_what_the_time_can_count_is_refused_with_that_reason(type_: pa.DataType) -> None:
    for day, end in ((date(9999, 12, 31), "after 2262-04-11"), (date(1, 1, 1), "before 1677-09-21")):
        until = pa.array([date(2024, 1, 1), day]).cast(pa.timestamp("s")).cast(type_)
        error = refusal(SourceError, table(pa.timestamp("ns"), 1, 1, until=until), end="until")
        assert error.what.startswith(f"Row 1 of 'until', {day}")
        assert error.what.endswith(f" is beyond what ns can count: {end}.")
        unknown = "Use null for an unknown end, or c" if day.year == 9999 else "C"
        assert error.hint == f"{unknown}ast 't' to us."
        assert rows(ArrowSource(table(pa.timestamp("us"), -2**60, until=until[:1]), time="t", end="until"), [])


def test_what_is_beyond_the_calendar_is_refused_with_the_unit_that_holds_it() -> None:
    for unit, coarser in (("us", "ms"), ("ms", "s")):
        until = pa.array([2**62], pa.timestamp("s"))
        error = refusal(SourceError, table(pa.timestamp(unit), 1, until=until), end="until")
        assert f"is beyond what {unit} can count" in error.what
        assert str(error.hint).endswith(f"cast 't' to {coarser}.")


def test_a_null_time_is_refused_by_row() -> None:
    error = refusal(SourceError, table(pa.timestamp("s"), 1, None, 3))
    assert error.what == "Row 1 has no time: 't' is null."
    assert error.where == "from_arrow(..., time='t')"


@pytest.mark.parametrize("until", (3, 2))
def test_an_end_not_after_the_start_is_refused_by_row(until: int) -> None:
    data = table(pa.timestamp("s"), 1, 3, until=pa.array([2, until], pa.timestamp("s")))
    error = refusal(SourceError, data, end="until")
    assert error.what == (f"Row 1 must end after it starts, but 't' is 1970-01-01 00:00:03 and "
                          f"'until' is 1970-01-01 00:00:0{until}.")


def test_what_is_said_of_rows_that_do_not_end_after_they_start_drops_them() -> None:
    data = table(pa.int64(), 1, 3, until=[2, 3])
    assert ".set_duration(col.until - col.t)" in refusal(SourceError, data, end="until").hint
    kept = wb.from_arrow(data, time="t").set_duration(wb.col.until - wb.col.t).collect()
    assert (kept["start"].to_pylist(), kept["end"].to_pylist()) == ([1], [2])


def test_a_name_in_another_encoding_is_refused() -> None:
    data = csv.read_csv(pa.py_buffer("t,größe\n1,2\n".encode("latin1")))
    assert refusal(SchemaError, data).what == "Column names must be UTF-8, got b'gr\\xf6\\xdfe'."


def test_rows_are_counted_over_all_batches() -> None:
    chunks = pa.concat_tables([table(pa.int64(), 1, 2), table(pa.int64(), 3, None)])
    assert refusal(SourceError, chunks).what == "Row 3 has no time: 't' is null."


@pytest.mark.parametrize("latency", [0, 5])
def test_the_last_tick_of_all_has_no_end(latency: int) -> None:
    stream = wb.from_arrow(table(pa.int64(), 3, INF), time="t", reorder_latency=latency)
    with pytest.raises(SourceError, match=rf"A time must be below 2\*\*63 - 1 ticks, got {INF} in 't' of row 1."):
        stream.collect()


def test_an_integer_beyond_64_bits_is_refused() -> None:
    data = pa.table({"t": pa.array([1, 2**63], pa.uint64())})
    assert refusal(SourceError, data).what == "Row 1 of 't', 9223372036854775808, is above the largest int64."


def test_a_zone_that_nobody_knows_is_refused_before_it_is_needed() -> None:
    error = refusal(SchemaError, table(pa.timestamp("s", "Mars/Olympus"), 1))
    assert error.what == "Column 't' has the unknown time zone 'Mars/Olympus'."


def test_times_may_come_as_runs() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([5, 7]))
    stream = wb.from_arrow(pa.table({"t": runs}), time="t")
    assert stream.collect()["start"].to_pylist() == [5, 5, 7]


@pytest.mark.parametrize("role", ("time", "end", "arrival"))
def test_a_missing_column_is_offered_its_near_match(role: str) -> None:
    error = refusal(SchemaError, pa.table({"t": [1], "until": [2]}), **{role: "untill"})
    assert error.what == f"{role} must be the name of a column, got 'untill'."
    assert error.hint.startswith("Use 'until'")


@pytest.mark.parametrize("values", (["2024-01-01"], [1.5], [True]))
def test_other_types_do_not_count_time(values: list[object]) -> None:
    error = refusal(SchemaError, pa.table({"t": values}))
    assert "must hold timestamps, dates or integers" in error.what
    assert "Convert it" in error.hint


@pytest.mark.parametrize("other", (pa.int64(), pa.timestamp("s", "UTC")))
def test_times_of_different_kinds_are_not_compared(other: pa.DataType) -> None:
    data = table(pa.timestamp("s"), 1, other=pa.array([2], other))
    for role in ("end", "arrival"):
        error = refusal(SchemaError, data, **{role: "other"})
        assert error.what == f"{role}='other' is {other}, but time='t' is timestamp[s]."


def test_a_column_named_twice_is_refused() -> None:
    data = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["t", "t"])
    assert refusal(SchemaError, data).what == "Two columns would be named 't'."


def test_an_unknown_payload_column_is_refused_before_the_first_row() -> None:
    with pytest.raises(SchemaError, match="no column 'prise'"):
        ArrowSource(pa.table({"t": [1], "price": [2]}), time="t").read(["prise"])


@pytest.mark.parametrize(("arguments", "disorder"), (
    ({}, OrderingSpec(0, "raise")),
    ({"arrival": "seen"}, OrderingSpec(None, "raise")),
    ({"arrival": "seen", "reorder_latency": "2m"}, OrderingSpec(120, "raise")),
    ({"reorder_latency": 5, "late": "drop"}, OrderingSpec(5, "drop")),
    ({"late": "adjust"}, OrderingSpec(0, "adjust")),
))
def test_what_is_promised_about_order(arguments: dict[str, object], disorder: OrderingSpec) -> None:
    data = table(pa.timestamp("s"), 1, seen=pa.array([2], pa.timestamp("s")))
    assert ArrowSource(data, **{"time": "t", **arguments}).disorder == disorder


def test_a_promise_that_means_nothing_is_refused() -> None:
    data = pa.table({"t": [1]})
    unknown = refusal(PlanError, data, late="dorp")
    assert unknown.what == "late must be one of 'raise', 'drop', 'adjust', 'side_output', got 'dorp'."
    assert unknown.hint == "Use 'drop'; the values are raise, drop, adjust, side_output."
    assert refusal(PlanError, data, reorder_latency=-1).what == "reorder_latency must be at least 0, got -1."
    assert "has integer times" in refusal(PlanError, data, reorder_latency="5m").what


@given(starts=st.lists(st.integers(-(10**15), 10**15)), lengths=st.data())
def test_lifetimes_are_the_columns(starts: list[int], lengths: st.DataObject) -> None:
    ends = [None if length == 0 else start + length for start, length in
            zip(starts, lengths.draw(st.lists(st.integers(0, 9), min_size=len(starts), max_size=len(starts))),
                strict=True)]
    data = pa.table({"t": pa.array(starts, pa.int64()), "until": pa.array(ends, pa.int64())})
    expected = [(start, INF if end is None else end, end) for start, end in zip(starts, ends, strict=True)]
    assert rows(ArrowSource(data, time="t", end="until"), ["until"]) == expected
