"""Start and end edges at ingress: matched by payload, late ones dropped or moved together, punctuations obeyed."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import DisorderError, PlanError, SchemaError, SourceError

Row = tuple[int, int | None, Any]


def stream(rows: list[Row], batch_rows: int | None = None, **options: Any) -> wb.Stream:
    table = pa.table({"at": [row[0] for row in rows], "of": pa.array([row[1] for row in rows], pa.int64()),
                      "x": pa.array([row[2] for row in rows]),
                      "punctuation": [row[1] is not None and row[0] == row[1] for row in rows]})
    batches = table.to_batches(max_chunksize=batch_rows)
    return wb.from_edges(pa.Table.from_batches(batches), sync="at", other="of", punctuation="punctuation", **options)


def answer(rows: list[Row], batch_rows: int | None = None, **options: Any) -> list[tuple[int, int | None, Any]]:
    table = stream(rows, batch_rows, **options).collect()
    found = [(row["start"], row["end"], row["x"]) for row in table.to_pylist()]
    return sorted(found, key=lambda fact: (fact[0], fact[1] or 99, str(fact[2])))


def test_equal_edges_are_joined_first_in_first_out() -> None:
    assert answer([(1, None, "a"), (1, None, "a"), (2, 9, "b"), (3, 1, "a"), (5, 1, "a"), (6, None, "a")]) == [
        (1, 3, "a"), (1, 5, "a"), (2, 9, "b"), (6, None, "a")]


@pytest.mark.parametrize("values", [[None, 1.5, float("nan")], [None, "", "ü"], [[1], [1, 2], None], [True, False]])
def test_payloads_of_any_type(values: list[Any]) -> None:
    rows = [(at, None, value) for at, value in enumerate(values)]
    ends = [(10 + at, at, value) for at, value in enumerate(values)]
    assert [fact[:2] for fact in answer(rows + ends)] == [(at, 10 + at) for at in range(len(values))]


def test_a_late_start_that_is_moved_takes_its_end_edge_with_it() -> None:
    rows: list[Row] = [(9, None, "y"), (5, None, "x"), (20, 5, "x"), (22, 9, "y")]
    assert answer(rows, late="adjust") == [(9, 20, "x"), (9, 22, "y")]
    assert answer(rows, late="drop") == [(9, 22, "y")]


def test_moved_and_dropped_starts_are_ended_before_those_on_time() -> None:
    rows: list[Row] = [(5, None, "x"), (9, None, "y"), (5, None, "x"), (20, 5, "x"), (30, 5, "x")]
    assert answer(rows, late="adjust") == [(5, 30, "x"), (9, 20, "x"), (9, None, "y")]
    assert answer(rows, late="drop") == [(5, 30, "x"), (9, None, "y")]


def test_a_late_end_is_moved_and_an_event_never_lasts_for_nothing() -> None:
    assert answer([(1, None, "x"), (9, None, "y"), (4, 1, "x")], late="adjust") == [(1, 9, "x"), (9, None, "y")]
    assert answer([(9, None, "y"), (1, None, "x"), (4, 1, "x")], late="adjust") == [(9, 10, "x"), (9, None, "y")]


def test_a_late_end_that_is_dropped_leaves_its_event_open() -> None:
    assert answer([(1, None, "x"), (9, None, "y"), (4, 1, "x")], late="drop") == [(1, None, "x"), (9, None, "y")]


def test_edges_are_sorted_within_the_promised_latency() -> None:
    assert answer([(9, 4, "x"), (4, None, "x"), (12, None, "y")], reorder_latency=5) == [
        (4, 9, "x"), (12, None, "y")]


def test_a_punctuation_makes_what_is_before_it_late() -> None:
    rows: list[Row] = [(9, 12, "y"), (7, 7, ""), (8, 9, "x"), (15, 15, ""), (11, 12, "z")]
    with pytest.raises(DisorderError):
        answer(rows, reorder_latency=20)
    assert answer(rows, reorder_latency=20, late="drop") == [(8, 9, "x"), (9, 12, "y")]


def test_rows_that_a_punctuation_made_late_are_reported() -> None:
    with pytest.raises(DisorderError) as caught:
        answer([(9, 12, "y"), (15, 15, ""), (11, 12, "z")], reorder_latency=20)
    assert caught.value.what == "Row 2 of edges is late, with a lateness of 4: 11 arrived when the watermark was 15."


@pytest.mark.parametrize("late", ["drop", "adjust"])
@pytest.mark.parametrize("seed", range(20))
def test_batches_change_nothing(late: str, seed: int) -> None:
    chance = random.Random(seed)
    rows: list[Row] = []
    for _ in range(30):
        start, value = chance.randint(0, 40), chance.choice("ab")
        rows += [(start, None, value), (start + chance.randint(1, 9), start, value)]
    rows.sort(key=lambda row: (row[0] + chance.randint(0, 12)))
    rows.insert(30, (20, 20, ""))
    whole = answer(rows, reorder_latency=3, late=late)
    assert [answer(rows, size, reorder_latency=3, late=late) for size in (1, 2, 7)] == [whole] * 3


def test_every_drop_and_every_move_is_counted() -> None:
    rows: list[Row] = [(9, None, "y"), (5, None, "x"), (20, 5, "x"), (3, 4, "z")]
    for late, counts in (("drop", (3, 0)), ("adjust", (1, 1))):
        last = list(stream(rows, late=late).progressive())[-1].metrics
        assert (last.late_dropped, last.late_adjusted) == counts


def test_what_follows_takes_edges() -> None:
    rows: list[Row] = [(1, None, 3), (2, None, 4), (5, 1, 3), (8, 2, 4)]
    assert stream(rows).where(col.x > 3).aggregate(n=wb.count()).collect().to_pylist() == [
        {"start": 2, "end": 8, "n": 1}]


@pytest.mark.parametrize(("rows", "what"), [
    ([(5, 1, "x")], "An end edge of edges at 5 needs a start edge at 1 with the same payload."),
    ([(1, None, "x"), (5, 1, "y")], "An end edge of edges at 5 needs a start edge"),
])
def test_an_end_without_a_start(rows: list[Row], what: str) -> None:
    with pytest.raises(SourceError, match=what):
        answer(rows)
    assert answer(rows, late="drop") == [(row[0], None, "x") for row in rows[:-1]]


def test_mistakes_are_named() -> None:
    rows = {"at": [3], "of": [3], "x": [1]}
    with pytest.raises(SourceError, match="Row 0 must end after it starts, but 'at' and 'of' are both 3"):
        wb.from_edges(rows, sync="at", other="of").collect()
    with pytest.raises(SchemaError, match="must be bool, but 'x' is int64"):
        wb.from_edges(rows, sync="at", other="of", punctuation="x")
    with pytest.raises(PlanError, match="cannot read 'edges' because it has start and end edges"):
        wb.replay(wb.from_edges(rows, sync="at", other="of"))
