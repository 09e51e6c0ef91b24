"""Snapshots, groups and the built-in aggregates (docs/semantics.md, aggregates)."""

from __future__ import annotations

import math
import operator
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import Any, Literal

from whimbrel.errors import KernelError
from whimbrel.testing.oracle.events import Event, Payload
from whimbrel.testing.oracle.stateless import Function


@dataclass(frozen=True)
class Aggregated:
    """One aggregate: what is taken of each row (None: the row itself) and which rows count."""

    kind: Literal["count", "sum", "mean", "min", "max", "product", "sum_of_squares", "var", "var_of_all", "std",
                  "std_of_all", "any", "all", "first", "last", "quantile", "count_distinct", "collect", "top_k", "only",
                  "most_frequent", "weighted_mean", "geometric_mean", "corr", "cov", "slope", "skew", "arg_min",
                  "arg_max", "last_by", "bit_and", "bit_or", "bit_xor", "mode", "sum_distinct",
                  "quantiles", "mad", "entropy", "string_agg", "increase",
                  "histogram", "rate"]
    of: Function | None = None
    condition: Function | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def value(self, rows: Sequence[Payload]) -> Any:
        kept = [row for row in rows if self.condition is None or self.condition(row) is True]
        values = [1 if self.of is None else self.of(row) for row in kept]
        return _AGGREGATES[self.kind]([value for value in values if value is not None], **self.options)


def aggregate(facts: Iterable[Event], aggregates: Mapping[str, Aggregated],
              keys: Mapping[str, Function] | None = None) -> list[Event]:
    """Per group, every change point cuts time; each period in which the group has an active event gives one result.

    "Snapshot = maximal period in which the set of active events (of a group) does not change. Each non-empty snapshot
    gives one result with that lifetime. Boundaries come from every start and end, per group; equal neighbours stay
    separate. Empty snapshot: nothing." Rows with equal keys are one group, and null equals null for that.
    """
    keys = keys or {}
    groups: dict[tuple[Any, ...], list[Event]] = {}
    for event in facts:
        groups.setdefault(tuple(key(event[2]) for key in keys.values()), []).append(event)
    answer: list[Event] = []
    for group, members in groups.items():
        boundaries = sorted({time for start, end, _ in members for time in (start, end)})
        for start, end in pairwise(boundaries):
            active = [payload for begins, ends, payload in members if begins <= start and end <= ends]
            if active:
                values = {name: each.value(active) for name, each in aggregates.items()}
                answer.append((start, end, dict(zip(keys, group, strict=True)) | values))
    return answer


def _sum(values: Sequence[Any]) -> Any:
    """Of integers int64, where "overflow is an error, never a wrap"; of nothing 0."""
    if any(isinstance(value, float) for value in values):
        return math.fsum(values)
    total = sum(values)
    if not -(2**63) <= total < 2**63:
        raise KernelError(f"The sum {total} does not fit into int64.")
    return total


def _mean(values: Sequence[Any]) -> float | None:
    """Always a float; of nothing null."""
    if not values:
        return None
    return math.fsum(values) / len(values) if isinstance(values[0], float) else sum(values) / len(values)


