"""Refuse what Python does with collections, which a stream is not."""

from __future__ import annotations

from typing import Any, NoReturn

from whimbrel.errors import CallError
from whimbrel.expr import Expr


def has_no_length(stream: Any) -> NoReturn:
    """The ``__len__`` of a stream."""
    raise CallError("A stream has no length, because it is a query.", where="len(stream)",
                    hint="Use stream.collect().num_rows, or aggregate(n=wb.count()) for counts.")


def has_no_items(stream: Any, index: Any) -> NoReturn:
    """The ``__getitem__`` of a stream; without an ``__iter__``, a loop over it asks for item 0."""
    if isinstance(index, Expr):
        raise CallError("A stream has no items, because it is a query.", where=f"stream[{index.show()}]",
                        hint=f"Use stream.where({index.show()}).")
    hint = "Use stream.collect().to_pylist(), stream.head(10), or stream.start(sink=...) for rows as they come."
    names = [index] if isinstance(index, str) else index if isinstance(index, list | tuple) else []
    if names and all(isinstance(each, str) for each in names):
        chosen = ", ".join(f'"{each}"' for each in names)
        hint = f"Use stream.select({chosen}), or stream.collect().select([{chosen}]) for values."
        if isinstance(index, str):
            hint = f'Use stream.select({chosen}), col["{index}"] in an expression, or stream.collect()[{chosen}].'
    raise CallError("A stream has no items, because it is a query.", where=f"stream[{index!r}]", hint=hint)


def is_true(stream: Any) -> bool:
    """The ``__bool__`` of a stream; Python asks for its length otherwise."""
    return True
