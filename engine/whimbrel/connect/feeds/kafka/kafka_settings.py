"""Settings of a Kafka feed that its consumer needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from whimbrel.errors import SourceError

METADATA_TIMEOUT_S: Final = 0.5
"""How long a request for the partitions of a topic may take."""
TOPIC: Final = "topic"
"""Key of the topic id in an offset; all other keys but the member are partitions."""


@dataclass(frozen=True)
class KafkaSettings:
    """A Kafka feed as its consumer sees it.

    Attributes
    ----------
    library : module
        ``confluent_kafka``.
    topic, servers : str
    group : str or None
    start_from : {"earliest", "latest"}
    config : mapping
        Further properties of librdkafka.
    metadata_columns : tuple of str
        Columns to add from each message.
    drops_tombstones : bool
        Whether messages without a value are dropped; otherwise they become dead letters.
    is_of_one_partition : bool
        Whether the topic must have one partition.
    max_backoff_s : float
        Longest wait before a reconnect.
    call : str
        The user's call, for errors.
    """

    library: Any
    topic: str
    servers: str
    group: str | None
    start_from: str
    config: Mapping[str, Any]
    metadata_columns: tuple[str, ...]
    drops_tombstones: bool
    is_of_one_partition: bool
    max_backoff_s: float
    call: str

    def check_partitions(self, count: int) -> None:
        """Refuse a topic with several partitions where one is required.

        Raises
        ------
        SourceError
        """
        if self.is_of_one_partition and count > 1:
            raise SourceError(f"offset='offset' needs a topic with one partition, {self.topic!r} has {count}: each "
                              "partition has its own offsets.", where=f"then({self.call}, offset='offset')",
                              hint='Use partition="partition", with this column in the history and '
                                   'metadata_columns=["partition", "offset"]; or use keys= with dedup_window=, or '
                                   "cutover=.")
