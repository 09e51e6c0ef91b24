"""Guaranteed intervals hold for any data within known bounds, and none is stated where no bound is known."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import PlanError

ROWS, BLOCK, SEEDS = 3_000, 50, 4
VALUES = {"n": wb.count(), "total": wb.sum(col.x), "usual": wb.mean(col.x)}
FRACTIONS = (0.1, 0.4, 0.8)


def one_huge(chance: np.random.Generator) -> np.ndarray[Any, Any]:
    x = chance.exponential(1, ROWS)
    x[1_234] = 1e6
    return x


def burst(chance: np.random.Generator) -> np.ndarray[Any, Any]:
    x = chance.exponential(1, ROWS)
    x[ROWS // 3 : ROWS // 3 + ROWS * 3 // 200] *= 500
    return x


def constant(chance: np.random.Generator) -> np.ndarray[Any, Any]:
    return np.full(ROWS, 3.7)


def rare(chance: np.random.Generator) -> np.ndarray[Any, Any]:
    """Most blocks have nothing but zeros; the others are no wider than the type allows."""
    return (chance.random(ROWS) < 0.004).astype(np.int8)


def halves(chance: np.random.Generator) -> np.ndarray[Any, Any]:
    """A sample of blocks that are all alike within."""
    return (np.arange(ROWS) // BLOCK % 2).astype(np.float64)


def log(x: np.ndarray[Any, Any]) -> wb.Stream:
    """With a group that is in every block, one that fills some blocks, and one at the end."""
    k = np.random.default_rng(1).integers(0, 2, ROWS)
    k[np.arange(ROWS) // BLOCK % 7 == 0] = 4
    k[-70:] = 9
    return wb.from_arrow({"at": np.arange(ROWS), "k": k, "x": x}, time="at", name="log")


def paths(query: wb.Stream, seeds: int, confidence: float = 0.95, **options: Any) -> tuple[int, int]:
    """How many paths of groups and values had an interval at some update, and on how many of these one was false."""
    exact = {row["k"]: row for row in query.collect().to_pylist()}
    stated: set[tuple[int, int, str]] = set()
    false: set[tuple[int, int, str]] = set()
    options |= {"confidence": confidence, "intervals": "guaranteed"}
    for seed in range(seeds):
        for answer in query.progressive(at=FRACTIONS, seed=seed, **options):
            for row in [] if answer.final else answer.table.to_pylist():
                for name in VALUES:
                    low, high = row[f"{name}_low"], row[f"{name}_high"]
                    if low is not None and high is not None:
                        stated.add((seed, row["k"], name))
                        if not low <= exact[row["k"]][name] <= high:
                            false.add((seed, row["k"], name))
    return len(stated), len(false)


@pytest.mark.parametrize("data", (one_huge, burst, constant, rare, halves))
def test_they_hold_on_adversarial_data(data: Any) -> None:
    query = log(data(np.random.default_rng(5))).group_by("k").tumbling_window(ROWS).aggregate(**VALUES)
    stated, false = paths(query, SEEDS, block_rows=BLOCK)
    assert stated >= SEEDS * 3 * len(VALUES)
    assert false <= 0.05 * stated


def test_even_a_small_confidence_is_kept() -> None:
    """With a confidence of 0.95 hardly any is false, which would hide that a bound is too tight."""
    query = log(halves(np.random.default_rng(5))).group_by("k").tumbling_window(ROWS).aggregate(**VALUES)
    stated, false = paths(query, SEEDS, confidence=0.5, block_rows=BLOCK)
    assert false <= 0.5 * stated


def test_they_are_narrow_enough_to_be_of_use() -> None:
    query = log(np.random.default_rng(5).random(ROWS)).tumbling_window(ROWS).aggregate(**VALUES)
    half, _ = query.progressive(at=[0.5], block_rows=BLOCK // 2, intervals="guaranteed")
    assert half.error_of("total") < 0.1
    assert half.error_of("usual") < 0.1
    assert half.error_of("n") == 0  # blocks lie within the window
    assert "guaranteed intervals: they hold for any values within the known bounds" in half.summary
    assert "guaranteed" in repr(half)


def test_a_column_that_grows_with_time_is_known_outside_the_middle_of_each_block() -> None:
    query = log(np.arange(ROWS) * 1.0).tumbling_window(ROWS).aggregate(**VALUES)
    early, _ = query.progressive(at=[0.1], block_rows=BLOCK, intervals="guaranteed")
    assert early.error_of("total") < 0.05


@pytest.mark.parametrize("values", ({"v": wb.var(col.x)}, {"v": wb.median(col.x)}, {"v": wb.sum(col.x) / wb.count()}))
def test_what_has_no_bound_has_no_interval_and_says_why(values: Any) -> None:
    query = log(burst(np.random.default_rng(5))).tumbling_window(ROWS).aggregate(**values)
    half, _ = query.progressive(at=[0.5], block_rows=BLOCK, intervals="guaranteed")
    assert half.table["v_high"].to_pylist() == [None]
    assert "v without a guaranteed interval: " in half.summary


@pytest.mark.parametrize("odd", (np.nan, np.inf))
def test_values_that_are_not_finite_leave_no_bound(odd: float) -> None:
    x = np.ones(ROWS)
    x[7] = odd
    half, _ = log(x).tumbling_window(ROWS).aggregate(**VALUES).progressive(at=[0.5], intervals="guaranteed")
    assert half.table["total_high"].to_pylist() == [None]
    assert "total, usual without a guaranteed interval: col.x is not a finite number in all rows" in half.summary


def test_a_renamed_column_has_the_bounds_of_what_it_is() -> None:
    """The bounds of the source's own column x would be false."""
    rows = log(np.random.default_rng(5).random(ROWS)).select("k", x=col.x * 100 + 7)
    stated, false = paths(rows.group_by("k").tumbling_window(ROWS).aggregate(**VALUES), 2, block_rows=BLOCK)
    assert stated
    assert not false


