# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The cost of several latencies
#
# You will see the figures of a paper on late data (Chandramouli, Goldstein and Li: Impatience is a virtue, ICDE 2018),
# measured with this engine. They show how disordered logs are, what sorting costs, and what three results from one pass
# cost.
#
# The paper's logs are not public. `bench/disordered.py` makes logs like them, of 20 million rows.

# %%
import json
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

import whimbrel as wb
from whimbrel import col

ROOT = Path.cwd() if (Path.cwd() / "bench").is_dir() else Path.cwd().parent
sys.path.insert(0, str(ROOT))

from bench import disordered
from bench.sorted_runs import runs_over_time
from whimbrel.disorder import measure_disorder
from whimbrel.kernels import wait_for_compiler

ROWS = int(os.environ.get("WHIMBREL_ROWS", "20_000_000"))
LOGS = {"CloudLog": disordered.cloud_log(ROWS), "AndroidLog": disordered.android_log(ROWS)}

# %% [markdown]
# ## Table I: how disordered the logs are
#
# The column `inversions` counts pairs of rows in the wrong order. The largest distance of such a pair, in rows, is
# `distance`. Sorted pieces are counted in `runs`. The fewest sorted runs for dealing out the log are `interleaved`.

# %%
MEASURES = ("inversions", "distance", "runs", "interleaved")
with wait_for_compiler():  # until the loops are compiled
    FOUND = {name: measure_disorder(times) for name, times in LOGS.items()}


def table_of(**columns):
    """A stream of rows that are one after the other; `row` is its time."""
    return wb.from_arrow({"row": np.arange(len(next(iter(columns.values())))), **columns}, time="row")


table_of(
    log=[name for name in LOGS for _ in MEASURES], measure=[*MEASURES] * 2,
    like_the_log=[getattr(FOUND[name], measure) for name in LOGS for measure in MEASURES],
    in_the_paper=[printed for name in LOGS for printed in disordered.PAPER[name]],
).view(kind="table", title=f"Disorder of {ROWS:,} rows")

# %% [markdown]
# ## Figure 2: event times in the order of arrival
#
# One row of 200 is drawn. A sorted log would be one line. In the first log, servers lost their connection and sent
# their rows later. In the second log, devices collect rows for hours and send everything at once.

# %%
SHARES = {name: (times[::200] - times.min()) / (times.max() - times.min()) for name, times in LOGS.items()}


def arrivals(name):
    """The rows of a log that are drawn."""
    arrived = table_of(happened=100 * SHARES[name])
    return arrived.view(kind="scatter", y="happened",
                        title=f"{name}-like: event time (%) by arrival (of {len(SHARES[name]):,})")


arrivals("CloudLog")

# %%
arrivals("AndroidLog")

# %% [markdown]
# ## Figure 5: sorted runs while rows arrive
#
# Patience sort keeps every run until the end. Impatience sort emits finished rows at each punctuation and removes empty
# runs. After the failure in the first log, 363 runs fall to a handful again. The devices of the second log are always
# late, so there is little to remove.

# %%
LATENCY = {"CloudLog": 60_000_000, "AndroidLog": 86_400_000}
STEP = ROWS // 200


def runs_of(name):
    """Runs of both sorts, by rows that came."""
    with wait_for_compiler():
        counts = {sort: runs_over_time(LOGS[name], every=STEP, latency=LATENCY[name], cuts=cuts)
                  for sort, cuts in (("Patience sort", False), ("Impatience sort", True))}
    table = {"row": np.concatenate([np.arange(1, len(count) + 1) * STEP for count in counts.values()]),
             "sort": np.repeat([*counts], [len(count) for count in counts.values()]),
             "runs": np.concatenate([*counts.values()])}
    return wb.from_arrow(pa.table(table).sort_by("row"), time="row").view(
        kind="line", y="runs", by="sort", title=f"{name}-like: sorted runs by rows that came")


runs_of("CloudLog")

# %%
runs_of("AndroidLog")

# %% [markdown]
# ## Measured beforehand
#
# The following figures take an hour at full size, 20 million rows, so they were measured before: `make figures` writes
# them to `bench/figures`. All results were compared before a time was taken. The compared systems ran in turn. A ratio
# above 1 is in our favour. The output names command and commit of each file.

# %%
MEASURED = [json.loads((ROOT / "bench" / "figures" / f"{name}.json").read_text()) for name in ("sorting", "latencies")]
for each in MEASURED:
    print(f"{each['command']}, commit {each.get('commit', 'not recorded')}, on {each['machine']}")
