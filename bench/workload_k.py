"""K. Feeds: throughput from a wire and a broker, of small messages and replays, and starts from checkpoints.

A wire is measured against the bare client, a replay at full speed against a batch run, and a start from a checkpoint
against a start from the beginning.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import flight

import whimbrel as wb
from bench import feed_rates, kafka_log
from bench.compare import Row, compare, same_rows
from bench.figure import Figure
from bench.sides import Ours, collected
from tests.conftest import NEEDS
from tests.engine.connect.feeds import servers
from whimbrel import Stream, col
from whimbrel.plan import Node
from whimbrel.testing.conformance.restart import Halting

ROWS, QUICK_ROWS = 10_000_000, 1_000_000
KAFKA_ROWS, QUICK_KAFKA_ROWS = 20_000_000, 5_000_000
"""Fewer would time the connection."""
WINDOW = 100_000


def run(*, quick: bool) -> Iterator[Row | Figure]:
    """Rows of figures: counts and sums of 100 keys in windows; what came and what it adds up to is compared."""
    rows = QUICK_ROWS if quick else ROWS
    table = _log(rows)
    yield from _flight(table)
    yield from _kafka(_log(QUICK_KAFKA_ROWS if quick else KAFKA_ROWS), quick=quick)
    yield from feed_rates.rates(quick=quick)
    yield from _replay(table)
    yield from _recovery(table)


def _log(rows: int) -> pa.Table:
    random = np.random.default_rng(5)
    return pa.table({"at": np.arange(rows), "key": random.integers(0, 100, rows), "value": random.random(rows)})


def _counts(stream: Stream) -> Stream:
    return stream.group_by("key").tumbling_window(WINDOW).aggregate(n=wb.count(), total=wb.sum(col.value))


def _total(counts: pa.Table) -> tuple[int, float]:
    return int(np.sum(counts["n"].to_numpy())), float(np.sum(counts["total"].to_numpy()))


def _same(ours: tuple[int, float], theirs: tuple[int, float]) -> bool:
    return ours[0] == theirs[0] and bool(np.isclose(ours[1], theirs[1]))


def _flight(table: pa.Table) -> Iterator[Row]:
    log = wb.from_arrow(table, time="at", name="log").select("key", "value")
    with wb.serve(log, keep_rows=2 * len(table)) as served:
        served.run.wait(600)
        assert served.flight is not None
        feed = _counts(wb.feeds.flight(served.flight, time="start", token=served.token))
        options = flight.FlightCallOptions(headers=[(b"authorization", f"Bearer {served.token}".encode())])

        def bare() -> tuple[int, float]:
            chunks = [chunk.data["value"].to_numpy() for chunk in
                      flight.connect(served.flight).do_get(flight.Ticket(b""), options)]
            return sum(map(len, chunks)), float(sum(chunk.sum() for chunk in chunks))

        yield from compare("K Flight", "served, read, counted", len(table), lambda: _total(feed.collect()),
                           {"bare client": bare}, _same)


def _kafka(table: pa.Table, *, quick: bool) -> Iterator[Row | Figure]:
    """On a broker of its own, where there is one."""
    what, _, there = NEEDS["kafka"]
    if not there():
        print(f"K Kafka     left out, for {what} is not there; scripts/maven.sh fetches it", flush=True)
        return
    with tempfile.TemporaryDirectory() as folder, servers.running(servers.kafka(Path(folder) / "kafka")) as broker:
        address = f"127.0.0.1:{broker.port}"
        yield from kafka_log.arrow_values(address, table)
        yield from kafka_log.latencies(address, 2 if quick else 20)


def _replay(table: pa.Table) -> Iterator[Row]:
    def log() -> Stream:
        return wb.from_arrow(table, time="at", name="log")

    def replayed() -> Stream:
        return _counts(wb.replay(log(), speed=float("inf"), reorder_latency=0))

    yield from compare("K replay", "as fast as possible", len(table), collected(replayed, "replayed"),
                       {"batch run": collected(lambda: _counts(log()))}, same_rows("start", "key", "n", "total"))


def _recovery(table: pa.Table) -> Iterator[Row]:
    """Until the last windows are there, after a process has died at nine tenths of a log."""
    def log() -> Stream:
        return wb.from_arrow(table, time="at", name="log")

    read = len(table) * 9 // 10

    def last(answer: pa.Table) -> pa.Table:
        return answer.filter(pc.equal(answer["start"], pc.max(answer["start"])))

    with tempfile.TemporaryDirectory() as folder:
        run = _counts(Stream(Node(Halting(log().sources[0], read)))).start()
        while run.metrics.rows < read:
            time.sleep(0.01)
        run.checkpoint(f"{folder}/point")
        run.stop()

        def again(counts: Stream) -> pa.Table:
            later = wb.restore(f"{folder}/point", counts)
            later.wait(600)
            return last(later.snapshot().table)

        yield from compare("K recovery", "from a checkpoint at 90%", len(table),
                           Ours(lambda: _counts(log()), again, "from a checkpoint"),
                           {"from the beginning": Ours(lambda: _counts(log()), lambda counts: last(counts.collect()))},
                           same_rows("start", "key", "n", "total"))
