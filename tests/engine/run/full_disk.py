"""Runs a query whose checkpoints go to a disk that is full for a while; called with a folder.

The folder ``state`` in it is a small file system of its own; settled rows go to ``out`` in the same folder.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import whimbrel as wb

PATIENCE_S = 60.0


def query() -> wb.Stream:
    return wb.feeds.synthetic(rate=2000, rows=3000, seed=3).tumbling_window("100ms").aggregate(n=wb.count())


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


def main() -> None:
    folder = Path(sys.argv[1])
    filler = folder / "state" / "filler"
    run = query().start(sink=wb.sinks.parquet(folder / "out"),
                        checkpoints=wb.Checkpoints(folder / "state", every="10ms"))
    until(lambda: any((folder / "state").glob("0*")))
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(512))
    until(lambda: run.checkpoint_error is not None)
    print(run.state, run.checkpoint_error)
    filler.unlink()
    assert run.wait(PATIENCE_S)
    print(run.state, run.checkpoint_error)


if __name__ == "__main__":
    main()
