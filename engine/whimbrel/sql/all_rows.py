"""ALL ROWS PER MATCH: the rows of each match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from whimbrel.expr import Expr
from whimbrel.operators.patterns.automaton import END, Automaton
from whimbrel.operators.patterns.pattern import Pattern
from whimbrel.sql.excluding_conditions import exclude
from whimbrel.stream import Stream


def rivals(pattern: Pattern, conditions: Mapping[str, Expr]) -> tuple[str, str] | None:
    """Two variables that may both have the same row of a match; None if each row has one."""
    for one, other in _next_to_each_other(Automaton.of(pattern)):
        if one != other and not exclude(conditions[one], conditions[other]):
            return one, other
    return None


def _next_to_each_other(automaton: Automaton) -> Iterator[tuple[str, str]]:
    for states in (automaton.begin, *automaton.following):
        for one, other in combinations([state for state in states if state != END], 2):
            yield automaton.events[one].name, automaton.events[other].name


def rows_of_matches(matches: Stream, beginnings: Stream, keys: Sequence[str]) -> Stream:
    """The rows of each match, all at the time of its last one.

    `beginnings` are how far each begin has come at each row. Those of a match hold until its last row or longer.
    """
    return beginnings.join(matches, [*keys, "first_time"], nulls_equal=True, allow_lookahead=True)
