"""``python -m bench.drift [ROWS]``: sliding sums, means and variances after very many events against fresh ones."""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import whimbrel as wb
from whimbrel import col

SIZE, CHUNK_ROWS, COMPARED = 50, 1_000_000, 1_000


def largest_error(rows: int) -> float:
    """The largest relative error of the last windows after so many rows, some of them a billion times larger."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "drift.parquet"
        newest = _write(path, rows)
        log = wb.read_parquet(path, time="at").sliding_window(SIZE)
        kept: list[pa.RecordBatch] = []
        answer = log.aggregate(sum=wb.sum(col.v), mean=wb.mean(col.v), var=wb.var(col.v))
        for batch in answer.batches():
            kept.append(batch)
            while sum(len(each) for each in kept[1:]) > COMPARED + SIZE:
                del kept[0]
        table = pa.Table.from_batches(kept)
    # The last SIZE - 1 rows are windows that only lose events; those before are full.
    last = table.slice(len(table) - (SIZE - 1) - COMPARED, COMPARED)
    errors = []
    for at, row in enumerate(last.to_pylist()):
        window = [float(value) for value in newest[len(newest) - SIZE - COMPARED + 1 + at :][:SIZE]]
        total = math.fsum(window)
        mean = total / SIZE
        var = math.fsum((value - mean) ** 2 for value in window) / (SIZE - 1)
        errors += [abs(row[name] / fresh - 1) for name, fresh in (("sum", total), ("mean", mean), ("var", var))]
    return max(errors)


def _write(path: Path, rows: int) -> np.ndarray:
    """Rows in a file, part by part; returns the values of the last part."""
    chance = np.random.default_rng(1)
    schema = pa.schema({"at": pa.int64(), "v": pa.float64()})
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, rows, CHUNK_ROWS):
            at = np.arange(start, min(start + CHUNK_ROWS, rows))
            values = chance.normal(1e3, 1e2, len(at)) * np.where(at % 997 == 0, 1e9, 1.0)
            file.write_table(pa.table({"at": at, "v": values}, schema=schema))
    return values


if __name__ == "__main__":
    asked = int(float(sys.argv[1])) if len(sys.argv) > 1 else 100_000_000
    error = largest_error(asked)
    print(f"{asked:,} events: largest relative error {error:.2e} (must be below 1e-9)")
    sys.exit(error >= 1e-9)
