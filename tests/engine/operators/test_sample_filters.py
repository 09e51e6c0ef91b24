"""Filters of samples: SciPy's results, gaps, blocks, keys, and mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import signal

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError, PlanError
from whimbrel.kernels import tier
from whimbrel.plan import Node
from whimbrel.testing import BatchedRows
from whimbrel.testing.oracle import Event

ROWS = 20_000
DRAWN = np.random.default_rng(3)
X = DRAWN.normal(size=ROWS).cumsum()
AT = np.round(np.arange(ROWS) * 1e6 / 360).astype(np.int64)
THERE = ~np.isin(np.arange(ROWS), [5_000, 5_001, 9_000, 12_345])
SOS = signal.butter(4, [0.05, 0.2], btype="band", output="sos")


def samples(there: Any = None, dtype: Any = np.float64) -> wb.Stream:
    kept = np.ones(ROWS, np.bool_) if there is None else there
    rows = {"at": pa.array(AT[kept], pa.timestamp("us")), "x": X[kept].astype(dtype)}
    return wb.from_arrow(rows, time="at").assume(rate=360, gaps=there is not None)


def column(stream: wb.Stream) -> np.ndarray[Any, Any]:
    with tier("fused"):
        found: np.ndarray[Any, Any] = stream.collect()["y"].to_numpy()
    return found


def by_run(function: Callable[[Any], Any]) -> np.ndarray[Any, Any]:
    """A function of each run of samples that are there."""
    out = np.full(ROWS, np.nan)
    for run in np.split(np.arange(ROWS), np.flatnonzero(~THERE)):
        rows = run[THERE[run]]
        if len(rows):
            out[rows] = function(X[rows])
    return out[THERE]


def fir_of(taps: Any, center: bool) -> Callable[[Any], Any]:
    def of(values: Any) -> Any:
        out = signal.lfilter(taps, 1, values)
        out[:len(taps) - 1] = np.nan
        half = len(taps) // 2
        return np.concatenate([out[half:], np.full(half, np.nan)]) if center else out
    return of


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
@pytest.mark.parametrize("init", ["zero", "steady"])
def test_sections_have_the_bits_of_scipy(init: Any, dtype: Any) -> None:
    values = X.astype(dtype).astype(np.float64)
    expected = signal.sosfilt(SOS, values) if init == "zero" else signal.sosfilt(
        SOS, values, zi=signal.sosfilt_zi(SOS) * values[0])[0]
    assert np.array_equal(column(samples(dtype=dtype).select(y=wb.iir(col.x, sos=SOS, init=init))), expected)


def test_coefficients_have_the_bits_of_scipy_from_the_steady_state() -> None:
    b, a = signal.butter(3, 0.2)
    expected = signal.lfilter(b, a, X, zi=signal.lfilter_zi(b, a) * X[0])[0]
    assert np.array_equal(column(samples().select(y=wb.iir(col.x, b=b, a=a, init="steady"))), expected)


def test_a_filter_begins_again_after_a_gap_and_settles() -> None:
    def of(values: Any) -> Any:
        out = signal.sosfilt(SOS, values)
        out[:7] = np.nan
        return out
    found = column(samples(THERE).select(y=wb.iir(col.x, sos=SOS, settle=7)))
    assert np.array_equal(found, by_run(of), equal_nan=True)


def test_nan_is_a_missing_sample_unless_it_is_kept() -> None:
    rows = {"at": [0, 1, 2, 3], "x": [1.0, float("nan"), 1.0, 1.0]}
    stream = wb.from_arrow(rows, time="at").assume(periodic=1)
    lost = stream.select(y=wb.iir(col.x, b=[1], a=[1, -1]), z=wb.fir(col.x, [1, 1])).collect()
    assert lost["y"].to_pylist() == [1.0, None, 1.0, 2.0]
    assert lost["z"].to_pylist() == [None, None, None, 2.0]
    kept = stream.select(y=wb.iir(col.x, b=[1], a=[1, -1], nan="keep"), z=wb.fir(col.x, [1, 1], nan="keep")).collect()
    assert repr(kept["y"].to_pylist()) == "[1.0, nan, nan, nan]"
    assert repr(kept["z"].to_pylist()) == "[None, nan, nan, 2.0]"


def test_a_stream_without_a_rate_is_filtered_from_event_to_event() -> None:
    log = wb.from_arrow({"at": [0, 1, 7], "x": [4.0, 2.0, 2.0]}, time="at")
    steady = log.select(y=wb.iir(col.x, b=[0.5], a=[1, -0.5], init="steady", settle=1)).collect()
    assert steady["y"].to_pylist() == [None, 3.0, 2.5]


@pytest.mark.parametrize("align", ["causal", "center"])
@pytest.mark.parametrize("taps", [1, 2, 5, 63, 65, 301])
def test_fir_is_as_scipy_says(taps: int, align: Any) -> None:
    if align == "center" and taps % 2 == 0:
        return
    numbers = signal.firwin(taps, 0.2)
    found = column(samples(THERE).select(y=wb.fir(col.x, numbers, align=align)))
    np.testing.assert_allclose(found, by_run(fir_of(numbers, align == "center")), rtol=0, atol=1e-12)


FILTERS = {
    "iir": wb.iir(col.x, sos=SOS, init="steady"), "fir": wb.fir(col.x, signal.firwin(31, 0.1), settle=3),
    "fir_center": wb.fir(col.x, signal.firwin(31, 0.1), align="center"),
    "blocks": wb.fir(col.x, signal.firwin(201, 0.1)),
    "blocks_center": wb.fir(col.x, signal.firwin(201, 0.1), align="center"),
}


@pytest.mark.parametrize("name", FILTERS)
def test_any_cutting_gives_the_same_bits(name: str) -> None:
    def over(rows: list[Event], cuts: list[int], *, keyed: bool) -> list[Any]:
        batches = [rows[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
        stream = wb.Stream(Node(BatchedRows(batches))).select("key", x=col.y)
        stream = stream.assume(periodic=2, gaps=True, per="key").group_by("key") if keyed else stream.assume(
            periodic=2, gaps=True)
        with tier("fused"):
            return stream.with_columns(v=FILTERS[name]).collect()["v"].to_pylist()

    chance = np.random.default_rng(1)
    for keys in ("a", "ab"):
        rows: list[Event] = [
            (2 * n, 2 * n + 1, {"time": 0, "key": key, "k2": 0, "x": 0, "y": float(X[n]), "flag": True})
            for n in range(3_000) for key in keys if n % (911 if key == "a" else 537)]
        whole = over(rows, [], keyed=keys == "ab")
        assert sum(value is not None for value in whole) > 1_000
        for count in (1, 3, 400):
            cuts = sorted(chance.integers(0, len(rows), count).tolist())
            assert over(rows, cuts, keyed=keys == "ab") == whole


@pytest.mark.parametrize("name", FILTERS)
def test_each_key_of_samples_has_a_filter_of_its_own(name: str) -> None:
    rows = {"at": np.repeat(np.arange(500), 2), "key": ["a", "b"] * 500, "x": X[:1_000]}
    signals = wb.from_arrow(rows, time="at").assume(periodic=1, per="key")
    assert signals.with_columns(y=FILTERS[name]).collect() == signals.group_by("key").with_columns(
        y=FILTERS[name]).collect()


@pytest.mark.parametrize("name", FILTERS)
def test_ranges_on_threads_have_the_same_bits(name: str) -> None:
    rows = {"at": pa.array(AT, pa.timestamp("us")), "x": X}
    query = wb.from_arrow(rows, time="at").assume(rate=360, phase="1970-01-01", gaps=True).select(y=FILTERS[name])
    assert query.collect(threads=2).equals(query.collect())


SAMPLES = wb.from_arrow({"at": [0, 1], "x": [1.0, 2.0], "s": ["a", "b"]}, time="at").assume(periodic=1)


@pytest.mark.parametrize(("mistake", "says", "hint"), [
    (lambda: wb.fir(col.x, []), "taps must be finite numbers, at least one, got [].", "firwin"),
    (lambda: wb.fir(col.x, [1, float("nan")]), "taps must be finite numbers", "firwin"),
    (lambda: wb.fir(col.x, 3), "taps must be finite numbers", "firwin"),  # type: ignore[arg-type]
    (lambda: wb.fir(col.x, [1, 1], align="center"), 'align="center" needs an odd number of taps, got 2.', "Add a tap"),
    (lambda: wb.fir(col.x, [1], align="center", settle=1), "takes no settle=", "Remove settle="),
    (lambda: wb.fir(col.x, [1], align="left"), "align must be one of 'causal', 'center', got 'left'.",  # type: ignore[arg-type]
     "align='causal'"),
    (lambda: wb.fir(col.x, [1] * 65, nan="keep"), 'nan="keep" needs at most 64 taps', "Remove nan="),
    (lambda: wb.fir(col.x, [1], settle=-1), "settle must be a number of samples, at least 0, got -1.", "settle=100"),
    (lambda: wb.iir(col.x, b=[1], a=[0, 1]), "The first coefficient of a must not be 0", "leading zeros"),
    (lambda: wb.iir(col.x, b=[1], a=[1], init="rest"), "init must be one of", "init='zero'"),  # type: ignore[arg-type]
    (lambda: wb.iir(col.x, b=[1], a=[1], settle=1.5), "settle must be a number of samples",  # type: ignore[arg-type]
     "settle=100"),
    (lambda: SAMPLES.select(y=wb.iir(col.x, b=[1], a=[1, -1], init="steady")), "without a pole at frequency 0",
     'init="zero"'),
    (lambda: wb.from_arrow({"at": [0], "x": [1]}, time="at").select(y=wb.fir(col.x, [1])),
     "fir() needs samples", "assume(rate=...)"),
    (lambda: wb.from_arrow({"at": pa.array([0], pa.timestamp("s")), "x": [1]}, time="at").assume(rate="2/3")
     .select(y=wb.fir(col.x, [1])), "at least two ticks per sample, got 3/2", "finer unit"),
])
def test_mistakes_are_reported(mistake: Callable[[], object], says: str, hint: str) -> None:
    with pytest.raises(PlanError, match=re.escape(says)) as caught:
        mistake()
    assert hint in str(caught.value)


def test_only_numbers_are_filtered() -> None:
    with pytest.raises(ExpressionError, match="fir needs numbers, got string"):
        SAMPLES.select(y=wb.fir(col.s, [1]))
    with pytest.raises(ExpressionError, match="iir needs numbers, got string"):
        SAMPLES.select(y=wb.iir(col.s, b=[1], a=[1]))


def test_the_plan_says_how_a_filter_runs() -> None:
    text = SAMPLES.select(y=wb.fir(col.x, signal.firwin(65, 0.2))).explain()
    assert re.search(r"filter\(fir\(col\.x, 65 taps [0-9a-f]{8}\)\)", text)
    assert "runs in blocks of 960 samples" in text
    assert "look-ahead" in SAMPLES.select(y=wb.fir(col.x, [1, 2, 1], align="center")).explain()
    assert "unstable" in SAMPLES.select(y=wb.iir(col.x, b=[1], a=[1, -2])).explain()
