"""The oracle itself, held against examples worked by hand and against conformance cases where they are at hand."""

from __future__ import annotations

import pytest

from tests.laws import conformance
from whimbrel.errors import DisorderError, KernelError
from whimbrel.testing import oracle
from whimbrel.testing.oracle import INF, Aggregated, Either, Event, EventStep, Optional, OracleColumns, Repeat, Then

col = OracleColumns()


def points(*times: int, **columns: list[object]) -> list[Event]:
    return [(time, time + 1, {name: values[at] for name, values in columns.items()}) for at, time in enumerate(times)]


def lifetimes(facts: list[Event]) -> list[tuple[object, object]]:
    return [(start, end) for start, end, _ in facts]


def test_where_takes_null_for_false_and_stops_at_the_first_refusal() -> None:
    facts = points(0, 1, 2, v=["NA", "2", None])
    assert oracle.where(facts, lambda row: row["v"] != "NA", lambda row: row["v"] and int(row["v"]) > 1) == facts[1:2]


def test_three_valued_logic() -> None:
    null, true, false = col.n == 0, col.x == 1, col.x == 2
    row = {"n": None, "x": 1}
    assert [(null & true)(row), (null & false)(row), (null | true)(row), (null | false)(row), (~null)(row)] == \
        [None, False, True, None, None]


def test_new_columns_are_computed_from_the_old_ones() -> None:
    swapped = oracle.with_columns([(0, 1, {"a": 1, "b": 2})], {"a": col.b, "b": col.a})
    assert swapped == [(0, 1, {"a": 2, "b": 1})]


@pytest.mark.parametrize(("label", "at", "lifetime"), (
    ("start", 0, (0, 10)), ("start", 9, (0, 10)), ("start", -1, (-10, 0)),
    ("end", 0, (0, 10)), ("end", 1, (10, 20)), ("end", -1, (0, 10)),
))
def test_tumbling_window(label: oracle.lifetimes.Label, at: int, lifetime: tuple[int, int]) -> None:
    assert lifetimes(oracle.tumbling_window(points(at), 10, label=label)) == [lifetime]


def test_a_hopping_snapshot_speaks_of_the_last_size_ticks() -> None:
    # [T, T + hop) speaks of events in [T + hop - size, T + hop): 20 ticks before 20 hold the events at 3 and 17.
    counts = oracle.aggregate(oracle.hopping_window(points(3, 17, 25), 20, 10), {"n": Aggregated("count")})
    assert counts == [(0, 10, {"n": 1}), (10, 20, {"n": 2}), (20, 30, {"n": 2}), (30, 40, {"n": 1})]


def test_an_end_labelled_hopping_snapshot_never_has_lookahead() -> None:
    # [T, T + hop) speaks of events in (T - size, T].
    counts = oracle.aggregate(oracle.hopping_window(points(0, 10, 11), 20, 10, label="end"), {"n": Aggregated("count")})
    assert counts == [(0, 10, {"n": 1}), (10, 20, {"n": 2}), (20, 30, {"n": 2}), (30, 40, {"n": 1})]


def test_a_size_that_is_not_a_multiple_of_the_hop_snaps_the_end() -> None:
    assert lifetimes(oracle.hopping_window(points(4, 5, 9), 15, 10)) == [(0, 10), (0, 20), (0, 20)]
    assert lifetimes(oracle.hopping_window(points(5, 6), 15, 10, label="end")) == [(10, 20), (10, 30)]


def test_a_hop_longer_than_the_size_drops_events_in_the_gaps() -> None:
    kept = oracle.hopping_window(points(5, 6, 7, 9, 10), 3, 10)
    assert lifetimes(kept) == [(10, 13)]  # 10: windows are [0, 3), [10, 13), ...; the others lie between them
    kept = oracle.hopping_window(points(7, 8, 10, 11), 3, 10, label="end")
    assert lifetimes(kept) == [(10, 13), (10, 13)]  # 8 and 10: (7, 10]


def test_a_window_grid_can_be_moved() -> None:
    assert lifetimes(oracle.tumbling_window(points(2, 3, 12), 10, offset=3)) == [(-7, 3), (3, 13), (3, 13)]


