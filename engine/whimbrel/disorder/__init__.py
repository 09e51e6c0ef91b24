"""From arrival order to time order: late rows, reordering, and the frontier that follows from both."""

from whimbrel.disorder.edges import EdgeIngress
from whimbrel.disorder.ingress import Ingress
from whimbrel.disorder.sorter import Sorter

__all__ = ["EdgeIngress", "Ingress", "Sorter"]
