"""The running operators of a query, with their counters."""

from __future__ import annotations

from typing import Final

from whimbrel_workbench.frames.plan import PlanFrame
from whimbrel_workbench.sessions import LiveSession, ProgressiveRun
from whimbrel_workbench.sessions.plan_metrics import PlanWatch
from whimbrel_workbench.views.plan import PlanView


class PlanPanel:
    """The optimized plan, with the counters of its operators.

    Parameters
    ----------
    feed : LiveSession
        The session whose run is shown.
    """

    name: Final = "Plan"
    about: Final = "Show the operators and their generated code"

    def __init__(self, feed: LiveSession) -> None:
        self._feed = feed
        self._watch = PlanWatch()
        self._view = PlanView()
        self.panel = self._view.panel

    @property
    def plan(self) -> PlanFrame:
        """The plan now; without a step before the query runs."""
        run = self._feed.run
        if run is None or isinstance(run, ProgressiveRun):
            return PlanFrame((), 0.0)
        return self._watch.update(run.metrics, run.kernels())

    def draw(self) -> None:
        self._view.draw(self.plan)
