"""The law of blocks: however samples arrive, and wherever a run resumes, every operator on them gives the same bits."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, col
from whimbrel.testing import check_blocks

SOS = [[0.2, 0.1, 0.3, 1, -0.4, 0.2], [1, 0.5, 0, 1, 0.25, 0]]
SUM = lambda block, total: ({"s": (sums := block["y"].cumsum() + total)}, int(sums[-1]))  # noqa: E731
SHAPE = wb.array_function(lambda x: np.abs(np.fft.rfft(x))[:, 1:4].sum(axis=1), returns="float64")


def grouped(stream: Stream) -> Stream:
    return stream.group_by("key") if "key" in stream.schema else stream


def windows(*arguments: Any, **options: Any) -> Callable[[Stream], Stream]:
    return lambda s: s.rewindow(*arguments, **options)


def of_windows(**columns: Any) -> Callable[[Stream], Stream]:
    return lambda s: s.rewindow(8, 5).select(*(["key"] if "key" in s.schema else []), **columns)


def found(stream: Stream) -> Stream:
    return grouped(stream).above(col.x, on=0.8, hold=1)


SIGNAL_QUERIES: dict[str, Callable[[Stream], Stream]] = {
    "iir": lambda s: grouped(s).with_columns(v=wb.iir(col.x, sos=SOS, init="steady", settle=2)),
    "iir of y": lambda s: grouped(s).with_columns(v=wb.iir(col.y, b=[0.5], a=[1, -0.5])),
    "fir": lambda s: grouped(s).with_columns(v=wb.fir(col.x, [0.5, 0.25, 1], settle=1)),
    "fir in the middle": lambda s: grouped(s).with_columns(v=wb.fir(col.y, [1, 2, -1, 0.1, 3], align="center")),
    "fir in blocks": lambda s: grouped(s).with_columns(v=wb.fir(col.x, np.hanning(80), settle=0)),
    "filters one after another": lambda s: grouped(s).with_columns(v=wb.fir(wb.iir(col.x, sos=SOS), [0.5, 0.5])),
    "another rate": lambda s: s.resample(700, how="polyphase") if s.schema.unit else s.resample(3, how="polyphase"),
    "process": lambda s: grouped(s).process(SUM, state=0, gives={"s": "int64"}, columns=["y"]),
    "windows": windows(4),
    "overlapping windows": windows(7, 3, short="keep"),
    "windows with holes": windows(3, 5),
    "windows after gaps": windows(6, 4, gaps="split", short="keep"),
    "causal windows": windows(5, 2, label="end"),
    "filled windows": lambda s: s.drop("y").rewindow(6, 4, gaps="fill", fill=0.5, short="keep"),
    "runs": windows(),
    "short runs": windows(limit=9),
    "moments": of_windows(m=col.x.seg.mean(), d=col.x.seg.std(), k=col.x.seg.kurtosis(), c=col.x.seg.crest()),
    "extremes": of_windows(a=col.y.seg.argmax(), b=col.y.seg.min(), r=col.y.seg.since(col.y.seg.argmin())),
    "spectra": of_windows(p=col.x.seg.psd(window="hann"), f=col.y.seg.rfft()),
    "bands": lambda s: of_windows(b=col.x.seg.band(*((0.1, 0.3) if s.schema.unit is None else (50, 120))))(s),
    "wavelets": of_windows(w=col.x.seg.wavelet("haar", level=2), e=col.x.seg.envelope()),
    "two channels": of_windows(g=wb.lag(col.x, col.y), c=wb.correlate(col.x, col.y)),
    "a user's function": of_windows(v=SHAPE(col.x)),
    "samples again": lambda s: grouped(s.rewindow(6, 4).where(col.x.seg.mean() > 0)).samples(),
    "windows in one": lambda s: s.rewindow(4).where(col.x.seg.std() > 0.3).stitch(),
    "pairs": lambda s: s.drop("y").rewindow(4).zip(s.rewindow(4).select(*(["key"] if "key" in s.schema else []),
                                                                         z=col.y)),
    "above": found,
    "cfar": lambda s: grouped(s).cfar(col.x, deviations=1.5, forget=0.9, startup=8, hold=2, pad=2, limit=40),
    "detected windows": lambda s: of_windows(v=col.x.seg.rms())(s).above(col.v, on=0.7),
    "ranges": lambda s: found(s).sync(s, before=3, after=11),
    "whole ranges": lambda s: found(s).sync(s, gaps="skip", limit=20),
    "aggregates of windows": lambda s: grouped(s).tumbling_window(9 if s.schema.unit is None else "20ms").aggregate(
        n=wb.count(), x=wb.sum(col.x)),
}
SIGNALS: dict[str, dict[str, Any]] = {
    "one signal": {},
    "gaps": {"missing": {0, 17, 18, 19, 60, 131}},
    "keys and gaps": {"missing": {5, 40, 41, 90}, "keys": ("a", "b", "c")},
    "jitter and a rate": {"missing": {33, 34, 120}, "rate": "1000/3", "jitter_ns": 900_000},
    "keys and jitter": {"keys": ("b", "a"), "rate": 360, "jitter_ns": 1_000_000, "missing": {7}},
}


def channels(seed: int, rows: int = 170) -> dict[str, Any]:
    """A noisy channel with nulls and NaN, and one of integers."""
    chance = np.random.default_rng(seed)
    x = [None if part < 0.02 else float("nan") if part < 0.03 else float(value)
         for part, value in zip(chance.random(rows), chance.normal(size=rows), strict=True)]
    return {"x": pa.array(x, pa.float64()), "y": chance.integers(-900, 900, rows).astype("int16")}


@pytest.mark.share(5, rest="long")
@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize("name", SIGNAL_QUERIES)
def test_rows(name: str, signal: str) -> None:
    options = SIGNALS[signal]
    query = SIGNAL_QUERIES[name]
    check_blocks(query, channels(len(name)), cuts=3, seed=len(signal), **options)


@pytest.mark.share(3, rest="long")
@pytest.mark.parametrize("name", SIGNAL_QUERIES)
def test_late_and_repeated_blocks(name: str) -> None:
    """Blocks that come late, within the reorder latency, and blocks that overlap with equal samples."""
    chance = random.Random(name)
    x = np.random.default_rng(3).normal(size=170)
    y = np.random.default_rng(4).integers(-900, 900, 170).astype("int16")
    there = [(0, 60), (63, 110), (110, 112), (120, 170)]

    def blocks(at: list[tuple[int, int]], **options: Any) -> Stream:
        table = pa.table({"at": pa.array([first * 1000 for first, _ in at]).cast(pa.timestamp("us")),
                          "x": pa.array([x[first:stop] for first, stop in at], pa.list_(pa.float64())),
                          "y": pa.array([y[first:stop] for first, stop in at], pa.list_(pa.int16()))})
        return wb.from_arrow(table, time="at", samples=["x", "y"], rate=1000, **options)

    expected = SIGNAL_QUERIES[name](blocks(there)).collect()
    for _ in range(3):
        cuts = [(first, stop) for begin, end in there
                for first, stop in _cut(begin, end, chance)]
        cuts += [(first, chance.randint(first + 1, stop)) for first, stop in chance.choices(cuts, k=4)]
        arrived = sorted(sorted(cuts), key=lambda block: block[0] + chance.uniform(0, 20))
        late = SIGNAL_QUERIES[name](blocks(arrived, reorder_latency="25ms", late="raise"))
        assert repr(late.collect().to_pylist()) == repr(expected.to_pylist()), arrived


def _cut(begin: int, end: int, chance: random.Random) -> list[tuple[int, int]]:
    ends = sorted({begin, end, *(chance.randint(begin, end) for _ in range(6))})
    return list(pairwise(ends))


def test_operators_of_signals_are_here() -> None:
    """Each builder of an operator on signals is in a query."""
    package = "whimbrel.operators.signals"
    steps = {type(node.op).__module__ for query in SIGNAL_QUERIES.values()
             for node in query(wb.from_samples({"x": np.ones(9), "y": np.ones(9)}, rate=1000)).node.walk()}
    assert {name for name in steps if name.startswith(package)} == {
        f"{package}.{name}" for name in ("detect_ranges", "fir_filter", "polyphase", "process", "rewindow", "samples",
                                         "sync", "zip")}
