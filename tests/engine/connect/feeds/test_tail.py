"""A file that grows: read as it is written, and on when it was rotated, copied, compressed or cut meanwhile."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import time
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import pytest

import whimbrel as wb
from tests.engine.connect.feeds.listen import lines, reading, rows, until, values
from whimbrel.connect.feeds import FeedReader
from whimbrel.connect.feeds.files import tail
from whimbrel.connect.feeds.files.gzip_members import GzipMembers

QUICK: Any = {"time": "at", "schema": {"at": "int64", "x": "int64"}, "retry_backoff_s": (0.01, 0.05)}


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was renamed is left soon."""
    monkeypatch.setattr(tail, "_LINGER_S", 0.2)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


def rotated(log: Path, number: int = 1) -> Path:
    return log.rename(log.with_name(f"{log.name}.{number}"))


def append(path: Path, text: bytes) -> None:
    with path.open("ab") as file:
        file.write(text)


def offset_after(log: Path, count: int) -> Any:
    """The offset of a feed after so many rows."""
    with reading(wb.feeds.tail(log, **QUICK)) as found:
        rows(found, count)
        return json.loads(json.dumps(found.offset))


def nothing_missed(found: FeedReader) -> bool:
    return not found.state.lost and not found.state.dead_letters


def test_lines_are_read_as_they_are_written_and_half_a_line_waits(log: Path) -> None:
    log.write_bytes(BOM_UTF8 + lines(1, 2))
    with reading(wb.feeds.tail(log, time="at")) as found, log.open("ab") as file:
        assert values(found, 2, "at") == [1, 2]
        whole = lines(3)
        file.write(whole[:5])
        file.flush()
        assert next(found) is None
        file.write(whole[5:])
        file.flush()
        assert values(found, 1, "at") == [3]


@pytest.mark.fault("tail", "file rotated")
def test_a_file_that_is_rotated_is_read_to_its_end_and_then_the_new_one(log: Path) -> None:
    log.write_bytes(lines(1))
    with reading(wb.feeds.tail(log, **QUICK)) as found:
        assert values(found, 1, "at") == [1]
        file = log.open("ab")
        rotated(log)
        file.write(lines(2))
        file.close()
        log.write_bytes(lines(3))
        assert values(found, 2, "at") == [2, 3]


@pytest.mark.fault("tail", "client gone meanwhile")
@pytest.mark.parametrize("moved", [False, True])
def test_a_file_is_read_on_from_an_offset_also_when_it_was_rotated_meanwhile(log: Path, moved: bool) -> None:
    log.write_bytes(lines(1, 2))
    with reading(wb.feeds.tail(log, **QUICK)) as found:
        assert values(found, 2, "at") == [1, 2]
        offset = json.loads(json.dumps(found.offset))
    with log.open("ab") as file:
        file.write(lines(3))
    if moved:
        rotated(log)
        log.write_bytes(lines(4))
        os.utime(log.with_name("log.jsonl.1"), (1, 1))
    with reading(wb.feeds.tail(log, **QUICK), offset) as found:
        assert values(found, 1 + moved, "at") == [3, 4][:1 + moved]


@pytest.mark.parametrize("again", [(9,), (7, 8, 9)])
def test_a_file_that_is_truncated_is_read_from_its_beginning(log: Path, again: tuple[int, ...]) -> None:
    log.write_bytes(lines(1, 2))
    with reading(wb.feeds.tail(log, **QUICK)) as found:
        rows(found, 2)
        log.write_bytes(lines(*again))
        assert values(found, len(again), "at") == list(again)
        until(lambda: sum(found.state.lost.values()) == 1)


@pytest.mark.parametrize("while_read", [True, False])
def test_a_file_that_is_rewritten_and_begins_as_before_is_another_one(log: Path, while_read: bool) -> None:
    same = list(range(100, 200))  # more than is remembered of the beginning
    log.write_bytes(lines(*same, 1, 2))
    again = [*same, 3, 4, *same]
    feed = wb.feeds.tail(log, **QUICK)
    with reading(feed) as found:
        assert values(found, 102, "at") == [*same, 1, 2]
        offset = json.loads(json.dumps(found.offset))
        log.write_bytes(lines(*again))  # the same file, longer than before
        if while_read:
            assert values(found, 202, "at") == again
            assert sum(found.state.lost.values()) == 1
    if not while_read:
        with reading(feed, offset) as found:
            assert values(found, 202, "at") == again
            assert sum(found.state.lost.values()) == 1


