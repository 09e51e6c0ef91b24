# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Late data, and results at several latencies
#
# You will see the lateness of the rows of a log. Then one query gives an early result and its revisions from one pass
# over the log (Chandramouli, Goldstein and Li: Impatience is a virtue, ICDE 2018). For its cost, see
# `10_figures_of_late_data`.

# %%
import pandas as pd

import whimbrel as wb
from whimbrel import col

# %% [markdown]
# ## How late are the rows of flights?

# %%
flights = wb.read_parquet(wb.datasets.flights_file(), time="departure", arrival="landed", name="flights")
delays = flights.group_by("origin").tumbling_window("1d").aggregate(flights=wb.count(), delay=wb.mean(col.dep_delay))
wb.lateness(flights).at("1h", "3h", "12h", query=delays).to_pandas()

# %% [markdown]
# ## Three results from one pass
#
# Each row has its band, its change since the band before (insert, unchanged, update or delete), and its earlier values.

# %%
bands = delays.at_latencies("1h", "3h", "12h")
answers = bands.collect().to_pandas()
answers[["start", "origin", "flights", "band", "change", "flights_before"]].head(9)

# %%
pd.crosstab(answers.band, answers.change)

# %% [markdown]
# The last result is that of a query that waits for twelve hours from the start.

# %%
path = wb.datasets.flights_file()
patient = delays.on(wb.read_parquet(path, time="departure", arrival="landed", reorder_latency="12h", late="drop"))
last = answers[answers.band == "12h"].sort_values(["start", "origin"])
waited = patient.collect().to_pandas().sort_values(["start", "origin"])
print("the last of three answers is the patient one:", last.flights.tolist() == waited.flights.tolist())
