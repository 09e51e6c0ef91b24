"""session_window: events of a key end together when it has been quiet."""

from __future__ import annotations

from collections import defaultdict
from importlib import import_module
from random import Random
from typing import Any

import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import KernelError, PlanError, SchemaError
from whimbrel.operators.aggregation import operation_log
from whimbrel.plan import Node, OrderingSpec
from whimbrel.testing.rows import BatchedRows

POINTS = wb.from_arrow({"at": [11, 12, 21, 25], "user": ["a", "a", "a", "d"], "x": [1, 1, 2, 2]}, time="at")


def rows(stream: wb.Stream) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in stream.collect().to_pylist()]


def test_an_aggregate_shows_each_change() -> None:
    assert rows(POINTS.session_window(6).aggregate(s=wb.sum(col.x))) == \
        [(11, 12, 1), (12, 18, 2), (21, 25, 2), (25, 31, 4)]


def test_sessions_are_per_key() -> None:
    sums = POINTS.group_by("user").session_window(50).aggregate(s=wb.sum(col.x))
    assert rows(sums) == [(11, 12, "a", 1), (12, 21, "a", 2), (21, 71, "a", 4), (25, 75, "d", 2)]


def test_closed_sessions_are_one_row_each() -> None:
    sums = POINTS.group_by("user").session_window(9, emit="close").aggregate(n=wb.count(), s=wb.sum(col.x))
    assert rows(sums) == [(11, 21, "a", 2, 2), (21, 30, "a", 1, 2), (25, 34, "d", 1, 2)]


@pytest.mark.parametrize(("gap", "sessions"), [(4, 1), (5, 2), (6, 2)])
def test_an_event_at_the_very_timeout_begins_a_new_session(gap: int, sessions: int) -> None:
    events = wb.from_arrow({"at": [0, gap]}, time="at").session_window(5, emit="close")
    assert len(events.aggregate(n=wb.count()).collect()) == sessions


def test_sessions_that_last_are_cut_at_multiples_of_max_duration() -> None:
    events = wb.from_arrow({"at": list(range(3, 58, 2))}, time="at")
    found = events.session_window(10, max_duration=20, emit="close").aggregate(n=wb.count())
    assert rows(found) == [(3, 40, 19), (41, 60, 9)]
    on_the_grid = wb.from_arrow({"at": [20, 25, 31, 39, 40]}, time="at").session_window(10, 20, emit="close")
    assert [(start, end) for start, end, *_ in rows(on_the_grid)] == [(20, 40)] * 4 + [(40, 50)]


@pytest.mark.parametrize("emit", ["change", "close"])
def test_random_streams_match_a_model(emit: str) -> None:
    chance = Random(3)
    events = sorted((chance.randrange(4000), chance.randrange(9)) for _ in range(1500))
    sessions: dict[int, list[list[int]]] = defaultdict(list)
    for at, key in events:
        if not sessions[key] or at - sessions[key][-1][-1] >= 20:
            sessions[key].append([])
        sessions[key][-1].append(at)
    expected = [(session[0] if emit == "close" else at, session[-1] + 20, key)
                for key, ours in sessions.items() for session in ours for at in session]
    stream = wb.from_arrow({"at": [at for at, _ in events], "key": [key for _, key in events]}, time="at")
    found = rows(stream.group_by("key").session_window(20, emit=emit).select("key"))  # type: ignore[arg-type]
    assert sorted(found) == sorted(expected)


def test_nothing_is_held_once_sessions_have_closed() -> None:
    events = wb.from_arrow({"at": [0, 1, 2, 100, 200], "k": [1, 2, 3, 4, 5]}, time="at").group_by("k")
    snapshots = list(events.session_window(5, emit="close").progressive(every=1))
    assert snapshots[-1].metrics.buffered_rows == 0


@pytest.mark.parametrize(("options", "what"), [
    ({"timeout": 0}, "must be positive"), ({"timeout": 5, "max_duration": 0}, "must be positive"),
    ({"timeout": 5, "emit": "end"}, "got 'end'"),
])
def test_sessions_that_cannot_be(options: dict[str, object], what: str) -> None:
    with pytest.raises(PlanError, match=what):
        POINTS.session_window(**options)  # type: ignore[arg-type]


def test_an_unknown_key_is_reported_where_it_was_written() -> None:
    with pytest.raises(SchemaError, match="There is no column 'usr'"):
        POINTS.group_by("usr").session_window(5)


