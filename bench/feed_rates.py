"""Rows a second of every feed, from small messages to an answer that has all of them.

Servers are those that tests start. Kafka, Redis, MQTT, NATS and a polled PostgreSQL table hold all rows before the
clock starts, as do files, pages and Flight. WebSocket, PostgreSQL changes and the socket are sent to while they are
read, by a thread of this process, whose work is in their figures. An answer is asked for every second; at the end
counts and sums are compared.
"""

from __future__ import annotations

import asyncio
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import confluent_kafka
import nats
import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import redis
from paho.mqtt import publish
from pyarrow import ipc
from websockets.sync.server import serve

import whimbrel as wb
from bench.answered import answered
from bench.figure import Figure
from tests.conftest import NEEDS
from tests.engine.connect.feeds import servers
from tests.engine.connect.feeds.listen import until
from tests.engine.connect.feeds.pages import pages
from whimbrel import Stream, col
from whimbrel.connect.feeds import Feed

FIELDS: Any = {"at": "int64", "x": "int64"}
OPTIONS: Any = {"time": "at", "schema": FIELDS}
WINDOW = 10_000


@dataclass(frozen=True)
class Ready:
    """A feed to be read, and what sends its rows once it is (None: they are there)."""

    feed: Stream
    send: Callable[[], object] | None = None


Prepare = Callable[[Path, int], Any]
"""A context manager of :class:`Ready`, given a folder of its own and a number of rows."""


def rates(*, quick: bool) -> Iterator[Figure]:
    """One figure for each feed whose server is on this machine; the others are named."""
    for name, (needs, rows, prepare) in CASES.items():
        if needs is not None and not NEEDS[needs][2]():
            print(f"K rate      {name}: left out, for {NEEDS[needs][0]} is not there", flush=True)
            continue
        count = rows // 8 if quick else rows
        with tempfile.TemporaryDirectory() as folder, prepare(Path(folder) / "feed", count) as ready:
            yield Figure("K rate", f"{name}, {count:,} rows", "rows/s", count / _seconds(ready, count), "")


def _seconds(ready: Ready, rows: int) -> float:
    asked = ready.feed.tumbling_window(WINDOW).aggregate(n=wb.count(), total=wb.sum(col.x))
    began = time.perf_counter()
    run = asked.start()
    if ready.send is not None:
        until(lambda: all(state.connection == "live" for state in run.metrics.feeds.values()))
        began = time.perf_counter()
        ready.send()
    answer = answered(run, rows)
    took = time.perf_counter() - began
    run.stop(keep=False)
    run.wait(60)
    assert pc.sum(answer["n"]).as_py() == rows, f"{pc.sum(answer['n'])} rows instead of {rows}"
    assert pc.sum(answer["total"]).as_py() == sum(map(_x, range(rows))), "values are not those that were sent"
    return took


def _x(at: int) -> int:
    return at % 97


def _message(at: int) -> bytes:
    return b'{"at": %d, "x": %d}' % (at, _x(at))


def _messages(rows: int) -> list[bytes]:
    return list(map(_message, range(rows)))


@contextmanager
def _kafka(folder: Path, rows: int) -> Iterator[Ready]:
    with servers.running(servers.kafka(folder)) as server:
        address = f"127.0.0.1:{server.port}"
        producer = confluent_kafka.Producer({"bootstrap.servers": address, "queue.buffering.max.messages": rows + 1})
        for message in _messages(rows):
            producer.produce("rows", message, partition=0)
        assert producer.flush(60) == 0
        yield Ready(wb.feeds.kafka("rows", address, **OPTIONS))


@contextmanager
def _redis(folder: Path, rows: int) -> Iterator[Ready]:
    with servers.running(servers.redis(folder)) as server, redis.Redis(port=server.port) as connection:
        writing = connection.pipeline(transaction=False)
        for at in range(rows):
            writing.xadd("rows", {"at": at, "x": _x(at)})
        writing.execute()
        yield Ready(wb.feeds.redis("rows", f"redis://127.0.0.1:{server.port}", **OPTIONS))


@contextmanager
def _nats(folder: Path, rows: int) -> Iterator[Ready]:
    async def publish(url: str) -> None:
        connection = await nats.connect(url)
        log = connection.jetstream()
        await log.add_stream(name="rows", subjects=["rows"])
        for message in _messages(rows):
            await connection.publish("rows", message)
        await connection.flush()
        while (await log.stream_info("rows")).state.messages < rows:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.05)
        await connection.close()

    with servers.running(servers.nats(folder)) as server:
        url = f"nats://127.0.0.1:{server.port}"
        asyncio.run(asyncio.wait_for(publish(url), 60))
        yield Ready(wb.feeds.nats("rows", url, **OPTIONS))


@contextmanager
def _mqtt(folder: Path, rows: int) -> Iterator[Ready]:
    """In a session of the feed, which the broker keeps while nobody is connected."""
    with servers.running(servers.mosquitto(folder)) as server:
        feed = wb.feeds.mqtt("rows", f"mqtt://127.0.0.1:{server.port}", session="bench", **OPTIONS)
        asked = feed.node.op
        assert isinstance(asked, Feed)
        asked.connect(None).close()
        publish.multiple([("rows", message, 1, False) for message in _messages(rows)], "127.0.0.1", server.port)
        yield Ready(feed)


