"""Coordinate checkpoints and sinks, so that a run resumes after a crash."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import IO, Any

import numpy as np

from whimbrel.batch import Batch, table_from_batches, table_schema
from whimbrel.clock import Duration, duration_seconds
from whimbrel.connect.validation import check_path
from whimbrel.errors import CheckpointError, DamagedCheckpointError, PlanError, SinkError, WhimbrelError
from whimbrel.plan import Sink, Token
from whimbrel.run.checkpoint import load, planned_as_in, save
from whimbrel.run.execution import Execution
from whimbrel.run.folder_lock import locked, run_of
from whimbrel.run.query_result import in_order

_DIGITS = 9


@dataclass(frozen=True)
class Checkpoints:
    """Store the checkpoints of a run in a folder.

    A run started with the same folder resumes from the newest valid one.

    Parameters
    ----------
    folder : str or path
        For this run alone; it is created when needed.
    every : str or timedelta
        Time between checkpoints. Settled rows reach the sinks at the same times.
    keep : int
        How many valid checkpoints are retained, in addition to damaged ones. A run resumes from the newest valid one.

    Examples
    --------
    >>> Checkpoints("state/flights", every="10s").every_s
    10.0
    """

    folder: str | os.PathLike[str]
    every: Duration = "10s"
    keep: int = 3

    def __post_init__(self) -> None:
        check_path("folder", self.folder, where="Checkpoints(...)")
        if (isinstance(self.every, Real) and not isinstance(self.every, np.timedelta64)) or self.every_s <= 0:
            raise PlanError(f"every must be a positive duration, got {self.every!r}.", where="Checkpoints(...)",
                            hint='Use a duration with a unit: every="10s".')
        if not isinstance(self.keep, Integral) or self.keep < 1:
            raise PlanError(f"keep must be an integer of at least 1, got {self.keep!r}.", where="Checkpoints(...)",
                            hint="Use 1 or more; the default is 3.")

    @property
    def every_s(self) -> float:
        """Seconds between two checkpoints."""
        return duration_seconds(self.every, where="Checkpoints(...)")


class CheckpointCoordinator:
    """Hand settled rows to sinks, and write checkpoints.

    Parameters
    ----------
    sinks : sequence of Sink or None
        One for each query.
    checkpoints : Checkpoints, optional
        Without them, sinks prepare and commit every second, and a killed run starts from the beginning.

    Attributes
    ----------
    skipped : list of str
        Damaged checkpoints.
    failed : CheckpointError or None
        Why the last checkpoint failed; the run continues and tries again.
    failures : dict of int to WhimbrelError
        Queries whose sinks have failed while others continue. With checkpoints, which all queries share, all end
        at the last checkpoint, so that they resume from it without loss.
    """

    def __init__(self, sinks: Sequence[Sink | None], checkpoints: Checkpoints | None) -> None:
        self._sinks, self._checkpoints = list(sinks), checkpoints
        self._every_s = 1.0 if checkpoints is None else checkpoints.every_s
        self._number = 0
        self._due = 0.0
        self.skipped: list[str] = []
        self.failed: CheckpointError | None = None
        self.failures: dict[int, WhimbrelError] = {}
        self._lock: IO[bytes] | None = None
        self._stopped = [threading.Event() for _ in self._sinks]
        self._kept: deque[Mapping[int, Any]] = deque(maxlen=1 if checkpoints is None else checkpoints.keep)
        """Where feeds stood at each checkpoint that is kept, of those that this process has written."""

    def open(self, new: Callable[[], Execution]) -> Execution:
        """Open the sinks, and resume from the newest valid checkpoint or start."""
        try:
            return self._open(new)
        except BaseException:
            self.close()
            raise

    def _open(self, new: Callable[[], Execution]) -> Execution:
        run = secrets.token_hex(8)
        if self._checkpoints is not None:
            self._lock = locked(self._folder)
            run = run_of(self._lock)
            for partial in self._folder.glob(".*.partial"):  # of a run that was killed while it wrote
                shutil.rmtree(partial, ignore_errors=True)
        session, tokens = self._restored(new)
        for sink, answer, token, stopped in zip(self._sinks, session.answers, tokens, self._stopped, strict=True):
            if sink is not None:
                sink.run, sink.checkpointed, sink.stopped = run, self._checkpoints is not None, stopped
                sink.open(table_schema(answer.schema), answer.settled_rows, token)
        session.reader.save_offsets()
        self._due = time.monotonic() + self._every_s
        return session

    def _restored(self, new: Callable[[], Execution]) -> tuple[Execution, list[Token]]:
        for folder in reversed(self._written()):
            self._number = max(self._number, int(folder.name))
            with planned_as_in(folder):
                session = new()
            try:
                tokens = load(session, folder)
            except DamagedCheckpointError:
                self.skipped.append(folder.name)
                session.close()
                continue
            return session, tokens
        if self.skipped:
            raise CheckpointError(f"All {len(self.skipped)} checkpoints are damaged.",
                                  where=f"Checkpoints({str(self._folder)!r})",
                                  hint="Use another folder to start from the beginning; rows in sinks stay there.")
        return new(), [None] * len(self._sinks)

    @property
    def _folder(self) -> Path:
        assert self._checkpoints is not None
        return Path(self._checkpoints.folder)

    def _written(self) -> list[Path]:
        if self._checkpoints is None or not self._folder.is_dir():
            return []
        return sorted(each for each in self._folder.iterdir() if re.fullmatch(rf"[0-9]{{{_DIGITS}}}", each.name))

    def take(self, session: Execution, outs: Sequence[list[Batch]] | None) -> None:
        """Settled rows of a step; and a checkpoint, if it is time."""
        self._hand_on(session, outs)
        numbers = range(len(self._sinks))
        if not self._may_write(self._waiting(filter(self.last_error, numbers))) or time.monotonic() < self._due:
            return
        self._complete(session)
        waiting = self._waiting(numbers)  # for what was just written, too: nothing is added until it is prepared
        if self._may_write(waiting):
            self.write(session, waiting)

    def _may_write(self, waiting: AbstractSet[int]) -> bool:
        """Whether sinks that wait for their servers let others be written; a checkpoint is of all of them."""
        return self._checkpoints is None or not waiting

    def _complete(self, session: Execution) -> None:
        for outs in session.complete():
            self._hand_on(session, outs)

    def _waiting(self, numbers: Iterable[int]) -> frozenset[int]:
        """The numbers of sinks, among some, whose servers are waited for."""
        found = set()
        for number in numbers:
            with self._sink(number) as sink:
                if sink is not None and not sink.ready():
                    found.add(number)
        return frozenset(found)

    def _hand_on(self, session: Execution, outs: Sequence[list[Batch]] | None) -> None:
        for number, (answer, batches) in enumerate(zip(session.answers, outs or (), strict=False)):
            with self._sink(number) as sink:
                if sink is not None and batches:
                    for rows in in_order(table_from_batches(answer.schema, batches)).to_batches():
                        sink.write(rows)

    def write(self, session: Execution, waiting: AbstractSet[int] = frozenset(), *, last: bool = False) -> None:
        """Prepare, write down, commit; but for sinks that are `waiting` for their servers.

        What cannot be read again is acknowledged when it is in every checkpoint that is kept, since the newest ones may
        turn out damaged; or when it is in the `last` one of a run.
        """
        self._complete(session)
        tokens: list[Token] = [None] * len(self._sinks)
        going = [number for number in range(len(tokens)) if number not in waiting]
        for number in going:
            with self._sink(number) as sink:
                tokens[number] = None if sink is None else sink.prepare()
        self._due = time.monotonic() + self._every_s
        if self._checkpoints is not None:
            try:
                self._number += 1
                save(session, self._folder / f"{self._number:0{_DIGITS}}", tokens)
            except CheckpointError as error:  # a full disk: rows are prepared still, and committed with the next one
                self.failed = error
                return
            self.failed = None
        for number in going:
            with self._sink(number) as sink:
                if sink is not None:
                    sink.commit(tokens[number])
        if not waiting:
            self._kept.append(session.reader.offsets)
            oldest = self._kept[0] if len(self._kept) == self._kept.maxlen else {}
            session.reader.acknowledge(self._kept[-1], self._kept[-1] if last else oldest)
        self._forget()

    @contextmanager
    def _sink(self, number: int) -> Iterator[Sink | None]:
        """The sink of a query, for one step; its errors fail that query."""
        sink = self._sinks[number]
        try:
            yield sink
        except Exception as error:  # anybody may write a sink
            assert sink is not None
            failure = error if isinstance(error, WhimbrelError) else SinkError(
                f"Cannot write to {sink.name}: {type(error).__name__}: {error}", where=f"start(sink={sink.name})",
                hint="Fix the sink, then start the run again.")
            if self._checkpoints is not None:
                raise failure from error
            self.failures[number] = failure
            self._sinks[number] = None
            with suppress(Exception):
                sink.close()

    def waits(self, number: int) -> bool:
        """Whether a query's rows wait for a server that may never take them; with checkpoints none are lost."""
        return self._checkpoints is None and bool(self.last_error(number))

    def stop(self, numbers: AbstractSet[int]) -> None:
        """Wait no longer for servers of these queries; with checkpoints, which are of all, when it is all of them."""
        if self._checkpoints is None or len(numbers) == len(self._sinks):
            for number in numbers:
                self._stopped[number].set()

    def last_error(self, number: int) -> str:
        """What keeps the sink of a query from being written just now."""
        sink = self._sinks[number]
        return "" if sink is None else sink.last_error

    def _forget(self) -> None:
        if self._checkpoints is not None:
            written = self._written()
            oldest = [each for each in written if each.name not in self.skipped][-self._checkpoints.keep:][0]
            for folder in written[:written.index(oldest)]:
                shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Let go of the sinks, and of the folder; what they were to keep is prepared already."""
        for sink in self._sinks:
            with suppress(Exception):
                if sink is not None:
                    sink.close()
        if self._lock is not None:
            self._lock.close()
