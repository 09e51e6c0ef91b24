"""Turn the counters of a run into a plan with rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from whimbrel.run import Metrics
from whimbrel_workbench.frames.plan import PlanFrame, PlanStep, lane_slots

_RATE_OVER_S: Final = 1.0
"""Rates are those of about so many seconds: shorter ones only flicker."""


class PlanWatch:
    """Looks at a run now and then; rates are those between two looks."""

    def __init__(self) -> None:
        self._then: tuple[float, tuple[int, ...]] = (0.0, ())
        self._rates: tuple[float, ...] = ()

    def update(self, metrics: Metrics, kernels: Mapping[str, str]) -> PlanFrame:
        """The plan now.

        Examples
        --------
        >>> from whimbrel.run.operator_metrics import OperatorMetrics
        >>> steps = OperatorMetrics("log", (), 9, 9, 0.25, 0), OperatorMetrics("where(x)", (0,), 9, 4, 0.75, 0)
        >>> seen = PlanWatch().update(Metrics(elapsed_s=2.0, steps=steps), {})
        >>> [(step.name, step.slot.above, step.rows_per_s, step.fraction) for step in seen.steps]
        [('log', (), 4.5, 0.25), ('where(x)', (0,), 4.5, 0.75)]
        """
        spent = sum(step.seconds for step in metrics.steps)
        slots = lane_slots([step.inputs for step in metrics.steps])
        drawn = tuple(
            PlanStep(step.name, slot, step.rows_in, step.rows_out, step.buffered_rows, rate, step.seconds,
                     step.seconds / spent if spent else 0.0)
            for step, slot, rate in zip(metrics.steps, slots, self._rate(metrics), strict=True))
        return PlanFrame(drawn, min(spent / metrics.elapsed_s, 1.0) if metrics.elapsed_s else 0.0,
                         tuple(kernels.items()))

    def _rate(self, metrics: Metrics) -> tuple[float, ...]:
        now, rows = metrics.elapsed_s, tuple(step.rows_in for step in metrics.steps)
        then, before = self._then
        if len(before) != len(rows) or now < then:  # another run
            then, before, self._rates = 0.0, (0,) * len(rows), ()
        if now - then >= _RATE_OVER_S or not self._rates:
            self._rates = tuple((new - old) / max(now - then, 1e-9) for new, old in zip(rows, before, strict=True))
            self._then = now, rows
        return self._rates