def test_durations_and_shifts() -> None:
    facts: list[Event] = [(3, INF, {}), (5, 6, {})]
    assert lifetimes(oracle.sliding_window(facts, 5)) == [(3, 8), (5, 10)]
    assert lifetimes(oracle.set_duration(facts, 5)) == [(3, 8), (5, 10)]
    assert oracle.set_duration(facts, 0) == []
    assert lifetimes(oracle.shift(facts, -4)) == [(-1, INF), (1, 2)]


ARRIVALS = points(10, 13, 12, 9, 14)


def test_a_late_row_is_an_error_by_default() -> None:
    with pytest.raises(DisorderError, match="Row 3 at 9"):
        oracle.ingress(ARRIVALS, 1, "raise")
    assert oracle.ingress(ARRIVALS, 4, "raise").facts == ARRIVALS  # 9 = 13 - 4 is on time
    assert oracle.ingress(ARRIVALS, None, "raise").facts == ARRIVALS


def test_late_rows_can_be_dropped_and_are_counted() -> None:
    ingested = oracle.ingress(ARRIVALS, 1, "drop")
    assert lifetimes(ingested.facts) == [(10, 11), (13, 14), (12, 13), (14, 15)]
    assert (ingested.dropped, ingested.adjusted) == (1, 0)


def test_late_rows_can_be_moved_to_now_if_they_are_still_true_then() -> None:
    ingested = oracle.ingress([(20, 21, {}), (5, INF, {}), (6, 25, {}), (7, 20, {})], 0, "adjust")
    assert lifetimes(ingested.facts) == [(20, 21), (20, INF), (20, 25)]
    assert (ingested.dropped, ingested.adjusted) == (1, 2)


def test_snapshots_cut_at_every_start_and_end() -> None:
    facts = [(1, 5, {"x": 10}), (1, 3, {"x": 20}), (2, 3, {"x": 30}), (2, 4, {"x": None}), (9, INF, {"x": 1})]
    totals = oracle.aggregate(facts, {"n": Aggregated("count"), "s": Aggregated("sum", col.x)})
    assert totals == [
        (1, 2, {"n": 2, "s": 30}), (2, 3, {"n": 4, "s": 60}), (3, 4, {"n": 2, "s": 10}), (4, 5, {"n": 1, "s": 10}),
        (9, INF, {"n": 1, "s": 1}),
    ]


def test_adjacent_equal_snapshots_stay_separate_and_boundaries_are_per_group() -> None:
    facts = [(0, 5, {"k": "a"}), (5, 9, {"k": "a"}), (0, 9, {"k": None})]
    counts = oracle.aggregate(facts, {"n": Aggregated("count")}, {"k": col.k})
    assert counts == [(0, 5, {"k": "a", "n": 1}), (5, 9, {"k": "a", "n": 1}), (0, 9, {"k": None, "n": 1})]


def test_a_snapshot_of_nulls_only_still_exists() -> None:
    forms = {kind: Aggregated(kind, col.x) for kind in ("count", "sum", "mean", "min", "max")}
    assert oracle.aggregate([(0, 1, {"x": None})], forms) == \
        [(0, 1, {"count": 0, "sum": 0, "mean": None, "min": None, "max": None})]


def test_a_filter_that_leaves_nothing_is_like_nulls_only() -> None:
    forms = {"n": Aggregated("count", None, col.x > 5), "m": Aggregated("mean", col.x, col.x > 5)}
    assert oracle.aggregate([(0, 1, {"x": 3})], forms) == [(0, 1, {"n": 0, "m": None})]


def test_mean_is_a_float_and_sums_do_not_wrap() -> None:
    big = points(0, 0, x=[2**63 - 1, 1])
    assert oracle.aggregate(points(0, 0, x=[1, 2]), {"m": Aggregated("mean", col.x)}) == [(0, 1, {"m": 1.5})]
    with pytest.raises(KernelError, match="9223372036854775808"):
        oracle.aggregate(big, {"s": Aggregated("sum", col.x)})


def test_join_needs_equal_keys_and_common_time() -> None:
    left = [(0, 10, {"k": 1, "l": "a"}), (0, 5, {"k": None, "l": "b"})]
    right = [(5, INF, {"k": 1, "r": "c"}), (10, 11, {"k": 1, "r": "d"}), (0, 5, {"k": None, "r": "e"})]
    joined = oracle.join(left, right, lambda row: (row["k"],), lambda row: (row["k"],), lambda a, b: a | b)
    assert joined == [(5, 10, {"k": 1, "l": "a", "r": "c"})]


