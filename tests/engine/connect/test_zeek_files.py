"""Logs of Zeek: types by their first lines, null and empty values, escapes, footers and malformed lines."""

from __future__ import annotations

import gzip
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

import whimbrel as wb
from whimbrel.errors import SourceError

HEAD = ("#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n"
        "#fields\tts\tuid\tid.orig_h\tid.orig_p\tservice\tduration\tlocal_orig\tbytes\ttags\n"
        "#types\ttime\tstring\taddr\tport\tstring\tinterval\tbool\tcount\tset[string]\n")
ROW = "1700000000.123456\tC1\t10.0.0.1\t5353\tdns\t0.5\tT\t120\ta,b\n"


def test_values_have_the_types_of_the_first_lines(tmp_path: Path) -> None:
    file = tmp_path / "conn.log"
    second = "1700000001.000001\tC\\x092\tfe80::1\t0\t-\t-\tF\t-\t(empty)\n"
    file.write_text(HEAD + ROW + second + "#close\t2024-01-01-01-00-00\n")
    found = wb.read_zeek(file).collect()
    assert [str(found.schema.field(name).type) for name in ("ts", "id.orig_p", "duration", "local_orig", "tags")] == [
        "timestamp[us, tz=UTC]", "int32", "double", "bool", "string"]
    assert found["ts"].cast("int64").to_pylist() == [1_700_000_000_123_456, 1_700_000_001_000_001]
    assert found.drop(["start", "end", "ts"]).to_pylist() == [
        {"uid": "C1", "id.orig_h": "10.0.0.1", "id.orig_p": 5353, "service": "dns", "duration": 0.5,
         "local_orig": True, "bytes": 120, "tags": "a,b"},
        {"uid": "C\t2", "id.orig_h": "fe80::1", "id.orig_p": 0, "service": None, "duration": None,
         "local_orig": False, "bytes": None, "tags": ""}]


def test_a_later_head_holds_for_the_lines_after_it(tmp_path: Path) -> None:
    def head(fields: str, types: str, separator: str = "\t") -> str:
        return f"#separator \\x{ord(separator):02x}\n#fields\t{fields}\n#types\t{types}\n".replace("\t", separator)

    parts = [head("ts\ta\tb", "time\tcount\tcount") + "1700000000.1\t1\t2\n#close\tx\n",
             head("ts\tb\tnew\ta", "time\tcount\tstring\tcount", ",") + "1700000001.1,20,-,10\n",
             head("ts\ta\tb", "time\tcount\tstring") + "1700000002.1\t5\t6\n",
             head("ts\ta\tb", "time") + "1700000003.1\t5\t6\n", head("ts\ta", "time\tcount") + "1700000004.1\t5\n"]
    (tmp_path / "conn.log").write_text("".join(parts))
    log = wb.read_zeek(tmp_path / "conn.log")
    assert log.select("a", "b").collect().drop(["start", "end"]).to_pylist() == [{"a": 1, "b": 2}, {"a": 10, "b": 20}]
    assert wb.dead_letters(log).collect()["reason"].to_pylist() == [
        "after a head that gives column 'b' another type", "after a head without #fields and #types",
        "after a head without column 'b'"]


def test_malformed_lines_are_dead_letters(tmp_path: Path) -> None:
    file = tmp_path / "conn.log.gz"
    file.write_bytes(gzip.compress((HEAD + ROW + "broken\n" + ROW.replace("5353", "many") + ROW).encode()))
    log = wb.read_zeek(file)
    assert log.select("uid").collect().num_rows == 2
    assert wb.dead_letters(log).select("line").collect()["line"].to_pylist() == [9, 10]


def test_counts_above_int64_are_null_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "conn.log"
    counts = (2**64 - 1, 2**63, 2**63 - 1, 2**64, "-", 7)
    file.write_text(HEAD + "".join(ROW.replace("120", str(each)) for each in counts))
    log = wb.read_zeek(file)
    assert log.select("bytes").collect()["bytes"].to_pylist() == [None, None, 2**63 - 1, None, 7]
    assert "conn.log: counts above the largest int64 are null: 2 of 'bytes'." in caplog.text
    assert wb.dead_letters(log).collect()["line"].to_pylist() == [11]


def test_rows_without_a_time_are_dead_letters(tmp_path: Path) -> None:
    file = tmp_path / "conn.log"
    file.write_text(HEAD + ROW + "-" + ROW[ROW.index("\t"):] + ROW)
    log = wb.read_zeek(file)
    assert log.select("uid").collect().num_rows == 2
    assert wb.dead_letters(log).select("line").collect()["line"].to_pylist() == [9]


def test_other_files_are_refused_in_words(tmp_path: Path) -> None:
    file = tmp_path / "conn.log"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(SourceError, match="cannot be read as Zeek log: its first lines have no #fields and #types"):
        wb.read_zeek(file)
    file.write_text('{"ts":1.5,"uid":"C1"}\n')
    with pytest.raises(SourceError, match=r"its lines are JSON.\n.*\n.*wb.read_json"):
        wb.read_zeek(file)


def test_mutated_logs_never_fail_otherwise(tmp_path: Path) -> None:
    draw, whole = Random(3), (HEAD + 20 * ROW).encode()
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(draw.randrange(1, 5)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        (tmp_path / "conn.log").write_bytes(data)
        with suppress(wb.WhimbrelError):
            assert wb.read_zeek(tmp_path / "conn.log", late="drop").collect().num_rows <= 21
