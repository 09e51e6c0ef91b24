"""Progressive queries: estimates with confidence sequences that converge to the exact result."""

from whimbrel.progressive.estimation.compare import Comparison, Verdict
from whimbrel.progressive.estimation.estimate import Estimate
from whimbrel.progressive.query.progressive_query import ProgressiveQuery, progressive
from whimbrel.progressive.sampling.partitioned_sources import in_parts

__all__ = ["Comparison", "Estimate", "ProgressiveQuery", "Verdict", "in_parts", "progressive"]
