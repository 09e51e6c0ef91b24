"""Loggers for libraries, without debug messages."""

from __future__ import annotations

import logging


def info_logger(name: str) -> logging.Logger:
    """Return a logger that never logs debug messages, since these contain tokens.

    >>> info_logger("websocket").isEnabledFor(logging.DEBUG)
    False
    """
    log = logging.getLogger(f"whimbrel.{name}")
    log.setLevel(logging.INFO)  # also where the root is asked for details
    return log
