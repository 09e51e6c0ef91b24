"""Feeds of samples: generated waves, datagrams, Lab Streaming Layer, and blocks in other feeds."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.connect.feeds.listen import reading, rows, until
from whimbrel.connect.feeds.signals.udp import UdpFeed
from whimbrel.errors import MissingExtraError, PlanError, SourceError

FAST = float("inf")


# Waves

def test_waves_do_not_depend_on_blocks_and_agree_with_history():
    kinds = [wb.feeds.waves(8000, channels=["x"], samples=200_000, noise=0.2, dropouts=(3, 0.25), block=block, seed=7,
                            speed=FAST) for block in (77, 480, 100_000)]
    first, *others = [kind.collect_samples() for kind in kinds]
    assert first.gaps[:2] == [(22_000, 2000), (46_000, 2000)]
    for other in others:
        assert np.array_equal(first["x"], other["x"])
        assert first.gaps == other.gaps
    history = wb.from_samples({"x": np.ma.MaskedArray(
        np.zeros(200_000, "float32"), ~np.isin(np.arange(200_000), first.numbers()))}, rate=8000, start="2024-01-01")
    query = history.tumbling_window("1s").aggregate(n=wb.count())
    assert query.on(kinds[0]).collect().equals(query.collect())


def test_waves_have_their_frequency_and_drift():
    block = wb.feeds.waves(1000, samples=10_000, frequency=50, drift_ppm=2e4, speed=FAST).collect_samples()
    spectrum = abs(np.fft.rfft(block["ch1"] * np.hanning(10_000)))
    assert spectrum.argmax() / 10 == pytest.approx(49, abs=0.1)
    assert wb.feeds.waves(1000, samples=100, amplitude=9, dtype="int8", speed=FAST).collect_samples()["ch1"].max() == 9


def test_waves_come_when_they_are_due_and_resume():
    feed = wb.feeds.waves(1000, samples=300, block=10, noise=1, speed=1.0)
    began = time.monotonic()
    assert feed.collect_samples().rows == 300
    assert time.monotonic() - began > 0.25
    fast = wb.feeds.waves(1000, samples=300, block=10, noise=1, speed=FAST)
    source = wb.Stream(fast.node.inputs[0])
    with reading(source, 12) as found:
        batch, = rows(found, 18)
    whole = fast.collect_samples()["ch1"]
    assert np.array_equal(np.concatenate(batch.column("ch1").to_arrow().to_pylist()).astype("float32"), whole[120:])


@pytest.mark.parametrize(("options", "what"), [
    ({"rate": 0}, "rate must be a positive number"), ({"frequency": -1}, "frequency must be"),
    ({"block": 0}, "block must be"), ({"dropouts": (1, 2)}, "dropouts must be"), ({"speed": 0}, "speed must be"),
    ({"channels": []}, "channels must be"), ({"channels": ["at"]}, "channels must have different names"),
    ({"dtype": "complex64"}, "dtype must be"), ({"unit": "ms"}, "more than one sample per tick"),
    ({"late": "adjust"}, "cannot move a block"), ({"drift_ppm": float("nan")}, "drift_ppm must be"),
    ({"blok": 3}, "has no option 'blok'"),
])
def test_mistakes_of_waves(options, what):
    with pytest.raises(PlanError, match=what):
        wb.feeds.waves(**options)


def test_overload_sheds_whole_blocks():
    feed = wb.feeds.waves(48_000, samples=2_400_000, speed=FAST, queue_rows=100, overload=wb.feeds.Sample(0.5))
    with reading(wb.Stream(feed.node.inputs[0])) as found:
        early = [batch for batch in [next(found)] if batch is not None]
        until(lambda: sum(found.state.shed.values()))
        batches = [*early, *rows(found, 5000)]
        blocks = [block for batch in batches for block in batch.column("ch1").to_arrow().to_pylist()]
        shed = found.state.shed["sample 0.5"]
    assert {len(block) for block in blocks} == {480}
    assert len(blocks) + shed == 5000


# Datagrams

def udp(**options) -> tuple[wb.Stream, int]:
    """A feed at a free port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    defaults = {"rate": 1000, "samples": 10, "channels": ["x"], "start": 0, "unit": "us", "reorder_latency": "200ms"}
    return wb.feeds.udp(port, **{**defaults, **options}), port


