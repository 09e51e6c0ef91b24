"""Queries of one shape, which differ in constants and names, are compiled once."""

import numpy as np
import pytest

import whimbrel as wb
from whimbrel.kernels import finish_compiling, tier

_ROWS = 300
_X = np.random.default_rng(7).integers(-20, 20, _ROWS)


@pytest.fixture
def events():
    columns = {"at": np.arange(_ROWS), "k": _X % 5, "x": _X, "y": _X / 4, "small": _X.astype(np.int8)}
    return wb.from_arrow(columns, time="at")


def _windows(events, least, factor, most):
    col = wb.col
    kept = events.where((col.x > least) & col.small.is_in([1, 2, least]) | (col.y <= most))
    named = {f"of_{least}": wb.sum(col.x * factor + least).where(col.y < most), "n": wb.count(), "top": wb.max(col.y)}
    return kept.tumbling_window(50).group_by("k").aggregate(**named)


@pytest.mark.parametrize(("least", "factor", "most"), [(-3, 7, 2.5), (120, -1, -1.0), (-100, 2**40, float("inf"))])
def test_constants_and_names_are_arguments(events, least, factor, most):
    with tier("fused"):
        _windows(events, 3, 2, 1.5).collect()
        before = finish_compiling()
        found = _windows(events, least, factor, most).collect()
    assert finish_compiling() == before
    with tier("interpreted"):
        wanted = _windows(events, least, factor, most).collect()
    assert found.equals(wanted)
    assert found.num_rows or least == 120


def test_a_divisor_stays_in_the_text(events):
    with tier("fused"):
        for divisor in (3, 5):
            query = events.tumbling_window(50).aggregate(total=wb.sum(wb.col.x // divisor))
            assert query.collect()["total"].to_pylist() == [
                int((_X[at : at + 50] // divisor).sum()) for at in range(0, _ROWS, 50)]


def test_the_shown_text_says_which_number_is_which(events):
    run = events.where(wb.col.x > 12).tumbling_window(50).aggregate(total=wb.sum(wb.col.x)).start()
    with tier("fused"):
        run.wait()
    text, = run.kernels().values()
    assert "# number0 = 12" in text
    assert "total=sum(col.x)" in text


def test_patterns_of_one_shape_are_compiled_once(events):
    def sums(least):
        small = wb.event(wb.col.x > least, total=wb.col.x * 2)
        pattern = small.then(wb.event(wb.col.x + wb.register.total > least + 5))
        return events.detect(pattern, within=20, register={"total": 0})

    with tier("fused"):
        sums(1).collect()
        before = finish_compiling()
        found = sums(2).collect()
    assert finish_compiling() == before
    assert found.num_rows
    with tier("interpreted"):
        assert found.equals(sums(2).collect())
