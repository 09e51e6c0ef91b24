# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Estimates from a Spark table
#
# You will see a query over twenty million rows that Spark wrote give estimates after 1% of them. You will refine,
# prioritize, stop and resume it, and compare a claim with the exact result.
#
# It needs `pip install 'whimbrel[spark]'` and a Java runtime, and no network.

# %%
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np

import whimbrel as wb
from whimbrel import col
from whimbrel.spark import local_session

ROWS = int(os.environ.get("WHIMBREL_ROWS", "20_000_000"))
spark = local_session()
folder = Path(tempfile.mkdtemp(prefix="whimbrel-"))

# %% [markdown]
# ## A table
#
# A year of requests to twelve services, written by Spark's tasks in time order. Their response times drift with the
# seasons. Times are written as `TIMESTAMP_MICROS`, so that footers have the time range of each row group. A scan in any
# order needs these.

# %%
spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
YEAR_S = 365 * 86_400
names = "array('web', 'search', 'cart', 'pay', 'mail', 'image', 'auth', 'feed', 'chat', 'ads', 'cron', 'edge')"
requests = spark.range(0, ROWS, 1, max(24, ROWS // 100_000)).selectExpr(
    f"id * {YEAR_S / ROWS} as second", "least(cast(floor(-ln(1 - rand(1)) * 3.5) as int), 11) as place",
).selectExpr(
    "timestamp_millis(cast((second + 1704067200) * 1000 as long)) as at",
    f"element_at({names}, place + 1) as service",
    f"-ln(1 - rand(2)) * (40 + 7 * place) * (1 + 0.2 * sin(second / {YEAR_S} * 17)) as ms",
)
requests.write.parquet(str(folder / "requests"))

# %% [markdown]
# ## Refinement
#
# If a DataFrame is nothing but files, `from_spark` lets Arrow read them. Row groups come in random order, the intervals
# are valid at every update, and this query stops when no mean has an error above 5%.

# %%
log = wb.from_spark(spark.read.parquet(str(folder / "requests")), time="at", name="requests")
services = log.group_by("service").tumbling_window("3660d").aggregate(n=wb.count(), ms=wb.mean(col.ms))
progress = services.progressive(every="1%", seed=3)
answers = list(progress.until(error="5%", value="ms"))
answer = answers[-1]
print(answers[0].summary)
print(answer.summary)

# %%
answer.table.to_pandas()[["service", "n", "n_low", "n_high", "ms", "ms_low", "ms_high"]].round(1)

# %% [markdown]
# The same as a view. It reads in the background while other cells run, and stops at 2%.

# %%
services.progressive(every="1%", seed=5).until(error="2%", value="ms").view(kind="bar", y="ms")

# %% [markdown]
# ## Claims
#
# Claim what is certain enough now.

# %%
progress.add_claim(answer.compare({"service": "web"}, {"service": "search"}, "n"))

# %% [markdown]
# ## Priorities
#
# A week of June is read first: its days are exact while most of the year is unread.

# %%
days = log.tumbling_window("1d").aggregate(n=wb.count(), ms=wb.mean(col.ms))
week = days.progressive(every="0.5%", seed=3)
next(week)
week.prioritize(between=("2024-06-24", "2024-07-01"))
for answer in week:
    exact = set(answer.table.slice(0, answer.settled)["start"].to_pylist())
    if sum(each.month == 6 and each.day >= 24 for each in exact) == 7:
        break
print(f"the week is exact after {answer.fraction_read:.1%} of the rows: {len(exact)} days are")

# %% [markdown]
# ## To the end
#
# The query stopped at 5%; resuming reads only the remaining rows. The claim is compared with the exact result.

# %%
exact = progress.finish()
progress.claims

# %% [markdown]
# That is the result of a query without sampling, and that of Spark's own tasks.

# %%
whole, on_spark = services.collect(), services.collect(on=spark)


def rows_of(table):
    return [(row["service"], row["n"]) for row in table.sort_by("service").to_pylist()]


same = rows_of(exact) == rows_of(whole) == rows_of(on_spark) and np.allclose(
    exact.sort_by("service")["ms"], whole.sort_by("service")["ms"], rtol=1e-12)
same

# %% [markdown]
# ## A computed DataFrame
#
# After it is cached, its partitions are the blocks that come in random order. A Spark job counts them first, and the
# rows that Spark sends later must agree with these counts.

# %%
slow = requests.where("service != 'cron'").selectExpr("at", "service", "ms > 150 as slow").cache()
shares = wb.from_spark(slow, time="at").group_by("service").tumbling_window("3660d").aggregate(
    n=wb.count(), slow=wb.count().where(col.slow) / wb.count())
progress = shares.progressive(every="5%", seed=3)
*_, answer = progress.until(error="20%", value="slow")
print(answer.summary)

# %%
exact = progress.finish()
counted = slow.groupBy("service").count().toArrow().sort_by("service")
same &= exact.sort_by("service")["n"].to_pylist() == counted["count"].to_pylist()
spark.stop()
shutil.rmtree(folder)
print("last answers, answers at once and Spark's are the same:", same)
