"""The PATTERN of MATCH_RECOGNIZE: variables, groups, alternatives and quantifiers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Final

from sqlglot.tokens import TokenType

from whimbrel.operators.patterns.pattern import Pattern
from whimbrel.sql.positions import SqlText
from whimbrel.sql.refusals import refusal

_COUNTS: Final = {"?": (0, 1), "*": (0, None), "+": (1, None)}
_BOUNDS: Final = re.compile(r"(?=.*[0-9])([0-9]{0,4})(,?)([0-9]{0,4})")


@dataclass(frozen=True)
class RowVariable:
    """One row that a condition of DEFINE holds for."""

    name: str


@dataclass(frozen=True)
class RowSequence:
    """Parts one after another."""

    parts: tuple[RowPattern, ...]


@dataclass(frozen=True)
class RowChoice:
    """One of several parts, the first one preferred."""

    parts: tuple[RowPattern, ...]


@dataclass(frozen=True)
class RowRepeat:
    """A part several times.

    Parameters
    ----------
    part : RowPattern
    minimum : int
    maximum : int or None
        None: without a bound.
    reluctant : bool
        Whether few times are preferred to many.
    """

    part: RowPattern
    minimum: int
    maximum: int | None
    reluctant: bool


RowPattern = RowVariable | RowSequence | RowChoice | RowRepeat


def row_pattern(tokens: Sequence[Any], text: SqlText) -> RowPattern | None:
    """The pattern of some tokens; None without any."""
    return None if not tokens else _Parser(tokens, text).whole()


class _Parser:
    """Reads a pattern from its tokens."""

    def __init__(self, tokens: Sequence[Any], text: SqlText) -> None:
        self.tokens, self.text, self.number = tokens, text, 0

    def whole(self) -> RowPattern:
        found = self._choice()
        if self.number < len(self.tokens):
            raise self._form()
        return found

    def _next(self) -> str:
        return str(self.tokens[self.number].text) if self.number < len(self.tokens) else ""

    def _form(self) -> Exception:
        token = self.tokens[min(self.number, len(self.tokens) - 1)]
        if self._begins_absence():
            return _absence(token.start, token.end + 1, self.text)
        what, hint = refusal("pattern permutation" if self._calls("PERMUTE") else "pattern form", text=token.text)
        return self.text.error_at(what, token.start, token.end + 1, hint)

    def _begins_absence(self) -> bool:
        """Whether the next part says that a row must not come, as in other languages: NOT B, !B, A ^B, [^B], (?!B)."""
        before, this, after = (self.tokens[at].text if 0 <= at < len(self.tokens) else ""
                               for at in range(self.number - 1, self.number + 2))
        anchor = before in ("", "(", "|")  # ^ is the begin of a partition there
        return this.upper() in ("NOT", "!", "ABSENT") or (this == "^" and not anchor) or this + after in ("[^", "?!")

    def _calls(self, *names: str) -> bool:
        """Whether the next part is like a call of one of these functions, which would be a variable and a group."""
        this, after = self.tokens[self.number:self.number + 1], self.tokens[self.number + 1:self.number + 2]
        return any(name.text.upper() in names and each.text == "(" and each.start == name.end + 1
                   for name, each in zip(this, after, strict=False))

    def _choice(self) -> RowPattern:
        parts = [self._sequence()]
        while self._next() == "|":
            self.number += 1
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else RowChoice(tuple(parts))

    def _sequence(self) -> RowPattern:
        parts = [self._repeated()]
        while self._next() not in ("", "|", ")"):
            parts.append(self._repeated())
        return parts[0] if len(parts) == 1 else RowSequence(tuple(parts))

    def _repeated(self) -> RowPattern:
        if self._next() == "(":
            self.number += 1
            part = self._choice()
            if self._next() != ")":
                raise self._form()
        elif self._next().isidentifier() and not self._calls("ABSENT", "PERMUTE") and (
                self.tokens[self.number].token_type not in (TokenType.STRING, TokenType.NOT)):
            part = RowVariable(self._next())
        else:
            raise self._form()
        self.number += 1
        if self._next() == "??":  # one token of sqlglot
            self.number += 1
            return RowRepeat(part, 0, 1, True)
        minimum, maximum, used = _count(self.tokens[self.number:self.number + 6], self.text)
        self.number += used
        reluctant = bool(used) and self._next() == "?"
        self.number += reluctant
        return part if not used else RowRepeat(part, minimum, maximum, reluctant)


def variables_of(pattern: RowPattern) -> tuple[str, ...]:
    """The names of the variables, in their order."""
    match pattern:
        case RowVariable(name):
            return (name,)
        case RowSequence(parts) | RowChoice(parts):
            return tuple(dict.fromkeys(name for part in parts for name in variables_of(part)))
        case RowRepeat(part):
            return variables_of(part)


def beginning(pattern: RowPattern) -> tuple[frozenset[str], bool]:
    """Variables that may have the first row, and whether no row matches the pattern too."""
    match pattern:
        case RowVariable(name):
            return frozenset((name,)), False
        case RowChoice(parts):
            found = [beginning(part) for part in parts]
            return frozenset[str]().union(*(names for names, _ in found)), any(empty for _, empty in found)
        case RowRepeat(part, minimum):
            names, empty = beginning(part)
            return names, empty or not minimum
        case RowSequence(parts):
            names, empty = frozenset(), True
            for part in parts:
                if empty:
                    more, empty = beginning(part)
                    names |= more
            return names, empty


def ending(pattern: RowPattern) -> str | None:
    """The variable that has the last row of each match; None if several may have it."""
    match pattern:
        case RowVariable(name):
            return name
        case RowSequence(parts):
            return ending(parts[-1])
        case RowRepeat(part, minimum) if minimum:
            return ending(part)
    return None


def varies(pattern: RowPattern) -> bool:
    """Whether the rows from a begin on may match in several ways."""
    match pattern:
        case RowVariable():
            return False
        case RowSequence(parts):
            return any(varies(part) for part in parts)
        case RowChoice():
            return True
        case RowRepeat(part, minimum, maximum):
            return minimum != maximum or varies(part)


def detected(pattern: RowPattern, event: Callable[[str], Pattern]) -> Pattern:
    """The pattern of ``detect``, from that of each variable."""
    match pattern:
        case RowVariable(name):
            return event(name)
        case RowSequence(parts):
            return reduce(lambda one, other: one.then(other), (detected(part, event) for part in parts))
        case RowChoice(parts):
            return reduce(or_, (detected(part, event) for part in parts))
        case RowRepeat(part, 0, 1, reluctant):
            return detected(part, event).optional(reluctant=reluctant)
        case RowRepeat(part, minimum, maximum, reluctant):
            return detected(part, event).repeat(minimum, maximum, reluctant=reluctant)


def _absence(start: int, end: int, text: SqlText) -> Exception:
    what, hint = refusal("pattern absence", text=text.text[start:end])
    return text.error_at(what, start, end, hint)


def _count(tokens: Sequence[Any], text: SqlText) -> tuple[int, int | None, int]:
    """How often the part before these tokens matches, and the number of tokens that say so."""
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
        if maximum == minimum == 0:
            raise _absence(tokens[0].start, tokens[used - 1].end + 1, text)
        if (maximum is not None and maximum < max(minimum, 1)) or minimum > 60:
            raise text.error_at("Counts of a pattern are from small to large, and at most 60.", tokens[0].start,
                                tokens[used - 1].end + 1, "Use {2}, {2,} or {2,5}.")
    else:
        return 1, 1, 0
    return minimum, maximum, used
