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
# You will see a year of flights become a table, and the same query become a chart that moves while the last month of
# that year passes again, five thousand times faster.
#
# The log holds every flight that left New York in 2013 and landed. A row becomes known when the aircraft lands, so a
# long flight is reported hours after the short ones that left with it: nine rows in ten are out of order.

# %%
import whimbrel as wb
from whimbrel import col
from whimbrel.spark import has_java, local_session

# %% [markdown]
# ## History
#
# Spark loads the log where there is a Java runtime, Arrow where there is none; the rows are the same. `departure` is
# when things happened, `landed` is when they became known.

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
# ## The back-test: the whole year, exact

# %%
history = delays.collect()
history.slice(0, 6).to_pandas()

# %% [markdown]
# ## The same query, live
#
# `on` points the query at another source: the last month, passing again in the order in which the flights landed. A row
# may be up to twelve hours late and still count. What can still change is drawn differently from what is settled. Five
# thousand times faster than life, a month takes nine minutes; the toolbar pauses and stops it.

# %%
december = wb.replay(flights, speed=5000, start="2013-12-01", reorder_latency="12h")
delays.on(december)

# %% [markdown]
# ## Is it the same answer?
#
# The chart above is still moving. Meanwhile the same replay runs once more as fast as it can, and its settled rows are
# compared with the back-test's. The first day is left out: its early flights landed in November.

# %%
feed = wb.replay(flights, speed=float("inf"), start="2013-12-01", reorder_latency="12h")


def since_second(table):
    frame = table.to_pandas()
    return frame[frame.start >= "2013-12-02 00:00Z"].sort_values(["start", "origin"]).reset_index(drop=True)


live, past = since_second(delays.on(feed).collect()), since_second(history)
print(f"{live.flights.sum():,} flights in {len(live):,} rows; mean of the hourly delays {live.delay.mean():.2f} min")
print("replay and back-test agree:", live.equals(past))
