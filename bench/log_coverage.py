"""How often intervals cover the truth at every update on logs as they are: any Parquet file, many seeds at once.

States of all blocks are made once. Then every seed is a window of its own, so that one call of the real estimator
answers all of them: ``python -m bench.log_coverage FILE_OR_FOLDER... [--seeds 1000] [--quick]``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import whimbrel as wb
from bench.coverage import FRACTIONS, Shuffles, Values
from whimbrel import col
from whimbrel.batch import Batch, Column, frozen
from whimbrel.kernels import wait_for_compiler
from whimbrel.progressive.estimation.block_sample import BlockSample
from whimbrel.progressive.estimation.block_statistics import BlockStatistics
from whimbrel.progressive.estimation.block_totals import Totals
from whimbrel.progressive.intervals.value_state import Drawn
from whimbrel.progressive.plan.query_split import SplitQuery
from whimbrel.progressive.sampling.read_blocks import Part, Read

Array = np.ndarray[Any, Any]

SEEDS, QUICK_SEEDS = 1_000, 50
SUMS: Values = {"count": wb.count(), "sum": wb.sum(col.x), "mean": wb.mean(col.x), "variance": wb.var(col.x)}
RATIO: Values = {"ratio": wb.sum(col.x) / wb.count()}
KEPT: Values = {"median": wb.median(col.x), "quantile 0.9": wb.quantile(col.x, 0.9),
                "distinct": wb.count_distinct(col.x)}
_ALPHA = 0.05
_STATES = 1 << 21
"""Of so many states at once: as many seeds as that allows."""
_FEWER = 50
"""Of so many seeds one is tried for values that are kept."""
_MAX_KEYS, _COLUMNS, _KEYS = 300, 3, 2
_ROW_GROUPS = 200


@dataclass
class Found:
    """Of one value of one query, over all seeds; a path is one group and one seed, with all its updates.

    Attributes
    ----------
    paths, stated, false : int
        All of them; those that had an interval with two ends at some update; those of which one was false.
    updates, withheld : int
        Updates of groups that had been seen, and those without an interval.
    widths : list of float
        Half the intervals at half the data, as shares of the value.
    """

    paths: int = 0
    stated: int = 0
    false: int = 0
    updates: int = 0
    withheld: int = 0
    widths: list[float] | None = None

    @property
    def covered(self) -> float:
        """The share of paths that stated something, of which nothing was false."""
        return 1 - self.false / self.stated if self.stated else float("nan")

    def add(self, given: Array, outside: Array, seen: Array, half: Array) -> None:
        """Paths with their updates: by update and path whether there was an interval, one that was false, and a row."""
        self.paths += given.shape[1]
        self.stated += int(given.any(axis=0).sum())
        self.false += int(outside.any(axis=0).sum())
        self.updates += int(seen.sum())
        self.withheld += int((seen & ~given).sum())
        self.widths = [*(self.widths or []), *half.tolist()]

    def __str__(self) -> str:
        width = np.median(self.widths) if self.widths else float("nan")
        return (f"{self.stated:>9,} of {self.paths:>9,} paths stated  {self.covered:7.2%} covered  "
                f"±{width:.1%} at half  {self.withheld / max(self.updates, 1):.0%} of updates withheld")


def values_of(path: Path) -> tuple[pa.Table, dict[str, Array], dict[str, Array]]:
    """The table in the order of time; its numbers, spans among them; and its keys, as numbers."""
    table = pq.read_table(path)
    times = [field.name for field in table.schema if pa.types.is_timestamp(field.type)]
    if times:
        table = table.sort_by(times[0])
    numbers: dict[str, Array] = {}
    keys: dict[str, Array] = {}
    for field in table.schema:
        column = table[field.name].combine_chunks()
        if (pa.types.is_floating(field.type) or pa.types.is_integer(field.type)) and field.name != "arrival_seq":
            numbers[field.name] = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        elif pa.types.is_string(field.type) or pa.types.is_boolean(field.type):
            codes = pc.fill_null(column.dictionary_encode(null_encoding="encode").indices, -1)
            if 1 < pc.count_distinct(codes).as_py() <= _MAX_KEYS:
                keys[field.name] = codes.cast(pa.int64()).to_numpy()
    for name in times[1:]:
        span = pc.subtract(table[name].cast(pa.timestamp("us")), table[times[0]].cast(pa.timestamp("us")))
        numbers[f"{name} - {times[0]}"] = span.cast(pa.int64()).combine_chunks().to_numpy(zero_copy_only=False) / 1e6
    return table, numbers, keys


class Simulated:
    """Many seeds of one query at once.

    Parameters
    ----------
    query : Stream
        With one window, over a source in memory.
    """

    def __init__(self, query: wb.Stream, **options: Any) -> None:
        run = query.progressive(at=FRACTIONS, **options).block_run
        self.split: SplitQuery = run.split
        self.blocks, states, self.position = run.blocks, run.states, run.scan.position
        first = run.scan.left
        self.statistics = (BlockStatistics.of(self.split, states, self.blocks, first)
                           if run.scan.begins else None)
        certain = np.empty(0, np.int64) if self.statistics is None else self.statistics.certain
        self.known = np.union1d(first, certain) if run.scan.begins else certain
        made = []
        for block in zip(self.blocks.first.tolist(), self.blocks.stop.tolist(), strict=True):
            states.read(block, ())
            made.append(states.take())
        self.ends = np.cumsum([len(each) for each in made])
        self.states = Batch.concat(made)
        self.start = int(self.states.sync[0])

    def samples(self, seeds: Sequence[int]) -> Iterator[BlockSample]:
        """What is known at each update, of all these seeds: each is a window of its own."""
        blocks, others = self.blocks, np.setdiff1d(np.arange(len(self.blocks)), self.known)
        orders = np.array([np.random.default_rng(seed).permutation(others) for seed in seeds])
        totals = Totals(self.split, compares=True, usual=float(blocks.rows.mean()))
        self._add(totals, np.tile(self.known, (len(seeds), 1)), None)
        totals.begin_phase()
        begun = 0
        for share in FRACTIONS:
            stop = int(np.ceil(share * len(blocks))) - len(self.known)
            if begun < stop < len(others):
                self._add(totals, orders[:, begun:stop], begun)
                begun = stop
                yield self._sample(totals, orders, begun)

    def _add(self, totals: Totals, blocks: Array, before: int | None) -> None:
        """Blocks of each seed, after so many of its phase."""
        first = np.append(0, self.ends[:-1])[blocks].reshape(-1)
        counts = np.diff(self.ends, prepend=0)[blocks].reshape(-1)
        which = np.repeat(first - np.append(0, np.cumsum(counts)[:-1]), counts) + np.arange(counts.sum())
        seed = np.repeat(np.repeat(np.arange(len(blocks)), blocks.shape[1]), counts)
        drawn = None
        if before is not None:
            positions = np.tile(before + np.arange(blocks.shape[1]), len(blocks))
            drawn = Drawn(np.repeat(self.blocks.rows[blocks].reshape(-1), counts), np.repeat(positions, counts))
        totals.add(self.states.take(which).having(sync=frozen(seed.astype(np.int64))), drawn)

    def _sample(self, totals: Totals, orders: Array, begun: int) -> BlockSample:
        size, rows = self.blocks.rows.astype(np.float64), totals.rows
        seeds = np.asarray(rows.starts)
        drawn, left = (_part(size[part]) for part in (orders[seeds, :begun], orders[seeds, begun:]))
        none, nothing = Part(*np.zeros((3, len(seeds)))), np.zeros(len(seeds), np.bool_)
        known = _part(np.tile(size[self.known], (len(seeds), 1)))
        read = Read(rows.which, drawn, left, none, known, left.rows * 0, left.rows,
                    drawn.blocks + left.blocks, drawn.blocks / (drawn.blocks + left.blocks),
                    (left.rows / drawn.rows, left.rows * 0), nothing, ~nothing)
        sample = BlockSample(totals, self.position._replace(begins=False), None, self._of_all())
        sample.state.read = read
        return sample

    def _of_all(self) -> BlockStatistics | None:
        return None if self.statistics is None else _OfSeeds(self.statistics, self.start)


class _OfSeeds(BlockStatistics):
    """Those of the one window that there is, for the windows that seeds are."""

    def __init__(self, of: BlockStatistics, start: int) -> None:
        vars(self).update(vars(of))
        self._start = start

    def _ids(self, keys: Sequence[Column], rows: int) -> Array:
        return super()._ids([Column(pa.int64(), np.full(rows, self._start)), *keys[1:]], rows)


def _part(rows: Array) -> Part:
    return Part(np.full(len(rows), float(rows.shape[1])), rows.sum(axis=1), (rows**2).sum(axis=1))


def simulated(query: wb.Stream, seeds: int, **options: Any) -> dict[str, Found]:
    """By value, what intervals did."""
    runs, truth = Simulated(query, **options), Truth(query)
    at_once = max(1, min(seeds, _STATES // max(1, len(runs.states))))
    for begin in range(0, seeds, at_once):
        some = range(begin, min(seeds, begin + at_once))
        truth.add([_update(sample, truth, len(some), np.asarray(sample.state.starts)) for sample in runs.samples(some)])
    return truth.found


def shuffled(query: wb.Stream, seeds: int) -> dict[str, Found]:
    """The same, each seed by a progress of its own: values that are kept would be too many of all seeds at once."""
    runs, truth = Shuffles(query), Truth(query)
    for seed in range(seeds):
        truth.add([_update(sample, truth, 1, np.zeros(len(sample), np.int64)) for _, sample in runs.early(seed)])
    return truth.found


class Truth:
    """The values of a query, and what intervals of them did so far.

    Parameters
    ----------
    query : Stream
    """

    def __init__(self, query: wb.Stream) -> None:
        exact = query.collect().sort_by("k")
        names = [name for name in exact.column_names if name not in ("start", "end", "k")]
        self.groups = exact["k"].to_numpy()
        self.values = np.array([exact[name].to_numpy(zero_copy_only=False) for name in names], np.float64)
        self.found = {name: Found() for name in names}

    def add(self, updates: Sequence[tuple[Array, Array, Array, Array]]) -> None:
        """Add some seeds, at every update."""
        given, outside, seen, widths = (np.array(each) for each in zip(*updates, strict=True))
        half = int(np.searchsorted(FRACTIONS, 0.5)) - len(FRACTIONS) + len(updates)
        for value, found in enumerate(self.found.values()):
            there = np.tile(np.isfinite(self.values[value]), seen.shape[1] // len(self.groups))
            wide = widths[half][value]
            found.add(given[:, value, there], outside[:, value, there], seen[:, there], wide[np.isfinite(wide) & there])


def _update(sample: BlockSample, of: Truth, seeds: int, which: Array) -> tuple[Array, Array, Array, Array]:
    """By value and path, seeds apart: whether there is an interval, a false one, a row at all; and how wide it is."""
    groups, truth = of.groups, of.values
    path = which * len(groups) + np.searchsorted(groups, np.asarray(sample.state.keys[1].values))
    low, high = sample.intervals.ends(_ALPHA)
    true = truth[:, path % len(groups)]
    slack = 1e-9 * np.abs(true)
    stated = np.isfinite(low) & np.isfinite(high)
    shape = len(truth), seeds * len(groups)
    given, outside, seen = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_), np.zeros(shape[1], np.bool_)
    given[:, path], seen[path] = stated, True
    outside[:, path] = stated & ((true < low - slack) | (true > high + slack))
    widths = np.full(shape, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        widths[:, path] = np.where(stated & (true != 0), (high - low) / 2 / np.abs(true), np.nan)
    return given, outside, seen, widths


def queries(path: Path, folder: Path | None = None) -> Iterator[tuple[str, str, int, Mapping[str, wb.Stream]]]:
    """Of each number and key of a file: their names, how many groups there are, and the queries.

    With a folder, rows are read from a file of 200 row groups in it.
    """
    table, numbers, keys = values_of(path)
    few = sorted(keys.items(), key=lambda key: len(set(key[1].tolist())))[:_KEYS]
    every = {"": np.zeros(table.num_rows, np.int64), **dict(few)}
    for key, codes in every.items():
        for name, values in [*numbers.items()][-_COLUMNS:]:
            rows = pa.table({"at": np.arange(table.num_rows), "k": codes, "x": pa.array(values, from_pandas=True)})
            if folder is None:
                source = wb.from_arrow(rows, time="at")
            else:
                file = folder / f"{len([*folder.iterdir()])}.parquet"
                pq.write_table(rows, file, row_group_size=-(-len(rows) // _ROW_GROUPS))
                source = wb.read_parquet(file, time="at")
            log = source.group_by("k").tumbling_window(table.num_rows)
            yield name, key, len(set(codes.tolist())), {
                "sums": log.aggregate(**SUMS), "ratio": log.aggregate(**RATIO), "kept": log.aggregate(**KEPT)}


def run(paths: Sequence[Path], seeds: int, *, sums: bool = False, row_groups: bool = False) -> Iterator[str]:
    """A line for each file, number, key and value; of sums and what is made of them alone, if that is asked for."""
    with wait_for_compiler(), TemporaryDirectory() as folder:
        for path in paths:
            for name, key, groups, asked in queries(path, Path(folder) if row_groups else None):
                kept = shuffled(asked["kept"], seeds // _FEWER) if seeds >= _FEWER and not sums else {}
                for value, found in (simulated(asked["sums"], seeds) | simulated(asked["ratio"], seeds) | kept).items():
                    yield (f"      {path.stem:<22} {name[:24]:<24} {f'by {key}' if key else '':<18} "
                               f"{groups:>4} groups  {value:<12} {found}")


def files_of(paths: Sequence[Path]) -> list[Path]:
    """Parquet files, and those of folders.

    Raises
    ------
    FileNotFoundError
        Where there is none.
    """
    found = [file for path in paths for file in (sorted(path.glob("*.parquet")) if path.is_dir() else [path])]
    if missing := [str(file) for file in found if not file.is_file()]:
        raise FileNotFoundError(f"no file {', '.join(missing)}; give Parquet files, or folders of them")
    if not found:
        raise FileNotFoundError(f"no Parquet file in {', '.join(map(str, paths))}; give files, or folders of them")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.log_coverage", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="FILE_OR_FOLDER",
                        help="Parquet files with a number, or folders of them")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sums", action="store_true", help="no quantiles and distinct counts, which take longer")
    parser.add_argument("--row-groups", action="store_true", help="rows are read from files of 200 row groups")
    given = parser.parse_args()
    try:
        files = files_of(given.paths)
    except FileNotFoundError as error:
        parser.error(str(error))
    for line in run(files, QUICK_SEEDS if given.quick else given.seeds, sums=given.sums,
                    row_groups=given.row_groups):
        print(line, flush=True)


if __name__ == "__main__":
    main()
