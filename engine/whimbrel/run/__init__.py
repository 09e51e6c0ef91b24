"""Execution of plans, on the calling thread or their own."""

from whimbrel.run.checkpoint_coordinator import Checkpoints
from whimbrel.run.collect import batches, collect, collect_together, intermediate_snapshots
from whimbrel.run.execution import Execution
from whimbrel.run.latency_costs import explain_latencies
from whimbrel.run.lineage import Lineage, lineage
from whimbrel.run.metrics import Metrics, Snapshot
from whimbrel.run.pipeline import Pipeline
from whimbrel.run.plan_costs import explain_costs
from whimbrel.run.profile import Profile, explain_measured, profile
from whimbrel.run.query_result import in_order
from whimbrel.run.run import Run, start
from whimbrel.run.samples import Samples, collect_samples
from whimbrel.run.source_reader import SourceReader
from whimbrel.run.state_file import read_state, write_state
from whimbrel.run.time_partitions import Piece, in_ranges

__all__ = [
    "Checkpoints",
    "Execution",
    "Lineage",
    "Metrics",
    "Piece",
    "Pipeline",
    "Profile",
    "Run",
    "Samples",
    "Snapshot",
    "SourceReader",
    "batches",
    "collect",
    "collect_samples",
    "collect_together",
    "explain_costs",
    "explain_latencies",
    "explain_measured",
    "in_order",
    "in_ranges",
    "intermediate_snapshots",
    "lineage",
    "profile",
    "read_state",
    "start",
    "write_state",
]
