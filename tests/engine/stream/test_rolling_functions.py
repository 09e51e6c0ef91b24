"""Aggregates of the last rows, where many windows are folded together."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, WhimbrelError, col
from whimbrel.kernels import tier

ROWS = 300  # several times as many as are folded together
X = np.random.default_rng(5).uniform(-50, 50, ROWS)
KEYS = np.random.default_rng(6).integers(0, 2, ROWS)


def _log(x: Any = X) -> Stream:
    return wb.from_arrow({"at": np.arange(ROWS) * 3, "k": KEYS, "x": x}, time="at", name="log").select("k", "x")


def _values(query: Stream) -> list[Any]:
    """The same answers from interpreted and from compiled loops."""
    found = []
    for name in ("interpreted", "fused"):
        with tier(name):
            found.append(query.collect()["z"].to_pylist())
    assert repr(found[0]) == repr(found[1])
    return found[1]


def _losses(values: list[float]) -> float:
    below = [x * x for x in values if x < 0]
    return math.sqrt(sum(below) / len(values))


LOSSES = wb.aggregate(init=(0.0, 0), name="losses", result=lambda s: math.sqrt(s[0] / s[1]),
                      accumulate=lambda s, x: (s[0] + x * x, s[1] + 1) if x < 0 else (s[0], s[1] + 1))


@pytest.mark.share(3)
@pytest.mark.parametrize("rows", [1, 7, 50])
def test_a_function_without_merge_is_that_of_each_window(rows: int) -> None:
    found = _values(_log().select(z=LOSSES(col.x).past(rows=rows)))
    assert found == pytest.approx([_losses(list(X[max(0, at + 1 - rows):at + 1])) for at in range(ROWS)], rel=1e-12)


def test_a_function_without_merge_is_per_key() -> None:
    found = _values(_log().group_by("k").select(z=LOSSES(col.x).past(rows=9)))
    own = [X[:at + 1][KEYS[:at + 1] == KEYS[at]][-9:] for at in range(ROWS)]
    assert found == pytest.approx([_losses(list(each)) for each in own], rel=1e-12)


@pytest.mark.share(4)
@pytest.mark.parametrize(("aggregate", "of"), [(wb.std, np.std), (wb.var, np.var)])
@pytest.mark.parametrize("whole", [False, True])
def test_deviations_of_few_rows_are_of_two_passes(aggregate: Callable[..., Any], of: Callable[..., Any], whole: bool,
                                                  ) -> None:
    x = np.round(X).astype(np.int64) if whole else X
    found = _values(_log(x).select(z=aggregate(col.x).past(rows=10)))
    assert found[0] is None
    assert found[1:] == pytest.approx([of(x[max(0, at - 9):at + 1], ddof=1) for at in range(1, ROWS)], rel=1e-12)


def test_values_that_are_missing_or_no_numbers_count_in_their_windows_only() -> None:
    x = pa.array(X, mask=np.arange(ROWS) % 100 == 50)
    found = _values(_log(x).select(z=wb.std(col.x).past(rows=4)))
    assert found[150] == pytest.approx(np.std(X[147:150], ddof=1))
    odd = np.where(np.arange(ROWS) == 150, np.inf, X)
    found = _values(_log(odd).select(z=wb.std(col.x).past(rows=4)))
    assert [at for at, z in enumerate(found) if z is not None and math.isnan(z)] == [150, 151, 152, 153]


def test_integers_that_leave_int64_on_the_way_are_an_error() -> None:
    product = wb.aggregate(init=1, accumulate=lambda s, x: s * x + x, result=lambda s: s, name="products")
    total = wb.aggregate(init=0, accumulate=lambda s, x: s + x, result=lambda s: s, name="totals")
    large = np.where(np.arange(ROWS) == 200, 2**62, 3)
    assert _values(_log(np.full(ROWS, 1)).select(z=product(col.x).past(rows=5)))[-1] == 6
    for each in (product, total):
        query = _log(large * 2 - 1).select(z=each(col.x).past(rows=5))
        with tier("fused"), pytest.raises(WhimbrelError, match="leaves int64"):
            query.collect()


def test_a_function_that_python_must_answer_is_asked_window_by_window() -> None:
    ratio = wb.aggregate(init=0.0, accumulate=lambda s, x: s + 1 / x, result=lambda s: s, name="ratio")
    x = np.where(np.arange(ROWS) == 200, 0.0, 2.0)
    assert _values(_log(np.full(ROWS, 2.0)).select(z=ratio(col.x).past(rows=4)))[100] == 2.0
    with tier("fused"), pytest.raises(WhimbrelError, match="division by zero"):
        _log(x).select(z=ratio(col.x).past(rows=4)).collect()


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("before", [1, 3])
def test_the_rows_at_an_earlier_event_are_read_without_a_column(before: int, keyed: bool) -> None:
    log = _log().group_by("k") if keyed else _log()
    query = log.select(z=wb.mean(col.x).past(rows=4, min_rows=2).previous(before))
    assert query.explain().split("runs as")[1].count("temporal_columns(") == 1
    found, keys = _values(query), KEYS if keyed else np.zeros(ROWS)
    for at in range(ROWS):
        own = X[:at + 1][keys[:at + 1] == keys[at]]
        window = own[:len(own) - before][-4:]
        assert found[at] == (None if len(window) < 2 else pytest.approx(window.mean(), rel=1e-12))
