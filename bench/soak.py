"""``python -m bench.soak [--seconds 600]``: ten minutes of streaming leave the kernel's and the tab's memory flat.

A view in JupyterLab draws two hundred events a second; the browser's heap is measured after a collection. After the
warm-up the growth is the median slope over all pairs of samples, which a single peak does not move.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import psutil

from tests.workbench.lab import Lab, Notebook, browser

ROOT = Path(__file__).parents[1]
EVENTS_PER_S, REDRAWS_PER_S, KEPT_ROWS, EVERY_S = 200, 10, 2_000, 2.0
WARM_UP = 0.4
MAX_MB_PER_MINUTE = {"kernel": 1.0, "tab": 0.5}

SETUP = f"""import os, sys; sys.path.insert(0, {str(ROOT)!r})
import whimbrel as wb
from bench.ticker import ticker
print("kernel", os.getpid())"""
VIEW = f"ticker({EVENTS_PER_S}).view(kind='lines', y='born', redraws_per_s={REDRAWS_PER_S}, keep_rows={KEPT_ROWS})"


def samples(seconds: float) -> tuple[list[float], dict[str, list[float]]]:
    """Moments in seconds, and the megabytes in use by the kernel and by the tab."""
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        lab = Lab(Path(folder))
        try:
            lab.write("soak.ipynb", [SETUP, VIEW])
            notebook = Notebook(lab, chromium.new_page(viewport={"width": 1280, "height": 1000}), "soak.ipynb")
            notebook.run(0)
            kernel = psutil.Process(int(notebook.output(0).split()[-1]))
            notebook.run(1)
            chart = notebook.wait_for_chart(1)
            tab = notebook.page.context.new_cdp_session(notebook.page)
            tab.send("Performance.enable")
            began, at, used = time.monotonic(), [], {"kernel": [], "tab": []}
            while (now := time.monotonic() - began) < seconds:
                tab.send("HeapProfiler.collectGarbage")
                heap = {each["name"]: each["value"] for each in tab.send("Performance.getMetrics")["metrics"]}
                at.append(now)
                used["kernel"].append(kernel.memory_info().rss / 2**20)
                used["tab"].append(heap["JSHeapUsedSize"] / 2**20)
                notebook.page.wait_for_timeout(1e3 * EVERY_S)
            notebook.wait_for_change(chart, since=chart.screenshot())  # it moved until the end
        finally:
            lab.close()
    return at, used


def growth_per_minute(at_s: Sequence[float], used_mb: Sequence[float]) -> float:
    """Median slope after the warm-up.

    >>> growth_per_minute([0, 30, 60, 90, 120, 150], [10, 50, 52, 53, 60, 55])
    2.0
    """
    at, used = (np.asarray(each, float)[round(WARM_UP * len(at_s)):] for each in (at_s, used_mb))
    first, second = np.triu_indices(len(at), 1)
    return float(np.median((used[second] - used[first]) / (at[second] - at[first])) * 60)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    at, used = samples(parser.parse_args().seconds)
    failed = False
    for name, most in MAX_MB_PER_MINUTE.items():
        growth = growth_per_minute(at, used[name])
        failed |= growth > most
        print(f"{name:<8}{used[name][0]:8.1f} MB at first, {used[name][-1]:8.1f} MB after {at[-1]:,.0f} s; "
              f"{growth:+.2f} MB a minute after the warm-up (at most {most:+.2f})")
    sys.exit(failed)


if __name__ == "__main__":
    main()
