"""Feed reader with a receiving thread and a bounded buffer."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch
from whimbrel.connect.addresses import shown_cause, without_secrets
from whimbrel.connect.fatal_errors import fatal_reason
from whimbrel.connect.feeds.formats.arrow_format import as_batch
from whimbrel.connect.feeds.formats.decode import UNREADABLE, Decoded, decode, reason
from whimbrel.connect.feeds.runtime.arrival_clock import ArrivalClock
from whimbrel.connect.feeds.runtime.backoff import Backoff
from whimbrel.connect.feeds.runtime.client import Client, MessageBatch, Offset, message_bytes, raised
from whimbrel.connect.feeds.runtime.feed_config import FeedConfig
from whimbrel.connect.feeds.runtime.feed_reader import CAUGHT_UP_ROWS, FeedReader
from whimbrel.connect.feeds.runtime.feed_status import FeedStatus, Link
from whimbrel.connect.feeds.runtime.partition_activity import PartitionActivity
from whimbrel.connect.feeds.runtime.row_validation import now_ticks
from whimbrel.connect.tables.columnar_source import BATCH_ROWS
from whimbrel.errors import SourceError, WhimbrelError

_POLL_S, _STAY_S = 0.05, 0.5
_CLOSE_S = 5.0
_LEAVE_S = 1.5
_ANSWER_S = 10.0  # a client call that takes longer hangs: most libraries report no timeout here


class BufferedFeedReader(FeedReader):
    """Read a feed on a thread that receives, decodes and validates messages.

    Rows wait in a bounded buffer. When it is full, the reader applies backpressure to the client, or the load-shedding
    rule of the feed.

    Parameters
    ----------
    feed : FeedConfig
    columns : tuple of str
    offset : JSON value
        Where to start; None: at the beginning of the feed.
    rows : int
        Number of rows read before `offset`.
    """

    def __init__(self, feed: FeedConfig, columns: tuple[str, ...], offset: Offset, rows: int = 0) -> None:
        self._rows_before = rows
        self.feed, self.columns, self.offset, self.relief = feed, columns, offset, feed.relief
        self._queue: deque[tuple[pa.Table, int, Offset]] = deque()
        self._waiting = self._waiting_bytes = 0
        self._changed = threading.Condition()
        self._stop, self._received_all, self._let_go = threading.Event(), threading.Event(), threading.Event()
        self._over = False
        self._error: WhimbrelError | None = None
        self._safe: Offset = None
        self._tell_safe = False
        self._state = FeedStatus()
        self._retry_at = 0.0
        self._dead_before = feed.dead_letters.counts.copy()
        self._shed: Counter[str] = Counter()
        self._clock = ArrivalClock()
        self._received_at = self._live_at = monotonic()
        self._asked_at: float | None = None
        self._thread: threading.Thread | None = None
        self._closed = self._left = self._answered = False
        has_idle_partitions = feed.partition is not None and feed.options.idle_after_s is not None
        self._activity = PartitionActivity(str(feed.partition)) if has_idle_partitions else None
        feed.dead_letters.begin()

    def __next__(self) -> Batch | None:
        if self._thread is None:  # start lazily: a resumed run opens a second reader at its offset
            self._begin()
        if not self.saves_offset and self.offset is not None:
            self.acknowledge(self.offset)
        with self._changed:
            if not self._queue and not self._over and self.bell is None:
                self._changed.wait(_POLL_S)
            if not self._queue:
                if self._error is not None:
                    raise self._error
                if self._over:
                    raise StopIteration
                return None
            self._ask_for_relief()
            parts, self.offset = self._taken()
            self._changed.notify_all()
        rows = as_batch(pa.concat_tables(parts))  # here, since the thread that receives has more to do
        if not rows.num_rows:
            return None
        if self.feed.numbered:
            rows = self._numbered(rows)
        batch = next(iter(self.feed.timeline.batches([rows], self.columns, 0)))
        if self._activity is not None:
            self._activity.note(batch)
        return batch

    def _numbered(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows with their numbers; a resumed run continues the count of its checkpoint."""
        numbers = pa.array(np.arange(self._rows_before, self._rows_before + rows.num_rows))
        self._rows_before += rows.num_rows
        arrays = [numbers if name == self.feed.timeline.time else rows.column(name) for name in rows.schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=rows.schema)

    def _begin(self) -> None:
        self._received_at = monotonic()
        self._thread = threading.Thread(target=self._listen, args=(self.offset,), name=f"whimbrel-{self.feed.name}",
                                        daemon=True)
        self._thread.start()

    def _taken(self) -> tuple[list[pa.Table], Offset]:
        """Take buffered rows for one batch; fewer if they are large."""
        max_bytes = self.feed.options.queue_bytes // 4
        parts: list[pa.Table] = []
        rows = bytes_ = 0
        offset: Offset = None
        while self._queue:
            more, size, behind = self._queue[0]
            if parts and (rows + more.num_rows > BATCH_ROWS or bytes_ + size > max_bytes):
                break
            rows, bytes_, offset = rows + more.num_rows, bytes_ + size, behind
            parts.append(more)
            self._queue.popleft()
        self._waiting -= rows
        self._waiting_bytes -= bytes_
        return parts, offset

    def _ask_for_relief(self) -> None:
        """Set the overload signal when the buffer is full, and clear it when half of it is free."""
        relief, full = self.relief, self._full()
        if relief is not None:
            relief.active = full > 0.5 and (relief.active or full >= 1)

    def _full(self) -> float:
        """Used fraction of the buffer."""
        options = self.feed.options
        return max(self._waiting / options.queue_rows, self._waiting_bytes / options.queue_bytes)

    @property
    def state(self) -> FeedStatus:
        """Status of the feed now."""
        with self._changed:
            waiting_for = "an answer" if self._unanswered() else self._state.waiting_for
            return replace(self._state, connection="idle" if self._idle() else self._link_now(),
                           waiting_for=waiting_for,
                           queued_rows=self._waiting, queued_bytes=self._waiting_bytes, idle_s=self._quiet_s(),
                           dead_letters=dict(self.feed.dead_letters.counts - self._dead_before), shed=self._given_up(),
                           retry_in_s=max(self._retry_at - monotonic(), 0.0))

    @property
    def forgets(self) -> bool:
        return self.feed.forgets

    @property
    def idle_ticks(self) -> int | None:
        """Ticks since the feed became idle; None while it is not idle."""
        with self._changed:
            if self._queue or not self._idle():
                return None
            idle_s = monotonic() - self._received_at - (self.feed.options.idle_after_s or 0)
            return now_ticks(int(idle_s * 1e9), self.feed.timeline.schema.unit)

    @property
    def slowest(self) -> int | None:
        """Newest time of the slowest partition that is not idle; None while the reader waits for all of them."""
        with self._changed:
            state, since = self._state, monotonic() - (self.feed.options.idle_after_s or 0)
            lags = (state.lag_rows or 0) > CAUGHT_UP_ROWS  # which partitions the rows belong to is unknown
            if self._activity is None or self._queue or lags or self._link_now() != "live" or self._live_at > since:
                return None
            return self._activity.slowest(since)

    def acknowledge(self, offset: Offset) -> None:
        """Acknowledge rows up to an offset."""
        with self._changed:
            self._tell_safe = self._tell_safe or offset != self._safe
            self._safe = offset

    def rest(self) -> Iterator[Batch]:
        self._stop_receiving()
        while self._queue:
            batch = next(self)
            if batch is not None:
                yield batch
        if not self.saves_offset and self.offset is not None:
            self.acknowledge(self.offset)

    def close(self) -> None:
        self._let_go.set()
        self._stop_receiving()
        if self._thread is not None and not self._left:
            self._left = True
            self._thread.join(self._join_timeout_s())
        if not self._closed:
            self._closed = True
            self.feed.dead_letters.end()

    def _stop_receiving(self) -> None:
        """Stop receiving; keep the connection until close, for acknowledgements."""
        self._stop.set()
        with self._changed:
            self._changed.notify_all()
        if self._thread is not None and not self._left:  # it is waited for once, and not while nobody answers it
            self._left = not self._received_all.wait(self._join_timeout_s())  # then it ends by itself

    def _join_timeout_s(self) -> float:
        return _CLOSE_S if self._link_now() == "live" else _LEAVE_S

    # The receiving thread.

    def _listen(self, offset: Offset) -> None:
        backoff, began = Backoff(*self.feed.options.retry_backoff_s), monotonic()
        try:
            while not self._stop.is_set():
                try:
                    offset = self._connected(offset, backoff)
                except _Lost as lost:
                    offset = lost.offset
                    if hint := fatal_reason(lost.error, before=self._answered):
                        raise self._unread(lost.error, hint) from shown_cause(lost.error)
                    self._check_connect_timeout(lost.error, monotonic() - began)
                    self._wait(backoff, lost.error)
                else:
                    self._set(connection="ended")
                    return
        except WhimbrelError as error:
            self._fail(error)
        except BaseException as error:  # noqa: BLE001 - the query must learn of it
            cause = raised(error)
            made = self._unread(cause, f"Fix the cause; a retry does not help after a {type(cause).__name__}.")
            made.__cause__ = shown_cause(cause)
            self._fail(made)
        finally:
            self._received_all.set()
            with self._changed:
                self._over = True
                self._ring()

    def _check_connect_timeout(self, error: Exception, waited_s: float) -> None:
        if self.connect_timeout_s is not None and not self._answered and waited_s >= self.connect_timeout_s:
            raise SourceError(f"{self.feed.name} cannot be reached, after {waited_s:.0f} s: "
                              f"{without_secrets(error).rstrip('.')}.", where=self.feed.call,
                              hint="Start the server, check the address, or use start(), which waits for it."
                              ) from shown_cause(error)

    def _unread(self, error: Exception, hint: str) -> SourceError:
        return SourceError(f"{self.feed.name} cannot be read: {without_secrets(error).rstrip('.')}.",
                           where=self.feed.call, hint=hint)

    def _connected(self, offset: Offset, backoff: Backoff) -> Offset:
        """Receive until the feed ends or the reader is closed."""
        client: Client | None = None
        lost = Counter(self._state.lost)
        try:
            client = self.feed.connect(offset)
            self._set(lost=lost + Counter(client.lost), **_link(client))
            if client.begins is not None:
                offset = client.begins
                self._enqueue(self.feed.fields.empty_table(), offset, client)
            while not self._stop.is_set():
                try:
                    delivery = self._ask(client)
                except EOFError:
                    return offset
                if delivery is not None:
                    backoff.reset()
                    self._set(attempts=0)
                    self._take_in(delivery, client)
                    offset = delivery.offset
                self._set(lag_rows=client.lag_rows, lost=lost + Counter(client.lost) if client.lost
                          else lost, **_link(client))
                self._pass_on_what_is_safe(client)
        except self.feed.lost as error:
            raise _Lost(offset, error) from error
        finally:
            if client is not None:
                if self._stop.is_set():
                    self._received_all.set()
                    self._let_go.wait()
                    self._pass_on_what_is_safe(client)
                client.close()
        return offset

    def _ask(self, client: Client) -> MessageBatch | None:
        self._asked_at = monotonic()
        try:
            return client.receive(_POLL_S)
        finally:
            if self._unanswered():
                self._live_at = monotonic()
            self._asked_at = None

    def _pass_on_what_is_safe(self, client: Client) -> None:
        with self._changed:
            offset, is_new = self._safe, self._tell_safe
            self._tell_safe = False
        if is_new:
            client.acknowledge(offset)

    def _wait(self, backoff: Backoff, error: Exception) -> None:
        wait_s = backoff.wait_s()
        with self._changed:
            self._retry_at = monotonic() + wait_s
        self._set(connection="reconnecting", attempts=backoff.attempts, error=without_secrets(error),
                  reconnects=self._state.reconnects + (backoff.attempts == 1))
        self._stop.wait(wait_s)

    def _take_in(self, delivery: MessageBatch, client: Client) -> None:
        rows = self._checked(delivery)
        came: Any = delivery.messages
        whole = isinstance(came, pa.RecordBatch)
        with self._changed:
            state = self._state
            self._state = replace(state, rows=state.rows + rows.num_rows, bytes=state.bytes + delivery.bytes,
                                  messages=state.messages + (1 if whole else len(came)))
        self._enqueue(rows, delivery.offset, client)  # never split: an offset is valid only after a whole batch

    def _checked(self, delivery: MessageBatch) -> pa.Table:
        """Valid rows; all others become dead letters."""
        feed, now_ns = self.feed, self._clock.now_ns()
        decoded = self._decoded(delivery)
        rows = decoded.rows
        arrays = [*rows.columns, *(pa.array(delivery.metadata[field.name], field.type).take(pa.array(decoded.message))
                                   for field in feed.metadata_columns)]
        if feed.numbered:  # a placeholder: the number is known when the row is read
            arrays.append(pa.array(np.zeros(rows.num_rows, np.int64)))
        if feed.arrival_column is not None:
            ticks = np.full(rows.num_rows, now_ticks(now_ns, feed.timeline.schema.unit))
            arrays.append(pa.array(ticks).cast(feed.timeline.schema.time_type))
        rows = pa.Table.from_arrays(arrays, schema=feed.fields)
        violations = feed.rules.violations(rows, now_ns) if rows.num_rows else []
        if violations:
            for why, mask in violations:
                for row in np.flatnonzero(mask):
                    feed.dead_letters.refuse(_message_bytes(delivery.messages, int(decoded.message[row])), why)
            rows = rows.filter(pa.array(~np.logical_or.reduce([mask for _, mask in violations])))
        if rows.num_rows:
            self._received_at = monotonic()
        return rows

    def _decoded(self, delivery: MessageBatch) -> Decoded:
        feed, messages = self.feed, delivery.messages
        format_ = feed.format
        if isinstance(messages, pa.RecordBatch):
            format_ = feed.batch_format
            try:
                format_.parse(messages.slice(0, 0), feed.value_fields)
            except UNREADABLE as error:  # the whole batch has other columns
                feed.dead_letters.refuse(str(messages.schema).encode(), reason(error))
                format_ = None
        if format_ is None:  # or only the offset has advanced
            return Decoded(feed.value_fields.empty_table(), np.empty(0, np.int64), [])
        decoded = decode(format_, messages, feed.value_fields)
        for number, why in decoded.malformed:
            feed.dead_letters.refuse(_message_bytes(messages, number), why)
        return decoded

    def _enqueue(self, rows: pa.Table, offset: Offset, client: Client) -> None:
        """Buffer rows; when the buffer is full, shed rows or apply backpressure."""
        options = self.feed.options
        sheds_rows = options.overload is not None and self.relief is None
        size = _size(rows)
        began = monotonic()
        if not sheds_rows:
            self._hold_back(client, lambda: self._full() < 1)
        with self._changed:
            self._queue.append((rows, size, offset))
            self._waiting += rows.num_rows
            self._waiting_bytes += size
            if sheds_rows and self._full() > 1:
                self._give_up_some(str(options.overload))
            self._ring()
        if sheds_rows:
            self._hold_back(client, lambda: self._full() <= 1)
        with self._changed:
            self._state = replace(self._state, backpressure_s=self._state.backpressure_s + monotonic() - began)

    def _hold_back(self, client: Client, has_room: Callable[[], bool]) -> None:
        while True:
            with self._changed:
                if self._changed.wait_for(lambda: has_room() or self._stop.is_set(), _STAY_S):
                    return
            client.stay()

    def _give_up_some(self, rule: str) -> None:
        waiting = as_batch(pa.concat_tables([rows for rows, _, _ in self._queue]))
        assert self.feed.options.overload is not None
        kept = self.feed.options.overload.keep(waiting)
        self._shed[rule] += waiting.num_rows - kept.num_rows
        size, offset = _size(kept), self._queue[-1][2]
        self._queue.clear()
        self._queue.append((pa.Table.from_batches([kept]), size, offset))
        self._waiting, self._waiting_bytes = kept.num_rows, size

    def _given_up(self) -> dict[str, int]:
        relief = self.relief
        return dict(self._shed) if relief is None else {str(self.feed.options.overload): relief.left_out}

    def _idle(self) -> bool:
        """Whether a connected feed gave no rows for `idle_timeout`; a lost connection is not idle."""
        after_s = self.feed.options.idle_after_s
        return after_s is not None and self._link_now() == "live" and self._quiet_s() > after_s

    def _link_now(self) -> Link:
        return "connecting" if self._state.connection == "live" and self._unanswered() else self._state.connection

    def _unanswered(self) -> bool:
        """Whether the client exceeds its timeout by far, which means that it hangs."""
        asked_at = self._asked_at
        return asked_at is not None and monotonic() - asked_at > _ANSWER_S

    def _quiet_s(self) -> float:
        return monotonic() - max(self._received_at, self._live_at)

    def _set(self, **changes: Any) -> None:
        with self._changed:
            self._answered = self._answered or changes.get("connection") == "live"
            if changes.get("connection", self._state.connection) != self._state.connection:
                self._live_at = monotonic()
            self._state = replace(self._state, **changes)

    def _fail(self, error: WhimbrelError) -> None:
        self._set(connection="failed", error=without_secrets(error))
        with self._changed:
            self._error = error

    def _ring(self) -> None:
        self._changed.notify_all()
        if self.bell is not None:
            self.bell.set()


def _link(client: Client) -> dict[str, str]:
    """Connection status of a connected client."""
    live = client.answered and not client.waiting_for
    return {"connection": "live" if live else "connecting", "waiting_for": client.waiting_for}


def _size(rows: pa.Table | pa.RecordBatch) -> int:
    """Bytes of rows, from the types where possible, since counting buffers is slow."""
    if all(pa.types.is_primitive(type_) for type_ in rows.schema.types):
        return sum(-(-rows.num_rows * type_.bit_width // 8) for type_ in rows.schema.types)
    return rows.nbytes


def _message_bytes(messages: Any, number: int) -> bytes:
    """A message, or a row of a record batch, as bytes for a dead letter."""
    if isinstance(messages, pa.RecordBatch):
        return repr(messages.slice(number, 1).to_pylist()[0]).encode()
    return message_bytes(messages[number])


class _Lost(Exception):  # noqa: N818 - not an error that anybody sees
    """A connection was lost after an offset."""

    def __init__(self, offset: Offset, error: Exception) -> None:
        super().__init__()
        self.offset, self.error = offset, error
