"""A capture that grows, files that follow each other, and pipes."""

from __future__ import annotations

import gzip
import json
import os
import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest

import whimbrel as wb
from tests.engine.connect.feeds.listen import PATIENCE_S, reading, rows, until
from tests.engine.connect.packets.generated import Drawn, as_pcap, as_pcapng, frames
from whimbrel import col
from whimbrel.connect.feeds import FeedReader
from whimbrel.connect.packets import followed_captures
from whimbrel.errors import PlanError, SourceError

QUICK: Any = {"columns": ["length", "src_ip"], "retry_backoff_s": (0.01, 0.05)}


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed_captures, "_QUIET_S", 0.1)


@pytest.fixture
def drawn() -> list[Drawn]:
    return frames(Random(6), 40)


def times(found: FeedReader, count: int) -> list[int]:
    return [time for batch in rows(found, count) for time in batch.sync.tolist()]


def at(drawn: list[Drawn]) -> list[int]:
    return [time for time, _ in drawn]


@pytest.mark.parametrize("form", [as_pcap, as_pcapng])
def test_packets_are_read_as_they_are_written(tmp_path: Path, drawn: list[Drawn], form: Any) -> None:
    whole, log = form(drawn), tmp_path / "log.pcap"
    log.write_bytes(whole[:100])
    with reading(wb.feeds.pcap(log, **QUICK)) as found, log.open("ab") as file:
        seen: list[int] = []
        for first in range(100, len(whole), 700):
            file.write(whole[first:first + 700])
            file.flush()
        seen += times(found, 40)
        assert seen == at(drawn)
        assert not found.state.lost


def test_a_feed_resumes_after_the_last_packet(tmp_path: Path, drawn: list[Drawn]) -> None:
    log = tmp_path / "log.pcap"
    log.write_bytes(as_pcap(drawn[:25]))
    feed = wb.feeds.pcap(log, **QUICK)
    with reading(feed) as found:
        assert times(found, 25) == at(drawn[:25])
        offset = json.loads(json.dumps(found.offset))
    log.write_bytes(as_pcap(drawn))
    with reading(feed, offset) as found:
        assert times(found, 15) == at(drawn[25:])


def test_files_follow_each_other_in_natural_order(tmp_path: Path, drawn: list[Drawn]) -> None:
    parts = {"log.pcap": drawn[:10], "log.pcap2": drawn[10:20], "log.pcap10": drawn[20:30]}
    for name, packets in parts.items():
        (tmp_path / name).write_bytes(as_pcap(packets))
    with reading(wb.feeds.pcap(tmp_path / "log.pcap*", **QUICK)) as found:
        assert times(found, 30) == at(drawn[:30])
        offset = json.loads(json.dumps(found.offset))
        (tmp_path / "log.pcap11").write_bytes(as_pcap(drawn[30:]))
        assert times(found, 10) == at(drawn[30:])
    (tmp_path / "log.pcap10").unlink()
    with reading(wb.feeds.pcap(tmp_path / "log.pcap*", **QUICK), offset) as found:
        assert times(found, 10) == at(drawn[30:])
        until(lambda: found.state.lost)


@pytest.mark.parametrize("count", [10, 30])
def test_an_overwritten_file_counts_as_lost(tmp_path: Path, drawn: list[Drawn], count: int) -> None:
    log = tmp_path / "log.pcap"
    log.write_bytes(as_pcap(drawn[:20]))
    with reading(wb.feeds.pcap(log, **QUICK)) as found:
        assert times(found, 20) == at(drawn[:20])
        log.write_bytes(as_pcap(drawn[-count:]))
        assert times(found, count) == at(drawn[-count:])
        assert found.state.lost


def rewritten(log: Path, packets: list[Drawn], how: str) -> None:
    """Begin a capture again, as tools that rotate files do."""
    if how in ("renamed", "compressed"):
        log.rename(log.with_name(f"{log.name}.1"))
    if how == "compressed":
        (log.parent / f"{log.name}.1.gz").write_bytes(gzip.compress((log.parent / f"{log.name}.1").read_bytes()))
        (log.parent / f"{log.name}.1").unlink()
    if how == "replaced":
        log.unlink()
    log.write_bytes(as_pcap(packets))


@pytest.mark.parametrize(("how", "pattern"), [
    ("renamed", "log.pcap"), ("compressed", "log.pcap"), ("replaced", "log.pcap"), ("renamed", "log.pcap*")])
def test_a_capture_that_is_begun_again_is_read_from_its_beginning(tmp_path: Path, drawn: list[Drawn], how: str,
                                                                  pattern: str) -> None:
    log = tmp_path / "log.pcap"
    log.write_bytes(as_pcap(drawn[:10]))
    feed = wb.feeds.pcap(tmp_path / pattern, **QUICK)
    with reading(feed) as found:
        assert times(found, 10) == at(drawn[:10])
        rewritten(log, drawn[10:30], how)
        assert times(found, 20) == at(drawn[10:30])
        assert not found.state.lost


