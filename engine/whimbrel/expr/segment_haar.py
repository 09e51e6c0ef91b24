"""Haar wavelet transform of segments."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.batch import SampleBlocks, Segments, SegmentType, frozen
from whimbrel.errors import KernelError
from whimbrel.expr.segment_functions_scipy import check_level
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.signals.haar import haar_coefficients

Array = np.ndarray[Any, Any]

_coefficients = Compiled(haar_coefficients)


def haar(x: Segments, type_: SegmentType, *, level: int, part: str, where: str) -> Segments:
    """Coefficients of one level of each row, none of which has missing samples; windows are read where they are."""
    valid = x.validity() & (x.size > 0)
    rows = np.flatnonzero(valid)
    if not len(rows):
        return Segments.nulls(type_, len(x))
    check_level("haar", level, int(x.size[rows].min()), where, KernelError)
    dtype = np.dtype(np.float32 if x.dtype == np.float32 else np.float64)
    made = np.where(valid, -(-x.size // 2 ** level), 0)
    begin = np.cumsum(made) - made
    out, scratch = np.empty(int(made.sum()), dtype), np.empty(int(x.size.max()), dtype)
    root = frozen(np.array([np.sqrt(0.5)], dtype))
    for some, array, start in x.in_arrays(rows):
        low, high = int(start.min()), int((start + x.size[some]).max())
        samples = array[low:high].astype(dtype, copy=False)
        _coefficients(frozen(samples), frozen(start - low), frozen(x.size[some]), level, part == "detail", root,
                      scratch, frozen(begin[some]), out)
    return Segments(type_, SampleBlocks.of(out), x.index // 2 ** level, made, begin, None if valid.all() else valid)
