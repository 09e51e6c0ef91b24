"""Find the source of a Python function, and check its bytecode."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

Written = ast.Lambda | ast.FunctionDef


def written(function: FunctionType) -> Written | None:
    """How a function is written; None where its text is not at hand, or is another by now.

    The text is compiled once more, and must give the very code that the function has.
    """
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        return None
    try:
        functions, codes = _module("".join(lines))
    except (SyntaxError, ValueError):
        return None
    if code not in codes:
        return None
    found = [node for node in functions if _holds(node, code)]
    return max(found, key=lambda node: _span(node)[0], default=None)  # of functions around it the innermost


def call_of(function: Callable[..., Any], arguments: int) -> tuple[FunctionType, ast.Lambda]:
    """A function that only calls one of Python's own, such as ``max``, and how it is written."""
    given = [ast.Name(f"a{number}", ast.Load()) for number in range(arguments)]
    parameters = ast.arguments(posonlyargs=[], args=[ast.arg(each.id) for each in given], kwonlyargs=[],
                               kw_defaults=[], defaults=[])
    node = ast.Lambda(parameters, ast.Call(ast.Name(function.__name__, ast.Load()), list(given), []))
    module = compile(ast.fix_missing_locations(ast.Expression(node)), "<call>", "eval")
    code = next(part for part in module.co_consts if isinstance(part, CodeType))
    return FunctionType(code, {function.__name__: function}), node


@functools.lru_cache(maxsize=16)
def _module(text: str) -> tuple[list[Written], frozenset[CodeType]]:
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, Written)]
    return functions, frozenset(_codes(compile(text, "<text>", "exec", dont_inherit=True)))


def _codes(code: CodeType) -> list[CodeType]:
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return [code, *(found for part in inner for found in _codes(part))]


def _holds(node: Written, code: CodeType) -> bool:
    """Whether all instructions of the code lie within a function of this name."""
    if (node.name if isinstance(node, ast.FunctionDef) else "<lambda>") != code.co_name:
        return False
    first, last = _span(node)
    positions = [((line, begin), (until, end)) for line, until, begin, end in list(code.co_positions())
              if line is not None and until is not None and begin is not None and end is not None
              and (line, begin, end) != (code.co_firstlineno, 0, 0)]
    return bool(positions) and all(first <= begin and end <= last for begin, end in positions)


def _span(node: Written) -> tuple[tuple[int, int], tuple[int, int]]:
    body = node.body
    begin, last = (body, body) if isinstance(body, ast.expr) else (body[0], body[-1])
    assert last.end_lineno is not None
    assert last.end_col_offset is not None
    return (begin.lineno, begin.col_offset), (last.end_lineno, last.end_col_offset)
