# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Live on Kafka, killed, and started again
#
# You will see one query run over a year of flights. Then a separate process runs it over the log up to an evening, and
# continues with a Kafka topic from there. The process is killed twice while rows arrive. At the end its settled table
# is compared with the backtest.
#
# It needs `pip install 'whimbrel[kafka]'` and no broker: Kafka's client contains a small one, which runs in this
# notebook. To use your own broker, set `servers` to its address.

# %%
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import confluent_kafka
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import whimbrel as wb

folder = Path(tempfile.mkdtemp(prefix="whimbrel-"))
cluster = confluent_kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none:1", "log_level": 0})
broker, = cluster.list_topics("flights", timeout=10).brokers.values()  # a topic that is asked for is made
servers = f"{broker.host}:{broker.port}"

# %% [markdown]
# ## The query
#
# It is written to a file, because two processes run it. This one runs `delays` over the whole log. The other one runs
# it over a hybrid source: a history, and then the feed. Both contain some flights, and duplicates are found by carrier,
# flight and departure. The row of a flight arrives when it has landed, at most 12 hours after it left.

# %%
(folder / "live.py").write_text('''
import sys
from pathlib import Path

import pyarrow.parquet as pq
import whimbrel as wb
from whimbrel import col

flights = wb.datasets.flights()
delays = flights.group_by("origin").tumbling_window("15m").aggregate(flights=wb.count(), delay=wb.mean(col.dep_delay))


def topic(servers):
    return wb.feeds.kafka("flights", servers, time="departure", arrival="landed", reorder_latency="12h",
                          schema=pq.read_schema(wb.datasets.flights_file()))


def live(folder, servers):
    history = wb.read_parquet(folder / "history.parquet", time="departure", arrival="landed")
    return delays.on(history.then(topic(servers), keys=["carrier", "flight"], dedup_window="1d"))


if __name__ == "__main__":
    folder, servers = Path(sys.argv[1]), sys.argv[2]
    run = live(folder, servers).start(sink=wb.sinks.parquet(folder / "settled"),
                                      checkpoints=wb.Checkpoints(folder / "state", every="250ms"))
    run.wait()
''')
sys.path.insert(0, str(folder))
from live import delays, topic

# %% [markdown]
# ## The backtest

# %%
back_test = delays.collect()
worst = max(back_test.to_pylist(), key=lambda row: row["delay"])
print(f"{back_test.num_rows:,} quarters of an hour; the worst: {worst['origin']}, {worst['start']:%Y-%m-%d %H:%M}")

# %% [markdown]
# ## Live
#
# A file holds the flights that landed before midnight (UTC) of the last day. The process begins with it.

# %%
START, CUT, END = (pa.scalar(text).cast(pa.timestamp("ms", "UTC"))
                   for text in ("2013-12-30T23:30Z", "2013-12-31T00:00Z", "2013-12-31T02:00Z"))
log = pq.read_table(wb.datasets.flights_file())
pq.write_table(log.filter(pc.less(log["landed"], CUT)), folder / "history.parquet")


def start():
    return subprocess.Popen([sys.executable, folder / "live.py", folder, servers])  # noqa: S603 - written above


def settled():
    """What the process has written: whole files, which are there when a checkpoint knows of them."""
    files = sorted((folder / "settled").glob("rows-*.parquet"))
    return pa.concat_tables([pq.read_table(file) for file in files]) if files else back_test.slice(0, 0)


def due(landed_before):
    """Rows of the back-test that are settled when these flights have landed."""
    newest = pc.max(log.filter(pc.less(log["landed"], landed_before))["departure"])
    return back_test.filter(pc.less_equal(back_test["end"], pc.subtract(newest, timedelta(hours=12))))


def wait_for(rows):
    while settled().num_rows < rows:
        time.sleep(0.02)


by_history = due(CUT).num_rows
process = start()
wait_for(by_history)
print(f"{by_history:,} rows settled by the history alone")

# %% [markdown]
# A replay of the landings writes the topic, a thousand times as fast as they were. It begins half an hour before the
# end of the history. All rows go to one partition, which keeps their order. Rows of the history are left out.

# %%
landings = wb.read_parquet(wb.datasets.flights_file(), time="landed", name="landings")
feeding = wb.replay(landings, speed=1000, start=START.as_py(), end=END.as_py(), reorder_latency=0).start(
    sink=wb.sinks.kafka("flights", servers, config={"partitioner": "consistent"}))
delays.on(topic(servers)).view(y="delay")

# %% [markdown]
# ## Killed, twice
#
# After each six more settled quarters of an hour, the process is killed, as by a machine that goes down, and started
# again. It resumes from its newest checkpoint, which has the offset in the topic, the open windows, and the flights of
# the last day.

# %%
kills = 0
for more in (6, 12):
    wait_for(by_history + more)
    process.kill()
    process.wait()
    kills += 1
    print(f"killed with {settled().num_rows - by_history} rows settled live")
    process = start()

# %% [markdown]
# ## The same table?
#
# When the last flight has landed, all rows must be there: each once, with the values of the backtest.

# %%
feeding.wait()
expected = due(END)
deadline = time.monotonic() + 30
while settled().num_rows < expected.num_rows and time.monotonic() < deadline:
    time.sleep(0.05)
process.terminate()
process.wait()


def in_order(table):
    return table.sort_by([("start", "ascending"), ("origin", "ascending")])


same = in_order(settled()).equals(in_order(expected))
live = expected.num_rows - by_history
shutil.rmtree(folder)
print(f"{expected.num_rows:,} rows settled, {live} of them live; killed {kills} times; the same: {same}")
