"""Widgets that steer a run and say how it is doing."""

from __future__ import annotations

from whimbrel_workbench.controls.toolbar import Gesture, Toolbar

__all__ = ["Gesture", "Toolbar"]
