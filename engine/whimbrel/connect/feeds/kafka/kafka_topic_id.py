"""Kafka topic ids, to detect a recreated topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ANSWER_S = 10.0
_NONE = "AAAAAAAAAAAAAAAAAAAAAA"
"""The id that brokers without topic ids report."""


class TopicId:
    """Request the id of a topic asynchronously.

    librdkafka continues at the same offsets in another topic of the same name, without an error.

    Parameters
    ----------
    topic : str
    library : module
        ``confluent_kafka``.
    config : mapping
        Configuration of the client.
    """

    def __init__(self, topic: str, library: Any, config: Mapping[str, Any]) -> None:
        self._topic, self._library, self._config = topic, library, config
        self._link: Any = None
        self._asked: Any = None

    @property
    def was_asked(self) -> bool:
        return self._link is not None

    def ask(self) -> None:
        """Send a request, unless one is pending."""
        from confluent_kafka.admin import AdminClient

        if self._asked is None:
            self._link = self._link or AdminClient({**self._config})
            topics = self._library.TopicCollection([self._topic])
            self._asked = self._link.describe_topics(topics, request_timeout=_ANSWER_S)[self._topic]

    def answer(self, wait_s: float = 0.0) -> str | None:
        """Return the id if it has arrived; None also if the broker has no topic ids.

        Raises
        ------
        ConnectionError
            When there is no such topic.
        """
        if self._asked is None:
            return None
        try:
            found = str(self._asked.result(wait_s).topic_id)
        except TimeoutError:
            return None
        except self._library.KafkaException as error:
            self._asked = None
            if error.args[0].code() == self._library.KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise ConnectionError(f"there is no topic {self._topic!r}") from error
            return None
        self._asked = None
        return None if found.rstrip("=") == _NONE else found

    def close(self) -> None:
        """Drop the client; it has no close method."""
        self._link = self._asked = None
