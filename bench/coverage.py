"""How often intervals cover the truth at every update, over seeded shuffles, and how wide they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import NormalDist
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

import whimbrel as wb
from whimbrel import col
from whimbrel.batch import Batch
from whimbrel.expr import Expr
from whimbrel.plan import Aggregate, Blocks
from whimbrel.progressive.estimation.block_sample import BlockSample
from whimbrel.progressive.intervals.interval_widths import IntervalWidths
from whimbrel.progressive.sampling.block_states import BlockStates, Rows

Array = np.ndarray[Any, Any]
Values = Mapping[str, Aggregate | Expr]

ROWS, BLOCK_ROWS = 128_000, 1_000
FRACTIONS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97)
SUMS: Values = {"n": wb.count(), "total": wb.sum(col.x), "mean": wb.mean(col.x), "spread": wb.var(col.x)}
RATIO: Values = {"ratio": wb.sum(col.x) / wb.sum(col.y)}
KEPT: Values = {"median": wb.median(col.x), "p90": wb.quantile(col.x, 0.9), "terms": wb.count_distinct(col.term),
                "sessions": wb.count_distinct(col.session)}
HISTOGRAM: Values = {"histogram": wb.count()}
JOINED: Values = {"joined": wb.count(), "worth": wb.sum(col.x * col.price), "mean worth": wb.mean(col.x * col.price)}
NESTED: Values = {"windows": wb.count(), "sum of sums": wb.sum(col.total), "mean of means": wb.mean(col.mean)}
BINS, TOP, WINDOWS = 8, 3, 1_280
_ALPHA = 0.05


@dataclass(frozen=True)
class Coverage:
    """Of one kind of data and number of groups, by value; a path is one group in one shuffle, with all its updates.

    Attributes
    ----------
    covered : dict of str to float
        The share of paths in which no interval, at any update, was false.
    among : dict of str to float
        The same of the paths that had an interval at some update; NaN where there is none.
    given : dict of str to float
        The share of groups that had an interval at half the data.
    widths : dict of str to float
        The median width at half the data, in widths of an interval of the same kind for that update alone.
    errors : dict of str to float
        The median of half that width, as a share of the value.
    """

    data: str
    groups: int
    shuffles: int
    covered: dict[str, float]
    among: dict[str, float]
    given: dict[str, float]
    widths: dict[str, float]
    errors: dict[str, float]

    def __str__(self) -> str:
        values = "  ".join(
            f"{name} {self.covered[name]:.2%} ({self.among[name]:.1%}, {self.given[name]:.0%}, "
            f"x{self.widths[name]:.2f}, ±{self.errors[name]:.1%})" for name in self.covered)
        return f"      {self.data:<18} {self.groups:>5,} groups  {self.shuffles:>5,} shuffles  {values}"


def datasets() -> dict[str, Callable[[int, int], tuple[Array, Array]]]:
    """By name, what makes so many rows of groups and values, of so many groups."""
    def uniform(groups: int, rows: int) -> tuple[Array, Array]:
        chance = np.random.default_rng(1)
        return chance.integers(0, groups, rows), chance.uniform(0, 100, rows)

    def zipf(groups: int, rows: int) -> tuple[Array, Array]:
        chance = np.random.default_rng(2)
        return np.minimum(chance.zipf(1.3, rows) - 1, groups - 1), chance.exponential(10, rows)

    def clustered(groups: int, rows: int) -> tuple[Array, Array]:
        chance = np.random.default_rng(3)
        drift = np.linspace(0, 1, rows)
        return ((drift * groups + chance.normal(0, groups / 6, rows)).astype(np.int64) % groups,
                50 + 40 * np.sin(drift * 9) + chance.normal(0, 5, rows))

    def heavy(groups: int, rows: int) -> tuple[Array, Array]:
        chance = np.random.default_rng(4)
        return chance.integers(0, groups, rows), chance.lognormal(0, 1.5, rows)

    return {"uniform": uniform, "Zipf": zipf, "clustered by time": clustered, "heavy tails": heavy}


def log(data: str, groups: int, rows: int) -> pa.Table:
    """Groups and values; terms that are Zipf-distributed, so that most are rare; sessions of eight rows in a row."""
    keys, values = datasets()[data](groups, rows)
    chance = np.random.default_rng(5)
    return pa.table({"at": np.arange(rows), "k": keys, "x": values, "y": chance.exponential(1, rows) + values / 50,
                     "term": np.minimum(chance.zipf(1.3, rows), rows), "session": np.arange(rows) // 8})


def coverage(data: str, groups: int, shuffles: int, asked: Values = SUMS, *, rows: int = ROWS) -> Coverage:
    """Run a query with so many seeds, and check its intervals at every update. Rows lie in 128 blocks."""
    table = log(data, groups, rows)
    if asked is HISTOGRAM:  # a count for each bin of each group
        x = table["x"].to_numpy()
        bins = np.minimum((x / np.quantile(x, 0.95) * (BINS - 1)).astype(np.int64), BINS - 1)
        table = table.set_column(table.column_names.index("k"), "k", pa.array(table["k"].to_numpy() * BINS + bins))
    events = _events(asked, wb.from_arrow(table, time="at"), groups, rows)
    query = events.group_by("k").tumbling_window(rows).aggregate(**asked)
    names = list(asked)
    exact = query.collect().sort_by("k")
    keys, truth = exact["k"].to_numpy(), np.array([exact[name].to_numpy() for name in names], np.float64)
    had, false = np.zeros((2, len(names)))
    shuffled = Shuffles(query, rows)
    halves = []
    for seed in range(shuffles):
        some, missed = np.zeros((2, *truth.shape), np.bool_)
        for answer, sample in shuffled.early(seed):
            groups_seen = np.searchsorted(keys, np.asarray(sample.state.keys[1].values))
            low, high = (ends.T for ends in answer.bounds)
            given = np.isfinite(sample.intervals.ends(_ALPHA)).all(axis=0)
            true = truth[:, groups_seen]
            slack = 1e-9 * np.abs(true)
            some[:, groups_seen] |= given
            missed[:, groups_seen] |= (true < low - slack) | (true > high + slack)
            if 0.49 < (answer.fraction_read or 0) < 0.53:
                halves.append(_at_half(sample, given, true))
        had += (some | missed).sum(axis=1)
        false += missed.sum(axis=1)
    with np.errstate(invalid="ignore"):
        covered, among = 1 - false / (shuffles * truth.shape[1]), 1 - false / had
    given_then, *widths = np.array(halves).transpose(1, 0, 2)
    found = covered, among, given_then.mean(axis=0), *(_median(each.T) for each in widths)
    return Coverage(data, groups, shuffles, *(dict(zip(names, map(float, each), strict=True)) for each in found))


def _events(asked: Values, source: wb.Stream, groups: int, rows: int) -> wb.Stream:
    """What the windows are of: the rows, or what ranges of time answer."""
    if asked is JOINED:
        prices = wb.from_arrow({"since": np.zeros(groups, np.int64), "until": np.full(groups, rows + 1),
                                "k": np.arange(groups), "price": 1 + np.arange(groups) % 7 / 2},
                               time="since", end="until", name="prices")
        return source.join(prices.select("k", "price"), on="k")
    if asked is NESTED:
        return source.group_by("k").tumbling_window(rows // WINDOWS).aggregate(total=wb.sum(col.x), mean=wb.mean(col.x))
    return source


@dataclass(frozen=True)
class Membership:
    """How often the largest sums were said to be certain, and whether that was true.

    Attributes
    ----------
    covered : float
        The share of shuffles in which no ranking that was said to be certain, at any update, was another than the true.
    certain_early : float
        The share of shuffles in which one was said to be certain before the end.
    """

    data: str
    groups: int
    shuffles: int
    covered: float
    certain_early: float

    def __str__(self) -> str:
        return (f"      {self.data:<18} {self.groups:>5,} groups  {self.shuffles:>5,} shuffles  top {TOP} "
                f"{self.covered:.2%} (certain before the end: {self.certain_early:.0%})")


def membership(data: str, groups: int, shuffles: int, *, rows: int = ROWS) -> Membership:
    """Ask for the order of the largest sums at every update."""
    query = wb.from_arrow(log(data, groups, rows), time="at").group_by("k").tumbling_window(rows).aggregate(
        total=wb.sum(col.x))
    exact = query.collect().sort_by("total")
    order = exact["k"].to_pylist()[: -TOP - 1 : -1]
    held, certain_early = shuffles, 0
    shuffled = Shuffles(query, rows)
    for seed in range(shuffles):
        rankings = [answer.ranking(TOP) for answer, _ in shuffled.early(seed)]
        sure = [[row["k"] for row in top] for certain, top in rankings if certain]
        held -= any(top != order for top in sure)
        certain_early += bool(sure)
    return Membership(data, groups, shuffles, held / shuffles, certain_early / shuffles)


class Shuffles:
    """Updates of one progressive query by many seeds, which differ in the order of blocks: their states are made once.

    Parameters
    ----------
    query : Stream
    rows : int, optional
        In 128 blocks; not given: in as many as anybody is given.
    """

    def __init__(self, query: wb.Stream, rows: int | None = None) -> None:
        self._query, self._size = query, None if rows is None else rows // (ROWS // BLOCK_ROWS)
        first = self._begin(0)
        self._states = MadeStates(first.block_run.states, first.block_run.blocks)

    def _begin(self, seed: int) -> wb.ProgressiveQuery:
        return self._query.progressive(at=FRACTIONS, seed=seed, block_rows=self._size)

    def early(self, seed: int) -> Iterator[tuple[wb.Estimate, BlockSample]]:
        """The answers before the last one."""
        progress = self._begin(seed)
        run = progress.block_run
        run.states = run.lazy_estimates.states = self._states
        for answer in islice(progress, len(FRACTIONS)):
            assert answer.sample is not None
            yield answer, answer.sample


class MadeStates(BlockStates):
    """States of blocks that were read before.

    Parameters
    ----------
    states : BlockStates
    blocks : Blocks
    """

    def __init__(self, states: BlockStates, blocks: Blocks) -> None:
        vars(self).update(vars(states))
        self._by_block = {}
        for first, stop in zip(blocks.first.tolist(), blocks.stop.tolist(), strict=True):
            states.read((first, stop), ())
            self._by_block[first] = states.take()
        self._asked: list[Batch] = []

    def read(self, block: Rows, then: Sequence[Rows]) -> int:
        self._asked.append(self._by_block[block[0]])
        return len(self._asked[-1])

    @property
    def waiting(self) -> int:
        return sum(map(len, self._asked))

    def take(self) -> Batch:
        asked, self._asked = self._asked, []
        return Batch.concat(asked)


def _at_half(sample: BlockSample, given: Array, true: Array) -> tuple[Array, Array, Array]:
    """By value: of how many groups there is an interval, and its median width: in those of one update, and halved."""
    widths = np.subtract(*sample.intervals.ends(_ALPHA)[::-1])
    with patch("whimbrel.progressive.intervals.interval_widths.boundary", _at_one_update), patch(
            "whimbrel.progressive.intervals.block_sums.boundary", _at_one_update):
        alone = np.subtract(*IntervalWidths(sample.values, sample.guaranteed).ends(_ALPHA)[::-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios, halves = widths / alone, widths / 2 / np.abs(true)
    known = given & (widths > 0) & np.isfinite(alone)
    return given.mean(axis=1), _median(np.where(known, ratios, np.nan)), _median(np.where(known, halves, np.nan))


def _median(numbers: Array) -> Array:
    """Of the last axis but for what is no number."""
    return np.array([np.median(row[~np.isnan(row)]) if not np.isnan(row).all() else np.nan
                     for row in np.atleast_2d(numbers)])


def _at_one_update(alpha: float) -> tuple[Array, Array]:
    """How many standard errors wide an interval is that is valid at one update, whatever share was drawn."""
    return np.array([-1.0, 1.0]), np.full(2, NormalDist().inv_cdf(1 - alpha / 2))
