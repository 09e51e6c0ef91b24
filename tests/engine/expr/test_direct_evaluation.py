"""Calls chosen once per schema, for columns without nulls: the same as where a null takes the way of the reference."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.expr.tables import batch, values
from whimbrel import col
from whimbrel.batch import Storage
from whimbrel.errors import KernelError
from whimbrel.expr import Expr, evaluate
from whimbrel.expr.direct_evaluation import direct_form
from whimbrel.kernels import tier

ROWS = {
    "x": pa.array([0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, 3.0]),
    "f": pa.array([0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, 0.1], pa.float32()),
    "n": pa.array([0, 1, -1, 3, 2**63 - 1, -(2**63), 12]),
    "i": pa.array([0, 1, -1, 3, 127, -128, 12], pa.int8()),
    "u": pa.array([0, 1, 2, 3, 2**64 - 1, 2**63, 12], pa.uint64()),
    "b": pa.array([True, False, True, True, False, False, True]),
    "t": pa.array([0, 1, -1, 3, 2**62, -(2**62), 12], pa.timestamp("us")),
    "o": pa.StructArray.from_arrays([pa.array([9, 0, 1, -1, 3, 2**62, 5, 12])] * 2, ["n", "t"]).slice(1),
    "l": pa.array([[9], [], [1, None], [3], [4, 5, 6], [7], [], [8]]).slice(1),
    "s": pa.array([0, 1, -1, -86_401, 951_782_399, 951_782_400, 2**31], pa.timestamp("s")),
}
DIRECT = (
    col.x.is_nan(), col.f.is_nan(), col.n.is_nan(), col.x.is_finite(), col.f.is_finite(), col.f.cbrt(), col.x.degrees(),
    col.n.is_null(), col.x.is_not_null(), col.b.is_null(), col.t.is_not_null(), col.n.is_in([3, 12]),
    col.x.is_in([0.0, 1.5, math.nan]), col.i.is_in([-128, 300]), col.u.is_in([2**63, -1]), col.b.is_in([True]),
    col.n.between(-1, 3), col.x.between(-1.0, col.f), col.n.hash(), col.x.hash(), col.n.bitwise_xor(col.i),
    ~(col.x.is_nan() | col.n.is_in([3])) & col.f.is_finite(), (col.x * 2).is_nan(), col.x.sqrt(), (col.x * 2).floor(),
    col.x.ceil(), col.n.shift_left(col.i), col.t.dt.month, col.t.dt.time, col.s.dt.year, col.s.dt.hour, col.s.dt.date,
    col.n.nullif(3), col.x.nullif(0), col.b.nullif(True), wb.when(col.n > 1).then(None).otherwise(col.x),
    col.x.nullif(7), col.n.nullif(col.i), col.x.log(), col.x.exp(), col.x.round(1), (col.x * 2).round(-1),
    col.s.dt.is_weekend, col.n.fill_null(7), col.n.fill_null(col.x), col.n.fill_null(0.5) * 2, col.x.fill_null(None),
    col.o.field("n"), col.o.field("t").between(1, col.n), col.l.list.length(), col.l.list.length() > col.i,
)
REFERENCE = (col.n.is_in([1.5]), col.n.is_in(range(20)), (col.n + 1).is_null(), wb.lit(0.5).is_nan(), col.x.log10(),
             col.f.sqrt())


@pytest.mark.parametrize("expr", (*DIRECT, *REFERENCE), ids=str)
def test_it_is_the_same_as_next_to_a_null(expr: Expr) -> None:
    plain = batch(**ROWS)
    holed = batch(**{name: pa.concat_arrays([column, pa.nulls(1, column.type)]) for name, column in ROWS.items()})
    form = direct_form(expr, plain.schema)
    assert (form is not None) == any(expr is each for each in DIRECT)
    if form is not None:
        assert form.column(holed, None) is None
        written = evaluate(expr, plain, Storage()).to_arrow()
        assert list(map(repr, written.to_pylist())) == list(map(repr, values(expr, plain)))
    assert list(map(repr, values(expr, plain))) == list(map(repr, values(expr, holed)[:-1]))


def test_a_test_of_what_overflows_names_its_row() -> None:
    with pytest.raises(KernelError, match="9223372036854775807"):
        evaluate((col.n + 1).is_in([1]), batch(**ROWS))


@pytest.mark.parametrize("unit", ("s", "us"))
def test_months_of_many_times_are_those_of_few(unit: str) -> None:
    months = np.arange("1969-10", "1971-02", dtype="datetime64[M]").astype(f"datetime64[{unit}]").astype(np.int64)
    ticks = np.concatenate([months[2:-2] + step for step in range(-20, 21)])
    of = batch(t=pa.array(ticks, pa.timestamp(unit)))
    floors = np.array([max(each for each in months if each <= tick) for tick in ticks.tolist()])
    ceils = np.array([min(each for each in months if each >= tick) for tick in ticks.tolist()])
    assert len(ticks) > 12 * 31, "else the days are searched"
    assert evaluate(col.t.dt.floor("1mo"), of).values.tolist() == floors.tolist()
    assert evaluate(col.t.dt.ceil("1mo"), of).values.tolist() == ceils.tolist()


@pytest.mark.long
def test_values_of_many_rows_are_those_of_few() -> None:
    cycle = [0.0, -0.0, math.nan, math.inf, -2.5, 7.25, None]
    of = batch(x=pa.array([cycle[row % 7] for row in range(5_000)]), y=pa.array(np.arange(5_000) - 2_500.0))
    for expr in (wb.when(col.y > col.x).then(col.x).otherwise(col.y), col.x.fill_null(-0.0), col.x.clip(-1.0, 0.0),
                 wb.greatest(col.x, col.y), col.y.nullif(3.0), col.x.sqrt(), col.y.sqrt(), (col.y / 7).round(1),
                 col.x.round(1), col.y.round(308), col.y.exp(), col.x.log(), col.y.sin(), col.y.cos()):
        with tier("primitives"):
            whole = evaluate(expr, of).to_arrow().to_pylist()
            parts = [evaluate(expr, of.slice(at, at + 1_000)).to_arrow().to_pylist() for at in range(0, 5_000, 1_000)]
        assert list(map(repr, whole)) == [repr(each) for part in parts for each in part]
