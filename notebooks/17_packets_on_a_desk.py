# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Ten queries on a desk of packets
#
# You will see a capture of packets read once for ten queries, most of them in SQL. One gets another threshold while the
# desk runs, and one is added. Then the process is killed. The desk resumes from its checkpoint in this notebook, and
# says what each query cost. Last, each result is compared with that of the query alone.

# %%
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import whimbrel as wb

# %% [markdown]
# ## A capture
#
# An hour of a small office: web pages, names from DNS, and one machine that looks for open ports for ten minutes. The
# packets are generated, so what is in them is known.

# %%
SECONDS, BEGIN = 3_600, 1_700_000_400
random = np.random.default_rng(17)


def ethernet(protocol: int, source: int, target: bytes, body: bytes) -> bytes:
    head = struct.pack(">BBHHHBBH4B", 0x45, 0, 20 + len(body), 1, 0, 64, protocol, 0, 10, 0, 0, source)
    return bytes(12) + b"\x08\x00" + head + target + body


def tcp(source: int, target: bytes, port: int, flags: int, size: int) -> bytes:
    head = struct.pack(">HHIIBBHHH", 40_000, port, 1, 0, 0x50, flags, 1000, 0, 0)
    return ethernet(6, source, target, head + bytes(size))


def dns(source: int, name: str) -> bytes:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"
    message = struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + struct.pack(">HH", 1, 1)
    return ethernet(17, source, bytes([10, 0, 0, 1]), struct.pack(">HHHH", 5353, 53, 8 + len(message), 0) + message)


packets: list[tuple[float, bytes]] = []
for at, source, size in zip(random.uniform(0, SECONDS, 30_000), random.integers(2, 12, 30_000),
                            random.gamma(2, 200, 30_000).astype(int), strict=True):
    packets.append((at, tcp(source, bytes([93, 184, 0, size % 40]), 443, 24, min(size, 1400))))
for at, source, name in zip(random.uniform(0, SECONDS, 6_000), random.integers(2, 12, 6_000),
                            random.choice(["example.org", "mail.test", "news.test"], 6_000), strict=True):
    packets.append((at, dns(source, name)))
packets += [(1_500 + 0.3 * port, tcp(66, bytes([10, 0, 0, 9]), port, 2, 0)) for port in range(1, 2_000)]
packets.sort(key=lambda packet: packet[0])

