"""Glushkov automaton of a pattern, with an order of preference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from whimbrel.errors import PlanError
from whimbrel.expr import Expr
from whimbrel.operators.patterns.pattern import (
    EitherPattern,
    EventPattern,
    OptionalPattern,
    Pattern,
    PrefixPattern,
    RepeatPattern,
    SequencePattern,
)

MAX_POSITIONS: Final = 62
"""Events that one pattern may mention: a set of them is kept in the bits of an int64."""

END: Final = -1
"""Among the states that follow another one: the match may be over."""


@dataclass
class Automaton:
    """A state for each event that the pattern mentions.

    Attributes
    ----------
    events : list of EventPattern
        What an event must satisfy to move into each state, and what it does to the register.
    following : list of list of int
        States that may come right after each, and END, the most preferred one first.
    begin : list of int
        States that may begin a match, the most preferred one first.
    """

    events: list[EventPattern] = field(default_factory=list)
    following: list[list[int]] = field(default_factory=list)
    begin: list[int] = field(default_factory=list)

    @staticmethod
    def of(pattern: Pattern) -> Automaton:
        """Build it; a pattern that matches nothing at all, or is too long, is an error."""
        automaton = Automaton()
        automaton.begin = automaton._add(pattern)
        if END in automaton.begin:
            raise PlanError("A pattern must match at least one event; this one also matches none.",
                            where=f"detect({pattern.show()})",
                            hint="Make one of its events mandatory.")
        return automaton

    @property
    def conditions(self) -> list[Expr]:
        return [event.condition for event in self.events]

    @property
    def first(self) -> int:
        """States that may begin a match, as bits."""
        return _bits(self.begin)

    @property
    def last(self) -> int:
        """States that complete a match, as bits."""
        return _bits([state for state, following in enumerate(self.following) if END in following])

    @property
    def follow(self) -> list[int]:
        """States that may come right after each, as bits."""
        return [_bits(following) for following in self.following]

    def order(self, *, preferred: bool) -> np.ndarray[Any, Any]:
        """States after each state, and in the last row those that begin; a row ends with -1.

        With `preferred` only those that are preferred to the end of the match, the most preferred one first.
        """
        rows = [*self.following, self.begin]
        if preferred:
            rows = [row[: row.index(END)] if END in row else row for row in rows]
        else:
            rows = [sorted(each for each in row if each != END) for row in rows]
        order = np.full((len(rows), max(map(len, rows)) + 1), END, np.int64)
        for number, row in enumerate(rows):
            order[number, : len(row)] = row
        return order

    def _add(self, pattern: Pattern) -> list[int]:
        """States that may begin the part, and END if no event matches it; END follows where the part may be over."""
        match pattern:
            case EventPattern():
                if len(self.events) == MAX_POSITIONS:
                    raise PlanError(f"A pattern must have at most {MAX_POSITIONS} events.", where="detect()",
                                    hint="Use smaller limits: repeat(min, max) counts max events.")
                self.events.append(pattern)
                self.following.append([END])
                return [len(self.events) - 1]
            case SequencePattern(first, second):
                begin = len(self.events)
                one = self._add(first)
                middle = len(self.events)
                other = self._add(second)
                self._continue(begin, middle, other)
                return _replaced(one, other)
            case EitherPattern(left, right):
                return _once([*self._add(left), *self._add(right)])
            case RepeatPattern():
                return self._repeated(pattern)
            case PrefixPattern(inner):
                begin = len(self.events)
                starts = self._add(inner)
                for state in range(begin, len(self.events)):
                    self.following[state] = _or_end(self.following[state], reluctant=False)
                return starts
            case OptionalPattern(inner, reluctant):
                return _or_end(self._add(inner), reluctant=reluctant)
        raise TypeError(f"not a pattern: {pattern!r}")

    def _repeated(self, pattern: RepeatPattern) -> list[int]:
        """Written out, each copy after the one before; a last copy without a bound may follow itself."""
        copies: list[tuple[int, int, list[int]]] = []
        for _ in range(pattern.maximum or max(pattern.minimum, 1)):
            begin = len(self.events)
            first = self._add(pattern.inner)
            copies.append((begin, len(self.events), first))
        enter: list[int] = [END]
        for number, (begin, stop, first) in reversed(list(enumerate(copies, 1))):
            endless = number == len(copies) and pattern.maximum is None
            after = _or_end(first, reluctant=pattern.reluctant) if endless else enter
            self._continue(begin, stop, after)
            enter = first if endless else _replaced(first, after)
            if number > pattern.minimum:
                enter = _or_end(enter, reluctant=pattern.reluctant)
        return enter

    def _continue(self, begin: int, stop: int, after: list[int]) -> None:
        """Let states come where these states may end their part."""
        for state in range(begin, stop):
            self.following[state] = _replaced(self.following[state], after)


def _or_end(states: Sequence[int], *, reluctant: bool) -> list[int]:
    return _once([END, *states] if reluctant else [*states, END])


def _replaced(states: Sequence[int], after: Sequence[int]) -> list[int]:
    """States with others in place of END."""
    return _once([each for state in states for each in (after if state == END else [state])])


def _once(states: Sequence[int]) -> list[int]:
    return list(dict.fromkeys(states))


def _bits(states: Sequence[int]) -> int:
    return sum(1 << state for state in states if state != END)
