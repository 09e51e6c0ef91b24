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


def cloud_log(rows: int, *, sources: int = 390, seed: int = 1) -> Array:
    """Servers that write all the time: jitter of the network, some cut off for a while, once all of them at once.

    Ticks are microseconds; 20,000 rows come per second, from some servers more than from others. Who was cut off sends
    what it kept in one piece. After the outage of all, one after the other does, and that is what interleaves; one
    quiet server comes back only when two thirds of the log are over, and that is the distance.
    """
    chance = np.random.default_rng(seed)
    happened = np.arange(rows) * 50
    came = happened + np.abs(chance.normal(0, 205, rows))
    shares = (1 / np.arange(20, 20 + sources)).cumsum()
    source = shares.searchsorted(chance.random(rows) * shares[-1]).astype(np.int16)
    source[(source == sources - 1) & (chance.random(rows) < 0.67)] = 0

    def cut_off(who: int, share: float) -> None:
        begin = chance.uniform(0, 1 - share) * happened[-1]
        low, high = np.searchsorted(happened, [begin, begin + share * happened[-1]])
        kept = low + np.flatnonzero(source[low:high] == who)
        came[kept] = np.maximum(came[kept], happened[high] + (happened[kept] - begin) * 1e-6)

    for _ in range(20):
        cut_off(int(chance.integers(sources // 2, sources - 1)), chance.uniform(0.005, 0.06))
    cut_off(sources - 1, 0.68)
    low, high = int(0.4 * rows), int(0.4155 * rows)
    turn = chance.permutation(sources)[source[low:high]]
    back = happened[high] + 100.0 * turn + (happened[low:high] - happened[low]) * 1e-6
    came[low:high] = np.maximum(came[low:high], back)
    return happened[came.argsort(kind="stable")]


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
