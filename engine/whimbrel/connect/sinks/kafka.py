"""Kafka topic as a sink."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from whimbrel.connect.addresses import without_secrets
from whimbrel.connect.fatal_errors import fatal_reason
from whimbrel.connect.sinks.json_rows import json_rows
from whimbrel.connect.validation import check_name, checked_mapping
from whimbrel.errors import MissingExtraError, PlanError, SinkError, near_match
from whimbrel.plan.sink import Sink, Token

_LOOK_S, _HOLD_S, _GRACE_S, _ANSWER_S = 0.1, 0.5, 5.0, 10.0


class KafkaSink(Sink):
    """Sink of JSON messages on a Kafka topic; needs ``whimbrel[kafka]``.

    At least once: after a crash, rows since the last checkpoint are sent again. Each message has its row number in the
    header ``row``, with which a consumer can drop duplicates. The sink waits for unavailable brokers; metrics of the
    run show it.

    Parameters
    ----------
    topic : str
    servers : str
        ``"host:port,host:port"``.
    key : str, optional
        The column whose text is the message key. A null gives a message without a key.
    config : mapping, optional
        Further properties of librdkafka. They are in no plan, log or checkpoint.

    Attributes
    ----------
    retry_timeout_s : float
        Time in seconds after which the query fails if no broker acknowledges messages.
    """

    retry_timeout_s: float = 30.0

    def __init__(self, topic: str, servers: str = "127.0.0.1:9092", *, key: str | None = None,
                 config: Mapping[str, Any] | None = None) -> None:
        try:
            import confluent_kafka
        except ImportError:
            raise MissingExtraError("confluent-kafka", "kafka", "sinks.kafka()") from None
        check_name("topic", topic, where="sinks.kafka(...)")
        check_name("servers", servers, where="sinks.kafka(...)")
        self._library: Any = confluent_kafka
        self.name, self._key, self._servers = topic, key, servers
        self._config = {"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 5, "log_level": 0,
                        "reconnect.backoff.max.ms": 2_000, "error_cb": self._failing,
                        **checked_mapping("config", config, where="sinks.kafka(...)")}

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        if self._key is not None and self._key not in schema.names:
            raise SinkError(f"key must be a column of the result, got {self._key!r}.",
                            hint=near_match(self._key, schema.names),
                            where=f"sinks.kafka({self.name!r}, key={self._key!r})")
        self._row, self.last_error, self._last_response, self._answered = rows, "", time.monotonic(), False
        self._stop_seen = math.inf
        self._errors: list[str] = []
        try:
            self._producer = self._library.Producer(self._config)
        except self._library.KafkaException as error:
            raise PlanError(f"config must hold properties of librdkafka: {error.args[0].str()}.",
                            where=f"sinks.kafka({self.name!r})", hint="Remove or correct this property.") from None

    def write(self, rows: pa.RecordBatch) -> None:
        for row, text in json_rows(rows):
            value = None if self._key is None else row[self._key]
            key = None if value is None else str(value).encode()
            self._wait(partial(self._queued, text, key))
            self._row += 1
        self._producer.poll(0)

    def _queued(self, text: bytes, key: bytes | None) -> bool:
        """Queue a message; False if the queue is full."""
        if not len(self._producer):
            self._last_response = time.monotonic()
        try:
            self._producer.produce(self.name, text, key, headers={"row": str(self._row)}, on_delivery=self._delivered)
        except BufferError:
            return False
        except self._library.KafkaException as error:
            raise self._failed(f"row {self._row:,} was rejected: {error.args[0].str()}") from None
        return True

    def _wait(self, done: Callable[[], bool]) -> None:
        """Wait for a condition while brokers acknowledge messages or may do so again."""
        while not done():
            self._producer.poll(_LOOK_S)
            if time.monotonic() - self._last_response > _ANSWER_S:
                self.last_error = self.last_error or f"no broker answers at {self._config['bootstrap.servers']}"
            if self._is_fatal():
                left = f"{len(self._producer):,} messages were not acknowledged"
                why = ": ".join(filter(None, [*self._errors[:1], left, self.last_error]))
                raise self._failed(why)

    def _is_fatal(self) -> bool:
        """Whether to stop waiting for brokers; a stopping run waits a short time."""
        now = time.monotonic()
        silent_s = now - self._last_response
        if self.stopped.is_set():
            self._stop_seen = min(self._stop_seen, now)
        return (bool(self._errors) or silent_s > self.retry_timeout_s or
                min(silent_s, now - self._stop_seen) > min(_GRACE_S, self.retry_timeout_s))

    def _failing(self, error: Any) -> None:
        codes = self._library.KafkaError
        if error.code() == codes._AUTHENTICATION:  # noqa: SLF001 - its name in the library
            self._errors.append(f"authentication failed: {error.str()}")
        elif fatal_reason(ConnectionError(error.str()), before=self._answered or "," in self._servers):
            self._errors.append(error.str())
        elif error.code() == codes._ALL_BROKERS_DOWN:  # noqa: SLF001
            self.last_error = f"no broker answers at {self._config['bootstrap.servers']}"
        elif error.code() != codes._TRANSPORT:  # noqa: SLF001 - one broker of several may be away
            self.last_error = error.str()

    def _delivered(self, error: Any, message: object) -> None:
        if error is not None:
            self._errors.append(error.str())
        else:
            self._last_response, self.last_error, self._answered = time.monotonic(), "", True

    def ready(self) -> bool:
        self._producer.poll(0)
        until = math.inf if self.checkpointed else time.monotonic() + _HOLD_S
        while len(self._producer) and not self.last_error and (
                time.monotonic() < min(self._last_response + _HOLD_S, until)):
            self._producer.poll(_LOOK_S)
        silent_s = time.monotonic() - self._last_response
        if len(self._producer) and silent_s > _ANSWER_S:
            self.last_error = self.last_error or f"no broker answers at {self._config['bootstrap.servers']}"
        return not len(self._producer) or self._is_fatal()

    def prepare(self) -> Token:
        self._wait(lambda: not self._errors and self._producer.flush(0) == 0)

    def _failed(self, why: str) -> SinkError:
        return SinkError(f"Cannot write to {self.name}: {without_secrets(why)}.", where=f"sinks.kafka({self.name!r})",
                         hint=fatal_reason(ConnectionError(why), before=self._answered) or self.again)

    def close(self) -> None:
        self._producer.purge()