A, B, C = EventStep(col.e == "a"), EventStep(col.e == "b"), EventStep(col.e == "c")


def matches(pattern: oracle.Pattern, events: str, within: int = 100) -> list[Event]:
    """One event a tick."""
    return oracle.detect(points(*range(len(events)), e=list(events)), pattern, within)


def test_every_entry_into_a_final_state_is_a_match() -> None:
    assert matches(Then(A, Repeat(B)), "abbc") == [
        (1, 100, {"first_time": 0, "events": 2}), (2, 100, {"first_time": 0, "events": 3}),
    ]


def test_strict_contiguity() -> None:
    assert matches(Then(A, B), "acb") == []
    assert matches(Then(A, B), "aab") == [(2, 101, {"first_time": 1, "events": 2})]


def test_alternatives_options_and_repetition() -> None:
    assert [run["events"] for _, _, run in matches(Then(A, Then(Optional(B), C)), "abcac")] == [3, 2]
    assert [run["events"] for _, _, run in matches(Then(A, Either(B, C)), "abac")] == [2, 2]
    assert [run["events"] for _, _, run in matches(Repeat(A, 2, 3), "aaaa")] == [2, 3, 2, 3, 2]
    assert matches(Optional(A), "b") == []  # no events, no run


def test_two_readings_of_the_same_events_are_one_match() -> None:
    assert matches(Either(A, EventStep(col.e != "b")), "a") == [(0, 100, {"first_time": 0, "events": 1})]


def test_a_run_accepts_events_strictly_within_its_time() -> None:
    facts = points(0, 4, 5, e=["a", "b", "b"])
    assert [last for last, _, _ in oracle.detect(facts, Then(A, Repeat(B)), 5)] == [4]
    assert [last for last, _, _ in oracle.detect(facts, Then(A, Repeat(B)), 6)] == [4, 5]


def test_simultaneous_events_of_a_key_are_discarded_with_its_runs() -> None:
    facts = [*points(0, 1, 1, 2, 3, e=list("abbab")), *points(0, 1, e=["a", "b"])]
    keyed = [(start, end, row | {"k": at >= 5}) for at, (start, end, row) in enumerate(facts)]
    assert oracle.detect(keyed, Then(A, B), 10, {"k": col.k}) == [
        (3, 12, {"k": False, "first_time": 2, "events": 2}), (1, 10, {"k": True, "first_time": 0, "events": 2}),
    ]


def test_differences_are_of_multisets_and_close_floats_are_equal() -> None:
    third: list[Event] = [(0, 1, {"m": 1 / 3, "k": "a"}), (0, 1, {"m": None, "k": "a"})]
    nearly = [third[1], (0, 1, {"m": 0.1 + 0.7 / 3, "k": "a"})]
    assert oracle.differences(third, nearly) == ([], [])
    assert oracle.differences(third, third[1:]) == (third[:1], [])
    assert oracle.differences(third[:1], [*third[:1], *third[:1]]) == ([], third[:1])
    assert oracle.differences([(0, 1, {"n": 1})], [(0, 1, {"n": True})]) == ([(0, 1, {"n": 1})], [(0, 1, {"n": True})])


if conformance.FOLDER.is_dir():
    CASES = conformance.cases()
    SUPPORTED = [case for case in CASES if case["name"] not in conformance.NOT_IN_THE_MODEL]

    @pytest.mark.parametrize("case", SUPPORTED, ids=lambda case: case["name"])
    def test_conformance(case: dict[str, dict[str, object]]) -> None:
        if "throws" in case["expected"]:
            with pytest.raises(DisorderError):
                conformance.answer(case)
        elif conformance.lifetimes_only(case):
            assert sorted(lifetimes(conformance.answer(case))) == sorted(lifetimes(conformance.expected(case)))
        else:
            assert oracle.differences(conformance.expected(case), conformance.answer(case)) == ([], [])

    def test_cases_left_out_exist() -> None:
        assert conformance.NOT_IN_THE_MODEL.keys() <= {case["name"] for case in CASES}
