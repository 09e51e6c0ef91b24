"""``python -m bench.logs FOLDER [--rows 10M] [--days 7] [--seed 1]``: a service's request log of any size, as Parquet.

Spark writes it, in folders by the day of arrival. The same numbers give the same rows, whatever the machine: each is
made of its row number and the seed alone. Rows lie in the order in which they were seen. One row in a hundred came
minutes late, one in ten thousand hours late. A fifth of all rows is of one user, the others follow Zipf's law.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from whimbrel.spark import local_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BEGIN_S = 1_704_067_200
"""2024-01-01 00:00 UTC."""
USERS = 1_000_000
SERVICES = ("web", "search", "cart", "pay", "mail", "image", "auth", "feed", "chat", "ads", "cron", "edge")
_ROWS_A_FILE = 4_000_000
_DAY_US = 86_400_000_000


def log_frame(spark: SparkSession, rows: int, *, days: int = 7, seed: int = 1) -> DataFrame:
    """The log as a DataFrame: at, seen, user, service, level, ms, bytes, day."""
    from pyspark.sql import functions as f

    def chance(number: int) -> str:
        """Evenly distributed in [0, 1)."""
        return f"((xxhash64(id, {1_000 * seed + number}L) & 9007199254740991) / 9007199254740992D)"

    step_us = days * _DAY_US / rows
    late_us = (f"case when {chance(2)} < 0.0001 then {chance(3)} * 6 * 3600e6 when {chance(2)} < 0.01 "
               f"then {chance(3)} * 600e6 else -ln(1 - {chance(3)}) * 0.3e6 end")
    level = f"case when {chance(6)} < 0.97 then 'info' when {chance(6)} < 0.995 then 'warn' else 'error' end"
    names = ", ".join(f"'{name}'" for name in SERVICES)
    return (
        spark.range(0, rows, 1, max(days, -(-rows // _ROWS_A_FILE), spark.sparkContext.defaultParallelism))
        .selectExpr(
            f"{BEGIN_S}000000L + cast(id * {step_us}D as bigint) as seen_us",
            f"cast({late_us} as bigint) as late_us",
            f"cast(if({chance(4)} < 0.2, 0, pow({USERS}D, {chance(5)})) as bigint) as user",
            f"element_at(array({names}), cast(pow({chance(7)}, 2) * {len(SERVICES)} as int) + 1) as service",
            f"{level} as level",
            f"round(exp(3 + 2 * sqrt(-2 * ln(1 - {chance(8)})) * cos(6.283185307179586D * {chance(9)})), 3) as ms",
            f"cast(200 + pow(10, 6 * {chance(10)}) as int) as bytes")
        .select(f.expr("timestamp_micros(seen_us - late_us)").alias("at"),
                f.expr("timestamp_micros(seen_us)").alias("seen"),
                "user", "service", "level", "ms", "bytes",
                f.expr("cast(timestamp_micros(seen_us) as date)").alias("day"))
    )


def write_logs(spark: SparkSession, folder: Path, rows: int, *, days: int = 7, seed: int = 1) -> Path:
    """Write the log, unless it is there already."""
    if not (folder / "_SUCCESS").exists():
        # Of 96-bit timestamps, which are Spark's default, footers do not say the smallest and the largest.
        spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        frame = log_frame(spark, rows, days=days, seed=seed)
        frame.write.mode("overwrite").option("compression", "zstd").partitionBy("day").parquet(str(folder))
    return folder


def rows_of(text: str) -> int:
    """A number of rows such as ``10M``.

    >>> rows_of("10M"), rows_of("1B"), rows_of("2_500")
    (10000000, 1000000000, 2500)
    """
    found = re.fullmatch(r"([\d_]+(?:\.\d+)?)\s*([kMB]?)", text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"The number of rows must be like 10M, got {text!r}.")
    return round(float(found[1]) * {"": 1, "k": 1e3, "M": 1e6, "B": 1e9}[found[2]])


def main() -> None:
    """Write a log to a folder."""
    parser = argparse.ArgumentParser(prog="python -m bench.logs", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=rows_of, default=10_000_000, metavar="N", help="such as 10M (default) or 1B")
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    spark = local_session()
    try:
        write_logs(spark, asked.folder, asked.rows, days=asked.days, seed=asked.seed)
    finally:
        spark.stop()
    size = sum(file.stat().st_size for file in asked.folder.rglob("*.parquet"))
    print(f"{asked.rows:,} rows over {asked.days} days in {asked.folder}: {size / 1e6:,.0f} MB")


if __name__ == "__main__":
    main()
