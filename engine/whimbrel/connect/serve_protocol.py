"""Headers and close codes that number served rows within a run."""

from __future__ import annotations

from typing import Final

ROW: Final = "whimbrel-row"
RUN: Final = "whimbrel-run"
"""Headers with the number of the first row and the run."""

LEVEL: Final = "whimbrel-level"
"""Header with the id of the low level whose partial aggregates a client merges."""

FINISHED: Final = 1000
POLICY_VIOLATION: Final = 1008
FAILED: Final = 1011
"""Close codes of a WebSocket (RFC 6455, 7.4.1)."""
