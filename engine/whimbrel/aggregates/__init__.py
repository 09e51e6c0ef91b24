"""Aggregates, one family per file, in the algebra of :class:`whimbrel.plan.AggregateFunctions`."""

from whimbrel.aggregates.any_all import AllTrue, AnyTrue
from whimbrel.aggregates.approximate import ApproximateCountDistinct, ApproximateQuantile, check_installed
from whimbrel.aggregates.arg_extreme import ArgMax, ArgMin
from whimbrel.aggregates.bits import BitAnd, BitOr, BitXor
from whimbrel.aggregates.collection import Collect, CountDistinct, LargestValues
from whimbrel.aggregates.count import Count
from whimbrel.aggregates.first_last import First, Last
from whimbrel.aggregates.frequent_values import ApproximateTopK
from whimbrel.aggregates.mean import Mean
from whimbrel.aggregates.min_max import Max, Min
from whimbrel.aggregates.product import Product
from whimbrel.aggregates.quantile import Interpolation, Median, Quantile
from whimbrel.aggregates.sum import Sum
from whimbrel.aggregates.time_weighted import Integral, TimeIn, TimeMean
from whimbrel.aggregates.user_defined.user_defined import UserAggregate, UserFunctions
from whimbrel.aggregates.variance import Std, SumOfSquares, Var
from whimbrel.aggregates.whole_lists import (
    Entropy,
    Increase,
    JoinOrder,
    MedianDeviation,
    Mode,
    QuantileList,
    StringAgg,
    SumDistinct,
)

__all__ = [
    "AllTrue",
    "AnyTrue",
    "ApproximateCountDistinct",
    "ApproximateQuantile",
    "ApproximateTopK",
    "ArgMax",
    "ArgMin",
    "BitAnd",
    "BitOr",
    "BitXor",
    "Collect",
    "Count",
    "CountDistinct",
    "Entropy",
    "First",
    "Increase",
    "Integral",
    "Interpolation",
    "JoinOrder",
    "LargestValues",
    "Last",
    "Max",
    "Mean",
    "Median",
    "MedianDeviation",
    "Min",
    "Mode",
    "Product",
    "Quantile",
    "QuantileList",
    "Std",
    "StringAgg",
    "Sum",
    "SumDistinct",
    "SumOfSquares",
    "TimeIn",
    "TimeMean",
    "UserAggregate",
    "UserFunctions",
    "Var",
    "check_installed",
]
