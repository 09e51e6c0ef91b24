"""Write settled rows to Parquet files or a table, by micro-batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whimbrel.batch import Schema
from whimbrel.errors import PlanError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BATCH = "batch"


@dataclass(frozen=True)
class SparkSink:
    """Sink of a Spark query: a folder or a table.

    The column `batch` has the micro-batch that settled a row.

    A micro-batch that is written again replaces what was written of it.

    Parameters
    ----------
    path, table : str, optional
        One of them.
    """

    path: str | None = None
    table: str | None = None

    def check(self, schema: Schema, where: str) -> None:
        """Check the target, and the names of the result columns.

        There must be one target, and no result column named `batch`.
        """
        if (self.path is None) == (self.table is None):
            raise PlanError("start_on_spark() needs either path= or table=.", where=where,
                            hint='Use path="answers/" or table="answers".')
        if BATCH in schema:
            raise PlanError(f"The result has a column {BATCH!r}, which is reserved for the number of the micro-batch.",
                            where=where, hint=f'Rename it: .rename(another_name="{BATCH}").')

    def write(self, frame: DataFrame, number: int) -> None:
        """Write the rows of a micro-batch."""
        from pyspark.sql import functions as f

        if self.path is not None:
            (frame.withColumn(BATCH, f.lit(number).cast("long")).write.mode("overwrite").partitionBy(BATCH)
             .option("partitionOverwriteMode", "dynamic").parquet(self.path))
            return
        session = frame.sparkSession
        if not session.catalog.tableExists(str(self.table)):
            self._make(frame, number)
        # The partition is named, so nothing else is replaced whatever the session is set to.
        put = f"insert overwrite table {self.table} partition ({BATCH} = {number})"
        session.sql(put + " select * from {rows}", rows=frame)  # noqa: S608 - a table that users name themselves

    def _make(self, frame: DataFrame, number: int) -> None:
        """A table without rows, or, where the catalog of an earlier process is gone with it, with those it had."""
        from pyspark.errors import PySparkException

        session, columns = frame.sparkSession, f"{frame.schema.toDDL()}, {BATCH} bigint"
        create = f"create table {self.table} ({columns}) using parquet partitioned by ({BATCH})"
        try:
            session.sql(create)
        except PySparkException as error:
            if number == 0 or error.getCondition() != "LOCATION_ALREADY_EXISTS":  # else somebody else's rows lie there
                raise
            session.sql(f"{create} location {error.getMessageParameters()['location']}")
            session.sql(f"alter table {self.table} recover partitions")
