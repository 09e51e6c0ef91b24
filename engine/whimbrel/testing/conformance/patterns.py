"""Translate the patterns of cases: regular expressions with a register."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa

import whimbrel as wb
from whimbrel.errors import WhimbrelError
from whimbrel.expr import Expr, type_of
from whimbrel.testing.conformance.case import UnsupportedError
from whimbrel.testing.conformance.expressions import translate, translate_condition
from whimbrel.testing.conformance.payload_shape import Tree, flatten, names, transform

Form = Mapping[str, Any]


def register_shape(form: Form, initial: Any, known: Mapping[str, Tree]) -> Tree:
    """What the register looks like: a tree of values or, where it begins as null, of the expressions it gets."""
    updates = [] if initial is not None else _updates(form)
    for text in updates:
        made = translate(text, {**known, "r": _ANYTHING})
        if isinstance(made, dict | list) and made is not _ANYTHING:
            return made
    return _Given(known, tuple(updates)) if updates else initial


@dataclass(frozen=True)
class _Given:
    """A register that is one value and begins as null: what it is given by and by."""

    event: Mapping[str, Tree]
    updates: tuple[str, ...]

    def type_in(self, stream: wb.Stream) -> pa.DataType:
        """The type that all updates keep, supposing that the register has it."""
        for supposed in (pa.int64(), pa.float64(), pa.string(), pa.bool_()):
            known = {**self.event, "r": wb.lit(None).cast(supposed)}
            if all(_type(translate(text, known), stream) == supposed for text in self.updates):
                return supposed
        raise UnsupportedError(f"a register that is given {' and '.join(self.updates)}")


def beginning(shape: Tree, stream: wb.Stream) -> dict[str, Any]:
    """The registers of a run at its begin: their values, or the types of those that are null."""
    return {name: leaf.type_in(stream) if isinstance(leaf, _Given) else
            (_type(leaf, stream) or pa.string()) if isinstance(leaf, Expr) else leaf
            for name, leaf in flatten(shape, "r").items()}


def pattern(form: Form, event: Mapping[str, Tree], register: Tree) -> Any:
    """The pattern, over what names stand for in an event, and a register of this shape."""
    known = {**event, "r": transform(names(register, "r"), wb.register)}

    def inner(of: Form) -> Any:
        if len(of.keys() - ({"acc"} if of.keys() & {"elem", "any"} else ())) != 1:
            raise UnsupportedError(f"pattern {'/'.join(of)}")
        match dict(of):
            case {"seq": parts}:
                return reduce(lambda left, right: left.then(right), map(inner, _that_consume(parts)))
            case {"or": parts}:
                either = reduce(lambda left, right: left | right, map(inner, _that_consume(parts)))
                return either if _that_consume(parts) == parts else either.optional()
            case {"opt": part}:
                return inner(part).optional()
            case {"plus": part}:
                return inner(part).repeat()
            case {"star": part}:
                return inner(part).repeat(0)
            case {"all": condition} | {"list": condition}:
                return _all_at_once(ast.parse(condition, mode="eval").body, {"e": event["x"]})
            case {"any": _, **more}:
                return inner({"elem": "True", **more})
            case {"elem": condition, **more}:
                updates = flatten(translate(more["acc"], known), "r") if "acc" in more else {}
                return wb.event(translate_condition(condition, known), **updates)
        raise UnsupportedError(f"pattern {'/'.join(of)}")

    return inner(form)


def _that_consume(parts: Sequence[Form]) -> list[Form]:
    """Without those of no event at all."""
    return [part for part in parts if "eps" not in part]


def _all_at_once(condition: ast.expr, known: Mapping[str, Tree]) -> Any:
    """``any(...)``, ``all(...)`` or ``not any(...)`` over the events of one time."""
    match condition:
        case ast.UnaryOp(ast.Not(), ast.Call(ast.Name("any"), [inside])):
            return wb.simultaneous(none=translate(ast.unparse(inside), known))
        case ast.Call(ast.Name("any"), [inside]):
            return wb.simultaneous(any=translate(ast.unparse(inside), known))
        case ast.Call(ast.Name("all"), [inside]):
            return wb.simultaneous(all=translate(ast.unparse(inside), known))
        case ast.Compare(ast.Call(ast.Name("len")), [ast.Eq()], [ast.Constant(int(number))]):
            return wb.simultaneous(min=number, max=number)
    raise UnsupportedError(f"all of a time: {ast.unparse(condition)}")


class _Anything(dict[str, Any]):
    """Stands for a register whose shape is not known yet: whatever is asked of it is text."""

    def __missing__(self, name: str) -> Any:
        return wb.lit("")

    def is_not_null(self) -> Expr:
        return wb.lit(True)

    def fill_null(self, value: Any) -> Any:
        return value

    def values(self) -> Any:
        return [self]


_ANYTHING = _Anything()


def _updates(form: Any) -> list[str]:
    parts = form if isinstance(form, list) else form.values() if isinstance(form, Mapping) else []
    mine = [form["acc"]] if isinstance(form, Mapping) and "acc" in form else []
    return mine + [text for part in parts for text in _updates(part)]


def _type(leaf: Expr, stream: wb.Stream) -> pa.DataType | None:
    try:
        return type_of(leaf, stream.schema)
    except WhimbrelError:
        return None
