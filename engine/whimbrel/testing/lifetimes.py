"""The words of the model that rewrite lifetimes and rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from whimbrel.testing.oracle import Fact, Term, lifetimes


class LifetimeWords:
    """Methods that answer with other facts and the same keys."""

    facts: list[Fact]
    keys: Mapping[str, Term]

    def _now(self, facts: list[Fact]) -> Self:
        return replace(self, facts=facts)  # type: ignore[type-var]

    def set_duration(self, duration: Any) -> Self:
        return self._now(lifetimes.set_duration(self.facts, duration))

    def shift(self, amount: int) -> Self:
        return self._now(lifetimes.shift(self.facts, amount))

    def alter_lifetime(self, **options: Any) -> Self:
        return self._now(lifetimes.alter_lifetime(self.facts, **options))

    def extend(self, by: int) -> Self:
        return self._now(lifetimes.extend(self.facts, by))

    def clip_duration(self, longest: int) -> Self:
        return self._now(lifetimes.clip_duration(self.facts, longest))

    def chop(self, period: int, **options: int) -> Self:
        return self._now(lifetimes.chop(self.facts, period, **options))

    def point_at_end(self) -> Self:
        return self._now(lifetimes.point_at_end(self.facts))

    def quantize(self, size: int, hop: int, **options: int) -> Self:
        return self._now(lifetimes.quantize(self.facts, size, hop, **options))

    def progressive_window(self, size: int, hop: int, progress: int, **options: int) -> Self:
        return self._now(lifetimes.progressive_window(self.facts, size, hop, progress, **options))

    def stitch(self) -> Self:
        return self._now(lifetimes.stitch(self.facts))

    def session_window(self, timeout: int, max_duration: int | None = None, **options: Any) -> Self:
        return self._now(lifetimes.session_window(self.facts, timeout, max_duration, keys=self.keys, **options))
