# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Progressive queries
#
# You will see a query over twenty million rows give estimates after 1% of them, with confidence intervals, and converge
# to the exact result. You will prioritize a week, stop, resume, and compare claims with the exact result.

# %%
import os

import holoviews as hv
import numpy as np
import pyarrow as pa

import whimbrel as wb
from whimbrel import col

hv.extension("bokeh", logo=False, inline=True)
ROWS = int(os.environ.get("WHIMBREL_ROWS", "20_000_000"))

# %% [markdown]
# ## A log
#
# A year of requests to twelve services. Rows are in time order, and the response times of the services drift. Rows that
# are close together are therefore alike, so blocks of the log differ more than by chance. The intervals account for
# that.

# %%
chance = np.random.default_rng(11)
YEAR_S = 365 * 86_400
at = np.sort(chance.integers(0, YEAR_S, ROWS))
service = np.minimum(chance.geometric(0.25, ROWS) - 1, 11)
drift = 1 + 0.4 * np.sin(at / YEAR_S * 17)
names = np.array(["web", "search", "cart", "pay", "mail", "image", "auth", "feed", "chat", "ads", "cron", "edge"])
log = wb.from_arrow(pa.table({
    "at": (at + 1_704_067_200).astype("datetime64[s]"),
    "service": pa.DictionaryArray.from_arrays(pa.array(service.astype(np.int32)), names),
    "ms": chance.exponential(1, ROWS) * (40 + 7 * service) * drift,
    "failed": chance.random(ROWS) < 0.01 * drift,
}), time="at", name="requests")

# %% [markdown]
# ## A view
#
# `progressive(...)` at the end of a cell reads in the background while other cells run. Hatched bars are estimates.
# Their whiskers contain the final values, and the curve next to the bound shows whether waiting pays. This query stops
# at 2%; *Finish query* reads the rest. Click a bar, or drag over a time range in a line chart, to read it first. *Pin
# estimate* keeps the present values, to compare them with the exact result.

# %%
query = log.group_by("service").tumbling_window("3660d").aggregate(
    n=wb.count(), ms=wb.mean(col.ms), failures=wb.count().where(col.failed) / wb.count())
query.progressive(every="1%", seed=5).until(error="2%", value="ms").view(kind="bar", y="ms")

# %%
fortnights = log.tumbling_window("14d").aggregate(n=wb.count(), ms=wb.mean(col.ms))
fortnights.progressive(every="1%", block_rows=ROWS // 4_000 + 1, seed=5)

# %% [markdown]
# ## Refinement
#
# The same in code. One window holds the year. Each result has columns such as `n_low` and `n_high` for `n`. The
# intervals are valid at all updates together, with 95% confidence.

# %%
progress = query.progressive(every="1%", seed=3)
answers = list(progress.until(error="5%", value="ms"))
answer = answers[-1]
print(answers[0].summary)
print(answer.summary)

# %%
answer.table.to_pandas()[["service", "ms", "ms_low", "ms_high", "failures", "failures_low", "failures_high"]]


# %%
def whiskers(answer):
    """Mean response times: hollow with a whisker while they are estimates, solid when they are exact."""
    rows = sorted(answer.table.to_pylist(), key=lambda row: names.tolist().index(row["service"]))
    rows = [row for row in rows if row["ms_low"] is not None]
    points = hv.Scatter([(row["service"], row["ms"]) for row in rows], "service", "ms").opts(
        size=9, color="#0072b2", fill_alpha=1.0 if answer.final else 0.0)
    bars = hv.ErrorBars([(row["service"], row["ms"], row["ms"] - row["ms_low"], row["ms_high"] - row["ms"])
                         for row in rows], "service", ["ms", "below", "above"])
    title = "all rows: exact" if answer.final else f"{answer.fraction_read:.0%} of the rows: estimates"
    return (bars * points).opts(title=title, width=440, height=300, xrotation=40, ylim=(0, 200),
                                ylabel="mean response (ms)")


early = next((each for each in answers if each.fraction_read >= 0.1), answer)
whiskers(early) + whiskers(answer)

# %% [markdown]
# ## Does waiting pay?

# %%
hv.Curve([(each.fraction_read * 100, each.error_of("ms") * 100) for each in answers if each.error_of("ms") < 1],
         "rows read (%)", "largest error of a mean (%)").opts(width=520, height=240, color="#0072b2")

# %% [markdown]
# ## Claims
#
# A claim made now is checked when the result is exact.

# %%
claims = [progress.add_claim(answer.compare({"service": left}, {"service": right}, "ms"))
          for left, right in (("search", "web"), ("edge", "web"), ("cart", "search"))]
claims

# %% [markdown]
# ## Priorities
#
# From here on the last week of June is read first. Rows that were read are not read again. Days of that week are exact
# while most of the year is unread.

# %%
days = log.tumbling_window("1d").aggregate(n=wb.count(), ms=wb.mean(col.ms))
week = days.progressive(every="1%", seed=3)
next(week)
week.prioritize(between=("2024-06-24", "2024-07-01"))
for answer in week:
    exact = set(answer.table.slice(0, answer.settled)["start"].to_pylist())
    if sum(each.month == 6 and each.day >= 24 for each in exact) == 7:
        break
print(f"the week is exact after {answer.fraction_read:.1%} of the rows: {len(exact)} days are")

# %% [markdown]
# ## Rows that need others
#
# A single request shows neither its team nor whether its hour was slow. This query samples time ranges and evaluates
# each range completely; the small table is read first. Seasons differ, and so do ranges. The intervals account for
# that.

# %%
begin, end = (np.array([at.min(), at.max() + 1]) + 1_704_067_200).astype("datetime64[s]")
owners = ["shop", "shop", "shop", "money", "shop", "media", "core", "media", "media", "money", "core", "core"]
teams = wb.from_arrow({"since": np.full(12, begin), "until": np.full(12, end), "service": names, "team": owners},
                      time="since", end="until", name="teams").select("service", "team")
by_team = log.join(teams, on="service").group_by("team").tumbling_window("3660d").aggregate(
    n=wb.count(), ms=wb.mean(col.ms))
slow = log.tumbling_window("1h").aggregate(ms=wb.mean(col.ms)).where(col.ms > 60).tumbling_window("3660d").aggregate(
    hours=wb.count(), ms=wb.mean(col.ms))
for question in (by_team, slow):
    *_, answer = question.progressive(every="1%", seed=3).until(error="15%")
    print(answer.summary)
    print(answer.table.drop_columns(["start", "end"]).to_pandas())

# %% [markdown]
# ## To the end
#
# Resuming reads the remaining rows. The last result is that of the same query without sampling.

# %%
exact = progress.finish()
whiskers(progress.latest)

# %% [markdown]
# The table shows what became of the claims. The metadata of this output holds them, and is saved with the notebook. In
# a later session, `load_claims(...)` loads them.

# %%
progress.claims

# %%
whole = query.collect()
exact, whole = exact.sort_by("service"), whole.sort_by("service")
same = all(exact[name].equals(whole[name]) for name in ("service", "n", "failures"))
agree = np.allclose(exact["ms"], whole["ms"], rtol=1e-12)
print("the last answer is the one answer:", same and agree)
