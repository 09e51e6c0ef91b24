"""Kafka consumer that reads all partitions, or those that its group assigns."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

from whimbrel.connect.feeds.kafka.kafka_catch_up import TimestampMerge
from whimbrel.connect.feeds.kafka.kafka_settings import METADATA_TIMEOUT_S, TOPIC, KafkaSettings
from whimbrel.connect.feeds.kafka.kafka_topic_id import TopicId
from whimbrel.connect.feeds.runtime.client import Client, MessageBatch, Offset

_MAX_MESSAGES = 10_000
_MAX_BYTES = 6 << 20  # about one batch of numbers
_FETCHED_BYTES = 4 << 20  # per fetch: librdkafka fetches again only when these have arrived
_MAX_AHEAD_KB = 24 << 10  # librdkafka prefetch: its 64 MB default does not fit the CPU cache
_GATHER_S = 0.005
_FETCH_AGAIN_MS = 10  # librdkafka waits this long when its queue is full; its default of 1 s leaves gaps
_CONNECT_AGAIN_MS = 20  # librdkafka doubles it, and waits half of it before the first connections too
_ATTEMPT_S = 10.0
_BEHIND_S = 0.05  # librdkafka asks another thread for watermarks
_SETTLED_S = 1.0
"""Delay of the first topic check: the connection that asks for the id takes some time."""
_GROUP, _BROKER = "the group", "the broker"
_LOOK = "topic.metadata.refresh.interval.ms"
_MEMBER = "member"
"""Key of the group member in an offset."""


class Consumer(Client):
    """A connection to a topic.

    Its offset has the next offset of each partition, the topic id if known, and the member id in a group.
    """

    def __init__(self, settings: KafkaSettings, offset: dict[str, Any]) -> None:
        self._settings, self._library = settings, settings.library
        self._offsets: dict[str, int] = {number: next_ for number, next_ in offset.items() if number.isdecimal()}
        self._topic: str | None = offset.get(TOPIC)
        self._member = None if settings.group is None else offset.get(_MEMBER) or str(uuid.uuid4())
        self._since: dict[str, int] = {}  # start offsets of a group member, which need no commit
        self._read_to: dict[int, int] = {}  # ends that were reached; transactions may leave gaps before them
        self._has_new_id = self._recreated = self._is_member = False
        self._lost: str | None = None
        self._behind: int | None = None
        self._behind_at = monotonic()
        self.answered = settings.group is not None  # without a group every partition answers, also an empty one
        self._backlog: TimestampMerge | None = None
        self.lost: Counter[str] = Counter()
        config = {
            "bootstrap.servers": settings.servers, "group.id": settings.group or f"whimbrel-{uuid.uuid4()}",
            "enable.auto.commit": False, "error_cb": self._failed, "auto.offset.reset": "error",
            "enable.partition.eof": True, "log_level": 0,
            "fetch.wait.max.ms": 50, "fetch.queue.backoff.ms": _FETCH_AGAIN_MS,
            "fetch.message.max.bytes": _FETCHED_BYTES, "reconnect.backoff.ms": _CONNECT_AGAIN_MS,
            "reconnect.backoff.max.ms": max(int(settings.max_backoff_s * 1000), _CONNECT_AGAIN_MS),
            "queued.max.messages.kbytes": _MAX_AHEAD_KB, _LOOK: 10_000, **settings.config}
        self._look_s = int(config[_LOOK]) / 1000
        self._look_at = monotonic() + min(self._look_s, _SETTLED_S)
        self._consumer = settings.library.Consumer(config)
        self._id = TopicId(settings.topic, settings.library, {
            "bootstrap.servers": settings.servers, "log_level": 0,
            **{name: value for name, value in settings.config.items() if name != "on_commit"}})  # of consumers only
        if self._topic is not None:
            self._id.ask()
        try:
            asks = settings.group is None or settings.is_of_one_partition
            numbers = self._partitions() if asks else []
            settings.check_partitions(len(numbers))
            self._check_topic_id()
            if settings.group is None:
                if settings.start_from == "latest" and not offset:
                    self._offsets = {str(number): self._ends(number)[1] for number in numbers}
                    self.begins = self._where()
                self._consumer.assign([self._partition(number) for number in numbers])
                self._backlog = TimestampMerge(numbers) if len(numbers) > 1 else None
            else:
                self._consumer.subscribe([settings.topic], on_assign=self._assigned, on_revoke=self._revoked,
                                         on_lost=self._revoked)
                self.waiting_for = _GROUP
        except BaseException:
            self.close()
            raise

    def _check_topic_id(self) -> None:
        """Start from the beginning if another topic has the name now, since offsets belong to one topic."""
        if self._topic is None:
            return
        topic_id = self._id.answer(_ATTEMPT_S)
        if topic_id in (None, self._topic):
            return
        self._topic, self._offsets, self._recreated = topic_id, {}, True
        self.lost["a topic was recreated"] += 1
        self.begins = self._where()

    def _look_at_topic(self, wait_s: float = 0.0) -> None:
        """Read the topic id; a changed id forces a reconnect."""
        topic_id = self._id.answer(wait_s)
        if topic_id is None:
            return
        if self._topic is None:
            self._topic, self._has_new_id = topic_id, True
        if topic_id != self._topic:
            raise ConnectionError(f"the topic {self._settings.topic!r} was deleted and recreated")

    def _where(self) -> dict[str, Any]:
        self._has_new_id = False
        known = {TOPIC: self._topic, _MEMBER: self._member}
        return {**self._offsets, **{name: value for name, value in known.items() if value is not None}}

    def _partitions(self) -> list[int]:
        known: Any = None
        until = monotonic() + _ATTEMPT_S
        while known is None:
            try:
                known = self._consumer.list_topics(self._settings.topic, timeout=0.5).topics[self._settings.topic]
            except self._library.KafkaException as error:
                self._consumer.poll(0)  # librdkafka reports errors only in poll
                if self._lost is not None or monotonic() > until:
                    raise ConnectionError(self._lost or error.args[0].str()) from error
        if known.error is not None or not known.partitions:
            raise ConnectionError(f"there is no topic {self._settings.topic!r}")
        return sorted(known.partitions)

    def _ends(self, number: int) -> tuple[int, int]:
        """The offsets of the first message of a partition and of the next message to come."""
        partition = self._library.TopicPartition(self._settings.topic, number)
        try:
            low, high = self._consumer.get_watermark_offsets(partition, timeout=_ATTEMPT_S)
        except self._library.KafkaException as error:
            raise ConnectionError(error.args[0].str()) from error
        return low, high

    def _partition(self, number: int) -> Any:
        """A partition with its start offset; a new partition is read from its beginning."""
        start_from = self._library.OFFSET_BEGINNING if self._settings.group is None else self._library.OFFSET_STORED
        return self._library.TopicPartition(self._settings.topic, number, self._offsets.get(str(number), start_from))

    def _assigned(self, consumer: Any, partitions: Sequence[Any]) -> None:
        self.waiting_for, self._is_member = "", True
        self._learn_of_others([each for each in partitions if str(each.partition) in self._offsets])
        self._since = {number: self._offsets.get(number, -1) for number in (str(each.partition) for each in partitions)}
        consumer.assign([self._partition(each.partition) for each in partitions])

    def _learn_of_others(self, partitions: Sequence[Any]) -> None:
        """Use offsets that other group members have committed; ignore own commits, which are older."""
        try:
            committed = self._consumer.committed(partitions, timeout=_ATTEMPT_S) if partitions else ()
        except self._library.KafkaException as error:
            raise ConnectionError(error.args[0].str()) from error
        self._offsets.update({str(each.partition): each.offset for each in committed
                              if each.metadata != self._member and each.offset > self._offsets[str(each.partition)]})

    def _revoked(self, consumer: Any, partitions: Sequence[Any]) -> None:
        """Forget partitions that now belong to another member, which resumes at the committed offsets."""
        self.waiting_for = _GROUP
        for each in partitions:
            self._offsets.pop(str(each.partition), None)
            self._since.pop(str(each.partition), None)
            self._read_to.pop(each.partition, None)

    def _failed(self, error: Any) -> None:
        codes = self._library.KafkaError
        if error.code() == codes._AUTHENTICATION:  # noqa: SLF001 - its name in the library
            self._lost = f"authentication failed: {error.str()}"
        elif error.code() == codes._RESOLVE and "," not in self._settings.servers:  # noqa: SLF001
            self._lost = error.str()
        elif error.code() == codes._ALL_BROKERS_DOWN and self._lost is None:  # noqa: SLF001
            if self._is_member:  # keep the membership: a new member would wait until this one times out
                self.waiting_for, self._look_at = self.waiting_for or _BROKER, monotonic()
            else:
                self._lost = f"no broker answers at {self._settings.servers}: {error.str()}"

    def receive(self, timeout_s: float) -> MessageBatch | None:
        if monotonic() > self._look_at:
            self._look_at = monotonic() + self._look_s
            self._id.ask()
            self._look_for_partitions()
        self._look_at_topic()
        received = self._next(timeout_s) if self._backlog is None else self._in_order(self._backlog, timeout_s)
        errors, messages = _apart(received)
        reset = self._library.KafkaError._AUTO_OFFSET_RESET  # noqa: SLF001 - its name in the library
        lost = [message for message in errors if message.error().code() == reset]
        for message in errors:
            if message not in lost and not self._has_met_end(message):
                self._raise(message.error(), messages)
        if lost:
            self._id.ask()
            self._look_at_topic(_ATTEMPT_S if self._topic is not None else 0.0)
            self._reset_offsets(lost)
        elif not messages:
            if self._lost is not None:
                raise ConnectionError(self._lost)
            if not self._id.was_asked:
                self._id.ask()
            if not self._has_new_id:
                self._look_behind()
                return None
        self._lost = None
        self._has_answered()
        values = [message.value() for message in messages]
        if None in values:
            if self._settings.drops_tombstones:
                messages = [message for message in messages if message.value() is not None]
            values = [message.value() or b"" for message in messages]
        if monotonic() > self._behind_at:
            self._look_behind()
        return MessageBatch(values, self._where(), {name: list(map(_METADATA_OF[name], messages))
                                                     for name in self._settings.metadata_columns})

    def _next(self, timeout_s: float) -> list[Any]:
        """Return available messages as soon as there is one; `consume` alone waits for the full count."""
        until = monotonic() + timeout_s
        first = self._consumer.poll(timeout_s)
        while first is not None and self._has_met_end(first):
            self.answered = True
            if self._backlog is not None:
                return [first]
            first = self._consumer.poll(max(until - monotonic(), 0.0))
        if first is None:
            return []
        self.answered = self.answered or first.error() is None
        self._stand_behind([first])  # now, since a rebalance may happen in the next call
        as_many = min(max(_MAX_BYTES // max(len(first), 1), 1), _MAX_MESSAGES)
        others = self._consumer.consume(as_many, _GATHER_S)
        self._stand_behind(others)
        return [first, *others]

    def _in_order(self, backlog: TimestampMerge, timeout_s: float) -> list[Any]:
        """Return buffered and new messages in order of timestamps, and errors."""
        until = monotonic() + timeout_s
        errors: list[Any] = []
        taken: list[Any] = backlog.taken(_MAX_MESSAGES, _MAX_BYTES)
        while not taken and not errors and not backlog.over and (left_s := until - monotonic()) > 0:
            asked = monotonic()
            received = self._next(left_s)
            if not received:
                backlog.note_idle(monotonic() - asked)  # may be short: callbacks of librdkafka interrupt the wait
            for message in received:
                if self._has_met_end(message):
                    backlog.at_end(message.partition())
                elif message.error() is not None:
                    errors.append(message)
                else:
                    backlog.add(message)
            taken = backlog.taken(_MAX_MESSAGES, _MAX_BYTES)
            self._hold(backlog)
        self._stand(taken)
        if backlog.over:
            self._backlog = None
        return [*errors, *taken]

    def _hold(self, backlog: TimestampMerge) -> None:
        """Pause partitions that are far ahead of the others."""
        full = backlog.full()
        for change, do in ((full - backlog.paused, self._consumer.pause),
                           (backlog.paused - full, self._consumer.resume)):
            if change:
                do([self._library.TopicPartition(self._settings.topic, number) for number in change])
        backlog.paused = full

    def _has_met_end(self, message: Any) -> bool:
        """Whether a message reports the end of its partition; the offset is remembered."""
        error = message.error()
        is_end = error is not None and error.code() == self._library.KafkaError._PARTITION_EOF  # noqa: SLF001 - its name
        if is_end:
            self._read_to[message.partition()] = message.offset()
        return is_end

    def _stand_behind(self, messages: Sequence[Any]) -> None:
        """Advance the offsets after messages; during a merge only returned messages count."""
        if self._backlog is None:
            self._stand(messages)

    def _stand(self, messages: Sequence[Any]) -> None:
        last = {message.partition(): message.offset() for message in _apart(messages)[1]}
        self._offsets.update({str(number): offset + 1 for number, offset in last.items()})

    def _look_for_partitions(self) -> None:
        """Read new partitions as well; a group finds them itself."""
        try:
            topics = self._consumer.list_topics(self._settings.topic, timeout=METADATA_TIMEOUT_S).topics
            there = topics[self._settings.topic].partitions
        except self._library.KafkaException:  # no answer now; librdkafka finds out whether the connection is lost
            self.waiting_for = self.waiting_for or _BROKER
            self._look_at = monotonic()
            return
        self._has_answered()
        self._settings.check_partitions(len(there))
        if self._settings.group is not None:
            return
        added = there.keys() - {each.partition for each in self._consumer.assignment()}
        if added:
            self._consumer.incremental_assign([self._partition(number) for number in added])
            if self._backlog is not None:
                self._backlog.include(added)

    def _has_answered(self) -> None:
        if self.waiting_for == _BROKER:
            self.waiting_for = ""

    def _reset_offsets(self, lost: Sequence[Any]) -> None:
        """Continue at the earliest offset if the next message expired; a new group starts at `start_from`."""
        for message in lost:
            number, low, high = message.partition(), *self._ends(message.partition())
            self._read_to.pop(number, None)
            wanted = self._offsets.get(str(number), message.offset())
            if wanted is None or wanted < 0:
                at_end = self._settings.start_from == "latest" and not self._recreated
                self._offsets[str(number)] = high if at_end else low
                continue
            self._offsets[str(number)] = low
            if wanted < low:
                self.lost["messages that the broker no longer had"] += low - wanted
            else:
                self.lost["offsets restarted"] += 1
        assigned = [each.partition for each in self._consumer.assignment()]
        self._consumer.assign([self._partition(number) for number in assigned])
        if self._backlog is not None:  # buffered messages arrive again
            self._consumer.resume([self._library.TopicPartition(self._settings.topic, number) for number in assigned])
            self._backlog = TimestampMerge(assigned)

    def _raise(self, error: Any, messages: Sequence[Any]) -> None:
        """Raise errors that need a reconnect; librdkafka recovers from the others itself."""
        codes = self._library.KafkaError
        permanent = (codes.TOPIC_AUTHORIZATION_FAILED, codes.GROUP_AUTHORIZATION_FAILED, codes._AUTHENTICATION)  # noqa: SLF001
        if error.code() in permanent:
            raise PermissionDenied(error.str())
        if not messages and not error.retriable():
            raise ConnectionError(error.str())

    def _look_behind(self) -> None:
        """Compute the lag from the last watermarks; a partition without watermarks counts 0."""
        behind = 0
        for partition in self._consumer.assignment():
            low, high = self._consumer.get_watermark_offsets(partition, cached=True)
            offset = self._offsets.get(str(partition.partition))
            if offset is None and self._settings.group is None:  # no message was returned yet
                offset = max(low, 0)
            if offset is not None and self._backlog is None:  # aborted transactions and markers give no rows
                offset = max(offset, self._read_to.get(partition.partition, 0))
            behind += 0 if offset is None else max(high - offset, 0)
        self._behind, self._behind_at = behind, monotonic() + _BEHIND_S

    def acknowledge(self, offset: Offset) -> None:
        if self._settings.group is None or not offset:
            return
        read = [self._library.TopicPartition(self._settings.topic, int(number), next_, self._member)
                for number, next_ in offset.items() if number in self._since and next_ > self._since[number]]
        if read:
            self._consumer.commit(offsets=read, asynchronous=True)

    @property
    def lag_rows(self) -> int | None:
        return self._behind

    def close(self) -> None:
        self._consumer.close()
        self._id.close()


def _apart(received: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Separate errors from messages."""
    errors = [message for message in received if message.error() is not None]
    return errors, [message for message in received if message.error() is None] if errors else [*received]


class PermissionDenied(Exception):  # noqa: N818 - fatal: a retry is useless
    """The broker denies this client the right to read."""


_METADATA_OF: dict[str, Callable[[Any], Any]] = {
    "key": lambda message: message.key(), "partition": lambda message: message.partition(),
    "offset": lambda message: message.offset(), "timestamp": lambda message: message.timestamp()[1],
    "headers": lambda message: [(name, value or b"") for name, value in message.headers() or ()],
}
