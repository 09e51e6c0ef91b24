"""What every sink keeps: each row once whenever it is killed, however rows are cut, and nothing half-written."""

from __future__ import annotations

import gc
import json
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyarrow import csv, feather
from pyiceberg.catalog import load_catalog

import whimbrel as wb
from tests.engine.connect.sinks.test_webhook import address, hook, once
from whimbrel.errors import SinkError
from whimbrel.plan import Sink

SCHEMA = pa.schema({"at": pa.int64(), "x": pa.int64(), "k": pa.string()})
ROWS = 240
MAX_KILLS = 15


def table(rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(7)
    keys = rng.integers(0, 3, rows)
    return pa.table({"at": range(rows), "x": rng.integers(0, 1 << 60, rows), "k": [f"k{key}" for key in keys]}, SCHEMA)


class Target:
    """A sink of a kind, and what a reader of another library sees of it."""

    def __init__(self, folder: Path, make: Callable[[], Sink], seen: Callable[[], list[int]]) -> None:
        self.folder, self.make, self.seen = folder, make, seen


def files(folder: Path, make: Callable[[Path], Sink], ending: str, read: Callable[[Path], list[int]]) -> Target:
    out = folder / "out"
    return Target(folder, partial(make, out), lambda: [x for file in sorted(out.glob(f"rows-*{ending}"))
                                                       for x in read(file)])


def delta(folder: Path, **options: Any) -> Target:
    def seen() -> list[int]:
        if not DeltaTable.is_deltatable(str(folder / "out")):
            return []
        return DeltaTable(folder / "out").to_pyarrow_table().sort_by("at")["x"].to_pylist()

    return Target(folder, lambda: wb.sinks.delta(folder / "out", **options), seen)


def iceberg(folder: Path, **options: Any) -> Target:
    properties = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/lake"}
    catalog = load_catalog("default", **properties)

    def seen() -> list[int]:
        if not catalog.table_exists("s.out"):
            return []
        return catalog.load_table("s.out").scan().to_arrow().sort_by("at")["x"].to_pylist()

    return Target(folder, lambda: wb.sinks.iceberg("s.out", catalog, **options), seen)


KINDS: dict[str, Callable[[Path], Target]] = {
    "parquet": lambda folder: files(folder, wb.sinks.parquet, ".parquet",
                                    lambda file: pq.read_table(file)["x"].to_pylist()),
    "csv": lambda folder: files(folder, wb.sinks.csv, ".csv", lambda file: csv.read_csv(file)["x"].to_pylist()),
    "json": lambda folder: files(folder, wb.sinks.json, ".jsonl",
                                 lambda file: [json.loads(line)["x"] for line in file.read_text().splitlines()]),
    "ipc": lambda folder: files(folder, wb.sinks.ipc, ".arrow",
                                lambda file: feather.read_table(file)["x"].to_pylist()),
    "delta": delta, "delta by k": lambda folder: delta(folder, partition_by=["k"]),
    "iceberg": iceberg, "iceberg by k": lambda folder: iceberg(folder, partition_by=["k"])}


@pytest.fixture(params=[*KINDS, "webhook"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    with ExitStack() as stack:
        if request.param != "webhook":
            yield KINDS[request.param](tmp_path)
            return
        server = stack.enter_context(hook())
        yield Target(tmp_path, lambda: wb.sinks.webhook(address(server), batch_rows=7),
                     lambda: once(server.found))  # type: ignore[attr-defined]


class Killed(BaseException):
    """The process ends here."""


@contextmanager
def killed_after(lines: int) -> Iterator[None]:
    """Kill what runs after so many lines of the code of sinks."""
    left = lines

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if "/whimbrel/connect/sinks/" not in frame.f_code.co_filename:
            return None
        if event == "line":
            left -= 1
            if left < 0:
                raise Killed
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


class Engine:
    """Writes rows as a run does: it prepares rows, saves a checkpoint with the token, and commits."""

    def __init__(self, target: Target, rows: pa.Table, rng: np.random.Generator, most_rows: int = 40) -> None:
        self.target, self.rows, self.rng, self.most_rows = target, rows, rng, most_rows
        self.checkpoints: list[tuple[int, str]] = [(0, "null")]
        self.reached = 0

    def go(self, sink: Sink) -> None:
        done, token = self.checkpoints[-1]
        sink.run = "run"
        sink.open(SCHEMA, done, json.loads(token))
        while done < self.rows.num_rows:
            part = self.rows.slice(done, int(self.rng.integers(1, self.most_rows)))
            sink.write(part.combine_chunks().to_batches()[0])
            done += part.num_rows
            if done == self.rows.num_rows or self.rng.random() < 0.4:
                while not sink.ready():
                    pass
                prepared = sink.prepare()
                self.checkpoints.append((done, json.dumps(prepared)))
                self.reached = max(self.reached, done)
                sink.commit(prepared)


def prefix(seen: list[int], rows: pa.Table) -> bool:
    return seen == rows["x"].to_pylist()[: len(seen)]


@pytest.mark.share(3)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long if seed < 3 else pytest.mark.soak)
                                      for seed in range(1, 8))])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # files that are open when it ends
def test_each_row_is_seen_once_whenever_a_sink_is_killed(target: Target, seed: int) -> None:
    rng, rows = np.random.default_rng(seed), table()
    engine, kills = Engine(target, rows, rng), 0
    while True:
        sink = target.make()
        try:
            with killed_after(int(rng.integers(1, 150)) if kills < MAX_KILLS else 1 << 60):
                engine.go(sink)
            break
        except Killed:
            kills += 1
        finally:
            sink.close()
            gc.collect()
        seen = target.seen()
        assert prefix(seen, rows), f"after kill {kills}"
        assert len(seen) <= engine.reached or isinstance(sink, wb.sinks.webhook)
        if len(engine.checkpoints) > 2 and rng.random() < 0.2:  # the newest checkpoint is damaged
            engine.checkpoints.pop()
    sink.close()
    assert kills > 3
    assert target.seen() == rows["x"].to_pylist()


@pytest.mark.share(8)
@pytest.mark.parametrize("most_rows", [2, 9, 100, ROWS + 1])
def test_batching_does_not_change_what_is_written(target: Target, most_rows: int) -> None:
    sink = target.make()
    Engine(target, table(), np.random.default_rng(most_rows), most_rows).go(sink)
    sink.close()
    assert target.seen() == table()["x"].to_pylist()


@pytest.mark.share(2)
@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_write_leaves_nothing_half_written(kind: str, tmp_path: Path) -> None:
    """A limit on the size of files stands for a disk that is full."""
    target, rows = KINDS[kind](tmp_path), table(60_000)
    engine = Engine(target, rows.slice(0, 1_000), np.random.default_rng(0), 300)
    sink = target.make()
    engine.go(sink)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        sink.write(rows.slice(1_000).combine_chunks().to_batches()[0])
        with pytest.raises(SinkError, match="Cannot write to") as caught:
            sink.prepare()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        sink.close()
    assert caught.value.where
    assert caught.value.hint
    assert target.seen() == rows["x"].to_pylist()[:1_000]
    engine.rows, engine.most_rows = rows, 30_000
    sink = target.make()
    engine.go(sink)
    sink.close()
    assert target.seen() == rows["x"].to_pylist()
