"""Reading feeds in tests: until rows are there, not until time has passed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from whimbrel.batch import Batch
from whimbrel.connect.feeds import FeedReader
from whimbrel.plan import Source, SourceOffset
from whimbrel.stream import Stream

PATIENCE_S = 60.0
"""A busy machine may be several times slower than ours."""


def until(true: Callable[[], object], what: str = "") -> None:
    """Wait until something holds; fail when it does not come."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, f"timed out {what}"
        time.sleep(0.01)


@contextlib.contextmanager
def reading(feed: Stream, offset: object = None) -> Iterator[FeedReader]:
    """A feed that is being read."""
    source = feed.node.op
    assert isinstance(source, Source)
    found = source.read(source.schema.names, SourceOffset(0, offset))
    assert isinstance(found, FeedReader)
    try:
        yield found
    finally:
        found.close()


def rows(found: FeedReader, count: int) -> list[Batch]:
    """So many rows, or all that there are."""
    batches: list[Batch] = []
    last_s = time.monotonic()
    while sum(map(len, batches)) < count:
        assert time.monotonic() < last_s + PATIENCE_S, f"{sum(map(len, batches))} of {count} rows came: {found.state}"
        try:
            batch = next(found)
        except StopIteration:
            break
        if batch is not None:
            batches.append(batch)
            last_s = time.monotonic()
    return batches


def values(found: FeedReader, count: int, column: str) -> list[object]:
    """A column of the next rows."""
    return [value for batch in rows(found, count) for value in batch.column(column).to_arrow().to_pylist()]


def lines(*at: int) -> bytes:
    """Rows at these times, as JSON lines."""
    return b"".join(b'{"at": %d, "x": %d}\n' % (each, 10 * each) for each in at)
