from __future__ import annotations

import operator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.expr.tables import batch, values
from whimbrel.expr import col, lit, predicate, when

truth = st.sampled_from([True, False, None])


def three_and(a, b):
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def three_or(a, b):
    if a is True or b is True:
        return True
    return None if a is None or b is None else False


def three_xor(a, b):
    return None if a is None or b is None else a != b


@pytest.mark.parametrize(("build", "reference"), (
    (operator.and_, three_and), (operator.or_, three_or), (operator.xor, three_xor),
))
@given(rows=st.lists(st.tuples(truth, truth), min_size=1, max_size=9), constant=truth)
def test_three_valued_logic(build, reference, rows, constant):
    of = batch(a=pa.array([a for a, _ in rows], pa.bool_()), b=pa.array([b for _, b in rows], pa.bool_()))
    assert values(build(col.a, col.b), of) == [reference(a, b) for a, b in rows]
    assert values(build(col.a, constant), of) == [reference(a, constant) for a, _ in rows]
    assert values(build(constant, col.a), of) == [reference(constant, a) for a, _ in rows]


def test_not_and_predicates():
    of = batch(a=[True, False, None])
    assert values(~col.a, of) == [False, True, None]
    assert predicate(col.a, of).tolist() == [True, False, False]
    assert predicate(~col.a, of).tolist() == [False, True, False]
    assert predicate(lit(None), of).tolist() == [False] * 3
    assert predicate(lit(True), of).tolist() == [True] * 3


def test_nulls_can_be_asked_for_and_filled():
    of = batch(a=[1, None], s=pa.array(["x", None]).dictionary_encode(), d=pa.array([None, 2], pa.int64()))
    assert values(col.a.is_null(), of) == values(col.s.is_null(), of) == [False, True]
    assert values(col.a.is_not_null(), of) == values(col.s.is_not_null(), of) == [True, False]
    assert values((col.a // 0).is_null(), of) == [True, True]
    assert values(col.a.fill_null(7), of) == [1, 7]
    assert values(col.a.fill_null(0.5), of) == [1.0, 0.5]
    assert values(col.d.fill_null(col.a), of) == [1, 2]
    assert values(col.s.fill_null("none"), of) == ["x", "none"]
    assert values(lit(None).fill_null(col.a), of) == [1, None]
    constant = lit(None).cast("int64")
    assert values(constant.fill_null(constant).fill_null(7), of) == [7, 7]


def test_choice():
    of = batch(a=[1, 2, None], s=["x", "y", None], f=pa.array([0.5, 1.5, 2.5], pa.float32()))
    assert values(when(col.a > 1).then("big").otherwise("small"), of) == ["small", "big", "small"]
    assert values(when(col.a > 1).then(col.s).otherwise(None), of) == [None, "y", None]
    assert values(when(col.a > 1).then(col.a).otherwise(0), of) == [0, 2, 0]
    assert values(when(col.a.is_null()).then(col.f).otherwise(1), of) == [1.0, 1.0, 2.5]
    assert values(when(col.a > 1).then(1).otherwise(when(col.a > 0).then(2).otherwise(3)), of) == [2, 1, 3]


def test_membership_and_ranges():
    of = batch(a=[1, 2, None], s=pa.array(["x", "y", None]).dictionary_encode(), f=[0.5, float("nan"), None])
    assert values(col.a.is_in([2, 3]), of) == [False, True, None]
    assert values(col.a.is_in([2.0, 2.5]), of) == [False, True, None]
    assert values(col.a.is_in([]), of) == [False, False, None]
    assert values(col.f.is_in([float("nan"), 0.5]), of) == [True, False, None]
    assert values(col.s.is_in(["x", "z"]), of) == [True, False, None]
    many = [f"{number}" for number in range(50)]
    assert values(col.a.is_in(range(2, 90)), of) == [False, True, None]
    assert values(col.f.is_in([*map(float, many), float("nan"), 0.5]), of) == [True, False, None]
    for texts in (of, batch(s=pa.array(["x", "y", None])), batch(s=pa.array(["x", "y", None] * 20))):
        assert values(col.s.is_in([*many, "x"]), texts)[:3] == [True, False, None]
    assert values(col.a.between(2, 3), of) == [False, True, None]
    assert values(col.s.between("a", "x"), of) == [True, False, None]


def test_comparisons_of_floats_are_ieee():
    of = batch(f=[float("nan"), 1.0, -0.0])
    assert values(col.f == col.f, of) == [False, True, True]
    assert values(col.f != col.f, of) == [True, False, False]
    assert values(col.f == 0, of) == [False, False, True]


def test_literals_fill_the_column_at_the_root_only():
    of = batch(a=[1, 2])
    assert values(lit(3), of) == [3, 3]
    assert values(lit("x"), of) == ["x", "x"]
    assert values(lit(None), of) == [None, None]
    assert values(lit(1) + 2, of) == [3, 3]
    assert values(lit(1) // 0, of) == [None, None]
    assert values(lit(None) & True, of) == [None, None]
