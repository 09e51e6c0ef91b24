"""Polyphase resampling: SciPy's results, the oracle, phase, gaps, blocks, keys, and mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import signal

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import PlanError, SchemaError
from whimbrel.kernels import tier
from whimbrel.plan import Node
from whimbrel.testing import BatchedRows
from whimbrel.testing.oracle import Event
from whimbrel.testing.oracle import signals as oracle

ROWS = 6_000
X = np.random.default_rng(5).normal(size=ROWS).cumsum()
AT = np.array([time // 441 for time in range(50_000_000, 50_000_000 + ROWS * 10**7, 10**7)])
TALK = wb.from_arrow({"at": pa.array(AT, pa.timestamp("ns")), "x": X}, time="at").select("x").assume(rate=44_100)


@pytest.mark.parametrize("rate", [48_000, 16_000, 88_200, 11_025, 44_100])
def test_results_are_those_of_scipy_but_at_the_ends(rate: int) -> None:
    with tier("fused"):
        found = TALK.resample(rate).collect()
    ratio = Fraction(rate, 44_100)
    expected = signal.resample_poly(X, ratio.numerator, ratio.denominator)
    values = found["x"].to_numpy()
    known = ~np.isnan(values)
    lacks = 10 * max(ratio.numerator, ratio.denominator) // ratio.denominator + 1
    assert known[lacks:-lacks].all()
    np.testing.assert_allclose(values[known], expected[:len(values)][known], rtol=0, atol=1e-11)
    starts = found["start"].cast(pa.int64()).to_pylist()
    assert starts[:3] == [int(AT[0]) + round(Fraction(10**9, rate) * number) for number in range(3)]


def facts(keys: str) -> list[Event]:
    return [(2 * n, 2 * n + 1, {"time": 0, "key": key, "k2": 0, "x": n, "y": float(X[n]), "flag": True})
            for n in range(-400, 1_600) for key in keys if n % (911 if key == "a" else 537)]


@pytest.mark.share(3)
@pytest.mark.parametrize("period", [1, 3, 4])
def test_the_oracle_agrees(period: int) -> None:
    rows = [event for event in facts("a") if event[0] < 1_000]
    stream = wb.Stream(Node(BatchedRows([rows]))).select("y").assume(periodic=2, phase=0, gaps=True)
    with tier("fused"):
        found = stream.resample(period, how="polyphase").collect().to_pylist()
    expected = sorted(oracle.polyphase(rows, 2, period, lambda row: row["y"], "y"), key=lambda event: event[0])
    assert [row["start"] for row in found] == [start for start, _, _ in expected]
    assert [row["y"] for row in found] == [None if row["y"] is None else pytest.approx(row["y"], abs=1e-9)
                                           for _, _, row in expected]
    assert sum(row["y"] is not None for row in found) > 300


@pytest.mark.parametrize("period", [1, 3, 20])
def test_any_cutting_gives_the_same_bits(period: int) -> None:
    chance = np.random.default_rng(1)
    for keys in ("a", "ab"):
        rows = facts(keys)

        def over(cuts: list[int]) -> pa.Table:
            batches = [rows[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True)]  # noqa: B023
            stream = wb.Stream(Node(BatchedRows(batches))).select("key", "x", z=col.y)
            stream = stream.assume(periodic=2, gaps=True, per="key") if keys == "ab" else stream.select(  # noqa: B023
                "x", "z").assume(periodic=2, gaps=True)
            with tier("fused"):
                found = stream.resample(period).collect()
            return found.sort_by([(name, "ascending") for name in ("start", *(["key"] if keys == "ab" else []))])  # noqa: B023

        whole = over([])
        assert whole["z"].null_count < whole.num_rows
        for count in (1, 3, 400):
            assert over(sorted(chance.integers(0, len(rows), count).tolist())).equals(whole)


def test_no_result_stands_in_a_gap_and_float32_stays() -> None:
    rows = {"at": [0, 1, 2, 7, 8], "x": pa.array([1, 2, 3, 4, 5], pa.float32())}
    stream = wb.from_arrow(rows, time="at").select("x").assume(periodic=1, gaps=True).resample(1)
    assert stream.collect()["start"].to_pylist() == [0, 1, 2, 7, 8]
    assert stream.schema.type_of("x") == pa.float32()
    sampling = stream.node.properties.sampling
    assert sampling is not None
    assert sampling.show() == "samples every 1 with gaps"


LOG = wb.from_arrow({"at": [0], "x": [1], "s": ["a"]}, time="at")


@pytest.mark.parametrize(("mistake", "says"), [
    (lambda: LOG.resample(5), 'how="polyphase" needs samples'),
    (lambda: TALK.resample(0), "rate must be a positive number of samples per second, got"),
    (lambda: TALK.resample("0s"), "period must be positive, got '0s'."),
    (lambda: TALK.resample(44_101), "The ratio of the rates must be of numbers up to 16,384, got 44101/44100."),
    (lambda: TALK.resample(16_000, limit="1s"), "takes no limit= and no offset="),
    (lambda: TALK.resample(0.5, how="hold"), "A period must be a duration, got 0.5."),
])
def test_mistakes_are_reported(mistake: Callable[[], Any], says: str) -> None:
    with pytest.raises(PlanError, match=re.escape(says)):
        mistake()


def test_only_numbers_are_resampled() -> None:
    with pytest.raises(SchemaError, match="needs columns of numbers, got 's' of type string"):
        LOG.select("s").assume(periodic=1).resample(2)
