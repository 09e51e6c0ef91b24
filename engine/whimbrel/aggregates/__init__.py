"""What many rows become: one aggregate family per file, all in the one algebra of :class:`whimbrel.plan.Steps`."""

from whimbrel.aggregates.count import Count
from whimbrel.aggregates.edge import First, Last
from whimbrel.aggregates.extreme import Max, Min
from whimbrel.aggregates.logical import AllTrue, AnyTrue
from whimbrel.aggregates.mean import Mean
from whimbrel.aggregates.product import Product
from whimbrel.aggregates.squares import Std, SumOfSquares, Var
from whimbrel.aggregates.sum import Sum
from whimbrel.aggregates.user import UserAggregate, UserFunctions

__all__ = [
    "AllTrue", "AnyTrue", "Count", "First", "Last", "Max", "Mean", "Min", "Product", "Std", "Sum", "SumOfSquares",
    "UserAggregate", "UserFunctions", "Var",
]
