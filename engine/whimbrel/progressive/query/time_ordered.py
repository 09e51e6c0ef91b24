"""Estimates of a query that runs in time order."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace

from whimbrel.errors import PlanError
from whimbrel.plan import Node
from whimbrel.progressive.estimation.estimate import Estimate, with_ends
from whimbrel.progressive.late.late_estimate import LateSnapshot
from whimbrel.progressive.late.late_rows_model import LateRowsModel
from whimbrel.progressive.plan.query_split import one_ended
from whimbrel.progressive.query.update_schedule import UpdateSchedule
from whimbrel.run import Snapshot, intermediate_snapshots


def time_ordered_estimates(plan: Node, schedule: UpdateSchedule, confidence: float, reason: str,
              late: LateRowsModel | None) -> Iterator[Estimate]:
    """Estimates in time order."""
    ends, names = one_ended(plan), ["start", "end", *plan.schema.names]

    def asked(rows: int, total: int | None) -> bool:
        if schedule.at and total is None:
            raise PlanError("`at` needs a source with a known number of rows.",
                            where=f"progressive(at={[*schedule.at]})", hint='Use a duration: every="50ms".')
        return schedule.due(rows, sys.maxsize if total is None else total)

    every = schedule.every if isinstance(schedule.every, str | int) else None
    read = plan if late is None else late.plan
    for snapshot in intermediate_snapshots(read, every, asked if schedule.seconds is not None or schedule.at else None):
        if late is not None and not snapshot.final:
            yield LateSnapshot(snapshot, late, confidence)
        else:
            shown = snapshot if late is None else replace(snapshot, table=snapshot.table.select(names))
            last = {} if late is None else dict.fromkeys(late.values, True)  # the columns of earlier estimates
            yield _of_snapshot(shown, confidence, reason, last if snapshot.final else ends)


def _of_snapshot(snapshot: Snapshot, confidence: float, reason: str, ends: Mapping[str, bool]) -> Estimate:
    return Estimate(snapshot.metrics, version=snapshot.version, final=snapshot.final, confidence=confidence,
                    fallback_reason=reason, rows=lambda: with_ends(snapshot.table, snapshot.settled, ends),
                    settled=snapshot.settled, growing=[name for name, grows in ends.items() if grows])
