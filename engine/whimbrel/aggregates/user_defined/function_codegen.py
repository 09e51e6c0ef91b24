"""Generate compiled code for Python functions over numbers.

The kind of every value is known beforehand, as Python would have it. A function whose kinds depend on its values, or
that does more than compute numbers, is left: it is left to Python.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple

from whimbrel.aggregates.user_defined.arithmetic_codegen import Arithmetic
from whimbrel.aggregates.user_defined.function_source import call_of, written
from whimbrel.aggregates.user_defined.value_kinds import (
    NotCompiled,
    Number,
    Value,
    assigned,
    constant,
    flattened,
    joined_kind,
    joined_shape,
    one_number,
    renamed,
    shown,
    whole_number,
)

_OF_ONE = frozenset({"sqrt", "exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "asin", "acos",
                     "atan", "sinh", "cosh", "tanh"})
_ASKED = frozenset({"isnan", "isinf", "isfinite"})
_OPERATORS: dict[Any, ast.operator] = {
    operator.add: ast.Add(), operator.sub: ast.Sub(), operator.mul: ast.Mult(), operator.truediv: ast.Div(),
    operator.floordiv: ast.FloorDiv(), operator.mod: ast.Mod()}
_DEEPEST = 8


class WrittenCall(NamedTuple):
    """A function that another one calls, in generated code."""

    name: str
    text: str
    gives: Value


class Writer(Arithmetic):
    """Writes the body of one function, line by line, and what it calls before it.

    Parameters
    ----------
    function : callable
        Written in Python; or one of Python's own, such as ``max``, ``math.sqrt`` or ``operator.add``.
    given : sequence of Value
        What stands for its arguments.
    leave : callable
        A value that is returned -> the lines that end the function.
    inside : sequence of callable
        The functions that it is called by.
    before : dict
        Functions that it calls, by function and kinds of arguments. Each is written once.
    """

    def __init__(self, function: Any, given: Sequence[Value], leave: Callable[[Value], list[str]],
                 inside: Sequence[Any] = (), before: dict[Any, WrittenCall] | None = None) -> None:
        super().__init__()
        node: ast.Lambda | ast.FunctionDef | None
        if isinstance(function, FunctionType):
            node = written(function)
        elif isinstance(function, BuiltinFunctionType | type):
            function, node = call_of(function, len(given))
        else:
            raise NotCompiled(f"{type(function).__name__} is not a function")
        if function in inside or len(inside) > _DEEPEST:
            raise NotCompiled(f"{function.__name__} calls itself")
        if node is None:
            raise NotCompiled(f"the text of {function.__name__} is not at hand")
        named = node.args
        if named.vararg or named.kwarg or named.kwonlyargs or len(named.posonlyargs + named.args) != len(given):
            raise NotCompiled("its parameters are not one for each argument")
        self.function, self.leave = function, leave
        self.inside = (*inside, function)
        self.before: dict[Any, WrittenCall] = {} if before is None else before
        self.names: dict[str, Value | None] = {
            each.arg: value for each, value in zip(named.posonlyargs + named.args, given, strict=True)}
        self.local = assigned(node)
        self.body = node.body

    def write(self) -> Writer:
        """Write all of it."""
        if isinstance(self.body, ast.expr):
            self._return(self.body)
        elif not self._block(self.body):
            self._write(*self.leave(Number("none", "None")))
        return self

    # Statements.

    def _block(self, body: Sequence[ast.stmt]) -> bool:
        """Write statements; whether the function always ends in them."""
        return any(self._statement(each) for each in body)  # code after a return is never reached

    def _statement(self, node: ast.stmt) -> bool:
        match node:
            case ast.Return(value):
                self._return(value)
                return True
            case ast.Assign(targets, value):
                found = self.value(value)
                for target in targets:
                    self._assign(target, found)
            case ast.AnnAssign(ast.Name() as target, _, value) if value is not None:
                self._assign(target, self.value(value))
            case ast.AugAssign(ast.Name(name) as target, op, value):
                self._assign(target, self._binary(op, self._name(name), self.value(value), value))
            case ast.If(test, body, orelse):
                return self._if(test, body, orelse)
            case ast.Pass() | ast.Expr(ast.Constant()):
                pass
            case _:
                raise NotCompiled(f"it has a statement that is not compiled, {shown(node)}")
        return False

    def _return(self, node: ast.expr | None) -> None:
        """Leave the function with a value; each of two on its own, since one may be None."""
        if isinstance(node, ast.IfExp):
            self._write(f"if {self.truth(node.test)}:")
            for branch, orelse in ((node.body, "else:"), (node.orelse, None)):
                self.depth += 1
                self._return(branch)
                self.depth -= 1
                if orelse is not None:
                    self._write(orelse)
        else:
            self._write(*self.leave(Number("none", "None") if node is None else self.value(node)))

    def _assign(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(name):
                self.names[name] = self._kept(value)
            case ast.Tuple(parts) | ast.List(parts) if isinstance(value, tuple) and len(parts) == len(value):
                value = self._kept(value)
                assert isinstance(value, tuple)
                for part, each in zip(parts, value, strict=True):
                    self._assign(part, each)
            case _:
                raise NotCompiled(f"it assigns to {shown(target)}")

    def _if(self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> bool:
        truth = self.truth(test)
        before, ended = dict(self.names), []
        branches: list[tuple[list[str], dict[str, Value | None]]] = []
        for statements in (body, orelse):
            self.names = dict(before)
            kept, self.lines = self.lines, []
            self.depth += 1
            ended.append(self._block(statements))
            self.depth -= 1
            branches.append((self.lines, self.names))
            self.lines = kept
        live = [number for number, over in enumerate(ended) if not over]
        if len(live) == 2:
            self.names = {}
            for name in dict.fromkeys([*branches[0][1], *branches[1][1]]):
                self.names[name] = self._joined(branches, [names.get(name) for _, names in branches])
        elif live:
            self.names = branches[live[0]][1]
        self._write(f"if {truth}:")
        self.lines += branches[0][0] or [f"{'    ' * (self.depth + 1)}pass"]
        if branches[1][0]:
            self._write("else:")
            self.lines += branches[1][0]
        return not live

    def _joined(self, branches: Sequence[tuple[list[str], Any]], both: Sequence[Value | None]) -> Value | None:
        """What a name stands for after an ``if``; None where that depends, and must not be asked."""
        one, other = both
        if one is None or other is None:
            return None
        if isinstance(one, tuple) or isinstance(other, tuple):
            if not (isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other)):
                return None
            parts = [self._joined(branches, pair) for pair in zip(one, other, strict=True)]
            return None if None in parts else tuple(part for part in parts if part is not None)
        kind = joined_kind(one, other)
        if kind is None:
            return None
        if one == other:
            return one
        name = self._fresh()
        for (lines, _), value in zip(branches, (one, other), strict=True):
            kept, self.lines = self.lines, lines
            self.depth += 1
            text = self.as_kind(value, kind)
            self._write(f"{name} = {text}")
            self.depth -= 1
            self.lines = kept
        return Number(kind, name)

    # Expressions.

    def value(self, node: ast.expr) -> Value:
        """Write what computes an expression; answers with what stands for its value."""
        match node:
            case ast.Constant(value):
                return constant(value)
            case ast.Name(name):
                return self._name(name)
            case ast.Tuple(parts):
                found: list[Value] = []
                for part in parts:
                    if isinstance(part, ast.Starred):
                        inner = self.value(part.value)
                        if not isinstance(inner, tuple):
                            raise NotCompiled(f"{shown(part)} is not a tuple")
                        found += inner
                    else:
                        found.append(self.value(part))
                return tuple(found)
            case ast.Subscript(of, at):
                whole, index = self.value(of), whole_number(at)
                if not isinstance(whole, tuple) or index is None or not -len(whole) <= index < len(whole):
                    raise NotCompiled(f"it asks for {shown(node)}")
                return whole[index]
            case ast.Attribute(ast.Name(), name):
                found = self._named_value(node)
                if isinstance(found, int | float):
                    return constant(found)
                raise NotCompiled(f"it reads {shown(node)}")
            case ast.UnaryOp(ast.Not(), _) | ast.Compare():
                return Number("bool", self.truth(node))
            case ast.UnaryOp(op, operand):
                return self._unary(op, self.number(operand))
            case ast.BinOp(left, op, right):
                return self._binary(op, self.value(left), self.value(right), right)
            case ast.IfExp(test, body, orelse):
                return self._choice(self.truth(test), lambda: self.value(body), lambda: self.value(orelse), node)
            case ast.BoolOp(op, [first, *others]):
                return self._and_or(isinstance(op, ast.And), self.value(first), others, node)
            case ast.Call(function, given, []) if not any(isinstance(each, ast.Starred) for each in given):
                return self._call(self._named_value(function), [self.value(each) for each in given], node)
        raise NotCompiled(f"it has an expression that is not compiled, {shown(node)}")

    def number(self, node: ast.expr) -> Number:
        """The value of an expression that must be a number."""
        return one_number(self.value(node), node)

    def truth(self, node: ast.expr) -> str:
        """Text for whether an expression is true, as ``if`` asks."""
        match node:
            case ast.UnaryOp(ast.Not(), inner):
                return f"(not {self.truth(inner)})"
            case ast.BoolOp(op, [first, *others]):
                found = self._fresh()
                self._write(f"{found} = {self.truth(first)}")
                for other in others:
                    self._write(f"if {found}:" if isinstance(op, ast.And) else f"if not {found}:")
                    self.depth += 1
                    text = self.truth(other)
                    self._write(f"{found} = {text}")
                    self.depth -= 1
                return found
            case ast.Compare(left, [op], [right]):
                return self._compared(op, self.value(left), self.value(right), node)
            case ast.Compare(left, ops, rights):
                return self._chain(self._kept(self.value(left)), ops, rights, node)
        return self._true(self.value(node))

    def _chain(self, one: Value, ops: Sequence[ast.cmpop], rights: Sequence[ast.expr], node: ast.expr) -> str:
        """Neighbours are compared until one comparison is false."""
        found = self._fresh()
        self._write(f"{found} = True")
        for op, right in zip(ops, rights, strict=True):
            self._write(f"if {found}:")
            self.depth += 1
            other = self._kept(self.value(right))
            self._write(f"{found} = {self._compared(op, one, other, node)}")
            one = other
        self.depth -= len(ops)
        return found

    def _choice(self, truth: str, then: Callable[[], Value], otherwise: Callable[[], Value], node: ast.expr) -> Value:
        kept_lines, kept_names = self.lines, self.names
        branches: list[tuple[list[str], Any]] = []
        values = []
        self.depth += 1
        for make in (then, otherwise):
            self.lines, self.names = [], dict(kept_names)
            values.append(make())
            branches.append((self.lines, None))
        self.depth -= 1
        self.lines, self.names = kept_lines, kept_names
        found = self._joined(branches, values)
        if found is None:
            raise NotCompiled(f"the kind of {shown(node)} depends on values")
        self._write(f"if {truth}:")
        self.lines += branches[0][0] or [f"{'    ' * (self.depth + 1)}pass"]
        if branches[1][0]:
            self._write("else:")
            self.lines += branches[1][0]
        return found

    def _and_or(self, both: bool, first: Value, others: Sequence[ast.expr], node: ast.expr) -> Value:
        if not others:
            return first
        first = self._kept(first)

        def rest() -> Value:
            return self._and_or(both, self.value(others[0]), others[1:], node)

        return self._choice(self._true(first), rest if both else lambda: first, (lambda: first) if both else rest, node)

    # Calls.

    def _call(self, function: Any, given: list[Value], node: ast.expr) -> Value:
        if isinstance(function, FunctionType):
            return self._called(function, given)
        if function is len and len(given) == 1 and isinstance(given[0], tuple):
            return constant(len(given[0]))
        if function in (min, max):
            return self._extreme("<" if function is min else ">", given, node)
        numbers = [one_number(each, node) for each in given]
        if function is pow and len(numbers) == 2 and isinstance(node, ast.Call):
            return self._binary(ast.Pow(), numbers[0], numbers[1], node.args[1])
        if len(numbers) == 2 and function in _OPERATORS and isinstance(node, ast.Call):
            return self._binary(_OPERATORS[function], numbers[0], numbers[1], node.args[1])
        if len(numbers) == 1 and (made := self._of_one(function, numbers[0])) is not None:
            return made
        if function is math.pow and len(numbers) == 2:
            return self._power(self.real(numbers[0]), self.real(numbers[1]))
        if function in (math.atan2, math.copysign) and len(numbers) == 2:
            x, y = map(self.real, numbers)
            return self._number("float", f"math.{function.__name__}({x}, {y})")
        raise NotCompiled(f"it calls {shown(node)}")

    def _of_one(self, function: Any, x: Number) -> Number | None:
        floating = x.kind in ("float", "either")
        if x.kind == "none":
            return None
        if function is bool:
            return Number("bool", self._true(x))
        if function is float:
            return Number("float", self.real(x))
        if function is abs:
            return self._number(x.kind, f"abs({x.text})") if floating else \
                self._checked("int", f"magnitude({self.whole(x)})")
        whole = {int: "truncate", round: "round_half_even", math.trunc: "truncate", math.floor: "round_down",
                 math.ceil: "round_up"}.get(function)
        if whole is not None:
            return self._checked("int", f"{whole}({x.text})") if floating else Number("int", self.whole(x))
        name = getattr(function, "__name__", "")
        if getattr(math, name, None) is not function:
            return None
        if name in _OF_ONE:
            return self._checked("float", f"finite(math.{name}({self.real(x)}))")
        if name == "fabs":
            return self._number("float", f"abs({self.real(x)})")
        return self._number("bool", f"math.{name}({self.real(x)})") if name in _ASKED else None

    def _extreme(self, sign: str, given: list[Value], node: ast.expr) -> Value:
        if len(given) == 1 and isinstance(given[0], tuple):
            given = list(given[0])
        if len(given) < 2:
            raise NotCompiled(f"it calls {shown(node)}")
        kept = [one_number(self._kept(each), node) for each in given]
        best = kept[0]
        for other in kept[1:]:
            op = ast.Lt() if sign == "<" else ast.Gt()
            truth = self._compared(op, other, best, node)
            one, two = other, best
            found = self._choice(truth, lambda one=one: one, lambda two=two: two, node)  # type: ignore[misc]
            best = one_number(found, node)
        return best

    def _called(self, function: Any, given: list[Value]) -> Value:
        """A function of the user's is written before this one, for arguments of these kinds."""
        flat = [number for each in given for number in flattened(each)]
        parameters = [f"a{number}" for number in range(len(flat))]
        within = tuple(renamed(given, iter(parameters)))
        known = self.before.get((function, within)) or self._written_before(function, within, parameters)
        made = [self._fresh() for _ in flattened(known.gives)]
        self._write(f"{', '.join([*made, 'asked'])} = {known.name}({', '.join(number.text for number in flat)})")
        self._flag("asked")
        return renamed([known.gives], iter(made))[0]

    def _written_before(self, function: Any, given: tuple[Value, ...], parameters: list[str]) -> WrittenCall:
        kinds: list[Value] = []

        def seen(value: Value) -> list[str]:
            kinds.append(value)
            return ["return"]

        Writer(function, given, seen, self.inside, self.before).write()
        shape = joined_shape(kinds)
        if shape is None:
            raise NotCompiled(f"the kind of what {function.__name__} gives depends on values")
        kinds_of = [each.kind for each in flattened(shape)]

        def leave(value: Value) -> list[str]:
            texts = [writer.as_kind(number, kind) for number, kind in zip(flattened(value), kinds_of, strict=True)]
            return [f"return ({', '.join([*texts, 'bad'])},)"]

        writer = Writer(function, given, leave, self.inside, self.before)
        writer.write()
        name = f"called{len(self.before)}"
        text = "\n".join([f"def {name}({', '.join(parameters)}):", "    bad = False", *writer.lines, ""])
        self.before[function, given] = made = WrittenCall(name, text, shape)
        return made

    def _name(self, name: str) -> Value:
        if name in self.names:
            known = self.names[name]
            if known is None:
                raise NotCompiled(f"the kind of {name} depends on values")
            return known
        found = self._around(name)
        if isinstance(found, tuple):
            return tuple(constant(part) for part in found)
        return constant(found)

    def _named_value(self, node: ast.expr) -> Any:
        match node:
            case ast.Name(name) if name not in self.names:
                return self._around(name)
            case ast.Attribute(ast.Name(module), name) if module not in self.names and self._around(module) is math:
                return getattr(math, name, None)
        raise NotCompiled(f"it calls or reads {shown(node)}")

    def _around(self, name: str) -> Any:
        function = self.function
        if name in self.local:
            raise NotCompiled(f"{name} may be without a value")
        if name in function.__code__.co_freevars:
            cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
            try:
                return cell.cell_contents
            except ValueError:
                raise NotCompiled(f"{name} has no value") from None
        if name in function.__globals__:
            return function.__globals__[name]
        if not hasattr(builtins, name):
            raise NotCompiled(f"{name} has no value")
        return getattr(builtins, name)