def datagram(number: int, *, kind: str = "<I", step: int = 1) -> bytes:
    return struct.pack(kind, number) + np.arange(number // step * 10, number // step * 10 + 10).astype("<i2").tobytes()


def send(port: int, *messages: bytes) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for message in messages:
            sender.sendto(message, ("127.0.0.1", port))


def received(feed: wb.Stream, port: int, messages: list[bytes],
             blocks: int) -> tuple[dict[int, int], wb.feeds.FeedStatus]:
    """Values by time in milliseconds, and the status, after the run was stopped."""
    run = feed.start()
    until(lambda: run.metrics.feeds and _bound(port), "no socket")
    send(port, *messages)
    until(lambda: run.metrics.feeds["udp"].rows >= blocks, "datagrams")
    until(lambda: run.metrics.feeds["udp"].queued_rows == 0)
    run.stop(drain=True)
    table = run.snapshot().table
    status = run.metrics.feeds["udp"]
    at = table["start"].cast(pa.int64()).to_numpy() // 1000
    return dict(zip(at.tolist(), table["x"].to_pylist(), strict=True)), status


def _bound(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


@pytest.mark.fault("udp", "duplicate delivery")
@pytest.mark.fault("udp", "garbage bytes")
def test_loss_is_a_gap_and_disorder_is_sorted():
    feed, port = udp()
    order = [0, 1, 3, 2, 2, 5, 4, 8, 9, 9]  # 6 and 7 are lost
    messages = [datagram(number) for number in order]
    messages[4:4] = [b"", b"garbage", messages[0][:-1], messages[0] + b"x"]
    found, status = received(feed, port, messages, len(order))
    there = [*range(60), *range(80, 100)]
    assert found == dict(zip(there, there, strict=True))
    assert status.lost == {"datagrams did not arrive": 2}
    assert sum(status.dead_letters.values()) == 4


@pytest.mark.parametrize(("kind", "sequence"), [("<H", "<u2"), (">H", ">u2"), ("B", "u1")])
def test_numbers_wrap_around(kind, sequence):
    span = 1 << 8 * struct.calcsize(kind)
    feed, port = udp(sequence=sequence)
    messages = [struct.pack(kind, number % span) + np.full(10, number % 251, "<i2").tobytes()
                for number in (span - 3, span - 1, span - 2, span, span + 1)]
    found, _ = received(feed, port, messages, 5)
    assert [found[at] for at in sorted(found)][::10] == [number % 251 for number in range(span - 3, span + 2)]
    assert sorted(found) == list(range(50))


def test_numbers_of_samples_in_a_longer_header():
    feed, port = udp(sequence=">u4", counts="samples", header=12, position=4)
    messages = [b"abcd" + struct.pack(">I", 1000 + number * 10) + b"efgh" + np.full(10, number, "<i2").tobytes()
                for number in (0, 2, 1, 4)]
    found, status = received(feed, port, messages, 4)
    assert [found[at] for at in sorted(found)][::10] == [0, 1, 2, 4]
    assert status.lost == {"datagrams did not arrive": 1}


def test_a_resumed_feed_keeps_its_times():
    feed, port = udp()
    source = wb.Stream(feed.node.inputs[0])
    with reading(source) as found:
        next(found)
        until(lambda: _bound(port))
        send(port, datagram(7))
        batch, = rows(found, 1)
        offset = found.offset
    assert batch.time(0) == 0
    with reading(source, offset) as found:
        next(found)
        until(lambda: _bound(port))
        send(port, datagram(107))
        batch, = rows(found, 1)
    assert batch.time(0) == 1_000_000


@pytest.mark.parametrize(("options", "what"), [
    ({"port": 70_000}, "port must be an integer"), ({"samples": 0}, "samples must be an integer"),
    ({"rate": -1}, "rate must be a positive"), ({"sequence": "<i4"}, "sequence must be an unsigned"),
    ({"header": 2}, "header must have the 4 bytes"), ({"samples": 40_000}, "has at most 65,536 bytes"),
    ({"counts": "bytes"}, "counts must be one of"), ({"dtype": "S4"}, "dtype must be"),
])
def test_mistakes_of_udp(options, what):
    with pytest.raises(PlanError, match=what):
        wb.feeds.udp(**{"port": 9, "rate": 8000, "samples": 10, **options})


def test_an_address_of_another_machine():
    feed = UdpFeed(0, rate=8000, samples=10, host="192.0.2.1")
    with pytest.raises(SourceError, match="Cannot receive at 192"):
        feed.connect(None)


# Blocks in other feeds

GROWING = """
import sys, whimbrel as wb, pyarrow as pa
folder = sys.argv[1]
feed = wb.feeds.tail(folder + "/blocks.jsonl", time="at", schema={"at": "timestamp[us]", "x": pa.list_(pa.int32())})
talk = wb.feeds.samples_of(feed, "x", rate=1000)
run = talk.start(sink=wb.sinks.blocks(folder + "/out", rate=1000), checkpoints=wb.Checkpoints(folder + "/state",
                                                                                              every="50ms"))
run.wait()
raise run.error
"""


@pytest.mark.long
@pytest.mark.fault("tail", "process killed")
def test_a_growing_file_of_blocks_is_read_once_by_runs_that_are_killed(tmp_path: Path):
    (tmp_path / "blocks.jsonl").touch()
    expected: list[int] = []

    def grow(blocks: int) -> None:
        with (tmp_path / "blocks.jsonl").open("a") as file:
            for _ in range(blocks):
                first = len(expected)
                expected.extend(range(first, first + 50))
                file.write(json.dumps({"at": f"1970-01-01T00:00:{first / 1000:09.6f}",
                                       "x": list(range(first, first + 50))}) + "\n")
                file.flush()

    def written() -> int:
        names = [path.stem.split("-") for path in (tmp_path / "out").glob("rows-*.parquet")]
        return max((int(stop) for _, _, stop in names), default=0)

    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", GROWING, str(tmp_path)])
        grow(40)
        until(lambda: written() >= len(expected) - 50, "blocks")
        grow(40)
        time.sleep(0.03)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    process = subprocess.Popen([sys.executable, "-c", GROWING, str(tmp_path)])
    until(lambda: written() >= len(expected) - 50, "blocks")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    back = wb.read_parquet(tmp_path / "out", time="start", samples="x", rate=1000).collect_samples()
    assert back["x"].tolist() == expected[:back.rows]
    assert back.gaps == []


def test_samples_of_needs_a_feed():
    with pytest.raises(PlanError, match=r"needs a feed without further steps"):
        wb.feeds.samples_of(wb.from_arrow({"at": [1], "x": [[1]]}, time="at"), "x", rate=5)


# Lab Streaming Layer

@pytest.fixture
def outlet():
    pylsl = pytest.importorskip("pylsl")
    name = f"whimbrel-{os.getpid()}-{time.monotonic_ns()}"
    info = pylsl.StreamInfo(name, "EEG", 2, 500, pylsl.cf_float32, name)
    info.set_channel_labels(["c3", "c4"])
    return name, pylsl.StreamOutlet(info), pylsl.local_clock


def test_lsl_with_a_drifting_clock(outlet):
    name, out, clock = outlet
    feed = wb.feeds.lsl(name, step="100ms", start="2024-01-01", unit="us")
    assert feed.schema.names == ("c3", "c4")
    run = feed.start()
    until(out.have_consumers, "no inlet")
    began, drift, total = clock(), 1.02, 10_000  # the device is 2% slower than its rate
    for first in range(0, total, 50):
        values = np.stack([np.arange(first, first + 50), -np.arange(first, first + 50)], 1).astype("float32")
        stamps = began + np.arange(first, first + 50) * drift / 500
        out.push_chunk(values.tolist(), stamps.tolist())
    until(lambda: run.metrics.feeds[name].bytes >= total * 8, "samples")
    until(lambda: run.metrics.feeds[name].queued_rows == 0)
    run.stop(drain=True)
    table = run.snapshot().table
    assert table["c3"].to_pylist() == list(range(total))
    at = table["start"].cast(pa.int64()).to_numpy() - 1_704_067_200_000_000
    steps = np.diff(at) // 2000
    assert (np.diff(at) % 2000 == 0).all()
    true = np.arange(total) * drift * 1e6 / 500
    assert 1 < (steps > 1).sum() <= 5  # a gap whenever the device is 100 ms behind
    assert abs(at - true).max() < 120_000
    lost = run.metrics.feeds[name].lost
    assert sum(lost.values()) == (steps - 1).sum()


def test_lsl_without_a_stream():
    with pytest.raises(SourceError, match="There is no stream 'nobody'"):
        wb.feeds.lsl("nobody", find_timeout=0.2)


# Sound card

def test_a_sound_card_needs_its_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    with pytest.raises(MissingExtraError, match=r"feeds.audio needs sounddevice with PortAudio") as error:
        wb.feeds.audio()
    assert error.value.hint == "pip install 'whimbrel[audio]'"
    with pytest.raises(PlanError, match="block must be"):
        wb.feeds.audio(block=0)
