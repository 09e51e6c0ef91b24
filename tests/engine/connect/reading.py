"""What a source gives, as plain rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from whimbrel.batch import Batch
from whimbrel.plan import Source

Row = tuple[Any, ...]


def batches(source: Source, columns: Sequence[str], offset: int = 0) -> Iterator[Batch]:
    return (batch for batch in source.read(columns, offset) if batch is not None)


def rows(source: Source, columns: Sequence[str], offset: int = 0) -> list[Row]:
    """(start, end, values ...) of every row."""
    return [
        row
        for batch in batches(source, columns, offset)
        for row in zip(batch.sync.tolist(), batch.other.tolist(),
                       *(batch.column(name).to_arrow().to_pylist() for name in columns), strict=True)
    ]
