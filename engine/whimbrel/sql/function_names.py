"""Names of functions and aggregates of SQL, for hints."""

from __future__ import annotations

from typing import Final

FUNCTIONS: Final = (
    "abs", "ceil", "coalesce", "contains", "cos", "date_trunc", "day", "end_time", "ends_with", "exp", "extract",
    "floor", "greatest", "hour", "if", "least", "length", "ln", "log", "lower", "minute", "mod", "month", "nullif",
    "position", "power", "quarter", "regexp_matches", "round", "second", "sign", "sin", "sqrt", "start_time",
    "starts_with", "strpos", "time_bucket", "upper", "year",
)

AGGREGATES: Final = (
    "any_value", "approx_count_distinct", "array_agg", "avg", "bool_and", "bool_or", "count", "count_if",
    "first", "last", "max", "median", "min", "percentile_cont", "percentile_disc", "product",
    "quantile_cont", "quantile_disc", "stddev", "stddev_pop", "sum", "var_pop", "variance",
)
