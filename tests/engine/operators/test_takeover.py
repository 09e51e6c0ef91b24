"""The compiled loop takes over in the middle of a pane, and nobody can tell from the answer."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.batch import Batch, table_from_batches
from whimbrel.kernels import tier
from whimbrel.optimize import optimize
from whimbrel.run import Pipeline

ROWS = 3_000


def log() -> wb.Stream:
    random = np.random.default_rng(3)
    x = pa.array(random.integers(-50, 50, ROWS), mask=random.random(ROWS) < 0.1)
    table = pa.table(
        {
            "at": np.sort(random.integers(0, 700, ROWS)),
            "key": random.integers(0, 40, ROWS),
            "name": random.choice(["a", "b", "c"], ROWS),
            "x": x,
            "y": random.random(ROWS),
        }
    )
    return wb.from_arrow(table, time="at")


MEASURES = {
    "rows": wb.count(),
    "values": wb.count(col.x),
    "total": wb.sum(col.x),
    "mean": wb.mean(col.x),
    "low": wb.min(col.y),
    "high": wb.max(col.x),
    "some": wb.sum(col.y).where(col.x > 0),
}
QUERIES = {
    "one integer key": log().group_by("key").tumbling_window(50).aggregate(**MEASURES),
    "a text key, filtered": log().where(col.x != 3).group_by("name").tumbling_window(50).aggregate(**MEASURES),
    "no key": log().tumbling_window(7, label="end").aggregate(**MEASURES),
    "two keys, sliding": log().group_by("name", "key").sliding_window(20).aggregate(**MEASURES),
    "hopping": log().group_by("key").hopping_window(50, 10).aggregate(**MEASURES),
}
ORDERS = [
    ("primitives", "fused"),
    ("interpreted", "fused"),
    ("fused", "primitives"),
    ("interpreted", "primitives", "fused"),
]


def run(query: wb.Stream, tiers: tuple[str, ...]) -> list[dict[str, object]]:
    """Feed pieces of the log, each on the next tier in turn."""
    pipeline = Pipeline(optimize(query.node))
    whole = Batch.concat(
        [batch for batch in pipeline.sources[0].read(pipeline.sources[0].schema.names) if batch is not None]
    )
    out: list[Batch] = []
    for number, start in enumerate(range(0, ROWS, 271)):
        with tier(tiers[number % len(tiers)]):  # type: ignore[arg-type]
            out += pipeline.push(0, whole.slice(start, start + 271))[0]
    with tier(tiers[0]):  # type: ignore[arg-type]
        out += pipeline.finish(0)[0]
    rows = table_from_batches(query.schema, out).to_pylist()
    return sorted(rows, key=lambda row: [str(value) for value in row.values()])


@pytest.mark.share(2)
@pytest.mark.parametrize("name", QUERIES)
def test_changing_tiers_changes_nothing(name: str) -> None:
    expected = run(QUERIES[name], ("interpreted",))
    assert len(expected) > 10
    for tiers in ORDERS:
        assert run(QUERIES[name], tiers) == expected
