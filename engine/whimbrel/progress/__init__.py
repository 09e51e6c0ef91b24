"""Early answers with intervals: blocks of a source in any order, an estimate at every look, the answer at the end."""

from whimbrel.progress.compare import Comparison, Verdict
from whimbrel.progress.estimate import Estimate
from whimbrel.progress.parts import in_parts
from whimbrel.progress.progress import Progress, progress

__all__ = ["Comparison", "Estimate", "Progress", "Verdict", "in_parts", "progress"]
