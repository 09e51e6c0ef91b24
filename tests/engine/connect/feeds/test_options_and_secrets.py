"""Options of feeds: invalid ones are rejected in the user's words, and errors contain no password."""

from __future__ import annotations

import contextlib
import gc
import re
import socket
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import whimbrel as wb
from whimbrel.connect.feeds.runtime.backoff import Backoff
from whimbrel.connect.feeds.runtime.read_options import ReadOptions
from whimbrel.errors import PlanError, SourceError, WhimbrelError

FIELDS: Any = {"at": "int64"}
OPTIONS: Any = {"time": "at", "schema": FIELDS}
LOG = wb.from_arrow({"at": [1]}, time="at")


def test_a_feed_has_a_name_that_is_a_text() -> None:
    with pytest.raises(PlanError, match="name must be a non-empty string, got 5"):
        wb.feeds.redis("t", name=5, **OPTIONS)


def test_who_reads_in_a_group_needs_one() -> None:
    with pytest.raises(PlanError, match="consumer='me' needs group="):
        wb.feeds.redis("t", consumer="me", **OPTIONS)


def test_an_option_that_kafka_does_not_know_is_named() -> None:
    query = wb.from_arrow({"at": [1]}, time="at")
    with pytest.raises(PlanError, match=r'No such configuration property: "bad\.option"'):
        query.start(sink=wb.sinks.kafka("out", config={"bad.option": 1}))


@pytest.mark.parametrize("make", [
    lambda: wb.feeds.http("http://ann:hunter2@h/x?api_key=hunter2", format="xx", **OPTIONS),
    lambda: wb.feeds.sse("http://ann:hunter2@h/x?api_key=hunter2", format="xx", **OPTIONS),
    lambda: wb.feeds.websocket("ws://h/x?token=hunter2", format="xx", **OPTIONS),
    lambda: wb.feeds.http("htps://ann:hunter2@h/x?a=1&b=hunter2", **OPTIONS),
    lambda: wb.feeds.postgres("t", "ann:hunter2@127.0.0.1/db", cursor="id", **OPTIONS),
    lambda: wb.feeds.postgres_cdc("t", "ann:hunter2@127.0.0.1/db", **OPTIONS),
    lambda: wb.feeds.redis("t", "redis://:hunter2/ter2@127.0.0.1:1", **OPTIONS),
    lambda: wb.feeds.redis("t", "ann:hunter2@127.0.0.1:1", **OPTIONS),
    lambda: wb.feeds.nats("t", "nats://ann:hunter2/ter2@127.0.0.1:1", **OPTIONS),
    lambda: wb.feeds.mqtt("t", "mqtt://ann:hunter2/ter2@127.0.0.1:1", **OPTIONS),
    lambda: wb.feeds.socket("tpc://ann:hunter2@127.0.0.1:1", **OPTIONS),
    lambda: wb.sinks.postgres("t", "ann:hunter2@127.0.0.1/db", key=["at"]),
    lambda: wb.sinks.postgres("t", "postgresql://ann:x@hunter2@127.0.0.1/db", key=["at"]),
    lambda: wb.feeds.postgres("t", "postgresql://ann:x@hunter2@127.0.0.1/db", cursor="id", **OPTIONS),
    lambda: wb.feeds.postgres_cdc("t", "postgresql://ann:5/x@hunter2@127.0.0.1/db", **OPTIONS),
    lambda: wb.feeds.postgres_cdc("t", "postgresql://ann:5/hunter2@127.0.0.1/db", **OPTIONS),
    lambda: wb.sinks.redis("t", "redis://:hunter2/ter2@127.0.0.1:1"),
])
def test_no_error_repeats_a_password(make: Callable[[], object]) -> None:
    with pytest.raises(WhimbrelError) as refused:
        make()
    error: BaseException | None = refused.value
    while error is not None:  # and what is shown above it
        assert "hunter2" not in str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


