"""stitch: equal payloads that follow each other become one event."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import SchemaError

Row = tuple[int, int | None, object]


def stitched(rows: list[Row], type_: pa.DataType | None = None) -> list[Row]:
    table = pa.table({"at": [row[0] for row in rows], "until": pa.array([row[1] for row in rows], pa.int64()),
                      "x": pa.array([row[2] for row in rows], type_)})
    stream = wb.from_arrow(table, time="at", end="until").select("x").stitch()
    return [tuple(row.values()) for row in stream.collect().to_pylist()]


def test_a_chain_keeps_its_first_start() -> None:
    assert stitched([(0, 3, "a"), (1, 4, "b"), (3, 5, "a"), (5, None, "a"), (6, 7, "b")]) == \
        [(0, None, "a"), (1, 4, "b"), (6, 7, "b")]


def test_multiplicity_is_kept_first_in_first_out() -> None:
    assert stitched([(1, 2, "a"), (1, 6, "a"), (2, 3, "a"), (3, 5, "a")]) == [(1, 5, "a"), (1, 6, "a")]
    assert stitched([(0, 4, "a"), (2, 4, "a"), (4, 9, "a")]) == [(0, 9, "a"), (2, 4, "a")]
    assert stitched([(0, 4, "a"), (4, 9, "a"), (4, 7, "a")]) == [(0, 7, "a"), (4, 9, "a")]


def test_nulls_are_equal_and_so_are_nans_and_zeros() -> None:
    nan = float("nan")
    rows = stitched([(0, 1, None), (1, 2, None), (2, 3, nan), (3, 4, nan), (4, 5, 0.0), (5, 6, -0.0)], pa.float64())
    assert [(start, end) for start, end, _ in rows] == [(0, 2), (2, 4), (4, 6)]


def test_it_undoes_chop() -> None:
    chance = random.Random(1)
    lifetimes = [(start, start + chance.randint(1, 60)) for start in range(0, 300, 3)]
    events = wb.from_arrow({"at": [start for start, _ in lifetimes], "until": [end for _, end in lifetimes],
                            "n": list(range(100))}, time="at", end="until").select("n")
    assert events.chop(7).stitch().collect() == events.collect()


def test_random_streams_match_a_model() -> None:
    chance = random.Random(2)
    rows: list[Row] = [(start, start + chance.randint(1, 6), chance.choice("ab"))
                       for start in sorted(chance.randint(0, 40) for _ in range(400))]
    chains: list[list[object]] = []
    for start, end, x in sorted(rows):
        ended = [chain for chain in chains if chain[1:] == [start, x]]
        if ended:
            min(ended)[1] = end
        else:
            chains.append([start, end, x])
    assert Counter(stitched(rows)) == Counter(map(tuple, chains))


def test_keys_that_are_gone_are_forgotten() -> None:
    rows = 300_000
    events = wb.from_arrow({"at": list(range(rows)), "x": list(range(rows))}, time="at")
    assert events.stitch().collect().num_rows == rows


def test_aggregates_lose_the_cuts_between_equal_neighbours() -> None:
    events = wb.from_arrow({"at": [0, 2, 5]}, time="at")
    counts = events.sliding_window(3).aggregate(n=wb.count())
    assert len(counts.collect()) == 5 - 1
    merged = counts.where(col.n == 1).stitch().collect()
    assert list(zip(merged["start"].to_pylist(), merged["end"].to_pylist(), strict=True)) == [(0, 2), (3, 8)]


def test_lists_cannot_be_compared() -> None:
    with pytest.raises(SchemaError, match=r"stitch\(\) cannot compare column 'x' of type list<.*>"):
        stitched([(0, 1, [1, 2])])
