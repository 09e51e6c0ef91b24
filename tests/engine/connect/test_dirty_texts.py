"""Types of text files whose first rows are dirty: one dirty value neither decides a type nor ends the reading."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel.connect.file_formats.csv_dialect import CsvDialect
from whimbrel.errors import SchemaError


def written(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def rows(log: wb.Stream, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in log.collect().select(list(columns)).to_pylist()]


def letters(log: wb.Stream) -> list[int]:
    return wb.dead_letters(log).collect()["line"].to_pylist()


@pytest.mark.parametrize(("lines", "type_", "dirty"), [
    (['{"at":1,"x":1}', '{"at":2,"x":"abc"}'], "int64", [2]),
    (['{"at":1,"x":"abc"}', '{"at":2,"x":null}', '{"at":3,"x":2.5}', '{"at":4,"x":3}'], "double", [1]),
    (['{"at":1,"x":true}', '{"at":2,"x":1}', '{"at":3,"x":false}', '{"at":4,"x":{"y":1}}', '{"at":5,"x":[]}'], "bool",
     [2, 4, 5]),
    (['{"at":1,"x":{"a":"?","b":2}}', '{"at":2,"x":{"a":1}}', '{"at":3,"x":{"a":2}}'], "struct<a: int64>", [1]),
    (['{"at":1,"x":[{"a":1}]}', '{"at":2,"x":[{"a":2},{"a":[]}]}', '{"at":3,"x":[]}'], "list<item: struct<a: int64>>",
     [2]),
    (['{"at":1,"x":"\\ud83d"}', '{"at":2,"x":"\\ud83d\\ude00"}', '{"at":3,"\\ud83d":0}'], "string", [1, 3]),
    (['{"at":1,"x":1}', f'{{"at":2,"x":{5000 * "["}{5000 * "]"}}}', '{"at":3,"x":3}'], "int64", [2]),
])
def test_the_most_frequent_kind_of_json_values_decides(tmp_path: Path, lines: list[str], type_: str,
                                                       dirty: list[int]) -> None:
    log = wb.read_json(written(tmp_path / "log.jsonl", "\n".join(lines)), time="at")
    assert log.schema.show() == f"at: int64, x: {type_}"
    assert [at for at, in rows(log, "at")] == [n for n in range(1, len(lines) + 1) if n not in dirty]
    assert letters(log) == dirty


@pytest.mark.parametrize(("line", "reason"), [
    ('{"at":5,"x":99999999999999999999}', "'x' must be int64"), ('{"at":5,"t":7,"x":1.5}', "'x' must be int64"),
    ('{"at":5,"t":"noon"}', "'t' must be timestamp[us]"), ('{"at":"noon","t":7}', "'at' must be timestamp[ms]"),
    ('{"at":5,"s":{"x":1,"x":2}}', "a name occurs twice in 's'"), ('{"at":5,"x":1,"x":2}', "'x' occurs twice"),
])
def test_a_malformed_line_of_json_names_its_column(tmp_path: Path, line: str, reason: str) -> None:
    """Numbers are times, too, so a column of them is not what is malformed."""
    log = wb.read_json(written(tmp_path / "log.jsonl", f'{{"at":1}}\n{line}\n'), time="at", schema={
        "at": "timestamp[ms]", "x": "int64", "t": "timestamp[us]", "s": pa.struct({"x": pa.int64()})})
    assert wb.dead_letters(log).collect()["reason"].to_pylist() == [reason]


def test_values_in_json_arrays_without_a_type_name_the_column(tmp_path: Path) -> None:
    file = written(tmp_path / "log.jsonl", '{"at":1,"x":{"y":[1,"a"]}}\n{"at":2,"x":{"y":["b",2]}}\n')
    with pytest.raises(SchemaError, match=r"'x' has values of several types: x/y/\[\] is number and string") as raised:
        wb.read_json(file, time="at")
    assert "schema={'x': ...}" in raised.value.hint
    assert rows(wb.read_json(file, time="at", schema={"x": pa.struct({"z": pa.int64()})}), "at") == [(1,), (2,)]


@pytest.mark.parametrize(("times", "type_", "dirty"), [
    (["1", "never", "3"], "int64", [2]),
    (["2024-05-01", "?", "2024-05-01 00:00:01.5", "2024-05-02"], "timestamp[us]", [2]),
    (["soon", "2024-05-01T00:00:00Z", "", "2024-05-02T00:00:00.25Z"], "timestamp[us, tz=UTC]", [1, 3]),
    (["2024-05-01", "x,y", "2024-05-02", 'a "b"', "2024-05-03"], "date32[day]", [2, 4]),
])
def test_most_of_the_times_of_a_sample_decide(tmp_path: Path, times: list[str], type_: str, dirty: list[int]) -> None:
    text = "x,at\n" + "".join('{},"{}"\n'.format(n, time.replace('"', '""')) for n, time in enumerate(times, 1))
    log = wb.read_csv(written(tmp_path / "log.csv", text), time="at")
    assert str(log.node.op.schema.type_of("at")) == type_
    assert [x for x, in rows(log, "x")] == [n for n in range(1, len(times) + 1) if n not in dirty]
    assert letters(log) == [line + 1 for line in dirty]


def test_most_of_the_times_of_json_decide(tmp_path: Path) -> None:
    file = written(tmp_path / "log.jsonl", f'{{"at":1}}\n{{"at":{2**63}}}\n{{"at":3}}\n')
    assert rows(wb.read_json(file, time="at"), "at") == [(1,), (3,)]
    text = '{"at":"2024-05-01"}\n{"at":"soon"}\n{"at":"2024-05-01T00:00:01.5"}\n'
    log = wb.read_json(written(file, text), time="at")
    assert rows(log, "at") == [(dt.datetime(2024, 5, 1),), (dt.datetime(2024, 5, 1, 0, 0, 1, 500_000),)]
    assert letters(log) == [2]


def test_a_log_without_rows_needs_the_type_of_its_times(tmp_path: Path) -> None:
    file = written(tmp_path / "log.csv", "at,x\n")
    assert wb.read_csv(file, time="at", schema={"at": "int64"}).collect().num_rows == 0


def test_ends_and_formats_of_times_are_inferred_from_most_values(tmp_path: Path) -> None:
    text = "at,until\n01.05.2024,02.05.2024\n02.05.2024,never\n05/03/24,04.05.2024\n03.05.2024,\n"
    file = written(tmp_path / "log.csv", text)
    log = wb.read_csv(file, time="at", end="until", time_format="%d.%m.%Y")
    assert rows(log, "at") == [(dt.datetime(2024, 5, 1),), (dt.datetime(2024, 5, 3),)]
    assert letters(log) == [3, 4]


@pytest.mark.parametrize(("read", "text", "hint"), [
    (wb.read_csv, "at,x\n31.03.2024,1\n", 'schema={"at": "timestamp[us]"}, and time_format='),
    (wb.read_csv, "at,x\n1.5,1\n", "must be whole"),
    (wb.read_json, '{"at":"soon"}\n', 'schema={"at": "timestamp[us]"}'),
    (wb.read_json, f'{{"at":{2**63}}}\n', 'schema={"at": "timestamp[us]"}'),
    (wb.read_csv, "at,x\n", 'schema={"at": "timestamp[us]"}'),
    (wb.read_json, '{"at":null}\n', 'schema={"at": "timestamp[us]"}'),
])
def test_times_that_are_none_name_the_options(tmp_path: Path, read: Any, text: str, hint: str) -> None:
    with pytest.raises(SchemaError, match="'at' is ") as raised:
        read(written(tmp_path / "log", text), time="at")
    assert hint in raised.value.hint


@pytest.mark.parametrize("tail", [0, 200_000])
@pytest.mark.parametrize("row", [0, 1])
def test_a_quote_that_is_not_closed_in_the_first_rows(tmp_path: Path, tail: int, row: int) -> None:
    lines = [f"{n},{n},k" for n in range(5 + tail)]
    lines[row] = f'{row},{row},"k'
    log = wb.read_csv(written(tmp_path / "log.csv", "\n".join(["at,x,k", *lines])), time="at")
    assert log.schema.show() == "at: int64, x: int64, k: string"
    assert log.collect().num_rows == 4 + tail
    assert letters(log) == [row + 2]


def test_integers_above_int64_are_not_floats(tmp_path: Path) -> None:
    big, huge = 2**63 + 1, 2**64 + 1
    file = written(tmp_path / "log.csv", f"at,a,b,c,d\n1,5,-1,{huge},1.5\n2,{big},{big},7,{huge}\n3,,NA,,\n")
    log = wb.read_csv(file, time="at")
    assert log.schema.show() == "at: int64, a: uint64, b: string, c: string, d: double"
    assert rows(log, "a", "b", "c", "d") == [(5, "-1", str(huge), 1.5), (big, str(big), "7", float(huge)),
                                             (None, "NA", None, None)]
    lines = written(tmp_path / "log.jsonl", f'{{"at":1,"a":5}}\n{{"at":2,"a":{big}}}\n{{"at":3,"a":null}}\n')
    assert rows(wb.read_json(lines, time="at"), "a") == [(5,), (big,), (None,)]
    written(lines, f'{{"at":1,"a":{huge}}}\n')
    with pytest.raises(SchemaError, match="'a' has integers that no type holds") as raised:
        wb.read_json(lines, time="at")
    assert 'schema={"a": "double"}' in raised.value.hint
    assert rows(wb.read_json(lines, time="at", schema={"a": "double"}), "a") == [(float(huge),)]


def test_a_last_line_without_a_line_end_is_in_the_sample(tmp_path: Path) -> None:
    log = wb.read_csv(written(tmp_path / "log.csv", "at,x\n1,1\n2,2.5"), time="at")
    assert rows(log, "x") == [(1.0,), (2.5,)]
    log = wb.read_json(written(tmp_path / "log.jsonl", '{"at":1}\n{"at":2,"x":2}'), time="at")
    assert rows(log, "x") == [(None,), (2,)]


def test_lines_of_a_value_that_is_too_long_are_not_parsed_one_by_one(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whimbrel.connect.file_formats.csv_records.MAX_RECORD_BYTES", 50)
    good = "".join(f"{at},k\n" for at in range(9))
    text = "at,k\n" + good + '9,"' + "y\n" * 200 + 'a,b,c\r\n"z"\n"\n8,"q\n\n"\n9,\r\n10,x\ry\n'
    log = wb.read_csv(written(tmp_path / "log.csv", text), time="at", schema={"at": "int64", "k": "string"})
    read, calls = CsvDialect.read, []
    monkeypatch.setattr(CsvDialect, "read", lambda *given, **more: calls.append(1) or read(*given, **more))
    assert rows(log, "at", "k") == [*((at, "k") for at in range(9)), (8, "q\n\n"), (9, None)]
    assert log.node.op.malformed == {"1 values for 2 columns": 202, "3 values for 2 columns": 1,
                                     "not one line: a quote is open": 1}
    assert len(calls) < 25
    assert letters(log) == [*range(11, 214), 218]
