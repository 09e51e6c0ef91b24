"""``make pictures``: the pictures of the documentation, of pages and as ``view.save()`` writes them."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import whimbrel as wb
from scripts.page_pictures import pictures
from whimbrel import col
from whimbrel_workbench.live_view import LiveView

IMAGES = Path(__file__).parents[1] / "docs" / "images"
ROWS, DAY_S = 60_000, 86_400
NOW = np.datetime64("2026-03-02T15:20", "us")


def log() -> pa.Table:
    """Two days of departures, some of which arrive late."""
    draw = np.random.default_rng(13)
    at_s = np.sort(draw.integers(0, 2 * DAY_S, ROWS))
    busy = draw.random(ROWS) < 0.55 + 0.4 * np.sin((at_s / DAY_S - 0.3) * 2 * np.pi)
    at = np.datetime64("2026-03-01", "us") + at_s[busy] * np.timedelta64(1, "s")
    late = draw.exponential(5 * 60, len(at)).astype("timedelta64[s]")
    rows = {"at": at, "seen": at + late, "airport": draw.choice(["EWR", "JFK", "LGA"], len(at), p=[0.4, 0.35, 0.25]),
            "gate": draw.choice([f"gate {number}" for number in range(1, 17)], len(at)),
            "delay": draw.gamma(2.0, 9.0, len(at)) + 8 * np.sin(at_s[busy] / DAY_S * 2 * np.pi)}
    return pa.table(rows).sort_by("seen")


def views() -> dict[str, LiveView]:
    """Each picture by its name."""
    rows = log()
    departures = wb.from_arrow(rows, time="at", arrival="seen", name="departures")
    halfway = wb.ReplayClock(speed=float("inf"))
    feed = wb.replay(departures, clock=halfway, reorder_latency="4h", late="drop")
    hourly = departures.group_by("airport").tumbling_window("1h").aggregate(flights=wb.count())
    by_gate = departures.group_by("gate").tumbling_window("30m").aggregate(delay=wb.mean(col.delay))
    early = hourly.on(feed).at_latencies("10m", "1h", "4h").view(kind="line", title="Departures, early and settled")
    early.start()
    halfway.pause()
    halfway.seek(NOW.item())
    arrived = int((rows["seen"].to_numpy() <= NOW).sum())
    while early.run is not None and early.run.metrics.rows < arrived:
        time.sleep(0.1)
    return {"several_latencies": early,
            "heat_map": by_gate.view(kind="heatmap", title="Mean delay by gate and half hour"),
            "scatter": departures.select(delay=col.delay).view(kind="scatter", y="delay", title="Every departure")}


def main() -> None:
    for image in pictures(IMAGES):
        print(image)
    for name, view in views().items():
        print(view.save(IMAGES / f"{name}.png", wait_s=5.0))
        view.close()


if __name__ == "__main__":
    main()
