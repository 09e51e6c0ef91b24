"""Rows for which a condition holds, moved together."""

from __future__ import annotations

import numpy as np

from whimbrel.batch import Batch, Mask, Storage, frozen
from whimbrel.clock import INF
from whimbrel.kernels.compile import Compiled
from whimbrel.kernels.primitives.kept_rows import places_of

_places_of = Compiled(places_of)
_FEW_ROWS = 4_096


def kept_rows(batch: Batch, kept: Mask, rows: int, storage: Storage | None = None) -> Batch:
    """What :meth:`Batch.only` does with so many rows, but their places are found by a compiled loop.

    Examples
    --------
    >>> import numpy as np
    >>> from whimbrel.batch import Batch, Schema
    >>> kept_rows(Batch(Schema(()), np.arange(3), 1, ()), np.array([True, False, True]), 2).sync.tolist()
    [0, 2]
    """
    kept, places = frozen(kept), np.empty(rows + 1, np.int64)
    if len(kept) < _FEW_ROWS or not _places_of.ready(kept, places):
        return batch.only(kept, storage)
    _places_of(kept, places)
    found = batch.having(absent=None).take(places[:rows], storage)
    return found if batch.gaps is None else found.having(gaps=(batch.gaps[0], INF))
