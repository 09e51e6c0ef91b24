"""How often intervals cover the truth at every look, over seeded shuffles, and how wide they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import whimbrel as wb
from whimbrel import col

Array = np.ndarray[Any, Any]

ROWS, BLOCK_ROWS = 128_000, 1_000
LOOKS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97)
NORMAL_95 = 1.959964


@dataclass(frozen=True)
class Coverage:
    """Of one kind of data and number of groups.

    Attributes
    ----------
    covered : dict of str to float
        By value, the share of intervals (of all shuffles and groups) that held the truth at every look.
    widths : dict of str to float
        By value, the median width at half the data, in widths of an interval for one look fixed beforehand.
    """

    data: str
    groups: int
    shuffles: int
    covered: dict[str, float]
    widths: dict[str, float]

    def __str__(self) -> str:
        values = "  ".join(f"{name} {share:7.2%} (x{self.widths[name]:.2f})" for name, share in self.covered.items())
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


def coverage(data: str, groups: int, shuffles: int) -> Coverage:
    """Run a query with so many seeds, and look at it again and again."""
    keys, values = datasets()[data](groups)
    table = pa.table({"at": np.arange(ROWS), "k": keys, "x": values})
    query = wb.from_arrow(table, time="at").group_by("k").tumbling_window(ROWS).aggregate(
        n=wb.count(), total=wb.sum(col.x), mean=wb.mean(col.x), spread=wb.var(col.x))
    names = ("n", "total", "mean", "spread")
    exact = query.collect()
    truth = {name: dict(zip(exact["k"].to_pylist(), exact[name].to_pylist(), strict=True)) for name in names}
    kept: dict[str, list[float]] = {name: [] for name in names}
    widths: dict[str, list[float]] = {name: [] for name in names}
    for seed in range(shuffles):
        held: dict[str, dict[int, bool]] = {name: {} for name in names}
        for answer in query.progress(at=LOOKS, seed=seed, block_rows=BLOCK_ROWS):
            found = answer.table["k"].to_numpy()
            for number, name in enumerate(names):
                low, high = (np.asarray(answer.table[f"{name}_{end}"].to_numpy(zero_copy_only=False), float)
                             for end in ("low", "high"))
                real = np.array([truth[name][key] for key in found.tolist()], float)
                slack = 1e-9 * np.abs(real)
                inside = ~((real < low - slack) | (real > high + slack))  # unknown ends hold whatever is true
                for key, good in zip(found.tolist(), inside.tolist(), strict=True):
                    held[name][key] = held[name].get(key, True) and good
                if 0.49 < (answer.share or 0) < 0.53 and answer.sample is not None:
                    fixed = 2 * NORMAL_95 * answer.sample.deviations(number)
                    widths[name].append(float(np.nanmedian((answer.bounds[1] - answer.bounds[0])[:, number] / fixed)))
        for name in names:
            kept[name].append(float(np.mean(list(held[name].values()))))
    return Coverage(data, groups, shuffles, {name: float(np.mean(each)) for name, each in kept.items()},
                    {name: float(np.median(each)) for name, each in widths.items()})
