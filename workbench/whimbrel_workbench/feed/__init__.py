"""Runs and the frames they make: the only room that knows the engine's runs."""

from __future__ import annotations

from whimbrel_workbench.feed.attention import Attention
from whimbrel_workbench.feed.banded import BandedRun
from whimbrel_workbench.feed.clocks import Clocks
from whimbrel_workbench.feed.feed import AnyRun, Feed, columns_of
from whimbrel_workbench.feed.lateness import choices_near
from whimbrel_workbench.feed.owners import Owners
from whimbrel_workbench.feed.player import Player
from whimbrel_workbench.feed.progress_run import ProgressRun
from whimbrel_workbench.feed.sources import source_facts
from whimbrel_workbench.feed.together import start_together

__all__ = [
    "AnyRun", "Attention", "BandedRun", "Clocks", "Feed", "Owners", "Player", "ProgressRun", "choices_near",
    "columns_of", "source_facts", "start_together",
]
