"""Functions of lists of the table, each against plain Python and Polars."""

from __future__ import annotations

import math

import polars as pl
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.expr.tables import batch, values
from whimbrel import col
from whimbrel.errors import ExpressionError, PlanError, WhimbrelError
from whimbrel.expr.functions_of_lists import _integer_sums
from whimbrel.kernels import tier

LISTS = [[3, 1, None, 3], [], None, [None], [-5], [2**62, 2**62], [7, 7, 8]]
FLOATS = [[1.5, math.nan, -0.5], [], None, [None, math.inf], [2.0]]
WORDS = [["b", "a"], [], None, ["ä", None, "b"], ["x"]]


def kept(items: list) -> list:
    return [item for item in items if item is not None]


@pytest.mark.parametrize("take", (lambda x: x, lambda x: pa.concat_arrays([x.slice(2, 3), x]).slice(3)))
@pytest.mark.parametrize("name", ("list", "large_list"))
def test_functions_are_those_of_python(take, name) -> None:
    kind = pa.list_ if name == "list" else pa.large_list
    of = batch(x=take(pa.array(LISTS, kind(pa.int64()))))
    x = col.x.list
    for expr, plain in (
            (x.length(), len), (x.get(0), lambda v: v[0] if v else None),
            (x.get(-2), lambda v: v[-2] if v[1:] else None),
            (x.slice(1), lambda v: v[1:]), (x.slice(-2, 3), lambda v: v[-2:3]), (x.slice(0, -1), lambda v: v[:-1]),
            (x.contains(3), lambda v: 3 in v), (x.sum(), lambda v: sum(kept(v)) if sum(kept(v)) < 2**63 else None),
            (x.mean(), lambda v: sum(kept(v)) / len(kept(v)) if kept(v) else None),
            (x.min(), lambda v: min(kept(v), default=None)), (x.max(), lambda v: max(kept(v), default=None)),
            (x.sort(), lambda v: sorted(kept(v)) + [None] * (len(v) - len(kept(v)))),
            (x.sort(descending=True), lambda v: sorted(kept(v))[::-1] + [None] * (len(v) - len(kept(v)))),
            (x.unique(), lambda v: list(dict.fromkeys(v)))):
        assert values(expr, of) == [None if each is None else plain(each) for each in LISTS], expr


@pytest.mark.parametrize("lists", (
    pa.array([[9, 9, 9], [3, 1, 3], None, [2, None, 1]], pa.list_(pa.int64(), 3)).slice(1),
    pa.array([[1.5, -0.5], None], pa.list_(pa.float32(), 2)), pa.array([["b", "a"], None], pa.list_(pa.string(), 2)),
    pa.array([[], None], pa.list_(pa.int64(), 0))), ids=lambda lists: str(lists.type))
def test_lists_of_a_fixed_size_are_as_other_lists(lists) -> None:
    x, words = col.x.list, lists.type.value_type == pa.string()
    of, other = batch(x=lists), batch(x=lists.cast(pa.list_(lists.type.value_field)))
    for expr in (x.length(), x.get(-1), x.slice(0, 1), x.slice(2), x.sort(descending=True), x.unique(), x.min(),
                 x.max(), *((x.join("-"), x.contains("a")) if words else (x.sum(), x.mean(), x.contains(1)))):
        assert values(expr, of) == values(expr, other), expr
    log = wb.from_arrow(pa.table({"at": range(len(lists)), "x": lists}), time="at")
    assert wb.sql("SELECT x[1] AS y FROM log", log=log).collect()["y"].to_pylist() == values(x.get(0), of)


