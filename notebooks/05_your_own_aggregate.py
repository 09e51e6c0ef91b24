# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Your own aggregate
#
# You will see an aggregate that Whimbrel does not have, written as four small functions and drawn over time. Then its
# speed is compared with the built-in mean.

# %%
import time

import numpy as np
import pyarrow as pa

import whimbrel as wb
from whimbrel import col

# %% [markdown]
# ## The root mean square
#
# It measures how large values are, whatever their sign. The state is a pair: sum of squares and count. `merge` lets
# windows use panes and threads share the work; `remove` lets rows leave a sliding window.

# %%
strength = wb.aggregate(
    init=(0.0, 0),
    accumulate=lambda s, x: (s[0] + x * x, s[1] + 1),
    result=lambda s: (s[0] / s[1]) ** 0.5 if s[1] else None,
    merge=lambda a, b: (a[0] + b[0], a[1] + b[1]),
    remove=lambda s, x: (s[0] - x * x, s[1] - 1),
    name="strength",
)

# %% [markdown]
# ## A signal that grows louder

# %%
ROWS = 200_000
draw = np.random.default_rng(7)
loud = draw.normal(0, 1, ROWS) * np.linspace(1, 5, ROWS)
signal = wb.from_arrow(pa.table({"at": np.arange(ROWS), "x": loud}), time="at", name="signal")
measured = signal.tumbling_window(2_000).aggregate(strength=strength(col.x), mean=wb.mean(col.x))
measured.view(y="strength")

# %% [markdown]
# ## Is it right?
#
# The same with NumPy, window by window.

# %%
ours = measured.collect()["strength"].to_pylist()
theirs = np.sqrt((loud.reshape(-1, 2_000) ** 2).mean(axis=1))
print("agrees with NumPy:", np.allclose(ours, theirs))

# %% [markdown]
# ## How fast is it?
#
# Its functions are compiled like those of the built-in aggregates. The first run waits for the compiler, so it is not
# timed.


# %%
def seconds(query):
    query.collect()
    began = time.perf_counter()
    query.collect()
    return time.perf_counter() - began


own = seconds(signal.tumbling_window(2_000).aggregate(v=strength(col.x)))
built_in = seconds(signal.tumbling_window(2_000).aggregate(v=wb.mean(col.x)))
print(f"{ROWS / own / 1e6:.0f} million rows/s; the built-in mean: {ROWS / built_in / 1e6:.0f}")
print("agrees with NumPy:", np.allclose(ours, theirs))
