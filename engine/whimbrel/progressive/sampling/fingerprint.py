"""Fingerprints that show whether rows have changed since they were read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column
from whimbrel.plan import Source


def fingerprint(source: Source, columns: Sequence[str], blocks: Iterable[tuple[int, int]]) -> str:
    """The stamp of a source, or a digest of these blocks of a source in memory.

    Parameters
    ----------
    source : Source
    columns : sequence of str
        The columns that the query reads.
    blocks : iterable of (int, int)
        The first row, and the row after the last.
    """
    stamp = source.stamp()
    if stamp is not None:
        return stamp
    digest = blake2b(digest_size=16)
    for first, stop in blocks:
        rows = Batch.concat([batch for batch in source.excerpt(first, stop).read(columns) if batch is not None])
        for part in (rows.sync.tobytes(), rows.other.tobytes(), *map(_content, map(rows.column, columns))):
            digest.update(part)
    return digest.hexdigest()


def _content(column: Column) -> bytes:
    """The bytes of a column, which depend on its values only, not on their layout."""
    if isinstance(column.values, np.ndarray):
        return column.values.tobytes() + (b"" if column.valid is None else column.valid.tobytes())
    array = column.to_arrow()
    return bytes(pa.record_batch([array], names=["values"]).serialize())
