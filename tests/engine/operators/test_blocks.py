"""Blocks of join rows by key: they move, grow and are laid out again, and the pairs stay the same."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel.batch import Batch
from whimbrel.kernels import Tier, tier
from whimbrel.operators.joins import join_input, pair_matcher
from whimbrel.optimize import optimize
from whimbrel.run import Pipeline

ROWS = 400
Pair = tuple[int, int, int, int]


def rows_of(seed: int) -> dict[str, list[int | None]]:
    """A few keys, one of them the key of most rows; lifetimes that end in no order; some keys are missing."""
    random = np.random.default_rng(seed)
    at = np.sort(random.integers(0, 150, ROWS))
    keys = np.minimum(random.zipf(1.6, ROWS), 30)
    return {"at": at.tolist(), "until": (at + random.choice([1, 1, 2, 9, 40, 1_000], ROWS)).tolist(),
            "k": [None if gone else int(key) for key, gone in zip(keys, random.random(ROWS) < 0.05, strict=True)],
            "n": list(range(ROWS))}


def stream(rows: dict[str, list[int | None]], name: str) -> wb.Stream:
    table = pa.table({column: pa.array(values, pa.int64()) for column, values in rows.items()})
    end = None if rows["until"] == points_of(rows)["until"] else "until"  # without one, batches say so all at once
    return wb.from_arrow(table, time="at", end=end).select("k", **{name: wb.col.n})


def points_of(rows: dict[str, list[int | None]]) -> dict[str, list[int | None]]:
    return rows | {"until": [at + 1 for at in rows["at"] if at is not None]}


def fed(query: wb.Stream, size: int) -> list[Batch]:
    """What comes of both sides, so many rows at a time in turn."""
    pipeline = Pipeline(optimize(query.node))
    sides = [Batch.concat([batch for batch in source.read(source.schema.names) if batch is not None])
             for source in pipeline.sources]
    out = []
    for first in range(0, ROWS, size):
        for source, rows in enumerate(sides):
            out += pipeline.push(source, rows.slice(first, first + size))[0]
    return out + [batch for source in range(len(sides)) for batch in pipeline.finish(source)[0]]


def pairs(batches: list[Batch]) -> list[Pair]:
    return [tuple(map(int, row)) for batch in batches for row in zip(
        batch.sync, batch.other, batch.column("x").values, batch.column("y").values, strict=True)]


def expected(left: dict[str, list[int | None]], right: dict[str, list[int | None]]) -> list[Pair]:
    found = []
    for mine in zip(*left.values(), strict=True):
        for theirs in zip(*right.values(), strict=True):
            start, end = max(mine[0], theirs[0]), min(mine[1], theirs[1])
            if mine[2] == theirs[2] is not None and start < end:
                found.append((start, end, mine[3], theirs[3]))
    return sorted(found)


@pytest.mark.share(4)
@pytest.mark.parametrize("points", [(), (0,), (1,), (0, 1)], ids=["intervals", "points left", "points right", "points"])
@pytest.mark.parametrize("size", [1, 7, 90, ROWS])
@pytest.mark.parametrize("how", ["interpreted", "primitives"])
def test_pairs_are_the_same_however_little_room_there_is(size: int, how: Tier, points: tuple[int, ...],
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join_input, "_SLOTS_AT_FIRST", 2)
    monkeypatch.setattr(join_input, "_CROWDED", 16)
    monkeypatch.setattr(pair_matcher, "_CAPACITY", 5)
    left, right = (points_of(rows) if port in points else rows for port, rows in enumerate((rows_of(1), rows_of(2))))
    with tier(how):
        found = pairs(fed(stream(left, "x").join(stream(right, "y"), on="k"), size))
    assert sorted(found) == expected(left, right)
    assert [start for start, *_ in found] == sorted(start for start, *_ in found)


def test_room_is_bounded_by_the_rows_that_are_held() -> None:
    """Each row takes room of its own in a block: of what has ended nothing may stay."""
    at = np.arange(50_000)
    points = wb.from_arrow(pa.table({"at": at, "k": at % 3, "n": at}), time="at")
    query = points.select("k", x=wb.col.n).sliding_window(20).join(points.select("k", y=wb.col.n), on="k")
    pipeline = Pipeline(optimize(query.node))
    source, = pipeline.sources
    rows = Batch.concat([batch for batch in source.read(source.schema.names) if batch is not None])
    with tier("primitives"):
        for first in range(0, len(at), 1_000):
            pipeline.push(0, rows.slice(first, first + 1_000))
    kernel = pipeline.kernels[-1]
    assert isinstance(kernel.pairing, pair_matcher.PairMatcher)
    assert len(kernel.pairing.sides[0].slots) <= 8 * join_input._CROWDED


@pytest.mark.parametrize("size", [1, 7, ROWS])
def test_a_clip_moves_blocks_too(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join_input, "_SLOTS_AT_FIRST", 2)
    monkeypatch.setattr(join_input, "_CROWDED", 16)
    left, right = rows_of(3), rows_of(4)
    query = stream(left, "x").clip_at(stream(right, "y"), on="k")
    with tier("primitives"):
        table = query.collect() if size == ROWS else None
        found = {} if table is not None else _intervals(fed(query, size))
    if table is not None:
        found = {row["x"]: (row["start"], row["end"]) for row in table.to_pylist()}
    for start, end, key, number in zip(*left.values(), strict=True):
        cuts = [s for s, k in zip(right["at"], right["k"], strict=True) if k == key is not None and s > start]
        assert found[number] == (start, min([end, *cuts]))


def _intervals(batches: list[Batch]) -> dict[int, tuple[int, int]]:
    """Edges joined: of each row its start and its end."""
    found: dict[int, tuple[int, int]] = {}
    for batch in batches:
        for sync, other, number in zip(batch.sync.tolist(), batch.other.tolist(), batch.column("x").values.tolist(),
                                       strict=True):
            found[number] = (other, sync) if other < sync else (sync, other)
    return found
