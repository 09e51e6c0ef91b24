"""Regular expressions over events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from whimbrel.errors import PlanError
from whimbrel.expr import Column, Expr, lit, trace, trace_step
from whimbrel.migration_hints import renamed

__all__ = ["Pattern", "event", "sequence", "simultaneous"]

Step = Expr | Callable[[Any], Any] | Callable[[Any, Any], Any]
"""A condition: of an event, or of an event and the register."""


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
        return SequencePattern(self, following)

    def __or__(self, other: Pattern) -> Pattern:
        """Either of two; with ``detect(greedy=True)`` rather the first one."""
        return EitherPattern(self, other)

    @renamed(least="min", most="max")
    def repeat(self, min: int = 1, max: int | None = None, *, reluctant: bool = False) -> Pattern:
        """Repeat the pattern, one match directly after the other.

        Default: once or more. ``repeat(0)`` also matches no event.

        Parameters
        ----------
        min, max : int
            Bounds; without `max` there is none above.
        reluctant : bool
            With ``detect(greedy=True)``: prefer few times to many.
        """
        if min < 0 or (max is not None and (max < min or max == 0)):
            raise PlanError(f"repeat() needs 0 <= min <= max and max > 0, got {min} to {max}.",
                            where=f"{self.show()}.repeat()",
                            hint="Use counts in order, such as repeat(2, 5).")
        return RepeatPattern(self, min, max, reluctant)

    def optional(self, *, reluctant: bool = False) -> Pattern:
        """Once or not at all; `reluctant` prefers not at all."""
        return OptionalPattern(self, reluctant)

    def prefixes(self) -> Pattern:
        """The pattern, or its first events: how far each beginning has come."""
        return PrefixPattern(self)

    def __repr__(self) -> str:
        return self.show()

    def show(self) -> str:
        raise TypeError(type(self).__name__)


@dataclass(frozen=True, eq=False, repr=False)
class EventPattern(Pattern):
    """One event that satisfies a condition, and its updates of registers."""

    condition: Expr
    updates: tuple[tuple[str, Expr], ...] = ()
    name: str = ""

    def show(self) -> str:
        return f"event({', '.join([self.condition.show(), *(f'{n}={e.show()}' for n, e in self.updates)])})"


Quantifier = Literal["some", "every", "none"]
_WORDS: dict[Quantifier, str] = {"some": "any", "every": "all", "none": "none"}


@dataclass(frozen=True, eq=False, repr=False)
class SimultaneousPattern(EventPattern):
    """All events of one instant: conditions over them, and their number."""

    condition: Expr = field(default_factory=lambda: lit(True))
    clauses: tuple[tuple[Quantifier, Expr], ...] = ()
    minimum: int = 1
    maximum: int | None = None

    def show(self) -> str:
        options = [f"{_WORDS[quantifier]}={expr.show()}" for quantifier, expr in self.clauses]
        options += [f"min={self.minimum}"] if self.minimum > 1 else []
        options += [] if self.maximum is None else [f"max={self.maximum}"]
        return f"simultaneous({', '.join(options)})"


@dataclass(frozen=True, eq=False, repr=False)
class SequencePattern(Pattern):
    """A pattern directly followed by another."""

    first: Pattern
    second: Pattern

    def show(self) -> str:
        return f"{_in_chain(self.first)}.then({self.second.show()})"


@dataclass(frozen=True, eq=False, repr=False)
class EitherPattern(Pattern):
    """One of two patterns."""

    left: Pattern
    right: Pattern

    def show(self) -> str:
        return f"{self.left.show()} | {self.right.show()}"


@dataclass(frozen=True, eq=False, repr=False)
class RepeatPattern(Pattern):
    """A repeated pattern."""

    inner: Pattern
    minimum: int = 1
    maximum: int | None = None
    reluctant: bool = False

    def show(self) -> str:
        bounds = [] if self.maximum is None and self.minimum == 1 else [str(self.minimum)]
        bounds += [] if self.maximum is None else [str(self.maximum)]
        bounds += ["reluctant=True"] if self.reluctant else []
        return f"{_in_chain(self.inner)}.repeat({', '.join(bounds)})"


@dataclass(frozen=True, eq=False, repr=False)
class OptionalPattern(Pattern):
    """A pattern once or not at all."""

    inner: Pattern
    reluctant: bool = False

    def show(self) -> str:
        return f"{_in_chain(self.inner)}.optional({'reluctant=True' if self.reluctant else ''})"


@dataclass(frozen=True, eq=False, repr=False)
class PrefixPattern(Pattern):
    """A pattern that may be over after each of its events."""

    inner: Pattern

    def show(self) -> str:
        return f"{_in_chain(self.inner)}.prefixes()"


def _in_chain(pattern: Pattern) -> str:
    return f"({pattern.show()})" if isinstance(pattern, EitherPattern) else pattern.show()


def event(condition: Step, /, **updates: Column | Step) -> Pattern:
    """One event that satisfies a condition.

    Parameters
    ----------
    condition : Expr or callable
        Such as ``col.price > 10`` or ``lambda e: e.price > 10``. ``wb.register.total`` and ``wb.last_of("a").price``
        read the state of the run. ``lambda e, r: e.price > r.total`` reads both. Null counts as false.
    **updates : Expr or callable
        New values of registers, computed from the event and the register as it was.

    Examples
    --------
    >>> import whimbrel as wb
    >>> wb.event(wb.col.price > 10)
    event(col.price > 10)
    >>> wb.event(wb.col.price > 10, total=wb.register.total + wb.col.price)
    event(col.price > 10, total=register.total + col.price)
    """
    made = tuple((name, trace_step(value, f"event({name}=...)")) for name, value in updates.items())
    return EventPattern(trace_step(condition, "event()"), made)


@renamed(some="any", every="all", least="min", most="max")
def simultaneous(*, any: Column | Step = None, all: Column | Step = None, none: Column | Step = None,
                 min: int = 1, max: int | None = None) -> Pattern:
    """Match simultaneous events: all of one key at one time.

    A single event matches, too.

    Parameters
    ----------
    any, all, none : Expr or callable, optional
        Conditions for at least one of them, for each, and for none. Null counts as false.
    min, max : int, optional
        Limits for the number of events.

    Examples
    --------
    >>> import whimbrel as wb
    >>> pattern = wb.simultaneous(any=wb.col.x == 0, min=2).then(wb.event(wb.col.x == 1))
    >>> events = wb.from_arrow({"at": [0, 0, 1], "x": [0, 5, 1]}, time="at")
    >>> events.detect(pattern, within=10).collect().to_pylist()
    [{'start': 1, 'end': 10, 'first_time': 0, 'events': 2}]
    """
    if min < 1 or (max is not None and max < min):
        raise PlanError(f"simultaneous() needs 1 <= min <= max, got {min} to {max}.", where="simultaneous()",
                        hint="Use counts in order, such as min=2, max=5.")
    given: tuple[tuple[Quantifier, Any], ...] = (("some", any), ("every", all), ("none", none))
    clauses = tuple((quantifier, trace(given, where=f"simultaneous({_WORDS[quantifier]}=...)")) for quantifier,
                    given in given
                    if given is not None)
    return SimultaneousPattern(clauses=clauses, minimum=min, maximum=max)


def sequence(**events: Step | Pattern) -> Pattern:
    """Match consecutive events, each with a name for ``first_of`` and ``last_of``.

    Parameters
    ----------
    **events : Expr, callable or Pattern
        A condition, or a pattern such as ``wb.event(...).repeat()`` whose events all get the name.

    Examples
    --------
    >>> import whimbrel as wb
    >>> wb.sequence(slow=wb.col.delay > 60, fast=wb.col.delay < 5)
    event(col.delay > 60).then(event(col.delay < 5))
    """
    if not events:
        raise PlanError("A sequence needs at least one event.", where="sequence()",
                        hint="Add one, such as wb.sequence(first=col.x > 1).")
    parts = [_named(given, name) if isinstance(given, Pattern) else
             EventPattern(trace_step(given, f"sequence({name}=...)"), name=name) for name, given in events.items()]
    whole = parts[0]
    for part in parts[1:]:
        whole = SequencePattern(whole, part)
    return whole


def _named(pattern: Pattern, name: str) -> Pattern:
    """The pattern with a name for those of its events that have none."""
    match pattern:
        case EventPattern():
            return pattern if pattern.name else replace(pattern, name=name)
        case SequencePattern(first, second):
            return SequencePattern(_named(first, name), _named(second, name))
        case EitherPattern(left, right):
            return EitherPattern(_named(left, name), _named(right, name))
        case RepeatPattern() | OptionalPattern() | PrefixPattern():
            return replace(pattern, inner=_named(pattern.inner, name))
    raise TypeError(f"not a pattern: {pattern!r}")
