"""Names of functions and aggregates of SQL, for hints."""

from __future__ import annotations

from typing import Final

FUNCTIONS: Final = (
    "abs", "ceil", "coalesce", "contains", "cos", "date_trunc", "day", "end_time", "ends_with", "exp", "extract",
    "floor", "greatest", "hour", "if", "least", "length", "ln", "log", "lower", "minute", "mod", "month", "nullif",
    "position", "power", "quarter", "regexp_matches", "round", "second", "sign", "sin", "sqrt", "start_time",
    "starts_with", "strpos", "time_bucket", "upper", "year",
)

MANUAL_FUNCTIONS: Final = (
    "float", "fmax", "fmin", "getlpmid", "int", "llmax", "llmin", "llong", "non_temporal", "str_exists_substr",
    "str_regex_match", "uint", "ullmax", "ullmin", "ullong", "umax", "umin", "ushort",
)
"""Those that only TigonSQL's manual has."""

AGGREGATES: Final = (
    "any_value", "approx_count_distinct", "array_agg", "avg", "bool_and", "bool_or", "count", "count_if",
    "first", "last", "max", "median", "min", "percentile_cont", "percentile_disc", "product",
    "quantile_cont", "quantile_disc", "running", "stddev", "stddev_pop", "sum", "total", "var_pop", "variance",
)
