"""Expressions of bench E against Polars, SciPy and pandas, with one thread each.

Polars takes its number of threads from the environment when it is imported. The rows are therefore of a process of
their own: ``python -m bench.expression_peers ROWS [FOLDER]`` writes them as lines of JSON. A folder has recorded data.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import signal

import whimbrel as wb
from bench.compare import Row, compare
from bench.expressions import CARDS, GAPS, spaced
from bench.kept_memory import keep_memory
from bench.loop_sides import Array, agrees
from bench.real_data import rows_of_files
from whimbrel import Stream, col

PINNED = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def rows_of_peers(rows: int, files: Path | None = None) -> Iterator[Row]:
    """Figures of a process whose libraries have one thread, also of the recorded data in a folder.

    Raises
    ------
    subprocess.CalledProcessError
        When an answer differs.
    """
    command = [sys.executable, "-m", "bench.expression_peers", str(rows), *([] if files is None else [str(files)])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | PINNED) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield Row(**json.loads(line))
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)


def main() -> None:
    """Print rows, one a line."""
    assert pl.thread_pool_size() == 1, "Polars has several threads: set POLARS_MAX_THREADS=1"
    keep_memory()
    rows = int(sys.argv[1])
    x = np.random.default_rng(7).uniform(-50, 50, rows)
    for name, gap in GAPS.items():
        for row in _by_time(name, spaced(np.random.default_rng(8), rows, gap), x, gap):
            print(json.dumps(row.as_dict()), flush=True)
    recorded = rows_of_files(Path(sys.argv[2])) if len(sys.argv) > 2 else ()
    for row in chain(_by_card(x), _filters(x), _of_rows(x), recorded):
        print(json.dumps(row.as_dict()), flush=True)


def _by_time(name: str, at: Array, x: Array, gap: int) -> Iterator[Row]:
    """Windows and weights by time, against Polars."""
    frame, width, halflife = pl.DataFrame({"at": at, "x": x}), 100 * gap, 10 * gap
    by = _past(width)
    for case, expression, peer in (
        ("window sum", wb.sum(col.x).past(width), pl.col("x").rolling_sum_by(**by)),
        ("window mean", wb.mean(col.x).past(width), pl.col("x").rolling_mean_by(**by)),
        ("window max", wb.max(col.x).past(width), pl.col("x").rolling_max_by(**by)),
        ("ema", wb.ema(col.x, halflife=halflife), pl.col("x").ewm_mean_by("at", half_life=f"{halflife}i")),
    ):
        yield from _compared(f"E peers, {name}", case, len(x), _log(at, x).select(z=expression), "Polars",
                             lambda peer=peer: frame.select(z=peer)["z"])


def _by_card(x: Array) -> Iterator[Row]:
    """Windows of each of 1,000 cards, about 100 events long."""
    at, card = spaced(np.random.default_rng(8), len(x), 1), np.random.default_rng(9).integers(0, CARDS, len(x))
    table, by = pa.table({"at": at, "card": card, "x": x}), _past(width := 100 * CARDS)
    frame = pl.DataFrame(table)
    for case, expression, peer in (
        ("window sum", wb.sum(col.x).past(width), pl.col("x").rolling_sum_by(**by)),
        ("window mean", wb.mean(col.x).past(width), pl.col("x").rolling_mean_by(**by)),
        ("window max", wb.max(col.x).past(width), pl.col("x").rolling_max_by(**by)),
    ):
        log = wb.from_arrow(table, time="at", name="log").select("card", "x").group_by("card")
        yield from _compared("E peers, 1,000 cards", case, len(x), log.select(z=expression), "Polars",
                             lambda peer=peer: frame.select(z=peer.over("card"))["z"])


def _past(width: int) -> dict[str, Any]:
    return {"by": "at", "window_size": f"{width}i", "closed": "right", "min_samples": 1}


def _filters(x: Array) -> Iterator[Row]:
    """A Butterworth filter of order 4, against SciPy."""
    sos = signal.butter(4, 0.1, output="sos")
    log = _log(np.arange(len(x)), x)
    for case, stream in (("iir of order 4", log), ("iir of order 4, periodic", log.assume(periodic=1))):
        yield from _compared("E peers, every tick", case, len(x), stream.select(z=wb.iir(col.x, sos=sos.tolist())),
                             "SciPy sosfilt", lambda: signal.sosfilt(sos, x))


def _of_rows(x: Array, rows: int = 100) -> Iterator[Row]:
    """A moving mean, and a function of the user's own, of the last rows."""
    log, workload = _log(spaced(np.random.default_rng(8), len(x), 1), x), "E peers, 10% missing"
    means, (name, moving_mean) = log.select(z=wb.mean(col.x).past(rows=rows)), _moving_mean(x, rows)
    yield from _compared(workload, "moving mean of rows", len(x), means, name, moving_mean)
    steps: dict[str, Any] = {
        "init": (0.0, 0), "result": lambda s: math.sqrt(max(s[0], 0.0) / s[1]),
        "accumulate": lambda s, x: (s[0] + x * x, s[1] + 1) if x < 0 else (s[0], s[1] + 1)}
    rolling = pd.Series(x).rolling(rows, min_periods=1)
    for case, losses in (("own function, no merge", wb.aggregate(**steps, name="losses_in_order")),
                         ("own function, merge", wb.aggregate(**steps, name="losses", merge=_both))):
        yield from _compared(workload, case, len(x), log.select(z=losses(col.x).past(rows=rows)), "pandas, numba",
                             lambda: rolling.apply(_losses, raw=True, engine="numba").to_numpy())


def _both(one: tuple[float, int], other: tuple[float, int]) -> tuple[float, int]:
    return one[0] + other[0], one[1] + other[1]


def _losses(window: Array) -> float:
    """Root mean square of what is below zero."""
    total = 0.0
    for value in window:
        total += value * value if value < 0 else 0.0
    return math.sqrt(total / len(window))


def _moving_mean(x: Array, rows: int) -> tuple[str, Callable[[], Any]]:
    """The first of bottleneck, numbagg and Polars that is installed."""
    module = next(filter(importlib.util.find_spec, ("bottleneck", "numbagg")), None)
    if module is None:
        series = pl.Series(x)
        return "Polars", lambda: series.rolling_mean(rows, min_samples=1)
    move_mean = importlib.import_module(module).move_mean
    return module, lambda: move_mean(x, rows, min_count=1)


def _log(at: Array, x: Array) -> Stream:
    return wb.from_arrow(pa.table({"at": at, "x": x}), time="at", name="log").select("x")


def _compared(workload: str, case: str, rows: int, query: Stream, name: str,
              peer: Callable[[], Any]) -> Iterator[Row]:
    yield from compare(workload, case, rows, query.collect, {name: peer}, agrees(("z",), nulls=True))


if __name__ == "__main__":
    main()
