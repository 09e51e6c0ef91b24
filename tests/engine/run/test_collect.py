from __future__ import annotations

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import PlanError

LOG = pa.table(
    {"at": range(1_000), "k": [number % 3 for number in range(1_000)], "x": [number % 7 for number in range(1_000)]}
)


def query() -> wb.Stream:
    return wb.from_arrow(LOG, time="at").group_by("k").tumbling_window(100).aggregate(total=wb.sum(col.x))


def test_progress_refines_to_the_exact_answer() -> None:
    answers = list(query().progressive(every="10%", order="time"))
    shares = [answer.metrics.fraction_read for answer in answers]
    assert 0 < shares[0] <= 0.3  # at once, not when it is over
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert [answer.final for answer in answers] == [False] * (len(answers) - 1) + [True]
    assert answers[-1].table.equals(query().collect())
    assert all(answer.table.num_rows >= answer.settled for answer in answers)


def test_a_settled_row_never_changes_again() -> None:
    answers = list(query().progressive(every=50, order="time"))
    final = {tuple(row.values()) for row in answers[-1].table.to_pylist()}
    for answer in answers:
        assert {tuple(row.values()) for row in answer.table.slice(0, answer.settled).to_pylist()} <= final


def test_looking_often_changes_nothing() -> None:
    *_, last = query().progressive(every=1, order="time")
    assert last.table.equals(query().collect())


def test_batches_together_are_the_answer() -> None:
    together = pa.Table.from_batches(query().batches())
    assert together.sort_by([("start", "ascending"), ("k", "ascending")]).equals(
        query().collect().sort_by([("start", "ascending"), ("k", "ascending")])
    )


def test_an_empty_log_gives_an_empty_answer_of_the_declared_schema() -> None:
    empty = wb.from_arrow(LOG.slice(0, 0), time="at")
    answer = query().on(empty).collect()
    assert answer.num_rows == 0
    assert answer.schema == query().collect().schema
    assert list(query().on(empty).batches()) == []
    answers = query().on(empty).progressive()
    assert [(answer.final, answer.metrics.fraction_read) for answer in answers] == [(True, 1.0)]


@pytest.mark.parametrize("every", ["often", "0%", "101%", 0, -5])
def test_steps_that_are_no_share_are_refused(every: str | int) -> None:
    with pytest.raises(PlanError) as caught:
        next(query().progressive(every=every))
    assert caught.value.hint


def test_a_share_of_an_unknown_number_of_rows_is_refused() -> None:
    feed = wb.replay(wb.from_arrow(LOG, time="at"), speed=float("inf"), start=10)
    with pytest.raises(PlanError, match="whose number of rows is known"):
        next(query().on(feed).progressive("1%"))
    assert next(query().on(feed).progressive(10)).metrics.rows > 0
