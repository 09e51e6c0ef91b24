"""Evaluate columns without nulls by NumPy calls chosen once per schema.

:mod:`whimbrel.expr.evaluate` finds types, nulls and literals at each part of an expression, for each batch. In a batch
of few rows that takes far longer than the arithmetic. Most expressions are arithmetic, comparisons, logic and tests of
numbers without nulls: their calls depend on the schema only. Numbers may be fields of structs, or lengths of lists.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from whimbrel.batch import Batch, Column, Mask, Schema, Storage, numpy_type
from whimbrel.batch.fixed_width import PLAIN_TYPES
from whimbrel.errors import WhimbrelError
from whimbrel.expr import checked_integers as ints
from whimbrel.expr.function_table import FUNCTION_TABLE
from whimbrel.expr.list_reductions import lengths_of
from whimbrel.expr.literals import literal_type
from whimbrel.expr.nodes import Binary, Call, Col, Expr, Lit, Unary, When
from whimbrel.expr.number_loops import C_FUNCTIONS, of_floats, rounded
from whimbrel.expr.type_predicates import is_number
from whimbrel.expr.types import (
    BOOL,
    COMPARISONS,
    INT,
    LOGIC,
    binary_types,
    call_type,
    choices,
    common_type,
    in_range,
    in_type,
    type_of,
    unary_type,
)
from whimbrel.expr.value import from_scalar

Array = np.ndarray[Any, Any]
Arrays = Sequence[Array]

_COMPARE: dict[str, np.ufunc] = {"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal,
                                 ">": np.greater, ">=": np.greater_equal}
_LOGIC: dict[str, np.ufunc] = {"&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}
_FLOATS: dict[str, np.ufunc] = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide}
_WHOLE: dict[str, np.ufunc] = {"floor": np.floor, "ceil": np.ceil}
FEW_CHOICES: Final = 8
"""Choices of ``is_in`` that are compared one by one; more are sorted first."""
_INTEGERS = {"+": ints.add, "-": ints.subtract, "*": ints.multiply}


class _NotDirectError(Exception):
    """A part needs more than the calls chosen here, or an integer leaves int64, which names its row elsewhere."""


@dataclass(frozen=True, slots=True)
class DirectForm:
    """The calls for one expression and one schema.

    Parameters
    ----------
    type : pyarrow.DataType
        Of the result.
    leaves : tuple of (int, numpy.dtype or type)
        The columns that it reads: their positions, and the types of the elements of their arrays, or, of columns that
        Arrow holds, of the arrays themselves.
    part : callable
        From the arrays of these columns to the result.
    into : callable, optional
        The same as `part`, but the last call writes into an array, which is the second argument.
    never_warns : bool
        Whether NumPy says nothing of infinities and NaN in these calls: then nobody need silence it.
    valid : callable, optional
        From the arrays of the columns to the rows in which the result is not null. None: in all.
    """

    type: pa.DataType
    leaves: tuple[tuple[int, Any], ...]
    part: Callable[[Arrays], Any]
    into: Callable[[Arrays, Array], Any] | None
    never_warns: bool
    valid: Callable[[Arrays], Any] | None = None

    def column(self, batch: Batch, storage: Storage | None) -> Column | None:
        """The result for every row; None where a column has nulls, or a row may be refused."""
        arrays = []
        for position, dtype in self.leaves:
            column = batch.columns[position]
            values = column.values
            if type(values) is np.ndarray:
                if column.valid is not None or values.dtype != dtype:
                    return None
            elif type(values) is not dtype or values.null_count:  # type: ignore[union-attr]
                return None
            arrays.append(values)
        try:
            if self.never_warns:
                made, valid = self._made(arrays, storage)
            else:
                with np.errstate(all="ignore"):  # infinities and NaN are results
                    made, valid = self._made(arrays, storage)
        except _NotDirectError:
            return None
        if valid is None and made is values and self.type == column.type:  # the last column as it is
            return column
        made.setflags(write=False)
        return Column(self.type, made, valid)

    def _made(self, arrays: list[Array], storage: Storage | None) -> tuple[Any, Mask | None]:
        """The values, and where there are any."""
        if self.valid is not None:
            valid = self.valid(arrays)
            return self.part(arrays), None if valid.all() else valid
        if storage is None or self.into is None:
            return self.part(arrays), None
        return self.into(arrays, storage.empty(len(arrays[0]), np.dtype(numpy_type(self.type)))), None


def direct_form(expr: Expr, schema: Schema) -> DirectForm | None:
    """The calls for an expression over a schema; None where it needs more than these. Found once for each schema.

    Examples
    --------
    >>> import numpy as np
    >>> from whimbrel.batch import Field
    >>> from whimbrel.expr import col
    >>> schema = Schema((Field("x", pa.float64()),))
    >>> form = direct_form(2 * col.x > 3, schema)
    >>> x = Column(pa.float64(), np.array([1.0, 2.0]))
    >>> form.column(Batch(schema, np.arange(2), 1, (x,)), None).values.tolist()
    [False, True]
    """
    over, known = expr.__dict__.get("_direct", (None, None))
    if over is not schema:
        try:
            known = _Calls(schema).form(expr)
        except (_NotDirectError, WhimbrelError):  # the reference says what is wrong
            known = None
        expr.__dict__["_direct"] = schema, known
    form: DirectForm | None = known
    return form


@dataclass(frozen=True, slots=True)
class _Part:
    """A part with its type, and what gives its values: a constant, or a function of the arrays."""

    type: pa.DataType
    value: Callable[[Arrays], Any]
    constant: bool = False
    never_warns: bool = True
    into: Callable[[Arrays, Array], Any] | None = None


class _Calls:
    """Chooses the calls, part by part, by the rules of types of the reference."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.leaves: list[int] = []

    def form(self, expr: Expr) -> DirectForm:
        valid = None
        if type(expr) is When and type(expr.then) is Lit and expr.then.value is None:  # nullif
            there = _otherwise(expr.condition)
            null, whole = self._part(expr.condition if there is None else there), self._part(expr.otherwise)
            if null.constant or null.type != BOOL or whole.constant:
                raise _NotDirectError
            valid = null.value if there is not None else lambda arrays: ~null.value(arrays)
        elif type(expr) in (Binary, Unary, Call):
            whole = self._part(expr)
        else:
            raise _NotDirectError
        leaves = tuple((at, _held_in(self.schema.fields[at].type)) for at in self.leaves)
        if valid is None:
            return DirectForm(whole.type, leaves, whole.value, whole.into, whole.never_warns)
        return DirectForm(whole.type, leaves, whole.value, None, whole.never_warns and null.never_warns, valid)

    def _part(self, expr: Expr) -> _Part:
        if type(expr) is Col:
            return self._leaf(expr.name)
        if type(expr) is Lit:
            return _Part(literal_type(expr.value), _no_value, constant=True)  # its value depends on what it meets
        if type(expr) is Binary:
            return self._binary(expr)
        if type(expr) is Unary:
            return self._unary(expr)
        if type(expr) is Call:
            return self._call(expr)
        raise _NotDirectError

    def _leaf(self, name: str) -> _Part:
        at = self.schema.index(name)
        type_ = self.schema.fields[at].type
        if numpy_type(type_) is None:
            raise _NotDirectError
        return _Part(type_, self._array(at))

    def _array(self, at: int) -> Callable[[Arrays], Any]:
        """The array of a column."""
        if at not in self.leaves:
            self.leaves.append(at)
        return operator.itemgetter(self.leaves.index(at))

    def _of_nested(self, expr: Call) -> _Part:
        """A field of a column of structs, or the lengths of a column of lists: both are in a buffer of Arrow."""
        if type(expr.args[0]) is not Col:
            raise _NotDirectError
        at = self.schema.index(expr.args[0].name)
        type_ = self.schema.fields[at].type
        result = call_type(expr, [(expr.args[0], type_)])
        if _held_in(type_) is None:
            raise _NotDirectError
        if expr.function == "list.length":
            array = self._array(at)
            return _Part(result, lambda arrays: lengths_of(array(arrays)),
                         into=lambda arrays, out: lengths_of(array(arrays), out))
        place, dtype = type_.get_field_index(expr.options[0]), PLAIN_TYPES.get(result.id)
        if place < 0 or dtype is None or type_.field(place).type != result:
            raise _NotDirectError
        array = self._array(at)
        return _Part(result, lambda arrays: _plain_field(array(arrays), place, dtype))

    def _unary(self, expr: Unary) -> _Part:
        x = self._part(expr.x)
        type_ = unary_type(expr, expr.op, x.type)
        call = np.invert if expr.op == "~" else np.negative
        if x.constant or x.type != type_ or not (t.is_boolean(type_) if call is np.invert else t.is_floating(type_)):
            raise _NotDirectError
        return _Part(type_, lambda arrays: call(x.value(arrays)), never_warns=x.never_warns)

    def _call(self, expr: Call) -> _Part:
        if expr.function == "between":
            x, low, high = expr.args
            return self._part(Binary("&", Binary(">=", x, low), Binary("<=", x, high)))
        if expr.function in ("is_null", "is_not_null") and type(expr.args[0]) is Col:
            same = np.zeros if expr.function == "is_null" else np.ones
            column = self._leaf(expr.args[0].name)
            return _Part(BOOL, lambda arrays: same(len(column.value(arrays)), np.bool_))
        if expr.function == "fill_null" and type(expr.args[0]) is Col:  # no null is left to be filled
            filled, type_ = self._leaf(expr.args[0].name), type_of(expr.args[1], self.schema)
            common = common_type(expr, (expr.args[0], filled.type), (expr.args[1], type_))
            return _brought(expr.args[0], filled, common)
        if expr.function in ("field", "list.length"):
            return self._of_nested(expr)
        if expr.function == "is_in":
            return self._is_in(expr)
        if expr.function in _WHOLE:
            return self._of_floats(expr, _WHOLE[expr.function])
        if expr.function == "sqrt" or expr.function in C_FUNCTIONS:
            return self._of_floats(expr, functools.partial(of_floats, expr.function))
        if expr.function == "round":
            return self._of_floats(expr, lambda x, out=None: rounded(x, expr.options[0], out))
        function = FUNCTION_TABLE.get(expr.function)
        if function is None or type(expr.args[0]) is Lit:
            raise _NotDirectError
        if function.of_times is not None:
            return self._of_times(expr, function.of_times)
        if function.direct is None:
            raise _NotDirectError
        parts = [self._part(arg) for arg in expr.args]
        if any(part.constant or function.takes_int64(argument, part.type) for argument, part in enumerate(parts)):
            raise _NotDirectError
        type_ = call_type(expr, [(arg, part.type) for arg, part in zip(expr.args, parts, strict=True)])
        dtype, never_warns = numpy_type(type_), type_ == BOOL and all(part.never_warns for part in parts)
        if len(parts) == 1 and type_ == BOOL and parts[0].type == pa.float64() and not expr.options:  # nothing to cast
            test, number = function.direct, parts[0].value
            return _Part(type_, lambda arrays: test(number(arrays)), never_warns=never_warns)

        def values(arrays: Arrays) -> Any:
            made = function.of_numbers([part.value(arrays) for part in parts], expr.options)
            return _found(made).astype(dtype, copy=False)

        return _Part(type_, values, never_warns=never_warns)

    def _of_floats(self, expr: Call, function: Callable[..., Any]) -> _Part:
        x = self._part(expr.args[0])
        if x.constant or x.type != pa.float64():
            raise _NotDirectError
        return _Part(x.type, lambda arrays: function(x.value(arrays)), never_warns=False,
                     into=lambda arrays, out: function(x.value(arrays), out=out))

    def _of_times(self, expr: Call, function: Callable[..., Any]) -> _Part:
        x = self._part(expr.args[0])
        if x.constant:
            raise _NotDirectError
        type_ = call_type(expr, [(expr.args[0], x.type)])
        return _Part(type_, lambda arrays: _found(function(x.value(arrays), x.type)), never_warns=x.never_warns,
                     into=None if type_ == BOOL else
                     lambda arrays, out: _found(function(x.value(arrays), x.type, out)))

    def _is_in(self, expr: Call) -> _Part:
        x = self._part(expr.args[0])
        sought = [] if x.constant else choices(expr, x.type)
        if not 0 < len(sought) <= FEW_CHOICES or in_type(expr, x.type) != x.type:
            raise _NotDirectError
        wanted = [from_scalar(value, x.type).data for value in sought]
        return _Part(BOOL, lambda arrays: is_one_of(x.value(arrays), wanted), never_warns=x.never_warns)

    def _binary(self, expr: Binary) -> _Part:
        left, right = self._part(expr.left), self._part(expr.right)
        if left.constant and right.constant:
            raise _NotDirectError
        if expr.op in COMPARISONS:
            seen = in_range(expr, left.type, right.type)
            if seen is not expr and left.constant:
                left, right = right, left
            expr = seen
        left_type, right_type, result = binary_types(expr, (expr.left, left.type), (expr.right, right.type))
        x, y = _brought(expr.left, left, left_type), _brought(expr.right, right, right_type)
        into = None
        if expr.op in _FLOATS and t.is_floating(result):
            ufunc = _FLOATS[expr.op]
            into = lambda arrays, out: ufunc(x.value(arrays), y.value(arrays), out=out)  # noqa: E731
        return _Part(result, _call(expr.op, x, y, result), never_warns=(
            x.never_warns and y.never_warns and expr.op not in _FLOATS), into=into)


