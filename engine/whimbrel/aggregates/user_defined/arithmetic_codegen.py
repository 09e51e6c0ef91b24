"""Generate arithmetic on numbers of known kinds, identical to Python's."""

from __future__ import annotations

import ast

from whimbrel.aggregates.user_defined.value_kinds import (
    Kind,
    NotCompiled,
    Number,
    Value,
    one_number,
    shown,
    whole_number,
)
from whimbrel.kernels import has_power

_ARITHMETIC: dict[type[ast.operator], str] = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply"}
_SIGNS: dict[str, str] = {"add": "+", "subtract": "-", "multiply": "*"}
_DIVISIONS: dict[type[ast.operator], str] = {ast.Div: "divide", ast.FloorDiv: "floor_divide", ast.Mod: "modulo"}
_BITS: dict[type[ast.operator], str] = {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}
_SHIFTS: dict[type[ast.operator], str] = {ast.LShift: "shift_left", ast.RShift: "shift_right"}
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


class Arithmetic:
    """Writes lines that compute one number of others.

    Attributes
    ----------
    lines : list of str
    flagged : bool
        Whether some line may ask for Python.
    depth : int
        How far lines are indented.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.flagged = False
        self.temporary = 0
        self.depth = 0

    def _true(self, value: Value) -> str:
        if isinstance(value, tuple):
            return str(bool(value))
        zero = {"int": "0", "float": "0.0", "either": "0.0"}
        return {"bool": value.text, "none": "False"}.get(value.kind) or f"({value.text} != {zero[value.kind]})"

    def _compared(self, op: ast.cmpop, left: Value, right: Value, node: ast.expr) -> str:
        nones = [isinstance(each, Number) and each.kind == "none" for each in (left, right)]
        if any(nones):
            if isinstance(op, ast.Is | ast.Eq):
                return str(all(nones))
            if isinstance(op, ast.IsNot | ast.NotEq):
                return str(not all(nones))
        if isinstance(op, ast.In | ast.NotIn) and isinstance(right, tuple):
            tests = [self._compared(ast.Eq(), left, each, node) for each in right]
            found = f"({' or '.join(tests)})" if tests else "False"
            return found if isinstance(op, ast.In) else f"(not {found})"
        if type(op) not in _COMPARED:
            raise NotCompiled(f"it compares otherwise, {shown(node)}")
        one, other = one_number(left, node), one_number(right, node)
        kinds = {one.kind, other.kind}
        if kinds <= {"int", "bool"}:
            texts = (one.text, other.text) if kinds != {"int", "bool"} else (self.whole(one), self.whole(other))
        else:
            texts = (self.exactly(one), self.exactly(other))
        return f"({texts[0]} {_COMPARED[type(op)]} {texts[1]})"

    def _unary(self, op: ast.unaryop, x: Number) -> Number:
        if isinstance(op, ast.Invert) and x.kind in ("int", "bool"):
            return self._number("int", f"~{self.whole(x)}")
        if not isinstance(op, ast.USub | ast.UAdd) or x.kind == "none":
            raise NotCompiled("it inverts a value other than an integer")
        if x.kind in ("float", "either"):
            return x if isinstance(op, ast.UAdd) else self._number(x.kind, f"-{x.text}")
        x = Number("int", self.whole(x))
        if isinstance(op, ast.UAdd):
            return x
        literal = x.text.isdigit()
        return Number("int", f"(-{x.text})") if literal else self._checked("int", f"negate({x.text})")

    def _binary(self, op: ast.operator, left: Value, right: Value, written_right: ast.expr) -> Value:
        if isinstance(left, tuple) or isinstance(right, tuple):
            if isinstance(op, ast.Add) and isinstance(left, tuple) and isinstance(right, tuple):
                return left + right
            raise NotCompiled("it computes with a tuple")
        kinds = {left.kind, right.kind}
        if "none" in kinds:
            raise NotCompiled("it computes with None")
        if kinds <= {"int", "bool"}:
            return self._of_ints(op, left, right, written_right)
        if "either" in kinds and "float" not in kinds:
            return self._of_either(op, left, right)
        x, y = self.real(left), self.real(right)
        if type(op) in _ARITHMETIC:
            return self._number("float", f"{x} {_SIGNS[_ARITHMETIC[type(op)]]} {y}")
        if type(op) in _DIVISIONS:
            return self._checked("float", f"{_DIVISIONS[type(op)]}({x}, {y})")
        if isinstance(op, ast.Pow):
            return self._power(x, y)
        raise NotCompiled("it computes with the bits of a float")

    def _of_ints(self, op: ast.operator, left: Number, right: Number, written_right: ast.expr) -> Number:
        kind = type(op)
        if kind in _BITS:
            if {left.kind, right.kind} == {"bool"}:
                return self._number("bool", f"{left.text} {_BITS[kind]} {right.text}")
            return self._number("int", f"{self.whole(left)} {_BITS[kind]} {self.whole(right)}")
        x, y = self.whole(left), self.whole(right)
        if kind in _ARITHMETIC:
            return self._checked("int", f"{_ARITHMETIC[kind]}({x}, {y})")
        if kind is ast.Div:
            return self._checked("float", f"divide_ints({x}, {y})")
        if kind in _DIVISIONS:
            return self._checked("int", f"{_DIVISIONS[kind]}_ints({x}, {y})")
        if kind in _SHIFTS:
            return self._checked("int", f"{_SHIFTS[kind]}({x}, {y})")
        exponent = whole_number(written_right)
        if kind is not ast.Pow or exponent is None:
            raise NotCompiled("the kind of an integer's power depends on the exponent")
        if exponent < 0:
            return self._power(self.real(left), self.real(right))
        return self._repeated(x, exponent)

    def _repeated(self, x: str, exponent: int) -> Number:
        if exponent > 64:
            raise NotCompiled("an exponent is large")
        result = Number("int", "1")
        base = Number("int", x)
        while exponent:
            if exponent & 1:
                result = base if result.text == "1" else self._checked("int", f"multiply({result.text}, {base.text})")
            exponent >>= 1
            if exponent:
                base = self._checked("int", f"multiply({base.text}, {base.text})")
        return result

    def _of_either(self, op: ast.operator, left: Number, right: Number) -> Number:
        """Ints and floats alike are floats here, as long as both are exact; if they are not, Python is asked."""
        x, y = self.exactly(left), self.exactly(right)
        if type(op) in _ARITHMETIC:
            made = self._number("either", f"{x} {_SIGNS[_ARITHMETIC[type(op)]]} {y}")
            self._flag(f"abs({made.text}) > {2.0**53}")
            return made
        if isinstance(op, ast.Div):
            return self._checked("float", f"divide({x}, {y})")
        if type(op) in _DIVISIONS:
            return self._checked("either", f"{_DIVISIONS[type(op)]}({x}, {y})")
        raise NotCompiled("it computes with the bits, or a power, of what may be an int or a float")

    def _power(self, x: str, y: str) -> Number:
        if not has_power():
            raise NotCompiled("powers of floats are those of the C library, which was not found")
        return self._checked("float", f"power({x}, {y})")

    def whole(self, x: Number) -> str:
        """Text for an int or a bool as an int."""
        return x.text if x.kind == "int" else f"(1 if {x.text} else 0)"

    def real(self, x: Number) -> str:
        """Text for a number as the float that Python makes of it."""
        if x.kind == "none":
            raise NotCompiled("it computes with None")
        if x.kind in ("float", "either"):
            return x.text
        return f"float({x.text})" if x.kind == "int" else f"(1.0 if {x.text} else 0.0)"

    def exactly(self, x: Number) -> str:
        """Text for a number as a float that is the same number; else Python is asked."""
        if x.kind != "int" or (x.text.strip("(-)").isdigit() and int(x.text.strip("(-)")) <= 2**53):
            return self.real(x)
        return self._checked("float", f"exact({x.text})").text

    def as_kind(self, x: Number, kind: Kind) -> str:
        if x.kind == kind:
            return x.text
        if kind == "int":
            return self.whole(x)
        if kind == "either" and x.kind != "none":
            return self.exactly(x)
        if kind == "float" and x.kind != "none":
            return self.real(x)
        raise NotCompiled("the kind of a value depends on values")

    def _kept(self, value: Value) -> Value:
        """A value under a name that nothing else is assigned to."""
        if isinstance(value, tuple):
            return tuple(self._kept(part) for part in value)
        return value if value.kind == "none" else self._number(value.kind, value.text)

    def _number(self, kind: Kind, text: str) -> Number:
        name = self._fresh()
        self._write(f"{name} = {text}")
        return Number(kind, name)

    def _checked(self, kind: Kind, call: str) -> Number:
        name = self._fresh()
        self._write(f"{name}, asked = {call}")
        self._flag("asked")
        return Number(kind, name)

    def _flag(self, test: str) -> None:
        self.flagged = True
        self._write(f"bad = bad | ({test})")

    def _fresh(self) -> str:
        self.temporary += 1
        return f"t{self.temporary}"

    def _write(self, *lines: str) -> None:
        self.lines += ["    " * (self.depth + 1) + line for line in lines]