def test_the_plan_says_it_as_it_was_written_and_what_it_knows() -> None:
    grouped = POINTS.group_by("user")
    assert "group_by(user).session_window(5, max_duration=9)   [edges]" in grouped.session_window(5, 9).explain()
    closed = POINTS.session_window(5, emit="close").explain()
    assert "session_window(5, emit='close')   [intervals, look-ahead]" in closed


@pytest.mark.parametrize("emit", ["change", "close"])
@pytest.mark.parametrize("time", [2**63 - 4, -(2**63) + 4])
def test_times_near_the_end_of_time_are_refused(emit: Any, time: int) -> None:
    events = wb.from_arrow({"at": [time], "x": [1]}, time="at")
    with pytest.raises(KernelError, match="too close to the limit of int64"):
        events.session_window(5, emit=emit).collect()
    assert events.session_window(2, emit=emit).collect().num_rows == 1


def test_the_first_of_a_closed_session_is_its_first() -> None:
    log = wb.from_arrow({"at": [0, 1, 2], "page": [30, 10, 20]}, time="at")
    closed = log.session_window(5, emit="close").aggregate(
        first=wb.first(col.page), last=wb.last(col.page), all=wb.collect(col.page))
    assert closed.collect().to_pylist() == [{"start": 0, "end": 7, "first": 30, "last": 20, "all": [30, 10, 20]}]


@pytest.mark.parametrize("rows_a_piece", [1, 5, 60])
@pytest.mark.parametrize("emit", ["change", "close"])
def test_rows_may_be_held_in_any_pieces(emit: Any, rows_a_piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(5)
    facts = [(at, at + 1, dict.fromkeys(("key", "x", "y", "flag")) | {"time": at, "k2": int(chance.expovariate(0.5))})
             for at in sorted(chance.randrange(900) for _ in range(600))]

    def answer(batches: list[Any]) -> list[tuple[object, ...]]:
        log = wb.Stream(Node(BatchedRows(batches, disorder=OrderingSpec(0))))
        sessions = log.group_by("k2").session_window(20, max_duration=200, emit=emit)
        return sorted(rows(sessions.aggregate(n=wb.count(), first=wb.min(col.time))))

    expected = answer([facts])
    monkeypatch.setattr(import_module("whimbrel.operators.windows.session_window"), "_PIECE_ROWS", rows_a_piece)
    assert answer([facts[start : start + 7] for start in range(0, len(facts), 7)]) == expected
    assert len({row[2] for row in expected}) > 5  # some users have long sessions, others short ones


def test_what_a_filter_leaves_out_keeps_its_session_open() -> None:
    events = wb.from_arrow({"at": [0, 4, 8, 30, 50], "x": [1, 0, 1, 0, 1]}, time="at")
    closed = events.session_window(5, emit="close").where(col.x > 0).aggregate(n=wb.count(), since=wb.first(col.x))
    assert rows(closed) == [(0, 13, 2, 1), (50, 55, 1, 1)]


def test_windows_after_closed_sessions_are_not_lost() -> None:
    closed = wb.from_arrow({"at": [0, 1, 12]}, time="at").session_window(2, emit="close")
    assert rows(closed.tumbling_window(10).aggregate(n=wb.count())) == [(0, 10, 2), (10, 20, 1)]
    assert rows(closed.where(col.at > 0).tumbling_window(10).aggregate(n=wb.count())) == [(0, 10, 1), (10, 20, 1)]


def test_a_session_that_ends_first_waits_for_one_that_began_before() -> None:
    events = wb.from_arrow({"at": [0, 1, 4, 8, 12, 16], "k": [1, 2, 1, 1, 1, 1]}, time="at")
    closed = events.group_by("k").session_window(5, emit="close").aggregate(n=wb.count())
    assert rows(closed) == [(0, 21, 1, 5), (1, 6, 2, 1)]


def test_more_sessions_close_at_once_than_a_step_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation_log, "CAPACITY", 256)
    keys = 3_000
    events = wb.from_arrow({"at": [0] * keys + [1] * keys + [90], "k": [*range(keys), *range(keys), -1]}, time="at")
    found = events.group_by("k").session_window(5, emit="close").aggregate(n=wb.count(), m=wb.median(col.k))
    table = found.collect().to_pandas()
    assert len(table) == keys + 1
    assert (table.n[:keys] == 2).all()
    assert (table.m == table.k).all()
