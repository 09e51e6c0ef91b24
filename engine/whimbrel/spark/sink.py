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

        if self.path is not None:
            (frame.withColumn(BATCH, f.lit(number).cast("long")).write.mode("overwrite").partitionBy(BATCH)
             .option("partitionOverwriteMode", "dynamic").parquet(self.path))
            return
        session, table = frame.sparkSession, self.table
        if not session.catalog.tableExists(str(table)):  # without rows: Spark makes none where a killed job left some
            columns = f"{frame.schema.toDDL()}, {BATCH} bigint"
            session.sql(f"create table {table} ({columns}) using parquet partitioned by ({BATCH})")
        # The partition is named, so nothing else is replaced whatever the session is set to.
        put = f"insert overwrite table {table} partition ({BATCH} = {number})"
        session.sql(put + " select * from {rows}", rows=frame)  # noqa: S608 - a table that users name themselves
