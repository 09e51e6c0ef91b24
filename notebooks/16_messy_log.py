# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # An hour with a messy log
#
# You will see sales per month of two shops, from a CSV file as tills write them. It has local times of two zones,
# numbers with commas and units, lines that were sent twice, and lines that are broken. We look first, fix one thing at
# a time, and count what each step does. Last, pandas gives the same months.

# %%
import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

import whimbrel as wb
from whimbrel import col

# %% [markdown]
# ## The log
#
# Berlin writes `1.299,50 €` and New York `$1,299.50`. A collector adds the time of arrival in UTC. It does not write
# how a clock was set, and each till writes its own local time.

# %%
ZONES = {"berlin": "Europe/Berlin", "new york": "America/New_York"}
random = np.random.default_rng(16)
lines = ["received,till,sold,receipt,amount"]
moments = np.sort(random.uniform(0, 120 * 86_400, 20_000))
for receipt, second in enumerate(moments.tolist()):
    moment = datetime(2024, 1, 30, tzinfo=ZoneInfo("UTC")) + timedelta(seconds=int(second))
    till = "berlin" if random.random() < 0.6 else "new york"
    sold = moment.astimezone(ZoneInfo(ZONES[till])).strftime("%d.%m.%Y %H:%M:%S")
    euros = f"{random.gamma(2, 300):,.2f}"
    amount = f"{euros.translate(str.maketrans(',.', '.,'))} €" if till == "berlin" else f"${euros}"
    amount = random.choice([amount, "n/a", " "], p=[0.98, 0.015, 0.005])
    written = f'{moment.isoformat()},{till},{sold},{receipt},"{amount}"'
    lines += [written] * (2 if random.random() < 0.03 else 1)
    lines += [f"{moment.isoformat()},{till},{sold}"] if random.random() < 0.001 else []
file = Path(tempfile.mkdtemp()) / "tills.csv"
_ = file.write_text("\n".join(lines) + "\n", encoding="utf-8")

# %% [markdown]
# ## Look first
#
# `read_csv` reads only the first lines now. They tell the types: `amount` is text, and `sold` is, too.

# %%
log = wb.read_csv(file, time="received", name="tills")
print(log.schema.show())
log.head(6).to_pandas()

# %% [markdown]
# Lines with too few values do not end the query. They are dead letters, which can be looked at.

# %%
broken = wb.dead_letters(log).collect().to_pandas()
print(len(broken), "broken lines")
broken[["line", "message"]].head(3)

# %% [markdown]
# ## Numbers
#
# Marks of currencies go first. In Berlin a point groups digits and a comma is decimal. `errors="null"` leaves null
# where no number is left, in place of an error. How many are there, and which?

# %%
bare = col.amount.str.strip("€$ ")
english = wb.when(col.till == "berlin").then(
    bare.str.replace(".", "").str.replace(",", ".")).otherwise(bare.str.replace(",", ""))
sales = log.with_columns(euros=english.cast("float64", errors="null"))
unknown = sales.where(col.euros.is_null()).group_by("amount").tumbling_window(wb.WHOLE).aggregate(n=wb.count())
unknown.collect().to_pandas()[["amount", "n"]]

# %% [markdown]
# ## Times
#
# The text is a reading of a clock. `replace_timezone` says which clock it was, and `epoch` makes both comparable. A
# till with a wrong clock would show here: the time of sale is that of arrival.

# %%
reading = col.sold.str.strptime("%d.%m.%Y %H:%M:%S")
sales = sales.with_columns(epoch=wb.when(col.till == "berlin").then(
    reading.dt.replace_timezone(ZONES["berlin"]).dt.epoch("s")).otherwise(
    reading.dt.replace_timezone(ZONES["new york"]).dt.epoch("s")))
off = sales.with_columns(seconds=col.epoch - wb.start_time().dt.epoch("s"))
off = off.group_by("till", "seconds").tumbling_window(wb.WHOLE).aggregate(n=wb.count())
off.collect().to_pandas()[["till", "seconds", "n"]]

# %% [markdown]
# Nothing is off: winter and summer time of both zones are right, although their clocks change on other days.
#
# ## Duplicates
#
# A receipt that comes again within a day is the same one.

# %%
once = sales.distinct_within("1d", by="receipt")
rows = [stream.tumbling_window(wb.WHOLE).aggregate(n=wb.count()).collect()["n"][0].as_py() for stream in (sales, once)]
print(f"{rows[0]:,} lines, {rows[1]:,} receipts")

# %% [markdown]
# ## Months
#
# A month of a shop begins at its own midnight. So each shop has windows of its own zone, and both are one result.

# %%
def months(shop: str) -> wb.Stream:
    sums = once.where(col.till == shop).tumbling_window("1mo", timezone=ZONES[shop]).aggregate(
        receipts=wb.count(), unknown=wb.n_null(col.euros), euros=wb.sum(col.euros), largest=wb.max(col.euros))
    month = wb.start_time().dt.to_timezone(ZONES[shop]).dt.strftime("%Y-%m")
    return sums.with_columns(month=month, shop=wb.lit(shop))


result = months("berlin").union(months("new york")).collect().to_pandas()
result[["shop", "month", "receipts", "unknown", "euros", "largest"]].round(2).sort_values(["shop", "month"])

# %% [markdown]
# ## The same with pandas

# %%
table = pd.read_csv(file, on_bad_lines="skip", keep_default_na=False).query("receipt != ''").drop_duplicates("receipt")
plain = table.amount.str.strip("€$ ")
german = plain.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
table["euros"] = pd.to_numeric(german.where(table.till == "berlin", plain.str.replace(",", "")), errors="coerce")
table["month"] = pd.to_datetime(table.sold, format="%d.%m.%Y %H:%M:%S").dt.strftime("%Y-%m")
checked = table.groupby(["till", "month"]).agg(receipts=("receipt", "size"), euros=("euros", "sum")).reset_index()
found = result.sort_values(["shop", "month"])
same = found.receipts.tolist() == checked.receipts.tolist() and np.allclose(found.euros, checked.euros)
print(f"{len(broken)} broken lines, {rows[0] - rows[1]} duplicates, {len(found)} months; as pandas: {same}")
