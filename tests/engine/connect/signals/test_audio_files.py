"""Streams of samples from audio files."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

import whimbrel as wb
from whimbrel.errors import MissingExtraError, PlanError, SourceError

RATE = 8000


def tone(rows: int, channels: int = 1, dtype: str = "int16") -> np.ndarray:
    ticks = np.arange(rows)[:, None] + np.arange(channels)[None, :]
    wave = np.sin(ticks / 9) * 0.5
    return wave.astype(dtype) if dtype.startswith("f") else (wave * np.iinfo(dtype).max).astype(dtype)


@pytest.mark.parametrize(("ending", "subtype", "dtype"), [
    (".wav", "PCM_16", "int16"), (".flac", "PCM_16", "int16"), (".wav", "PCM_32", "int32"),
    (".wav", "FLOAT", "float32"), (".wav", "DOUBLE", "float64"), (".wav", "PCM_U8", "int16")])
def test_samples_keep_their_type(tmp_path: Path, ending, subtype, dtype):
    audio = tone(300_000, 2, dtype)
    if subtype == "PCM_U8":
        audio &= ~np.int16(255)
    soundfile.write(tmp_path / f"talk{ending}", audio, RATE, subtype)
    block = wb.read_audio(tmp_path / f"talk{ending}", start="2024-05-01").collect_samples()
    assert list(block) == ["left", "right"]
    assert block["left"].dtype == dtype
    assert np.array_equal(np.stack([block["left"], block["right"]], 1), audio)
    assert block.times()[RATE] == np.datetime64("2024-05-01T00:00:01", "ns")


def test_24_bits_are_int32_shifted_to_the_left(tmp_path: Path):
    audio = (tone(1000, 1, "int32") >> 8) << 8
    soundfile.write(tmp_path / "a.flac", audio, RATE, "PCM_24")
    assert np.array_equal(wb.read_audio(tmp_path / "a.flac").collect_samples()["ch1"], audio[:, 0])


def test_ogg_is_float(tmp_path: Path):
    soundfile.write(tmp_path / "a.ogg", tone(5000, 1, "float32"), RATE)
    block = wb.read_audio(tmp_path / "a.ogg").collect_samples()
    assert (block["ch1"].dtype, block.rows) == (np.float32, 5000)


def test_a_range_and_a_row_are_found(tmp_path: Path):
    audio = tone(RATE * 100, 3)
    soundfile.write(tmp_path / "a.flac", audio, RATE)
    stream = wb.read_audio(tmp_path / "a.flac")
    assert stream.schema.names == ("ch1", "ch2", "ch3")
    part = stream.between(10 * 10**9, 11 * 10**9).select("ch2")
    assert "part of 800,000 rows" in part.explain()
    assert np.array_equal(part.collect_samples()["ch2"], audio[10 * RATE:11 * RATE, 1])
    source = stream.node.op
    batch = next(iter(source.read(["ch3"], 300_001)))
    assert batch.column("ch3").values[0] == audio[300_001, 2]
    assert source.stamp() == wb.read_audio(tmp_path / "a.flac").node.op.stamp()
    n = stream.tumbling_window("1s").aggregate(x=wb.max(wb.col.ch1))
    assert n.collect(threads=2).equals(n.collect())


def test_several_files_keep_the_gaps_between_them(tmp_path: Path):
    audio = tone(3 * RATE)
    for number in range(3):
        soundfile.write(tmp_path / f"part-{number}.wav", audio[number * RATE:(number + 1) * RATE], RATE)
    starts = [10**10, 0, 10**9]
    block = wb.read_audio(tmp_path, start=starts).collect_samples()
    assert block.gaps == [(2 * RATE, 8 * RATE)]
    assert np.array_equal(block["ch1"], np.concatenate([audio[RATE:, 0], audio[:RATE, 0]]))
    with pytest.raises(SourceError, match=r"part-0.wav does not say when it starts"):
        wb.read_audio(tmp_path)
    with pytest.raises(SourceError, match="a time for each of the 3 files, got 1"):
        wb.read_audio(tmp_path, start=0)
    with pytest.raises(SourceError, match=r"part-1.wav begins before part-0.wav ends"):
        wb.read_audio(tmp_path, start=[0, 5, 10**10])
    soundfile.write(tmp_path / "part-3.wav", audio, RATE + 1)
    with pytest.raises(SourceError, match=r"must be alike: part-0.wav has 1 channels of int16 at 8,000"):
        wb.read_audio(tmp_path, start=[0, 1, 2, 3])


@pytest.mark.parametrize("ending", [".wav", ".flac"])
def test_a_truncated_file_is_an_error(tmp_path: Path, ending):
    path = tmp_path / f"a{ending}"
    soundfile.write(path, np.random.default_rng(0).integers(-9999, 9999, RATE * 10).astype("int16"), RATE)
    path.write_bytes(path.read_bytes()[:-50_000])
    with pytest.raises(SourceError, match=r"header and the file disagree|Cannot read a") as error:
        wb.read_audio(path).collect_samples()
    assert "Copy the file again" in error.value.hint


def test_a_file_without_samples(tmp_path: Path):
    soundfile.write(tmp_path / "a.wav", np.empty((0, 1), "int16"), RATE)
    assert wb.read_audio(tmp_path / "a.wav").collect_samples().rows == 0


def test_mistakes(tmp_path: Path):
    (tmp_path / "a.wav").write_text("no audio")
    with pytest.raises(SourceError, match=r"Cannot read a.wav as audio"):
        wb.read_audio(tmp_path / "a.wav")
    with pytest.raises(SourceError, match="There is no file") as error:
        wb.read_audio(tmp_path / "b.wav")
    assert "'a.wav'" in error.value.hint
    soundfile.write(tmp_path / "a.wav", tone(10, 2), RATE)
    with pytest.raises(SourceError, match=r"must name the 2 channels of a.wav, got 1 names"):
        wb.read_audio(tmp_path / "a.wav", channels=["x"])
    with pytest.raises(PlanError, match="more than one sample per tick"):
        wb.read_audio(tmp_path / "a.wav", unit="ms")
    with pytest.raises(SourceError, match=r"There is no .wav"):
        wb.read_audio(tmp_path.joinpath("none").parent.parent / tmp_path.name / "..")
    with pytest.raises(SourceError, match="must be a file of this machine"):
        wb.read_audio("s3://bucket/a.wav")


def test_without_the_library(tmp_path: Path, monkeypatch):
    import sys
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(MissingExtraError, match="read_audio needs soundfile") as error:
        wb.read_audio(tmp_path)
    assert error.value.hint == "pip install 'whimbrel[signals]'"
