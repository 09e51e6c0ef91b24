"""User-defined aggregates of plain Python functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from whimbrel.aggregates.user_defined.numeric_functions import Roles, number_steps
from whimbrel.aggregates.user_defined.python_functions import RETURNS, PythonSteps, foreseen, python_steps
from whimbrel.aggregates.user_defined.value_kinds import Kind, NotCompiled
from whimbrel.batch import numpy_type
from whimbrel.clock import Duration
from whimbrel.errors import ExpressionError
from whimbrel.expr import Call, Expr, trace
from whimbrel.kernels import captured
from whimbrel.plan import Aggregate, AggregateFunctions, Objects

Function = Callable[..., Any]
_RESULTS: dict[Kind, pa.DataType] = {"int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}


@dataclass(frozen=True, eq=False)
class UserFunctions:
    """A user-defined aggregate without its expression.

    :func:`whimbrel.aggregate` makes it. Call it with an expression to get an aggregate.

    Parameters
    ----------
    name : str
    init : object
    accumulate, result : callable
    merge, remove, difference : callable, optional
    fresh : callable, optional
        Makes a state of no rows.
    returns : pyarrow.DataType, optional
    save, load : callable, optional
    forgets : str, timedelta or int (ticks), optional
        After which time an event no longer changes the value.
    of_numbers : bool
        Whether to refuse values that are no numbers or bools.
    """

    name: str
    init: Any
    accumulate: Function
    result: Function
    merge: Function | None = None
    remove: Function | None = None
    difference: Function | None = None
    fresh: Function | None = None
    returns: pa.DataType | None = None
    save: Function | None = None
    load: Function | None = None
    forgets: Duration | None = None
    of_numbers: bool = False

    def __call__(self, *values: Expr | Function) -> UserAggregate:
        inputs = tuple(trace(each, where=f"{self.name}()") for each in values)
        if not inputs:
            raise ExpressionError(f"{self.name} needs at least one input.", where=f"{self.name}()",
                                  hint=f"Call it with a column: {self.name}(col.x).")
        expr = Call("struct", inputs, tuple(map(str, range(len(inputs))))) if len(inputs) > 1 else inputs[0]
        return UserAggregate(expr=expr, functions=self)

    @property
    def roles(self) -> Roles:
        """The functions alone."""
        return Roles(self.accumulate, self.result, self.merge, self.remove, self.difference)


@dataclass(frozen=True, kw_only=True, eq=False)
class UserAggregate(Aggregate):
    """User-defined aggregate of the values that are not null.

    The user's functions get the values of an expression.

        time     0    5    10
        in       2────────         product over [0, 5) is 2, over [5, 10) is 6
                      3────

    Parameters
    ----------
    functions : UserFunctions

    Examples
    --------
    >>> import whimbrel as wb
    >>> product = wb.aggregate(init=1, accumulate=lambda s, x: s * x, result=lambda s: s, name="product")
    >>> events = wb.from_arrow({"at": [0, 5], "until": [10, 10], "x": [2, 3]}, time="at", end="until")
    >>> events.aggregate(p=product(wb.col.x)).collect()["p"].to_pylist()
    [2, 6]
    """

    name: ClassVar[str] = "user"

    functions: UserFunctions

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        return self._known(input_type).type

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions | Objects:
        return self._known(input_type).steps

    def show(self) -> str:
        text = f"{self.functions.name}({', '.join(each.show() for each in self._inputs)})"
        return text if self.condition is None else f"{text}.where({self.condition.show()})"

    def notes(self, input_type: pa.DataType | None) -> Sequence[str]:
        user, known = self.functions, self._known(input_type)
        said = []
        if known.why is not None:
            said.append(f"{user.name} runs interpreted: {known.why}")
        if user.remove is None and user.difference is None:
            order = "" if user.merge is None or isinstance(known.steps, Objects) else " before an earlier one"
            said.append(f"{user.name} has no remove: when a row leaves{order}, its group is computed again")
        if user.merge is None:
            said.append(f"{user.name} has no merge: parts of its input cannot be aggregated apart and combined")
        elif known.unwritten is not None:
            said.append(f"{user.name} is not merged: {known.unwritten}")
        return said

    @property
    def reads_floats(self) -> bool:
        return self.functions.of_numbers

    @property
    def _inputs(self) -> tuple[Expr, ...]:
        expr = self.expr
        assert expr is not None
        return expr.args if isinstance(expr, Call) and expr.function == "struct" else (expr,)

    def _known(self, input_type: pa.DataType | None) -> Understood:
        user = self.functions
        if input_type is None:
            raise ExpressionError(f"{user.name} needs a column.", where=self.show(),
                                  hint=f"Call it with a column: {user.name}(col.x).")
        count = len(self._inputs)
        types = (input_type,) if count == 1 else tuple(input_type.field(index).type for index in range(count))
        wrong = next((each for each in types if user.of_numbers and not is_number_for_float(each)), None)
        if wrong is not None:
            raise ExpressionError(f"{user.name} needs numbers, bools or decimals, got {wrong}.", where=self.show(),
                                  hint="Cast the values to a number type first.")
        if self.reads_floats:
            types = tuple(pa.float64() if pa.types.is_uint64(each) else each for each in types)
        now = tuple(captured(each) for each in user.roles)
        try:
            return _understood(user, types, self.show(), now)
        except TypeError:  # a function holds something that cannot be compared: it may be another by now
            return _understood.__wrapped__(user, types, self.show(), ())


def is_number_for_float(type_: pa.DataType) -> bool:
    """Whether Python's float takes values of a type for what they are."""
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_null)
    return any(is_kind(type_) for is_kind in kinds)


