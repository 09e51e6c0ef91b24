# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A big scatter, and a heat map
#
# You will see two million readings as one scatter. Its color shows how many lie on each other, and zooming shows single
# points again. Then you will see the same readings as a heat map, with a row for each sensor and a color for each hour.

# %%
import numpy as np
import pyarrow as pa

import whimbrel as wb
from whimbrel import col

ROWS, SENSORS, HOURS = 2_000_000, 24, 14 * 24
draw = np.random.default_rng(6)
at = np.datetime64("2026-03-01", "us") + np.sort(draw.integers(0, HOURS * 3600, ROWS)) * np.timedelta64(1, "s")
sensor = draw.integers(0, SENSORS, ROWS)
hour = (at - at[0].astype("datetime64[D]")).astype("timedelta64[h]").astype(int)
warmth = 12 + 0.2 * sensor + 6 * np.sin((hour % 24 - 9) / 24 * 2 * np.pi) + draw.normal(0, 1.5, ROWS)
log = pa.table({"at": at, "sensor": pa.array([f"sensor {number}" for number in range(SENSORS)]).take(sensor),
                "warmth": warmth})
readings = wb.from_arrow(log, time="at", name="readings")

# %% [markdown]
# ## Every reading is a point
#
# The query aggregates nothing, so the view draws points. A browser cannot draw two million of them. The kernel counts
# the points in each pixel of the visible range, and sends the counts. Zoom in with the wheel: the points are counted
# again, and if few are left, each is drawn separately.

# %%
cloud = readings.select(warmth=col.warmth).view(kind="scatter", y="warmth", title="Two million readings")
cloud

# %% [markdown]
# ## A row for each sensor
#
# A heat map can show more keys than a line chart. It is the default for many keys, also without `kind=`. Provisional
# cells are hatched. Point at a cell to read it.

# %%
per_hour = readings.group_by("sensor").tumbling_window("1h").aggregate(warmth=wb.mean(col.warmth), n=wb.count())
per_hour.view(title="Mean warmth by sensor and hour")

# %% [markdown]
# ## Is it right?
#
# The means with NumPy, and the number of points of the first view's run.

# %%
place = sensor * HOURS + hour
theirs = np.bincount(place, warmth, SENSORS * HOURS) / np.bincount(place, minlength=SENSORS * HOURS)
answer = per_hour.collect()
numbers = np.array([int(name.split()[1]) for name in answer["sensor"].to_pylist()])
hours = ((answer["start"].to_numpy() - at[0].astype("datetime64[D]")) // np.timedelta64(1, "h")).astype(int)
ours = np.empty(SENSORS * HOURS)
ours[numbers * HOURS + hours] = answer["warmth"].to_numpy()
cloud.run.wait()
print(f"points: {cloud.run.metrics.rows:,}; means agree with NumPy: {np.allclose(ours, theirs)}")
