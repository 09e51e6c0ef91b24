"""Sink that broadcasts settled rows to many readers.

Each reader reads at its own pace.
"""

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

    A reader that lags so far that its next row was evicted gets an error, so no row is skipped silently.

    Parameters
    ----------
    keep_rows : int
        Number of past rows that a new reader gets. Twice as many are retained, so that it can read them while further
        rows arrive.
    whole : bool
        Whether a new reader needs all rows from the first one. It gets an error if some were evicted.

    Attributes
    ----------
    first : int
        The number of the oldest retained row.
    schema : pyarrow.Schema or None
        Known when the run starts.
    run : str
        Id of the numbering, which is saved in checkpoints.
    closed : bool
        Whether the stream has ended.
    """

    name = "served rows"

    def __init__(self, keep_rows: int, *, whole: bool = False) -> None:
        self.keep_rows, self.whole = keep_rows, whole
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
        """The number of the first row for a new reader."""
        return 0 if self.whole else max(self.first, self._rows - self.keep_rows)

    def prepare(self) -> Token:
        return self.run

    def close(self) -> None:
        with self._news:
            self.closed = True
            self._news.notify_all()

    def read(self, row: int, is_disconnected: Callable[[], bool],
             run: str = "") -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield batches from this row on, each with the number of its first row, until the stream is closed.

        Parameters
        ----------
        row : int
            0: the first row for a new reader.
        is_disconnected : callable
            Whether the reader has disconnected.
        run : str, optional
            The id of the numbering that the reader knows.

        Raises
        ------
        SinkError
            For another numbering, or an evicted row.
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
        """The batch with this row, and the number of its first row."""
        if row >= self._rows:
            return None, row
        start = self._rows
        for batch in reversed(self._batches):  # most readers are near the end
            start -= batch.num_rows
            if start <= row:
                return batch, start
        raise AssertionError(row)
