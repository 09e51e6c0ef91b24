# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A first picture
#
# You will see a year of flights as a table. Then the same query becomes a chart that moves during a replay of the last
# month, five thousand times faster than life.
#
# The log holds every flight that left New York in 2013 and landed. A row arrives when the aircraft lands, so the row of
# a long flight arrives hours after those of short ones that left with it. Nine rows in ten are out of order.

# %%
import whimbrel as wb
from whimbrel import col
from whimbrel.spark import has_java, local_session

# %% [markdown]
# ## History
#
# Spark loads the log if there is a Java runtime, and Arrow otherwise; the rows are the same. `departure` is the event
# time, `landed` is the arrival time.

# %%
log = wb.datasets.flights_file()
if has_java():
    frame = local_session().read.parquet(str(log))
    flights = wb.from_spark(frame, time="departure", arrival="landed", name="flights")
else:
    flights = wb.read_parquet(log, time="departure", arrival="landed", name="flights")
print(flights.schema.show())

# %% [markdown]
# ## One query
#
# Departures and mean delay, per airport and hour. Nothing is computed yet: `delays` is a description.

# %%
delays = flights.group_by("origin").tumbling_window("1h").aggregate(flights=wb.count(), delay=wb.mean(col.dep_delay))
print(delays.explain())

# %% [markdown]
# ## The backtest: the whole year, exact

# %%
history = delays.collect()
history.slice(0, 6).to_pandas()

# %% [markdown]
# ## The same query, live
#
# `on` points the query at another source: a replay of the last month in the order in which the flights landed. A row
# may be up to twelve hours late and still count. Provisional results are drawn differently from settled ones. Five
# thousand times faster than life, a month takes nine minutes; the toolbar pauses and stops it.

# %%
december = wb.replay(flights, speed=5000, start="2013-12-01", reorder_latency="12h")
delays.on(december)

# %% [markdown]
# ## Is it the same result?
#
# The chart above is still moving. Meanwhile the same replay runs once more at full speed, and its settled rows are
# compared with the backtest's. The first day is left out: its early flights landed in November.

# %%
feed = wb.replay(flights, speed=float("inf"), start="2013-12-01", reorder_latency="12h")


def since_second(table):
    frame = table.to_pandas()
    return frame[frame.start >= "2013-12-02 00:00Z"].sort_values(["start", "origin"]).reset_index(drop=True)


live, past = since_second(delays.on(feed).collect()), since_second(history)
print(f"{live.flights.sum():,} flights in {len(live):,} rows; mean of the hourly delays {live.delay.mean():.2f} min")
print("replay and back-test agree:", live.equals(past))
