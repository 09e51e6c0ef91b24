"""Times as they arrive: made to be like the logs of the Impatience paper (ICDE 2018, table I), or real and tiled."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

Array = np.ndarray[Any, Any]

SHARED = Path(__file__).parents[2] / "shared" / "data"
PAPER = {
    "CloudLog": (53_541_688_892, 13_635_714, 7_382_495, 387),
    "AndroidLog": (73_004_914_227_284, 19_990_056, 5_560, 227),
}
"""Inversions, distance, runs and interleaved runs of 20 million rows, as printed in the paper."""


def cloud_log(rows: int, *, sources: int = 400, seed: int = 1) -> Array:
    """Many servers that write all the time: jitter of the network, and a few that are cut off for minutes.

    Ticks are microseconds; 20,000 rows come per second.
    """
    chance = np.random.default_rng(seed)
    happened = np.arange(rows) * 50.0
    came = happened + np.abs(chance.normal(0, 170, rows))
    source = chance.integers(0, sources, rows)
    for _ in range(rows // 25_000):
        begin, seconds = chance.uniform(0, rows * 50.0), chance.uniform(5, 300)
        end = begin + seconds * 1e6
        low, high = np.searchsorted(happened, [begin, end])
        held = low + np.flatnonzero(source[low:high] == chance.integers(0, sources))
        came[held] = np.maximum(came[held], end + (happened[held] - begin) * 1e-3)
    return happened[came.argsort(kind="stable")].astype(np.int64)


def android_log(rows: int, *, devices: int = 230, run: int = 3_600, seed: int = 2) -> Array:
    """Devices that write for hours and send what they have at once; ticks are milliseconds."""
    chance = np.random.default_rng(seed)
    uploads = rows // run
    per_device = 20_000_000 / 20e6 * 86_400_000 / 24  # an upload every hour or so
    when = np.sort(chance.uniform(0, uploads / devices * per_device, uploads))
    before: dict[int, float] = {}
    parts = []
    for moment, device in zip(when, chance.integers(0, devices, uploads), strict=True):
        begin = before.get(device, moment - per_device)
        parts.append(np.sort(chance.uniform(begin, moment, run)))
        before[device] = moment
    return np.concatenate(parts).astype(np.int64)


def synthetic(rows: int, percent: float, deviation: float, *, seed: int = 3) -> Array:
    """Sorted times of which so many percent are moved back by a normally distributed distance."""
    chance = np.random.default_rng(seed)
    times = np.arange(rows)
    moved = chance.random(rows) < percent / 100
    return np.where(moved, times - np.abs(chance.normal(0, deviation, rows)), times).astype(np.int64)


def catalogued(rows: int) -> Iterator[tuple[str, Array]]:
    """Every disordered file of the data folder, tiled: copies follow each other in time until there are `rows`."""
    if not SHARED.is_dir():
        return
    facts = map(json.loads, re.findall(r"```json\n(.*?)```", (SHARED / "CATALOG.md").read_text("utf-8"), re.DOTALL))
    for fact in facts:
        if fact.get("disorder", {}).get("inversions"):
            column = pq.read_table(SHARED / f"{fact['name']}.parquet", columns=[fact["event_time"]]).column(0)
            times = column.combine_chunks().cast("int64").to_numpy()
            span, copies = int(times.max() - times.min()) + 1, -(-rows // len(times))
            tiled = (times[None, :] + span * np.arange(copies)[:, None]).ravel()
            yield f"{fact['name']}, tiled", tiled[:rows]
