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
# You will see a year of flights become a table, and the same query become a chart that moves while the last month of that
# year passes again, five thousand times faster.
#
# The log holds every flight that left New York in 2013 and landed. A row becomes known when the aircraft lands, so a long
# flight is reported hours after the short ones that left with it: nine rows in ten are out of order.

# %%
import os
import shutil

import whimbrel as wb
from whimbrel import col

# %% [markdown]
# ## History
#
# Spark loads the log where there is a Java runtime, Arrow where there is none. The rows are the same.

# %%
flights = wb.datasets.flights()
flights.schema

# %% [markdown]
# ## One query
#
# Departures and mean delay, per airport and hour. Nothing is computed yet: `delays` is a query.

# %%
delays = flights.group_by("origin").tumbling_window("1h").aggregate(flights=wb.count(), delay=wb.mean(col.dep_delay))
print(delays.explain())

# %% [markdown]
# ## Back-test: the whole year, exact

# %%
history = delays.collect()
history.slice(0, 6).to_pandas()

# %% [markdown]
# ## The same query, live
#
# `on` points the query at another source. Here it is a replay of the last month in the order in which the flights landed; a
# row may be up to twelve hours late and still be counted. What can still change is drawn differently from what is settled.

# %%
speed = float(os.environ.get("WHIMBREL_DEMO_SPEED", "5000"))
live = delays.on(wb.replay(flights, speed=speed, start="2013-12-01", reorder_latency="12h"))
live
