"""Names of functions and aggregates of SQL, for hints."""

from __future__ import annotations

from typing import Final

from whimbrel.expr import SQL_FUNCTIONS
from whimbrel.sql.method_functions import METHODS

FUNCTIONS: Final = (
    *SQL_FUNCTIONS, *(name for name in METHODS if name != "dayofweek_iso"), "isodow",
    "abs", "btrim", "ceil", "coalesce", "concat", "contains", "cos", "date_diff", "date_part", "date_trunc",
    "end_time", "ends_with", "exp", "extract", "floor", "floor_div", "floor_mod", "greatest", "if", "least", "left",
    "length", "ln", "log", "lower", "lpad", "ltrim", "mod", "nullif", "pi", "position", "power", "regexp_extract",
    "regexp_matches", "regexp_replace", "repeat", "replace", "reverse", "right", "round", "rpad", "rtrim", "sign",
    "sin", "split_part", "sqrt", "start_time", "starts_with", "strpos", "substring", "time_bucket", "timezone", "trim",
    "true_div", "trunc", "upper",
)

MANUAL_FUNCTIONS: Final = (
    "eq", "float", "fmax", "fmin", "geq", "getlpmid", "int", "leq", "llmax", "llmin", "llong", "non_temporal",
    "str_compare", "str_exists_substr", "str_extract_regex", "str_match_offset", "str_partial_regex_match",
    "str_regex_match", "str_truncate", "uint", "ullmax", "ullmin", "ullong", "umax", "umin", "ushort",
)
"""Those that only TigonSQL's manual has."""

AGGREGATES: Final = (
    "any_value", "approx_count_distinct", "approx_top_k", "arg_max", "arg_min", "array_agg", "avg", "bit_and", "bit_or",
    "bit_xor", "bool_and", "bool_or", "corr", "count", "count_if", "covar_pop", "covar_samp", "entropy", "first",
    "increase", "kurtosis", "kurtosis_pop", "last", "listagg", "mad", "max", "max_by", "median", "min", "min_by",
    "mode", "percentile_cont", "percentile_disc", "product", "quantile_cont", "quantile_disc", "regr_count",
    "regr_intercept", "regr_r2", "regr_slope", "running", "skewness", "skewness_pop", "stddev", "stddev_pop",
    "string_agg", "sum", "total", "var_pop", "variance",
)
