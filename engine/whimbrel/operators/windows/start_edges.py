"""Rows without end edges."""

from __future__ import annotations

import numpy as np

from whimbrel.batch import Batch


def starts_only(batch: Batch) -> Batch:
    """Without end edges: for operators to which only the start of an event matters."""
    if batch.ids is None:
        return batch
    return batch.take(np.flatnonzero(batch.other > batch.sync))
