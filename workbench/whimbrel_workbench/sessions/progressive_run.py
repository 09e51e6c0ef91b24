"""Run a progressive query on a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from whimbrel.errors import PlanError, WhimbrelError
from whimbrel.expr import Expr
from whimbrel.progressive import Comparison, Estimate, ProgressiveQuery
from whimbrel.run import Metrics, Snapshot
from whimbrel_workbench.frames import Result
from whimbrel_workbench.frames.estimate_quality import Bound, PinnedClaim, Quality, next_goal, thinned
from whimbrel_workbench.frames.format_numbers import rate_words
from whimbrel_workbench.frames.format_times import tick_at
from whimbrel_workbench.frames.labels import labels
from whimbrel_workbench.sessions.error_bounds import UNKNOWN, Bounds, bounds_of, ends_of
from whimbrel_workbench.sessions.pinned_estimates import Pinned
from whimbrel_workbench.sessions.priority_filter import sought, times_sought

if TYPE_CHECKING:
    from whimbrel_workbench.frames.status import State

_TURN_S: Final = 0.001
"""Between two steps, for threads that wait to control the run."""

_JUDGING: Final = 0.1
"""Of the time of reading, the part that may go into intervals that nobody looks at but the history."""

_NOT_PRIORITIZED: Final = "cannot prioritize"
_WARM_BOUNDS: Final = 2
_MAX_BOUNDS: Final = 120
_MAX_NAMES: Final = 60
_ENDED: Final = ("finished", "stopped", "failed")
_READING: Final[tuple[State, ...]] = ("running", "paused")


class ProgressiveRun:
    """Iterates over a progressive query with the interface of a run: it pauses, resumes and stops.

    Parameters
    ----------
    query : ProgressiveQuery
    schema : pyarrow.Schema
        Of the answer.
    keys : tuple of str
        Columns that the query groups by.

    Attributes
    ----------
    error : WhimbrelError or None
        What ended it, when it failed.
    """

    clock: Final = None

    def __init__(self, query: ProgressiveQuery, schema: pa.Schema, keys: tuple[str, ...]) -> None:
        self.query, self._schema, self._keys = query, schema, keys
        self.error: WhimbrelError | None = None
        self._state: State = "running"
        self._version = 0
        self._changed = threading.Condition()
        self._orders: list[Callable[[], object]] = []
        self._reader: threading.Thread | None = None
        self._reading_s = self._judging_s = 0.0
        self._bounds: list[tuple[float, float, Bounds]] = []
        self._first = self._steered = self._refused = ""
        self._met, self._dropped = "", False
        self._pinned: Pinned | None = None
        self._read()

    # As a run is looked at.

    @property
    def state(self) -> State:
        return self._state

    @property
    def version(self) -> int:
        return self._version

    @property
    def metrics(self) -> Metrics:
        if self.query.latest is not None:
            return self.query.latest.metrics
        # Blocks are counted before the first is read.
        return Metrics(fraction_read=None if self.query.fallback_reason else 0.0)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Indicators of the reading; :meth:`quality` has those of the estimate."""
        metrics, pace = self.metrics, self.metrics.rows / max(self._reading_s, 1e-9)
        order = "by time" if self.query.fallback_reason else self.query.block_run.scan.order
        return (("rows", f"{metrics.rows:,}"), ("speed", rate_words(pace)), ("order", order),
                *((("stopping rule", f"{self._met}, reached"),) if self._met and self._state == "paused" else ()))

    def snapshot(self, timeout: float = 1.0, *, after: int | None = None) -> Snapshot:
        """The latest answer; waits for one that is newer than `after`, so many seconds at most."""
        if after is not None:
            with self._changed:
                self._changed.wait_for(lambda: self._version > after, timeout)
        return self.current_result(None)[0]

    def current_result(self, value: str | None) -> tuple[Snapshot, Result]:
        """The latest estimate with its intervals, and with pinned values next to exact ones."""
        answer, version = self.query.latest, self._version
        if answer is None or self._dropped:
            empty = self._schema.empty_table()
            return Snapshot(empty, 0, version, self.metrics, False), Result(empty, (0,))
        table, settled = answer.table.select(self._schema.names), answer.settled
        bounds = [name for name in answer.table.column_names if name not in self._schema.names]
        pinned = None
        if self._pinned is not None and value is not None:
            pinned = self._pinned.compare(table, settled, value, final=answer.final)
        flagged = (pinned.outside if pinned else frozenset()) | self._overturned(table)
        result = Result(table, (settled,), before=pinned and pinned.then, flagged=flagged,
                        intervals=None if answer.fallback_reason and not answer.final else answer.table.select(bounds))
        return Snapshot(table, settled, version, answer.metrics, answer.final), result

    def quality(self, value: str | None) -> Quality | None:
        """How good the latest answer is, of one value; None before the first one."""
        answer = self.query.latest
        if answer is None or value is None or self._dropped:
            return None
        within, half, known = bounds_of(answer).get(value, UNKNOWN)
        now = Bound(self._reading_s, answer.fraction_read or 0.0, within)
        history = [Bound(seconds, fraction, found.get(value, UNKNOWN)[0]) for seconds, fraction, found in self._bounds
                   if fraction < now.fraction_read]
        error = self.query.rule.error
        return Quality(
            value, ends_of(answer, value), rows=len(answer.table), exact=answer.settled, known=known, half=half,
            confidence=answer.confidence, unseen=answer.unseen, why=answer.fallback_reason,
            history=(*thinned(history, _MAX_BOUNDS), now), goal=error if error is not None else next_goal(within),
            first=self._first_words(), final=answer.final, pinned=self._pinned_claims(value),
            names=self._names(answer), late=tuple(answer.late_summary))

    # The controls of a run.

    def pause(self) -> None:
        self._become("paused", "running")

    def resume(self) -> None:
        self._become("running", "paused")

    def stop(self, *, keep: bool = True) -> None:
        """Stop reading. The estimate is kept, and :meth:`finish` can resume; or it is discarded."""
        self._dropped = not keep
        self._become("stopped", *_READING)

    def finish(self) -> None:
        """Read all that is left, whatever was said of when to stop; also after a stop."""
        if self.can_finish:
            self.query.until()
            if self._become("running", "stopped", *_READING):
                self._read()

    @property
    def can_finish(self) -> bool:
        """Whether there is something left to read that may be read."""
        return self._state not in ("finished", "failed") and not self._dropped

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is read any more, for now or for good; False if that did not come in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._state != "running", timeout)

    def prioritize_range(self, first: float, last: float) -> None:
        """Read first what lies between two positions of the axis of time."""
        kind = self._schema.field("start").type
        try:
            low, high = sorted((first, last))  # min() and max() would drop a NaN
            begin, end = tick_at(low, kind), tick_at(high, kind, last=True)
            words = f"{_instant(begin, kind)} to {_instant(end, kind)}"
        except (OverflowError, ValueError):  # an axis continues beyond the range of calendars and ticks
            self._refuse(f"{_NOT_PRIORITIZED}: the range ends outside the calendar")
            return
        self._prioritize(words, (), (begin, max(end, begin + 1)))

    def prioritize_row(self, row: pa.Table) -> None:
        """Read first what a row of the answer is made of, as far as its keys are columns of the source."""
        if self.query.fallback_reason:
            return
        found = sought(self.query, row, [key for key in self._keys if key in row.column_names])
        between, words = None, found.values
        answer = self.query.latest
        if answer is not None and not _one_window(answer.table):
            start = row.column("start")[0].cast(pa.int64()).as_py()
            between = times_sought(self.query, start)
            words = *words, _instant(start, self._schema.field("start").type)
        if found.unsupported and not words:
            keys = ", ".join(found.unsupported)
            self._refuse(f"{_NOT_PRIORITIZED}: {keys} is computed, or of a type without literals")
            return
        self._prioritize(", ".join(words) or "this row", found.conditions, between)

    def prioritize_all(self) -> None:
        """Read all that is left alike."""
        if self._first or self._refused:
            self._order(self.query.prioritize)
            self._first = self._steered = self._refused = ""

    def add_claim(self, left: str, right: str, value: str) -> None:
        """Pin a claim: that the first of two rows, by their keys as words, has the larger or the smaller value."""
        answer = self.query.latest
        assert answer is not None, "names exist only after the first estimate"
        named = labels(answer.table, self._keys)
        if gone := {left, right} - {*named.names}:
            raise PlanError(f"The latest estimate has no row {min(gone)}.", where="add_claim(...)",
                            hint="Choose one of its rows.")
        rows = [answer.table.slice(int(np.flatnonzero(named.codes == named.names.index(name))[0]), 1)
                for name in (left, right)]
        this, other = ({key: row.column(key)[0].as_py() for key in self._keys} for row in rows)
        self.query.add_claim(answer.compare(this, other, value))
        self._tell()

    def pin(self) -> None:
        """Pin the picture: its values and intervals are compared with the exact ones."""
        if self.query.latest is not None:
            self._pinned = Pinned(self.query.latest, [key for key in self._keys if key in self._schema.names],
                                  self._schema.names)
            self._tell()

    # How it reads.

    def _read(self) -> None:
        with self._changed:
            if self._reader is None:
                self._reader = threading.Thread(target=self._read_on, name="whimbrel-progressive", daemon=True)
                self._reader.start()

    def _read_on(self) -> None:
        while (orders := self._turn()) is not None:
            try:
                for order in orders:
                    order()
                if orders:
                    self._tell()
                if self._state == "running":
                    self._step()
            except WhimbrelError as error:
                self._fail(error)
            except Exception as error:  # noqa: BLE001 - a bug must show in the view, not freeze it
                self._fail(WhimbrelError(f"{type(error).__name__}: {error}", where="progressive()"))

    def _turn(self) -> list[Callable[[], object]] | None:
        """What to do before the next step, once there is something to do; None for the reader to leave.

        A reader that leaves unregisters first, so that :meth:`finish` can start another one.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._orders or self._state != "paused")
            if self._state in _ENDED:
                self._reader = None
                return None
            orders, self._orders = self._orders, []
            return orders

    def _fail(self, error: WhimbrelError) -> None:
        with self._changed:
            if self._become("failed", *_READING):  # a stopped query says so when it resumes
                self.error = error

    def _step(self) -> None:
        rule, began = self.query.rule, time.perf_counter()
        answer = next(self.query, None)
        self._reading_s += time.perf_counter() - began
        latest = self.query.latest
        if latest is not None and latest.all_read:
            self._add_bounds(latest)
            self._become("finished", *_READING)
        elif answer is None:
            self._met = rule.summary
            self._become("paused", "running")
        else:
            self._met = ""
            self._add_bounds(answer)
            self._tell()
            time.sleep(_TURN_S)

    def _add_bounds(self, answer: Estimate) -> None:
        """Add the bounds of an answer to the history; of some only, where that takes long."""
        if self._bounds and not answer.final and self._judging_s > _JUDGING * self._reading_s:
            return
        began = time.perf_counter()
        self._bounds.append((self._reading_s, answer.fraction_read or 0.0, bounds_of(answer)))
        # The first times wait for the compiler, which says nothing of the times to come.
        self._judging_s += time.perf_counter() - began if len(self._bounds) > _WARM_BOUNDS else 0.0

    def _prioritize(self, words: str, conditions: Sequence[Expr], between: tuple[int, int] | None) -> None:
        def order() -> None:
            if self.query.fallback_reason:
                return
            try:
                self.query.prioritize(*conditions, between=between)
            except WhimbrelError:  # a range without rows
                self._refuse(f"{_NOT_PRIORITIZED}: no rows in {words}")
                return
            self._first = self._steered = words if len(self.query.block_run.scan.later) else (
                f"{_NOT_PRIORITIZED}: {words} is in all remaining blocks or in none")

        self._first, self._refused = words, ""
        self._order(order)

    def _refuse(self, words: str) -> None:
        """Say why the last wish came to nothing; what came first before still does."""
        self._first, self._refused = self._steered, words
        self._tell()

    def _first_words(self) -> str:
        if self.query.fallback_reason or self.query.block_run.scan.next is None:
            return ""
        first = self._first
        if first and len(self.query.block_run.scan.later):
            first = f"{first}, {len(self.query.block_run.scan.left):,} blocks left"
        elif _NOT_PRIORITIZED not in first:
            first = ""
        return "; ".join(filter(None, (first, self._refused)))

    def _order(self, order: Callable[[], object]) -> None:
        """Let the reading thread do something between two steps."""
        with self._changed:
            self._orders.append(order)
        self._tell()

    def _become(self, state: State, *before: State) -> bool:
        """Be in a state, if it is in one of those before: what was pressed during a step has the last word."""
        with self._changed:
            if self._state not in before:
                return False
            self._state = state
            self._tell()
            return True

    def _tell(self) -> None:
        with self._changed:
            self._version += 1
            self._changed.notify_all()

    # What is said of it.

    def _pinned_claims(self, value: str) -> tuple[PinnedClaim, ...]:
        found = [_verdict(verdict.claim, verdict.now, holds=verdict.holds) for verdict in self.query.claims]
        answer = self.query.latest
        if self._pinned is not None and answer is not None:
            found.append(self._pinned.compare(answer.table.select(self._schema.names), answer.settled, value,
                                             final=answer.final).pinned)
        return tuple(found)

    def _overturned(self, table: pa.Table) -> frozenset[int]:
        names = {labels(pa.Table.from_pylist([dict(row)]), list(row)).names[0]
                 for verdict in self.query.claims if not verdict.holds
                 for row in (verdict.claim.left, verdict.claim.right)}
        if not names:
            return frozenset()
        named = labels(table, self._keys)
        return frozenset(np.flatnonzero(np.isin(named.codes, [
            code for code, name in enumerate(named.names) if name in names])).tolist())

    def _names(self, answer: Estimate) -> tuple[str, ...]:
        """Rows of which claims can be made: those that their keys tell apart."""
        if answer.sample is None or not self._keys or not _one_window(answer.table):
            return ()
        if not set(self._keys) <= set(answer.table.column_names):
            return ()
        return labels(answer.table, self._keys).names[:_MAX_NAMES]


def _verdict(claim: Comparison, now: Comparison, *, holds: bool) -> PinnedClaim:
    return PinnedClaim(claim.summary, "overturned" if not holds else "holds" if now.confidence == 1 else "open",
                       now.summary)


def _one_window(table: pa.Table) -> bool:
    starts = table.column("start")
    return len(starts) == 0 or (starts[0] == starts[len(starts) - 1] and len(starts.unique()) == 1)


def _instant(tick: int, kind: pa.DataType) -> str:
    from whimbrel_workbench.frames.table import cell_words

    return cell_words(pa.chunked_array([pa.array([tick], pa.int64()).cast(kind)]))[0]
