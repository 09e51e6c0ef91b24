"""The applications of the TiLT paper as expressions, against loops by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from bench import limit_periodic as limit
from whimbrel import Stream, col

ROWS = 1_500
X = np.random.default_rng(3).uniform(-50, 50, ROWS).astype(np.float32)
GAPS = np.where(np.random.default_rng(4).random(ROWS) < 0.1, np.nan, X).astype(np.float32)
KEYS = 30
WIDE = col.x.cast("float64")


def log(values: Any = X, **columns: Any) -> Stream:
    table = pa.table({"at": np.arange(ROWS), "x": pa.array(values, from_pandas=True), **columns})
    return wb.from_arrow(table, time="at", name="log").select("x", *columns)


def rsi() -> Any:
    change = WIDE - col.x.ago(1)
    up, down = wb.sum(change).where(change > 0).past(14), wb.sum(-change).where(change < 0).past(14)
    return 100 - 100 / (1 + up.fill_null(0.0) / down)


def heart_beats() -> Any:
    low = wb.sum(wb.sum(WIDE).past(6)).past(6)
    passed = low.ago(16) - wb.sum(low).past(32) / 32
    slope = (2 * passed + passed.ago(1) - passed.ago(3) - 2 * passed.ago(4)) / 8
    return wb.mean(slope * slope).past(30)


def from_tick(first: int, values: Any) -> Any:
    """The values of a loop that begins later and goes on after the last event, at the ticks of events."""
    return np.concatenate([np.full(first, np.nan), values])[:ROWS]


QUERIES: dict[str, tuple[Callable[[], Stream], Callable[[], Any]]] = {
    "window sum": (lambda: log().select(z=wb.sum(col.x).past(100)), lambda: limit.sliding_sum(X, 100)[:ROWS]),
    "trading": (lambda: log().where(wb.mean(col.x).past(20) > wb.mean(col.x).past(50)).select(z=col.x),
                lambda: X[limit.crossing(X, 20, 50)[0][limit.crossing(X, 20, 50)[0] < ROWS]]),
    "RSI": (lambda: log().select(z=rsi()), lambda: from_tick(1, limit.strength(X, 14))),
    "normalise": (lambda: log().select(z=(col.x - wb.mean(col.x).cell(100)) / wb.std(col.x).cell(100)),
                  lambda: limit.standard_scores(X, 100)),
    "outliers": (lambda: log().where(col.x > (wb.mean(col.x) + 2 * wb.std(col.x)).past(10).ago(1)).select(z=col.x),
                 lambda: limit.outliers(X, 10, 2.0)[1]),
    "imputation": (lambda: log(GAPS).select(z=WIDE.fill_null(wb.mean(col.x).cell(100))),
                   lambda: limit.imputed(GAPS, 100)),
    "Pan-Tompkins": (lambda: log().select(z=heart_beats()), lambda: from_tick(20, limit.heart_beats(X))),
    "fraud": (lambda: log(card=np.arange(ROWS) % KEYS).group_by("card").where(
        col.x > (wb.mean(col.x) + 2 * wb.std(col.x)).past(10 * KEYS).previous()).select(z=col.x),
              lambda: limit.outliers_of_keys(X, KEYS, 10, 2.0)[1]),
    "fraud of the last rows": (lambda: log(card=np.arange(ROWS) % KEYS).group_by("card").where(
        col.x > (wb.mean(col.x) + 2 * wb.std(col.x)).past(rows=10).previous()).select(z=col.x),
                               lambda: limit.outliers_of_keys(X, KEYS, 10, 2.0)[1]),
}


@pytest.mark.parametrize("assumed", [False, True], ids=["as it is", "periodic"])
@pytest.mark.parametrize("name", QUERIES)
def test_an_expression_is_what_a_loop_says(name: str, assumed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if assumed:
        monkeypatch.setitem(globals(), "log", lambda *values, plain=log, **columns: plain(*values, **columns).assume(
            **({"periodic": KEYS, "per": "card"} if columns else {"periodic": 1})))
    build, by_hand = QUERIES[name]
    found, expected = build().collect()["z"].cast(pa.float64()).to_numpy(), np.asarray(by_hand(), np.float64)
    assert len(found) == len(expected)
    known = np.isfinite(found) & np.isfinite(expected)
    assert known.sum() > len(found) * 0.9
    np.testing.assert_allclose(found[known], expected[known], rtol=1e-4, atol=1e-4)