def _otherwise(condition: Expr) -> Expr | None:
    """The comparison that is true just where another is false, also of NaN; None where there is none."""
    if isinstance(condition, Binary) and condition.op in ("==", "!="):
        return Binary("!=" if condition.op == "==" else "==", condition.left, condition.right)
    return None


def _held_in(type_: pa.DataType) -> Any:
    """What holds a column: the type of the elements of an array of NumPy, or the class of the array of Arrow."""
    if (dtype := numpy_type(type_)) is not None:
        return np.dtype(dtype)
    return next((held for fits, held in ((t.is_list, pa.ListArray), (t.is_large_list, pa.LargeListArray),
                                         (t.is_struct, pa.StructArray)) if fits(type_)), None)


def _plain_field(structs: pa.StructArray, place: int, dtype: np.dtype[Any]) -> Any:
    """A field in the memory that holds it."""
    array = structs.field(place)
    if array.null_count or not len(array):
        raise _NotDirectError
    return np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)


def _found(values: Any) -> Any:
    if values is None:
        raise _NotDirectError
    return values


def is_one_of(values: Any, wanted: Iterable[Any]) -> Any:
    """Whether each value is one of a few."""
    return functools.reduce(np.logical_or, (values == each for each in wanted))


def _no_value(arrays: Arrays) -> Any:
    raise AssertionError("a literal takes the type of what it meets")


