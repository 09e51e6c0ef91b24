"""Python values for columns: what would lose something on the way becomes a dead letter."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import whimbrel as wb
from tests.engine.connect.feeds.listen import PATIENCE_S
from whimbrel.connect.feeds.formats.decode import decode
from whimbrel.connect.feeds.formats.json_format import Json
from whimbrel.connect.feeds.formats.python_records import Records

S, US, NS = (pa.timestamp(unit) for unit in ("s", "us", "ns"))
NEW_YORK = pa.timestamp("us", "America/New_York")


@pytest.mark.parametrize(("type_", "value"), [
    *((type_, value)
      for type_ in (S, US, NS, pa.duration("us"), pa.date32(), pa.date64(), pa.time32("s"), pa.time64("us"))
      for value in (1.5, 2.0, np.float64(1.5), float("nan"), Decimal(1), Decimal("1.5"))),
    (US, pd.Timestamp(1500)), (US, np.datetime64(1500, "ns")), (S, datetime(2024, 1, 1, 0, 0, 0, 5)),
    (US, True), (pa.duration("us"), pd.Timedelta(1500)), (pa.duration("s"), timedelta(microseconds=5)),
    (pa.duration("s"), np.timedelta64(1, "M")),
    (pa.date32(), datetime(2024, 1, 1, 5)), (pa.time32("s"), time(0, 0, 0, 5)),
    (pa.date32(), np.datetime64(1500, "ns")), (pa.date32(), np.datetime64(5, "h")),
    (pa.date32(), np.timedelta64(1, "M")), (pa.date32(), True),
    (pa.time64("us"), np.timedelta64(1, "h")), (pa.time64("us"), np.datetime64(5, "us")),
    (pa.time64("us"), True),
    (NS, datetime(9999, 1, 1)), (pa.list_(US), [1.5]), (pa.struct({"a": US}), {"a": 1.5}),
    (US, datetime(2024, 1, 1, tzinfo=UTC)), (US, pd.Timestamp("2024-01-01", tz="Asia/Tokyo")),
    (NEW_YORK, datetime(2024, 11, 3, 1, 30)),
], ids=repr)
def test_what_the_column_cannot_hold_is_refused(type_: pa.DataType, value: Any) -> None:
    found = decode(Records(), [{"t": value}, {"t": None}], pa.schema({"t": type_}))
    assert [number for number, _ in found.malformed] == [0]
    assert found.rows["t"].to_pylist() == [None]


@pytest.mark.parametrize(("type_", "value", "ticks"), [
    (US, 5, 5), (US, np.int64(5), 5), (US, datetime(1970, 1, 1, 0, 0, 0, 5), 5), (S, datetime(1970, 1, 1, 0, 0, 5), 5),
    (NS, pd.Timestamp(1500), 1500), (US, pd.Timestamp(2000), 2), (NS, np.datetime64(2, "us"), 2000),
    (S, date(1970, 1, 2), 86_400),
    (NS, datetime(1970, 1, 1, 0, 0, 1), 10**9), (S, np.datetime64("1970-01-02"), 86_400),
    (pa.timestamp("us", "Asia/Tokyo"), datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), 10**6),
    (pa.timestamp("ns", "Asia/Tokyo"), pd.Timestamp(1500, tz="Asia/Tokyo"), 1500),
    *((NEW_YORK, value, 5 * 3600 * 10**6) for value in (
        datetime(1970, 1, 1), date(1970, 1, 1), np.datetime64("1970-01-01"), pd.Timestamp(0))),
    (pa.duration("ns"), pd.Timedelta(1500), 1500), (pa.duration("s"), np.timedelta64(1, "h"), 3600),
    (pa.duration("ms"), timedelta(seconds=1), 1000), (US, pd.NaT, None), (US, np.datetime64("NaT"), None),
    (pa.date32(), pd.NaT, None), (pa.duration("us"), pd.NaT, None), (pa.date32(), np.datetime64(48, "h"), 2),
    (pa.date32(), np.datetime64("1970-02"), 31),
], ids=repr)
def test_what_it_can_hold_is_exact(type_: pa.DataType, value: Any, ticks: int | None) -> None:
    found = decode(Records(), [{"t": value}], pa.schema({"t": type_}))
    assert not found.malformed
    assert found.rows["t"].cast(pa.int32() if pa.types.is_date32(type_) else pa.int64()).to_pylist() == [ticks]


UTC_MS = pa.timestamp("ms", "UTC")


@pytest.mark.parametrize(("type_", "texts", "ticks"), [
    (S, ["1970-01-01T00:00:05.000000000", "1970-01-01 00:00:05.0Z", "1970-01-01T01:00:05.000+01:00", "1970-01-01"],
     [5, 5, 5, 0]),
    (UTC_MS, ["1970-01-01T00:00:05.001000", "1970-01-01T05:30:05.001000+0530"], [5001, 5001]),
    (pa.struct({"a": UTC_MS}), ["1970-01-01T00:00:05.001000000", "1970-01-01T00:00:05.001Z"], [5001, 5001]),
    (S, ["1970-01-01T00:00:05.000", "1970-01-01T00:00:05.5", "1970-01-01T00:00:05"], [5, None, 5]),
])
def test_zeros_beyond_the_unit_are_no_loss_in_json(type_: pa.DataType, texts: list[str],
                                                   ticks: list[int | None]) -> None:
    nested = pa.types.is_struct(type_)
    messages = [json.dumps({"t": {"a": text} if nested else text}).encode() for text in texts]
    for number in range(len(messages) + 1):  # together, and one by one
        found = decode(Json(), messages[number - 1 : number] if number else messages, pa.schema({"t": type_}))
        values = pc.struct_field(found.rows["t"], "a") if nested else found.rows["t"]
        assert values.cast(pa.int64()).to_pylist() == [
            each for each in (ticks[number - 1 : number] if number else ticks) if each is not None]


def test_another_column_that_is_wrong_is_named_in_json() -> None:
    found = decode(Json(), [b'{"t": "1970-01-01T00:00:05.000", "x": "a"}'], pa.schema({"t": S, "x": pa.int64()}))
    assert [str(why) for _, why in found.malformed] == ["'x' must be int64"]


def test_seconds_as_a_float_are_no_microseconds_of_1970() -> None:
    schema = pa.schema([("t", US), ("x", pa.int64())])
    feed = wb.feeds.iterator(iter([{"t": 1704067200.5, "x": 1}, {"t": 1704067200_500_000, "x": 2}]), schema=schema,
                             time="t", name="feed")
    run = feed.start()
    assert run.wait(PATIENCE_S)
    assert run.snapshot().table["x"].to_pylist() == [2]
    (reason, count), = run.metrics.feeds["feed"].dead_letters.items()
    assert count == 1
    assert "must be an integer number of us" in reason


@pytest.mark.parametrize("type_", [US, NS, pa.duration("us"), pa.date32(), pa.time64("us")], ids=str)
def test_a_text_is_no_time_until_it_is_made_one(type_: pa.DataType) -> None:
    found = decode(Records(), [{"t": "2024-01-01T00:00:00"}], pa.schema({"t": type_}))
    (_, reason), = found.malformed
    assert reason == (f"'t' must be {type_}, got a string: convert it, for example with "
                      "datetime.fromisoformat")


def test_nanoseconds_of_the_first_items_are_found() -> None:
    rows = [{"t": pd.Timestamp(ticks), "lasts": pd.Timedelta(ticks)} for ticks in (1_000, 1_001)]
    feed = wb.feeds.iterator(lambda: iter(rows), time="t")
    found = feed.collect()
    assert found.schema.field("t").type == NS
    assert found["t"].cast(pa.int64()).to_pylist() == [1_000, 1_001]
    assert found["lasts"].cast(pa.int64()).to_pylist() == [1_000, 1_001]


@pytest.mark.parametrize(("type_", "value", "words"), [
    (pa.int64(), 1.5, "must be an integer"), (pa.int64(), True, "must be an integer"),
    (pa.int64(), float("nan"), "must be an integer"), (pa.int64(), Decimal("1.5"), "must be an integer"),
    (pa.int64(), np.timedelta64(5, "ns"), "must be an integer"), (pa.int64(), "5", "must be an integer"),
    (pa.int64(), 2**63, "does not fit in int64"), (pa.uint8(), -1, "does not fit in uint8"),
    (pa.int8(), 128, "does not fit in int8"), (pa.list_(pa.uint8()), [1.9], "must be an integer"),
    (pa.list_(pa.uint8()), np.array([1.9]), "must be an integer"), (pa.list_(pa.uint8(), 1), (256,), "does not fit"),
    (pa.struct({"a": pa.int64()}), {"a": 1.5}, "must be an integer"),
    (pa.map_(pa.string(), pa.int64()), [("a", 1.5)], "must be an integer"),
    (pa.map_(pa.int64(), pa.string()), [(1.5, "a")], "must be an integer"),
    (pa.dictionary(pa.int8(), pa.int64()), 1.5, "must be an integer"),
    (pa.float32(), 1e300, "does not fit in float"), (pa.float16(), 1e6, "does not fit in halffloat"),
    (pa.list_(pa.float32()), [-1e300], "does not fit in float"),
    (pa.string(), 5, "'x' must be string"), (pa.bool_(), 2, "'x' must be bool"),
], ids=repr)
def test_a_number_that_the_column_cannot_hold_is_refused(type_: pa.DataType, value: Any, words: str) -> None:
    """In lists, structs, maps and dictionaries integers lost their fractions; large floats became infinite."""
    found = decode(Records(), [{"x": value}, {"x": None}], pa.schema({"x": type_}))
    (number, reason), = found.malformed
    assert number == 0
    assert reason.startswith("'x' ")
    assert words in reason
    assert found.rows["x"].to_pylist() == [None]


@pytest.mark.parametrize(("type_", "value"), [
    (pa.int64(), 2.0), (pa.int64(), np.float64(2)), (pa.int64(), Decimal(2)), (pa.uint64(), 2**64 - 1),
    (pa.int8(), -128), (pa.list_(pa.uint8()), [2.0, None]), (pa.map_(pa.string(), pa.int64()), [("a", 2)]),
    (pa.dictionary(pa.int8(), pa.int64()), 2), (pa.dictionary(pa.int16(), pa.string()), "a"),
    (pa.float32(), 1.5), (pa.float32(), float("inf")), (pa.float16(), 65504.0),
], ids=repr)
def test_a_number_that_it_can_hold_is_kept(type_: pa.DataType, value: Any) -> None:
    found = decode(Records(), [{"x": value}], pa.schema({"x": type_}))
    assert not found.malformed
    assert found.rows["x"].type == type_
    assert found.rows["x"].to_pylist() == [value]


def test_times_without_a_zone_are_in_that_of_a_column_of_lists() -> None:
    """Arrow took them to be in UTC, and dropped the zone of one that followed a time without."""
    aware = datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=5)))
    stream = wb.from_arrow({"t": [aware, datetime(2024, 1, 2)]}, time="t")
    assert stream.collect()["t"].cast(pa.int64()).to_pylist() == [1_704_049_200_000_000, 1_704_135_600_000_000]
    with pytest.raises(wb.WhimbrelError, match="has a time zone, but 't' has none"):
        wb.from_arrow({"t": [datetime(2024, 1, 1), aware]}, time="t").collect()
