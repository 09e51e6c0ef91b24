# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Windows and lifetimes, drawn
#
# You will see five events as bars on a time axis, and how each kind of window changes their lifetimes. Then you will
# see an aggregate of them: a step function that changes when an event begins or ends.

# %%
import holoviews as hv

import whimbrel as wb
from whimbrel import col

hv.extension("bokeh", logo=False, inline=True)
hv.renderer("bokeh").webgl = False

events = wb.from_arrow({"at": [1, 3, 4, 11, 14], "until": [2, 9, 5, 13, 16], "x": [10, 20, 30, 40, 50]},
                       time="at", end="until", name="events")

# %% [markdown]
# An event is a payload that is true from `start` up to, not including, `end`. This draws each as a bar.


# %%
def drawn(stream, title):
    rows = stream.collect().to_pylist()
    bars = [(row["start"], place, row["end"], place + 0.6, str(row["x"])) for place, row in enumerate(rows)]
    names = [(row["start"] + 0.15, place + 0.3, str(row["x"])) for place, row in enumerate(rows)]
    shapes = hv.Rectangles(bars, vdims="x").opts(color="#56B4E9", line_color="#0072B2")
    words = hv.Labels(names).opts(text_align="left", text_font_size="9pt", text_color="#1f2328")
    return (shapes * words).opts(width=760, height=60 + 26 * len(rows), xlim=(0, 24), yaxis=None, xlabel="time",
                                 title=title, show_grid=True, toolbar=None)


drawn(events, "as they came")

# %% [markdown]
# ## A window sets how long an event counts
#
# Nothing is aggregated yet: a window only gives every event another lifetime.

# %%
windows = {
    "tumbling_window(5): the window of the grid that it begins in": events.tumbling_window(5),
    "hopping_window(10, 5): each window of 10, one every 5": events.hopping_window(10, 5),
    "sliding_window(6): six ticks from its start": events.sliding_window(6),
    "session_window(4): until nothing came for four ticks": events.session_window(4),
}
hv.Layout([drawn(stream, title) for title, stream in windows.items()]).cols(1).opts(toolbar=None)

# %% [markdown]
# ## Lifetimes can be changed by hand

# %%
changed = {
    "set_duration(3)": events.set_duration(3),
    "shift(5)": events.shift(5),
    "chop(5): cut where the grid is": events.chop(5),
}
hv.Layout([drawn(stream, title) for title, stream in changed.items()]).cols(1).opts(toolbar=None)

# %% [markdown]
# ## An aggregate has a value at every instant
#
# Its value at a time is that of all events that are active then. It changes when an event begins or ends.

# %%
counted = events.sliding_window(6).aggregate(n=wb.count(), total=wb.sum(col.x))
stairs = counted.collect().to_pylist()
steps = [(at, row["n"]) for row in stairs for at in (row["start"], row["end"])]
hv.Area(steps, "time", "events at once").opts(width=760, height=220, xlim=(0, 24), color="#56B4E9", alpha=0.5,
                                              line_color="#0072B2", show_grid=True, toolbar=None)

# %%
print("an instant with most events at once:", max(stairs, key=lambda row: row["n"]))
