"""Map names of other tools, and former names, to the names here."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, NoReturn, ParamSpec, TypeVar

from whimbrel.errors import UnknownNameError

P = ParamSpec("P")
R = TypeVar("R")

_AGGREGATE = "an aggregate with a name: .aggregate(n=wb.count(), mean=wb.mean(col.x))"
_ORDER = ".collect().sort_by(...) on the result: events are in time order"

STREAM: Mapping[str, str] = {
    "filter": "where(...)", "query": "where(...)", "map": "select(...)", "assign": "with_columns(...)",
    "mutate": "with_columns(...)", "flat_map": "explode(...)", "select_many": "explode(...)", "progress":
    "progressive(...)",
    "behind": "lineage(...)", "clip": "clip_at(...)", "where_exists": "semi_join(...)", "where_not_exists":
    "anti_join(...)",
    "groupby": "group_by(...)", "key_by": "group_by(...)", "partition_by": "group_by(...)",
    "agg": "aggregate(...)", "merge": "join(...)", "concat": "union(...)", "merge_asof": "asof_join(...)",
    "join_asof": "asof_join(...)", "aj": "asof_join(...)", "unique": "distinct(...)",
    "drop_duplicates": "distinct(...)", "melt": "unpivot(...)",
    "window": 'tumbling_window("1h")', "tumble": 'tumbling_window("1h")',
    "group_by_dynamic": 'tumbling_window("1h") or hopping_window("1h", "10m")', "hop": 'hopping_window("1h", "10m")',
    "rolling": 'sliding_window("1h")', "session": 'session_window("10m")', "lag": 'shift("1h")',
    "match_recognize": "detect(...)", "ffill": "hold()", "forward_fill": "hold()",
    **dict.fromkeys(("sum", "mean", "avg", "min", "max", "count", "std", "var", "median", "quantile", "nunique",
                     "value_counts", "reduce"), _AGGREGATE),
    **dict.fromkeys(("min_count", "min_periods", "min_samples", "min_rows"),
                    ".min_rows(3) of an aggregate: wb.mean(col.x).min_rows(3)"),
    **dict.fromkeys(("sort", "order_by", "sort_values"), _ORDER),
    **dict.fromkeys(("limit", "take", "show", "fetch"), "head(10)"),
    "tail": ".collect().slice(-10) on the result, an Arrow table",
    "to_arrow": "collect(), which is an Arrow table", "pl": "to_polars()", "df": "to_pandas()",
    "columns": "schema", "dtypes": "schema",
    "plot": "view(...)", "hvplot": "view(...)", "display": "view(...)",
    "to_parquet": '.start(sink=wb.sinks.parquet("folder"))', "write_parquet": '.start(sink=wb.sinks.parquet("folder"))',
    "sink_parquet": '.start(sink=wb.sinks.parquet("folder"))', "writeStream": ".start(sink=wb.sinks...)",
    "run": ".start() or .collect()", "execute": ".collect()", "compute": ".collect()",
}

EXPRESSION: Mapping[str, str] = {
    **{name: f"a function: wb.{name}(...)" for name in (
        "sum", "mean", "min", "max", "std", "var", "median", "quantile", "first", "last", "count", "product")},
    "avg": "a function: wb.mean(...)", "n_unique": "a function: wb.count_distinct(...)",
    "nunique": "a function: wb.count_distinct(...)", "astype": ".cast(...)", "fillna": ".fill_null(...)",
    "coalesce": "a function: wb.coalesce(...)", "isna": ".is_null()", "isnull": ".is_null()", "notna": ".is_not_null()",
    "notnull": ".is_not_null()", "isin": ".is_in(...)", "contains": ".str.contains(...)",
    **{f"rolling{suffix}": 'wb.mean(col.x).past("1h") or .past(rows=10)' for suffix in (
        "", "_mean", "_sum", "_min", "_max", "_std", "_var", "_mean_by", "_sum_by", "_min_by", "_max_by")},
    **dict.fromkeys(("cumsum", "cum_sum", "expanding"), "wb.sum(col.x).so_far()"),
    "cum_max": "wb.max(col.x).so_far()", "cum_min": "wb.min(col.x).so_far()", "cum_count": "wb.count().so_far()",
    **dict.fromkeys(("shift", "lag"), '.previous() for the event before, or .ago("1h")'), "lead": '.ahead("1h")',
    "diff": "col.x - col.x.previous()", "pct_change": "col.x / col.x.previous() - 1",
    **dict.fromkeys(("min_count", "min_periods", "min_samples"),
                    ".min_rows(3) of an aggregate: wb.mean(col.x).min_rows(3)"),
    "where": ".where(...) of each aggregate, and before .min_rows(3): wb.mean(col.x).where(col.x > 1).min_rows(3)",
    "min_rows": "it for each aggregate of a formula, or wb.when(wb.count(col.x) >= 3).then(formula).otherwise(None)",
    "power": "an operator: col.x ** 3", "ln": ".log()", "exp2": "an operator: 2.0 ** col.x",
    "alias": "a name in select: select(name=col.x)",
    **dict.fromkeys(("map_elements", "apply"), "a function of rows: .select(y=lambda row: ...)"),
    "struct": '.field("name")', "eq": "an operator: col.x == 3",
    "filter": ".where(...) of an aggregate: wb.mean(col.x).where(col.x > 1)",
    **{name: f".str.{name}(...)" for name in (
        "lower", "upper", "strip", "lstrip", "rstrip", "starts_with", "ends_with", "replace", "extract", "strptime",
        "length", "title", "zfill", "pad_start", "pad_end", "repeat")},
    "startswith": ".str.starts_with(...)", "endswith": ".str.ends_with(...)",
    **{name: f".dt.{name}" for name in ("year", "month", "day", "hour", "minute", "second", "weekday", "date")},
    "strftime": ".dt.strftime(...)", "epoch": '.dt.epoch("us")', "total_seconds": ".dt.total_seconds",
}

TEXTS: Mapping[str, str] = {
    "pad": "pad_start(...) or pad_end(...)", "ljust": "pad_end(...)", "rjust": "pad_start(...)",
    "split": 'the method of streams: explode("x", split=",")', "len_chars": "length()", "len": "length()",
    "replace_all": "replace(...)", "replace_many": "replace(...)", "strip_chars": "strip(...)",
    "strip_chars_start": "lstrip(...)", "strip_chars_end": "rstrip(...)", "to_titlecase": "title()",
    "to_lowercase": "lower()", "to_uppercase": "upper()", "startswith": "starts_with(...)",
    "endswith": "ends_with(...)", "find": "index_of(...)", "match": "contains(..., regex=True)",
    **dict.fromkeys(("to_datetime", "to_date", "to_time"), 'strptime("%Y-%m-%d")'),
    "to_decimal": "x.cast(...) to a decimal",
    **dict.fromkeys(("json_path_match", "json_decode"), 'json_extract("$.name")'), "cat": "concat(...)",
}

TIMES: Mapping[str, str] = {
    "truncate": 'floor("1h")', "convert_time_zone": "to_timezone(...)", "tz_convert": "to_timezone(...)",
    "replace_time_zone": "replace_timezone(...)", "tz_localize": "replace_timezone(...)", "ordinal_day": "day_of_year",
    "dayofyear": "day_of_year", "dayofweek": "weekday", "day_of_week": "weekday", "to_string": "strftime(...)",
    "timestamp": 'epoch("us")', "offset_by": "an operator, with a timedelta: col.x + hour",
    "business_day_count": "business_days(...)", "month_start": 'floor("1mo")', "normalize": 'floor("1d")',
}

LISTS: Mapping[str, str] = {
    "len": "length()", "lengths": "length()", "first": "get(0)", "last": "get(-1)", "head": "slice(0, 3)",
    "tail": "slice(-3)", "explode": 'the method of streams: explode("x")', "n_unique": "unique().list.length()",
    "eval": 'the method of streams: explode("x")', "concat": "x.str.concat(...) of strings",
}

PACKAGE: Mapping[str, str] = {
    "avg": "mean(...)", "stddev": "std(...)", "variance": "var(...)", "n_unique": "count_distinct(...)",
    "len": "count()", "concat": "stream.union(...)", "scan_parquet": "read_parquet(...)",
    "from_parquet": "read_parquet(...)", "scan_csv": "read_csv(...)",
    "read_ndjson": "read_json(...)", "scan_ndjson": "read_json(...)", "scan_ipc": "read_ipc(...)",
    "read_feather": "read_ipc(...)", "from_csv": "read_csv(...)", "from_json": "read_json(...)",
    **dict.fromkeys(("read_sql", "read_database"), "from_sql(...)"),
    **dict.fromkeys(("read_excel", "read_ods", "read_avro", "read_orc", "read_xml", "read_hdf"),
                    "pandas or Polars to read it, and from_pandas(frame, time=...) or from_arrow(frame, time=...)"),
    "from_polars": "from_arrow(frame, time=...)", "from_dict": "from_arrow(columns, time=...)",
    "Bands": "LatencyBands", "Partitions": "PartitionWatermarks", "Progress": "ProgressiveQuery",
    "all_at_once": "simultaneous(...)",
    "max_horizontal": "greatest(...)", "min_horizontal": "least(...)",
    "DataFrame": "from_arrow(columns, time=...)", "table": "from_arrow(columns, time=...)",
    **{name: f"a method: col.x.{name}(...)" for name in (
        "nullif", "hypot", "atan2", "clip", "hash", "pow", "mod", "sqrt", "exp", "log", "round", "floor", "ceil")},
    "concat_str": 'format("{} {}", col.a, col.b)', "explode": 'the method of streams: explode("x")',
}

# Names of this project before its first release.

FEEDS: Mapping[str, str] = {"events": "sse(...)", "postgres_changes": "postgres_cdc(...)"}

FEED_OPTIONS: Mapping[str, str] = {
    "beside": "metadata_columns", "ahead": "max_ahead", "arrived_as": "arrival_column", "idle_after": "idle_timeout",
    "retry_s": "retry_backoff_s", "sample_s": "schema_sample_s", "begin": "start_from", "settle": "visibility_delay",
    "claim_after": "claim_idle",
}

FEED_STATUS: Mapping[str, str] = {
    "link": "connection", "stage": "phase", "dead": "dead_letters", "missed": "lost", "behind_rows": "lag_rows",
    "blocked_s": "backpressure_s", "silent_s": "idle_s",
}

METRICS: Mapping[str, str] = {"share": "fraction_read", "forgotten_rows": "evicted_rows", "sink": "sink_error"}

LATENCY_BANDS: Mapping[str, str] = {
    "behind": "bands[0].lineage(...)", "at_latencies": "one at_latencies(...) with all latencies",
    **{name: f"bands[0].{name}(...)" for name in ("lineage", "where", "select", "with_columns", "aggregate", "group_by",
                                                 "top_k", "join", "union", "to_pandas", "to_polars", "head", "plan",
                                                 "rename", "progressive", "certify")},
    "schema": "bands[0].schema",
    **{name: f"aggregate(x=wb.{name}(...)) before at_latencies(...)" for name in ("sum", "mean", "min", "max")},
}

RUN: Mapping[str, str] = {"behind": "lineage(...)"}

LINEAGE: Mapping[str, str] = {"again": "rerun()"}

SPARK_RUN: Mapping[str, str] = {"progress": "last_batch"}

PROGRESSIVE_QUERY: Mapping[str, str] = {
    "why": "fallback_reason", "keep": "save(...)", "recall": "load_claims(...)", "remember": "add_claim(...)",
    "remembered": "claims", "prefer": "prioritize(...)", "again": "restart()",
}

ESTIMATE: Mapping[str, str] = {
    "words": "summary", "share": "fraction_read", "error": "relative_error", "last": "all_read",
    "unscaled": "raw_table", "late_words": "late_summary", "why": "fallback_reason",
}

CERTIFICATE: Mapping[str, str] = {"places": "routes"}

AGGREGATE_OPTIONS: Mapping[str, str] = {
    **dict.fromkeys(("min_rows", "min_periods", "min_samples", "min_count"), ".min_rows(3) of the aggregate"),
    **dict.fromkeys(("where", "filter", "condition"), ".where(...) of the aggregate"),
}

USER_AGGREGATE: Mapping[str, str] = {
    "deaccumulate": "remove", "retract": "remove", "initial": "init", "zero": "init", "update": "accumulate",
    "add": "accumulate", "finish": "result", "evaluate": "result", "combine": "merge",
}


def renamed(**arguments: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Refuse the former names of a function's arguments with their present names.

    Parameters
    ----------
    **arguments : str
        Present names by former name. One with a bracket is shown as it is: no argument has taken its role.

    Examples
    --------
    >>> @renamed(to="sink")
    ... def start(*, sink=None):
    ...     return sink
    >>> start(sink="here")
    'here'
    >>> start(to="here")
    Traceback (most recent call last):
    whimbrel.errors.UnknownNameError: start() has no argument 'to'.
      hint:  Use sink=.
    """
    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if (present := arguments.get(name)) is not None:
                    called = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
                    raise UnknownNameError(f"{called}() has no argument {name!r}.",
                                           hint=f"Use {present}." if "(" in present else f"Use {present}=.")
            return function(*args, **kwargs)

        return call

    return decorate


