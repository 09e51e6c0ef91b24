"""Runs and the frames they make: the only room that knows the engine's runs."""

from __future__ import annotations

from whimbrel_workbench.feed.banded import BandedRun
from whimbrel_workbench.feed.feed import Feed
from whimbrel_workbench.feed.owners import Owners

__all__ = ["BandedRun", "Feed", "Owners"]
