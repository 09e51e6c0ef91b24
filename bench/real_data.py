"""Functions of time over recorded data, against detectors, loops and Polars.

Each file is optional::

    ecg_mitbih_100.parquet           two leads at 360 Hz, annotations; ODC-By 1.0 (PhysioNet)
    bearing_vibration_cwru.parquet   run, sample_rate_hz, t_us, drive_end_g; no license stated
    metrics_nab.parquet              series, time, value, with dropouts; MIT
    market_feed_usdm.parquet         exch_time, symbol, kind, price, qty; MIT
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

import whimbrel as wb
from bench import applications_in_expressions as applications
from bench import limit_periodic as limit
from bench import qrs
from bench.compare import Row, compare
from bench.loop_sides import agrees
from whimbrel import Stream, col

ECG_SAMPLES = 65_000
"""Of the record, since other detectors take minutes for all of it."""
CELL_MS = 10
"""Windows of vibration."""


def rows_of_files(folder: Path) -> Iterator[Row]:
    """Rows of the files that are in a folder."""
    for name, rows in {"ecg_mitbih_100": _ecg, "bearing_vibration_cwru": _bearings, "metrics_nab": _metrics,
                       "market_feed_usdm": _trades}.items():
        if (file := folder / f"{name}.parquet").exists():
            yield from rows(file)


def _ecg(file: Path) -> Iterator[Row]:
    """QRS complexes, of which 99% must be found, and 99% of those found be right; peers may be worse."""
    samples, annotated = qrs.read(file)
    samples, annotated = samples[:ECG_SAMPLES], annotated[annotated < ECG_SAMPLES]
    sides = dict(qrs.detectors(samples))
    ours = sides.pop("whimbrel")
    sensitivity, precision = qrs.scores(ours(), annotated)
    assert min(sensitivity, precision) >= 0.99, f"sensitivity {sensitivity:.2%}, precision {precision:.2%}"
    if sides:
        yield from compare("E files, ECG", "QRS complexes", len(samples), ours, sides,
                           lambda _, theirs: min(qrs.scores(theirs, annotated)) >= 0.95)


def _bearings(file: Path) -> Iterator[Row]:
    """Kurtosis, root mean square and crest factor of each 10 ms, of each run at its own rate."""
    for (run, rate), samples in pl.read_parquet(file).group_by("run", "sample_rate_hz", maintain_order=True):
        assert isinstance(rate, int)
        width = rate * CELL_MS // 1_000
        table = samples.head(len(samples) // width * width).select(
            pl.col("t_us").cast(pl.Datetime("us")), x="drive_end_g").to_arrow()
        log = wb.from_arrow(table, time="t_us", name="log").assume(rate=rate).select("x")
        x, query = table["x"].to_numpy(), applications.moments(log, f"{CELL_MS}ms")
        yield from compare("E files, bearings", f"vibration, {run}", len(x), query.collect,
                           {"limit loop": lambda x=x, width=width: limit.moments(x, width)},
                           agrees(("kurtosis", "rms", "crest")), roof="limit loop")


def _metrics(file: Path) -> Iterator[Row]:
    """A bound of each series, three deviations above the mean of the last day."""
    frame = pl.read_parquet(file).unique(["series", "time"], keep="first").sort("time", "series")
    day = _past("24h", by="time")
    value = pl.col("value")
    bound = (wb.mean(col.value) + 3 * wb.std(col.value)).past("24h")
    yield from _by_key("metrics", "bound of a day", frame, "time", "series", ("value",), bound,
                       value.rolling_mean_by(**day) + 3 * value.rolling_std_by(**day))


def _trades(file: Path) -> Iterator[Row]:
    """Price of the last 10 s by volume, for each symbol; trades of one millisecond are one event."""
    trades = pl.read_parquet(file).filter(pl.col("kind") == "trade")
    frame = trades.group_by("symbol", "exch_time").agg(
        worth=(pl.col("price") * pl.col("qty")).sum(), qty=pl.col("qty").sum()).sort("exch_time", "symbol")
    last = _past("10s", by="exch_time")
    price = (wb.sum(col.worth) / wb.sum(col.qty)).past("10s")
    yield from _by_key("market feed", "price by volume", frame, "exch_time", "symbol", ("worth", "qty"), price,
                       pl.col("worth").rolling_sum_by(**last) / pl.col("qty").rolling_sum_by(**last))


def _by_key(name: str, case: str, frame: pl.DataFrame, time: str, key: str, columns: tuple[str, ...],
            ours: Any, theirs: pl.Expr) -> Iterator[Row]:
    table: pa.Table = frame.select(time, key, *columns).to_arrow()

    def query() -> Stream:
        return wb.from_arrow(table, time=time, name="log").select(key, *columns).group_by(key).select(z=ours)

    yield from compare(f"E files, {name}", case, len(frame), query().collect,
                       {"Polars": lambda: frame.select(z=theirs.over(key))["z"]}, agrees(("z",), nulls=True))


def _past(size: str, *, by: str) -> dict[str, Any]:
    return {"by": by, "window_size": size, "closed": "right", "min_samples": 1}
