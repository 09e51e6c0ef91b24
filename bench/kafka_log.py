"""Kafka: Arrow values against the bare client, and how long a message takes from the broker to an answer.

On the broker that tests start: one process of Java, on the same cores as this one.
"""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import confluent_kafka
import numpy as np
import pyarrow as pa
from pyarrow import ipc

import whimbrel as wb
from bench.answered import answered
from bench.compare import Row, compare
from bench.figure import Figure
from whimbrel import Stream, col

TIMEOUT_S = 60.0
MESSAGE_ROWS = 5_000
WINDOW = 100_000
WARM_MESSAGES, MESSAGES_PER_S, WINDOW_MESSAGES = 3_000, 1_000, 100


def arrow_values(servers: str, table: pa.Table) -> Iterator[Row]:
    """Counts and sums by key, an answer asked for every second, from messages of 5,000 rows in one partition.

    Both sides connect and read all; letting go of the connection is in the time of neither.
    """
    producer = confluent_kafka.Producer({  # without idempotence, a request that is sent again changes the order
        "bootstrap.servers": servers, "enable.idempotence": True, "queue.buffering.max.kbytes": 1 << 20})
    parts = [table.slice(first, MESSAGE_ROWS) for first in range(0, len(table), MESSAGE_ROWS)]
    for part in parts:
        producer.produce("log", _message(part), partition=0)
    assert producer.flush(TIMEOUT_S) == 0, f"{len(producer):,} messages were not taken by the broker"
    feed = wb.feeds.kafka("log", servers, time="at", format="arrow", schema=table.schema)
    counts = feed.group_by("key").tumbling_window(WINDOW).aggregate(n=wb.count(), total=wb.sum(col.value))
    opened: list[wb.Run | confluent_kafka.Consumer] = []

    def ours() -> tuple[int, float]:
        run = counts.start()
        opened.append(run)
        answer = answered(run, len(table))
        late = run.metrics.late_dropped
        assert not late, f"{late:,} rows were late and dropped: messages lie in another order in the broker"
        return int(np.sum(answer["n"].to_numpy())), float(np.sum(answer["total"].to_numpy()))

    def bare() -> tuple[int, float]:
        consumer = confluent_kafka.Consumer({"bootstrap.servers": servers, "group.id": "bench"})
        opened.append(consumer)
        consumer.assign([confluent_kafka.TopicPartition("log", 0, 0)])
        tables: list[pa.Table] = []
        until = time.perf_counter() + TIMEOUT_S
        while len(tables) < len(parts):
            if time.perf_counter() > until:
                raise TimeoutError(f"{len(tables):,} of {len(parts):,} messages came in {TIMEOUT_S:.0f} s")
            some = consumer.consume(min(100, len(parts) - len(tables)), timeout=0.1)
            errors = [str(message.error()) for message in some if message.error() is not None]
            assert not errors, f"the bare client met errors: {errors}"
            tables += [ipc.open_stream(message.value()).read_all() for message in some]
        return sum(map(len, tables)), sum(float(np.sum(each["value"].to_numpy())) for each in tables)

    def close() -> None:
        while opened:
            last = opened.pop()
            if isinstance(last, wb.Run):
                last.stop(keep=False)
                last.wait(TIMEOUT_S)
            else:
                last.close()

    yield from compare("K Kafka", "Arrow values, an answer a second", len(table), ours, {"bare client": bare},
                       lambda mine, theirs: mine[0] == theirs[0] and bool(np.isclose(mine[1], theirs[1])), after=close)