@pytest.mark.parametrize("index", (pa.int8(), pa.int64(), pa.uint64()), ids=str)
def test_each_row_has_its_own_index(index: pa.DataType) -> None:
    unsigned = index == pa.uint64()
    far = 2**64 - 1 if unsigned else 127
    given = [0, 1, 3, None, far if unsigned else -1, 0 if unsigned else -3, 2]
    of = batch(x=pa.array(LISTS), i=pa.array(given, index))
    pairs = list(zip(LISTS, given, strict=True))

    def item(row: list, i: int) -> int | None:
        return row[i] if -len(row) <= i < len(row) else None

    def each(plain) -> list:
        return [None if row is None or i is None else plain(row, i) for row, i in pairs]

    x, i = col.x.list, col.i
    for expr, expected in (
            (x.get(i), each(item)), (x.slice(i), each(lambda row, i: row[i:])),
            (x.slice(0, i), each(lambda row, i: row[:i])), (x.slice(i, -1), each(lambda row, i: row[i:-1])),
            (x.slice(i, i), each(lambda row, i: row[i:i])), (x.get(wb.lit(far).cast(str(index))), [None] * len(LISTS)),
            (x.get(2**70), [None] * len(LISTS)), (x.slice(-2**70), LISTS)):
        assert values(expr, of) == expected, expr


def test_floats_and_words() -> None:
    of = batch(f=FLOATS, s=WORDS)
    assert values(col.f.list.min(), of) == [-0.5, None, None, math.inf, 2.0]
    assert math.isnan(values(col.f.list.max(), of)[0])
    assert values(col.f.list.sum(), of)[1:] == pl.Series(FLOATS).list.sum().to_list()[1:]
    assert values(col.s.list.join("-"), of) == pl.Series(WORDS).list.join("-", ignore_nulls=False).to_list()
    assert values(col.s.list.max(), of) == ["b", None, None, "ä", "x"]
    assert values(col.s.list.contains("b"), of) == [True, False, None, True, False]
    assert values(col.s.list.sort().list.get(0), of) == ["a", None, None, "b", "x"]


@pytest.mark.parametrize(("build", "message"), (
    (col.n.list.length, "list.length takes a list, not int64"), (col.s.list.sum, "a list of numbers"),
    (lambda: col.x.list.join("-"), "a list of strings"), (lambda: col.x.list.contains("a"), "cannot contain string"),
    (lambda: col.x.list.get("a"), "needs a whole number"), (lambda: col.x.list.get(col.s), "takes an index, not list"),
    (lambda: col.x.list.slice(col.n / 2), "takes an index, not double"),
    (lambda: col.x.list.join(1), "needs one string"),
))
def test_what_does_not_fit_is_refused_before_any_row(build, message) -> None:
    with pytest.raises(ExpressionError, match=message):
        values(build(), batch(x=pa.array([], pa.list_(pa.int64())), n=pa.array([], pa.int64()),
                              s=pa.array([], pa.list_(pa.string()))))


@pytest.mark.parametrize(("kind", "rows"), [
    (pa.uint64(), [[2**63], [2**63 - 1], [2**64 - 1, None], [2**62, 2**62 - 1], [2**63 - 1, 1], [None], []]),
    (pa.int64(), [[2**63 - 1, 1], [-2**63, -1], [-2**63], [2**63 - 1, 5, -5], [-2**62, -2**62], [2**62, 2**62]]),
], ids=str)
def test_a_sum_beyond_int64_is_null(kind: pa.DataType, rows: list) -> None:
    exact = [sum(kept(row)) for row in rows]
    expected = [each if -2**63 <= each < 2**63 else None for each in exact]
    lists = pa.array(rows, pa.list_(kind))
    assert values(col.x.list.sum(), batch(x=lists)) == expected
    sums, fits = _integer_sums(lists)
    assert [int(each) if fit else None for each, fit in zip(sums, fits, strict=True)] == expected