@dataclass(frozen=True, eq=False)
class Understood:
    """What is known of the functions for inputs of some types."""

    steps: AggregateFunctions | Objects
    type: pa.DataType
    why: str | None
    unwritten: str | None = None


@functools.lru_cache(maxsize=256)
def _understood(user: UserFunctions, inputs: tuple[pa.DataType, ...], where: str, _: tuple[Any, ...]) -> Understood:
    times = _times_taken(user.accumulate, len(inputs))
    kind, why = None, None
    try:
        values = [_kind(type_) for type_ in inputs]
        steps, kind = number_steps(user.name, user.init, user.roles, values, times=times)
        if user.returns in (None, _RESULTS[kind]):
            return Understood(steps, _RESULTS[kind], None)
        why = f"its result is to be {user.returns}"
    except NotCompiled as left:
        why, kind = str(left), left.result
    python = PythonSteps(user.name, user.init, user.fresh, user.roles, user.save, user.load, times=times)
    seen, unwritten = foreseen(python, inputs, where)
    type_ = user.returns or (_RESULTS["float"] if kind in ("float", "either") else seen)
    if type_ is None:
        raise ExpressionError(f"Cannot infer the result type of {user.name}.", where=where, hint=RETURNS)
    return Understood(python_steps(python, type_, written=unwritten is None), type_, why, unwritten)


def _kind(type_: pa.DataType) -> Kind:
    if pa.types.is_boolean(type_):
        return "bool"
    if pa.types.is_floating(type_):
        return "float"
    if numpy_type(type_) is None or pa.types.is_null(type_):
        raise NotCompiled(f"a value is a {type_}, not a number")
    return "int"


def _times_taken(accumulate: Function, inputs: int) -> int:
    """How many times of the event a function takes after the values, by parameters ``start``, or ``start, end``."""
    try:
        names = list(inspect.signature(accumulate).parameters)
    except (TypeError, ValueError):
        return 0
    rest = names[inputs + 1:]
    if rest == ["end"]:
        raise ExpressionError("accumulate takes end without start.", where="aggregate(accumulate=...)",
                              hint="Take both, in this order: start, end.")
    return len(rest) if rest in (["start"], ["start", "end"]) else 0
