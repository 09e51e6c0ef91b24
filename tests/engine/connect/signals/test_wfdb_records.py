"""Streams of samples from WFDB records."""

from pathlib import Path

import numpy as np
import pytest
import wfdb

import whimbrel as wb
from whimbrel.errors import SourceError


def write(folder: Path, rows: int = 5000, channels: int = 2) -> np.ndarray:
    values = np.random.default_rng(4).integers(-800, 800, (rows, channels)) / 200
    values[100:110, 0] = np.nan
    wfdb.wrsamp("r1", fs=360, units=["mV"] * channels, sig_name=[f"c{each}" for each in range(channels)],
                p_signal=values, fmt=["16"] * channels, write_dir=str(folder))
    return wfdb.rdrecord(str(folder / "r1")).p_signal


def test_a_record(tmp_path: Path):
    values = write(tmp_path)
    stream = wb.read_wfdb(tmp_path / "r1", unit="us", start="2024-01-01")
    block = stream.collect_samples()
    assert block.rate == 360
    assert np.array_equal(block["c1"], values[:, 1])
    assert block["c0"].mask.sum() == 10
    assert np.array_equal(block["c0"].filled(np.nan), values[:, 0], equal_nan=True)
    part = stream.between("2024-01-01T00:00:05", "2024-01-01T00:00:06").select("c1")
    assert "part of 5,000 rows" in part.explain()
    assert np.array_equal(part.collect_samples()["c1"], values[1800:2160, 1])
    assert np.array_equal(wb.read_wfdb(tmp_path / "r1.hea", channels="c1").collect_samples()["c1"], values[:, 1])
    assert wb.read_wfdb(tmp_path / "r1", channels="c1", physical=False).collect_samples()["c1"].dtype == np.int64


def test_a_truncated_record(tmp_path: Path):
    write(tmp_path)
    (tmp_path / "r1.dat").write_bytes((tmp_path / "r1.dat").read_bytes()[:-800])
    with pytest.raises(SourceError, match="header and the file disagree, or the file is truncated"):
        wb.read_wfdb(tmp_path / "r1")


def test_missing_segments_are_gaps(tmp_path: Path):
    values = write(tmp_path, 1000, 1)
    (tmp_path / "m.hea").write_text("m/3 1 360 2500\nr1 1000\n~ 500\nr1 1000\n")
    block = wb.read_wfdb(tmp_path / "m").collect_samples()
    assert block.gaps == [(1000, 500)]
    assert np.array_equal(block["c0"].filled(np.nan), np.concatenate([values, values])[:, 0], equal_nan=True)


def test_mistakes(tmp_path: Path):
    write(tmp_path)
    with pytest.raises(SourceError, match="There is no file"):
        wb.read_wfdb(tmp_path / "r2")
    with pytest.raises(SourceError, match="There is no channel 'x'"):
        wb.read_wfdb(tmp_path / "r1", channels="x")
    (tmp_path / "r3.hea").write_text("nonsense")
    with pytest.raises(SourceError, match="Cannot read the header of r3"):
        wb.read_wfdb(tmp_path / "r3")
