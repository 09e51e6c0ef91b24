"""Runs the scalar text of an expression row by row, as a kernel's loop would."""

from __future__ import annotations

import numpy as np

from whimbrel.batch import Batch, Column
from whimbrel.expr import SCALARS, Expr, evaluate, to_source


class Bindings:
    """Arrays for the columns and for the parts that are evaluated beforehand."""

    def __init__(self, of: Batch) -> None:
        self.of = of
        self.names: dict[str, str] = {}
        self.arrays: dict[str, np.ndarray] = {}

    def __call__(self, part: Expr) -> tuple[str, str | None]:
        number = self.names.setdefault(part.show(), str(len(self.names)))
        column = evaluate(part, self.of)
        self.arrays[f"c{number}"] = column.values
        if column.valid is None:
            return f"c{number}[i]", None
        self.arrays[f"v{number}"] = column.valid
        return f"c{number}[i]", f"v{number}[i]"


def loop_source(expr: Expr, of: Batch, dtype: np.dtype) -> tuple[str, dict[str, np.ndarray]]:
    """A function ``loop(rows, c0, v0, ...)`` that answers with values and validity, and its arrays."""
    bind = Bindings(of)
    value, valid = to_source(expr, of.schema, bind)
    return "\n".join([
        f"def loop(rows, {', '.join(bind.arrays)}):",
        f"    values, valid = np.zeros(rows, np.{dtype.name}), np.zeros(rows, np.bool_)",
        "    for i in range(rows):",
        f"        valid[i] = {valid or 'True'}",
        "        if valid[i]:",
        f"            values[i] = {value}",
        "    return values, valid",
    ]), bind.arrays


def interpreted(expr: Expr, of: Batch, column: Column) -> Column:
    """The expression over the batch, by its text; `column` tells the type."""
    text, arrays = loop_source(expr, of, column.values.dtype)
    names = {"np": np, **SCALARS}
    exec(text, names)
    with np.errstate(all="ignore"):
        values, valid = names["loop"](len(of), *arrays.values())
    return Column(column.type, values, valid)


def same(one: Column, other: Column) -> bool:
    """Equal types, nulls and bits; one nan is like another."""
    here = one.validity()
    if one.type != other.type or not np.array_equal(here, other.validity()):
        return False
    a, b = one.values[here], other.values[here]
    if a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(_negative(a), _negative(b))


def _negative(floats: np.ndarray) -> np.ndarray:
    return np.signbit(floats) & ~np.isnan(floats)
