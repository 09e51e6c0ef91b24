"""Zones of times in CSV and JSON files: the right instants, and a dead letter where a zone is missing or too many."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel.errors import SchemaError


def log_of(path: Path, form: str, times: list[str], **options: Any) -> wb.Stream:
    if form == "csv":
        path.write_text("at,u\n" + "".join(f"{time},{time}\n" for time in times))
        return wb.read_csv(path, time="at", reorder_latency="1d", **options)
    path.write_text("".join(f'{{"at": "{time}", "u": "{time}"}}\n' for time in times))
    return wb.read_json(path, time="at", reorder_latency="1d", **options)


@pytest.mark.parametrize("form", ["csv", "json"])
@pytest.mark.parametrize("times", [
    ["2024-01-01T00:00:00+02:00", "2024-01-01T01:00:00+02:00"],
    ["2024-03-31T03:00:00+01:00", "2024-03-31T04:30:00+02:00", "2024-03-30T22:00:00-05:00"],
    ["2024-01-01T00:00:00Z", "2024-01-01 00:00:00.123456+0530"],
    ["2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00-00:30"]])
def test_times_with_zones_are_instants_in_utc(tmp_path: Path, form: str, times: list[str]) -> None:
    log = log_of(tmp_path / "log", form, times)
    assert log.schema.show() == "at: timestamp[us, tz=UTC], u: timestamp[us, tz=UTC]"
    found = log.collect()
    assert found["u"].to_pylist() == sorted(map(dt.datetime.fromisoformat, times))
    assert found["u"] == found["at"]


@pytest.mark.parametrize("form", ["csv", "json"])
@pytest.mark.parametrize(("times", "type_", "dirty", "why"), [
    (["2024-01-01T00:00:00Z", "2024-01-01T00:00:01", "2024-01-01T00:00:02+01:00"], None, [2],
     "'at' has no zone, which timestamp[us, tz=UTC] needs"),
    (["2024-01-01T00:00:00", "2024-01-01", "2024-01-01T00:00:02Z"], None, [3],
     "'at' has a zone, which timestamp[us] has not"),
    (["2024-01-01T00:00:00Z", "2024-01-01T00:00:01", "2024-01-01T00:00:02+02:00"], pa.timestamp("us"), [1, 3],
     "'at' has a zone, which timestamp[us] has not"),
    (["2024-01-01T00:00:00Z", "2024-01-01T00:00:01"], pa.timestamp("ms", "Europe/Berlin"), [2],
     "'at' has no zone, which timestamp[ms, tz=Europe/Berlin] needs"),
    (["2024-01-01T00:00:00", "soon"], None, [2], "'at' must be timestamp[us]"),
    (["2024-01-01T00:00:00Z", "soon"], None, [2], "'at' must be timestamp[us, tz=UTC]")])
def test_a_zone_that_is_missing_or_too_many_is_a_dead_letter(tmp_path: Path, form: str, times: list[str],
                                                             type_: pa.DataType | None, dirty: list[int],
                                                             why: str) -> None:
    log = log_of(tmp_path / "log", form, [*times, *times[:1] * (type_ is None)],
                 schema={"u": "string"} | ({} if type_ is None else {"at": type_}))
    letters = wb.dead_letters(log).collect()
    assert [line - (form == "csv") for line in letters["line"].to_pylist()] == dirty
    assert set(letters["reason"].to_pylist()) == {why}
    assert set(log.collect()["u"].to_pylist()) == {time for line, time in enumerate(times, 1) if line not in dirty}


@pytest.mark.parametrize("times", [
    ["2024-01-01T00:00:00Z", "2024-01-01T00:30:00+02:00"], ["2024-01-01T00:00:00Z", "2024-01-01T01:30:00"],
    ["2024-01-01T01:00:00", "2024-01-01T01:30:00", "2024-01-01T00:45:00+00:00"]])
def test_a_zone_is_that_of_the_times_that_name_none(tmp_path: Path, times: list[str]) -> None:
    log = log_of(tmp_path / "log", "csv", times, timezone="Europe/Berlin")
    berlin = ZoneInfo("Europe/Berlin")
    wanted = [dt.datetime.fromisoformat(time) for time in times]
    found = log.select("at").collect()
    assert found["at"].type == pa.timestamp("us", "Europe/Berlin")
    assert found["at"].to_pylist() == sorted(each if each.tzinfo else each.replace(tzinfo=berlin) for each in wanted)
    assert wb.dead_letters(log).collect().num_rows == 0


def test_nested_times_of_json_have_zones(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text('{"at": 1, "s": {"t": "2024-01-01T00:00:00+01:00"}, "l": ["2024-01-01T00:00:00Z"]}\n'
                    '{"at": 2, "s": {"t": null}, "l": ["2024-01-01T00:00:00"]}\n')
    log = wb.read_json(file, time="at")
    assert log.schema.show() == "at: int64, s: struct<t: timestamp[s, tz=UTC]>, l: list<item: string>"
    first = log.collect()["s"].to_pylist()[0]
    assert first == {"t": dt.datetime(2023, 12, 31, 23, tzinfo=dt.UTC)}


def test_files_with_and_without_zones_are_an_error_that_names_both(tmp_path: Path) -> None:
    log_of(tmp_path / "a.json", "json", ["2024-01-01T00:00:00Z"])
    log_of(tmp_path / "b.json", "json", ["2024-01-01T00:00:00"])
    with pytest.raises(SchemaError, match=r"a\.json.*b\.json"):
        wb.read_json(tmp_path, time="at")
