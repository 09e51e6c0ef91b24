"""Several views of one run: dashboards and their layout."""

from __future__ import annotations

from whimbrel_workbench.workspace.dashboard import Dashboard, gathered
from whimbrel_workbench.workspace.layout import Layout
from whimbrel_workbench.workspace.shared_run import SharedRun, Viewer

__all__ = ["Dashboard", "Layout", "SharedRun", "Viewer", "gathered"]
