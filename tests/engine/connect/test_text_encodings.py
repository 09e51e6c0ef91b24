"""Text files in other encodings than UTF-8, and lines with broken bytes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import whimbrel as wb
from whimbrel.connect.file_formats.text_encoding import Utf8Stream
from whimbrel.errors import PlanError, SourceError

NAMES = ["Zoë", "abc", "größer", "x"]
READ: dict[str, Callable[..., wb.Stream]] = {"csv": wb.read_csv, "jsonl": wb.read_json}


def text_of(form: str) -> str:
    if form == "csv":
        return "at,name\n" + "".join(f"{at},{name}\n" for at, name in enumerate(NAMES))
    return "".join(f'{{"at":{at},"name":"{name}"}}\n' for at, name in enumerate(NAMES))


def written(path: Path, text: bytes) -> Path:
    path.write_bytes(text)
    return path


@pytest.mark.parametrize("form", READ)
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-be", "utf-32", "UTF-8", "utf-8-sig"])
def test_an_encoding_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, encoding: str) -> None:
    monkeypatch.setattr("whimbrel.connect.file_formats.text_blocks._BLOCK_BYTES", 3)  # characters are cut
    log = READ[form](written(tmp_path / f"log.{form}", text_of(form).encode(encoding)), time="at", encoding=encoding)
    assert log.collect()["name"].to_pylist() == NAMES
    assert wb.dead_letters(log).collect().num_rows == 0


@pytest.mark.parametrize("form", READ)
@pytest.mark.parametrize(("encoding", "named"), [
    ("latin-1", "latin-1"), ("utf-16", "utf-16"), ("utf-16-le", "utf-16-le"), ("utf-16-be", "utf-16-be"),
    ("utf-32", "utf-32"), ("utf-32-le", "utf-32-le")])
def test_a_file_in_another_encoding_is_an_error_that_names_it(tmp_path: Path, form: str, encoding: str,
                                                              named: str) -> None:
    file = written(tmp_path / f"log.{form}", text_of(form).encode(encoding))
    with pytest.raises(SourceError, match=rf"log\.{form}' cannot be read as .*UTF-(8.* in line|16|32)") as raised:
        READ[form](file, time="at")
    assert f'encoding="{named}"' in raised.value.hint


def test_a_header_in_another_encoding_is_an_error(tmp_path: Path) -> None:
    file = written(tmp_path / "log.csv", "at,größe\n1,2\n".encode("latin-1"))
    with pytest.raises(SourceError, match="header line is not UTF-8") as raised:
        wb.read_csv(file, time="at")
    assert 'encoding="latin-1"' in raised.value.hint


def test_a_single_row_in_another_encoding_is_an_error(tmp_path: Path) -> None:
    file = written(tmp_path / "log.csv", "at,name\n1,Zo\xeb\n".encode("latin-1"))
    with pytest.raises(SourceError, match="not UTF-8, for the first time in line 2") as raised:
        wb.read_csv(file, time="at")
    assert 'encoding="latin-1"' in raised.value.hint


@pytest.mark.parametrize("schema", [None, {"name": "string"}])
@pytest.mark.parametrize(("form", "line", "first"), [("csv", b"%d,%b,%d\n", b"at,name,x\n"),
                                                     ("jsonl", b'{"at":%d,"name":"%b","x":%d}\n', b"")])
def test_a_line_with_broken_bytes_is_a_dead_letter(tmp_path: Path, form: str, line: bytes, first: bytes,
                                                   schema: Any) -> None:
    names = [b"a", "ä".encode(), b"b\xff", "ö".encode(), b"c"]
    file = written(tmp_path / f"log.{form}", first + b"".join(line % (at, name, at) for at, name in enumerate(names)))
    log = READ[form](file, time="at", schema=schema)
    assert log.schema.show() == "at: int64, name: string, x: int64"
    assert log.collect()["name"].to_pylist() == ["a", "ä", "ö", "c"]
    letter, = wb.dead_letters(log).collect().to_pylist()
    assert (letter["line"], letter["reason"]) == (3 + bool(first), "'name' is not UTF-8")
    assert letter["message"] == (line % (2, b"b\xff", 2)).rstrip()


def test_broken_bytes_in_a_named_encoding_are_dead_letters(tmp_path: Path) -> None:
    text = text_of("csv").encode("utf-16-le")
    broken = text[:-4] + b"\x00\xd8" + text[-2:]  # half of a pair in place of the last name
    log = wb.read_csv(written(tmp_path / "log.csv", broken), time="at", encoding="utf-16-le")
    assert log.collect()["name"].to_pylist() == NAMES[:-1]
    assert wb.dead_letters(log).collect()["line"].to_pylist() == [5]


def test_bytes_may_be_read_as_bytes(tmp_path: Path) -> None:
    log = wb.read_csv(written(tmp_path / "log.csv", b"at,k\n1,\xff\n2,\xfe\n"), time="at", schema={"k": "binary"})
    assert log.collect()["k"].to_pylist() == [b"\xff", b"\xfe"]


@pytest.mark.parametrize("encoding", ["latin-0", "hex", "", None, 5])
@pytest.mark.parametrize("read", READ.values())
def test_the_name_of_an_encoding_is_checked(read: Callable[..., wb.Stream], encoding: Any) -> None:
    with pytest.raises(PlanError, match="encoding must be the name of an encoding, got"):
        read("log", time="at", encoding=encoding)


def test_the_last_character_may_be_cut(tmp_path: Path) -> None:
    with written(tmp_path / "a", "ab".encode("utf-16-le")[:-1]).open("rb") as stream:
        text = Utf8Stream(stream, "utf-16-le")
        assert (text.read(9), text.read(9), text.read(9)) == (b"a", b"\xed\xb3\xbf", b"")


def test_text_of_sqlite_that_is_not_utf8_names_the_column_and_a_cast(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "log.db") as database:
        database.execute("CREATE TABLE log (at INTEGER, \"a name\" TEXT)")
        database.execute("INSERT INTO log VALUES (1, 'a'), (2, CAST(x'62ff' AS TEXT))")
    database.close()
    address = f"sqlite:///{tmp_path / 'log.db'}"
    with pytest.raises(SourceError, match="'a name' has text that is not UTF-8") as raised:
        wb.from_sql("SELECT * FROM log", address, time="at").collect()
    assert 'CAST("a name" AS BLOB) AS "a name"' in raised.value.hint
    found = wb.from_sql('SELECT at, CAST("a name" AS BLOB) AS k FROM log', address, time="at").collect()
    assert found["k"].to_pylist() == [b"a", b"b\xff"]
