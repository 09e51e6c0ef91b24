"""Settled rows as a sink that many can read at once, each at its own pace."""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterator

import pyarrow as pa

from whimbrel.errors import SinkError
from whimbrel.plan.sink import Sink, Token

_WAIT_S = 0.2


class Published(Sink):
    """The newest settled rows, numbered from 0.

    A reader that falls so far behind that rows it has not read are forgotten is told so: no row is left out in silence.

    Parameters
    ----------
    keep_rows : int
        How many readers begin with that come later. As many again are kept behind these, so that they can read what
        they begin with while more comes.

    Attributes
    ----------
    first : int
        The number of the oldest row that is kept.
    schema : pyarrow.Schema or None
        Known when the run begins.
    run : str
        Which numbering this is: it outlives a process with the checkpoints of the query, and no longer.
    closed : bool
        Nothing more comes.
    """

    name = "served rows"

    def __init__(self, keep_rows: int) -> None:
        self.keep_rows = keep_rows
        self.schema: pa.Schema | None = None
        self.first = self._rows = 0
        self.run = secrets.token_hex(8)
        self.closed = False
        self._batches: deque[pa.RecordBatch] = deque()
        self._news = threading.Condition()

    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        self.schema, self.first, self._rows = schema, rows, rows
        self.run = token or self.run

    def write(self, rows: pa.RecordBatch) -> None:
        with self._news:
            self._batches.append(rows)
            self._rows += rows.num_rows
            while len(self._batches) > 1 and self._rows - self.first - self._batches[0].num_rows >= 2 * self.keep_rows:
                self.first += self._batches.popleft().num_rows
            self._news.notify_all()

    @property
    def begins(self) -> int:
        """The number of the row with which a reader begins that has none yet."""
        return max(self.first, self._rows - self.keep_rows)

    def prepare(self) -> Token:
        return self.run

    def close(self) -> None:
        with self._news:
            self.closed = True
            self._news.notify_all()

    def read(self, row: int, is_disconnected: Callable[[], bool],
             run: str = "") -> Iterator[tuple[int, pa.RecordBatch]]:
        """Rows from this number on, with the number of the first of each batch; waits for more until it is closed.

        Parameters
        ----------
        row : int
            0 stands for the one with which new readers begin.
        is_disconnected : callable
            Whether the reader has left.
        run : str, optional
            The numbering that the reader knows; rows of another one are not those it waits for.
        """
        if run and run != self.run:
            raise SinkError(f"Row {row} belongs to an earlier run; this run counts from 0.", where="serve(...)",
                            hint="Use serve(..., checkpoints=...) so that the run and its clients resume.")
        row = row or self.begins
        while not is_disconnected():
            with self._news:
                if row < self.first:
                    raise SinkError(f"Row {row} was evicted; the oldest retained row is {self.first}.",
                                    where="serve(...)", hint="Use a larger keep_rows, or read faster.")
                batch, start = self._holding(row)
                if batch is None:
                    if self.closed:
                        return
                    self._news.wait(_WAIT_S)
                    continue
            yield row, batch.slice(row - start)
            row = start + batch.num_rows

    def _holding(self, row: int) -> tuple[pa.RecordBatch | None, int]:
        """The batch with this row, and the number of its first one."""
        if row >= self._rows:
            return None, row
        start = self._rows
        for batch in reversed(self._batches):  # readers are near the end, nearly always
            start -= batch.num_rows
            if start <= row:
                return batch, start
        raise AssertionError(row)
