"""A process that answers searches by ProgressiVis, in a Python that has it; of this project it imports nothing.

A line of JSON asks (`file`, `exact`: total and mean of some terms), a line answers: seconds to the first update, to one
whose true error is within 5% and 1%, to the exact answer; and that. ProgressiVis gives no intervals, so its errors are
measured with what it cannot know. Sums so far are scaled by the rows read. The updates are inside its times.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

NAMES = {"term": "term", "n": "ms_count", "total": "clicks_sum", "mean": "ms_mean"}


def answered(file: str, exact: dict[str, list[float]]) -> dict[str, Any]:
    """What one run takes, and gives."""
    from progressivis.core.api import Scheduler
    from progressivis.io.parquet_loader import ParquetLoader
    from progressivis.io.print import Every
    from progressivis.table.aggregate import Aggregate
    from progressivis.table.group_by import GroupBy

    rows = pq.ParquetFile(file).metadata.num_rows
    terms = np.array([int(term) for term in exact])
    truth = np.array(list(exact.values())).T
    seconds: dict[str, float] = {}
    found: dict[str, Any] = {}
    scheduler = Scheduler()
    began = time.perf_counter()

    def record(table: Any) -> None:
        if table is None or not len(table):
            return
        columns = {name: np.asarray(table[column].value) for name, column in NAMES.items()}
        read = int(columns["n"].sum())
        spent, off = time.perf_counter() - began, _off(columns, terms, truth, rows / read)
        seconds.setdefault("first answer", spent)
        for shown, error in (("to 5%", 0.05), ("to 1%", 0.01)):
            if off <= error:
                seconds.setdefault(shown, spent)
        if read == rows and not found:
            seconds["exact"] = spent
            found.update({name: column.tolist() for name, column in columns.items()})

    with scheduler:
        load = ParquetLoader(file, columns=["term", "ms", "clicks"], scheduler=scheduler)
        group = GroupBy(by="term", scheduler=scheduler)
        group.input.table = load.output.result
        sums = Aggregate(compute=[("ms", "count"), ("clicks", "sum"), ("ms", "mean")], scheduler=scheduler)
        sums.input.table = group.output.result
        shown = Every(proc=record, scheduler=scheduler)
        shown.input.df = sums.output.result
    asyncio.run(scheduler.start())
    return {"seconds": seconds, "answer": found}


def _off(columns: dict[str, Any], terms: Any, truth: Any, scale: float) -> float:
    """How far the worst value is from the truth; infinite where a term is missing."""
    rows_of = {term: at for at, term in enumerate(columns["term"].tolist())}
    if not all(term in rows_of for term in terms.tolist()):
        return float("inf")
    at = [rows_of[term] for term in terms.tolist()]
    now = np.array([columns["total"][at] * scale, columns["mean"][at]])
    return float(np.abs(now / truth - 1).max())


def main() -> None:
    """Answer until nobody asks."""
    with os.fdopen(os.dup(1), "w") as out, Path(os.devnull).open("w") as discarded:  # its scheduler prints
        sys.stdout = discarded
        for line in sys.stdin:
            print(json.dumps(answered(**json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()
