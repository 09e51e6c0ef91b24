# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Inside: plan, kernels, profile
#
# You will see the optimized plan of a query, the code that is generated for it, its profile, and the source events of
# one of its values.

# %%
import whimbrel as wb
from whimbrel import col

flights = wb.datasets.flights()
delays = (
    flights.where(col.distance > 500)
    .group_by("origin")
    .tumbling_window("1d")
    .aggregate(flights=wb.count(), delay=wb.mean(col.dep_delay))
)

# %% [markdown]
# ## The plan and the optimized plan
#
# The brackets show the known properties of each stream. They choose among few variants of a kernel.

# %%
print(delays.explain())

# %% [markdown]
# ## The code
#
# It is a thin layer over handwritten primitives. Each line of yours follows the line that it became, as a comment.

# %%
print(delays.kernels())

# %% [markdown]
# ## Profile the query

# %%
spent = delays.profile()
spent.operators.to_pandas()

# %% [markdown]
# ## Trace a value to its events
#
# The source events of one day's value, and the steps that they went through.

# %%
row = delays.collect().to_pylist()[0]
found = delays.lineage(row)
print(found)
print("as many as it says:", found.origins[0].rows == row["flights"])
