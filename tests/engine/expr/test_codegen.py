from __future__ import annotations

import operator
import re
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.expr.rowloop import interpreted, loop_source, same
from tests.engine.expr.tables import batch
from whimbrel.batch import Column
from whimbrel.errors import KernelError
from whimbrel.expr import (
    SCALARS,
    col,
    evaluate,
    greatest,
    inlinable,
    least,
    lit,
    predicate,
    predicate_source,
    to_source,
    when,
)
from whimbrel.expr.null_rejection import rejects_null
from whimbrel.expr.overflow import can_overflow
from whimbrel.kernels.compile import load_text, tier

INT_MAX, INT_MIN = 2**63 - 1, -(2**63)
ints = st.one_of(st.sampled_from([INT_MIN, INT_MAX, -1, 0, 1, 2]), st.integers(-100, 100))
floats = st.one_of(st.sampled_from([0.0, -0.0, float("inf"), float("nan"), 1e300, 0.1]), st.floats(-100, 100))
singles = st.floats(width=32)


def nullable(kind):
    return st.one_of(st.none(), kind)


rows = st.lists(st.fixed_dictionaries({
    "i": nullable(ints), "j": ints, "k": nullable(st.integers(-128, 127)), "u": st.integers(0, 2**63 - 1),
    "x": nullable(floats), "y": floats, "f": nullable(singles), "g": singles,
    "p": nullable(st.booleans()), "q": st.booleans(), "s": nullable(st.sampled_from(["a", "b", ""])),
    "t": nullable(st.integers(-10**6, 10**6)), "d": nullable(st.integers(-10**6, 10**6)),
}), min_size=1, max_size=4)
TYPES = {"i": pa.int64(), "j": pa.int64(), "k": pa.int8(), "u": pa.uint64(), "x": pa.float64(), "y": pa.float64(),
         "f": pa.float32(), "g": pa.float32(), "p": pa.bool_(), "q": pa.bool_(), "s": pa.string(),
         "t": pa.timestamp("s"), "d": pa.duration("ms")}


def as_batch(items):
    return batch(**{name: pa.array([item[name] for item in items], type_) for name, type_ in TYPES.items()})


BINARY = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
    "//": lambda a, b: a // b, "%": lambda a, b: a % b,
}
COMPARE = [lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a < b, lambda a, b: a >= b]
MOMENT = datetime(1970, 1, 3)

