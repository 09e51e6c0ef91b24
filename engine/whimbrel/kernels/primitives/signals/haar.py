"""Haar wavelet transform of windows of samples.

The operations and their order are those of PyWavelets' convolution, so results have the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def haar_coefficients(values: Array, start: Array, size: Array, level: int, detail: bool, weight: Array,
                      scratch: Array, begin: Array, out: Array) -> None:
    """Coefficients of one level of each window.

    A window of odd length is continued by its last sample.

    Parameters
    ----------
    values : array of float
    start, size : array of int64
        Where each window begins in the values, and how many it has.
    level : int
        From 1 on.
    detail : bool
        Whether details are wanted, rather than approximations.
    weight : array of float
        One number: the root of one half, in the type of the results.
    scratch : array of float
        As long as the longest window.
    begin : array of int64
        Where the results of each window begin.
    out : array of float
        For results.
    """
    root = weight[0]
    zero = root - root
    for row in range(start.shape[0]):
        window, many = values[start[row]:start[row] + size[row]], size[row]
        for step in range(level):
            source, half = window if step == 0 else scratch, many // 2
            target, first = scratch, np.int64(0)
            if step == level - 1:
                target, first = out, begin[row]
            sign = -root if detail and step == level - 1 else root
            for at in range(half):
                target[first + at] = (zero + sign * source[2 * at + 1]) + root * source[2 * at]
            if many % 2:
                target[first + half] = (zero + sign * source[many - 1]) + root * source[many - 1]
            many = (many + 1) // 2
