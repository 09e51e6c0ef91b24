"""SciPy, imported when a plan needs it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from whimbrel.errors import MissingExtraError


def scipy_fft(user: str) -> Any:
    """The module ``scipy.fft``, for an operator.

    Raises
    ------
    MissingExtraError
        If SciPy is not installed.
    """
    try:
        return import_module("scipy.fft")
    except ImportError:
        raise MissingExtraError("SciPy", "signals", user) from None
