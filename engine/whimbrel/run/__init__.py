"""Starting plans, moving batches, and answering: on the calling thread, or on one of their own."""

from whimbrel.run.collect import batches, collect, progress
from whimbrel.run.metrics import Metrics, Snapshot
from whimbrel.run.pipeline import Pipeline
from whimbrel.run.run import Run, start
from whimbrel.run.session import Session

__all__ = ["Metrics", "Pipeline", "Run", "Session", "Snapshot", "batches", "collect", "progress", "start"]
