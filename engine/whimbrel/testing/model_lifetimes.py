"""Methods of the model that rewrite lifetimes and rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, Self

from whimbrel.testing.oracle import Event, OracleColumns, Payload, Term, lifetimes, stateless, temporal


class LifetimeWords:
    """Methods that answer with other facts and the same keys."""

    facts: list[Event]
    keys: Mapping[str, Term]
    names: tuple[str, ...]

    def _now(self, facts: list[Event]) -> Self:
        return replace(self, facts=facts)  # type: ignore[type-var]

    def set_duration(self, duration: Any) -> Self:
        return self._now(lifetimes.set_duration(self.facts, duration))

    def shift(self, amount: int) -> Self:
        return self._now(lifetimes.shift(self.facts, amount))

    def alter_lifetime(self, **options: Any) -> Self:
        return self._now(lifetimes.alter_lifetime(self.facts, **options))

    def retime(self, start: Any) -> Self:
        return self._now(lifetimes.retime(self.facts, start))

    def extend(self, by: int) -> Self:
        return self._now(lifetimes.extend(self.facts, by))

    def clip_duration(self, longest: int) -> Self:
        return self._now(lifetimes.clip_duration(self.facts, longest))

    def chop(self, period: int, **options: int) -> Self:
        return self._now(lifetimes.chop(self.facts, period, **options))

    def point_at_end(self) -> Self:
        return self._now(lifetimes.point_at_end(self.facts))

    def assume(self, *, periodic: int | None = None, per: Any = (), **options: Any) -> Self:
        if not {"phase", "jitter", "gaps"} & options.keys():
            return self
        names = [per] if isinstance(per, str) else per
        assert periodic is not None
        return self._now(lifetimes.align_samples(self.facts, Fraction(periodic), per=lambda row: tuple(
            row[name] for name in names), **options))

    def resample(self, period: int, **options: Any) -> Self:
        return self._now(temporal.resample(self.facts, period, keys=tuple(self.keys), **options))

    def between(self, start: int, end: int, every: int | None = None) -> Self:
        return self._now(temporal.between(self.facts, start, end, every))

    def edges(self) -> Self:
        return self._now(lifetimes.edges(self.facts))

    def quantize(self, size: int, hop: int, **options: int) -> Self:
        return self._now(lifetimes.quantize(self.facts, size, hop, **options))

    def progressive_window(self, size: int, hop: int, period: int, **options: int) -> Self:
        return self._now(lifetimes.progressive_window(self.facts, size, hop, period, **options))

    def stitch(self) -> Self:
        return self._now(lifetimes.stitch(self.facts))

    def session_window(self, timeout: int, max_duration: int | None = None, **options: Any) -> Self:
        return self._now(lifetimes.session_window(self.facts, timeout, max_duration, keys=self.keys, **options))

    def distinct_within(self, span: int, *, by: str = "") -> Self:
        keys = dict(self.keys) | ({by: OracleColumns()(by)} if by else {})
        return self._now(lifetimes.distinct_within(self.facts, span, keys=keys))

    def last_rows(self, rows: int) -> Self:
        return self._now(lifetimes.last_rows(self.facts, rows, keys=self.keys))

    def union(self, *others: Any) -> Self:
        return self._now([*self.facts, *(event for other in others for event in other.facts)])

    def drop(self, *names: str) -> Self:
        kept = tuple(name for name in self.names if name not in names)
        return self._payloads(kept, lambda row: {name: row[name] for name in kept})

    def rename(self, **names: str) -> Self:
        new = {old: name for name, old in names.items()}
        return self._payloads(tuple(new.get(name, name) for name in self.names),
                              lambda row: {new.get(name, name): value for name, value in row.items()})

    def explode(self, column: str, values: Any = (), *, split: str | None = None, times: Any = None) -> Self:
        def items(row: Payload) -> list[Any]:
            if callable(values):  # a function of a whole row
                return list(values(SimpleNamespace(**row)))
            if values:
                chosen = [value(row) if isinstance(value, Term) else value for value in values]
                many = times(row) if isinstance(times, Term) else times
                return chosen if times is None else chosen * (many or 0)
            return [] if row[column] is None else row[column].split(split) if split else row[column]

        facts = [(start, end, row | {column: item}) for start, end, row in self.facts
                 for item in items(stateless.seen((start, end, row)))]
        return replace(self, facts=facts, columns=tuple(dict.fromkeys((*self.names, column))))  # type: ignore[type-var]

    def _payloads(self, columns: tuple[str, ...], made: Callable[[Payload], Payload]) -> Self:
        """Another payload in place of each, with its lifetime."""
        facts = [(start, end, made(row)) for start, end, row in self.facts]
        return replace(self, facts=facts, columns=columns)  # type: ignore[type-var]
