"""What many rows become: one aggregate family per file, all in the one algebra of :class:`whimbrel.plan.Steps`."""

from whimbrel.aggregates.approximate import ApproximateCountDistinct, ApproximateQuantile, check_installed
from whimbrel.aggregates.collection import Collect, CountDistinct, TopK
from whimbrel.aggregates.count import Count
from whimbrel.aggregates.edge import First, Last
from whimbrel.aggregates.extreme import Max, Min
from whimbrel.aggregates.logical import AllTrue, AnyTrue
from whimbrel.aggregates.mean import Mean
from whimbrel.aggregates.product import Product
from whimbrel.aggregates.quantile import Interpolation, Median, Quantile
from whimbrel.aggregates.squares import Std, SumOfSquares, Var
from whimbrel.aggregates.sum import Sum
from whimbrel.aggregates.user import UserAggregate, UserFunctions

__all__ = [
    "AllTrue", "AnyTrue", "ApproximateCountDistinct", "ApproximateQuantile", "Collect", "Count", "CountDistinct",
    "First", "Interpolation", "Last", "Max", "Mean", "Median", "Min", "Product", "Quantile", "Std", "Sum",
    "SumOfSquares", "TopK", "UserAggregate", "UserFunctions", "Var", "check_installed",
]
