"""Classes of rows: parts of conditions, as one number a row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema, frozen
from whimbrel.expr import Binary, Call, Col, Expr, Lit, columns_of, parts_of, predicate
from whimbrel.kernels import Compiled, IntegerKeys, KeyTable
from whimbrel.kernels.primitives.rows import value_classes as primitive
from whimbrel.plan import structure

Array = np.ndarray[Any, Any]
_Kind = Literal["integer", "float", "text"]
Kinds = Mapping[str, _Kind]

_direct = Compiled(primitive.direct_classes)
_searched = Compiled(primitive.searched_classes)
_MAX_DIRECT = 1 << 16
_WORD_BITS = 60
_EXACT_FLOAT = 2**53
_COMPARE = {"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater,
            ">=": np.greater_equal}
_FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True, eq=False)
class ConditionPart:
    """A condition that must be true for another one.

    Parameters
    ----------
    expr : Expr
    column : str or None
        The column of which it is answered by a search among constants.
    compared : tuple of (str, Any), optional
        How this column is compared with which constant, if it is one comparison.
    """

    expr: Expr
    column: str | None
    compared: tuple[str, Any] | None


@dataclass(frozen=True, slots=True, eq=False)
class SplitCondition:
    """A condition with its parts, which must all be true. None is true for all rows."""

    expr: Expr | None
    parts: tuple[ConditionPart, ...] = ()

    @classmethod
    def of(cls, expr: Expr | None, schema: Schema) -> SplitCondition:
        """Find the parts of a condition on rows of a schema."""
        if expr is None:
            return cls(None)
        kinds = kinds_of(schema)
        parts = [ConditionPart(part, _column_of(part, kinds), _comparison(part)) for part in parts_of(expr)]
        return cls(expr, tuple(parts))


Conjuncts = Mapping[int, Sequence[ConditionPart]]
"""By the number of a condition: the parts of it that must all be true."""


def column_of(part: Expr, schema: Schema) -> str | None:
    """The column of which a condition is answered by a search among constants; None if it is no such condition."""
    return _column_of(part, kinds_of(schema))


def kinds_of(schema: Schema) -> Kinds:
    """The kind of the constants that each column may be compared with."""
    return {field.name: kind for field in schema if (kind := _kind(field.type)) is not None}


def _kind(type_: pa.DataType) -> _Kind | None:
    if pa.types.is_string(type_):
        return "text"
    if pa.types.is_integer(type_) and type_ != pa.uint64():
        return "integer"
    return "float" if type_ == pa.float64() else None


def _column_of(part: Expr, kinds: Kinds) -> str | None:
    if isinstance(part, Binary) and isinstance(part.left, Col) and isinstance(part.right, Lit):  # so are almost all
        name = part.left.name
        return name if _compares(part.op, part.right.value, kinds.get(name)) else None
    names = columns_of(part)
    if len(names) != 1:
        return None
    name, = names
    return name if _suits(part, name, kinds.get(name)) else None


def _suits(part: Expr, name: str, kind: _Kind | None) -> bool:
    if isinstance(part, Binary) and part.op in ("&", "|"):
        return _suits(part.left, name, kind) and _suits(part.right, name, kind)
    if isinstance(part, Call):
        if part.function == "between":
            return isinstance(part.args[0], Col) and all(_constant(each, kind) for each in part.args[1:])
        return (part.function == "is_in" and isinstance(part.args[0], Col) and bool(part.options)
                and all(_fits(value, kind) for value in part.options))
    comparison = _comparison(part)
    return comparison is not None and _compares(*comparison, kind)


def _compares(op: str, value: Any, kind: _Kind | None) -> bool:
    return op in _FLIPPED and _fits(value, kind) and (kind != "text" or op in ("==", "!="))


def _comparison(part: Expr) -> tuple[str, Any] | None:
    """A comparison of a column with a constant, with the column on its left."""
    if not isinstance(part, Binary) or part.op not in _FLIPPED:
        return None
    if isinstance(part.left, Col) and isinstance(part.right, Lit):
        return part.op, part.right.value
    if isinstance(part.left, Lit) and isinstance(part.right, Col):
        return _FLIPPED[part.op], part.left.value
    return None


def _constant(part: Expr, kind: _Kind | None) -> bool:
    return isinstance(part, Lit) and kind != "text" and _fits(part.value, kind)


def _fits(value: Any, kind: _Kind | None) -> bool:
    """Whether a constant is compared with such a column as it is."""
    if type(value) is int:
        return (kind == "integer" and -(2**63) <= value < 2**63) or (kind == "float" and abs(value) <= _EXACT_FLOAT)
    if isinstance(value, float):
        return kind == "float" and value == value  # noqa: PLR0124 - NaN
    return kind == "text" and isinstance(value, str)


def _constants(part: Expr) -> Iterable[Any]:
    if isinstance(part, Binary) and part.op in ("&", "|"):
        yield from _constants(part.left)
        yield from _constants(part.right)
    elif isinstance(part, Call):
        yield from part.options if part.function == "is_in" else [each.value for each in part.args[1:]
                                                                 if isinstance(each, Lit)]
    elif (comparison := _comparison(part)) is not None:
        yield comparison[1]


class Classes(ABC):
    """Gives each row a class: rows of one class meet the same conditions, as far as some parts of these say."""

    size: int | None = None
    """How many classes there are; None: as many as occur."""

    @abstractmethod
    def add(self, batch: Batch, factor: int, codes: Array) -> None:
        """Add the class of each row, times a factor, to its code."""

    @abstractmethod
    def truth(self, classes: Array) -> Array:
        """For each of these classes the conditions that it does not rule out, a bit each."""


class ColumnClasses(Classes):
    """Comparisons of one column with constants.

    Parameters
    ----------
    name : str
    type_ : pyarrow.DataType
    parts : mapping of int to sequence of ConditionPart
    conditions : int
        How many there are in all.
    """

    def __init__(self, name: str, type_: pa.DataType, parts: Conjuncts, conditions: int) -> None:
        self._name, self._type = name, type_
        self._text = pa.types.is_string(type_)
        alone = {condition: found for condition, of in parts.items()
                 if len(of) == 1 and (found := of[0].compared) is not None}
        constants = {value for _, value in alone.values()}
        constants.update(value for condition, of in parts.items() if condition not in alone
                         for part in of for value in _constants(part.expr))
        self._of_constant: dict[Any, int] = {}
        if self._text:
            words = sorted(constants)
            self._of_constant = {word: place for place, word in enumerate(words)}
            self._words = KeyTable([type_])
            self._words.ids([Column(type_, pa.array(words, type_))], len(words))
            places = len(words) + 1  # and all other words
        else:
            self._bounds = np.array(sorted(constants), np.int64 if pa.types.is_integer(type_) else np.float64)
            self._of_constant = {value: 2 * place + 1 for place, value in enumerate(self._bounds.tolist())}
            places = 2 * len(self._bounds) + 2
        self._nan: dict[str, bool] = {}
        truth = np.ones((places + 1, conditions), np.bool_)  # the last place is that of nulls
        for condition in parts.keys() - alone.keys():
            for part in parts[condition]:
                truth[:-1, condition] &= self._places(part.expr, places)
        truth[-1, list(parts)] = False
        for op in {op for op, _ in alone.values()}:
            mine = [condition for condition, (each, _) in alone.items() if each == op]
            short = np.min_scalar_type(places)  # is compared faster
            at = np.array([self._of_constant[alone[condition][1]] for condition in mine], short)
            column = np.arange(places, dtype=short)[:, None]
            if mine[-1] - mine[0] + 1 == len(mine):
                self._places_of(op, at, column, out=truth[:-1, mine[0] : mine[-1] + 1])
            else:
                truth[:-1, mine] = self._places_of(op, at, column)
        packed = np.packbits(truth, axis=1, bitorder="little")
        class_of: dict[bytes, int] = {}
        inverse = np.array([class_of.setdefault(row, len(class_of)) for row in rows_of_bytes(packed)])
        self._truth = np.frombuffer(b"".join(class_of), np.uint8).reshape(len(class_of), -1)
        self.size = len(class_of)
        self._null_class = int(inverse[-1])
        self._classes = frozen(inverse[:-1].astype(np.int64))
        self._first: int | None = None
        if not self._text and pa.types.is_integer(type_) and int(self._bounds[-1]) - int(self._bounds[0]) < _MAX_DIRECT:
            self._first = int(self._bounds[0])
            numbers = np.arange(int(self._bounds[-1]) - self._first + 1) + self._first
            low = np.searchsorted(self._bounds, numbers)
            between = self._classes[2 * low + (self._bounds[low] == numbers)]
            self._classes = frozen(np.concatenate([self._classes[:1], between, self._classes[-2:-1]]))

    def _places(self, part: Expr, places: int) -> Array:
        """In which places a condition is true."""
        if isinstance(part, Binary) and part.op in ("&", "|"):
            left, right = self._places(part.left, places), self._places(part.right, places)
            return left & right if part.op == "&" else left | right
        found = np.zeros(places, np.bool_)
        if isinstance(part, Call) and part.function == "is_in":
            found[[self._of_constant[value] for value in part.options]] = True
            return found
        if isinstance(part, Call):
            low, high = (each.value for each in part.args[1:] if isinstance(each, Lit))
            found[self._of_constant[low]:self._of_constant[high] + 1] = True
            return found
        comparison = _comparison(part)
        assert comparison is not None
        return self._places_of(comparison[0], self._of_constant[comparison[1]], np.arange(places))

    def _places_of(self, op: str, at: int | Array, places: Array, out: Array | None = None) -> Array:
        """In which places comparisons with the constants at such places are true."""
        found: Array = _COMPARE[op](places, at, out=out)
        if not self._text:
            found[-1] = self._of_nan(op)
        return found

    def _of_nan(self, op: str) -> bool:
        """Whether a comparison is true of NaN."""
        if self._type != pa.float64():
            return False
        if op not in self._nan:
            row = Batch(Schema((Field(self._name, self._type),)), np.zeros(1, np.int64), 1,
                        (Column(self._type, np.array([np.nan])),))
            self._nan[op] = bool(predicate(Binary(op, Col(self._name), Lit(0.0)), row)[0])  # type: ignore[arg-type]
        return self._nan[op]

    def add(self, batch: Batch, factor: int, codes: Array) -> None:
        column = batch.column(self._name)
        if self._text:
            ids = self._words.ids([column], len(column))
            classes = self._classes[np.minimum(ids, len(self._classes) - 1)]
            if (null := self._words.columns[0].null_id) >= 0:
                classes = np.where(ids == null, self._null_class, classes)
            codes += factor * classes
            return
        values = np.asarray(column.values)
        wide = np.int64 if self._bounds.dtype == np.int64 else np.float64
        values = frozen(values.astype(wide, copy=False))
        before = codes[~column.valid] if column.valid is not None else codes
        if self._first is not None:
            _direct(values, self._first, self._classes, factor, codes)
        else:
            _searched(values, self._bounds, self._classes, factor, codes)
        if column.valid is not None:
            codes[~column.valid] = before + factor * self._null_class

    @property
    def by_number(self) -> tuple[str, int, Array] | None:
        """The column, its first number, and the classes of smaller, of these and of larger ones; None if searched."""
        return None if self._first is None else (self._name, self._first, self._classes)

    def truth(self, classes: Array) -> Array:
        return self._truth[classes]


class OtherClasses(Classes):
    """Conditions of any other kind, each evaluated once for a batch.

    Parameters
    ----------
    parts : sequence of (Expr, sequence of int)
        Conditions, and the numbers of those whose parts they are.
    conditions : int
        How many there are in all.
    """

    def __init__(self, parts: Sequence[tuple[Expr, Sequence[int]]], conditions: int) -> None:
        self._parts = [part for part, _ in parts]
        self._codes = IntegerKeys()
        needs = np.zeros((len(parts), conditions), np.bool_)
        for row, (_, of) in enumerate(parts):
            needs[row, list(of)] = True
        self._without = np.packbits(~needs, axis=1, bitorder="little")
        self._all = np.packbits(np.ones(conditions, np.bool_), bitorder="little")

    def add(self, batch: Batch, factor: int, codes: Array) -> None:
        bits = np.zeros(len(batch), np.int64)
        for bit, part in enumerate(self._parts):
            bits |= predicate(part, batch).astype(np.int64) << bit
        codes += factor * self._codes.ids(frozen(bits))

    def truth(self, classes: Array) -> Array:
        bits = self._codes.keys[classes]
        found = np.tile(self._all, (len(classes), 1))
        for bit, without in enumerate(self._without):
            found[bits >> bit & 1 == 0] &= without
        return found


def rows_of_bytes(table: Array) -> Iterator[bytes]:
    """The rows of a table of bytes, which are compared faster than arrays."""
    whole, width = table.tobytes(), table.shape[1]
    return (whole[at : at + width] for at in range(0, len(whole), width))


def classes_of(conditions: Sequence[SplitCondition], schema: Schema) -> list[Classes]:
    """What classifies rows for conditions."""
    by_column: dict[str, dict[int, list[ConditionPart]]] = {}
    others: dict[Any, tuple[Expr, list[int]]] = {}
    for number, condition in enumerate(conditions):
        for part in condition.parts:
            if part.column is None:
                others.setdefault(structure(part.expr), (part.expr, []))[1].append(number)
            else:
                by_column.setdefault(part.column, {}).setdefault(number, []).append(part)
    found: list[Classes] = [ColumnClasses(name, schema.type_of(name), parts, len(conditions))
                            for name, parts in by_column.items()]
    rest = list(others.values())
    found += [OtherClasses(rest[at : at + _WORD_BITS], len(conditions)) for at in range(0, len(rest), _WORD_BITS)]
    return found
