# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # One query as SQL and as Python
#
# You will see one query of flight delays written as SQL and printed as Python. It runs on a Parquet log of a year, and
# then on a replay of December. Last, a query in Python is printed as SQL.

# %%
import holoviews as hv

import whimbrel as wb
from whimbrel import col

hv.extension("bokeh", logo=False, inline=True)
hv.renderer("bokeh").webgl = False

log = wb.datasets.flights_file()
flights = wb.read_parquet(log, time="departure", arrival="landed", name="flights")
print(flights.schema.show())

# %% [markdown]
# ## The query as SQL
#
# Each day of each airport is a group. The day is an epoch of the event time, so it is complete when time has passed it.
# Flights that left more than half an hour late are counted with `FILTER`.

# %%
text = """
    SELECT origin, day, count(*) AS flights, count(*) FILTER (WHERE dep_delay > 30) AS late, avg(dep_delay) AS delay
    FROM flights
    GROUP BY origin, date_trunc('day', departure) AS day
    HAVING count(*) > 100
"""
days = wb.sql(text, flights=flights)

# %% [markdown]
# ## The same query as Python
#
# The text calls methods of streams. `python()` prints these calls.

# %%
print(days.python())

# %% [markdown]
# Written by hand, the query has the same plan.

# %%
by_hand = (
    flights.tumbling_window("1d")
    .group_by("origin")
    .aggregate(
        day=wb.window_start(),
        flights=wb.count(),
        late=wb.count().where(col.dep_delay > 30),
        delay=wb.mean(col.dep_delay),
    )
    .where(col.flights > 100)
)
print(days.explain())
print("one plan:", days.explain() == by_hand.explain())

# %% [markdown]
# ## A year of the log
#
# Around the first of July, and again before Christmas, a third of the flights from Newark left late.

# %%
history = days.collect().to_pandas()
history["share"] = 100 * history["late"] / history["flights"]
lines = [
    hv.Curve((rows["day"].dt.tz_localize(None), rows["share"].rolling(7).mean()), label=origin)
    for origin, rows in history.groupby("origin")
]
shape = hv.opts.Curve(width=760, height=300, xlabel="", ylabel="late flights, % (mean of a week)", show_grid=True)
hv.Overlay(lines).opts(shape, hv.opts.Overlay(legend_position="right"))

# %% [markdown]
# ## The same query, live
#
# `on` points the query at a replay of December. Its rows come in the order in which the flights landed, and may be up
# to twelve hours late. Settled days are solid, provisional ones are dashed.

# %%
clock = wb.ReplayClock(speed=10_000)
december = wb.replay(flights, start="2013-12-01", clock=clock, reorder_latency="12h")
days.on(december).view(y="delay")

# %% [markdown]
# ## A query in Python, printed as SQL
#
# `sql()` prints what has a word in SQL. Operators are functions of tables there, such as `TOP_K`.

# %%
worst = by_hand.group_by("day").top_k(1, by=col.delay).select("day", "origin", "delay")
print(worst.sql())

# %% [markdown]
# The printed text makes the same plan again.

# %%
again = wb.sql(worst.sql(), flights=flights)
print("the same plan:", again.explain() == worst.explain())
again.collect().to_pandas().nlargest(5, "delay")[["day", "origin", "delay"]]

# %% [markdown]
# ## Do they agree?
#
# The replay runs once more at full speed, as SQL, and is compared with the backtest of the Python query. The first day
# is left out: its early flights landed in November.

# %%
feed = wb.replay(flights, speed=float("inf"), start="2013-12-01", reorder_latency="12h")


def since_second(table):
    rows = [row for row in table.to_pylist() if f"{row['day']:%Y-%m-%d}" >= "2013-12-02"]
    return sorted(rows, key=lambda row: (row["day"], row["origin"]))


live, past = since_second(wb.sql(text, flights=feed).collect()), since_second(by_hand.collect())
print(f"{len(live)} days live as SQL, {len(past)} as Python; the same: {live == past}")