def test_files_that_are_overwritten_in_turn_are_read_again(tmp_path: Path, drawn: list[Drawn]) -> None:
    first, second = tmp_path / "log0.pcap", tmp_path / "log1.pcap"
    first.write_bytes(as_pcap(drawn[:10]))
    second.write_bytes(as_pcap(drawn[10:20]))
    feed = wb.feeds.pcap(tmp_path / "log*.pcap", **QUICK)
    with reading(feed) as found:
        assert times(found, 20) == at(drawn[:20])
        first.write_bytes(as_pcap(drawn[20:25]))
        assert times(found, 5) == at(drawn[20:25])
        offset = json.loads(json.dumps(found.offset))
        assert not found.state.lost
    second.write_bytes(as_pcap(drawn[25:35]))
    with reading(feed, offset) as found:
        assert times(found, 10) == at(drawn[25:35])
        first.write_bytes(as_pcap(drawn[35:]))
        assert times(found, 5) == at(drawn[35:])
        assert not found.state.lost


@pytest.mark.parametrize("pattern", ["log.pcap", "log.pcap*"])
def test_a_feed_resumes_in_files_that_were_renamed_often(tmp_path: Path, drawn: list[Drawn], pattern: str) -> None:
    def rotate(first: int, end: int) -> None:
        for number in range(6, 0, -1):
            if (tmp_path / f"log.pcap.{number}").exists():
                (tmp_path / f"log.pcap.{number}").rename(tmp_path / f"log.pcap.{number + 1}")
        log.rename(tmp_path / "log.pcap.1")
        log.write_bytes(as_pcap(drawn[first:end]))
        os.utime(log, (first, first))

    log = tmp_path / "log.pcap"
    log.write_bytes(as_pcap(drawn[:10]))
    os.utime(log, (0, 0))
    feed, offset, read = wb.feeds.pcap(tmp_path / pattern, **QUICK), None, 0
    for end, count in ((10, 10), (20, 5), (30, 5), (40, 20)):  # the second and third run end in a file with a new name
        with reading(feed, offset) as found:
            assert times(found, count) == at(drawn[read:read + count])
            offset, read = json.loads(json.dumps(found.offset)), read + count
            assert not found.state.lost
        if end < 40:
            rotate(end, end + 5)
            rotate(end + 5, end + 10)


@pytest.mark.parametrize(("how", "begins", "is_lost"), [
    ("renamed", 10, False), ("compressed", 10, False), ("overwritten", 15, True), ("replaced", 15, True),
    ("of a version before", 10, False)])
def test_a_feed_resumes_in_the_file_that_it_read(tmp_path: Path, drawn: list[Drawn], how: str, begins: int,
                                                 is_lost: bool) -> None:
    log = tmp_path / "log.pcap"
    log.write_bytes(as_pcap(drawn[:10]))
    feed = wb.feeds.pcap(log, **QUICK)
    with reading(feed) as found:
        assert times(found, 10) == at(drawn[:10])
        offset = json.loads(json.dumps(found.offset))
    log.write_bytes(as_pcap(drawn[:15]))
    if how == "of a version before":
        offset = {"file": offset["file"], "packets": offset["packets"]}
        log.write_bytes(as_pcap(drawn))
    else:
        rewritten(log, drawn[15:], how)
    with reading(feed, offset) as found:
        assert times(found, 40 - begins) == at(drawn[begins:])
        assert bool(found.state.lost) == is_lost


def test_a_pipe_ends_with_its_writer_and_runs_as_a_query(tmp_path: Path, drawn: list[Drawn]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(as_pcap(drawn),))
    writer.start()
    counted = wb.feeds.pcap(pipe, columns=["protocol"]).where(col.protocol == 6).hopping_window("1d", "1d").aggregate(
        n=wb.count())
    run, = wb.start(counted)
    assert run.wait(PATIENCE_S)
    writer.join()
    whole = as_rows(tmp_path, drawn)
    assert sum(run.snapshot().table["n"].to_pylist()) == sum(row["protocol"] == 6 for row in whole) > 0


def as_rows(folder: Path, drawn: list[Drawn]) -> list[dict[str, Any]]:
    (folder / "whole.pcap").write_bytes(as_pcap(drawn))
    return wb.read_pcap(folder / "whole.pcap").select("protocol").collect().to_pylist()


def test_bad_options_and_bytes_are_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="Packets have no column 'src_ipp'") as refused:
        wb.feeds.pcap(tmp_path / "log.pcap", columns=["src_ipp"])
    assert "src_ip" in str(refused.value)
    (tmp_path / "log.pcap").write_bytes(b"no capture, but text")
    feed = wb.feeds.pcap(tmp_path / "log.pcap", **QUICK)
    with reading(feed) as found, pytest.raises(SourceError, match="cannot be read as a capture"):
        rows(found, 1)
