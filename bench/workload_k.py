"""K. Feeds: rows from a wire to an answer, against the bare client; a replay at full speed against a batch run; a start
from a checkpoint against one from the beginning.

Kafka is the cluster that librdkafka brings for tests, in this process: what it costs is in both sides' times.
"""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import confluent_kafka
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import flight, ipc

import whimbrel as wb
from bench.compare import Row, compare, same_rows
from whimbrel import Stream, col
from whimbrel.plan import Node
from whimbrel.testing.vectors.halves import Halting

ROWS, QUICK_ROWS = 10_000_000, 1_000_000
MESSAGE_ROWS = 5_000
WINDOW = 100_000


def run(*, quick: bool) -> Iterator[Row]:
    """Rows of figures: counts and sums of 100 keys in windows; what came and what it adds up to is compared."""
    rows = QUICK_ROWS if quick else ROWS
    random = np.random.default_rng(5)
    table = pa.table({"at": np.arange(rows), "key": random.integers(0, 100, rows), "value": random.random(rows)})
    yield from _flight(table)
    yield from _kafka(table.slice(0, rows // 2))
    yield from _replay(table.slice(0, rows // 2))
    yield from _recovery(table)


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
        told = flight.FlightCallOptions(headers=[(b"authorization", f"Bearer {served.token}".encode())])

        def bare() -> tuple[int, float]:
            chunks = [chunk.data["value"].to_numpy() for chunk in
                      flight.connect(served.flight).do_get(flight.Ticket(b""), told)]
            return sum(map(len, chunks)), float(sum(chunk.sum() for chunk in chunks))

        yield from compare("K Flight", "served, read, counted", len(table), lambda: _total(feed.collect()),
                           {"bare client": bare}, _same)


def _kafka(table: pa.Table) -> Iterator[Row]:
    """Arrow values of 5,000 rows each, of one partition."""
    producer = confluent_kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none:1", "log_level": 0,
                                         "message.max.bytes": 32 << 20, "queue.buffering.max.kbytes": 1 << 20})
    broker, = producer.list_topics(timeout=10).brokers.values()
    servers = f"{broker.host}:{broker.port}"
    parts = [table.slice(first, MESSAGE_ROWS) for first in range(0, len(table), MESSAGE_ROWS)]
    for part in parts:
        producer.produce("log", _message(part), partition=0)
    assert producer.flush(60) == 0
    feed = _counts(wb.feeds.kafka("log", servers, time="at", format="arrow", schema=table.schema))

    def ours() -> tuple[int, float]:
        """To the last row, without waiting for what may follow."""
        run = feed.start()
        asked = time.perf_counter()
        while run.metrics.rows < len(table):
            time.sleep(0.002)
            if time.perf_counter() - asked > 1:
                run.snapshot()
                asked = time.perf_counter()
        run.stop()
        run.wait(60)
        return _total(run.snapshot().table)

    def bare(read: Callable[[Any], pa.Table]) -> Callable[[], tuple[int, float]]:
        def consume() -> tuple[int, float]:
            with closing(confluent_kafka.Consumer({"bootstrap.servers": servers, "group.id": "bench"})) as consumer:
                consumer.assign([confluent_kafka.TopicPartition("log", 0, 0)])
                values: list[bytes] = []
                while len(values) < len(parts):
                    values += [message.value() for message in consumer.consume(1_000, timeout=0.1)]
                tables = [read(value) for value in values]
                return sum(map(len, tables)), sum(float(np.sum(each["value"].to_numpy())) for each in tables)
        return consume

    yield from compare("K Kafka", "Arrow values, an answer a second", len(table), ours,
                       {"bare client": bare(lambda value: ipc.open_stream(value).read_all())}, _same)


def _message(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def _replay(table: pa.Table) -> Iterator[Row]:
    log = wb.from_arrow(table, time="at", name="log")
    counts = _counts(log)
    replayed = counts.on(wb.replay(log, speed=float("inf"), reorder_latency=0))
    yield from compare("K replay", "as fast as possible", len(table), replayed.collect,
                       {"batch run": counts.collect}, same_rows("start", "key", "n", "total"))


def _recovery(table: pa.Table) -> Iterator[Row]:
    """Until the last windows are there, after a process has died at nine tenths of a log."""
    log = wb.from_arrow(table, time="at", name="log")
    counts, read = _counts(log), len(table) * 9 // 10

    def last(answer: pa.Table) -> pa.Table:
        return answer.filter(pc.equal(answer["start"], pc.max(answer["start"])))

    with tempfile.TemporaryDirectory() as folder:
        run = _counts(Stream(Node(Halting(log.sources[0], read)))).start()
        while run.metrics.rows < read:
            time.sleep(0.01)
        run.checkpoint(f"{folder}/point")
        run.stop()

        def again() -> pa.Table:
            later = wb.restore(f"{folder}/point", counts)
            later.wait(600)
            return last(later.snapshot().table)

        yield from compare("K recovery", "from a checkpoint at 90%", len(table), again,
                           {"from the beginning": lambda: last(counts.collect())},
                           same_rows("start", "key", "n", "total"))
