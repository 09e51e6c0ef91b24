"""Expressions as Python functions over payload dicts, with nulls."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from whimbrel.testing.oracle.events import Payload


class Term:
    """A function of one payload that can be combined with others; calling it gives the value, None for null.

    Arithmetic and comparison with null give null. ``&`` and ``|`` are the three-valued logic of SQL: false & null is
    false, true | null is true.

    Attributes
    ----------
    bounded : bool
        Whether the value depends on the bounds of a window.
    """

    __hash__ = None  # type: ignore[assignment]
    bounded = False

    def __init__(self, of: Callable[[Payload], Any], *parts: Any) -> None:
        self._of = of
        self.bounded = any(isinstance(part, Term) and part.bounded for part in parts)

    def __call__(self, payload: Payload) -> Any:
        return self._of(payload)

    def __add__(self, other: Any) -> Term:
        return _strict(operator.add, self, other)

    def __radd__(self, other: Any) -> Term:
        return _strict(operator.add, other, self)

    def __sub__(self, other: Any) -> Term:
        return _strict(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Term:
        return _strict(operator.sub, other, self)

    def __mul__(self, other: Any) -> Term:
        return _strict(operator.mul, self, other)

    def __rmul__(self, other: Any) -> Term:
        return _strict(operator.mul, other, self)

    def __truediv__(self, other: Any) -> Term:
        return _strict(operator.truediv, self, other)

    def __floordiv__(self, other: Any) -> Term:
        return _strict(operator.floordiv, self, other)

    def __mod__(self, other: Any) -> Term:
        return _strict(operator.mod, self, other)

    def __neg__(self) -> Term:
        return _strict(operator.sub, 0, self)

    def __lt__(self, other: Any) -> Term:
        return _strict(operator.lt, self, other)

    def __le__(self, other: Any) -> Term:
        return _strict(operator.le, self, other)

    def __gt__(self, other: Any) -> Term:
        return _strict(operator.gt, self, other)

    def __ge__(self, other: Any) -> Term:
        return _strict(operator.ge, self, other)

    def __eq__(self, other: object) -> Term:  # type: ignore[override]
        return _strict(operator.eq, self, other)

    def __ne__(self, other: object) -> Term:  # type: ignore[override]
        return _strict(operator.ne, self, other)

    def __and__(self, other: Any) -> Term:
        return _decided_by(False, self, other)

    def __or__(self, other: Any) -> Term:
        return _decided_by(True, self, other)

    def __invert__(self) -> Term:
        return _strict(operator.ne, self, True)

    def is_null(self) -> Term:
        return Term(lambda payload: self(payload) is None, self)

    def is_not_null(self) -> Term:
        return Term(lambda payload: self(payload) is not None, self)

    def fill_null(self, other: Any) -> Term:
        return Term(lambda payload: _value(other, payload) if self(payload) is None else self(payload), self, other)

    def between(self, low: Any, high: Any) -> Term:
        return (self >= low) & (self <= high)

    def is_in(self, values: Iterable[Any]) -> Term:
        listed = list(values)
        return Term(lambda payload: None if self(payload) is None else self(payload) in listed, self)

    def abs(self) -> Term:
        return Term(lambda payload: None if self(payload) is None else abs(self(payload)), self)

    def cast(self, name: str) -> Term:
        """To a whole number, a fraction or a truth."""
        to = {"int64": int, "double": float, "bool": bool}[name]
        return Term(lambda payload: None if self(payload) is None else to(self(payload)), self)


class TermWhen:
    """``when(condition).then(value).otherwise(value)``; a null condition counts as false."""

    def __init__(self, condition: Term, then: Any = None) -> None:
        self.condition, self.value = condition, then

    def then(self, value: Any) -> TermWhen:
        return TermWhen(self.condition, value)

    def otherwise(self, value: Any) -> Term:
        def of(payload: Payload) -> Any:
            return _value(self.value if self.condition(payload) is True else value, payload)

        return Term(of, self.condition, self.value, value)


class OracleColumns:
    """``col``: its attributes are the columns."""

    def __getattr__(self, name: str) -> Term:
        return self(name)

    def __call__(self, name: str) -> Term:
        return Term(lambda payload: payload[name])


def _value(operand: Any, payload: Payload) -> Any:
    return operand(payload) if isinstance(operand, Term) else operand


def _strict(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Term:
    def of(payload: Payload) -> Any:
        a, b = _value(left, payload), _value(right, payload)
        return None if a is None or b is None else function(a, b)

    return Term(of, left, right)


def _decided_by(decisive: bool, left: Any, right: Any) -> Term:
    def of(payload: Payload) -> bool | None:
        values = (_value(left, payload), _value(right, payload))
        if decisive in values:
            return decisive
        return None if None in values else not decisive

    return Term(of, left, right)
