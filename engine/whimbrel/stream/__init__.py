"""The public functions and classes of notebooks."""

from whimbrel.stream import datasets, feeds, sinks
from whimbrel.stream.aggregates import (
    aggregate,
    all,
    any,
    approx_count_distinct,
    approx_quantile,
    collect,
    count,
    count_distinct,
    max,
    mean,
    median,
    min,
    product,
    quantile,
    running,
    std,
    sum,
    sum_of_squares,
    top_k,
    var,
    window_end,
    window_start,
)
from whimbrel.stream.combined_aggregates import geometric_mean, histogram, n_null, rate, weighted_mean
from whimbrel.stream.desk import Desk, desk
from whimbrel.stream.late_rows import late_rows, lateness
from whimbrel.stream.latencies import asked_at
from whimbrel.stream.lateness import Lateness, lateness_of
from whimbrel.stream.list_aggregates import entropy, increase, mad, mode, quantiles, string_agg, sum_distinct
from whimbrel.stream.pair_statistics import corr, cov, intercept, kurtosis, r2, skew, slope
from whimbrel.stream.read import from_arrow, from_edges, from_pandas, from_spark, read_parquet, replay
from whimbrel.stream.read_files import dead_letters, read_csv, read_ipc, read_json, read_zeek
from whimbrel.stream.read_packets import read_pcap
from whimbrel.stream.read_signals import from_samples, read_audio, read_edf, read_wfdb
from whimbrel.stream.read_tables import from_sql, read_delta, read_iceberg
from whimbrel.stream.recurrences import ema, iir
from whimbrel.stream.restore import restore
from whimbrel.stream.sample_filters import fir
from whimbrel.stream.serve import Served, serve
from whimbrel.stream.single_values import any_value, arg_max, arg_min, bit_and, bit_or, bit_xor, first, last
from whimbrel.stream.start import start
from whimbrel.stream.stream import LatencyBands, Stream
from whimbrel.stream.time_weighted import integral, time_in, time_mean

__all__ = [
    "Desk",
    "LatencyBands",
    "Lateness",
    "Served",
    "Stream",
    "aggregate",
    "all",
    "any",
    "any_value",
    "approx_count_distinct",
    "approx_quantile",
    "arg_max",
    "arg_min",
    "asked_at",
    "bit_and",
    "bit_or",
    "bit_xor",
    "collect",
    "corr",
    "count",
    "count_distinct",
    "cov",
    "datasets",
    "dead_letters",
    "desk",
    "ema",
    "entropy",
    "feeds",
    "fir",
    "first",
    "from_arrow",
    "from_edges",
    "from_pandas",
    "from_samples",
    "from_spark",
    "from_sql",
    "geometric_mean",
    "histogram",
    "iir",
    "increase",
    "integral",
    "intercept",
    "kurtosis",
    "last",
    "late_rows",
    "lateness",
    "lateness_of",
    "mad",
    "max",
    "mean",
    "median",
    "min",
    "mode",
    "n_null",
    "product",
    "quantile",
    "quantiles",
    "r2",
    "rate",
    "read_audio",
    "read_csv",
    "read_delta",
    "read_edf",
    "read_iceberg",
    "read_ipc",
    "read_json",
    "read_parquet",
    "read_pcap",
    "read_wfdb",
    "read_zeek",
    "replay",
    "restore",
    "running",
    "serve",
    "sinks",
    "skew",
    "slope",
    "start",
    "std",
    "string_agg",
    "sum",
    "sum_distinct",
    "sum_of_squares",
    "time_in",
    "time_mean",
    "top_k",
    "var",
    "weighted_mean",
    "window_end",
    "window_start",
]
