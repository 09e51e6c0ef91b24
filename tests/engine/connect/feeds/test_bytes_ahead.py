"""How much waits for a query that takes nothing: it has an end in bytes, however few rows that are."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nats
import pyarrow as pa
import pytest
import redis
from paho.mqtt import publish as mqtt

import whimbrel as wb
from tests.engine.connect.feeds import servers
from tests.engine.connect.feeds.listen import reading, rows, until
from whimbrel.connect.feeds import Feed
from whimbrel.connect.feeds import mqtt as mqtt_feed
from whimbrel.connect.feeds.runtime.client import MAX_BYTES, MessageBatch, ThreadedClient

MIB = 1 << 20


def line(at: int) -> bytes:
    return b'{"at": %d, "s": "%s"}' % (at, b"x" * MIB)


@pytest.mark.parametrize("kind", ["bytes", "dict", "batch"])
def test_an_iterator_is_not_asked_for_more_than_may_wait(kind: str) -> None:
    asked = []

    def items() -> Iterator[object]:
        for at in range(60):
            asked.append(at)
            row = {"at": at, "s": "x" * MIB}
            yield line(at) if kind == "bytes" else row if kind == "dict" else pa.RecordBatch.from_pylist([row])

    feed = wb.feeds.iterator(items, time="at", schema={"at": "int64", "s": "string"}, queue_bytes=4 * MIB,
                             format="json" if kind == "bytes" else None)
    with reading(feed) as found:
        first = next(found)
        until(lambda: found.state.queued_bytes >= 4 * MIB)
        time.sleep(0.1)
        assert found.state.queued_bytes < 6 * MIB
        assert len(asked) < 16
        taken = 0 if first is None else len(first)
        assert taken + sum(map(len, rows(found, 60 - taken))) == 60
        assert found.state.queued_bytes == 0


def test_rows_are_given_up_where_they_take_too_many_bytes() -> None:
    def items() -> Iterator[bytes]:
        return map(line, range(40))

    feed = wb.feeds.iterator(items, time="at", schema={"at": "int64", "s": "string"}, format="json",
                             queue_bytes=4 * MIB, overload=wb.feeds.Sample(0.5))
    with reading(feed) as found:
        first = next(found)
        until(lambda: found.state.connection == "ended")
        assert found.state.queued_bytes <= 4 * MIB
        kept = sum(len(batch) for batch in (first, *rows(found, 40)) if batch is not None)
        assert kept + found.state.shed["sample 0.5"] == 40


def test_of_what_blocks_little_waits() -> None:
    asked = []

    def deliveries() -> Iterator[MessageBatch]:
        for at in range(60):
            asked.append(at)
            yield MessageBatch([line(at)], at)

    client = ThreadedClient(deliveries(), lambda: None, together=True)
    until(lambda: len(asked) > MAX_BYTES // MIB)
    time.sleep(0.1)
    assert len(asked) <= MAX_BYTES // MIB + 2
    came: list[Any] = []
    while len(came) < 60 and (delivery := client.receive(1)) is not None:
        came += delivery.messages
    assert came == list(map(line, range(60)))
    client.close()


@pytest.mark.redis
@pytest.mark.parametrize("group", [None, "some"])
def test_few_entries_of_redis_come_at_once_where_long_ones_follow_short_ones(group: str | None,
                                                                                  tmp_path: Path) -> None:
    lengths = [1] * 7000 + [MIB] * 100 + [2 * MAX_BYTES, 1]
    with servers.running(servers.redis(tmp_path)) as server, redis.Redis(port=server.port) as connection:
        for length in lengths:
            connection.xadd("rows", {"x": bytes(length)})
        feed = wb.feeds.redis("rows", f"redis://127.0.0.1:{server.port}", time="at", schema={"at": "int64"}, field="x",
                              group=group).node.op
        assert isinstance(feed, Feed)
        with contextlib.closing(feed.connect(None)) as client:
            came: list[list[int]] = []
            while sum(map(len, came)) < len(lengths):
                delivery = client.receive(5.0)
                came += [] if delivery is None else [list(map(len, delivery.messages))]
        assert [length for each in came for length in each] == lengths
        assert sum(sum(each) > 3 * MAX_BYTES // 2 for each in came) <= 2  # where they begin to be long
        assert max(map(sum, came)) < 65 * MIB
        assert len(came) < 16


@pytest.mark.mosquitto
def test_a_broker_whose_messages_are_not_read_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answer to a ping comes after them."""
    monkeypatch.setattr(mqtt_feed, "_KEEPALIVE_S", 1)
    with servers.running(servers.mosquitto(tmp_path)) as server:
        feed = wb.feeds.mqtt("t", f"mqtt://127.0.0.1:{server.port}", time="at", schema={"at": "int64"}, qos=0,
                             queue_rows=1)
        with reading(feed) as found:
            next(found)
            until(lambda: found.state.connection == "live")
            mqtt.multiple([("t", line(at), 0) for at in range(60)], hostname="127.0.0.1", port=server.port)
            until(lambda: found.state.queued_rows)
            time.sleep(3)
            assert sum(map(len, rows(found, 60))) == 60
            assert found.state.reconnects == 0


@pytest.mark.nats
def test_no_more_is_asked_of_nats_at_once_where_long_messages_follow_short_ones(tmp_path: Path) -> None:
    lengths = [1] * 3000 + [MIB] * 40 + [MAX_BYTES + 4 * MIB, 1]

    async def publish(url: str) -> None:
        connection = await nats.connect(url)
        log = connection.jetstream()
        await log.add_stream(name="rows", subjects=["rows"])
        for length in lengths:
            await log.publish("rows", bytes(length))
        await connection.close()

    with servers.running(servers.nats(tmp_path)) as server:
        url = f"nats://127.0.0.1:{server.port}"
        asyncio.run(publish(url))
        feed = wb.feeds.nats("rows", url, time="at", schema={"at": "int64"}).node.op
        assert isinstance(feed, Feed)
        with contextlib.closing(feed.connect(None)) as client:
            came: list[list[int]] = []
            while sum(map(len, came)) < len(lengths):
                delivery = client.receive(5.0)
                came += [] if delivery is None else [list(map(len, delivery.messages))]
        assert [length for each in came for length in each] == lengths
        assert max(sum(each) for each in came if len(each) > 1) <= MAX_BYTES
        assert len(came) < 20


@pytest.mark.nats
def test_rows_that_were_handed_on_take_no_memory(tmp_path: Path) -> None:
    async def publish(url: str) -> None:
        connection = await nats.connect(url)
        log = connection.jetstream()
        await log.add_stream(name="rows", subjects=["rows"])
        for at in range(60):
            await log.publish("rows", line(at))
        await connection.close()

    with servers.running(servers.nats(tmp_path)) as server:
        url = f"nats://127.0.0.1:{server.port}"
        asyncio.run(publish(url))
        feed = wb.feeds.nats("rows", url, time="at", schema={"at": "int64", "s": "string"}, queue_bytes=MIB)
        gc.collect()
        gc.disable()  # it may not come for long, where rows are long and few
        try:
            before, count, most = pa.total_allocated_bytes(), 0, 0
            with reading(feed) as found:
                while count < 60:
                    count += sum(map(len, rows(found, 1)))
                    most = max(most, pa.total_allocated_bytes() - before)
        finally:
            gc.enable()
        assert most < 50 * MIB
