"""Runs the two levels of a query in processes that are killed without warning, again and again.

Called with JSON: folder, ports (one for each low level), victims (numbers of low levels, or "high"), kills, speed of
the sources, seed. Each time a victim is killed at a random moment and started again with its checkpoints. Prints how
many were killed, and how many of those had written rows before.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import whimbrel as wb

TOKEN = "the same token"
ROWS_A_KILL = 600


def source(number: int, kills: int, *, speed: float = float("inf")) -> wb.Stream:
    """Rows in disorder, of one low level; at a speed of 1 they take two fifths of a second for each kill."""
    return wb.feeds.synthetic(rate=1500, rows=kills * ROWS_A_KILL, disorder=0.2, late_by=0.2, keys=40, seed=number,
                              reorder_latency="250ms", speed=speed)


def query(rows: wb.Stream) -> wb.Stream:
    counted = rows.where(wb.col.number > 9).group_by("key").tumbling_window("100ms")
    return counted.aggregate(n=wb.count(), total=wb.sum(wb.col.number))


def run_low(options: dict[str, Any], number: int) -> None:
    low = query(source(number, options["kills"], speed=options["speed"])).low()
    checkpoints = wb.Checkpoints(f"{options['folder']}/low{number}", every="40ms")
    with wb.serve(low, flight=options["ports"][number], token=TOKEN, checkpoints=checkpoints) as served:
        served.run.wait()
        time.sleep(600)  # clients may not have all of it


def run_high(options: dict[str, Any]) -> None:
    feeds = [f"grpc://127.0.0.1:{port}" for port in options["ports"]]
    high = query(source(0, options["kills"])).high(*feeds, token=TOKEN, retry_backoff_s=(0.02, 0.1))
    run = high.start(sink=wb.sinks.parquet(f"{options['folder']}/out"),
                     checkpoints=wb.Checkpoints(f"{options['folder']}/high", every="40ms"))
    run.wait()


def written(options: dict[str, Any], who: int | str) -> int:
    """How many rows of a process have left it, each with a checkpoint."""
    folder = Path(options["folder"], "out" if who == "high" else f"low{who}/served")
    return max((int(file.name.split("-")[1]) for file in folder.glob("rows-*")), default=-1)


def begun(options: dict[str, Any], who: int | str) -> int:
    child = os.fork()
    if child:
        return child
    try:
        if isinstance(who, int):
            run_low(options, who)
        else:
            run_high(options)
    except BaseException as error:  # noqa: BLE001
        print(who, repr(error), error, file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def ended(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def kill(child: int) -> bool:
    """Whether it was alive."""
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def main() -> None:
    options = json.loads(sys.argv[1])
    chance = random.Random(options["seed"])
    query(source(0, 1)).collect()  # what is compiled now need not be by each child
    children: dict[int | str, int] = {who: begun(options, who) for who in [*range(len(options["ports"])), "high"]}
    went_on = 0
    for number in range(options["kills"]):
        victim = chance.choice(options["victims"])
        before = written(options, victim)
        if number % 4:  # at any moment of its work; else wherever it may be, also while it starts
            while written(options, victim) == before and not any(map(ended, children.values())):
                time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.2))
        went_on += written(options, victim) > before
        if not kill(children[victim]):
            del children[victim]
            for child in children.values():  # they hold the pipes that are read to their ends
                kill(child)
            sys.exit(f"{victim} had ended before it was killed")
        children[victim] = begun(options, victim)
    while not any(map(ended, children.values())):
        time.sleep(0.01)
    status = os.waitstatus_to_exitcode(os.waitpid(children["high"], 0)[1]) if ended(children["high"]) else 1
    for who in range(len(options["ports"])):
        kill(children[who])
    print(json.dumps({"killed": options["kills"], "went_on": went_on}))
    sys.exit(status)


if __name__ == "__main__":
    main()
