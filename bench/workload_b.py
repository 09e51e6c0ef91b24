"""B. Strings (after Trill, VLDB 2015, figure 6c and section 7.5): what is found in phrases, and their words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bench.compare import Row, compare
from whimbrel.batch import Batch, Column, Field, Schema
from whimbrel.expr import Expr, col, evaluate, split
from whimbrel.kernels import wait_for_compiler

ROWS, QUICK_ROWS = 2_000_000, 500_000
VOCABULARY = (
    "carefully", "final", "deposits", "detect", "slyly", "regular", "accounts", "sleep", "furiously", "express",
    "requests", "haggle", "blithely", "ironic", "packages", "above", "the", "special", "foxes", "nag", "quickly",
    "bold", "ideas", "wake", "pending", "theodolites", "cajole", "even", "instructions", "boost", "unusual",
    "pinto", "beans", "among", "silent", "asymptotes", "dolphins",
)
"""Those of TPC-H comments (specification 4.2.2.14), of which a phrase has three to eight."""


def run(*, quick: bool) -> Iterator[Row]:
    """Rows of figures in million phrases a second; bytes and gigabytes a second are printed with them."""
    with wait_for_compiler():
        yield from _plain(QUICK_ROWS if quick else ROWS)


def phrases(rows: int) -> pa.Array:
    """Words with a blank in between."""
    random = np.random.default_rng(1)
    counts = random.integers(3, 9, rows)
    words = np.array(VOCABULARY)[random.integers(0, len(VOCABULARY), counts.sum())]
    ends = np.cumsum(counts)
    return pa.array([" ".join(words[end - count : end]) for end, count in zip(ends, counts, strict=True)])


def _plain(rows: int) -> Iterator[Row]:
    texts = phrases(rows)
    series = pl.from_arrow(texts)
    assert isinstance(series, pl.Series)
    connection = duckdb.connect()
    connection.execute("SET threads = 2")
    connection.register("phrases", pa.table({"s": texts}))
    batch = Batch(Schema((Field("s", pa.string()),)), np.arange(rows), 1, (Column(pa.string(), texts),))
    print(f"   {rows:,} phrases, {texts.nbytes / 1e6:.0f} MB: 1 M phrases/s are {texts.nbytes / rows / 1e3:.3f} GB/s")

    def sql(text: str) -> Callable[[], Any]:
        return lambda: connection.sql(f"SELECT {text} AS v FROM phrases").to_arrow_table()["v"]

    def ours(expr: Expr) -> Callable[[], Any]:
        return lambda: evaluate(expr, batch).to_arrow()

    s = col.s.str
    for case, mine, arrow, polars, duck in (
        ("contains, 1 in 7", s.contains("beans"), lambda: pc.match_substring(texts, "beans"),
         lambda: series.str.contains("beans", literal=True), "contains(s, 'beans')"),
        ("contains, 1 in 300", s.contains("pinto beans"), lambda: pc.match_substring(texts, "pinto beans"),
         lambda: series.str.contains("pinto beans", literal=True), "contains(s, 'pinto beans')"),
        ("contains, in none", s.contains("zebra"), lambda: pc.match_substring(texts, "zebra"),
         lambda: series.str.contains("zebra", literal=True), "contains(s, 'zebra')"),
        ("starts with", s.starts_with("final"), lambda: pc.starts_with(texts, "final"),
         lambda: series.str.starts_with("final"), "starts_with(s, 'final')"),
        ("ends with", s.ends_with("ideas"), lambda: pc.ends_with(texts, "ideas"),
         lambda: series.str.ends_with("ideas"), "suffix(s, 'ideas')"),
        ("equals", col.s == "final ideas nag", lambda: pc.equal(texts, "final ideas nag"),
         lambda: series == "final ideas nag", "s = 'final ideas nag'"),
        ("regex", s.contains("f[a-z]+ i", regex=True), lambda: pc.match_substring_regex(texts, "f[a-z]+ i"),
         lambda: series.str.contains("f[a-z]+ i"), "regexp_matches(s, 'f[a-z]+ i')"),
        ("index of", s.index_of("beans"), lambda: pc.find_substring(texts, "beans"),
         lambda: series.str.find("beans", literal=True).fill_null(-1), "instr(s, 'beans') - 1"),
        ("lower", s.lower(), lambda: pc.utf8_lower(texts), series.str.to_lowercase, "lower(s)"),
        ("length", s.length(), lambda: pc.utf8_length(texts), series.str.len_chars, "length(s)"),
    ):
        yield from compare("B strings", case, rows, ours(mine), {
            "pyarrow": arrow, "Polars": polars, "DuckDB, 2 threads": sql(duck)}, _same)

    yield from compare("B strings", "split to rows", rows, lambda: split(texts, " ")[1], {
        "pyarrow": lambda: pc.list_flatten(pc.split_pattern(texts, " ")),
        "Polars": lambda: series.str.split(" ").explode(),
        "DuckDB, 2 threads": sql("unnest(string_split(s, ' '))"),
    }, _same)
    connection.close()


def _same(ours: Any, theirs: Any) -> bool:
    other = theirs.to_arrow() if isinstance(theirs, pl.Series) else theirs
    if isinstance(other, pa.ChunkedArray):
        other = other.combine_chunks()
        other = other.chunk(0) if isinstance(other, pa.ChunkedArray) else other
    return bool(ours.cast(other.type).equals(other)) if ours.type != other.type else bool(ours.equals(other))
