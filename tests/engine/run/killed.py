"""Runs a query in processes that are killed without warning, again and again, until one comes to the end.

Called with JSON: folder, redis, postgres and kafka addresses, kills, seed. Prints how many were killed, and how many of
those had written rows before. With a topic the query reads from there, more rows after each kill: from Kafka to files,
or from NATS to a table.
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


def made(rows: int, **options: Any) -> wb.Stream:
    """In disorder, by key; it takes a third of a second for each kill."""
    return wb.feeds.synthetic(rate=3000, rows=rows, disorder=0.2, late_by=0.2, keys=3, seed=5, reorder_latency="250ms",
                              **options)


def query(rows: int) -> wb.Stream:
    """Settled, of rows that are made up."""
    return settling(made(rows))


def settling(feed: wb.Stream) -> wb.Stream:
    return feed.group_by("key").tumbling_window("100ms").aggregate(n=wb.count(), total=wb.sum(wb.col.number))


def in_files(options: dict[str, Any]) -> wb.sinks.Sink:
    return wb.sinks.parquet(f"{options['folder']}/out")


def in_table(options: dict[str, Any]) -> wb.sinks.Sink:
    return wb.sinks.postgres("settled", options["postgres"], key=["start", "key"])


def run_to_the_end(options: dict[str, Any]) -> None:
    if "topic" in options:
        checkpoints = wb.Checkpoints(f"{options['folder']}/state", every="20ms")
        read, sink = (wb.feeds.nats, in_table(options)) if "nats" in options else (wb.feeds.kafka, in_files(options))
        server = options.get("nats") or options["kafka"]
        feed = read(options["topic"], server, time="at", schema=TOPIC, reorder_latency="250ms")
        with settling(feed).start(sink=sink, checkpoints=checkpoints) as run:
            while run.error is None and run.metrics.rows <= (options["kills"] + 1) * ROWS_A_KILL:
                time.sleep(0.01)
        assert run.state == "stopped", run.error
        return
    asked = query(options["kills"] * ROWS_A_KILL)
    to = [in_files(options), wb.sinks.redis("settled", options["redis"]), in_table(options),
          wb.sinks.kafka("settled", options["kafka"], key="key")]
    runs = wb.start(*[asked] * 4, sinks=to,
                    checkpoints=wb.Checkpoints(f"{options['folder']}/state", every="60ms"))
    assert all(run.wait(120) for run in runs)
    assert [run.state for run in runs] == ["finished"] * 4, runs[0].error


def send(options: dict[str, Any], number: int) -> None:
    """Send the rows that come before the kill of this number; after the last one, also a row that settles them all."""
    rows = made((options["kills"] + 1) * ROWS_A_KILL, speed=float("inf")).collect().select(list(TOPIC)).to_pylist()
    some = rows[number * ROWS_A_KILL : (number + 1) * ROWS_A_KILL]
    if number == options["kills"]:
        some.append({"at": rows[-1]["at"] + timedelta(hours=1), "key": "last", "number": 0})
    messages = [json.dumps(row, default=str).encode() for row in some]
    if "nats" in options:
        asyncio.run(publish(options, messages))
        return
    producer = confluent_kafka.Producer({"bootstrap.servers": options["kafka"], "log_level": 0})
    for message in messages:
        producer.produce(options["topic"], message, partition=0)
    assert producer.flush(30) == 0


async def publish(options: dict[str, Any], messages: list[bytes]) -> None:
    link = await nats.connect(options["nats"])
    log = link.jetstream()
    await log.add_stream(name="rows", subjects=[options["topic"]])
    for message in messages:
        await log.publish(options["topic"], message)
    await link.close()


def written(options: dict[str, Any]) -> int:
    """How much is seen of what has settled: files, each of which came with a checkpoint, or rows of a table."""
    if "nats" not in options:
        return len(list((Path(options["folder"]) / "out").glob("rows-*")))
    with psycopg.connect(options["postgres"]) as link, suppress(psycopg.errors.UndefinedTable):
        return int(link.execute("SELECT count(*) FROM settled").fetchone()[0])  # type: ignore[index]
    return 0


def ended(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def main() -> None:
    options = json.loads(sys.argv[1])
    chance = random.Random(options["seed"])
    killed = went_on = 0
    query(rows=500).collect()  # what is compiled now need not be by each child
    while True:
        if "topic" in options:
            send(options, killed)
        child = os.fork()
        if child == 0:
            try:
                run_to_the_end(options)
            except BaseException as error:  # noqa: BLE001
                print(repr(error), error, file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        if killed < options["kills"]:
            before = written(options)
            if killed % 4:  # at any moment of its work; else wherever it may be, also while it starts
                while written(options) == before and not ended(child):
                    time.sleep(0.002)
            end = time.monotonic() + chance.uniform(0, 0.25)
            while time.monotonic() < end and not ended(child):
                time.sleep(0.002)
            os.kill(child, signal.SIGKILL)
            went_on += written(options) > before
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            print(json.dumps({"killed": killed, "went_on": went_on}))
            sys.exit(os.waitstatus_to_exitcode(status))
        killed += 1


if __name__ == "__main__":
    main()
