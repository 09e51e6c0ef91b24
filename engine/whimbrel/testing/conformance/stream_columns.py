"""A stream of a case, and the columns of its payload."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import whimbrel
from whimbrel import col
from whimbrel.expr import Expr
from whimbrel.stream import Stream
from whimbrel.testing.conformance.case import UnsupportedError
from whimbrel.testing.conformance.expressions import translate, translate_condition, translate_list
from whimbrel.testing.conformance.payload_shape import Tree, flatten, names, transform

PARTITION = "partition"
"""The column that names the partition of a row."""


@dataclass(frozen=True)
class Flow:
    """A stream, and where in its columns the payload of the case lies.

    Parameters
    ----------
    stream : Stream
    payload : tree of names of columns
    keys : tuple of str
        Columns of the groups, outermost first, that every step keeps.
    key : tree of names of columns
        The key of the innermost group.
    ranked : str
        The column with their ranks where rows stand for the items of lists of ranked payloads.
    """

    stream: Stream
    payload: Tree
    keys: tuple[str, ...] = ()
    key: Tree = None
    ranked: str = ""

    def values(self, payload: Tree | None = None) -> Tree:
        """The payload as a tree of expressions."""
        return transform(self.payload if payload is None else payload, col)

    def translate(self, text: str, **more: Tree) -> Tree:
        """An expression over this stream."""
        return translate(text, self.named(**more))

    def holds(self, text: str) -> Expr:
        """A condition over this stream."""
        return translate_condition(text, self.named())

    def listed(self, text: str) -> Expr:
        """An expression over this stream that is a list of any length."""
        return translate_list(text, self.named())

    def named(self, **more: Tree) -> Mapping[str, Tree]:
        """What names stand for in expressions over this stream."""
        key = PARTITION if self.key is None and PARTITION in self.keys else self.key
        keyed = {} if key is None else {"key": self.values(key)}
        return {"x": self.values(), **_TIMES, **keyed, **more}

    def select(self, payload: Tree) -> Flow:
        """With another payload, given as a tree of expressions."""
        columns = flatten(payload, "x") or {"nothing": whimbrel.lit(True)}
        stream = self.call("select", *self.keys, **columns)
        return replace(self, stream=stream, payload=names(payload, "x"))

    def call(self, method: str, *arguments: Any, **options: Any) -> Stream:
        """A method of the stream, per key where there are keys."""
        grouped = {name for name, _ in self.stream.keys}
        missing = [key for key in self.keys if key not in grouped]
        return call(self.stream.group_by(*missing) if missing else self.stream, method, *arguments, **options)

    def moved(self, method: str, *arguments: Any, **options: Any) -> Flow:
        """With other lifetimes."""
        return replace(self, stream=self.call(method, *arguments, **options))


_TIMES = {"vs": whimbrel.start_time(), "ve": whimbrel.end_time()}


def call(stream: Stream, name: str, *arguments: Any, **options: Any) -> Stream:
    """A method of a stream, if there is one that takes these options."""
    method = getattr(stream, name, None)
    if method is None:
        raise UnsupportedError(name)
    known = inspect.signature(method).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values())
    for option in options:
        if option not in known and not takes_any:
            raise UnsupportedError(f"{name}({option}=)")
    return method(*arguments, **options)