@pytest.mark.parametrize("start_from", [
    lambda url: wb.feeds.mqtt("rows", url, **OPTIONS).start(), lambda url: wb.from_arrow({"at": [1]}, time="at").start(
        sink=wb.sinks.mqtt("rows", url))])
def test_no_password_goes_over_an_mqtts_wire_in_the_clear(start_from: Callable[[str], Any]) -> None:
    """The first byte of a TLS handshake is 22; that of an MQTT packet with a name and a password, 16."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"mqtts://ann:hunter2@127.0.0.1:{server.getsockname()[1]}"
        runs: list[wb.Run] = []

        def beginning() -> None:
            with contextlib.suppress(WhimbrelError):  # nobody greets it
                runs.append(start_from(url))

        thread = threading.Thread(target=beginning)
        thread.start()
        connection, _ = server.accept()
        with connection:
            said = connection.recv(1024)
        thread.join()
        for run in runs:
            run.stop()
    gc.collect()
    assert said[0] == 22
    assert b"hunter2" not in said


@pytest.mark.parametrize(("options", "word"), [
    ({"reorder_latncy": "1h"}, "Use 'reorder_latency'"), ({"formt": "json"}, "Use 'format'"),
    ({"retry_backoff_s": 3}, "retry_backoff_s must be the first and the longest wait in seconds, in this order, got 3"),
    ({"retry_backoff_s": (5, 1)}, "in this order, got (5, 1)"),
    ({"idle_timeout": "soon"}, "idle_timeout must be a positive duration, got 'soon'"),
    ({"idle_timeout": -1}, "idle_timeout must be a positive duration, got -1"),
    ({"queue_rows": "10"}, "queue_rows must be an integer of at least 1, got '10'"), ({"queue_rows": 1.5}, "1.5"),
    ({"queue_rows": 0}, "queue_rows must be an integer of at least 1, got 0"),
    ({"schema_sample_s": "1s"}, "schema_sample_s must be a positive number of seconds, got '1s'"),
    ({"overload": "sample"}, "overload must be a load-shedding rule, got 'sample'"),
])
def test_invalid_options_of_a_feed_are_rejected(options: Any, word: str) -> None:
    for schema in (FIELDS, None):
        with pytest.raises(PlanError, match=re.escape(word)):
            wb.feeds.iterator(lambda: iter([{"at": 1}]), time="at", schema=schema, **options)


def test_numbers_of_numpy_are_numbers() -> None:
    feed = wb.feeds.synthetic(
        rate=np.float32(100), rows=np.int64(200), speed=np.float32(1e6), idle_timeout=np.float32(5),
        queue_rows=np.int32(100), retry_backoff_s=(np.float32(0.1), np.int64(1)),
        overload=wb.feeds.Sample(np.float32(0.5)))
    assert feed.tumbling_window(np.timedelta64(1, "s").item()).aggregate(n=wb.count()).explain()
    assert wb.Checkpoints("folder", keep=np.int64(2)).keep == 2
    counts = wb.from_arrow({"at": [0, 1, 2]}, time="at").tumbling_window(np.int64(2)).aggregate(
        n=wb.count(), q=wb.quantile(wb.col.at, np.float32(0.5)))
    assert counts.collect()["n"].to_pylist() == [2, 1]


@pytest.mark.parametrize(("make", "word"), [
    (lambda: wb.feeds.kafka("", **OPTIONS), "topic must be a non-empty string, got ''"),
    (lambda: wb.feeds.kafka("t", start_from="newest", **OPTIONS), "start_from must be .*, got 'newest'"),
    (lambda: wb.feeds.kafka("t", tombstones="keep", **OPTIONS), "tombstones must be .*, got 'keep'"),
    (lambda: wb.feeds.redis("t", start_from="newest", **OPTIONS), "start_from must be .*, got 'newest'"),
    (lambda: wb.feeds.nats("t", start_from="newest", **OPTIONS), "start_from must be .*, got 'newest'"),
    (lambda: wb.feeds.synthetic(rows=-1), "rows must be .*, got -1"),
    (lambda: wb.feeds.Sample("x"), "fraction must be between 0 and 1, got 'x'"),  # type: ignore[arg-type]
    (lambda: wb.feeds.synthetic(rate="fast"), "rate must be .*, got 'fast'"),  # type: ignore[arg-type]
    (lambda: wb.feeds.synthetic(bursts=(1,)), r"bursts must be .*, got \(1,\)"),  # type: ignore[arg-type]
    (lambda: wb.feeds.synthetic(gaps=(1, 1)), r"gaps must be .*, got \(1, 1\)"),
    (lambda: wb.feeds.synthetic(seed="a"), "seed must be .*, got 'a'"),  # type: ignore[arg-type]
    (lambda: wb.feeds.postgres(5, "", cursor="id", **OPTIONS), "table must be a non-empty string, got 5"),  # type: ignore[arg-type]
    (lambda: wb.feeds.redis("", **OPTIONS), "stream must be a non-empty string, got ''"),
    (lambda: wb.feeds.http("http://h", every="soon", **OPTIONS), "every must be .*, got 'soon'"),  # type: ignore[arg-type]
    (lambda: wb.feeds.mqtt("t", qos=5, **OPTIONS), "qos must be one of 0, 1, 2, got 5"),  # type: ignore[arg-type]
    (lambda: wb.sinks.mqtt("t", qos=7), "qos must be one of 1, 2, got 7"),  # type: ignore[arg-type]
    (lambda: wb.sinks.postgres("t", "", key="at"), r"got 'at'(.|\n)*key=\['at'\]"),
    (lambda: LOG.then(wb.feeds.iterator(list, **OPTIONS), keys="at", dedup_window=1), r"got 'at'(.|\n)*keys=\['at'\]"),
    (lambda: wb.feeds.socket("tcp://host", **OPTIONS), "address must have a port"),
    (lambda: wb.feeds.Avro("{"), "schema must be an Avro"), (lambda: wb.feeds.Avro("{}"), "schema must be an Avro"),
    (lambda: wb.feeds.Protobuf(5), "message must be a class that protoc generated, got 5"),
    (lambda: wb.feeds.iterator(list, overload=wb.feeds.WidenHop(-5), **OPTIONS), r"WidenHop\(-5\)"),
    (lambda: wb.serve(LOG, token=12345678), "token must be a string"),  # type: ignore[arg-type]
])
def test_choices_are_checked(make: Callable[[], object], word: str) -> None:
    with pytest.raises(PlanError, match=word):
        make()


@pytest.mark.parametrize("make", [
    lambda: wb.feeds.redis("t", "redis://127.0.0.1:9", time="at"),
    lambda: wb.feeds.postgres("t", "postgresql://u@127.0.0.1:9/d", time="at", cursor="id"),
    lambda: wb.feeds.http("http://127.0.0.1:9/", time="at"),
    lambda: wb.feeds.websocket("ws://127.0.0.1:9/", time="at"),
])
def test_a_server_that_cannot_tell_a_schema_is_named(make: Callable[[], object]) -> None:
    with pytest.raises(SourceError, match=r"(cannot be reached|Cannot read the columns)"):
        make()


def test_a_server_is_asked_every_few_seconds_however_long_it_was_away() -> None:
    waits = Backoff(*ReadOptions.validated({}, (), "").retry_backoff_s)
    assert max(waits.wait_s() for _ in range(100)) <= 5


@pytest.mark.parametrize("idle", [5, 5.0, "5s", timedelta(seconds=5), np.timedelta64(5_000, "ms")], ids=repr)
def test_an_idle_time_is_a_duration_or_seconds(idle: Any) -> None:
    assert ReadOptions.validated({"idle_timeout": idle}, (), "").idle_after_s == 5
