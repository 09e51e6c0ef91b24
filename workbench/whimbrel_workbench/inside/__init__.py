"""Below a picture: what its run does, and what its values are made of."""

from __future__ import annotations

from whimbrel_workbench.inside.inside import Inside
from whimbrel_workbench.inside.plan import PlanFold
from whimbrel_workbench.inside.refining import Refining

__all__ = ["Inside", "PlanFold", "Refining"]
