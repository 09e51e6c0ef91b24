"""Sinks of samples: audio files, and Parquet files of blocks."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import soundfile
from pyarrow import parquet

import whimbrel as wb
from tests.engine.connect.feeds.listen import PATIENCE_S
from whimbrel import col
from whimbrel.errors import PlanError, SinkError

RATE = 8000


def talk(rows: int = 50_000, dtype: str = "int16") -> wb.Stream:
    """Two channels with two gaps."""
    gap = np.isin(np.arange(rows) // 1000, [7, 20])
    values = (np.arange(rows) * 7 % 3000).astype(dtype)
    return wb.from_samples({"left": np.ma.MaskedArray(values, gap), "right": np.ma.MaskedArray(-values, gap)},
                           rate=RATE, start="2024-05-01T10:00:00.000125", unit="ns")


def write(stream: wb.Stream, sink, **options) -> None:
    run = stream.start(sink=sink, **options)
    assert run.wait(PATIENCE_S)
    if run.error is not None:
        raise run.error


def same(one: wb.Stream, other: wb.Stream) -> None:
    expected, found = one.collect_samples(), other.collect_samples()
    assert found.gaps == expected.gaps
    assert found.times()[[0, -1]].tolist() == expected.times()[[0, -1]].tolist()
    for name in expected:
        assert np.array_equal(found[name], expected[name])
        assert found[name].dtype == expected[name].dtype


@pytest.mark.parametrize(("format_", "dtype"), [("flac", "int16"), ("wav", "int16"), ("wav", "int32"),
                                                ("wav", "float32"), ("wav", "float64")])
def test_audio_reads_back_as_the_same_stream(tmp_path: Path, format_, dtype):
    write(talk(dtype=dtype), wb.sinks.audio(tmp_path / "out", rate=RATE, format=format_))
    assert len(list((tmp_path / "out").glob(f"rows-*.{format_}"))) == 3  # a file for each run
    assert not list((tmp_path / "out").glob(".rows-*"))
    same(talk(dtype=dtype), wb.read_audio(tmp_path / "out"))


def test_times_before_1970_and_in_a_zone(tmp_path: Path):
    values = np.arange(20, dtype="int16")
    for name, options in (("a", {"start": "1969-12-31T23:59:59.5"}),
                          ("b", {"start": "2024-05-01T12:00", "zone": "UTC"})):
        stream = wb.from_samples({"ch1": values}, rate=7, unit="us", **options)
        write(stream, wb.sinks.audio(tmp_path / name, rate=7, format="wav"))
        assert wb.read_audio(tmp_path / name, unit="us").collect().equals(stream.collect())


def test_24_bits(tmp_path: Path):
    values = (np.arange(1000, dtype="int32") - 500) << 8
    stream = wb.from_samples({"x": values}, rate=RATE)
    write(stream, wb.sinks.audio(tmp_path / "out", rate=RATE))
    assert np.array_equal(wb.read_audio(tmp_path / "out").collect_samples()["ch1"], values)
    with pytest.raises(SinkError, match="FLAC keeps 24 bits"):
        write(stream.select(x=col.x + 1).select(x=col.x.cast("int32")), wb.sinks.audio(tmp_path / "b", rate=RATE))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int16", "int32", "int64", "float32", "float64"])
def test_blocks_read_back_as_the_same_stream(tmp_path: Path, dtype):
    write(talk(dtype=dtype), wb.sinks.blocks(tmp_path / "out", rate=RATE, block=900))
    back = wb.read_parquet(tmp_path / "out", time="start", samples=["left", "right"], rate=RATE)
    same(talk(dtype=dtype), back)
    part = back.between("2024-05-01T10:00:01", "2024-05-01T10:00:02")
    same(talk(dtype=dtype).between("2024-05-01T10:00:01", "2024-05-01T10:00:02"), part)


def test_blocks_are_small(tmp_path: Path):
    values = np.round(np.sin(np.arange(200_000) / 30) * 200).astype("int16")
    write(wb.from_samples({"x": values}, rate=RATE), wb.sinks.blocks(tmp_path / "out", rate=RATE))
    file, = (tmp_path / "out").glob("rows-*.parquet")
    assert "DELTA_BINARY_PACKED" in parquet.read_metadata(file).row_group(0).column(1).encodings
    assert file.stat().st_size < values.nbytes / 3


def test_null_channels(tmp_path: Path):
    x = np.ma.masked_equal(np.arange(10, dtype="int16"), 4)
    stream = wb.from_samples({"x": x, "y": np.arange(10, dtype="int16")}, rate=RATE)
    write(stream, wb.sinks.blocks(tmp_path / "out", rate=RATE))
    back = wb.read_parquet(tmp_path / "out", time="start", samples=["x", "y"], rate=RATE)
    assert back.collect()["x"].to_pylist() == stream.collect()["x"].to_pylist()
    with pytest.raises(SinkError, match=r"'x' is null at 1970-01-01 00:00:00.000500"):
        write(stream, wb.sinks.audio(tmp_path / "audio", rate=RATE))


@pytest.mark.parametrize("make", [
    lambda folder: wb.sinks.audio(folder, rate=RATE), lambda folder: wb.sinks.blocks(folder, rate=RATE)])
def test_events_that_are_no_samples(tmp_path: Path, make):
    stream = wb.from_samples({"x": np.arange(100, dtype="int16")}, rate=RATE)
    with pytest.raises(SinkError, match="must be a sample of its own"):
        write(stream.union(stream), make(tmp_path / "twice"))
    with pytest.raises(SinkError, match="must be a sample of its own"):
        write(stream.union(stream.shift("50us")), make(tmp_path / "between"))
    with pytest.raises(PlanError, match="need times with a unit"):
        write(wb.from_arrow({"at": [1], "x": [1]}, time="at").select("x"), make(tmp_path / "integers"))
    text = wb.from_arrow({"at": pa.array([1], pa.timestamp("us")), "x": ["a"]}, time="at").select("x")
    with pytest.raises(SinkError, match="Channels"):
        write(text, make(tmp_path / "text"))
    write(stream, make(tmp_path / "rows"))
    with pytest.raises(SinkError, match="A new run needs an empty folder") as error:
        write(stream, make(tmp_path / "rows"))
    assert "sinks." in error.value.where


def test_mistakes(tmp_path: Path):
    for options, what in (({"rate": 0}, "rate must be an integer of at least 1"),
                          ({"rate": 44.1}, "rate must be an integer"),
                          ({"rate": 5, "format": "mp3"}, "format must be")):
        with pytest.raises(PlanError, match=what):
            wb.sinks.audio(tmp_path, **options)
    with pytest.raises(PlanError, match="block must be an integer of at least 1"):
        wb.sinks.blocks(tmp_path, rate=5, block=0)
    with pytest.raises(PlanError, match="rate must be a positive number"):
        write(talk(), wb.sinks.blocks(tmp_path / "a", rate=float("nan")))
    with pytest.raises(SinkError, match="Channels of flac must have one type of int16, int32, got float64"):
        write(talk(dtype="float64"), wb.sinks.audio(tmp_path / "a", rate=RATE))


PROGRAM = """
import sys, numpy as np, whimbrel as wb
folder, kind = sys.argv[1:]
x = np.ma.MaskedArray(np.arange(400_000) % 3000, np.arange(400_000) // 1000 % 37 == 5).astype("int16")
source = wb.from_samples({"x": x}, rate=8000, start="2024-05-01")
sink = (wb.sinks.audio if kind == "audio" else wb.sinks.blocks)(folder + "/out", rate=8000)
run = wb.replay(source, speed=20.0).start(sink=sink, checkpoints=wb.Checkpoints(folder + "/state", every="100ms"))
run.wait()
if run.error: raise run.error
print("finished")
"""


@pytest.mark.long
@pytest.mark.parametrize("kind", ["audio", "blocks"])
def test_a_killed_run_resumes_and_each_sample_is_there_once(tmp_path: Path, kind):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), kind]
    for _ in range(2):
        before = len(list((tmp_path / "out").glob("rows-*"))) if (tmp_path / "out").is_dir() else 0
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE_S
        while not (tmp_path / "out").is_dir() or len(list((tmp_path / "out").glob("rows-*"))) < before + 2:
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=PATIENCE_S).stdout.strip() == b"finished"
    x = np.ma.MaskedArray(np.arange(400_000) % 3000, np.arange(400_000) // 1000 % 37 == 5).astype("int16")
    expected = wb.from_samples({"x": x}, rate=8000, start="2024-05-01").collect_samples()
    back = (wb.read_audio(tmp_path / "out") if kind == "audio" else
            wb.read_parquet(tmp_path / "out", time="start", samples="x", rate=8000)).collect_samples()
    assert np.array_equal(next(iter(back.values())), expected["x"])
    assert back.gaps == expected.gaps


def test_a_damaged_audio_file_is_named(tmp_path: Path):
    sink = wb.sinks.audio(tmp_path, rate=RATE)
    schema = pa.schema([("start", pa.timestamp("us")), ("end", pa.timestamp("us")), ("x", pa.int16())])
    sink.run = "run"
    sink.open(schema, 0, None)
    at = pa.array(np.arange(100) * 125).cast(pa.timestamp("us"))
    sink.write(pa.record_batch([at, at, pa.array(np.arange(100, dtype="int16"))], schema=schema))
    token = sink.prepare()
    sink.commit(token)
    sink.close()
    file, = tmp_path.glob("rows-*.flac")
    soundfile.write(file, np.zeros(50, "int16"), RATE)
    again = wb.sinks.audio(tmp_path, rate=RATE)
    again.run = "run"
    with pytest.raises(SinkError, match=r"rows 0 to 99 \(rows-\S+ has 50 samples\)"):
        again.open(schema, 100, token)