def _message(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def latencies(servers: str, seconds: float) -> Iterator[Figure]:
    """From broker to result, at 1,000 messages a second; the first 3,000 warm both sides up, and are in no figure.

    Each message holds the wall clock of when it was handed to the producer, which sends it at once. The answer is asked
    for again and again with ``run.snapshot()``. A message is in the *early* answer when a snapshot is there that counts
    it; the partition is read in order, so that one which counts n messages has the first n. A window of 100 messages is
    *settled* when a snapshot says so, and its wait begins with the message after it, before which nobody could know
    its end. Snapshots' own time, and waiting for the next one, are in all waits. The bare client's end when `poll`
    has given it the message.
    """
    count = WARM_MESSAGES + int(MESSAGES_PER_S * seconds)
    sent = Sender(servers, "bare", count)
    bare = _received(servers, sent)
    yield from _figures("bare client", bare - sent.clock[WARM_MESSAGES:])
    sent = Sender(servers, "clock", count)
    early, settled = _answered(servers, sent)
    yield from _figures("early answer", early - sent.clock[WARM_MESSAGES:])
    first = WARM_MESSAGES // WINDOW_MESSAGES
    yield from _figures("settled window", settled - sent.clock[(first + 1) * WINDOW_MESSAGES::WINDOW_MESSAGES])


def _figures(case: str, waits_ns: np.ndarray) -> Iterator[Figure]:
    for share in (0.5, 0.99):
        wait_ms = float(np.quantile(waits_ns, share)) / 1e6
        yield Figure("K Kafka", f"broker -> {case}, p{100 * share:.0f}", "ms", wait_ms,
                     f"of {len(waits_ns):,}, {MESSAGES_PER_S:,} messages/s")


class Sender:
    """Messages with the clock inside, at a steady rate.

    Attributes
    ----------
    clock : array of int
        The nanosecond at which each was sent.
    """

    def __init__(self, servers: str, topic: str, count: int) -> None:
        self.topic, self.clock = topic, np.zeros(count, np.int64)
        self._producer = confluent_kafka.Producer({"bootstrap.servers": servers, "linger.ms": 0})
        self._send(0)
        assert self._producer.flush(TIMEOUT_S) == 0

    def _send(self, number: int) -> None:
        self.clock[number] = now = time.time_ns()
        self._producer.produce(self.topic, b'{"at": %d, "sent": %d}' % (number, now), partition=0)

    def begin(self) -> threading.Thread:
        """All others than the first, on a thread of its own."""
        thread = threading.Thread(target=self._send_others, name="sender")
        thread.start()
        return thread

    def _send_others(self) -> None:
        began = time.perf_counter()
        for number in range(1, len(self.clock)):
            time.sleep(max(began + number / MESSAGES_PER_S - time.perf_counter(), 0))
            self._send(number)
            self._producer.poll(0)
        assert self._producer.flush(TIMEOUT_S) == 0


def _received(servers: str, sent: Sender) -> np.ndarray:
    """When the bare client had each message."""
    with closing(confluent_kafka.Consumer({"bootstrap.servers": servers, "group.id": "bench"})) as consumer:
        consumer.assign([confluent_kafka.TopicPartition(sent.topic, 0, 0)])
        when = np.zeros(len(sent.clock), np.int64)
        sending = sent.begin()
        for number in range(len(when)):
            message = consumer.poll(TIMEOUT_S)
            assert message is not None, f"message {number:,} did not come in {TIMEOUT_S:.0f} s"
            when[number] = time.time_ns()
            assert json.loads(message.value()) == {"at": number, "sent": int(sent.clock[number])}
        sending.join()
    return when[WARM_MESSAGES:]


def _answered(servers: str, sent: Sender) -> tuple[np.ndarray, np.ndarray]:
    """When each message was in a current result; when each window was settled, except the last."""
    count = len(sent.clock)
    early, settled = np.zeros(count, np.int64), np.zeros(count // WINDOW_MESSAGES - 1, np.int64)
    run = _windows(wb.feeds.kafka(sent.topic, servers, time="at", schema={"at": "int64", "sent": "int64"})).start()
    answered(run, 1)
    sending = sent.begin()
    counted, windows, version = 0, 0, -1
    until = time.perf_counter() + count / MESSAGES_PER_S + TIMEOUT_S
    while counted < count:
        assert time.perf_counter() < until, f"{counted:,} of {count:,} messages were answered; {run.metrics.feeds}"
        snapshot = run.snapshot(after=version)
        now, version = time.time_ns(), snapshot.version
        has = int(np.sum(snapshot.table["n"].to_numpy()))
        early[counted:has] = now
        settled[windows:snapshot.settled] = now
        counted, windows = max(counted, has), max(windows, snapshot.settled)
    sending.join()
    run.stop()
    answer = run.snapshot().table
    last = sent.clock.reshape(-1, WINDOW_MESSAGES).max(axis=1)
    assert answer["n"].to_pylist() == [WINDOW_MESSAGES] * len(last), "messages are missing, or there twice"
    assert answer["sent"].to_pylist() == last.tolist(), "messages are not those that were sent"
    return early[WARM_MESSAGES:], settled[WARM_MESSAGES // WINDOW_MESSAGES:]


def _windows(feed: Stream) -> Stream:
    return feed.tumbling_window(WINDOW_MESSAGES).aggregate(n=wb.count(), sent=wb.max(col.sent))