@contextmanager
def _postgres_server(folder: Path) -> Iterator[str]:
    with servers.running(servers.postgres(folder)) as server:
        url = f"postgresql://test@127.0.0.1:{server.port}/postgres"
        until(lambda: servers.accepts(url))
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE rows (at bigint PRIMARY KEY, x bigint)")
        yield url


def _insert(url: str, rows: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"INSERT INTO rows SELECT at, at % 97 FROM generate_series(0, {rows - 1}) AS at ORDER BY at")


@contextmanager
def _postgres(folder: Path, rows: int) -> Iterator[Ready]:
    with _postgres_server(folder) as url:
        _insert(url, rows)
        yield Ready(wb.feeds.postgres("rows", url, cursor="at", every=0.01, **OPTIONS))


@contextmanager
def _postgres_changes(folder: Path, rows: int) -> Iterator[Ready]:
    with _postgres_server(folder) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE PUBLICATION whimbrel FOR TABLE rows")
        yield Ready(wb.feeds.postgres_cdc("rows", url, slot="bench", publication="whimbrel", **OPTIONS),
                    lambda: _insert(url, rows))


@contextmanager
def _websocket(folder: Path, rows: int) -> Iterator[Ready]:
    start, over = threading.Event(), threading.Event()

    def talk(connection: Any) -> None:
        start.wait(60)
        for at in range(rows):
            connection.send(_message(at).decode())
        over.wait(60)

    with serve(talk, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Ready(wb.feeds.websocket(f"ws://127.0.0.1:{server.socket.getsockname()[1]}", **OPTIONS), start.set)
        over.set()


@contextmanager
def _http(folder: Path, rows: int) -> Iterator[Ready]:
    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        first = int(request.path.partition("?at=")[2] or -1) + 1
        return 200, {}, b"\n".join(map(_message, range(first, min(first + 10_000, rows))))

    with pages(page) as url:
        yield Ready(wb.feeds.http(url, every=0.001, cursor="at", **OPTIONS))


@contextmanager
def _events(folder: Path, rows: int) -> Iterator[Ready]:
    text = b"".join(b"id: %d\ndata: %s\n\n" % (at, _message(at)) for at in range(rows))

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        return 200, {"Content-Type": "text/event-stream"}, b"" if "Last-Event-ID" in request.headers else text

    with pages(page) as url:
        yield Ready(wb.feeds.sse(url, **OPTIONS))


@contextmanager
def _tail(folder: Path, rows: int) -> Iterator[Ready]:
    folder.mkdir()
    (folder / "rows.json").write_bytes(b"\n".join([*_messages(rows), b""]))
    yield Ready(wb.feeds.tail(folder / "rows.json", **OPTIONS))


@contextmanager
def _directory(folder: Path, rows: int) -> Iterator[Ready]:
    folder.mkdir()
    for number, first in enumerate(range(0, rows, 10_000)):
        text = b"\n".join([*map(_message, range(first, min(first + 10_000, rows))), b""])
        (folder / f"{number:05}.json").write_bytes(text)
    yield Ready(wb.feeds.directory(folder, pattern="*.json", **OPTIONS))


@contextmanager
def _socket(folder: Path, rows: int) -> Iterator[Ready]:
    """Arrow IPC, in batches of 100 rows."""
    start = threading.Event()

    def talk(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        start.wait(60)
        fields = pa.schema([("at", pa.int64()), ("x", pa.int64())])
        with connection, connection.makefile("wb") as file, ipc.new_stream(file, fields) as stream:
            for first in range(0, rows, 100):
                at = list(range(first, min(first + 100, rows)))
                stream.write_batch(pa.record_batch([at, list(map(_x, at))], schema=fields))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=talk, args=(listener,), daemon=True).start()
        yield Ready(wb.feeds.socket(f"tcp://127.0.0.1:{listener.getsockname()[1]}", **OPTIONS), start.set)


@contextmanager
def _flight(folder: Path, rows: int) -> Iterator[Ready]:
    log = wb.from_arrow(pa.table({"at": range(rows), "x": list(map(_x, range(rows)))}), time="at", name="log")
    with wb.serve(log, keep_rows=2 * rows) as served:
        assert served.run.wait(60)
        assert served.flight is not None
        yield Ready(wb.feeds.flight(served.flight, time="start", token=served.token))


CASES: dict[str, tuple[str | None, int, Prepare]] = {
    "kafka": ("kafka", 1_000_000, _kafka), "redis": ("redis", 200_000, _redis), "nats": ("nats", 100_000, _nats),
    "mqtt": ("mosquitto", 20_000, _mqtt), "postgres": ("postgres", 200_000, _postgres),
    "postgres_cdc": ("postgres", 200_000, _postgres_changes), "websocket": (None, 100_000, _websocket),
    "http": (None, 200_000, _http), "sse": (None, 100_000, _events), "tail": (None, 1_000_000, _tail),
    "directory": (None, 1_000_000, _directory), "socket": (None, 1_000_000, _socket),
    "flight": (None, 2_000_000, _flight)}
"""By feed: what it needs, how many rows it is tried with, how it is prepared."""
