"""Regular expressions over events: what users write, and the automaton it becomes."""

from __future__ import annotations

from dataclasses import dataclass, field

from whimbrel.errors import PlanError
from whimbrel.expr import Condition, Expr, trace

__all__ = ["Pattern", "event", "sequence"]

MOST_POSITIONS = 62
"""Events that one pattern may mention: a set of them is kept in the bits of an int64."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """A pattern of consecutive events of one key.

    Examples
    --------
    >>> import whimbrel as wb
    >>> up, down = wb.event(wb.col.x > 0), wb.event(wb.col.x < 0)
    >>> up.repeat().then(down.optional())
    event(col.x > 0).repeat().then(event(col.x < 0).optional())
    """

    def then(self, following: Pattern) -> Pattern:
        """One pattern, and right after it another."""
        return Then(self, following)

    def __or__(self, other: Pattern) -> Pattern:
        """Either of two."""
        return Either(self, other)

    def repeat(self) -> Pattern:
        """Once or more."""
        return Repeat(self)

    def optional(self) -> Pattern:
        """Once or not at all."""
        return Optional(self)

    def __repr__(self) -> str:
        return self.show()

    def show(self) -> str:
        raise TypeError(type(self).__name__)


@dataclass(frozen=True, eq=False, repr=False)
class Event(Pattern):
    """One event that satisfies a condition."""

    condition: Expr
    name: str = ""

    def show(self) -> str:
        return f"event({self.condition.show()})"


@dataclass(frozen=True, eq=False, repr=False)
class Then(Pattern):
    """One pattern right after another."""

    first: Pattern
    second: Pattern

    def show(self) -> str:
        return f"{_in_chain(self.first)}.then({self.second.show()})"


@dataclass(frozen=True, eq=False, repr=False)
class Either(Pattern):
    """One of two patterns."""

    left: Pattern
    right: Pattern

    def show(self) -> str:
        return f"{self.left.show()} | {self.right.show()}"


@dataclass(frozen=True, eq=False, repr=False)
class Repeat(Pattern):
    """A pattern once or more."""

    inner: Pattern

    def show(self) -> str:
        return f"{_in_chain(self.inner)}.repeat()"


@dataclass(frozen=True, eq=False, repr=False)
class Optional(Pattern):
    """A pattern once or not at all."""

    inner: Pattern

    def show(self) -> str:
        return f"{_in_chain(self.inner)}.optional()"


def _in_chain(pattern: Pattern) -> str:
    return f"({pattern.show()})" if isinstance(pattern, Either) else pattern.show()


def event(condition: Condition) -> Pattern:
    """One event that satisfies a condition.

    Parameters
    ----------
    condition : Expr or callable
        Such as ``col.price > 10`` or ``lambda e: e.price > 10``. Null counts as false.

    Examples
    --------
    >>> import whimbrel as wb
    >>> wb.event(wb.col.price > 10)
    event(col.price > 10)
    """
    return Event(trace(condition, where="event()"))


def sequence(**events: Condition) -> Pattern:
    """Events right after one another, each with a name for the reader.

    Examples
    --------
    >>> import whimbrel as wb
    >>> wb.sequence(slow=wb.col.delay > 60, fast=wb.col.delay < 5)
    event(col.delay > 60).then(event(col.delay < 5))
    """
    if not events:
        raise PlanError("A sequence needs at least one event.", hint="such as wb.sequence(first=col.x > 1)")
    parts: list[Pattern] = [Event(trace(condition, where=f"sequence({name}=...)"), name)
                            for name, condition in events.items()]
    whole = parts[0]
    for part in parts[1:]:
        whole = Then(whole, part)
    return whole


@dataclass
class Automaton:
    """Glushkov's automaton: a state per event that the pattern mentions, sets of states as bits.

    Attributes
    ----------
    conditions : list of Expr
        What an event must satisfy to move into each state.
    first, last : int
        States that may begin a match, and that complete one.
    follow : list of int
        States that may come right after each.
    """

    conditions: list[Expr] = field(default_factory=list)
    follow: list[int] = field(default_factory=list)
    first: int = 0
    last: int = 0

    @staticmethod
    def of(pattern: Pattern) -> Automaton:
        """Build it; a pattern that matches nothing at all, or is too long, is an error."""
        automaton = Automaton()
        automaton.first, automaton.last, empty = automaton._add(pattern)
        if empty:
            raise PlanError("The pattern also matches no event at all.", where=f"detect({pattern.show()})",
                            hint="make one of its events obligatory")
        return automaton

    def _add(self, pattern: Pattern) -> tuple[int, int, bool]:
        """First states, last states, and whether the part may be skipped."""
        match pattern:
            case Event(condition):
                if len(self.conditions) == MOST_POSITIONS:
                    raise PlanError(f"A pattern may mention {MOST_POSITIONS} events at most.", where="detect()")
                self.conditions.append(condition)
                self.follow.append(0)
                state = 1 << (len(self.conditions) - 1)
                return state, state, False
            case Then(first, second):
                first1, last1, empty1 = self._add(first)
                first2, last2, empty2 = self._add(second)
                self._link(last1, first2)
                return (first1 | first2 if empty1 else first1), (last2 | last1 if empty2 else last2), empty1 and empty2
            case Either(left, right):
                first1, last1, empty1 = self._add(left)
                first2, last2, empty2 = self._add(right)
                return first1 | first2, last1 | last2, empty1 or empty2
            case Repeat(inner):
                first1, last1, empty1 = self._add(inner)
                self._link(last1, first1)
                return first1, last1, empty1
            case Optional(inner):
                first1, last1, _ = self._add(inner)
                return first1, last1, True
        raise TypeError(f"not a pattern: {pattern!r}")

    def _link(self, sources: int, targets: int) -> None:
        for state in range(len(self.follow)):
            if sources >> state & 1:
                self.follow[state] |= targets