def test_footers_of_files_are_bounds(tmp_path: Path) -> None:
    chance = np.random.default_rng(5)
    table = pa.table({"at": np.arange(ROWS), "k": chance.integers(0, 2, ROWS), "x": burst(chance)})
    pq.write_table(table, tmp_path / "log.parquet", row_group_size=BLOCK)
    query = wb.read_parquet(tmp_path / "log.parquet", time="at").group_by("k").tumbling_window(ROWS).aggregate(**VALUES)
    stated, false = paths(query, SEEDS, order="random")
    assert stated == SEEDS * 2 * len(VALUES)
    assert false <= 0.05 * stated


def test_files_without_statistics_have_no_bounds(tmp_path: Path) -> None:
    table = pa.table({"at": np.arange(ROWS), "x": np.ones(ROWS)})
    pq.write_table(table, tmp_path / "log.parquet", row_group_size=BLOCK, write_statistics=["at"])
    query = wb.read_parquet(tmp_path / "log.parquet", time="at").tumbling_window(ROWS).aggregate(**VALUES)
    half, _ = query.progressive(at=[0.5], order="random", intervals="guaranteed")
    assert half.table["total_high"].to_pylist() == [None]
    assert "total, usual without a guaranteed interval: there are no statistics of" in half.summary


@pytest.mark.parametrize("kind", ("exact", None, True, 3))
def test_another_kind_of_interval_is_refused(kind: Any) -> None:
    query = log(np.ones(ROWS)).tumbling_window(ROWS).aggregate(**VALUES)
    with pytest.raises(PlanError, match=r'must be "approximate" or "guaranteed", got '):
        query.progressive(intervals=kind)


def test_late_rows_are_never_guaranteed() -> None:
    rows = log(np.ones(ROWS))
    query = rows.tumbling_window(50).aggregate(**VALUES)
    with pytest.raises(PlanError, match="learned from an earlier log"):
        query.progressive(late=wb.lateness(rows), intervals="guaranteed")


def test_they_resume_where_they_were_saved(tmp_path: Path) -> None:
    query = log(burst(np.random.default_rng(5))).group_by("k").tumbling_window(ROWS).aggregate(**VALUES)
    once = query.progressive(at=[0.3, 0.6], seed=3, block_rows=BLOCK, intervals="guaranteed")
    next(once)
    once.save(tmp_path / "kept")
    again = query.progressive(at=[0.6], resume=tmp_path / "kept", seed=3, block_rows=BLOCK, intervals="guaranteed")
    assert next(again).table.equals(next(once).table)
    with pytest.raises(wb.errors.CheckpointError, match="another query"):
        query.progressive(resume=tmp_path / "kept", block_rows=BLOCK)


def test_steering_leaves_them_true() -> None:
    rows = log(halves(np.random.default_rng(5)))
    query = rows.group_by("k").tumbling_window(ROWS).aggregate(**VALUES)
    exact = {row["k"]: row for row in query.collect().to_pylist()}
    false = stated = 0
    for seed in range(SEEDS):
        progress = query.progressive(every="20%", seed=seed, block_rows=BLOCK, intervals="guaranteed")
        for number, answer in enumerate(progress):
            if number == 1:
                progress.prioritize(between=(2_000, 2_500))
            for row in answer.table.to_pylist():
                stated += 3
                false += sum(not row[f"{name}_low"] <= exact[row["k"]][name] <= row[f"{name}_high"] for name in VALUES)
    assert false <= 0.05 * stated


def test_overlapping_windows_have_them() -> None:
    query = log(halves(np.random.default_rng(5))).hopping_window(ROWS // 2, ROWS // 4).aggregate(**VALUES)
    exact = {row["start"]: row for row in query.collect().to_pylist()}
    for seed in range(2):
        for answer in query.progressive(at=FRACTIONS, seed=seed, block_rows=BLOCK, intervals="guaranteed"):
            for row in answer.table.to_pylist():
                for name in VALUES:
                    assert row[f"{name}_low"] <= exact[row["start"]][name] + 1e-9
                    assert row[f"{name}_high"] >= exact[row["start"]][name] - 1e-9
