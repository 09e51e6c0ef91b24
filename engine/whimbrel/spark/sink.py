"""Where the settled rows of a stream go: a folder of Parquet files or a table, in parts by micro-batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whimbrel.batch import Schema
from whimbrel.errors import PlanError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BATCH = "batch"


@dataclass(frozen=True)
class Sink:
    """A folder or a table; the column `batch` says which micro-batch settled a row.

    A micro-batch that is written again replaces what was written of it.

    Parameters
    ----------
    path, table : str, optional
        One of them.
    """

    path: str | None = None
    table: str | None = None

    def check(self, schema: Schema, where: str) -> None:
        """Refuse a place that is none, and an answer with a column of its own by that name."""
        if (self.path is None) == (self.table is None):
            raise PlanError("The answer goes to a folder or to a table.", where=where,
                            hint='path="answers/" or table="answers"')
        if BATCH in schema:
            raise PlanError(f"The answer has a column {BATCH!r}, and the micro-batch of a row is told there.",
                            where=where, hint=f'rename it: .rename(another_name="{BATCH}")')

    def write(self, frame: DataFrame, number: int) -> None:
        """Put the rows of a micro-batch in their place."""
        from pyspark.sql import functions as f

        parted = frame.withColumn(BATCH, f.lit(number).cast("long"))
        if self.path is not None:
            (parted.write.mode("overwrite").option("partitionOverwriteMode", "dynamic").partitionBy(BATCH)
             .parquet(self.path))
            return
        assert self.table is not None
        session = frame.sparkSession
        if not session.catalog.tableExists(self.table):
            parted.write.format("parquet").partitionBy(BATCH).saveAsTable(self.table)
            return
        session.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
        parted.write.insertInto(self.table, overwrite=True)
