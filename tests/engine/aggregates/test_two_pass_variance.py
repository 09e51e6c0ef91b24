"""Variance in two passes over a window is that of all rows at once, digit for digit as far as floats go."""

from __future__ import annotations

import math
from fractions import Fraction

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col

VALUES = {
    "a large mean": [1e9 + step for step in (4.0, 7.0, 13.0, 16.0, 4.0, 7.0)],
    "an outlier that leaves": [1e12, 0.25, 0.5, 0.125, 0.75, 0.5],
    "all alike": [0.1] * 6,
    "nulls": [None, 2.0, None, None, 5.0, 9.0],
    "not finite": [1.0, math.inf, 2.0, 3.0, 4.0, math.nan],
    "too large for squares": [1.0, 1e200, 2.0, 3.0, 4.0, 1e151],
}


def exact(values: list[float | None], *, sample: bool) -> float | None:
    known = [value for value in values if value is not None]
    if len(known) < 1 + sample:
        return None
    if not all(abs(value) < 1e150 for value in known):
        return math.nan
    mean = Fraction(sum(map(Fraction, known)), len(known))
    return float(sum((Fraction(value) - mean) ** 2 for value in known) / (len(known) - sample))


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("sample", [True, False])
def test_windows_on_a_beat(name: str, sample: bool) -> None:
    values = VALUES[name]
    table = pa.table({"at": range(6), "x": pa.array(values, pa.float64())})
    log = wb.from_arrow(table, time="at", name="log").assume(periodic=1)
    wanted = {"v": wb.var(col.x, sample=sample), "sd": wb.std(col.x, sample=sample)}
    slid = log.sliding_window(3).aggregate(**wanted)
    joined = log.cross_join(log.tumbling_window(3).aggregate(**wanted), allow_lookahead=True)
    for query, windows in ((slid, [values[max(0, at - 2):at + 1] for at in range(6)]),
                           (joined, [values[at // 3 * 3:at // 3 * 3 + 3] for at in range(6)])):
        assert "periodic_loop" in query.explain()
        rows = query.collect().to_pydict()
        found = {at: (v, sd) for at, v, sd in zip(rows["start"], rows["v"], rows["sd"], strict=True)}
        for at, window in enumerate(windows):
            begun = max(start for start in found if start <= at)  # one row as long as nothing changes
            right = exact(window, sample=sample)
            if right is None:
                assert found[begun] == (None, None)
            else:
                assert found[begun] == pytest.approx((right, math.sqrt(right)), rel=1e-12, abs=1e-16, nan_ok=True)
