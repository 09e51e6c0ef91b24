"""Functions of texts, by the parser's node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sqlglot import exp

from whimbrel.expr import Expr, Lit, when
from whimbrel.sql.scope import NameScope

Scalar = Callable[[Any, NameScope], Expr]

_TRIMS: Final = {"": "strip", "BOTH": "strip", "LEADING": "lstrip", "TRAILING": "rstrip"}


def text_function(node: Any, scope: NameScope, scalar: Scalar) -> Expr | None:
    """The expression of a function of texts; None if the node is none."""
    def value() -> Any:
        return scalar(node.this, scope).str

    def argument(key: str) -> Any:
        if node.args.get(key) is None:
            raise scope.binder.text.error("This function needs more arguments.", node,
                                          "See the functions in docs/sql.md.")
        return node.args[key]

    def words(key: str) -> str:
        return literal_text(argument(key), scope, scalar)

    def whole(key: str) -> int:
        return literal_whole(argument(key), scope, scalar)

    match node:
        case exp.Substring():
            length = None if node.args.get("length") is None else whole("length")
            return value().slice(*_bounds(whole("start"), length, node, scope))
        case exp.Left():
            return value().slice(0, whole("expression"))
        case exp.Right():
            count = whole("expression")
            return value().slice(-count) if count else value().slice(0, 0)
        case exp.Trim():
            characters = words("expression") if node.args.get("expression") is not None else " "
            return getattr(value(), _TRIMS[str(node.args.get("position") or "").upper()])(characters)
        case exp.Replace():
            old, new = words("expression"), words("replacement") if node.args.get("replacement") else ""
            return value().replace(old, new) if old else value().slice(0)
        case exp.SplitPart():
            return value().split_part(words("delimiter"), whole("part_index"))
        case exp.Pad():
            width = whole("expression")
            fill = words("fill_pattern") if node.args.get("fill_pattern") else " "
            kept = value().slice(0, width).str
            return kept.pad_start(width, fill) if node.args.get("is_left") else kept.pad_end(width, fill)
        case exp.Reverse():
            return value().reverse()
        case exp.Repeat():
            return value().repeat(whole("times"))
        case exp.RegexpReplace():
            flags = words("position") if node.args.get("position") else ""
            if flags not in ("", "g"):
                raise scope.binder.text.error("regexp_replace has the option 'g' only.", node,
                                              "Write (?i) at the beginning of the pattern to ignore case.")
            return value().replace(words("expression"), words("replacement"), regex=True,
                                   count=None if flags == "g" else 1)
        case exp.RegexpExtract():
            group = whole("position") if node.args.get("position") else 0
            found = value().extract(words("expression"), group)
            return when(scalar(node.this, scope).is_null()).then(Lit(None)).otherwise(found.fill_null(""))
        case _:
            return None


def literal_text(node: Any, scope: NameScope, scalar: Scalar) -> str:
    """The text that an argument is."""
    found = scalar(node, scope)
    if isinstance(found, Lit) and isinstance(found.value, str):
        return found.value
    raise scope.binder.text.error("This function needs a literal text.", node, "Write the text in quotes.")


def literal_whole(node: Any, scope: NameScope, scalar: Scalar) -> int:
    """The integer that an argument is."""
    found = scalar(node, scope)
    if isinstance(found, Lit) and isinstance(found.value, int):
        return found.value
    raise scope.binder.text.error("This function needs a literal integer.", node, "Write the number.")


def _bounds(start: int, length: int | None, node: Any, scope: NameScope) -> tuple[int, int | None]:
    """A slice of Python for a place from 1, or from the end below 0, and a length."""
    if length is not None and length < 0:
        raise scope.binder.text.error("A length is not negative.", node, "Write a length from 0.")
    if start > 0:
        return start - 1, None if length is None else start - 1 + length
    if start == 0:  # the place before the first one counts
        return 0, None if length is None else max(length - 1, 0)
    return start, None if length is None or start + length >= 0 else start + length
