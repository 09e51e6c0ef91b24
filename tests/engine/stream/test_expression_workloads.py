"""Expressions of bench E give what loops by hand give, with and without assumptions, in batches of any size."""

from __future__ import annotations

import pyarrow as pa
import pytest

import whimbrel as wb
from bench.assumptions import same_tables
from bench.expressions import Case, Log, logs
from bench.loop_sides import agrees

ROWS = 1_200
CASES = [pytest.param(log, case, id=f"{log.name}, {case.name}") for log in logs(ROWS) for case in log.cases]
pytestmark = pytest.mark.share(5)


@pytest.mark.parametrize(("log", "case"), CASES)
def test_an_expression_is_what_a_loop_gives(log: Log, case: Case) -> None:
    answer = case.query(log.make()).collect()
    assert answer.num_rows
    assert agrees(case.columns, nulls=True)(answer, case.loop())
    assert same_tables(case.columns)(answer, case.query(log.assumed()).collect())


def test_answers_that_differ_do_not_agree() -> None:
    answer = pa.table({"start": [0, 1, 2], "z": [1.0, None, 3.0]})
    same = agrees(("z",), nulls=True)
    nan = float("nan")
    assert same(answer, [1.0, nan, 3.0])
    assert not same(answer, [1.0, nan, 3.1])
    assert not same(answer, [1.0, 2.0, 3.0])
    assert not same(answer, [1.0, nan])
    assert not same_tables(("z",))(answer, answer.set_column(0, "start", pa.array([0, 1, 3])))


def test_cases_cover_each_kind_of_log() -> None:
    assert [log.name for log in logs(50)] == ["10% missing", "1 in 20", "1 in 1,000", "change points", "1,000 cards"]
    assert isinstance(next(logs(50)).make(), wb.Stream)