@pytest.mark.fault("tail", "garbage bytes")
def test_a_gzip_grows_member_by_member_and_garbage_lines_are_dead_letters(log: Path) -> None:
    log = log.with_name("log.jsonl.gz")
    log.write_bytes(gzip.compress(lines(1) + b"\x00\x01garbage\n"))
    feed = wb.feeds.tail(log, **QUICK)
    with reading(feed) as found, log.open("ab") as file:
        assert values(found, 1, "at") == [1]
        member = gzip.compress(lines(2, 3))
        file.write(member[:15])
        file.flush()
        file.write(member[15:])
        file.flush()
        assert values(found, 2, "at") == [2, 3]
        assert sum(found.state.dead_letters.values()) == 1
        offset = found.offset
    with log.open("ab") as file, reading(feed, offset) as found:
        file.write(gzip.compress(lines(4)))
        file.flush()
        assert values(found, 1, "at") == [4]


def test_what_is_no_gzip_between_members_is_a_letter_also_when_it_is_read_again(log: Path) -> None:
    log = log.with_name("log.jsonl.gz")
    unlike_its_checksum = bytearray(gzip.compress(lines(3)))
    unlike_its_checksum[-6] ^= 0xff
    log.write_bytes(b"\x00garbage" + gzip.compress(lines(1)) + b"\x1f\x8bgarbage" + gzip.compress(lines(2)))
    with reading(wb.feeds.tail(log, **QUICK)) as found:
        assert values(found, 2, "at") == [1, 2]
        append(log, unlike_its_checksum)
        append(log, gzip.compress(lines(4)))
        assert values(found, 2, "at") == [3, 4]
        assert found.state.dead_letters == {"bytes that are not gzip": 3}
        offset = json.loads(json.dumps(found.offset))
    append(log, gzip.compress(lines(5)))
    with reading(wb.feeds.tail(log, **QUICK), offset) as found:
        assert values(found, 1, "at") == [5]
        assert nothing_missed(found)


