"""From arrival order to time order: late rows, reordering, and the frontier that follows from both."""

from whimbrel.disorder.edges import EdgeIngress
from whimbrel.disorder.ingress import Ingress, timekeeper
from whimbrel.disorder.judge import Judge
from whimbrel.disorder.measures import Disorderliness, measure_disorder
from whimbrel.disorder.missing import Arrived, MissingShares
from whimbrel.disorder.sorter import Sorter

__all__ = ["Arrived", "Disorderliness", "EdgeIngress", "Ingress", "Judge", "MissingShares", "Sorter",
           "measure_disorder", "timekeeper"]
