"""Error-free products of floats (two-product)."""

from __future__ import annotations

from typing import Any

LARGEST_FLOAT = 1e150
"""Squares of larger numbers cannot be split into exact parts."""

_SPLIT = 134_217_729.0
"""2**27 + 1 cuts a float into two halves of 26 bits (Dekker 1971)."""


def square_parts(value: Any) -> Any:
    """The square of a float as a sum of two floats; beyond 1e150 the second is 0."""
    square = value * value
    if not -LARGEST_FLOAT < value < LARGEST_FLOAT:
        return square, 0.0
    return square, product_error(value, value, square)


def product_error(left: Any, right: Any, product: Any) -> Any:
    """What rounding took from a product of floats (Dekker 1971)."""
    high = left * _SPLIT - (left * _SPLIT - left)
    low = left - high
    other_high = right * _SPLIT - (right * _SPLIT - right)
    other_low = right - other_high
    return low * other_low - (((product - high * other_high) - low * other_high) - high * other_low)
