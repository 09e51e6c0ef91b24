"""The PATTERN of MATCH_RECOGNIZE: variables, and how often they match."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlglot.tokens import TokenType

from whimbrel.expr import Binary, Expr, Lit, Unary
from whimbrel.sql.positions import SqlText
from whimbrel.sql.refusals import refusal

_COUNTS: Final = {"?": (0, 1), "*": (0, None), "+": (1, None)}
_BOUNDS: Final = re.compile(r"(?=.*[0-9])([0-9]{0,4})(,?)([0-9]{0,4})")

_FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_EXCLUDED: Final = (("<", ">"), ("<", ">="), ("<", "=="), ("<=", ">"), (">", "=="), ("==", "!="))


@dataclass(frozen=True)
class Element:
    """One variable of a pattern.

    Parameters
    ----------
    name : str
    minimum : int
    maximum : int or None
        None: without a bound.
    start, stop : int
        Its place in the text.
    """

    name: str
    minimum: int
    maximum: int | None
    start: int
    stop: int

    @property
    def varies(self) -> bool:
        """Whether it may match more or fewer events."""
        return self.maximum != self.minimum


def elements_of(tokens: Sequence[Any], text: SqlText) -> list[Element]:
    """The variables of a pattern; what is no plain sequence of them is refused."""
    found: list[Element] = []
    number = 0
    while number < len(tokens):
        token = tokens[number]
        if not token.text.isidentifier() or token.token_type == TokenType.STRING:
            what, hint = refusal("pattern form", text=token.text)
            raise text.error_at(what, token.start, token.end + 1, hint)
        minimum, maximum, used = _count(tokens[number + 1 :], text)
        last = tokens[number + used]
        found.append(Element(token.text, minimum, maximum, token.start, last.end + 1))
        number += used + 1
    return found


def _count(tokens: Sequence[Any], text: SqlText) -> tuple[int, int | None, int]:
    """How often the variable before these tokens matches, and the number of tokens that say so."""
    if not tokens:
        return 1, 1, 0
    minimum: int
    maximum: int | None
    if tokens[0].text in _COUNTS:
        (minimum, maximum), used = _COUNTS[tokens[0].text], 1
    elif tokens[0].token_type == TokenType.L_BRACE:
        words = [each.text for each in tokens[1:5]]
        used = words.index("}") + 2 if "}" in words else 0
        bounds = _BOUNDS.fullmatch("".join(words[: used - 2])) if used else None
        if bounds is None:
            raise text.error_at("Braces in a pattern hold counts.", tokens[0].start, tokens[0].end + 1,
                                "Use {2}, {2,} or {2,5}.")
        low, comma, high = bounds.groups()
        minimum = int(low or 0)
        maximum = int(high) if high else None if comma else minimum
        if (maximum is not None and maximum < max(minimum, 1)) or minimum > 60:
            raise text.error_at("Counts of a pattern are from small to large, and at most 60.", tokens[0].start,
                                tokens[used - 1].end + 1, "Use {2}, {2,} or {2,5}.")
    else:
        return 1, 1, 0
    if len(tokens) > used and tokens[used].text == "?":
        what, hint = refusal("reluctant")
        raise text.error_at(what, tokens[0].start, tokens[used].end + 1, hint)
    return minimum, maximum, used


def ambiguous(elements: Sequence[Element], conditions: Callable[[str], Expr]) -> tuple[Element, Element] | None:
    """Two variables that may both match one event, where that leaves open which of them does; None if nothing does.

    With at most one variable that varies, the begin and the number of events say which event each variable has.
    Otherwise variables that may come next must have conditions that exclude each other.
    """
    if sum(each.varies for each in elements) <= 1:
        return None
    for one, other in _rivals(elements):
        if one.name == other.name or not exclude(conditions(one.name), conditions(other.name)):
            return one, other
    return None


def _rivals(elements: Sequence[Element]) -> Iterator[tuple[Element, Element]]:
    """Pairs of variables between which an event may have the choice."""
    for number, element in enumerate(elements):
        if not element.varies:
            continue
        for following in elements[number + 1 :]:
            yield element, following
            if following.minimum:
                break


def exclude(one: Expr, other: Expr) -> bool:
    """Whether two conditions are known to be never true together."""
    return any(_contradict(first, second) for first in _parts(one) for second in _parts(other))


def _parts(expr: Expr) -> list[Expr]:
    if isinstance(expr, Binary) and expr.op == "&":
        return [*_parts(expr.left), *_parts(expr.right)]
    return [expr]


def _contradict(one: Expr, other: Expr) -> bool:
    for first, second in ((one, other), (other, one)):
        if isinstance(first, Unary) and first.op == "~" and first.x.show() == second.show():
            return True
    if not (isinstance(one, Binary) and isinstance(other, Binary) and one.op in _FLIPPED and other.op in _FLIPPED):
        return False
    left, op, right = _ordered(one)
    left2, op2, right2 = _ordered(other)
    if left.show() != left2.show():
        return False
    if right.show() == right2.show():
        return (op, op2) in _EXCLUDED or (op2, op) in _EXCLUDED
    if not (isinstance(right, Lit) and isinstance(right2, Lit)):
        return False
    try:
        return _apart(op, right.value, op2, right2.value) or _apart(op2, right2.value, op, right.value)
    except TypeError:
        return False


def _ordered(expr: Binary) -> tuple[Expr, str, Expr]:
    """A comparison with its literal on the right."""
    if isinstance(expr.left, Lit):
        return expr.right, _FLIPPED[expr.op], expr.left
    return expr.left, expr.op, expr.right


def _apart(op: str, value: Any, other: str, bound: Any) -> bool:
    """Whether ``x <op> value`` is below everything for which ``x <other> bound``."""
    if op == other == "==":
        return bool(value != bound)
    return bool(op in ("<", "<=", "==") and other in (">", ">=", "==") and value < bound)
