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
# You will see what a query becomes before it runs, the code that is generated for it, where its time goes, and which
# rows are behind one of its values.

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
# ## The plan: as written, and as it runs
#
# In brackets is what is known of each stream; it chooses among few variants of a kernel.

# %%
print(delays.explain())

# %% [markdown]
# ## The code
#
# Thin glue over primitives that are written by hand. Each line of yours stands behind the line that it became.

# %%
print(delays.kernels())

# %% [markdown]
# ## Where the time goes

# %%
spent = delays.profile()
spent.operators.to_pandas()

# %% [markdown]
# ## Behind a value
#
# The rows that one day's value was made of, and the steps that they went through.

# %%
row = delays.collect().to_pylist()[0]
found = delays.lineage(row)
print(found)
print("as many as it says:", found.origins[0].rows == row["flights"])
