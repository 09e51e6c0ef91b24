# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A Spark table, backtested, then taken live
#
# You will see one query run over eleven months of a Spark table, by Spark's tasks and by this process. Then the same
# query follows December as its files arrive. At the end its output is compared with the backtest.
#
# It needs `pip install 'whimbrel[spark]'` and a Java runtime, and no network.

# %%
import shutil
import tempfile
from pathlib import Path

import whimbrel as wb
from whimbrel import col
from whimbrel.spark import local_session

spark = local_session()
folder = Path(tempfile.mkdtemp(prefix="whimbrel-"))
flights = spark.read.parquet(str(wb.datasets.flights_file()))
(flights.selectExpr("*", "cast(landed as date) as day").repartition("day").sortWithinPartitions("landed")
        .write.partitionBy("day").option("path", str(folder / "flights")).saveAsTable("flights"))

# %% [markdown]
# ## The backtest
#
# The log is a table's name and a time range. The query reads only the columns that it needs, and only folders and files
# that can hold these days.

# %%
history = wb.from_spark("flights", time="departure", where=col.day < "2013-12-01", spark=spark)
delays = history.group_by("origin").hopping_window("1d", "6h").aggregate(flights=wb.count(), late=wb.max(col.dep_delay))
print(delays.explain(on=spark))

# %%
on_spark, here = delays.collect(on=spark), delays.collect()


def rows_of(table):
    return sorted((row["start"], row["end"], row["origin"], row["flights"], row["late"]) for row in table.to_pylist())


print(f"{on_spark.num_rows:,} rows; Spark's tasks and this process agree: {rows_of(on_spark) == rows_of(here)}")

# %% [markdown]
# ## Live
#
# December's files arrive in two fortnights. Spark watches the folder, and each micro-batch goes through tasks that keep
# the query's state. Settled rows are written once, even if everything is killed and started again. The row of a flight
# arrives when it has landed, for some a day after others that left later.

# %%
days = sorted(day for day in (folder / "flights").glob("day=*") if day.name >= "day=2013-12-01")
arriving = folder / "arriving"
arriving.mkdir()
stream = spark.readStream.schema(flights.schema).parquet(str(arriving))
live = delays.on(wb.from_spark(stream, time="departure", reorder_latency="2d", late="drop"))

for first in (0, 16):
    for day in days[first : first + 16]:
        for file in day.glob("*.parquet"):
            shutil.copy(file, arriving / f"{day.name}-{file.name}")
    run = live.start_on_spark(path=folder / "settled", checkpoint=folder / "checkpoint", available_now=True)
    run.wait()
    print(run.last_batch)
run.finish()
late = run.last_batch.late_rows

# %% [markdown]
# ## Do they agree?
#
# The same days of the table, queried at once.

# %%
december = wb.from_spark("flights", time="departure", where=col.day >= "2013-12-01", spark=spark)
asked_at_once = rows_of(delays.on(december).collect())
settled = rows_of(spark.read.parquet(str(folder / "settled")).toArrow())
spark.sql("drop table flights")
spark.stop()
shutil.rmtree(folder)
print(f"{len(settled)} rows settled live; late flights: {late}; the same: {settled == asked_at_once}")
