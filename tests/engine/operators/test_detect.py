"""Patterns: what runs remember, what lies between, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.kernels import Tier, tier
from whimbrel.run import Pipeline
from whimbrel.testing import Query, check_operator


def log(letters: str, times: list[int] | None = None) -> wb.Stream:
    times = list(range(len(letters))) if times is None else times
    numbers = pa.array(range(len(letters)), pa.int64())
    columns = {"at": pa.array(times, pa.int64()), "e": pa.array(list(letters), pa.string()), "x": numbers}
    return wb.from_arrow(pa.table(columns), time="at", name="log")


def is_a(letter: str) -> Any:
    return col.e == letter


def rows(query: wb.Stream, *names: str) -> list[tuple[Any, ...]]:
    """Matches by their begin and length, then by name."""
    return sorted(tuple(row[name] for name in names) for row in query.collect().to_pylist())


def reference(letters: str, within: int, *, skip: bool) -> list[tuple[int, int]]:
    """The pattern a b+ read by hand: begin and number of events of each match."""
    found = []
    for begin in (at for at, letter in enumerate(letters) if letter == "a"):
        events = 1
        for at in range(begin + 1, min(begin + within, len(letters))):
            if letters[at] == "b":
                events += 1
                found.append((begin, events))
            elif not skip:
                break
    return sorted(found)


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("letters", ["abbcab", "aabcbb", "cbabcacbbb", "b", ""])
def test_it_is_the_reference(letters: str, skip: bool) -> None:
    pattern = wb.event(is_a("a")).then(wb.event(is_a("b")).repeat())
    assert rows(log(letters).detect(pattern, within=5, skip=skip), "first_time", "events") == \
        reference(letters, 5, skip=skip)


SUMS = wb.event(is_a("a"), total=col.x).then(wb.event(is_a("b"), total=wb.register.total + col.x).repeat(0))


@pytest.mark.parametrize("how", ["interpreted", "fused"])
@pytest.mark.parametrize(("options", "found"), [
    ({}, [(-9, 0, 2), (2**62, 2**62 + 1, 2)]), ({"skip": True}, [(-9, 0, 2), (-9, 2**62 + 1, 3),
                                                               (2**62, 2**62 + 1, 2)]),
    ({"register": {"total": 0}}, [(-9, 0, 2), (2**62, 2**62 + 1, 2)]), ({"overlapping": False}, [(-9, 0, 2),
                                                                                     (2**62, 2**62 + 1, 2)]),
], ids=repr)
def test_without_a_limit_of_time_runs_continue_and_matches_have_no_end(
        options: dict[str, Any], found: list[tuple[int, ...]], how: Tier) -> None:
    events = log("abab", times=[-9, 0, 2**62, 2**62 + 1])
    pattern = wb.event(is_a("a")).then(wb.event(is_a("b")).repeat())
    query = events.detect(pattern, within=None, **options)
    with tier(how):
        assert rows(query, "first_time", "start", "events") == found
        assert {end for end, in rows(query, "end")} == {None}
    assert "within=None" in query.explain()


@pytest.mark.parametrize("options", [{}, {"skip": True}])
def test_runs_without_a_limit_resume_after_a_checkpoint_and_keep_the_lineage(
        options: dict[str, Any]) -> None:
    facts = [(at, at + 1, {"time": at, "key": "a", "k2": 1, "x": x, "y": 0.5, "flag": True})
             for at, x in ((-8, 1), (-2, 5), (30, 5), (31, -1), (90, 5))]
    written = "".join(f", {name}={value!r}" for name, value in options.items())
    query = Query((f".detect(wb.event(col.x == 1).then(wb.event(col.x > 1).repeat()), within=None{written})",))
    assert query.reference(facts)
    check_operator(query.build, facts, reference=query.reference)


def test_a_register_is_carried_along_and_shown() -> None:
    found = log("abba").detect(SUMS, within=10, register={"total": 100})
    assert rows(found, "start", "events", "total") == [(0, 1, 0), (1, 2, 1), (2, 3, 3), (3, 1, 3)]


def test_a_condition_reads_the_register_as_it_was() -> None:
    rising = wb.event(col.x >= 0, top=col.x).then(wb.event(col.x > wb.register.top, top=col.x).repeat())
    stream = wb.from_arrow({"at": [0, 1, 2, 3], "x": [5, 7, 6, 9]}, time="at")
    assert rows(stream.detect(rising, within=10, register={"top": 0}), "first_time", "top") == [(0, 7), (2, 9)]


def test_paths_with_different_registers_are_different_matches() -> None:
    either = wb.event(is_a("a"), n=wb.lit(1)) | wb.event(is_a("a"), n=wb.lit(2)) | wb.event(is_a("a"), n=wb.lit(2))
    assert rows(log("a").detect(either, within=5, register={"n": 0}), "n") == [(1,), (2,)]


@pytest.mark.parametrize("name", ["interpreted", "fused"])
def test_functions_of_an_event_and_the_register(name: str) -> None:
    def longer(e: Any, r: Any) -> str:
        return r.word + e.e if e.x % 2 == 0 else r.word

    pattern = wb.event(lambda e, r: len(r.word) < 2 and e.e != "c", word=longer).repeat(2)
    with tier(name):  # type: ignore[arg-type]
        found = log("ababc").detect(pattern, within=10, register={"word": ""})
        assert rows(found, "first_time", "events", "word") == [
            (0, 2, "a"), (0, 3, "aa"), (1, 2, "a"), (1, 3, "a"), (2, 2, "a")]


def test_columns_of_matched_events_are_output() -> None:
    pattern = wb.sequence(low=is_a("a"), high=wb.event(is_a("b")).repeat())
    output = {"low": wb.first_of("low").x, "from_": wb.first_of("high").x, "to": wb.last_of("high").x,
              "what": wb.last_of("high").e, "span": wb.last_of("high").x - wb.first_of("low").x}
    found = log("abb").detect(pattern, within=10, output=output)
    assert rows(found, *output) == [(0, 1, 1, "b", 1), (0, 1, 2, "b", 2)]
    assert found.schema.show().endswith("low: int64, from_: int64, to: int64, what: string, span: int64")


def test_the_first_event_is_output_even_if_its_column_is_null() -> None:
    stream = wb.from_arrow({"at": [0, 1], "x": pa.array([None, 7], pa.int64())}, time="at")
    pattern = wb.sequence(a=wb.event(col.at >= 0).repeat(2))
    output = {"first": wb.first_of("a").x, "last": wb.last_of("a").x}
    assert stream.detect(pattern, within=5, output=output).select("first", "last").collect().to_pylist() == [
        {"start": 1, "end": 5, "first": None, "last": 7}]


def test_a_register_may_begin_with_null() -> None:
    pattern = wb.event(is_a("a"), seen=wb.register.seen.fill_null(0) + 1).repeat()
    assert rows(log("aa").detect(pattern, within=5, register={"seen": pa.int64()}), "seen") == [(1,), (1,), (2,)]


def test_without_overlap_no_run_begins_at_an_event_that_moved_another() -> None:
    pair = wb.event(is_a("a")).then(wb.event(is_a("a")))
    assert rows(log("aaaa").detect(pair, within=9), "first_time") == [(0,), (1,), (2,)]
    assert rows(log("aaaa").detect(pair, within=9, overlapping=False), "first_time") == [(0,), (2,)]


def test_a_run_that_skips_takes_the_next_event_that_fits() -> None:
    pattern = wb.sequence(a=is_a("a"), b=is_a("b"))
    assert rows(log("acbb").detect(pattern, within=9, skip=True), "start") == [(2,)]


def test_simultaneous_events_are_passed_over_or_taken_in_order() -> None:
    ties = log("aabb", [0, 1, 1, 2])
    pattern = wb.sequence(a=is_a("a"), b=is_a("b"))
    assert rows(ties.detect(pattern, within=9), "start") == []
    assert rows(ties.detect(pattern, within=9, simultaneous="in_order"), "start") == [(1,)]


@pytest.mark.parametrize(("least", "most", "lengths"), [
    (1, None, [1, 2, 3, 4]), (0, None, [1, 2, 3, 4]), (2, 3, [2, 3]), (3, 3, [3]), (0, 2, [1, 2]), (4, None, [4])])
def test_repetition_has_bounds(least: int, most: int | None, lengths: list[int]) -> None:
    pattern = wb.event(is_a("a")).repeat(least, most)
    pattern = pattern if least else wb.event(is_a("a")) | wb.event(is_a("a")).then(pattern)
    found = log("aaaa").detect(pattern, within=99, overlapping=False)
    assert {row[0] for row in rows(found, "events")} >= set(lengths if least else [1, 2])
    if least:
        assert [row[1] for row in rows(log("aaaa").detect(pattern, within=99), "first_time", "events")
                if row[0] == 0] == lengths


def test_runs_of_quiet_keys_are_forgotten_when_their_time_is_over() -> None:
    keys = wb.from_arrow({"at": np.arange(5_000), "k": np.arange(5_000)}, time="at")
    for options in ({}, {"skip": True}):
        query = keys.group_by("k").detect(wb.event(col.k >= 0).repeat(), within=50, **options)
        pipeline = Pipeline(query.node)
        for batch in pipeline.sources[0].read(("at", "k")):
            assert batch is not None
            for start in range(0, 5_000, 100):
                pipeline.push(0, batch.slice(start, start + 100))
                assert pipeline.kernels[-1].buffered_rows <= 300
        pipeline.finish(0)
        assert pipeline.kernels[-1].buffered_rows == 0


def test_the_plan_says_what_was_asked() -> None:
    text = log("a").detect(SUMS, within=10, register={"total": 0}, skip=True, overlapping=False).explain()
    assert text.startswith("detect(event(col.e == 'a', total=col.x).then(event(col.e == 'b', total=register.total + "
                           "col.x).repeat(0)), within=10, register={'total': 0}, skip=True, overlapping=False)")


MISTAKES: dict[str, tuple[Callable[[], object], list[str]]] = {
    "unknown register": (
        lambda: log("a").detect(wb.event(col.x > wb.register.totl), within=1, register={"total": 0}),
        ["The pattern has no register 'totl'.", "Use 'total'"]),
    "unknown register set": (lambda: log("a").detect(SUMS, within=1), ["The pattern has no register 'total'."]),
    "register without a type": (
        lambda: log("a").detect(SUMS, within=1, register={"total": None}), ["needs a type", "pyarrow.int64()"]),
    "register of another type": (
        lambda: log("a").detect(wb.event(is_a("a"), total=col.e), within=1, register={"total": 0}),
        ["Register 'total' must stay int64", "col.e of type string"]),
    "unknown event": (
        lambda: log("a").detect(wb.sequence(low=is_a("a")), within=1, output={"x": wb.last_of("lw").x}),
        ["The pattern has no event 'lw'.", "Use 'low'"]),
    "unknown column of an event": (
        lambda: log("a").detect(wb.sequence(low=is_a("a")), within=1, output={"x": wb.last_of("low").y}),
        ["There is no column 'y'."]),
    "column of no event": (
        lambda: log("a").detect(wb.sequence(low=is_a("a")), within=1, output={"x": col.x}),
        ["must name the event of column 'x'", "wb.last_of('name').x"]),
    "bounds": (lambda: wb.event(is_a("a")).repeat(3, 2), ["repeat() needs 0 <= min <= max", "got 3 to 2"]),
    "too long": (
        lambda: log("a").detect(wb.event(is_a("a")).repeat(100), within=1), ["at most 62 events", "counts max"]),
    "simultaneous": (
        lambda: log("a").detect(wb.event(is_a("a")), within=1, simultaneous="keep"),  # type: ignore[arg-type]
        ["'discard' or 'in_order', got 'keep'"]),
    "overflow": (
        lambda: log("aa").detect(wb.event(is_a("a"), n=wb.register.n * 2).repeat(2), within=9,
                                 register={"n": 2**62}).collect(),
        ["A register leaves int64.", "Start with a float"]),
    "a function that fails": (
        lambda: log("a").detect(wb.event(is_a("a"), n=lambda e, r: int(e.e if r.n == 0 else "1")), within=9,
                                register={"n": 0}).collect(),
        ["ValueError: invalid literal", "for the row"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_reported_in_the_users_words(mistake: str) -> None:
    action, parts = MISTAKES[mistake]
    with pytest.raises(wb.WhimbrelError) as caught:
        action()
    for part in parts:
        assert part in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 8


@pytest.mark.parametrize("type_", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())])
def test_a_register_takes_texts_in_whatever_layout_its_type_was_given(type_: pa.DataType) -> None:
    events = wb.from_arrow(pa.table({"at": [0, 1], "x": pa.array(["a", "b"]).cast(type_)}), time="at")
    found = events.detect(wb.event(col.x == "b", last=col.x), within=5, register={"last": type_})
    assert found.collect()["last"].to_pylist() == ["b"]
