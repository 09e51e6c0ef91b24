# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What several latencies cost
#
# You will see the figures of a paper (Chandramouli, Goldstein and Li: Impatience is a virtue, ICDE 2018) made
# anew here: how disordered logs are, what sorting costs, and what three answers from one reading cost.

# %%
import json
import subprocess
import sys
from pathlib import Path

import holoviews as hv
import pandas as pd

hv.extension("bokeh", logo=False, inline=True)
ROOT = Path.cwd() if (Path.cwd() / "bench").is_dir() else Path.cwd().parent
sys.path.insert(0, str(ROOT))

# %% [markdown]
# ## The figures
#
# The numbers come from `python -m bench C D --json figures.json`, which compares every answer before it prints a time;
# where that file is not there it is made now, from small data (some minutes). A ratio above 1 is in our favour.

# %%
FIGURES = ROOT / "figures.json"
if not FIGURES.exists():
    command = [sys.executable, "-m", "bench", "C", "D", "--quick", "--json", str(FIGURES)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - this project
figures = pd.DataFrame(json.loads(FIGURES.read_text()))
figures.groupby("workload").size()

# %% [markdown]
# ### Table I: how disordered the logs are

# %%
from bench import disordered
from whimbrel.disorder import measure_disorder

ROWS = 2_000_000
made = {"CloudLog": measure_disorder(disordered.cloud_log(ROWS)),
        "AndroidLog": measure_disorder(disordered.android_log(ROWS))}
measures = ["inversions", "distance", "runs", "interleaved"]
table = pd.DataFrame({f"{name}-like, {ROWS:,} rows": [getattr(found, each) for each in measures]
                      for name, found in made.items()}, index=measures)
for name, printed in disordered.PAPER.items():
    table[f"{name}, 20M rows (paper)"] = printed
table.map("{:,}".format)

# %% [markdown]
# ### Figure 7: sorting whole logs


# %%
def bars(workload: str, title: str) -> hv.Bars:
    rows = figures[figures.workload == workload]
    ours = rows.drop_duplicates("case").assign(peer="whimbrel", peer_value=lambda each: each.ours)
    shown = pd.concat([ours, rows])[["case", "peer", "peer_value"]]
    return hv.Bars(shown, ["case", "peer"], "peer_value").opts(
        width=900, height=360, xrotation=60, ylabel="million rows/s", title=title, show_legend=False)


bars("C offline", "Whole columns") + bars("C offline, batches", "In batches")

# %% [markdown]
# ### Figure 8: sorting as rows come, by events between punctuations; and what two ideas are worth

# %%
bars("C online", "Online").opts(width=1400)

# %% [markdown]
# ### Figure 9: sorting only what is needed

# %%
bars("C sort as needed", "A filter, a projection or a window before the sort")

# %% [markdown]
# ### Table II and figure 10: three latencies together, against each other way to get one of them

# %%
bars("D", "Three latencies").opts(width=1200)

# %%
figures[figures.workload == "D"].pivot_table(index="case", columns="peer", values="ratio").round(2)

# %%
print("shown:", ", ".join(f"{len(rows)} figures of {name}" for name, rows in figures.groupby("workload")))
