"""Functions of segments against NumPy, SciPy and PyWavelets on whole arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import pywt
import scipy.signal
import scipy.stats
from numpy.lib.stride_tricks import sliding_window_view

import whimbrel as wb
from whimbrel import col
from whimbrel.batch import Column, Segments, SegmentType
from whimbrel.errors import ExpressionError, KernelError, MissingExtraError, WhimbrelError
from whimbrel.expr.segment_moments import complete, moment
from whimbrel.testing import check_blocks

SIZE, HOP = 64, 48
CHANCE = np.random.default_rng(5)
VALUES = CHANCE.normal(size=1024) * 90
seg = col.x.seg

FUNCTIONS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "length": (seg.length(), lambda w: np.full(len(w), SIZE)),
    "sum": (seg.sum(), lambda w: w.sum(axis=1)),
    "mean": (seg.mean(), lambda w: w.mean(axis=1)),
    "std": (seg.std(), lambda w: w.std(axis=1)),
    "rms": (seg.rms(), lambda w: np.sqrt((w * w).mean(axis=1))),
    "energy": (seg.energy(), lambda w: (w * w).sum(axis=1)),
    "kurtosis": (seg.kurtosis(), lambda w: scipy.stats.kurtosis(w, axis=1)),
    "crest": (seg.crest(), lambda w: np.abs(w).max(axis=1) / np.sqrt((w * w).mean(axis=1))),
    "min": (seg.min(), lambda w: w.min(axis=1)),
    "max": (seg.max(), lambda w: w.max(axis=1)),
    "argmin": (seg.argmin(), lambda w: w.argmin(axis=1)),
    "argmax": (seg.argmax(), lambda w: w.argmax(axis=1)),
    "crossings": (seg.crossings(5), lambda w: ((w[:, 1:] < 5) != (w[:, :-1] < 5)).sum(axis=1)),
    "at": (seg.at(seg.argmax()), lambda w: w.max(axis=1)),
    "part": (seg.slice(3, 9).seg.sum(), lambda w: w[:, 3:9].sum(axis=1)),
    "since": (seg.since(60).seg.length(), lambda w: np.full(len(w), 4)),
    "psd": (seg.psd(window="hamming"), lambda w: scipy.signal.periodogram(w, 1000, "hamming", detrend=False)[1]),
    "rfft": (seg.rfft(), lambda w: np.fft.rfft(w).view(np.float64).reshape(len(w), -1, 2)),
    "envelope": (seg.envelope(), lambda w: np.abs(scipy.signal.hilbert(w, axis=1))),
    "wavelet": (seg.wavelet("db3", level=2), lambda w: pywt.wavedec(w, "db3", level=2, axis=1)[1]),
    "approximation": (seg.wavelet("haar", level=3, part="approximation"),
                      lambda w: pywt.wavedec(w, "haar", level=3)[0]),
    "function": (wb.array_function(lambda x: np.ptp(x, axis=1), returns="float64")(col.x), lambda w: np.ptp(w, axis=1)),
    "two_functions": (wb.correlate(col.x, seg.envelope()),
                      lambda w: [np.corrcoef(x, np.abs(scipy.signal.hilbert(x)))[0, 1] for x in w]),
}


def signal(values: Any) -> Any:
    times = pa.array(np.arange(len(values)) * 1000, pa.timestamp("us"))
    return wb.from_arrow(pa.table({"at": times, "x": values}), time="at").drop("at").assume(rate=1000)


def plain(values: list[Any]) -> Any:
    return np.array([each["samples"] if isinstance(each, dict) else each for each in values], np.float64)


@pytest.mark.parametrize("dtype", [np.int16, np.int64, np.uint8, np.float32, np.float64])
def test_functions_are_those_of_numpy_and_scipy(dtype: type) -> None:
    values = (np.abs(VALUES) if dtype == np.uint8 else VALUES).astype(dtype)
    table = signal(values).rewindow(SIZE, HOP).select(**{name: expr for name, (expr, _) in FUNCTIONS.items()}).collect()
    windows = np.lib.stride_tricks.sliding_window_view(values, SIZE)[::HOP].astype(np.float64)
    close = 1e-4 if dtype == np.float32 else 1e-9
    for name, (_, expected) in FUNCTIONS.items():
        np.testing.assert_allclose(plain(table[name].to_pylist()), np.array(expected(windows), np.float64), rtol=close,
                                   atol=close * 100, err_msg=name)


@pytest.mark.share(4)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bits_do_not_depend_on_blocks(name: str) -> None:
    expr, _ = FUNCTIONS[name]
    for dtype in (np.int16, np.float32):
        check_blocks(lambda s: s.rewindow(SIZE, 40).select(y=expr), {"x": VALUES[:400].astype(dtype)}, rate=1000,
                     missing={120, 121})


def test_a_band_has_the_power_of_a_tone_in_it() -> None:
    tone = 3 * np.sin(2 * np.pi * 125 * np.arange(1024) / 1000)
    row = signal(tone).rewindow(512).select(near=col.x.seg.band(100, 150), far=col.x.seg.band(200, 400)).collect()
    np.testing.assert_allclose(row["near"].to_numpy(), 4.5, rtol=1e-3)
    assert max(row["far"].to_pylist()) < 1e-6


@pytest.mark.parametrize("shift", [0.0, 3.25, -7.6, 11.4])
def test_lags_are_found_within_a_tenth_of_a_sample(shift: float) -> None:
    source = np.fft.rfft(CHANCE.normal(size=4096))
    turned = np.exp(-2j * np.pi * np.fft.rfftfreq(4096) * shift)
    heard = [np.fft.irfft(part) for part in (source, source * turned)]
    noisy = [part + 0.1 * part.std() * CHANCE.normal(size=4096) for part in heard]
    times = pa.array(np.arange(4096) * 1000, pa.timestamp("us"))
    log = wb.from_arrow(pa.table({"at": times, "a": noisy[0], "b": noisy[1]}), time="at").drop("at").assume(rate=1000)
    lags = log.rewindow(2048).select(n=wb.lag(col.a, col.b, limit="20ms")).collect()["n"].to_numpy() * 1000
    assert np.abs(lags - shift).max() < 0.1


def test_the_majority_decides_on_each_bit() -> None:
    rows = {"at": [0, 1], "a": [0b1100, -1], "b": [0b1010, 0], "c": [0b1001, 5]}
    log = wb.from_arrow(rows, time="at").drop("at").assume(periodic=1)
    vote = log.rewindow(2).select(v=wb.majority(col.a, col.b, col.c)).collect()["v"].to_pylist()
    assert vote == [{"index": 0, "samples": [0b1000, 5]}]


def test_large_numbers_are_exact() -> None:
    big = np.array([2**31 - 1, -2**31, 2**31 - 1, 7], np.int32)
    row, = signal(big).rewindow(4).select(s=seg.sum(), sd=seg.std()).collect().to_pylist()
    assert row["s"] == int(big.astype(np.int64).sum())
    assert row["sd"] == pytest.approx(big.astype(np.float64).std(), rel=1e-12)
    far = np.array([10**9 + 1, 10**9 + 2, 10**9 + 3, 10**9 + 4], np.int32)
    assert signal(far).rewindow(4).select(sd=seg.std()).collect()["sd"].to_pylist() == [float(np.std([1, 2, 3, 4]))]
    with pytest.raises(KernelError, match="integer overflow"):
        signal(np.array([2**62, 2**62], np.int64)).rewindow(2).select(s=seg.sum()).collect()


def test_moments_of_a_window_are_computed_once() -> None:
    segments = Segments.over(SegmentType(pa.float64(), 1), VALUES, 0, np.arange(10), SIZE)  # type: ignore[arg-type]
    assert moment(segments, "mean") is moment(segments, "mean")
    moment(segments, "second")
    assert {"total", "mean", "energy", "second"} <= segments.memo.keys()
    for rows in (segments.slice(2, 5), segments.take(np.array([7, 0, 7]))):
        assert rows.memo
        anew = Segments(rows.type, rows.blocks, rows.index, rows.size, rows.position)
        for name, values in rows.memo.items():
            assert np.array_equal(values, moment(anew, name) if name != "complete" else complete(anew)), name
    assert segments.part(np.zeros(10, np.int64), segments.size - 1).memo == {}


def test_nan_and_nulls() -> None:
    values = pa.array([1.0, float("nan"), 3.0, 4.0, None, 6.0, 7.0, 8.0])
    rows = signal(values).rewindow(2).select(m=seg.mean(), top=seg.max(), at=seg.argmax(), n=seg.missing(),
                                             c=seg.crossings()).collect().to_pylist()
    assert [repr(row["m"]) for row in rows] == ["nan", "3.5", "nan", "7.5"]
    assert [repr(row["top"]) for row in rows] == ["nan", "4.0", "nan", "8.0"]
    assert [row["at"] for row in rows] == [1, 1, None, 1]
    assert [row["n"] for row in rows] == [0, 0, 1, 0]
    null = signal(values).rewindow(2).select(x=wb.when(seg.missing() == 0).then(col.x).otherwise(None))
    assert null.select(m=seg.mean(), w=seg.psd(), n=seg.length()).collect().to_pylist()[2] == {
        **null.collect().select(["start", "end"]).to_pylist()[2], "m": None, "w": None, "n": None}


def test_a_function_gets_read_only_windows() -> None:
    def spoil(windows: Any) -> Any:
        windows[0, 0] = 1
        return windows[:, 0]

    with pytest.raises(KernelError, match="read-only, for windows of shape"):
        signal(VALUES).rewindow(8).select(y=wb.array_function(spoil, returns="float64")(col.x)).collect()


LOG = signal(VALUES)
WINDOWS = LOG.rewindow(64)


def test_functions_may_answer_complex_numbers() -> None:
    tone = wb.array_function(lambda x: np.fft.fft(x, axis=1)[:, 1], returns="complex64")
    some = WINDOWS.select(y=tone(col.x), x=wb.when(seg.at(0) > seg.at(1)).then(col.x).otherwise(None))
    found = some.select("y", z=tone(col.x)).collect()
    samples = np.array([each["samples"] for each in WINDOWS.collect()["x"].to_pylist()], float)
    assert np.allclose(np.array(found["y"].to_pylist()) @ [1, 1j], np.fft.fft(samples)[:, 1], rtol=1e-5)
    assert [each is None for each in found["z"].to_pylist()] == [row[0] <= row[1] for row in samples.tolist()]


@pytest.mark.parametrize(("mistake", "error", "says"), [
    (lambda: LOG.select(y=seg.mean()), ExpressionError, "mean needs a segment, got col.x of type double."),
    (lambda: WINDOWS.select(y=col.x + 1), ExpressionError, "'+' cannot take segment<double, 1000 Hz> and int64."),
    (lambda: WINDOWS.select(y=seg.at(1.5)), ExpressionError, "at needs integer positions"),
    (lambda: WINDOWS.select(y=seg.wavelet("haar", level=0)), ExpressionError, "level must be an integer from 1 to 48"),
    (lambda: WINDOWS.select(y=seg.wavelet("haar", part="both")), ExpressionError, "part must be 'detail' or"),
    (lambda: WINDOWS.select(y=seg.wavelet("haar", level=9)), ExpressionError,
     "level must be at most 6 for windows of 64 samples, got 9."),
    (lambda: WINDOWS.where(seg.wavelet("db4", level=4).seg.max() > 1), ExpressionError,
     "level must be at most 3 for windows of 64 samples, got 4."),
    (lambda: WINDOWS.select(d=seg.wavelet("haar", level=4)).select(y=col.d.seg.wavelet("haar", level=3)),
     ExpressionError, "level must be at most 2 for windows of 4 samples, got 3."),
    (lambda: WINDOWS.select(y=seg.slice(0, 8).seg.wavelet("haar", level=4)).collect(), KernelError,
     "level must be at most 3 for windows of 8 samples, got 4."),
    (lambda: WINDOWS.select(y=seg.wavelet("hair")), ExpressionError, "Unknown wavelet 'hair'."),
    (lambda: WINDOWS.select(y=seg.psd(window="hannn")), ExpressionError, "'hannn' is not a window of SciPy"),
    (lambda: WINDOWS.select(y=seg.band(9, 3)), ExpressionError, "band() needs 0 <= low < high, got 9 and 3."),
    (lambda: WINDOWS.select(y=seg.band(600, 700)), ExpressionError, "The highest frequency of"),
    (lambda: WINDOWS.select(y=seg.crossings("a")), ExpressionError, "level must be a finite number"),
    (lambda: WINDOWS.select(y=wb.lag(col.x, seg.wavelet("haar"))), ExpressionError, "segments of one timebase"),
    (lambda: WINDOWS.select(y=wb.lag(col.x, col.x, limit="1us")), ExpressionError, "limit must be at least one sample"),
    (lambda: WINDOWS.select(y=wb.majority(col.x, col.x)), ExpressionError, "at least three segments, got 2."),
    (lambda: WINDOWS.select(y=wb.majority(col.x, col.x, col.x)), ExpressionError, "samples that are integers"),
    (lambda: wb.array_function(3, returns="int64"), ExpressionError, "array_function() needs a function, got 3."),
    (lambda: wb.array_function(np.max, returns="text"), ExpressionError, "Unknown type 'text'."),
    (lambda: wb.array_function(np.max, returns="string"), ExpressionError, "cannot return string."),
    (lambda: WINDOWS.select(y=wb.array_function(lambda x: x, returns="float64")(col.x)).collect(), KernelError,
     "The function must answer an array of shape (16,), got (16, 64)."),
    (lambda: WINDOWS.select(y=wb.array_function(lambda x: x[:, 0] * 1j, returns="float64")(col.x)).collect(),
     KernelError, "The function must answer float64, got complex128."),
    (lambda: WINDOWS.select(y=wb.array_function(lambda x: x.fill(0), returns="float64")(col.x)).collect(),
     KernelError, "ValueError: assignment destination is read-only, for windows of shape (16, 64)"),
    (lambda: WINDOWS.select(y=col.x + col.x), ExpressionError, "'+' needs numbers, not segment<double, "),
])
def test_mistakes_are_named(mistake: Any, error: type[WhimbrelError], says: str) -> None:
    with pytest.raises(error) as found:
        mistake()
    assert says in found.value.what


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", absent)
    with pytest.raises(MissingExtraError, match="wavelet\\(\\) needs PyWavelets") as found:
        WINDOWS.select(y=seg.wavelet("db4")).collect()
    assert found.value.hint == "pip install 'whimbrel[signals]'"


def test_expressions_show_as_they_are_written() -> None:
    for text in ("col.x.seg.mean()", "col.x.seg.since(col.x.seg.argmin())", "col.x.seg.wavelet('haar', level=4)",
                 "col.x.seg.psd()", "col.x.seg.psd(window='boxcar')", "lag(col.a, col.b, limit='2ms')",
                 "col.x.seg.band(1.0, 2.0)", "col.x.seg.slice(1, 2)", "correlate(col.a, col.b)"):
        assert eval(text, {"col": col, "lag": wb.lag, "correlate": wb.correlate}).show() == text


def test_columns_of_segments_go_through_expressions() -> None:
    kept = WINDOWS.where(seg.mean() > 0).select(x=col.x.fill_null(col.x), y=wb.when(seg.std() > 0).then(col.x)
                                                .otherwise(col.x))
    assert kept.collect()["x"].equals(kept.collect()["y"])
    assert isinstance(Column.nulls(kept.schema.type_of("x"), 2).values, Segments)


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
@pytest.mark.parametrize("size", [16, 17, 30, 101])
@pytest.mark.parametrize("part", ["detail", "approximation"])
def test_the_haar_wavelet_has_the_bits_of_pywavelets(dtype: str, size: int, part: str) -> None:
    samples = np.random.default_rng(size).normal(size=10 * size).astype(dtype)
    samples[3:40] = -0.0
    for level in range(1, 5):
        windows = signal(samples).rewindow(size, size // 2).select(d=seg.wavelet("haar", level=level, part=part))
        ours = windows.collect()["d"].to_pylist()
        cut = sliding_window_view(samples, size)[::size // 2]
        approximation = detail = cut.astype("float32" if dtype == "float32" else "float64")
        for _ in range(level):
            approximation, detail = pywt.dwt(approximation, "haar", axis=1)
        theirs = detail if part == "detail" else approximation
        assert np.array([row["samples"] for row in ours], theirs.dtype).tobytes() == theirs.tobytes()
