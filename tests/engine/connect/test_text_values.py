"""Types that a schema gives to values of text files."""

from __future__ import annotations

from datetime import date, datetime, time
from pathlib import Path

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel.errors import SchemaError, SinkError


def values_of(file: Path, text: str, type_: pa.DataType) -> list[object]:
    """Values of column ``v``, read with this type."""
    file.write_text(text)
    read = wb.read_csv if file.suffix == ".csv" else wb.read_json
    return read(file, time="at", schema={"v": type_}).collect()["v"].to_pylist()


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_empty_texts_of_csv_are_null(tmp_path: Path, type_: pa.DataType) -> None:
    assert values_of(tmp_path / "log.csv", "at,v\n1,a\n2,\n", type_) == ["a", None]


def test_zeros_after_the_digits_of_a_unit_are_no_loss(tmp_path: Path) -> None:
    text = "at,v\n1,2024-01-01T00:00:00.500000\n2,NA\n3,2024-01-01T00:00:00.500001\n4,\n"
    half = datetime(2024, 1, 1, 0, 0, 0, 500_000)
    assert values_of(tmp_path / "log.csv", text, pa.timestamp("ms")) == [half, None, None]
    assert values_of(tmp_path / "log.csv", "at,v\n1,10:00:00.500000\n", pa.time32("ms")) == [time(10, 0, 0, 500_000)]


@pytest.mark.parametrize(("text", "type_", "value"), [
    ('"2024-01-01"', pa.date32(), date(2024, 1, 1)), ("1", pa.date32(), date(1970, 1, 2)),
    ('"10:00:00.500000"', pa.time32("ms"), time(10, 0, 0, 500_000)), ("[1,2]", pa.list_(pa.int64(), 2), [1, 2]),
    ('"ab"', pa.binary(2), b"ab"), ("1.5", pa.float16(), 1.5), ('"a"', pa.dictionary(pa.int8(), pa.string()), "a"),
    ('[{"d":"2024-01-01"},null]', pa.large_list(pa.struct({"d": pa.date32()})), [{"d": date(2024, 1, 1)}, None]),
    ('"2024-01-01T00:00:00.500000"', pa.timestamp("ms"), datetime(2024, 1, 1, 0, 0, 0, 500_000))])
def test_types_that_the_parser_of_json_lacks(tmp_path: Path, text: str, type_: pa.DataType, value: object) -> None:
    lines = f'{{"at":1,"v":{text}}}\n{{"at":2}}\n{{"at":3,"v":[["?"]]}}\n'
    assert values_of(tmp_path / "log.jsonl", lines, type_) == [value, None]


def test_times_that_are_numbers_go_with_dates(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text('{"at":1,"v":"2024-01-01"}\n')
    rows = wb.read_json(file, time="at", schema={"at": "timestamp[s]", "v": "date32"}).collect()
    assert rows["v"].to_pylist() == [date(2024, 1, 1)]


@pytest.mark.parametrize("types", [{}, {"at": "timestamp[us, UTC]", "until": "timestamp[us, UTC]"}])
def test_a_number_among_times_in_texts_is_malformed(tmp_path: Path, types: dict[str, str]) -> None:
    file, time = tmp_path / "log.jsonl", '"2024-01-01T00:00:0{}Z"'.format
    lines = [(0, 5), (0, 6), (7, 8), (7, 9)]
    texts = [(time(at) if at else "0", time(until) if until != 8 else "1704067208") for at, until in lines]
    file.write_text("".join(f'{{"at":{at},"until":{until}}}\n' for at, until in [(time(1), time(2)), *texts]))
    log = wb.read_json(file, time="at", schema=types)
    assert [at.second for at in log.collect()["until"].to_pylist()] == [2, 9]
    reasons = [f"'{name}' must be timestamp[us, tz=UTC]" for name in ("at", "at", "until")]
    assert wb.dead_letters(log).collect()["reason"].to_pylist() == reasons


@pytest.mark.parametrize(("name", "type_", "hint"), [
    ("log.csv", pa.float16(), '"float"'), ("log.csv", pa.string_view(), '"string"'),
    ("log.csv", pa.decimal256(50, 2), "decimal128"), ("log.csv", pa.list_(pa.int64()), '"string"'),
    ("log.csv", pa.dictionary(pa.int8(), pa.string()), "int32"), ("log.jsonl", pa.duration("s"), '"int64"'),
    ("log.jsonl", pa.list_(pa.map_(pa.string(), pa.int64())), '"string"')])
def test_types_that_no_text_gives_are_refused_first(tmp_path: Path, name: str, type_: pa.DataType, hint: str) -> None:
    with pytest.raises(SchemaError, match=r"has no values of the type of column 'v'") as refused:
        values_of(tmp_path / name, "", type_)
    assert hint in (refused.value.hint or "")


@pytest.mark.parametrize("type_", [pa.binary(), pa.binary(2), pa.large_binary()])
def test_bytes_are_refused_by_csv_before_a_row(tmp_path: Path, type_: pa.DataType) -> None:
    log = wb.from_arrow(pa.table({"at": [1], "v": pa.array([b"\xff\xfe"], type_)}), time="at")
    with pytest.raises(SinkError, match=r"CSV has no values of the type of column 'v'(?s:.*)base 64"), \
            log.start(sink=wb.sinks.csv(tmp_path / "out")) as run:
        run.wait()
    assert not [*tmp_path.glob("out/*.csv")]


def test_floats_of_ipc_files_keep_their_type(tmp_path: Path) -> None:
    rows = pa.table({"at": [1], "v": pa.array([1.5], pa.float32())})
    with pa.ipc.new_file(tmp_path / "log.arrow", rows.schema) as writer:
        writer.write_table(rows)
    assert wb.read_ipc(tmp_path / "log.arrow", time="at").collect().schema.field("v").type == pa.float32()
