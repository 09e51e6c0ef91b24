"""Details below a chart: source events, lateness, plan and priorities."""

from __future__ import annotations

from whimbrel_workbench.details.estimate_controls import Refining
from whimbrel_workbench.details.plan import PlanFold
from whimbrel_workbench.details.run_details import Inside

__all__ = ["Inside", "PlanFold", "Refining"]