def absent(of: str, elsewhere: Mapping[str, str], known: Iterable[str] = (),
           called: str = "", columns: Callable[[Any], Container[str]] | None = None) -> Callable[[Any, str], NoReturn]:
    """A ``__getattr__``: the error for a name that is not here says what it is called here.

    Parameters
    ----------
    of : str
        What is asked, in words.
    elsewhere : mapping of str to str
        From the names of other tools.
    known : iterable of str
        Names that are here; default: those of the class.
    called : str
        What users call such an object, for the location of the error.
    columns : callable, optional
        The columns of an object, which are expressions.

    Examples
    --------
    >>> class Stream:
    ...     where = "a method"
    ...     __getattr__ = absent("A stream", {"filter": "where(...)"})
    >>> Stream().filter
    Traceback (most recent call last):
    whimbrel.errors.UnknownNameError: A stream has no 'filter'.
      hint:  Use where(...).
    >>> Stream().wehre
    Traceback (most recent call last):
    whimbrel.errors.UnknownNameError: A stream has no 'wehre'.
      hint:  Use 'where'.
    """
    def refuse(self: Any, name: str) -> NoReturn:
        if name.startswith("_"):  # asked by programs, which only look whether it is there
            raise AttributeError(name)
        is_column = columns is not None and name in columns(self)
        hint = f"col.{name} in an expression, or collect() for values" if is_column else elsewhere.get(name)
        where = called and f"{called}.{name}"
        if hint is None:
            names = [each for each in known or dir(type(self)) if not each.startswith("_")]
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"Use {close[0]!r}." if close else f"Use one of {', '.join(names)}." if len(names) <= 10 else ""
            raise UnknownNameError(f"{of} has no {name!r}.", where=where, hint=hint)
        raise UnknownNameError(f"{of} has no {name!r}.", where=where, hint=f"Use {hint}.")

    return refuse
