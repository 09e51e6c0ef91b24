"""Cast values, with null in place of those that do not fit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as t

from whimbrel.batch import Column, numpy_type
from whimbrel.errors import KernelError
from whimbrel.expr.cast import as_type
from whimbrel.expr.functions_of_texts import to_integers
from whimbrel.expr.nodes import Expr
from whimbrel.expr.strings import per_distinct
from whimbrel.expr.type_predicates import is_plain, is_text
from whimbrel.expr.value import PRESENT, Bits, Scope, Value, from_arrow


@dataclass(frozen=True)
class _Noted(Scope):
    """Notes bad rows in place of an error."""

    bad: list[Bits] = field(default_factory=list)

    def refuse(self, bad: Bits, valid: Bits, expr: Expr, what: Any, hint: str = "") -> None:
        self.bad.append(bad)


def try_cast(value: Value, target: pa.DataType, scope: Scope, expr: Expr) -> Value:
    """The same values at another type; null where a cast is an error."""
    if value.fixed and (is_plain(target) or (t.is_timestamp(target) and not (t.is_date(value.type) and target.tz))):
        noted = _Noted(scope.batch, scope.counts)
        found = as_type(value, target, noted, expr)
        valid = found.valid
        for bad in noted.bad:
            valid = valid & ~bad
        return Value(found.type, found.data, valid)
    source = Value(value.type, value.arrow()) if value.fixed else value
    if is_text(value.type) and t.is_signed_integer(target) and not isinstance(value.data, pa.Scalar):
        return from_arrow(per_distinct(source, lambda texts: _integers(texts, target)))
    data = per_distinct(source, lambda array: _pieces(array, target, scope, expr))
    return Value(target, data) if not is_plain(target) and not t.is_temporal(target) else from_arrow(data)


def _integers(texts: Any, target: pa.DataType) -> Any:
    """Integers of an array of texts; null for those that are none of the type."""
    found = Column.from_arrow(to_integers(texts))
    values = found.values.astype(numpy_type(target))
    fits = found.validity() & (values == found.values)
    return Column(target, values, None if fits.all() else fits).to_arrow()


def _pieces(data: Any, target: pa.DataType, scope: Scope, expr: Expr) -> Any:
    """An Arrow column cast whole, or else in halves, until each part is cast or is one value that does not fit."""
    array = pa.repeat(data, 1) if isinstance(data, pa.Scalar) else data
    everything = Scope(scope.batch, lambda: PRESENT)

    def whole(part: Any) -> Any:
        value = from_arrow(part) if numpy_type(part.type) is not None else Value(part.type, part)
        return as_type(value, target, everything, expr).column(len(part)).to_arrow()

    def of(part: Any) -> Any:
        try:
            return whole(part)
        except KernelError:
            if len(part) == 1:
                return pa.nulls(1, target)
            middle = len(part) // 2
            return pa.concat_arrays([of(part.slice(0, middle)), of(part.slice(middle))])

    if not len(array):
        return pa.nulls(0, target)
    try:
        found = whole(array)
    except KernelError:
        if is_text(array.type) and not is_text(target) and not t.is_boolean(target):  # most that fails has no digit
            likely = pc.match_substring_regex(
                array, "^[+-]?[0-9]+$" if t.is_integer(target) else "[0-9]|(?i)inf|nan")
            array = pc.if_else(likely, array, pa.scalar(None, array.type))
        found = of(array)
    return found[0] if isinstance(data, pa.Scalar) else found
