"""Lines of growing files, however they come."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

import whimbrel as wb
from tests.engine.connect.feeds import listen
from tests.engine.connect.feeds.listen import reading, rows, until, values
from whimbrel.connect.feeds.formats import line_splitter as of_files
from whimbrel.connect.feeds.formats.line_splitter import LineSplitter

QUICK: Any = {"time": "at", "schema": {"at": "int64", "x": "int64"}}


@given(some.lists(some.sampled_from([b"a", b"bc", b"\n", b"\r\n", b"\r", BOM_UTF8, b"d" * 2000])), some.integers(1, 7))
def test_lines_are_those_of_the_whole_text(pieces: list[bytes], step: int) -> None:
    text = b"".join(pieces)
    whole = text.removeprefix(BOM_UTF8).split(b"\n")
    expected = [line for line in (each.removesuffix(b"\r") for each in whole) if line]
    found = LineSplitter()
    came = [line for start in range(0, len(pieces), step) for line in found.add(b"".join(pieces[start:start + step]))]
    given_ = text[:text.rfind(b"\n") + 1]
    assert (found.bytes, found.last) == (len(given_), given_[-1024:])
    assert came + found.end() == expected
    assert (found.bytes, found.last) == (len(text), text[-1024:])


@pytest.mark.parametrize("kind", ["tail", "directory"])
def test_a_line_that_is_too_long_is_a_letter_and_takes_no_other_with_it(
        kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was kept until memory was full."""
    monkeypatch.setattr(of_files, "MAX_LINE_BYTES", 3 << 20)
    log = tmp_path / "log.json"
    log.write_bytes(listen.lines(1) + b"x" * 5_000_000 + b"\n" + listen.lines(2))
    os.utime(log, (1, 1))
    feed = wb.feeds.tail(log, **QUICK) if kind == "tail" else wb.feeds.directory(tmp_path, pattern="*.json", **QUICK)
    with reading(feed) as found:
        assert values(found, 2, "at") == [1, 2]
        until(lambda: next(found) is None and found.state.dead_letters == {"a line is longer than 64 MiB": 1})
        offset = found.offset
    with log.open("ab") as more:
        more.write(listen.lines(3))
    if kind == "tail":
        with reading(feed, offset) as found:
            assert [at for batch in rows(found, 1) for at in batch.column("at").to_arrow().to_pylist()] == [3]
