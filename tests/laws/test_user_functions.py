"""Random functions of users say in every tier what Python says when it calls them, and fail alike."""

from __future__ import annotations

import itertools
import linecache
import math
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import ExpressionError, KernelError
from whimbrel.kernels import tier

TIERS = ("interpreted", "primitives", "fused")
NUMBERS = ["0", "1", "2", "3", "-1", "7", "0.5", "-2.5", "1e3", "4611686018427387904", "True"]
_names = itertools.count()


def terms(leaves: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def grown(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.builds("({} {} {})".format, parts, st.sampled_from(["+", "-", "*", "/", "//", "%"]), parts),
            st.builds("({} ** {})".format, parts, st.sampled_from(["2", "-1", "0.5", "3"])),
            st.builds("({} {} {})".format, parts, st.sampled_from(["<", "<=", "==", "!=", ">"]), parts),
            st.builds("({}({}))".format, st.sampled_from(["abs", "int", "float", "bool", "round", "-", "not "]), parts),
            st.builds("{}({})".format, st.sampled_from(["math.sqrt", "math.log", "math.floor", "math.exp"]), parts),
            st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), parts, parts),
            st.builds("({} if {} else {})".format, parts, parts, parts),
            st.builds("({} {} {})".format, parts, st.sampled_from(["and", "or"]), parts))

    return st.recursive(leaves, grown, max_leaves=6)


def function(text: str) -> Any:
    """A function of this text, which can be read where it was written, as those of a notebook can."""
    file = f"<law {next(_names)}>"
    linecache.cache[file] = (len(text), None, [text], file)
    return eval(compile(text, file, "eval"), {"math": math})


def of_python(accumulate: Any, result: Any, init: Any, values: list[Any]) -> tuple[str, Any]:
    """What the functions give when they are called: a value, or the kind of failure."""
    state = init
    for value in values:
        try:
            state = accumulate(state, value)
        except (ArithmeticError, ValueError, TypeError) as error:
            return "fails", type(error).__name__
        if isinstance(state, complex):
            return "fails", "complex"
        if type(state) is int and not -(2**63) <= state < 2**63:
            return "fails", "leaves int64"
    try:
        value = result(state)
    except (ArithmeticError, ValueError, TypeError) as error:
        return "fails", type(error).__name__
    return ("fails", "complex") if isinstance(value, complex) else ("gives", value)


@given(st.data())
def test_every_tier_says_what_python_says(data: st.DataObject) -> None:
    number = st.sampled_from(NUMBERS)
    accumulate = function(f"lambda s, x: {data.draw(terms(st.sampled_from(['s', 's', 'x', 'x']) | number))}")
    result = function(f"lambda s: {data.draw(terms(st.just('s') | number))}")
    init = data.draw(st.sampled_from([0, 1, -3, 0.0, 1.5]))
    kinds: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
        (pa.int64(), st.integers(-(2**63), 2**63 - 1) | st.integers(-4, 4)), (pa.bool_(), st.booleans()),
        (pa.float64(), st.floats(width=64) | st.sampled_from([0.0, -1.0, 2.5]))]
    type_, strategy = data.draw(st.sampled_from(kinds))
    values = data.draw(st.lists(strategy, min_size=1, max_size=4))
    log = wb.from_arrow({"at": range(len(values)), "x": pa.array(values, type_)}, time="at")
    mine = wb.aggregate(init=init, accumulate=accumulate, result=result, name="mine")
    verdict, right = of_python(accumulate, result, init, values)
    said: list[tuple[str, str]] = []
    for name in TIERS:
        with tier(name):  # type: ignore[arg-type]
            try:
                answer = log.tumbling_window(1000).aggregate(v=mine(col.x)).collect()["v"]
            except KernelError as error:
                said.append(("fails", error.what))
            except ExpressionError:  # of ordinary values it makes nothing, or what it makes has no one type
                return
            else:
                said.append(("gives", repr(answer[0].as_py())))
                if verdict == "gives" and not _leaves(right, answer.type):
                    shown = pa.scalar(right if answer.type != pa.float64() or right is None else float(right),
                                      answer.type).as_py()
                    assert said[-1][1] == repr(shown)
    assert said == said[:1] * 3
    if verdict == "fails":
        assert said[0][0] == "fails", right


def _leaves(value: Any, type_: pa.DataType) -> bool:
    """Whether a result is no value of the type that was foreseen, which is an error of its own."""
    try:
        pa.scalar(float(value) if type_ == pa.float64() and value is not None else value, type_)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError):
        return True
    return False
