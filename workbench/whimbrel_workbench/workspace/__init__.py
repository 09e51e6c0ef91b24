"""Several views on one run: how they are arranged, and who looks at them."""

from __future__ import annotations

from whimbrel_workbench.workspace.dashboard import Dashboard, gathered
from whimbrel_workbench.workspace.layout import Arrangement
from whimbrel_workbench.workspace.shared_run import Shared, Viewer

__all__ = ["Arrangement", "Dashboard", "Shared", "Viewer", "gathered"]