def _extreme(pick: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
    """Of nothing ("non-empty but filtered/null-only") null."""
    return lambda values: pick(values) if values else None


def _only(values: Sequence[Any]) -> Any:
    """Of nothing null; a second value is an error, as in Polars and pandas."""
    if len(values) > 1:
        raise KernelError(f"{len(values)} values where there may be one.")
    return values[0] if values else None


def _whole(of: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
    """Like the sum: integers may not leave int64."""
    return lambda values: _sum([of(values)])


def _spread(of: Callable[[Sequence[Any]], Any], fewest: int) -> Callable[[Sequence[Any]], Any]:
    """Always a float; "sample variance of one row is null"."""
    return lambda values: None if len(values) < fewest else float(of([Fraction(value) for value in values]))


def _edge(pick: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
    """Of pairs (start, value), so that of several that start together the value decides; of nothing null."""
    return lambda pairs: pick(pairs)[1] if pairs else None


def _quantile(values: Sequence[Any], q: float, interpolation: str, *, descending: bool) -> Any:
    """Of n in order: discrete is number ceil(q * n), linear lies q * (n - 1) after the first; of nothing null."""
    fraction, ordered = Fraction(str(q)), sorted(values, reverse=descending)
    if not ordered:
        return None
    if interpolation == "discrete":
        return ordered[max(math.ceil(fraction * len(ordered)), 1) - 1]
    way = fraction * (len(ordered) - 1)
    low, high = (Fraction(ordered[at]) for at in (math.floor(way), math.ceil(way)))
    return float(low + (high - low) * (way - math.floor(way)))


def _collect(pairs: Sequence[Any]) -> list[Any]:
    """In the order of their starts, then of the values; of nothing an empty list."""
    return [value for _, value in sorted(pairs)]


def _top_k(values: Sequence[Any], k: int, *, ties: bool) -> list[dict[str, Any]]:
    """"SQL RANK, ties of the last rank included, so it can exceed k; ties=False to cut"."""
    ranked = [{"rank": 1 + sum(other > value for other in values), "value": value}
              for value in sorted(values, reverse=True)]
    return [row for row in ranked if row["rank"] <= k] if ties else ranked[:k]


def _most_frequent(values: Sequence[Any], k: int) -> list[dict[str, Any]]:
    """"The most frequent value comes first, and of equally frequent ones the smallest."""
    ordered = sorted(set(values), key=lambda value: (-values.count(value), value))
    return [{"value": value, "count": values.count(value), "error": 0} for value in ordered[:k]]


def _weighted_mean(pairs: Sequence[Any]) -> float | None:
    """Of pairs (value, weight); of nothing, or of weights that add up to zero, null."""
    total = math.fsum(weight for _, weight in pairs)
    return math.fsum(value * weight for value, weight in pairs) / total if total != 0 else None


def _geometric_mean(values: Sequence[Any]) -> float | None:
    """The root of the product; "0 where a value is 0, and NaN where one is negative"; of nothing null."""
    if not values:
        return None
    if any(value < 0 for value in values):
        return math.nan
    return 0.0 if 0 in values else float(statistics.geometric_mean(values))


def _apart(pairs: Sequence[Any]) -> tuple[Fraction, Fraction, Fraction]:
    """Sums of squares and products of the distances of pairs from their means, without rounding."""
    xs, ys = ([Fraction(pair[side]) for pair in pairs] for side in (0, 1))
    x, y = sum(xs, Fraction()) / len(xs), sum(ys, Fraction()) / len(ys)
    return (sum(((a - x) ** 2 for a in xs), Fraction()), sum(((b - y) ** 2 for b in ys), Fraction()),
            sum(((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)), Fraction()))


def _corr(pairs: Sequence[Any]) -> float | None:
    """"null where one of them is constant"."""
    if not pairs:
        return None
    xx, yy, xy = _apart(pairs)
    return float(xy) / (math.sqrt(xx) * math.sqrt(yy)) if xx and yy else None


def _cov(pairs: Sequence[Any]) -> float | None:
    """Of a sample: "null of fewer than two rows"."""
    return float(_apart(pairs)[2] / (len(pairs) - 1)) if len(pairs) > 1 else None


def _slope(pairs: Sequence[Any]) -> float | None:
    """Of pairs (y, x): "null where x is constant"."""
    if not pairs or not (apart := _apart(pairs))[1]:
        return None
    return float(apart[2] / apart[1])


def _skew(values: Sequence[Any]) -> float | None:
    """"the third moment about the mean, in units of the standard deviation"; null where all values are equal."""
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact) if exact else Fraction()
    second, third = (sum(((value - mean) ** power for value in exact), Fraction()) for power in (2, 3))
    return float(third / len(exact)) / float(second / len(exact)) ** 1.5 if second else None


def _arg(pick: Callable[..., Any]) -> Callable[[Sequence[Any]], Any]:
    """Of triples (what orders, start, value): "the row that started first decides between equal ones"; else null."""
    return lambda rows: pick(rows)[2] if rows else None


def _arg_max(rows: Sequence[Any]) -> Any:
    """The first, then the smallest, of those with the largest."""
    return min(row for row in rows if row[0] == max(rows)[0])[2] if rows else None


def _bitwise(of: Callable[[Any, Any], Any]) -> Callable[[Sequence[Any]], Any]:
    """Of nothing null."""
    return lambda values: reduce(of, values) if values else None


def _mode(values: Sequence[Any]) -> Any:
    """The most frequent, "of several the smallest"; of nothing null."""
    return min(values, key=lambda value: (-values.count(value), value)) if values else None


def _mad(values: Sequence[Any]) -> float | None:
    """The median of the distances from the median; of nothing null."""
    if not values:
        return None
    middle = statistics.median(map(Fraction, values))
    return float(statistics.median(abs(Fraction(value) - middle) for value in values))


def _entropy(values: Sequence[Any]) -> float | None:
    """The sum of ``-p * log2(p)``; of nothing null."""
    shares = [values.count(value) / len(values) for value in set(values)]
    return math.fsum(-share * math.log2(share) for share in shares) + 0.0 if values else None


def _string_agg(texts: Sequence[Any], separator: str, *, descending: bool) -> str | None:
    """Of texts, or of pairs (start, text), in their order; of nothing null."""
    ordered = sorted(texts, reverse=descending)
    return separator.join(each[1] if isinstance(each, tuple) else each for each in ordered) if texts else None


def _increase(pairs: Sequence[Any]) -> Any:
    """"A value below the one before it is a reset"; null with fewer than two."""
    values = [value for _, value in sorted(pairs)]
    grown = [now if now < before else now - before for before, now in pairwise(values)]
    return sum(grown) if grown else None


def _histogram(values: Sequence[Any], edges: Sequence[Any]) -> list[int]:
    """"From its first edge up to its second one. The last bin also holds its second edge"."""
    return [sum(low <= value and (value < high or value == high == edges[-1]) for value in values)
            for low, high in pairwise(edges)]


def _rate(triples: Sequence[Any], per: float) -> float | None:
    """Of (start, value, time): the increase over the time between the first and the last one."""
    times = [time for _, _, time in triples]
    if not times or max(times) == min(times):
        return None
    grown = _increase([triple[:2] for triple in triples])
    return float(grown / ((max(times) - min(times)) / per))


_AGGREGATES: Mapping[str, Callable[..., Any]] = {
    "count": len, "sum": _sum, "mean": _mean, "min": _extreme(min), "max": _extreme(max),
    "product": _whole(math.prod), "sum_of_squares": _whole(lambda values: sum(value * value for value in values)),
    "var": _spread(statistics.variance, 2), "var_of_all": _spread(statistics.pvariance, 1),
    "std": _spread(statistics.stdev, 2), "std_of_all": _spread(statistics.pstdev, 1),
    "any": any, "all": all, "only": _only, "first": _edge(min), "last": _edge(max),
    "quantile": _quantile, "count_distinct": lambda values: len(set(values)), "collect": _collect, "top_k": _top_k,
    "most_frequent": _most_frequent,
    "weighted_mean": _weighted_mean, "geometric_mean": _geometric_mean,
    "corr": _corr, "cov": _cov, "slope": _slope, "skew": _skew,
    "mode": _mode, "sum_distinct": lambda values: _sum(sorted(set(values))),
    "quantiles": lambda values, qs: [_quantile(values, q, "linear", descending=False) for q in qs] if values else None,
    "mad": _mad, "entropy": _entropy, "string_agg": _string_agg, "histogram": _histogram, "rate": _rate,
    "increase": _increase,
    "arg_min": _arg(min), "arg_max": _arg_max, "last_by": _arg(max),
    "bit_and": _bitwise(operator.and_), "bit_or": _bitwise(operator.or_), "bit_xor": _bitwise(operator.xor),
}
