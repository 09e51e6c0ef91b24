"""Live sessions: they run queries and turn results into frames."""

from __future__ import annotations

from whimbrel_workbench.sessions.cell_ownership import CellOwnership
from whimbrel_workbench.sessions.latency_run import LatencyRun
from whimbrel_workbench.sessions.lateness import choices_near
from whimbrel_workbench.sessions.live_session import ENDED, AnyRun, LiveSession
from whimbrel_workbench.sessions.progressive_run import ProgressiveRun
from whimbrel_workbench.sessions.replay_controller import ReplayController
from whimbrel_workbench.sessions.result_shape import columns_of
from whimbrel_workbench.sessions.shared_clocks import SharedClocks
from whimbrel_workbench.sessions.source_summary import source_facts
from whimbrel_workbench.sessions.start_queries import start_together
from whimbrel_workbench.sessions.visibility import Visibility

__all__ = [
    "ENDED",
    "AnyRun",
    "CellOwnership",
    "LatencyRun",
    "LiveSession",
    "ProgressiveRun",
    "ReplayController",
    "SharedClocks",
    "Visibility",
    "choices_near",
    "columns_of",
    "source_facts",
    "start_together",
]
