"""CPU time of a new process for the trading query.

The cache of machine code is empty first, and full then. numba's own start is counted apart: it loads what it knows of
NumPy and SciPy once a process, whatever is compiled.
``python -m bench.cold_compile`` is such a process; it prints seconds of numba's start and of the query.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

import whimbrel as wb
from bench import applications_in_expressions as applications
from bench.compare import warm
from bench.figure import Figure
from bench.sides import Ran
from whimbrel import Stream

LIMITS = {"cold": "at most 1,500 ms", "from the cache": "at most 50 ms"}


def rows_of_cold_compile() -> Iterator[Figure]:
    """CPU seconds until a query over 1,000 rows is answered by machine code, less those of the next run."""
    with tempfile.TemporaryDirectory() as folder:
        for case, limit in LIMITS.items():
            asked = subprocess.run([sys.executable, "-m", "bench.cold_compile"], check=True, capture_output=True,
                                   text=True, env=os.environ | {"WHIMBREL_CACHE": folder})
            start, query = map(float, asked.stdout.split())
            yield Figure("E compile", f"trading, {case}", "CPU ms", 1e3 * query,
                         f"{limit}; numba's start {1e3 * start:.0f} ms more")


def main() -> None:
    """Answer the query twice, and print how much longer the first time took."""
    def query() -> Stream:
        table = pa.table({"at": np.arange(1_000), "x": np.arange(1_000, dtype=np.float32)})
        return applications.crossing(wb.from_arrow(table, time="at", name="log").assume(periodic=1).select("x"))

    began = time.process_time()
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    start, taken = time.process_time() - began, []
    for _ in range(2):
        asked, began = query(), time.process_time()
        warm(asked.collect, Ran())
        taken.append(time.process_time() - began)
    print(start, taken[0] - taken[1])


if __name__ == "__main__":
    main()
