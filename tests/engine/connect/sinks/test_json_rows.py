"""Rows as JSON: what a reader of it can read."""

from __future__ import annotations

import json
import sys

import pyarrow as pa
import pytest

from whimbrel.connect.sinks.json_rows import json_rows


def texts(**columns: pa.Array) -> list[dict[str, object]]:
    def no_number(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return [json.loads(text, parse_constant=no_number) for _, text in json_rows(pa.record_batch(columns))]


def test_what_is_no_number_is_null_however_deep_it_lies() -> None:
    nan = float("nan")
    assert texts(all=pa.array([[1.0, nan, float("inf")], None]), one=pa.array([{"x": -float("inf")}, {"x": 2.0}])) == [
        {"all": [1.0, None, None], "one": {"x": None}}, {"all": None, "one": {"x": 2.0}}]


def test_non_ascii_text_is_written_as_it_is() -> None:
    (_, text), = json_rows(pa.record_batch({"größe": ["é 風 \U0001f4a8 \" \n \u2028"]}))
    assert text == '{"größe":"é 風 \U0001f4a8 \\" \\n \u2028"}'.encode()


def test_nanoseconds_need_no_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    times = pa.array([1_704_067_200_000_000_001, None], pa.timestamp("ns"))
    assert texts(at=times, all=pa.array([times[:1].to_numpy(), None], pa.list_(pa.timestamp("ns")))) == [
        {"at": "2024-01-01T00:00:00.000000001", "all": ["2024-01-01T00:00:00.000000001"]}, {"at": None, "all": None}]
    assert texts(at=pa.array([1_000], pa.timestamp("ns"))) == [{"at": "1970-01-01T00:00:00.000001"}]