@pytest.mark.parametrize("step", [1, 7, 100_000])
def test_the_text_of_a_broken_gzip_does_not_depend_on_how_it_came(step: int) -> None:
    torn = bytearray(gzip.compress(lines(*range(500))))
    torn[len(torn) // 2] ^= 0xff
    whole = bytes(torn) + b"\x1f\x8b\x08\xff" + gzip.compress(lines(1))
    members, again = GzipMembers(), GzipMembers()
    text, breaks = members.add(whole)
    parts = [again.add(whole[at:at + step]) for at in range(0, len(whole), step)]
    assert b"".join(part for part, _ in parts) == text
    assert sum(len(each) for _, each in parts) == len(breaks) == 2
    assert text.endswith(b"\n" + lines(1))


def test_what_is_written_by_the_old_handle_after_the_rotation_is_read(log: Path) -> None:
    log.write_bytes(lines(1))
    with reading(wb.feeds.tail(log, **QUICK)) as found, log.open("ab") as old:
        assert values(found, 1, "at") == [1]
        rotated(log)
        log.write_bytes(lines(4))
        for at in (2, 3):  # each within the time that it is given
            assert next(found) is None
            old.write(lines(at))
            old.flush()
            assert values(found, 1, "at") == [at]
        assert values(found, 1, "at") == [4]
        assert nothing_missed(found)


def test_files_that_were_begun_and_rotated_between_two_polls_are_read_in_order(log: Path) -> None:
    append(log.with_name("log.jsonl.9"), lines(8, 9))  # of before
    os.utime(log.with_name("log.jsonl.9"), (1, 1))
    log.with_name("log.jsonl.swp").write_bytes(lines(7))
    log.write_bytes(lines(1))
    with reading(wb.feeds.tail(log, **QUICK)) as found:
        assert values(found, 1, "at") == [1]
        rotated(log, 2)
        log.write_bytes(lines(2))
        rotated(log, 1)
        log.write_bytes(lines(3))
        assert values(found, 2, "at") == [2, 3]
        assert nothing_missed(found)


@pytest.mark.parametrize(("last", "kept"), [(b'{"at": 2, "x": 20}', [2, 3]), (b'{"at": 2, "x', [3])])
def test_a_last_line_without_its_end_is_read_when_its_file_is_left(log: Path, last: bytes, kept: list[int]) -> None:
    log.write_bytes(lines(1) + last)
    with reading(wb.feeds.tail(log, **QUICK)) as found:
        assert values(found, 1, "at") == [1]
        rotated(log)
        assert next(found) is None
        log.write_bytes(lines(3))
        assert values(found, len(kept), "at") == kept
        assert sum(found.state.dead_letters.values()) == 2 - len(kept)


@pytest.mark.parametrize("in_place", [False, True])
def test_a_file_that_was_filled_again_is_known_by_its_head(log: Path, in_place: bool) -> None:
    log.write_bytes(lines(1, 2))
    offset = offset_after(log, 2)
    if not in_place:
        log.unlink()
    log.write_bytes(lines(4, 5, 6))
    with reading(wb.feeds.tail(log, **QUICK), offset) as found:
        assert values(found, 3, "at") == [4, 5, 6]
        until(lambda: sum(found.state.lost.values()) == 1)
        assert str(found.state) == "live, 1 lost"


def test_a_file_that_is_copied_and_cut_loses_nothing(log: Path) -> None:
    log.write_bytes(lines(1, 2))
    offset = offset_after(log, 2)
    append(log, lines(3))
    shutil.copy(log, log.with_name("log.jsonl.1"))
    log.write_bytes(lines(4))
    with reading(wb.feeds.tail(log, **QUICK), offset) as found:
        assert values(found, 2, "at") == [3, 4]
        assert nothing_missed(found)


def test_a_file_that_is_written_to_at_once_when_it_was_copied_and_cut_loses_nothing(log: Path) -> None:
    """Its copy was taken for one that was made before: what was written after the cut made the log newer."""
    log.write_bytes(lines(1, 2))
    with reading(wb.feeds.tail(log, **QUICK)) as found:
        assert values(found, 2, "at") == [1, 2]
        append(log, lines(*range(3, 13)))
        shutil.copy2(log, log.with_name("log.jsonl.1"))
        os.truncate(log, 0)
        time.sleep(0.02)  # files are dated by a clock that ticks
        append(log, lines(13))
        assert values(found, 11, "at") == [*range(3, 14)]
        assert nothing_missed(found)


@pytest.mark.parametrize("again", [(), (5,)])
def test_a_file_that_was_empty_when_it_was_copied_and_cut_loses_nothing(log: Path, again: tuple[int, ...]) -> None:
    old = log.with_name("log.jsonl.2")
    old.write_bytes(lines(1, 2, 3))
    log.write_bytes(b"")
    with reading(wb.feeds.tail(log, **QUICK)) as found:
        assert next(found) is None
        until(lambda: next(found) is None and found.state.connection == "live")
        log.with_name("log.jsonl.1").write_bytes(lines(4))
        packed = log.with_name("log.jsonl.2.gz")
        packed.write_bytes(gzip.compress(old.read_bytes()))
        os.utime(packed, (1, 1))
        old.unlink()
        log.write_bytes(lines(*again))
        assert values(found, 1 + len(again), "at") == [4, *again]
        assert nothing_missed(found)


def test_a_file_that_was_empty_and_is_cut_without_a_copy_is_said_to_have_been(log: Path) -> None:
    log.write_bytes(b"")
    os.utime(log, (1, 1))
    with reading(wb.feeds.tail(log, **QUICK)) as found:
        until(lambda: next(found) is None and found.state.connection == "live")
        os.utime(log)
        until(lambda: sum(found.state.lost.values()) == 1)
        append(log, lines(1))
        assert values(found, 1, "at") == [1]


def test_a_file_that_was_compressed_is_read_on_at_its_byte(log: Path) -> None:
    log.write_bytes(lines(*range(100)))
    offset = offset_after(log, 100)
    append(log, lines(100))
    packed = log.with_name("log.jsonl.2.gz")
    packed.write_bytes(gzip.compress(log.read_bytes()))
    status = log.stat()
    os.utime(packed, ns=(status.st_atime_ns, status.st_mtime_ns))
    log.unlink()
    log.with_name("log.jsonl.1").write_bytes(lines(101))
    log.write_bytes(lines(102))
    with reading(wb.feeds.tail(log, **QUICK), offset) as found:
        assert values(found, 3, "at") == [100, 101, 102]
        assert nothing_missed(found)


def test_a_file_begun_after_a_file_that_was_removed_is_read(log: Path) -> None:
    log.write_bytes(lines(1))
    offset = offset_after(log, 1)
    log.unlink()
    log.with_name("log.jsonl.1").write_bytes(lines(3))
    log.write_bytes(lines(4))
    with reading(wb.feeds.tail(log, **QUICK), offset) as found:
        assert values(found, 2, "at") == [3, 4]
        until(lambda: sum(found.state.lost.values()) == 1)
