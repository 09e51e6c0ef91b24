"""Kafka sinks: brokers that are away, and the keys of messages; the cluster is the one that librdkafka brings."""

from __future__ import annotations

from typing import Any

import confluent_kafka
import pytest

import whimbrel as wb
from tests.engine.connect.feeds.listen import PATIENCE_S, until
from tests.engine.connect.feeds.relay import Relay
from tests.engine.connect.feeds.servers import free_port
from tests.engine.ended import ended
from whimbrel.errors import SinkError


def rows(count: int, **more: Any) -> wb.Stream:
    return wb.from_arrow({"at": list(range(count)), **more}, time="at")


@pytest.mark.parametrize("stops", [True, False])
def test_more_rows_than_are_held_do_not_wait_longer_for_brokers(stops: bool) -> None:
    sink = wb.sinks.kafka("full", f"127.0.0.1:{free_port()}", config={"queue.buffering.max.messages": 10})
    sink.retry_timeout_s = 3600.0 if stops else 1.0
    run = rows(100).start(sink=sink)
    if stops:
        until(lambda: run.metrics.sink_error)
        run.stop()
    assert ended(run, PATIENCE_S)
    assert isinstance(run.error, SinkError)
    assert "10 messages were not acknowledged" in run.error.what
    assert "starts again from the beginning" in run.error.hint


def test_a_sink_is_as_new_after_a_run_that_failed() -> None:
    cluster = confluent_kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none:1", "log_level": 0})
    broker, = cluster.list_topics(timeout=10).brokers.values()
    relay = Relay(free_port())
    sink = wb.sinks.kafka("again", f"127.0.0.1:{relay.port}", config={"message.timeout.ms": 1500})
    run = rows(5).start(sink=sink)
    assert ended(run, PATIENCE_S)
    assert "timed out" in str(run.error)
    relay.server = broker.port
    run = rows(5).start(sink=sink)
    assert run.wait(PATIENCE_S)
    assert run.error is None
    relay.close()


def test_a_row_that_is_too_long_is_reported() -> None:
    cluster = confluent_kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none:1", "log_level": 0})
    broker, = cluster.list_topics(timeout=10).brokers.values()
    run = rows(2, s=["a", "b" * 2_000_000]).start(sink=wb.sinks.kafka("long", f"{broker.host}:{broker.port}"))
    assert ended(run, PATIENCE_S)
    assert isinstance(run.error, SinkError)
    assert "row 1 was rejected: " in run.error.what


def test_a_row_without_a_key_is_a_message_without_one() -> None:
    cluster = confluent_kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none:1", "log_level": 0})
    broker, = cluster.list_topics(timeout=10).brokers.values()
    address = f"{broker.host}:{broker.port}"
    asked = rows(3, k=["a", None, "None"])
    with pytest.raises(SinkError, match="key must be a column of the result, got 'kk'") as refused:
        asked.start(sink=wb.sinks.kafka("keys", address, key="kk"))
    assert "'k'" in refused.value.hint
    run = asked.start(sink=wb.sinks.kafka("keys", address, key="k"))
    assert run.wait(PATIENCE_S)
    assert run.error is None
    consumer = confluent_kafka.Consumer({"bootstrap.servers": address, "group.id": "check"})
    consumer.assign([confluent_kafka.TopicPartition("keys", each, confluent_kafka.OFFSET_BEGINNING)
                     for each in consumer.list_topics("keys").topics["keys"].partitions])
    keys: list[bytes | None] = []
    until(lambda: keys.extend(each.key() for each in consumer.consume(3, 0.1)) or len(keys) == 3)
    consumer.close()
    assert set(keys) == {b"a", None, b"None"}
