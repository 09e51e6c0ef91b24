"""A Kafka topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from whimbrel.connect.sinks.json_rows import json_rows
from whimbrel.errors import MissingExtraError, PlanError, SinkError
from whimbrel.plan.sink import Sink, Token

_FLUSH_S = 30.0


class KafkaSink(Sink):
    """Settled rows as JSON messages of a topic; needs ``whimbrel[kafka]``.

    At least once: rows since the last checkpoint are sent again after a run was killed. Each message has its row's
    number in the header ``row``, by which whoever reads can leave them out. Brokers that are away are waited for, for
    half a minute; meanwhile the run's metrics say so.

    Parameters
    ----------
    topic : str
    servers : str
        ``"host:port,host:port"``.
    key : str, optional
        The column whose text is the message's key.
    config : mapping, optional
        Further properties of librdkafka. They are in no plan, log or checkpoint.
    """

    def __init__(self, topic: str, servers: str = "127.0.0.1:9092", *, key: str | None = None,
                 config: Mapping[str, Any] | None = None) -> None:
        try:
            import confluent_kafka
        except ImportError:
            raise MissingExtraError("confluent-kafka", "kafka", "sinks.kafka()") from None
        self._library: Any = confluent_kafka
        self.name, self._key = topic, key
        self._config = {"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 5, "log_level": 0,
                        "error_cb": self._failing, **(config or {})}
        self._errors: list[str] = []

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        self._row = rows
        try:
            self._producer = self._library.Producer(self._config)
        except self._library.KafkaException as error:
            raise PlanError(f"config=... cannot be: {error.args[0].str()}.", where=f"sinks.kafka({self.name!r})",
                            hint="names and values are those of librdkafka") from None

    def write(self, rows: pa.RecordBatch) -> None:
        for row, text in json_rows(rows):
            key = None if self._key is None else str(row[self._key]).encode()
            while True:
                try:
                    self._producer.produce(self.name, text, key, headers={"row": str(self._row)},
                                           on_delivery=self._delivered)
                except BufferError:
                    self._producer.poll(0.1)
                    continue
                break
            self._row += 1
        self._producer.poll(0)

    def _failing(self, error: Any) -> None:
        codes = self._library.KafkaError
        if error.code() == codes._ALL_BROKERS_DOWN:  # noqa: SLF001 - its name in the library
            self.trouble = f"no broker answers at {self._config['bootstrap.servers']}"
        elif error.code() != codes._TRANSPORT:  # noqa: SLF001 - one broker of several may be away
            self.trouble = error.str()

    def _delivered(self, error: Any, message: object) -> None:
        self.trouble = ""
        if error is not None:
            self._errors.append(error.str())

    def prepare(self) -> Token:
        left = self._producer.flush(_FLUSH_S)
        if left or self._errors:
            why = self._errors[0] if self._errors else f"{left:,} messages were not taken in {_FLUSH_S:.0f} s"
            why += f": {self.trouble}" if self.trouble else ""
            raise SinkError(f"{self.name} cannot be written: {why}.", where=f"sinks.kafka({self.name!r})",
                            hint="start the run again when it can: nothing is lost")

    def close(self) -> None:
        self._producer.purge()
