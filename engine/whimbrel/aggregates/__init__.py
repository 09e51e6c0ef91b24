"""What many rows become: one aggregate family per file, all in the one algebra of :class:`whimbrel.plan.Steps`."""

from whimbrel.aggregates.count import Count
from whimbrel.aggregates.extreme import Max, Min
from whimbrel.aggregates.mean import Mean
from whimbrel.aggregates.sum import Sum

__all__ = ["Count", "Max", "Mean", "Min", "Sum"]
