"""Patterns that end in an absence: what is known when, borders, keys and mistakes."""

from __future__ import annotations

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.batch import Batch
from whimbrel.clock import INF
from whimbrel.errors import WhimbrelError

ORDERED, PAID = wb.event(col.kind == "order"), col.kind == "paid"


def log(*events: tuple[int, str, str]) -> wb.Stream:
    at, id_, kind = zip(*events, strict=True)
    return wb.from_arrow(pa.table({"at": at, "id": id_, "kind": kind}), time="at")


def starts(stream: wb.Stream) -> list[tuple[str, int]]:
    found = stream.group_by("id").detect(ORDERED, within=1, then=wb.absent(PAID, within=10)).collect()
    return sorted(zip(found["id"].to_pylist(), found["start"].to_pylist(), strict=True))


def test_an_event_at_the_end_of_the_time_is_too_late_and_one_of_another_key_does_not_count() -> None:
    assert starts(log((0, "a", "order"), (9, "a", "paid"))) == []
    assert starts(log((0, "a", "order"), (10, "a", "paid"))) == [("a", 10)]
    assert starts(log((0, "a", "order"), (5, "b", "paid"))) == [("a", 10)]
    assert starts(log((0, "a", "paid"), (1, "a", "order"), (5, "a", "order"), (14, "a", "paid"))) == [("a", 11)]


def test_it_is_known_when_the_watermark_says_so() -> None:
    stream = log((0, "a", "order"), (3, "b", "order"), (7, "b", "paid"), (30, "c", "order"))
    operator = stream.group_by("id").detect(ORDERED, within=1, then=wb.absent(PAID, within=10)).node.op
    kernel = operator.kernel(stream.schema)
    [rows] = [batch for batch in stream.sources[0].read(stream.schema.names) if batch is not None]
    kernel.push(rows)
    assert kernel.advance(9) == []
    assert kernel.buffered_rows > 0
    fork = kernel.fork()
    [found] = kernel.advance(10)
    assert (found.sync.tolist(), found.column("id").to_arrow().to_pylist()) == ([10], ["a"])
    rest = Batch.concat(fork.advance(INF))
    assert rest.sync.tolist() == [10, 40]
    assert fork.buffered_rows == 0


def test_its_python_text_is_the_same_query() -> None:
    stream = log((0, "a", "order"))
    query = stream.detect(ORDERED, within=1, then=wb.absent(lambda e: e.kind == "paid", within=10))
    assert "then=wb.absent(col.kind == 'paid', within=10)" in query.python().replace('"', "'")
    assert "then=absent(col.kind == 'paid', within=10)" in query.explain()
    with pytest.raises(WhimbrelError):
        query.sql()


@pytest.mark.parametrize(("options", "what"), [
    ({"then": wb.absent(within=0)}, "within of absent.. must be positive"),
    ({"then": wb.absent(within=5), "greedy": True}, "greedy=True cannot have then="),
    ({"then": ORDERED}, "then must be an absence"), ({"then": wb.absent(within="5m")}, "must be an int in ticks"),
    ({"then": wb.absent(col.id, within=5)}, "A condition must be boolean"),
    ({"then": wb.absent(wb.last_of("a").id == "a", within=5)}, "absent.. cannot read registers"),
])
def test_mistakes_are_named(options: dict, what: str) -> None:
    with pytest.raises(WhimbrelError, match=what):
        log((0, "a", "order")).detect(ORDERED, within=1, **options)
