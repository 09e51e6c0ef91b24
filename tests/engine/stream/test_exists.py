"""Gaps and nulls are told apart: `exists()` is false for a gap only."""

from __future__ import annotations

import random
from typing import Any

import pytest

import whimbrel as wb
from tests.engine.stream.test_temporal_columns import drawn_events, log, points, stream_of
from whimbrel import col
from whimbrel.errors import WhimbrelError
from whimbrel.testing.oracle import differences
from whimbrel.testing.oracle import temporal as oracle


def drawn_presence(drawn: random.Random, depth: int) -> tuple[Any, oracle.At]:
    """A random expression, and a function that is None in its gaps."""
    kinds = ["column", "past", "rows", "cell", "so_far"] + (["ago", "ahead", "previous", "both"] if depth else [])
    of = drawn.choice([wb.mean(col.x), wb.max(col.x) - wb.min(col.x), wb.count().where(col.x > 3)])
    match drawn.choice(kinds):
        case "column":
            return col.x, oracle.column(lambda _: True)
        case "past":
            back, ahead = drawn.randint(1, 9), drawn.choice([0, 0, 4])
            return of.past(back, ahead=ahead, min_rows=drawn.choice([1, 3])), oracle.past(len, back, ahead)
        case "rows":
            rows = drawn.randint(1, 6)
            return of.past(rows=rows, min_rows=drawn.choice([1, min(3, rows)])), oracle.past_rows(len, rows)
        case "cell":
            size = drawn.randint(1, 12)
            return of.cell(size, offset=3), oracle.cell(len, size, 3)
        case "so_far":
            return of.so_far(), oracle.so_far(len)
        case "both":
            (left, one), (right, other) = drawn_presence(drawn, depth - 1), drawn_presence(drawn, depth - 1)
            return left - right, oracle.both(lambda _one, _other: True, one, other)
        case "previous":
            expr, there = drawn_presence(drawn, depth - 1)
            return expr.previous(), oracle.previous(there)
        case kind:
            (expr, there), ticks = drawn_presence(drawn, depth - 1), drawn.randint(0, 9)
            return (expr.ago(ticks), oracle.ago(there, ticks)) if kind == "ago" else (
                expr.ahead(ticks), oracle.ago(there, -ticks))


@pytest.mark.parametrize("keys", [False, True], ids=["one key", "keys"])
@pytest.mark.parametrize("lasting", [False, True], ids=["points", "lasting"])
@pytest.mark.parametrize("seed", range(15))
def test_presence_is_as_the_oracle_says(seed: int, lasting: bool, keys: bool) -> None:
    drawn = random.Random(3_000 + seed)
    events = drawn_events(drawn, lasting=lasting, keys=keys)
    expr, there = drawn_presence(drawn, 2)
    stream = stream_of(events, lasting=lasting)
    stream = stream.group_by("k") if keys else stream
    expected = oracle.taken_at_starts(events, {"z": oracle.exists(there)}, ["k"] if keys else [])
    rows = stream.select(z=expr.exists()).collect().to_pylist()
    assert differences(expected, [(row["start"], row["end"], {"z": row["z"]}) for row in rows]) == ([], []), expr


@pytest.mark.parametrize("lasting", [False, True], ids=["points", "lasting"])
@pytest.mark.parametrize("seed", range(8))
def test_presence_over_time_is_as_the_oracle_says(seed: int, lasting: bool) -> None:
    drawn = random.Random(4_000 + seed)
    events = drawn_events(drawn, lasting=lasting, keys=False)
    expr, there = drawn_presence(drawn, 1)
    found = stream_of(events, lasting=lasting).select("x").over_time(z=expr.exists()).collect().to_pylist()
    for time in range(-20, 120):
        now = [row["z"] for row in found if row["start"] <= time and (row["end"] is None or time < row["end"])]
        assert bool(now and now[0]) is oracle.exists(there)(events, time), (expr, time)


def test_a_gap_and_a_null() -> None:
    stream = log((0, 1, 1), (1, 2, None), (2, 3, 3), (9, 10, 4))
    found = stream.select(there=col.x.ago(1).exists(), null=col.x.ago(1).is_null(),
                          window=wb.max(col.x).past(1).exists(), empty=wb.max(col.x).past(1).is_null(),
                          before=col.x.previous().exists(), own=col.x.exists()).collect()
    assert found["there"].to_pylist() == [False, True, True, False]
    assert found["null"].to_pylist() == [True, False, True, True]
    assert found["window"].to_pylist() == [True] * 4
    assert found["empty"].to_pylist() == [False, True, False, False]
    assert found["before"].to_pylist() == [False, True, True, True]
    assert found["own"].to_pylist() == [True] * 4
    assert stream.where(~col.x.ago(1).exists()).collect()["x"].to_pylist() == [1, 4]


def test_presence_within_other_parts() -> None:
    stream = log((0, 1, 1), (1, 2, None), (2, 3, 3), (9, 10, 4))
    seen = stream.select(n=wb.count().where(col.x.ago(1).exists()).past(3), e=col.x.ago(1).exists().previous(),
                         m=wb.ema(col.x, alpha=0.5).exists(), both=(col.x.ago(1).exists() | col.x.ahead(7).exists()))
    assert seen.collect().select(["n", "e", "m", "both"]).to_pylist() == [
        {"n": 0, "e": None, "m": True, "both": False}, {"n": 1, "e": False, "m": True, "both": True},
        {"n": 2, "e": True, "m": True, "both": True}, {"n": 0, "e": True, "m": True, "both": False}]


def test_a_missing_key_has_no_other_events() -> None:
    stream = points(1, 2, 3).with_columns(k=wb.when(col.x == 2).then("a").otherwise(None)).group_by("k")
    found = stream.select("x", there=wb.count().past(5).exists()).collect()
    assert dict(zip(found["x"].to_pylist(), found["there"].to_pylist(), strict=True)) == {1: False, 2: True, 3: False}


WRONG: dict[str, tuple[Any, str, str]] = {
    "an aggregate": (lambda: wb.mean(col.x).exists(), "exists() of an aggregate needs a window, got mean(col.x)",
                     'mean(col.x).past("5m").exists()'),
    "a wrong part": (lambda: col.x.ago(-3).exists(), "must not be negative, got -3", "Use ahead()"),
    "a wrong window": (lambda: col.x.past(3).exists(), "past() follows an aggregate", "wb.mean"),
    "an unknown column": (col.y.exists, "no column 'y'", ""),
    "an unknown column before": (lambda: col.y.ago(3).exists(), "y", ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_part_is_refused_before_any_row(name: str) -> None:
    build, words, hint = WRONG[name]
    with pytest.raises(WhimbrelError) as failed:
        points(1, 2).select(z=build())
    assert words in str(failed.value)
    assert hint in str(failed.value)


def test_presence_is_refused_elsewhere() -> None:
    with pytest.raises(WhimbrelError, match=r"select\(\), with_columns\(\) or where\(\)"):
        points(1, 2).group_by(k=col.x.ago(1).exists())
    assert col.x.ago(1).exists().show() == "col.x.ago(1).exists()"
