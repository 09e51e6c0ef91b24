"""What libraries log for us: not the details, which hold tokens."""

from __future__ import annotations

import logging


def info_logger(name: str) -> logging.Logger:
    """A logger for a library that writes down all that it sends when it is asked for details: it never is.

    >>> info_logger("websocket").isEnabledFor(logging.DEBUG)
    False
    """
    log = logging.getLogger(f"whimbrel.{name}")
    log.setLevel(logging.INFO)  # also where the root is asked for details
    return log
