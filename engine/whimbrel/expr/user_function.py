"""Functions of users with a cost."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import wraps
from types import FunctionType
from typing import Any, Final, overload

from whimbrel.errors import ExpressionError
from whimbrel.expr.columns import children
from whimbrel.expr.condition_costs import Cost
from whimbrel.expr.nodes import Called, Expr, RowFunction, lift
from whimbrel.expr.trace import asks_for_none

LAMBDA: Final = "<lambda>"
_GIVEN: Final = "given"


@dataclass(frozen=True)
class UserFunction:
    """A function of values, made by :func:`whimbrel.function`.

    Parameters
    ----------
    function : function
    name : str
    cost : {"cheap", "expensive"} or None
        What the user says of it.
    """

    function: Callable[..., Any]
    name: str
    cost: Cost | None

    def __call__(self, *values: Any) -> Any:
        """The expression of its values; of plain values what the function gives."""
        if not any(isinstance(value, Expr) for value in values):
            return self.function(*values)
        self._check_count(values)
        args = tuple(map(lift, values))
        made = self._made_of(args)
        return Called(made, args, self) if children(made) else made

    def named(self, name: str) -> UserFunction:
        """The same function; a lambda gets a name."""
        return replace(self, name=name) if self.name == LAMBDA else self

    def _check_count(self, values: tuple[Any, ...]) -> None:
        """Refuse more or fewer values than the function takes, which would fail for each row."""
        try:
            signature = inspect.signature(getattr(self.function, _GIVEN, self.function))
        except (TypeError, ValueError):  # a function of C without a signature
            return
        try:
            signature.bind(*values)
        except TypeError as error:
            raise ExpressionError(f"{self!r}() has the wrong number of values: {error}.", where=f"{self!r}(...)",
                                  hint=f"It is {self!r}{signature}."[:160]) from None

    def _made_of(self, args: tuple[Expr, ...]) -> Expr:
        """What the function makes of expressions; a call for each row where it makes none."""
        if not asks_for_none(self.function):
            try:
                made = self.function(*args)
            except Exception:  # noqa: BLE001 - it needs values, or fails for each row with its own error
                made = None
            if isinstance(made, Expr):
                return made
        names, function = self._names(len(args)), self.function

        @wraps(function)
        def of_row(row: Any) -> Any:
            return function(*(row[name] for name in names))

        return RowFunction(of_row, names, args, takes_nulls=asks_for_none(function))

    def _names(self, count: int) -> tuple[str, ...]:
        """Names of so many values, for errors."""
        try:
            names = tuple(inspect.signature(self.function).parameters)
        except ValueError:  # a function of C without a signature
            names = ()
        return names if len(names) == count else tuple(f"x{place}" for place in range(count))

    def __repr__(self) -> str:
        return "function" if self.name == LAMBDA else self.name


@overload
def function(function: Callable[..., Any], /, *, cost: Cost | None = None) -> UserFunction: ...
@overload
def function(*, cost: Cost | None = None) -> Callable[[Callable[..., Any]], UserFunction]: ...


def function(function: Callable[..., Any] | None = None, /, *,
             cost: Cost | None = None) -> UserFunction | Callable[[Callable[..., Any]], UserFunction]:
    """Make a function of values for expressions and SQL, with a cost.

    It is called once with expressions. If it needs values, as ``math.sqrt`` does, it is called for each row instead.
    Null is then the result for null, unless the function asks for None. It may be written as a decorator.

    Parameters
    ----------
    function : callable
        Of one or more values.
    cost : {"cheap", "expensive"}, optional
        What a call costs, which decides where its conditions are evaluated. Default: Python functions that are called
        for each row and regular expressions are expensive. A cheap one that can fail still sees only the rows that pass
        the other cheap conditions, and is no part of a shared or partial aggregate.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [0, 5], "x": [2, 30], "name": ["a", "b"]}, time="at")
    >>> @wb.function(cost="cheap")
    ... def digits(x) -> int:
    ...     return len(str(x))
    >>> log.where(digits(wb.col.x) > 1).collect()["x"].to_pylist()
    [30]
    >>> few = wb.sql("SELECT x FROM log WHERE digits(x) = 1", log=log, functions={"digits": digits})
    >>> few.collect()["x"].to_pylist()
    [2]
    """
    where = f"function(cost={cost!r})"[:80]
    if cost not in ("cheap", "expensive", None):
        raise ExpressionError(f'cost must be "cheap" or "expensive", got {cost!r}.', where=where,
                              hint="Leave it out, and the function decides.")
    if function is None:
        return lambda decorated: _function(decorated, cost, where)
    return _function(function, cost, where)


def _function(given: Any, cost: Cost | None, where: str) -> UserFunction:
    if isinstance(given, type) or not callable(given):
        raise ExpressionError(f"function() needs a function, got {given!r}."[:200], where=where,
                              hint="Use for example wb.function(math.sqrt, cost=\"cheap\").")
    if isinstance(given, FunctionType):
        return UserFunction(given, given.__name__, cost)

    def called(*values: Any) -> Any:
        return given(*values)

    vars(called)[_GIVEN] = given
    return UserFunction(called, getattr(given, "__name__", LAMBDA), cost)


def functions_called(expr: Expr) -> Iterator[UserFunction]:
    """The functions of users that an expression calls, also those that are called for arguments of others."""
    if isinstance(expr, Called) and isinstance(expr.by, UserFunction):
        yield expr.by
        for each in expr.args:
            yield from functions_called(each)
    for each in children(expr):
        yield from functions_called(each)
