"""A pinned picture is held to what comes of it: row by row, whatever keys and values are, or not at all, in words."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.workbench.test_progress_steered import waiting
from whimbrel import col
from whimbrel.stream import Stream
from whimbrel_workbench.frames.estimate_quality import PinnedClaim
from whimbrel_workbench.sessions import ProgressiveRun

ROWS = 6_000
CHANCE = np.random.default_rng(3)
NAMES = np.array(["a", "b", "c"])[CHANCE.integers(0, 3, ROWS)]
LOG = wb.from_arrow(pa.table({
    "at": np.arange(ROWS), "k": NAMES, "j": CHANCE.integers(0, 4, ROWS), "x": 1 + CHANCE.random(ROWS),
    "price": pa.array([Decimal(each) / 4 for each in CHANCE.integers(1, 90, ROWS).tolist()], pa.decimal128(9, 2)),
    "gap": pa.array([None if each == "a" else each for each in NAMES.tolist()]),
    "odd": pa.array(np.where(NAMES == "a", np.nan, np.where(NAMES == "b", -0.0, 1.0))),
    "none": pa.nulls(ROWS)}), time="at")


def over_all(*keys: str, **values: object) -> Stream:
    return LOG.group_by(*keys).tumbling_window(ROWS).aggregate(**values)


def pinned(query: Stream, value: str, **asked: Any) -> tuple[ProgressiveRun, PinnedClaim, PinnedClaim]:
    """A run whose early picture was pinned and that was read to its end, and what was said then and at the end."""
    run = waiting(query, **asked)
    run.pin()
    run.current_result(value)
    early = run.quality(value).pinned[-1]
    run.finish()
    assert run.wait(10)
    return run, early, run.quality(value).pinned[-1]


def before(run: ProgressiveRun, value: str) -> list[object]:
    return run.current_result(value)[1].before[value].to_pylist()


@pytest.mark.parametrize("asked", ({}, {"order": "time"}), ids=("blocks", "time"))
def test_rows_that_keys_do_not_tell_apart_are_not_compared_and_that_is_said(asked: dict[str, str]) -> None:
    run, early, last = pinned(over_all("k", "j", n=wb.count()).drop("j"), "n", **asked)
    said = "cannot compare: several rows have the same start and k"
    assert (early.verdict, early.now) == ("open", said)
    assert (last.verdict, last.now) == ("exact", said)
    assert before(run, "n") == [None] * 12
    assert not run.current_result("n")[1].flagged


def test_rows_that_can_be_distinguished_without_a_key_are_compared() -> None:
    run, _, last = pinned(over_all("k", "gap", n=wb.count()).drop("gap"), "n")
    assert last.now.startswith("no intervals") or last.verdict == "holds"
    assert None not in before(run, "n")


def test_lists_among_the_values_do_not_matter() -> None:
    run, early, last = pinned(over_all("k", m=wb.mean(col.x), all=wb.collect(col.x)), "m")
    assert (early.verdict, last.verdict) == ("open", "exact")
    assert "3 values were wrong by up to" in last.now
    assert None not in before(run, "m")


@pytest.mark.parametrize(("key", "rows"), (("gap", 3), ("odd", 3), ("none", 1)))
def test_a_key_that_is_missing_or_no_number_is_a_key_as_any_other(key: str, rows: int) -> None:
    run, _, last = pinned(over_all(key, m=wb.mean(col.x)), "m", updates=20)
    assert last.verdict == "holds"
    assert last.now == f"{rows} of {rows} exact values are within their intervals"
    assert len([each for each in before(run, "m") if each is not None]) == rows


def test_a_column_that_is_called_as_the_end_of_an_interval_is_none() -> None:
    query = LOG.tumbling_window(ROWS // 4).aggregate(m=wb.mean(col.x), m_low=wb.min(col.x))
    _, early, last = pinned(query, "m", order="time")
    assert early.now == "no value with an interval is exact yet"
    assert last.now.startswith("no intervals for m; ")


def test_of_decimals_it_is_said_how_far_off_they_were() -> None:
    run, _, last = pinned(over_all("k", p=wb.max(col.price)), "p")
    assert "values were wrong by up to" in last.now or last.verdict == "holds"
    assert None not in before(run, "p")


@pytest.mark.parametrize("asked", ({}, {"order": "time"}), ids=("blocks", "time"))
@pytest.mark.parametrize("query", (
    LOG.where(col.x > 5).group_by("k").tumbling_window(ROWS).aggregate(m=wb.mean(col.x)),
    over_all("k", m=wb.mean(col.x)).where(col.m > 5)), ids=("no rows", "none left"))
def test_an_empty_picture_is_one_too(query: Stream, asked: dict[str, str]) -> None:
    run, early, last = pinned(query, "m", **asked)
    assert early.now == "no value with an interval is exact yet"
    assert (last.verdict, last.now) == ("exact", "no intervals for m")
    assert len(run.current_result("m")[0].table) == 0


def test_only_rows_that_were_not_there_count_as_new() -> None:
    """Another row is the largest at the end: as many rows as before, and one of them is new."""
    late = np.arange(ROWS) >= ROWS // 2
    log = wb.from_arrow(pa.table({"at": np.arange(ROWS), "j": late.astype(int), "x": 1.0 + late}), time="at")
    largest = log.group_by("j").tumbling_window(ROWS).aggregate(m=wb.mean(col.x)).top_k(1, by=col.m)
    _, _, last = pinned(largest, "m", order="time")
    assert last.now == "no intervals for m; 1 rows are new"
