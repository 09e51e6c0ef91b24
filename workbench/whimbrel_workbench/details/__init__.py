"""Details below a chart: source events, lateness, plan and priorities."""

from __future__ import annotations

from whimbrel_workbench.details.estimate_controls import EstimateControls
from whimbrel_workbench.details.plan import PlanPanel
from whimbrel_workbench.details.run_details import RunDetails

__all__ = ["EstimateControls", "PlanPanel", "RunDetails"]
