"""Methods of the model that take a second stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from whimbrel.testing import oracle
from whimbrel.testing.oracle import INF, Event, Payload, Term

On = str | Sequence[str] | Mapping[str, str]


@dataclass(frozen=True)
class _Row:
    """A key of one name on both sides stands once; a right column with a name of the left gets the suffix."""

    pairs: Mapping[str, str]
    left: Sequence[str]
    right: Sequence[str]
    suffix: str
    where: Term | None = None
    nulls_equal: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.left, *(self._name(name) for name in self.right if self.pairs.get(name) != name))

    def _name(self, name: str) -> str:
        return name + self.suffix if name in self.left else name

    def match(self, left: Payload, right: Payload) -> bool:
        """A null key matches nothing, or with `nulls_equal` a null key; a condition that is null is not true."""
        keys = [(left[mine], right[theirs]) for mine, theirs in self.pairs.items()]
        return all((self.nulls_equal or mine is not None) and mine == theirs for mine, theirs in keys) and (
            self.where is None or self.where(self.both(left, right)) is True)

    def both(self, left: Payload | None, right: Payload | None) -> Payload:
        """One side may be missing: null, except keys of the same name."""
        if left is None:
            assert right is not None
            left = {name: right[name] if self.pairs.get(name) == name else None for name in self.left}
        return left | {self._name(name): None if right is None else right[name] for name in self.right
                       if self.pairs.get(name) != name}


class JoinWords:
    """Methods that answer with facts of both streams, or of the left one changed by the right one.

    Lookahead is a matter of plans; here it is always allowed.
    """

    facts: list[Event]
    columns: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns; without facts, those that there would be."""
        return tuple(self.facts[0][2]) if self.facts else self.columns

    def join(self, right: Self, on: On, *, how: str = "inner", where: Term | None = None,
             suffix: str = "_right", nulls_equal: bool = False, allow_lookahead: bool = False) -> Self:
        row = self._row(right, on, suffix, where, nulls_equal)
        facts = oracle.join(self.facts, right.facts, lambda _: (), lambda _: (), lambda a, b: {"left": a, "right": b})
        joined = [(start, end, row.both(**pair)) for start, end, pair in facts if row.match(**pair)]
        if how in ("left", "full"):
            joined += [(start, end, row.both(left, None))
                       for start, end, left in oracle.anti_join(self.facts, right.facts, row.match)]
        if how in ("right", "full"):
            joined += [(start, end, row.both(None, other)) for start, end, other in
                       oracle.anti_join(right.facts, self.facts, lambda other, left: row.match(left, other))]
        return self._of(joined, row.names)

    def cross_join(self, right: Self, **options: Any) -> Self:
        return self.join(right, (), **options)

    def semi_join(self, right: Self, on: On, *, where: Term | None = None, suffix: str = "_right",
                  nulls_equal: bool = False, allow_lookahead: bool = False) -> Self:
        row = self._row(right, on, suffix, where, nulls_equal)
        return self._of(oracle.semi_join(self.facts, right.facts, row.match), self.names)

    def anti_join(self, right: Self, on: On, *, where: Term | None = None, suffix: str = "_right",
                  nulls_equal: bool = False, allow_lookahead: bool = False) -> Self:
        row = self._row(right, on, suffix, where, nulls_equal)
        return self._of(oracle.anti_join(self.facts, right.facts, row.match), self.names)

    def clip_at(self, right: Self, on: On = (), *, nulls_equal: bool = False, allow_lookahead: bool = False) -> Self:
        row = self._row(right, on, "_right", nulls_equal=nulls_equal)
        return self._of(oracle.clip(self.facts, right.facts, row.match), self.names)

    def asof_join(self, right: Self, *, on: On = (), tolerance: int | None = None, direction: str = "backward",
                  strict: bool = False, ties: str = "all", nulls_equal: bool = False, suffix: str = "_right",
                  allow_lookahead: bool = False) -> Self:
        row = self._row(right, on, suffix, nulls_equal=nulls_equal)
        reach = INF if tolerance is None else tolerance
        facts = oracle.asof_join(self.facts, right.facts, row.match, row.both, reach, direction, strict=strict,
                                 last=ties == "last")
        return self._of(facts, row.names)

    def _row(self, right: Self, on: On, suffix: str, where: Term | None = None, nulls_equal: bool = False) -> _Row:
        names = [on] if isinstance(on, str) else on
        pairs = names if isinstance(names, Mapping) else {name: name for name in names}
        return _Row(pairs, self.names, right.names, suffix, where, nulls_equal)

    def _of(self, facts: list[Event], columns: tuple[str, ...]) -> Self:
        return replace(self, facts=facts, columns=columns)  # type: ignore[type-var]
