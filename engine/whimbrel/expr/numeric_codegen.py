"""Generate scalar Python for functions of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyarrow import types as t

from whimbrel.expr.nodes import Binary
from whimbrel.expr.number_loops import C_FUNCTIONS
from whimbrel.expr.numeric_functions import literal_exponent

_POWERS = {0.5: "half_power", 2.0: "square", 3.0: "cube", 4.0: "fourth_power"}


def function_source(function: str, x: str, argument: pa.DataType, result: pa.DataType) -> str:
    """Text of a function of one number: ``sqrt``, ``sign``, or one of the C library."""
    if function == "sqrt":
        return at_precision(f"square_root({x})", result)
    if function == "sign" and t.is_integer(argument):
        return f"int_sign_of({x})"
    name = "sign_of" if function == "sign" else f"c_{function}"
    assert function == "sign" or function in C_FUNCTIONS
    return at_precision(f"{name}({_double(x, result)})", result)


def power_source(expr: Binary, x: str, y: str, result: pa.DataType) -> str:
    """Text of a power of floats."""
    exponent = literal_exponent(expr)
    known = None if exponent is None else _POWERS.get(exponent)
    text = f"{known}({_double(x, result)})" if known else f"c_pow({_double(x, result)}, {_double(y, result)})"
    return at_precision(text, result)


def extreme_source(function: str, parts: Sequence[tuple[str, str | None]], zero: str) -> tuple[str, str | None]:
    """Texts of the value and the validity of ``greatest`` or ``least``; `zero` stands for what is null."""
    name = {"greatest": "greater", "least": "lesser"}[function]
    (value, valid), *others = parts
    for other, other_valid in others:
        if valid is None and other_valid is None:
            value = f"{name}_of({value}, {other})"
            continue
        x, y = (text if there is None else f"({text} if {there} else {zero})"
                for text, there in ((value, valid), (other, other_valid)))
        value = f"{name}_present({x}, {valid or 'True'}, {y}, {other_valid or 'True'})"
        valid = f"({valid} or {other_valid})" if valid and other_valid else None
    return value, valid


def at_precision(text: str, result: pa.DataType) -> str:
    """A value computed in double precision, rounded once if the result is float32."""
    return f"np.float32({text})" if t.is_float32(result) else text


def _double(text: str, type_: pa.DataType) -> str:
    return f"np.float64({text})" if t.is_float32(type_) else text
