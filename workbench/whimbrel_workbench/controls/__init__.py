"""Widgets that control a run and show its status."""

from __future__ import annotations

from whimbrel_workbench.controls.key_selector import KeySelector
from whimbrel_workbench.controls.latency import LatencyControl
from whimbrel_workbench.controls.run_panel import RunPanel, facts_html
from whimbrel_workbench.controls.toolbar import Gesture, Toolbar
from whimbrel_workbench.controls.transport import Transport

__all__ = ["Gesture", "KeySelector", "LatencyControl", "RunPanel", "Toolbar", "Transport", "facts_html"]
