# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Backtest, then live
#
# You will see one query run over eleven months of history and then continue with a replay of December. At the end a
# table shows whether both gave the same result.

# %%
import whimbrel as wb
from whimbrel import col

flights = wb.datasets.flights()
delays = flights.group_by("origin").tumbling_window("1d").aggregate(flights=wb.count(), delay=wb.mean(col.dep_delay))

# %% [markdown]
# ## The backtest
#
# All of the year, exact, in one table. The query does not depend on where its rows come from.

# %%
history = delays.collect()
worst = max(history.to_pylist(), key=lambda row: row["delay"])
print(f"{history.num_rows:,} days; the worst: {worst['origin']} on {worst['start']:%Y-%m-%d}, {worst['delay']:.0f} min")

# %% [markdown]
# ## The same query, live
#
# A replay of December takes about nine seconds per day. You can pause its clock, step it, speed it up and set it to any
# instant.

# %%
clock = wb.ReplayClock(speed=10_000)
december = wb.replay(flights, start="2013-12-01", clock=clock, reorder_latency="12h")
delays.on(december).view(y="delay")

# %% [markdown]
# ## Do they agree?
#
# The same replay runs at full speed and is compared with the backtest. The first day is left out: its early flights
# landed in November, before the replay began.

# %%
feed = wb.replay(flights, speed=float("inf"), start="2013-12-01", reorder_latency="12h")


def since_second(table):
    rows = [row for row in table.to_pylist() if f"{row['start']:%Y-%m-%d}" >= "2013-12-02"]
    return sorted(rows, key=lambda row: (row["start"], row["origin"]))


live, past = since_second(delays.on(feed).collect()), since_second(history)
print(f"{len(live)} days live, {len(past)} in the back-test; the same: {live == past}")
