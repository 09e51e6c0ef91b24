"""Find the first row and the longest block of Spark's rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whimbrel.optimize import FirstRows, first_rows
from whimbrel.plan import Source
from whimbrel.spark.rows import SparkRows, quoted

if TYPE_CHECKING:
    from pyspark.sql import Column


def first_spark_rows(source: Source, rows: SparkRows, blocks: Sequence[str]) -> FirstRows | None:
    """What statistics say of a source, or one job that reads its times and the lengths of its blocks.

    Parameters
    ----------
    source : Source
    rows : SparkRows
        Its rows.
    blocks : sequence of str
        Its columns with blocks of samples.
    """
    from pyspark.sql import functions as f

    known = first_rows(source)
    if known is not None and not blocks:
        return known
    lengths: list[Column] = [f.max(f.size(quoted(name))) for name in blocks]
    earliest, *longest = rows.frame.agg(f.min(rows.ticks()), *lengths).head() or (None,)
    return None if earliest is None else FirstRows(earliest, max((each or 0 for each in longest), default=None))
