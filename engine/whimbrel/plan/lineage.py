"""Lineage: the input rows that output rows of an operator depend on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

import pyarrow as pa

from whimbrel.batch import Schema
from whimbrel.clock import INF, MIN_TIME
from whimbrel.expr import Col, Expr, columns_of, lifetime_of, substitute, type_of
from whimbrel.plan.properties import Properties, WindowGrid


class Exact(IntEnum):
    """How much of the lifetimes of wanted rows has to come out again."""

    VALUES = 0
    """Nothing but what is true at each instant of the range, however it is cut into rows."""

    STARTS = 1
    """Where each row starts."""

    LIFETIMES = 2
    """Where each row starts and ends."""


@dataclass(frozen=True, slots=True)
class KnownInput:
    """What is known of an input of an operator.

    Parameters
    ----------
    schema : Schema
    properties : Properties
    longest : int, optional
        Most ticks that a row lasts; None where they may last any time.
    """

    schema: Schema
    properties: Properties
    longest: int | None


@dataclass(frozen=True, slots=True)
class LineageRequest:
    """Rows of a stream that have to come out again when only some events are given.

    An operator answers with what it needs of its inputs, so that the wanted rows of its output come out as they did.
    Other output rows do not matter.

    Parameters
    ----------
    start, end : int
        A range of time, in ticks: the rows that are active in it, or with `starting` those that start in it.
    starting : bool
    exact : Exact
    where : tuple of Expr
        Only rows for which all of these are true.
    result : bool
        Whether somebody looks at the rows, and no operator makes anything of them.
    latest_before : int, optional
        Of the rows that start before this tick only the newest are needed, since all are of one key.
    """

    start: int = MIN_TIME
    end: int = INF
    starting: bool = False
    exact: Exact = Exact.LIFETIMES
    where: tuple[Expr, ...] = ()
    result: bool = False
    latest_before: int | None = None

    def during(self, start: int, end: int, exact: Exact) -> LineageRequest:
        """Rows that are active in another range, under the same conditions."""
        return LineageRequest(start, end, exact=exact, where=self._of_payload)

    def starts(self, start: int, end: int, exact: Exact = Exact.STARTS) -> LineageRequest:
        """Rows that start in another range, under the same conditions."""
        return LineageRequest(start, end, starting=True, exact=exact, where=self._of_payload)

    def always(self) -> LineageRequest:
        """All rows, whenever they are, under the same conditions."""
        return LineageRequest(where=self._of_payload)

    def exactly(self, exact: Exact) -> LineageRequest:
        """The same, at least so exact."""
        return replace(self, exact=max(self.exact, exact))

    def same(self, exact: Exact = Exact.VALUES) -> LineageRequest:
        """The same of an input whose lifetimes are kept, at least so exact."""
        return replace(self, exact=max(self.exact, exact), where=self._of_payload, latest_before=None)

    def of_changes(self, longest: int | None, grid: WindowGrid | None = None) -> LineageRequest:
        """The input of an operator whose result changes with the active events, such as an aggregate.

        Parameters
        ----------
        longest : int, optional
            Most ticks that a row of the output lasts; None where nobody knows.
        grid : WindowGrid, optional
            Of the one input there is.
        """
        if grid is not None and grid.tumbling:  # changes are at the ends of windows only
            return self.during(floor_to(self.start, grid.hop, grid.offset), ceil_to(self.end, grid.hop, grid.offset),
                               Exact.VALUES)
        if not self.starting and self.exact is Exact.VALUES:
            return self.during(self.start, self.end, Exact.VALUES)
        # What ends where a row starts counts, too.
        start, end, longest = earlier(self.start, 1), self.end, INF if longest is None else longest
        if not self.starting:
            start = earlier(start, longest)
        if self.exact is Exact.LIFETIMES:
            end = later(end, longest)
        return self.during(start, end, Exact.LIFETIMES)

    def only(self, names: Iterable[str]) -> LineageRequest:
        """Without the conditions that read something else than these columns."""
        known = frozenset(names)
        return replace(self, where=tuple(each for each in self._of_payload if columns_of(each) <= known))

    def through(self, meaning: Mapping[str, Expr], schema: Schema) -> LineageRequest:
        """With conditions over the columns of an input, from what the columns of the output are computed of.

        A computed fraction is left out: its last bit may depend on who computes it.
        """
        def alike(name: str) -> bool:
            expr = meaning[name]
            return isinstance(expr, Col) or not pa.types.is_floating(type_of(expr, schema))

        kept = (each for each in self._of_payload if all(name in meaning and alike(name) for name in columns_of(each)))
        return replace(self, where=tuple(substitute(each, meaning) for each in kept))

    @property
    def _of_payload(self) -> tuple[Expr, ...]:
        """The conditions that do not depend on lifetimes, which are others in the input."""
        return tuple(each for each in self.where if not lifetime_of(each))


EVERYTHING: Final = LineageRequest()
"""All rows, whenever they are."""


def earlier(time: int, ticks: int) -> int:
    """So many ticks before; not before the first of times."""
    return time if time == INF else max(MIN_TIME, time - ticks)


def later(time: int, ticks: int) -> int:
    """So many ticks after; not after the last of times."""
    return time if time == MIN_TIME else min(INF, time + ticks)


def floor_to(time: int, hop: int, offset: int) -> int:
    """The last point of a grid that is not after a time."""
    return time if time in (MIN_TIME, INF) else time - (time - offset) % hop


def ceil_to(time: int, hop: int, offset: int) -> int:
    """The first point of a grid that is not before a time."""
    return time if time in (MIN_TIME, INF) else time + (offset - time) % hop
