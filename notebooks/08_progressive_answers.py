# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Progressive answers
#
# You will see a query over twenty million rows answer after a hundredth of them, say how far off it may be, and
# refine to the exact answer; then be steered, stopped, gone on with, and held to what it said.

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
# A year of requests to twelve services. Rows are in the order of time, and the services' response times drift, so that
# rows that lie together are alike: blocks of the log differ more than chance would have it, and intervals know.

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
# `progressive(...)` at the end of a cell reads on by itself while other cells answer. Bars are hatched while they are
# estimates, their whiskers hold the final values, and the curve beside the bound says whether waiting pays. Here it
# stops at 2%: *Finish exactly* goes on. Click a bar, or drag over a stretch of time in a view of lines, and that is
# read first; *Remember picture* pins what is said now, and holds it to the exact answer.

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
# The same by hand. One window holds the year. Each answer has `n_low` and `n_high` beside `n`, and so on; an interval
# holds at every look with 95%.

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
# ## Remembering
#
# A claim made now is looked at again when the answer is exact.

# %%
claims = [progress.add_claim(answer.compare({"service": left}, {"service": right}, "ms"))
          for left, right in (("search", "web"), ("edge", "web"), ("cart", "search"))]
claims

# %% [markdown]
# ## Steering
#
# From here on the last week of June comes first. Rows that were read are not read again. Days of that week are exact
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
# A request alone says neither to which team it belongs nor whether its hour was slow. Here ranges of time are sampled,
# each of which is answered whole; the small table is read first. Seasons differ, and so do ranges: intervals know.

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
# Going on reads what is left, and the last answer is the one that a query without all this gives.

# %%
exact = progress.finish()
whiskers(progress.latest)

# %% [markdown]
# What became of the claims. The metadata of this output holds them, and is saved with the notebook: `load_claims(...)`
# remembers them in a later session.

# %%
progress.claims

# %%
whole = query.collect()
exact, whole = exact.sort_by("service"), whole.sort_by("service")
same = all(exact[name].equals(whole[name]) for name in ("service", "n", "failures"))
agree = np.allclose(exact["ms"], whole["ms"], rtol=1e-12)
print("the last answer is the one answer:", same and agree)
