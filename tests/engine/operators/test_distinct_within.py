"""The first event of an id within a span: state that does not outlast the span, and events of one time."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel.clock import INF
from whimbrel.kernels import keys
from whimbrel.testing.oracle import lifetimes


def test_ids_are_forgotten_after_the_span(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_FEW_KEYS", 50)
    chance = random.Random(2)
    times = sorted(chance.randrange(50_000) for _ in range(3_000))
    facts = [(time, time + 1, {"id": time // 40 * 3 + chance.randrange(3)}) for time in times]
    stream = wb.from_arrow(pa.table({"at": times, "id": [row["id"] for _, _, row in facts]}), time="at").select("id")
    kernel = stream.distinct_within(25, by="id").node.op.kernel(stream.schema)
    [rows] = [batch for batch in stream.sources[0].read(stream.schema.names) if batch is not None]
    found: list[tuple[int, int]] = []
    most = 0
    for begin in range(0, len(rows), 40):
        piece = rows.slice(begin, min(begin + 40, len(rows)))
        last = begin + 40 >= len(rows)
        for out in [*kernel.push(piece), *kernel.advance(INF if last else int(piece.sync[-1]))]:
            found += zip(out.sync.tolist(), out.column("id").values.tolist(), strict=True)
        most = max(most, kernel.buffered_rows)
    expected = lifetimes.distinct_within(facts, 25, keys={"id": lambda row: row["id"]})
    assert sorted(found) == sorted((start, row["id"]) for start, _, row in expected)
    assert most < 250


@pytest.mark.parametrize("type_", [pa.float64(), pa.string(), pa.list_(pa.int64()), pa.bool_(), pa.dictionary(
    pa.int32(), pa.string())], ids=str)
def test_of_events_of_one_time_the_smallest_one_stays(type_: pa.DataType) -> None:
    values = {"double": [2.0, None, 1.0], "string": ["b", None, "a"], "list<item: int64>": [[2], None, [1]],
              "bool": [True, None, False]}.get(str(type_), ["b", None, "a"])
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        table = pa.table({"at": [5, 5, 5], "id": [1, 1, 1], "x": pa.array([values[row] for row in order], type_)})
        row, = wb.from_arrow(table, time="at").distinct_within(10, by="id").collect().to_pylist()
        assert row["x"] == values[2]
