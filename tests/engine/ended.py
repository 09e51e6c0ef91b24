"""Waiting for a run that may fail."""

from __future__ import annotations

import whimbrel as wb
from whimbrel.errors import WhimbrelError


def ended(run: wb.Run, timeout: float) -> bool:
    """Whether it ended in so many seconds, in whatever way."""
    try:
        return run.wait(timeout)
    except WhimbrelError as error:
        return run.state == "failed" and run.error is error