def _brought(expr: Expr, part: _Part, type_: pa.DataType) -> _Part:
    """A part at the type that its operator needs."""
    dtype = numpy_type(type_)
    if dtype is None:
        raise _NotDirectError
    if isinstance(expr, Lit):
        value = from_scalar(expr.value, type_)
        if not value.valid:
            raise _NotDirectError
        constant = value.data
        return _Part(type_, lambda _: constant, constant=True)
    if part.type == type_:
        return part
    if not (is_number(part.type) and is_number(type_)) or t.is_uint64(part.type):
        raise _NotDirectError
    if not (t.is_floating(type_) or (type_ == INT and t.is_integer(part.type))):
        raise _NotDirectError
    if type_ == pa.float32() and t.is_integer(part.type):  # rounded by way of double, as elsewhere
        raise _NotDirectError
    return _Part(type_, lambda arrays: part.value(arrays).astype(dtype), never_warns=part.never_warns)


def _call(op: str, x: _Part, y: _Part, result: pa.DataType) -> Callable[[Arrays], Any]:
    one, other = x.value, y.value
    if op in LOGIC or (op in COMPARISONS and x.type == y.type) or (op in _FLOATS and t.is_floating(result)):
        call = _LOGIC.get(op) or _COMPARE.get(op) or _FLOATS[op]
        if op in LOGIC and not x.type == y.type == BOOL:
            raise _NotDirectError
        if y.constant:
            constant = other(())
            return lambda arrays: call(one(arrays), constant)
        return lambda arrays: call(one(arrays), other(arrays))
    if op not in _INTEGERS or not x.type == y.type == result == INT:
        raise _NotDirectError
    checked = _INTEGERS[op]

    def integers(arrays: Arrays) -> Any:
        data, bad = checked(one(arrays), other(arrays))
        if bad is not ints.NONE and np.any(bad):
            raise _NotDirectError
        return data

    return integers
