"""Runs a query in processes that are killed without warning, again and again, until one comes to the end.

Called with JSON: folder, redis, postgres and kafka addresses, kills, seed. Prints how many were killed, and how many of
those had gone on first. With a topic rows come from there, more of them after each kill: from Kafka to files, or from
NATS to a table.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import confluent_kafka
import nats
import psycopg

import whimbrel as wb

ROWS_A_KILL = 1050
TOPIC = {"at": "timestamp[us]", "key": "string", "number": "int64"}


def made(rows: int, **told: Any) -> wb.Stream:
    """In disorder, by key; it takes a third of a second for each kill."""
    return wb.feeds.synthetic(rate=3000, rows=rows, disorder=0.2, late_by=0.2, keys=3, seed=5, reorder_latency="250ms",
                              **told)


def query(rows: int) -> wb.Stream:
    """Settled, of rows that are made up."""
    return settling(made(rows))


def settling(feed: wb.Stream) -> wb.Stream:
    return feed.group_by("key").tumbling_window("100ms").aggregate(n=wb.count(), total=wb.sum(wb.col.number))


def in_files(told: dict[str, Any]) -> wb.sinks.Sink:
    return wb.sinks.parquet(f"{told['folder']}/out")


def in_table(told: dict[str, Any]) -> wb.sinks.Sink:
    return wb.sinks.postgres("settled", told["postgres"], key=["start", "key"])


def run_to_the_end(told: dict[str, Any]) -> None:
    if "topic" in told:
        checkpoints = wb.Checkpoints(f"{told['folder']}/state", every="20ms")
        read, sink = (wb.feeds.nats, in_table(told)) if "nats" in told else (wb.feeds.kafka, in_files(told))
        feed = read(told["topic"], told.get("nats") or told["kafka"], time="at", schema=TOPIC, reorder_latency="250ms")
        with settling(feed).start(sink=sink, checkpoints=checkpoints) as run:
            while run.error is None and run.metrics.rows <= (told["kills"] + 1) * ROWS_A_KILL:
                time.sleep(0.01)
        assert run.state == "stopped", run.error
        return
    asked = query(told["kills"] * ROWS_A_KILL)
    to = [in_files(told), wb.sinks.redis("settled", told["redis"]), in_table(told),
          wb.sinks.kafka("settled", told["kafka"], key="key")]
    runs = wb.start(*[asked] * 4, sinks=to,
                    checkpoints=wb.Checkpoints(f"{told['folder']}/state", every="60ms"))
    assert all(run.wait(120) for run in runs)
    assert [run.state for run in runs] == ["finished"] * 4, runs[0].error


def send(told: dict[str, Any], number: int) -> None:
    """The rows that come before the kill of this number; behind the last of them one that settles them all."""
    rows = made((told["kills"] + 1) * ROWS_A_KILL, speed=float("inf")).collect().select(list(TOPIC)).to_pylist()
    some = rows[number * ROWS_A_KILL : (number + 1) * ROWS_A_KILL]
    if number == told["kills"]:
        some.append({"at": rows[-1]["at"] + timedelta(hours=1), "key": "last", "number": 0})
    messages = [json.dumps(row, default=str).encode() for row in some]
    if "nats" in told:
        asyncio.run(publish(told, messages))
        return
    producer = confluent_kafka.Producer({"bootstrap.servers": told["kafka"], "log_level": 0})
    for message in messages:
        producer.produce(told["topic"], message, partition=0)
    assert producer.flush(30) == 0


async def publish(told: dict[str, Any], messages: list[bytes]) -> None:
    link = await nats.connect(told["nats"])
    log = link.jetstream()
    await log.add_stream(name="rows", subjects=[told["topic"]])
    for message in messages:
        await log.publish(told["topic"], message)
    await link.close()


def written(told: dict[str, Any]) -> int:
    """How much is seen of what has settled: files, each of which came with a checkpoint, or rows of a table."""
    if "nats" not in told:
        return len(list((Path(told["folder"]) / "out").glob("rows-*")))
    with psycopg.connect(told["postgres"]) as link, suppress(psycopg.errors.UndefinedTable):
        return int(link.execute("SELECT count(*) FROM settled").fetchone()[0])  # type: ignore[index]
    return 0


def ended(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def main() -> None:
    told = json.loads(sys.argv[1])
    chance = random.Random(told["seed"])
    killed = went_on = 0
    query(rows=500).collect()  # what is compiled now need not be by each child
    while True:
        if "topic" in told:
            send(told, killed)
        child = os.fork()
        if child == 0:
            try:
                run_to_the_end(told)
            except BaseException as error:  # noqa: BLE001
                print(repr(error), error, file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        if killed < told["kills"]:
            before = written(told)
            if killed % 4:  # at any moment of its work; else wherever it may be, also while it starts
                while written(told) == before and not ended(child):
                    time.sleep(0.002)
            end = time.monotonic() + chance.uniform(0, 0.25)
            while time.monotonic() < end and not ended(child):
                time.sleep(0.002)
            os.kill(child, signal.SIGKILL)
            went_on += written(told) > before
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            print(json.dumps({"killed": killed, "went_on": went_on}))
            sys.exit(os.waitstatus_to_exitcode(status))
        killed += 1


if __name__ == "__main__":
    main()
