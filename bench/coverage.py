"""How often intervals cover the truth at every look, over seeded shuffles, and how wide they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import whimbrel as wb
from whimbrel import col
from whimbrel.plan import Aggregate

Array = np.ndarray[Any, Any]

ROWS, BLOCK_ROWS = 128_000, 1_000
LOOKS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97)
SUMS = {"n": wb.count(), "total": wb.sum(col.x), "mean": wb.mean(col.x), "spread": wb.var(col.x)}
KEPT = {"median": wb.median(col.x), "p90": wb.quantile(col.x, 0.9), "terms": wb.count_distinct(col.term),
        "sessions": wb.count_distinct(col.session)}
NORMAL_95 = 1.959964


@dataclass(frozen=True)
class Coverage:
    """Of one kind of data and number of groups.

    Attributes
    ----------
    covered : dict of str to float
        By value, the share of shuffles and groups in which no interval, at any look, was false.
    among : dict of str to float
        The same of those shuffles and groups that had an interval at some look; NaN where there is none.
    given : dict of str to float
        By value, the share of groups that had an interval at half the data.
    widths : dict of str to float
        By value, the median width at half the data: of sums, in widths of an interval for one look fixed beforehand; of
        quantiles and distinct counts, half of it as a share of the value.
    """

    data: str
    groups: int
    shuffles: int
    covered: dict[str, float]
    among: dict[str, float]
    given: dict[str, float]
    widths: dict[str, float]

    def __str__(self) -> str:
        values = "  ".join(
            f"{name} {self.covered[name]:7.2%} ({self.among[name]:.1%}, {self.given[name]:.0%}, "
            + (f"±{self.widths[name]:.1%})" if name in KEPT else f"x{self.widths[name]:.2f})") for name in self.covered)
        return f"      {self.data:<18} {self.groups:>5,} groups  {self.shuffles:>5,} shuffles  {values}"


def datasets() -> dict[str, Callable[[int], tuple[Array, Array]]]:
    """By name, what makes groups and values of so many groups."""
    def uniform(groups: int) -> tuple[Array, Array]:
        chance = np.random.default_rng(1)
        return chance.integers(0, groups, ROWS), chance.uniform(0, 100, ROWS)

    def zipf(groups: int) -> tuple[Array, Array]:
        chance = np.random.default_rng(2)
        return np.minimum(chance.zipf(1.3, ROWS) - 1, groups - 1), chance.exponential(10, ROWS)

    def clustered(groups: int) -> tuple[Array, Array]:
        chance = np.random.default_rng(3)
        drift = np.linspace(0, 1, ROWS)
        return ((drift * groups + chance.normal(0, groups / 6, ROWS)).astype(np.int64) % groups,
                50 + 40 * np.sin(drift * 9) + chance.normal(0, 5, ROWS))

    def heavy(groups: int) -> tuple[Array, Array]:
        chance = np.random.default_rng(4)
        return chance.integers(0, groups, ROWS), chance.lognormal(0, 1.5, ROWS)

    return {"uniform": uniform, "Zipf": zipf, "clustered by time": clustered, "heavy tails": heavy}


def coverage(data: str, groups: int, shuffles: int, asked: Mapping[str, Aggregate] = SUMS) -> Coverage:
    """Run a query with so many seeds, and look at it again and again.

    Terms are Zipf-distributed, so that most are rare; sessions are of eight rows in a row.
    """
    keys, values = datasets()[data](groups)
    table = pa.table({"at": np.arange(ROWS), "k": keys, "x": values, "session": np.arange(ROWS) // 8,
                      "term": np.minimum(np.random.default_rng(5).zipf(1.3, ROWS), ROWS)})
    query = wb.from_arrow(table, time="at").group_by("k").tumbling_window(ROWS).aggregate(**asked)
    names = list(asked)
    exact = query.collect().sort_by("k")
    truth = np.array([exact[name].to_numpy() for name in names], np.float64)
    had, false = np.zeros((2, len(names)))
    halves = []
    for seed in range(shuffles):
        some, missed = np.zeros((2, *truth.shape), np.bool_)
        for answer in query.progress(at=LOOKS, seed=seed, block_rows=BLOCK_ROWS):
            if not answer.final:
                rows = np.searchsorted(exact["k"].to_numpy(), answer.table["k"].to_numpy())
                given, low, high, widths = _intervals(answer, names)
                slack = 1e-9 * np.abs(truth[:, rows])
                some[:, rows] |= given
                missed[:, rows] |= given & ((truth[:, rows] < low - slack) | (truth[:, rows] > high + slack))
                if 0.49 < (answer.share or 0) < 0.53:
                    halves.append((given.mean(axis=1), [np.median(wide[known]) if known.any() else np.nan
                                                        for wide, known in zip(widths, given, strict=True)]))
        had += some.sum(axis=1)
        false += missed.sum(axis=1)
    with np.errstate(invalid="ignore"):
        covered, among = 1 - false / (shuffles * truth.shape[1]), 1 - false / had
    shares, widths = (np.array([half[which] for half in halves]) for which in (0, 1))
    wide = [float(np.median(each[~np.isnan(each)])) if (~np.isnan(each)).any() else np.nan for each in widths.T]
    return Coverage(data, groups, shuffles, *(dict(zip(names, map(float, found), strict=True))
                                              for found in (covered, among, shares.mean(axis=0), wide)))


def _intervals(answer: wb.Estimate, names: Sequence[str]) -> tuple[Array, Array, Array, Array]:
    """By value and row: whether there is an interval that blocks tell, its ends, and its width."""
    sample = answer.sample
    assert sample is not None
    values, low, high = (
        np.array([answer.table[f"{name}{end}"].to_numpy(zero_copy_only=False) for name in names], np.float64)
        for end in ("", "_low", "_high"))
    order = np.lexsort((sample.starts, ~sample.read.exact))
    if sample.kept:
        ends = np.isfinite([*np.array(sample.spread.ends(0.05))[:, :, order], low, high])
        return ends.all(axis=0), low, high, (high - low) / 2 / values
    errors = np.array([sample.spread.deviations(number)[order] for number in range(len(names))])
    given = np.array([np.isfinite(sample.spread.widths(0.05)[number])[order] for number in range(len(names))])
    with np.errstate(divide="ignore", invalid="ignore"):
        return given & (errors > 0), low, high, (high - low) / (2 * NORMAL_95 * errors)
