"""Streams of samples from EDF and BDF files."""

import datetime as dt
from fractions import Fraction
from pathlib import Path

import edfio
import numpy as np
import pytest

import whimbrel as wb
from whimbrel.errors import PlanError, SourceError


def write(path: Path, *, seconds: int = 10, rates=(256, 256, 100), bdf: bool = False) -> list[np.ndarray]:
    """A file with a signal for each rate; the values as a reader has them."""
    random = np.random.default_rng(2)
    make = edfio.BdfSignal if bdf else edfio.EdfSignal
    signals = [make(random.normal(size=rate * seconds), rate, label=f"s{number}", physical_dimension="uV")
               for number, rate in enumerate(rates)]
    file = (edfio.Bdf if bdf else edfio.Edf)(
        signals, recording=edfio.Recording(startdate=dt.date(2024, 5, 1)), starttime=dt.time(9, 30, 15),
        data_record_duration=1, annotations=[edfio.EdfAnnotation(3, None, "note")])
    file.write(path)
    return [signal.data for signal in (edfio.read_bdf if bdf else edfio.read_edf)(path).signals]


def with_onsets(path: Path, onsets: list[str]) -> None:
    """Give the data records of a file other times, as a discontinuous file has them."""
    data = bytearray(path.read_bytes())
    header, count = int(data[184:192]), int(data[252:256])
    labels = [bytes(data[256 + 16 * each:272 + 16 * each]).strip() for each in range(count)]
    at = 256 + 216 * count
    sizes = [2 * int(data[at + 8 * each:at + 8 * each + 8]) for each in range(count)]
    place, size = sum(sizes[:labels.index(b"EDF Annotations")]), sum(sizes)
    data[192:197] = b"EDF+D"
    for record, onset in enumerate(onsets):
        begin = header + record * size + place
        note = f"{onset}\x14\x14\x00".encode()
        data[begin:begin + len(note)] = note
    path.write_bytes(data)


@pytest.mark.parametrize("bdf", [False, True])
def test_signals_of_one_rate(tmp_path: Path, bdf):
    values = write(tmp_path / "a.edf", bdf=bdf)
    block = wb.read_edf(tmp_path / "a.edf", channels=["s0", "s1"]).collect_samples()
    assert np.array_equal(block["s0"], values[0])
    assert np.array_equal(block["s1"], values[1])
    assert block.rate == 256
    assert block.times()[256] == np.datetime64("2024-05-01T09:30:16", "ns")
    slow = wb.read_edf(tmp_path / "a.edf", channels="s2", start=0, unit="us")
    assert np.array_equal(slow.collect_samples()["s2"], values[2])
    digital = wb.read_edf(tmp_path / "a.edf", channels="s2", physical=False).collect_samples()["s2"]
    assert digital.dtype == (np.int32 if bdf else np.int16)


def test_channels_of_several_rates_are_several_streams(tmp_path: Path):
    write(tmp_path / "a.edf")
    with pytest.raises(SourceError, match="must have one rate, got s0, s1 with 256; s2 with 100 samples") as error:
        wb.read_edf(tmp_path / "a.edf")
    assert "channels=['s0', 's1']" in error.value.hint
    with pytest.raises(SourceError, match="There is no channel 'x'"):
        wb.read_edf(tmp_path / "a.edf", channels="x")
    with pytest.raises(SourceError, match="must name a channel"):
        wb.read_edf(tmp_path / "a.edf", channels=[])


def test_a_range_is_read_alone(tmp_path: Path):
    values = write(tmp_path / "a.edf", seconds=100, rates=(256,))
    part = wb.read_edf(tmp_path / "a.edf").between("2024-05-01T09:30:30.5", "2024-05-01T09:30:40")
    assert "2,432 rows, part of 25,600" in part.explain()
    assert np.array_equal(part.collect_samples()["s0"], values[0][15 * 256 + 128:25 * 256])


def test_gaps_are_kept(tmp_path: Path):
    values = write(tmp_path / "a.edf", seconds=4, rates=(200,))
    with_onsets(tmp_path / "a.edf", ["+0.5", "+1.5", "+7", "+8"])
    stream = wb.read_edf(tmp_path / "a.edf")
    block = stream.collect_samples()
    assert np.array_equal(block["s0"], values[0])
    assert block.gaps == [(400, 900)]
    assert block.times()[0] == np.datetime64("2024-05-01T09:30:15.5", "ns")
    counts = stream.tumbling_window("1s").aggregate(n=wb.count()).collect()["n"].to_pylist()
    assert counts == [100, 200, 100, 200, 200]
    with_onsets(tmp_path / "a.edf", ["+0", "+0.5", "+7", "+8"])
    with pytest.raises(SourceError, match=r"Data record 1 of a.edf begins before the one before it ends"):
        wb.read_edf(tmp_path / "a.edf")


def test_rates_that_are_fractions(tmp_path: Path):
    write(tmp_path / "a.edf", seconds=9, rates=(100,))
    data = bytearray((tmp_path / "a.edf").read_bytes())
    data[244:252] = b"0.3     "
    (tmp_path / "a.edf").write_bytes(data)
    with_onsets(tmp_path / "a.edf", [f"+{0.3 * record:.1f}" for record in range(9)])
    block = wb.read_edf(tmp_path / "a.edf").collect_samples()
    assert (block.rate, block.gaps, block.rows) == (Fraction(1000, 3), [], 900)


@pytest.mark.parametrize(("change", "what"), [
    (lambda data: data[:-10], "has 9 data records and a part of one, but its header says 10"),
    (lambda data: data + data[-600:], "has 11 data records and a part of one"),
    (lambda data: data[:236] + b"12      " + data[244:], "has 10 data records, but its header says 12"),
    (lambda data: data[:300], "header"),
    (lambda _: b"no signals", "Cannot read the header of a.edf"),
    (lambda data: data[:244] + b"0       " + data[252:], "must have samples and last longer than 0 seconds"),
])
def test_damaged_files(tmp_path: Path, change, what):
    write(tmp_path / "a.edf", rates=(256,))
    (tmp_path / "a.edf").write_bytes(change((tmp_path / "a.edf").read_bytes()))
    with pytest.raises(SourceError, match=what):
        wb.read_edf(tmp_path / "a.edf")


def test_a_rate_above_the_ticks(tmp_path: Path):
    write(tmp_path / "a.edf", rates=(2000,))
    with pytest.raises(PlanError, match="more than one sample per tick"):
        wb.read_edf(tmp_path / "a.edf", unit="ms")
