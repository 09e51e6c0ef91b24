"""Several views of one run: dashboards and their layout."""

from __future__ import annotations

from whimbrel_workbench.workspace.dashboard import Dashboard, gathered
from whimbrel_workbench.workspace.layout import Arrangement
from whimbrel_workbench.workspace.shared_run import Shared, Viewer

__all__ = ["Arrangement", "Dashboard", "Shared", "Viewer", "gathered"]
