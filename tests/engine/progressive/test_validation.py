"""What means nothing is refused in words where it is said, before anything is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import CheckpointError, PlanError

ROWS = 6_000
TABLE = pa.table({"at": np.arange(ROWS), "k": np.arange(ROWS) % 3, "word": ["a", "b"] * (ROWS // 2),
                  "x": np.arange(ROWS) / 7})


@pytest.fixture(scope="module")
def log() -> wb.Stream:
    return wb.from_arrow(TABLE, time="at", name="log")


@pytest.fixture(scope="module")
def query(log: wb.Stream) -> wb.Stream:
    return log.group_by("k").tumbling_window(ROWS).aggregate(n=wb.count(), total=wb.sum(col.x))


def refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(PlanError, match=message) as error:
        call()
    assert error.value.where
    assert error.value.hint


@pytest.mark.parametrize(("condition", "message"), [
    *((other, "must be an expression") for other in ("k", True, None, lambda e: e.k == 1)),
    (col.wrod == "a", "no column 'wrod'"), (col.n > 3, "no column 'n'"), (wb.count() > 3, "count"),
    (col.k == "a", "int64 and string"), (col.k + 1, "true or false")])
def test_conditions_are_true_or_false_of_rows_of_the_source(query: wb.Stream, condition: Any, message: str) -> None:
    progress = query.progressive()
    refused(lambda: progress.prioritize(condition), message)
    assert progress.finish().num_rows == 3


def test_a_column_that_is_not_read_or_only_made_on_the_way_can_be_preferred(log: wb.Stream, query: wb.Stream) -> None:
    assert query.progressive(block_rows=100).prioritize(col.word == "a").finish().num_rows == 3
    nested = log.group_by("k").tumbling_window(20).aggregate(n=wb.count()).group_by("k").tumbling_window(ROWS)
    progress = nested.aggregate(most=wb.max(col.n)).progressive()
    assert not progress.fallback_reason
    refused(lambda: progress.prioritize(col.zz == 1), "no column 'zz'")
    assert progress.prioritize(col.word == "a", col.n > 3).finish()["most"].to_pylist() == [7, 7, 7]


@pytest.mark.parametrize("steered", [
    {"order": "x"}, {"order": "time"}, {"order": 1}, {"between": 5}, {"between": (5,)}, {"between": (5, 6, 7)},
    {"between": "ab"}, {"between": (None, 5)}, {"between": (1.5, 9)}])
def test_orders_and_ranges_of_time(query: wb.Stream, steered: dict[str, Any]) -> None:
    refused(lambda: query.progressive().prioritize(**steered), "order|range|a time|of times|integer times")


@pytest.mark.parametrize("asked", [
    *({"block_rows": rows} for rows in (1.0, 1.5, "a", -3, 0, True)),
    *({"seed": seed} for seed in (-1, "a", 1.5, None)),
    {"confidence": "95%"}, {"confidence": None}, {"confidence": float("nan")}, {"seconds": "x"}, {"seconds": True},
    {"resume": 5}])
@pytest.mark.parametrize("order", [None, "time"])
def test_options_of_a_progressive_query_are_validated(query: wb.Stream, order: Any, asked: dict[str, Any]) -> None:
    value, = asked.values()
    refused(lambda: query.progressive(order=order, **asked), f"must be a.* got {value!r}")


def test_numbers_of_numpy_are_numbers(query: wb.Stream) -> None:
    progress = query.progressive(block_rows=np.int64(100), seed=np.int32(1), confidence=np.float32(0.5))  # type: ignore[arg-type]
    assert progress.finish().num_rows == 3


@pytest.mark.parametrize("order", [None, "time"])
def test_an_error_contains_the_number_that_was_given(query: wb.Stream, order: Any) -> None:
    refused(lambda: next(query.progressive(every=-5, order=order)), "at least 1, got -5")


@pytest.mark.parametrize("rule", [{"seconds": "a"}, {"error": [1]}, {"error": True}, {"ranking_stable": "a"},
                                  {"ranking_stable": 1.5}, {"ranking_stable": True}, {"value": "zz"}, {"value": 3},
                                  {"value": "k"}])
def test_when_to_stop(query: wb.Stream, rule: dict[str, Any]) -> None:
    refused(lambda: query.progressive().until(**rule), "must be a|no value")


def test_names_of_values_are_checked_in_the_order_of_time(query: wb.Stream) -> None:
    progress = query.progressive(order="time")
    refused(lambda: progress.until(value="zz"), "no value 'zz'")
    assert progress.until(value="n", error="1%").finish().num_rows == 3


@pytest.mark.parametrize(("ask", "message"), [
    *((lambda answer, k=k: answer.ranking(k), "at least 1, got") for k in ("a", 1.5, -1, 0, True)),
    (lambda answer: answer.error_of(5), "no value 5"), (lambda answer: answer.error_of("zz"), "no value 'zz'"),
    (lambda answer: answer.compare(0, 1), "keys to values, got 0"),
    (lambda answer: answer.compare({"k": 0}, None), "got None"),
    (lambda answer: answer.compare([], {"k": 0}), "keys to values"),
    (lambda answer: answer.compare({"k": 0}, {"q": 1}), "no key 'q'")])
@pytest.mark.parametrize("last", [False, True])
def test_what_is_asked_of_an_answer(query: wb.Stream, last: bool, ask: Callable[[wb.Estimate], object],
                                    message: str) -> None:
    progress = query.progressive(block_rows=100)
    answer = next(progress)
    if last:
        *_, answer = progress
    refused(lambda: ask(answer), message)


@pytest.mark.parametrize(("row", "hint"), [({"k": "0"}, "k is int64, and '0' is str"), ({"k": 9}, "Read on"),
                                           ({"k": 0, "start": "0"}, "start is int64, and '0' is str")])
def test_keys_of_another_type_are_reported(query: wb.Stream, row: dict[str, Any], hint: str) -> None:
    answer = next(query.progressive(block_rows=100))
    with pytest.raises(PlanError) as error:
        answer.compare(row, {"k": 1})
    assert hint in error.value.hint


def test_paths_and_claims_are_validated(query: wb.Stream, tmp_path: Any) -> None:
    progress = query.progressive(block_rows=100)
    next(progress)
    for path in (tmp_path, tmp_path / "nope" / "x"):
        with pytest.raises(CheckpointError, match="Cannot write the file") as error:
            progress.save(path)
        assert str(path) in error.value.where
    for nothing in (None, 4):
        refused(lambda: progress.save(nothing), "path must be")  # type: ignore[arg-type]  # noqa: B023
        refused(lambda: progress.load_claims(nothing), "path must be")  # type: ignore[arg-type]  # noqa: B023
        refused(lambda: progress.add_claim(nothing), "must be a Comparison")  # type: ignore[arg-type]  # noqa: B023


@pytest.mark.parametrize(("asked", "message"), [
    ({"after": 5}, "must be a list of durations, got 5"), ({"after": "5s"}, "must be a list of durations, got '5s'"),
    ({"after": [5], "confidence": "x"}, "got 'x'")])
def test_what_lateness_is_asked(log: wb.Stream, asked: dict[str, Any], message: str) -> None:
    refused(lambda: wb.lateness(log).missing(60, **asked), message)
    refused(lambda: wb.lateness(log, by=5), "must be a column name, got 5")  # type: ignore[arg-type]


@pytest.mark.parametrize("order", [None, "time"])
@pytest.mark.parametrize("end", ["n_low", "n_high"])
def test_no_interval_is_lost_to_a_column_of_its_name(log: wb.Stream, end: str, order: Any) -> None:
    taken = log.tumbling_window(ROWS).aggregate(n=wb.count(), **{end: wb.sum(col.x)})
    refused(lambda: taken.progressive(order=order), "needs the columns n_low and n_high")
    assert taken.collect().num_rows == 1
    words = log.tumbling_window(ROWS).aggregate(n=wb.max(col.word), **{end: wb.sum(col.x)})
    assert words.progressive(order=order).finish().select(["n", end]).equals(words.collect().select(["n", end]))


@pytest.mark.filterwarnings("error")
def test_what_is_infinite_is_not_known() -> None:
    table = pa.table({"at": np.arange(ROWS), "x": np.where(np.arange(ROWS) % 50 == 7, np.inf, 1.0)})
    query = wb.from_arrow(table, time="at").tumbling_window(ROWS).aggregate(total=wb.sum(col.x))
    *early, last = query.progressive(every="10%", block_rows=50)
    assert {low for answer in early for low in answer.table["total_low"].to_pylist()} == {None}
    assert last.table["total"].to_pylist() == [np.inf]


def test_a_pivot_of_an_aggregate_is_answered_early(log: wb.Stream) -> None:
    pivot = log.tumbling_window(ROWS).pivot(attribute="word", value="x", values=["a", "b"], aggregate=wb.max)
    assert pivot.progressive(every="50%").finish().to_pylist() == pivot.collect().to_pylist()