folder = Path(tempfile.mkdtemp())
with (folder / "office.pcap").open("wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1))
    for at, data in packets:
        file.write(struct.pack("<4I", BEGIN + int(at), int(at % 1 * 1e6), len(data), len(data)) + data)
capture = wb.read_pcap(folder / "office.pcap")
capture.select("src_ip", "dst_ip", "protocol", "dst_port", "length", "dns_name").head(5).to_pandas().drop(columns="end")

# %% [markdown]
# ## Ten queries
#
# They stand in a file, since two processes run them: one that will be killed, and this notebook. Queries name the
# capture and each other. `busy`, `scanners` and `top` read the results of other queries. `$ports` is a parameter, whose
# value may change at any time of the capture.

# %%
_ = (folder / "office.py").write_text('''
from pathlib import Path

import whimbrel as wb
from whimbrel import col

SQL = {
    "minutes": """SELECT tb, count(*) AS packets, sum(length) AS bytes FROM office
        GROUP BY date_trunc('minute', time) AS tb""",
    "busy": "SELECT tb, bytes FROM minutes WHERE bytes > 240000",
    "hosts": """SELECT tb, src_ip, count(*) AS packets, sum(length) AS bytes FROM office
        GROUP BY date_trunc('minute', time) AS tb, src_ip""",
    "names": """SELECT tb, dns_name, count(*) AS asked FROM office WHERE dst_port = 53
        GROUP BY date_trunc('minute', time) AS tb, dns_name""",
    "knocks": """SELECT tb, src_ip, count(DISTINCT dst_port) AS ports FROM office WHERE syn AND NOT ack
        GROUP BY date_trunc('minute', time) AS tb, src_ip""",
    "scanners": "SELECT tb, src_ip, ports FROM knocks WHERE ports > $ports",
    "large": "SELECT src_ip, dst_ip, length FROM office WHERE length > 1200",
}
PARAMETERS = {"scanners": {"ports": wb.parameter("ports", 500)}}


def opened(folder):
    """The desk with its ten queries; with the same folder it resumes."""
    office = wb.read_pcap(Path(folder) / "office.pcap", name="office")
    desk = wb.desk(office, checkpoints=wb.Checkpoints(Path(folder) / "state", every="1s"))
    for name, text in SQL.items():
        desk.add(name, text, parameters=PARAMETERS.get(name))
    tens = office.hopping_window("10m", "1m")
    desk.add("smooth", tens.aggregate(mean=wb.mean(col.length), largest=wb.max(col.length)))
    desk.add("top", desk.stream("hosts").tumbling_window("1m").top_k(2, by="bytes"))
    desk.add("kept", office.set_duration("30m"), budget=wb.Budget(bytes=100_000))
    return desk
''', encoding="utf-8")
sys.path.insert(0, str(folder))
from office import SQL, opened

# %% [markdown]
# ## A process that is killed
#
# It reads ten thousand packets and writes a checkpoint. Then it lowers the threshold of `scanners`, adds the query
# `web`, reads on, and is killed as by a machine that goes down.

# %%
program = '''
import os, signal, sys, time
from office import opened

WEB = "SELECT tb, count(*) AS n FROM office WHERE dst_port = 443 GROUP BY date_trunc('minute', time) AS tb"
desk = opened(sys.argv[1])
desk.run(rows=10_000)
time.sleep(1)  # a checkpoint is due
desk.run(rows=1)
desk.set("scanners", ports=100)
desk.add("web", WEB)
desk.run(rows=5_000)
print(f"{desk.cost.rows:,} packets read, {desk['minutes'].rows} minutes settled; killed", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
'''
killed = subprocess.run([sys.executable, "-c", program, str(folder)], cwd=folder, capture_output=True,  # noqa: S603
                        text=True, check=False)
print(killed.stdout, killed.stderr, end="")

# %% [markdown]
# ## It resumes here
#
# The queries are added again by name, the later one, too. Each is where the checkpoint has it. The journal has the
# threshold, which holds from the same time as before.

# %%
web = "SELECT tb, count(*) AS n FROM office WHERE dst_port = 443 GROUP BY date_trunc('minute', time) AS tb"
desk = opened(folder)
_ = desk.add("web", web)
print(desk["scanners"].parameters, "from", desk["scanners"].parameter_values["ports"].changes)
print(desk["minutes"].rows, "minutes settled before")

# %%
desk.start()

# %%
_ = desk.wait()
desk["scanners"].table.select(["tb", "src_ip", "ports"]).to_pandas()

# %% [markdown]
# ## What each query cost
#
# `kept` needed more memory than its budget, so it was stopped. The others continued. `busy`, `scanners` and `top` read
# few rows, since other queries had done the work. Rows in and seconds count from when the desk resumed.

# %%
cost = desk.cost
print(f"{cost.rows:,} packets, {cost.steps} steps of which {cost.shared_steps} are shared, {cost.templates} templates")
desk.metrics.to_pandas()[["query", "state", "reads", "rows_in", "rows", "seconds", "ns_per_row", "buffered_bytes"]]

# %% [markdown]
# ## Each as alone
#
# Each query of a text runs once more by itself, over what it has read: `web` from its first time on, and `scanners`
# with its two thresholds.

# %%
office = wb.read_pcap(folder / "office.pcap", name="office")
(change, _), = desk["scanners"].parameter_values["ports"].changes
texts = SQL | {"web": web}
alone: dict[str, wb.Stream] = {}
for name, text in texts.items():
    since = desk[name].since.get("office")
    source = office if since is None else office.where(wb.start_time().dt.epoch("ns") >= since)
    ports = wb.when(wb.start_time().dt.epoch("ns") >= change).then(100).otherwise(500)
    alone[name] = wb.sql(text, office=source, **alone, parameters={"ports": ports})
whole = [alone[name].collect() for name in texts]
equal = [desk[name].rows == len(rows) and desk[name].table.num_rows <= len(rows)
         and rows.slice(len(rows) - desk[name].table.num_rows).to_pylist() == desk[name].table.to_pylist()
         for name, rows in zip(texts, whole, strict=True)]
found = desk["scanners"].rows
desk.stop()
shutil.rmtree(folder)
print(f"{len(packets):,} packets, {len(desk)} queries; {found} minutes of a scan; as alone: {all(equal)}")
