"""How servers of settled rows and feeds that read them tell which rows: by number, within a run."""

from __future__ import annotations

from typing import Final

ROW: Final = "whimbrel-row"
RUN: Final = "whimbrel-run"
"""The headers that say from which row on, and of which run."""

FINISHED: Final = 1000
POLICY_VIOLATION: Final = 1008
FAILED: Final = 1011
"""Why a WebSocket is closed (RFC 6455, 7.4.1)."""