@pytest.mark.parametrize("rows", (
    pa.array([[0.0, -0.0, math.nan, None, math.nan, 0.0], [None, None], None, [], [1.5] * 3],
             pa.large_list(pa.float64())),
    pa.array([list(range(40)) * 2, [None, 5] * 20, [7], None, list(range(99, 0, -1))], pa.list_(pa.int64())),
    pa.array([["b", "a", "b", None], ["b"] * 30 + ["a", None, None], None], pa.list_(pa.string())),
), ids=lambda rows: str(rows.type))
def test_compiled_loops_find_what_numpy_finds(rows: pa.Array) -> None:
    x = col.x.list
    for of in (batch(x=rows), batch(x=pa.concat_arrays([rows, rows]).slice(1, len(rows)))):
        for expr in (x.unique(), x.length(), x.get(1), x.get(-2), x.get(wb.lit(None).cast("int64"))):
            with tier("interpreted"):
                plain = values(expr, of)
            with tier("primitives"):
                assert list(map(repr, values(expr, of))) == list(map(repr, plain)), expr


def test_lists_stand_in_queries_and_in_sql() -> None:
    log = wb.from_arrow({"at": [0, 1, 2], "x": [1, 2, 5]}, time="at")
    lists = log.tumbling_window(2).aggregate(v=wb.collect(wb.col.x))
    assert lists.select(n=col.v.list.sum()).collect()["n"].to_pylist() == [3, 5]
    assert lists.where(col.v.list.contains(5)).select(n=col.v.list.length()).collect()["n"].to_pylist() == [1]
    text = "SELECT list_sum(v) AS s, list_max(v) AS m, list_contains(v, 2) AS c FROM lists"
    rows = wb.sql(text, lists=lists).collect()
    assert [rows[name].to_pylist() for name in "smc"] == [[3, 5], [2, 5], [True, False]]
    with pytest.raises(WhimbrelError):
        wb.sql("SELECT list_sum(n) AS s FROM log", log=log.select(n=col.x))
    for text in ("col.x.list.slice(1)", "col.x.list.slice(col.i, -1)", "col.x.list.get(col.i)",
                 "col.x.list.sort(descending=True)", "col.x.list.contains(3)",
                 "col.x.list.unique()"):
        assert repr(eval(text)) == text


@pytest.mark.parametrize(("arguments", "message"), (
    ((lambda row: [row.x], "v"), "needs the name of a column first"), ((col.x,), "needs the name of a column first"),
))
def test_explode_says_what_it_takes(arguments, message) -> None:
    with pytest.raises(PlanError, match=message):
        wb.from_arrow({"at": [0], "x": [1]}, time="at").explode(*arguments)


@pytest.mark.parametrize("items", (pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64()), ids=str)
def test_lists_of_numbers_contain_numbers_of_other_types(items: pa.DataType) -> None:
    rows = [[1, 3, 44], [], None, [None, 3], [127]]
    of = batch(v=pa.array(rows, pa.list_(items)), n=pa.array([3, 3, 3, None, -129], pa.int64()),
               x=pa.array([3.0, 3.5, 3.0, math.nan, 127.0]))
    for value in (3, 3.0, 300, 44.5, -1, 2**40):
        expected = [None if row is None else value in row for row in rows]
        assert values(col.v.list.contains(value), of) == expected, value
    assert values(col.v.list.contains(col.n), of) == [True, False, None, None, False]
    assert values(col.v.list.contains(col.x), of) == [True, False, None, False, True]


def test_a_number_rounds_to_the_floats_of_a_list() -> None:
    of = batch(v=pa.array([[0.1]], pa.list_(pa.float32())))
    assert values(col.v.list.contains(0.1), of) == [True]
    top = batch(v=pa.array([[2**64 - 1]], pa.list_(pa.uint64())))
    assert values(col.v.list.contains(-1), top) == [False]


def test_zeros_of_both_signs_are_one_item() -> None:
    """As in ``count_distinct``; the first one stays as it is. Long lists are looked up in a table."""
    for lists in ([[0.0, -0.0, 1.0, None], [-0.0, 0.0]], [[-0.0, *map(float, range(30)), -0.0]]):
        for type_ in ("double", "float"):
            log = wb.from_arrow({"at": [*range(len(lists))], "x": pa.array(lists, pa.list_(pa.type_for_alias(type_)))},
                                time="at")
            found = log.select(y=col.x.list.unique()).collect()["y"].to_pylist()
            assert repr(found) == repr([[*dict.fromkeys(each)] for each in lists])
