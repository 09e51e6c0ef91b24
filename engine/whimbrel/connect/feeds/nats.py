"""NATS JetStream streams as feeds."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from functools import partial
from time import monotonic
from typing import Any, Final, Literal, Unpack

import pyarrow as pa

from whimbrel.connect.addresses import checked_url
from whimbrel.connect.feeds.formats.decode import Format
from whimbrel.connect.feeds.formats.registry import format_of
from whimbrel.connect.feeds.runtime.client import MAX_BYTES, Client, MessageBatch, Offset
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.feeds.runtime.row_validation import Fields
from whimbrel.connect.validation import check_choice, check_name
from whimbrel.errors import MissingExtraError

_MAX_MESSAGES = 1_000
_SILENCE_S = 2.0
_TOGETHER_S, _LEAST_S = 0.05, 0.001
_NO_MORE, _TOO_LONG = ("404", "408"), "Message Size Exceeds MaxBytes"

ONCE: Final[dict[str, Any]] = {"allow_reconnect": False, "max_reconnect_attempts": 1, "reconnect_time_wait": 0.1,
                               "connect_timeout": 5}
"""Connection options: by default the client retries for minutes without an error."""


class NatsFeed(Feed):
    """Feed of a JetStream stream, in order; needs ``whimbrel[nats]``.

    The stream retains its messages, so the feed resumes after its last sequence number. If the next message has
    expired, the feed continues with the first message of the stream. It counts those between, of all subjects, as lost.

    Parameters
    ----------
    subject : str
        The subject, perhaps with wildcards.
    url : str
        ``nats://user:password@host:port``. The password is in no plan, log or checkpoint.
    time : str
        The event-time column.
    stream : str, optional
        Default: the stream that stores the subject.
    start_from : {"earliest", "latest"}
        Where to start without an offset.
    with_sequence : bool
        Add the sequence number as the column ``sequence``.
    format : str or Format
    schema : pyarrow.Schema or mapping of str to type, optional
    **options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.
    """

    def __init__(self, subject: str, url: str = "nats://127.0.0.1:4222", *, time: str, stream: str | None = None,
                 start_from: Literal["earliest", "latest"] = "earliest", with_sequence: bool = False,
                 format: str | Format = "json", schema: Fields | None = None, **options: Unpack[FeedOptions]) -> None:
        try:
            import nats
            from nats.errors import Error
        except ImportError:
            raise MissingExtraError("nats-py", "nats", "feeds.nats()") from None
        check_name("subject", subject, where=f"feeds.nats({subject!r})")
        check_choice("start_from", start_from, ("earliest", "latest"), where=f"feeds.nats({subject!r})")
        self.library: Any = nats
        self.lost = (OSError, EOFError, TimeoutError, Error)
        self.subject, self.url = subject, checked_url(url, "nats", "tls", "ws", "wss")
        self.stream, self.start_from = stream, start_from
        options.setdefault("name", subject)
        super().__init__("nats", time=time, schema=schema, format=format_of(format, f"feeds.nats({subject!r})"),
                         metadata_columns=pa.schema([("sequence", pa.int64())] if with_sequence else []), **options)

    def connect(self, offset: Offset) -> Client:
        return _Puller(self, offset)

    def offset_after(self, offset: str, within: str | None, last: Mapping[Any, int]) -> Offset:
        return last.get(None) if offset == "sequence" and offset in self.metadata_columns.names else None

    def is_another(self, before: Offset, after: Offset) -> bool:
        made = {offset[1] for offset in (before, after) if isinstance(offset, list)}
        return len(made - {""}) == 2


class _Puller(Client):
    """A client that pulls messages; its event loop runs only during a call.

    Its offset has the sequence number of the last message, and the creation time of the stream, if known.
    """

    def __init__(self, feed: NatsFeed, offset: int | list[Any] | None) -> None:
        self._feed = feed
        self._offset: int | None
        self._made: str
        self._offset, self._made = offset if isinstance(offset, list) else (offset, "")
        self._behind: int | None = None
        self._received: list[Any] = []
        self._coming, self._at_end, self._refused = 0, False, ""
        self._answered = asyncio.Event()
        self.lost: Counter[str] = Counter()
        self._received_at = monotonic()
        self._error: Exception | None = None
        self._link = feed.library.NATS()
        self._runner = asyncio.Runner()
        try:
            self._runner.run(self._open())
        except BaseException:
            self.close()
            raise

    async def _open(self) -> None:
        from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

        feed = self._feed

        async def failed(error: Exception) -> None:
            self._error = error

        try:
            await self._link.connect(feed.url, error_cb=failed, **ONCE)
        except (feed.library.errors.NoServersError, TimeoutError) as error:
            cause = self._error or error  # the callback has the reason
            timed_out = isinstance(cause, TimeoutError)
            reason = f"no answer for {ONCE['connect_timeout']} s" if timed_out else str(cause)
            raise ConnectionError(reason) from cause
        log = self._link.jetstream()
        try:
            stream = feed.stream or await log.find_stream_name_by_subject(feed.subject)
            info = await log.stream_info(stream)
        except feed.library.js.errors.NotFoundError as error:
            raise ConnectionError(f"no stream {feed.stream or f'that keeps {feed.subject!r}'} is there") from error
        before, self._made = self._made, str(info.created or "")
        if self._offset is not None:
            is_another = "" not in (before, self._made) and before != self._made
            self._look_for_missed(self._offset, info.state, is_another=is_another)
        elif feed.start_from == "latest":
            self._offset = info.state.last_seq
            self.begins = [self._offset, self._made]
        # A consumer without acknowledgements: the offset is in the checkpoint, the messages in the stream.
        first = DeliverPolicy.ALL if self._offset is None else DeliverPolicy.BY_START_SEQUENCE
        config = ConsumerConfig(deliver_policy=first,
                                opt_start_seq=None if self._offset is None else self._offset + 1,
                                ack_policy=AckPolicy.NONE, inactive_threshold=300, filter_subject=feed.subject)
        made = await log.add_consumer(stream, config)
        self._behind = made.num_pending
        self._ask_at = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{made.name}"
        self._answer_at = self._link.new_inbox()
        await self._link.subscribe(self._answer_at, cb=self._hear)
        self._consumer_info = partial(log.consumer_info, stream, made.name)

    def _look_for_missed(self, offset: int, state: Any, *, is_another: bool) -> None:
        """Count lost messages after an offset, and continue at the first message of the stream."""
        if is_another or offset > state.last_seq:  # another stream has the name now
            self.lost["sequence numbers restarted"] += 1
        elif offset + 1 < state.first_seq:
            self.lost["messages of any subject that the stream no longer had"] += state.first_seq - offset - 1
        else:
            return
        self._offset = max(state.first_seq - 1, 0)
        self.begins = [self._offset, self._made]

    def receive(self, timeout_s: float) -> MessageBatch | None:
        return self._runner.run(self._fetch(timeout_s))

    async def _fetch(self, timeout_s: float) -> MessageBatch | None:
        if not self._link.is_connected:
            raise ConnectionError(f"the connection was closed: {self._error or 'no word from the server'}")
        messages = await self._gather(monotonic() + max(timeout_s, _TOGETHER_S))
        if not messages:
            await self._check_after_silence()
            return None
        self._received_at = monotonic()
        self._offset = messages[-1].metadata.sequence.stream
        self._behind = messages[-1].metadata.num_pending
        return MessageBatch([message.data for message in messages], [self._offset, self._made],
                        {field.name: [message.metadata.sequence.stream for message in messages]
                         for field in self._feed.metadata_columns})

    async def _gather(self, until: float) -> list[Any]:
        """Return available messages up to a limit, or else the next message of any size."""
        try:
            while not self._received:
                if not self._coming:
                    await self._ask(until - monotonic())
                await asyncio.wait_for(self._answered.wait(), max(until - monotonic(), _LEAST_S))
        except TimeoutError:
            pass
        if self._refused:
            raise ConnectionError(self._refused)
        received, self._received = self._received, []
        return received

    async def _ask(self, wait_s: float) -> None:
        """Request all available messages; at the end of the stream, the next one."""
        self._answered.clear()
        if self._at_end:
            self._coming, asked = 1, {"batch": 1, "expires": int(max(wait_s, _LEAST_S) * 1e9)}
        else:
            self._coming, asked = _MAX_MESSAGES, {"batch": _MAX_MESSAGES, "max_bytes": MAX_BYTES, "no_wait": True}
        await self._link.publish(self._ask_at, json.dumps(asked).encode(), reply=self._answer_at)

    async def _hear(self, message: Any) -> None:
        """Take a message, or the status that ends a request."""
        self._at_end = not message.reply
        if not self._at_end:
            self._received.append(message)
            self._coming -= 1
        else:
            self._coming = 0
            code, why = (message.headers.get(name, "") for name in ("Status", "Description"))
            if code not in _NO_MORE and why != _TOO_LONG:
                self._refused = f"the server gives no messages: {code} {why}".rstrip()
        if not self._coming:
            self._answered.set()

    async def _check_after_silence(self) -> None:
        """Check that the consumer exists: a deleted one looks like one without messages."""
        if monotonic() - self._received_at > _SILENCE_S:
            await self._consumer_info()  # raises if there is none
            self._received_at, self._coming = monotonic(), 0

    @property
    def lag_rows(self) -> int | None:
        return self._behind

    def close(self) -> None:
        try:
            self._runner.run(self._link.close())
        except Exception:  # noqa: BLE001, S110 - it may be closed already
            pass
        finally:
            self._runner.close()
