# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Early answers of a Spark table
#
# You will see twenty million rows that Spark wrote answered after a hundredth of them, refined, steered, stopped and
# gone on with, and what was claimed on the way held to the exact answer.
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
# A year of requests to twelve services, written by Spark's tasks in the order of time. Their response times drift with
# the seasons. Times are written as `TIMESTAMP_MICROS`, so that footers say from when to when the rows of a file are:
# that is what a scan in any order goes by.

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
# `from_spark` of a DataFrame that is nothing but files leaves them to Arrow. Row groups come in random order, the
# intervals hold at every look, and here it is enough when no mean is farther off than 5%.

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
# The same as a view: it reads on by itself while other cells answer, and stops at 2%.

# %%
services.progressive(every="1%", seed=5).until(error="2%", value="ms").view(kind="bar", y="ms")

# %% [markdown]
# ## Remembering
#
# What is certain enough now is claimed.

# %%
progress.add_claim(answer.compare({"service": "web"}, {"service": "search"}, "n"))

# %% [markdown]
# ## Steering
#
# A week of June comes first: its days are exact while most of the year is unread.

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
# It was stopped at 5%; going on reads only what is left. The claim is held to the exact answer.

# %%
exact = progress.finish()
progress.claims

# %% [markdown]
# That is the answer of a query without all this, and that of Spark's own tasks.

# %%
whole, on_spark = services.collect(), services.collect(on=spark)


def rows_of(table):
    return [(row["service"], row["n"]) for row in table.sort_by("service").to_pylist()]


same = rows_of(exact) == rows_of(whole) == rows_of(on_spark) and np.allclose(
    exact.sort_by("service")["ms"], whole.sort_by("service")["ms"], rtol=1e-12)
same

# %% [markdown]
# ## A DataFrame that is computed
#
# Once it is cached its partitions are what comes in random order. They are counted first, by a Spark job, and what
# Spark sends later is held to that.

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