numbers = st.deferred(lambda: st.one_of(
    st.sampled_from([col.i, col.j, col.k, col.u, col.x, col.y, col.f, col.g]),
    st.sampled_from([col.s.str.length(), col.t.dt.hour, col.d // timedelta(seconds=1), col.y.exp()]),
    st.one_of(ints, floats).map(lit),
    st.builds(lambda op, a, b: BINARY[op](a, b), st.sampled_from(list(BINARY)), numbers, numbers),
    st.builds(lambda a, b: a - b, numbers, ints),
    st.builds(lambda a, b: a % b, numbers, ints),
    st.builds(lambda f, a: f(a), st.sampled_from([
        lambda a: -a, abs, lambda a: a.sqrt(), lambda a: a.floor(), lambda a: a.ceil(), lambda a: a.round(),
        lambda a: a.round(1), lambda a: a**2, lambda a: a.cast("float32"), lambda a: a.cast("int64"),
        lambda a: a.cast("int16"), lambda a: a.exp(), lambda a: a.log(), lambda a: a.sin(), lambda a: a.cos(),
        lambda a: a.sign(), lambda a: a**3, lambda a: a**4, lambda a: a**0.5, lambda a: a**-1.5, lambda a: 2**a,
    ]), numbers),
    st.builds(lambda f, a: f(*a), st.sampled_from([greatest, least]), st.lists(numbers, min_size=1, max_size=3)),
    st.builds(lambda a, b: a**b, numbers, numbers),
    st.builds(lambda a, b: a.fill_null(b), numbers, numbers),
    st.builds(lambda c, a, b: when(c).then(a).otherwise(b), conditions, numbers, numbers),
))
times = st.one_of(
    st.sampled_from([col.t, col.t + col.d, col.t - timedelta(milliseconds=1)]),
    st.builds(lambda n: MOMENT - (lit(MOMENT) - col.t) * n, st.integers(-3, 3)),
)
conditions = st.deferred(lambda: st.one_of(
    st.sampled_from([col.p, col.q, col.i.is_null(), col.x.is_not_null(), col.s == "a", (col.i // col.j).is_null()]),
    st.sampled_from([True, False, None]).map(lit),
    st.builds(lambda f, a, b: f(a, b), st.sampled_from(COMPARE), numbers, numbers),
    st.builds(lambda f, a, b: f(a, b), st.sampled_from(COMPARE), times, times),
    st.builds(lambda f, a, b: f(a, b), st.sampled_from(COMPARE), conditions, st.sampled_from([col.p, lit(True)])),
    st.builds(lambda a, b: a & b, conditions, conditions),
    st.builds(lambda a, b: a | b, conditions, conditions),
    st.builds(lambda a, b: a ^ b, conditions, conditions),
    st.builds(lambda a: ~a, conditions),
    st.builds(lambda a, b, c: a.between(b, c), numbers, ints, numbers),
    st.builds(lambda a, b: a.is_in(b), numbers, st.lists(st.one_of(ints, floats), max_size=3)),
    st.builds(lambda a, b: a.fill_null(b), conditions, conditions),
))


@settings(max_examples=300, deadline=None)
@given(expr=st.one_of(numbers, conditions, times), items=rows)
def test_row_by_row_is_as_evaluated(expr, items):
    of = as_batch(items)
    try:
        column = evaluate(expr, of)
    except KernelError:
        # Generated text reads only what it needs, so it may miss a part that overflows if the other part is null.
        return
    if column.fixed:
        assert same(interpreted(expr, of, column), column)


@settings(max_examples=150, deadline=None)
@given(expr=conditions, items=rows)
def test_predicates_row_by_row(expr, items):
    of = as_batch(items)
    try:
        expected = predicate(expr, of)
    except KernelError:
        return
    column = evaluate(when(expr).then(True).otherwise(False), of)
    assert same(interpreted(when(expr).then(True).otherwise(False), of, column), column)
    assert column.values.tolist() == expected.tolist()


@settings(max_examples=150, deadline=None)
@given(condition=conditions, items=rows)
def test_a_true_condition_has_values_in_the_columns_whose_nulls_it_rejects(condition, items):
    of = as_batch(items)
    try:
        true = predicate(condition, of)
    except KernelError:
        return
    for name in rejects_null(condition):
        assert of.column(name).validity()[true].all()


@pytest.mark.parametrize(("condition", "rejected"), [
    (col.a > col.b + 1, "ab"), ((col.a > 0) & (col.b > 0), "ab"), ((col.a > 0) | (col.b > 0), ""),
    (col.a.is_not_null() & ~(col.b == 0), "ab"), (col.a.is_null(), ""), (col.a.fill_null(1) > 0, ""),
    (col.a.between(1, col.b), "ab"), ((col.p & col.q) == True, ""), (col.a.cast(float).sqrt() > 1, "a"),  # noqa: E712
], ids=repr)
def test_columns_whose_nulls_a_condition_rejects(condition, rejected):
    assert rejects_null(condition) == frozenset(rejected)


@settings(max_examples=300, deadline=None)
@given(expr=st.one_of(numbers, conditions, times))
def test_only_what_can_overflow_calls_a_function_that_raises(expr):
    schema = as_batch([dict.fromkeys(TYPES)]).schema
    if inlinable(expr, schema) and not can_overflow(expr, schema):
        value, _ = to_source(expr, schema, lambda part: (part.name, f"has_{part.name}"))
        # Times in two units are divided by a constant, which is not -1.
        assert not re.search(r"\b(checked_\w+|floor_div|int_power|whole|within)\((?!.*\b1000+\))", value)


@pytest.mark.parametrize("expr", (
    col.j + 1, col.j - 2, col.j * 2, -col.j, abs(col.j), col.j // -1, col.j.cast("int8"), col.y.cast("int64"), col.j**2,
    col.u + 0,
), ids=repr)
def test_text_refuses_what_evaluation_refuses(expr):
    item = {"i": 1, "j": INT_MIN, "k": 1, "u": 2**64 - 1, "x": 1.0, "y": float("nan"), "f": 1.0, "g": 1.0, "p": True,
            "q": True, "s": "a", "t": 1, "d": 1}
    of = as_batch([item, {**item, "j": INT_MAX}])
    with pytest.raises(KernelError, match="integer overflow"):
        evaluate(expr, of)
    good = evaluate(expr, as_batch([{**item, "j": 1, "u": 1, "y": 1.0}]))
    with pytest.raises(OverflowError, match="integer overflow"):
        interpreted(expr, of, good)


COMPILED = [
    (col.i * 3 + col.k) // col.j,
    (col.x / col.y > 0.5) & ~(col.p | (col.i < col.u)),
    when(col.p).then(col.f * 0.1).otherwise(col.g.sqrt()),
    (col.x % -3.0 + col.y // 0.7).fill_null(col.j).round(1),
    col.i.is_in([1, 2, 5]) ^ (col.t + timedelta(milliseconds=5) >= MOMENT),
    (col.f // col.g).abs().cast("float32") + col.f.floor() % 2,
    col.i.between(-5, col.k) | (col.s == "a"),
    when(col.i > 10**6).then(col.i * col.i).otherwise(None) - abs(-col.j),
    greatest(col.x, col.i, col.f) + least(col.x, 0.5).sign(),
    (col.x.exp() + col.y.sin()) * col.f.cos(),
    (col.i**3 + col.k.sign()) * col.y**3 + abs(col.x) ** -1.5,
    (col.f**0.5).fill_null(0.0) + col.f.exp() ** col.g,
]


@pytest.mark.share(3)
@pytest.mark.slow
@pytest.mark.parametrize("expr", COMPILED, ids=repr)
def test_compiled_is_as_evaluated(expr):
    rng = np.random.default_rng(7)
    items = [
        {"i": nothing(rng, int(rng.integers(-9, 9))), "j": int(rng.integers(-3, 3)), "k": int(rng.integers(-9, 9)),
         "u": int(rng.integers(0, 9)), "x": nothing(rng, float(rng.normal())), "y": float(rng.integers(-2, 3)),
         "f": nothing(rng, float(rng.normal())), "g": float(rng.integers(-2, 3)),
         "p": nothing(rng, bool(rng.integers(2))), "q": True, "s": nothing(rng, "ab"[rng.integers(2)]),
         "t": nothing(rng, int(rng.integers(0, 400_000))), "d": 1}
        for _ in range(200)
    ]
    of = as_batch(items)
    column = evaluate(expr, of)
    text, arrays = loop_source(expr, of, column.values.dtype)
    imports = f"import numpy as np\nfrom whimbrel.expr.scalar_functions import {', '.join(SCALARS)}\n"
    with tier("fused"):
        found, valid = load_text(imports + text, "loop", {})(len(of), *arrays.values())
    assert same(Column(column.type, found, valid), column)


def nothing(rng, value):
    return None if rng.integers(4) == 0 else value


def test_text_reads_like_python():
    of = as_batch([{**dict.fromkeys(TYPES), "j": 1, "y": 1.0, "q": True}])

    def bind(part):
        return part.name, f"has_{part.name}" if part.name in "ixfpstd" else None

    assert to_source(col.i + col.j, of.schema, bind) == ("checked_add(i, j)", "has_i")
    assert to_source(col.x / 2 > col.y, of.schema, bind) == ("((x / np.float64(2.0)) > y)", "has_x")
    assert to_source(col.f * 0.5, of.schema, bind) == ("(f * np.float32(0.5))", "has_f")
    assert to_source(col.q & (col.j > 3), of.schema, bind) == ("(q & (j > 3))", None)
    assert to_source(col.i.fill_null(0), of.schema, bind) == ("(i if has_i else 0)", None)
    assert predicate_source(col.i > 3, of.schema, bind) == "(has_i and (i > 3))"
    assert predicate_source(col.p & col.q, of.schema, bind) == (
        "(truth_and(((1 if p else 0) if has_p else 2), (1 if q else 0)) == 1)")


def test_what_can_be_written_out():
    schema = as_batch([dict.fromkeys(TYPES)]).schema
    for expr in (col.i + 1, col.t > "2013-01-01", when(col.p).then(col.x).otherwise(0), col.i**2, lit(3),
                 col.x.log(), col.i**3, col.x**2, col.x**-0.5, 2**col.x, col.f.sin(), col.k.sign(),
                 least(col.x, col.i, 3), greatest(col.t, col.t)):
        assert inlinable(expr, schema)
    for expr in (col.s, col.s == "a", col.s.str.length() + 1, col.t.dt.hour, greatest(col.s, 'b')):
        assert not inlinable(expr, schema)


def test_a_branch_that_must_be_evaluated_beforehand_and_can_fail_is_not_split():
    of = as_batch([{**dict.fromkeys(TYPES), "j": INT_MAX}])
    expr = when(col.j < 10).then((col.j + 1).log()).otherwise(0.0)
    column = evaluate(expr, of)
    assert same(interpreted(expr, of, column), column)


OUT_OF_RANGE = [2**63, 2**64 - 1, -1, -(2**63), 300, -200, 0, 2**63 - 1]


@pytest.mark.parametrize("type_", [pa.int8(), pa.int64(), pa.uint8(), pa.uint64()])
@pytest.mark.parametrize("literal", OUT_OF_RANGE)
def test_integers_that_no_column_can_hold_are_compared_as_they_are(type_, literal):
    limits = np.iinfo(type_.to_pandas_dtype())
    held = [int(limits.min), 0, int(limits.max), None]
    of = batch(x=pa.array(held, type_))
    for op in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
        for expr, expected in ((op(col.x, literal), [None if x is None else op(x, literal) for x in held]),
                               (op(lit(literal), col.x), [None if x is None else op(literal, x) for x in held])):
            column = evaluate(expr, of)
            assert column.to_arrow().to_pylist() == expected, expr.show()
            assert same(column, interpreted(expr, of, column))
    expr = col.x.is_in([literal, 0])
    column = evaluate(expr, of)
    assert column.to_arrow().to_pylist() == [None if x is None else x in (literal, 0) for x in held]
    assert same(column, interpreted(expr, of, column))


@pytest.mark.parametrize("type_", [pa.int8(), pa.int64(), pa.uint64()])
def test_columns_of_which_none_holds_the_other_are_compared_as_they_are(type_):
    limits = np.iinfo(type_.to_pandas_dtype())
    pairs = [(x, y) for x in (0, 5, 2**63 - 1, 2**63, 2**64 - 1, None)
             for y in (int(limits.min), 0, 5, int(limits.max), None)]
    of = batch(u=pa.array([x for x, _ in pairs], pa.uint64()), i=pa.array([y for _, y in pairs], type_))
    for op in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
        for expr, expected in ((op(col.u, col.i), [None if None in pair else op(*pair) for pair in pairs]),
                               (op(col.i, col.u), [None if None in pair else op(*reversed(pair)) for pair in pairs])):
            column = evaluate(expr, of)
            assert column.to_arrow().to_pylist() == expected, expr.show()
            assert same(column, interpreted(expr, of, column))