ALL = [row for each in MEASURED for row in each["rows"]]
NAMES = ("workload", "case", "metric", "peer", "ours", "peer_value", "ratio")
measured = table_of(**{name: [row[name] for row in ALL if "peer" in row] for name in NAMES})


def ratios(workload, metric="M rows/s"):
    """Our side against each peer, as bars by case and peer."""
    asked = measured.where((col.workload == workload) & (col.metric == metric))
    return asked.view(kind="bar", by=["case", "peer"], y="ratio", top=60, title=f"{workload}: ratio of {metric}")


def values(workload, metric="M rows/s"):
    """The numbers themselves."""
    asked = measured.where((col.workload == workload) & (col.metric == metric))
    return asked.select("case", "peer", "ours", "peer_value", "ratio").view(kind="table", title=f"{workload}: {metric}")


def with_the_paper(workload, metric, *lines):
    """Smallest and largest of our ratios, and those of the paper, which used another machine and other logs."""
    rows = [row for row in ALL if row["workload"] == workload and row["metric"] == metric]
    found = [[row["ratio"] for row in rows if row["peer"] == peer and row["case"].startswith(log)]
             for peer, log, _ in lines]
    return table_of(log=[f"{log}-like" for _, log, _ in lines], peer=[peer for peer, _, _ in lines],
                    here=[f"{min(ratios):.2f} to {max(ratios):.2f}" for ratios in found],
                    in_the_paper=[printed for _, _, printed in lines]).view(
        kind="table", title=f"Ratio of {metric}, ours to each peer")


# %% [markdown]
# ## Figure 7: sorting whole logs
#
# Whole columns first, then the same rows in batches. Peers are NumPy's stable sort and Polars.

# %%
ratios("C offline")

# %%
values("C offline")

# %%
ratios("C offline, batches")

# %% [markdown]
# ## Figure 8: sorting rows as they arrive
#
# The number of rows between punctuations goes from 10 to a million. Two ideas of the paper are switched off in turn:
# merging the smallest runs first (Huffman), and trying the run of the row before (speculation).

# %%
ratios("C online")

# %%
values("C online")

# %%
with_the_paper("C online", "M rows/s", ("heap", "CloudLog", "1.3 to 7.9"), ("heap", "AndroidLog", "1.3 to 7.9"))

# %% [markdown]
# ## Figure 9: sorting only what is needed
#
# The same query sorts at its source, or after its filter, projection or window. The paper sorts after these operators
# too, and gains most where they drop most.

# %%
ratios("C sort as needed")

# %% [markdown]
# ## Table II: how complete a result is, and how long it takes
#
# Three latencies of one query. "Together" is one pass with three results; the other ways give one latency. Waiting is
# counted in windows, in event time, from the end of a window to its result.

# %%
figures = [row for row in ALL if "limit" in row]
table_of(case=[row["case"] for row in figures], value=[row["value"] for row in figures],
         metric=[f"{row['metric']} {row['limit']}" for row in figures]).view(
    kind="table", title="Completeness and waiting")

# %% [markdown]
# ## Figure 10: throughput and memory of three results
#
# "Basic" runs the whole query three times, once for each latency. "Smallest only" drops later rows. "Largest only"
# makes every result wait. Memory is the maximum that the engine buffers: rows and partial aggregates. The last table
# has what the process grew by, with keys, free space of arrays and results.

# %%
ratios("D")

# %%
ratios("D", "MB buffered")

# %%
values("D", "MB buffered")

# %%
with_the_paper("D", "M rows/s", ("smallest only", "CloudLog", "0.78 to 0.96"), ("basic", "CloudLog", "2.3 to 2.8"),
               ("largest only", "AndroidLog", "0.93 to 0.99"), ("basic", "AndroidLog", "1.9 to 2.2"))

# %%
with_the_paper("D", "MB buffered", ("basic", "CloudLog", "29 to 31"), ("largest only", "CloudLog", "27 to 29"))

# %%
values("D", "MB grown")

# %% [markdown]
# ## Conclusion
#
# Three results together take less time than the last one alone, which waits for everything. They need a small part of
# the memory of three queries. Without groups the last one alone keeps partial counts too, and needs as little.

# %%
found = measured.where((col.workload == "D") & (col.metric == "M rows/s") & (col.peer == "largest only")).collect()
least = min(found["ratio"].to_pylist())
print(f"least ratio of throughput, three together to the largest latency alone: {least:.1f}")
