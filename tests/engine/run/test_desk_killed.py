"""Queries of a desk in processes that are killed: each answers as it would alone."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.run.test_desk import SHAPES, made, rows_of
from tests.engine.run.test_desk_sinks import written
from whimbrel.plan import Sink

col = wb.col
Rows = list[tuple[Any, ...]]
ROWS = 6_000
LATENCY = 25
LIMIT = 5
LIMITED = (
    lambda s, _, limit: s.where(col.x > limit),
    lambda s, _, limit: s.where(col.x >= limit).tumbling_window(50).group_by("k").aggregate(n=wb.count()),
    lambda s, c, limit: s.where((col.k == c % 5) & (col.x < limit)).hopping_window(60, 20).aggregate(n=wb.count()),
    lambda s, _, limit: s.tumbling_window(50).aggregate(total=wb.sum(col.x)).where(col.total >= limit).shift(200),
)
PAIRS = len(SHAPES) + len(LIMITED)
"""It exceeds its budget."""
SHEDS = PAIRS + 1
"""It drops rows."""
RULE = wb.Shed(20, per=100)


def query(events: wb.Stream, number: int, constant: int, limit: Any) -> wb.Stream:
    if number < len(SHAPES):
        return SHAPES[number](events, constant)
    if number < PAIRS:
        return LIMITED[number - len(SHAPES)](events, constant, limit)
    if number == SHEDS:
        return events.where(col.x > limit).tumbling_window(100).group_by("k").aggregate(n=wb.count(), s=wb.sum(col.x))
    wide = events.set_duration(1_000)
    return wide.join(wide.where(col.x > constant), on="k")


class Lines(Sink):
    """A file that is cut to what the checkpoint knows."""

    name = "lines"

    def __init__(self, file: Path) -> None:
        self._path = file
        self._lines: list[str] = []

    def open(self, schema: pa.Schema, rows: int, token: Any) -> None:
        self._file = self._path.open("a+")
        self._file.truncate(token or 0)

    def write(self, rows: pa.RecordBatch) -> None:
        self._lines += [json.dumps(list(row.values())) + "\n" for row in rows.to_pylist()]

    def prepare(self) -> Any:
        self._file.writelines(self._lines)
        self._file.flush()
        self._lines = []
        return self._path.stat().st_size

    def close(self) -> None:
        self._file.close()


@dataclass
class Asked:
    """A query, and what is known of it for sure."""

    name: str
    number: int
    constant: int
    sink: str
    budget: bool
    added: bool = False
    begun: int | None = None
    changes: list[list[int]] = field(default_factory=list)
    removed: bool = False


class Program:
    """What was asked of a desk. It outlives a killed process, as each line does."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._file = folder, folder / "program.jsonl"
        self.asked: dict[str, Asked] = {}
        lines = self._file.read_text().splitlines() if self._file.is_file() else []
        for line in lines:
            with suppress(json.JSONDecodeError):  # the last one may be cut
                asked = Asked(**json.loads(line))
                self.asked[asked.name] = asked

    def write(self, asked: Asked) -> None:
        self.asked[asked.name] = asked
        with self._file.open("a") as file:
            file.write("\n" + json.dumps(asdict(asked)) + "\n")

    def sink(self, asked: Asked) -> Path:
        return self.folder / f"{asked.name}.{asked.sink}"

    def add(self, desk: wb.Desk, events: wb.Stream, asked: Asked) -> None:
        """Add a query, for the first time or again."""
        sink = {"": lambda _: None, "lines": Lines, "parquet": wb.sinks.parquet}[asked.sink](self.sink(asked))
        budget = wb.Budget(rows=200 if asked.number == PAIRS else 10**6) if asked.budget else None
        plan = query(events, asked.number, asked.constant, wb.parameter("limit", LIMIT))
        added = desk.add(asked.name, plan, budget=budget, sink=sink, overload=RULE if asked.number == SHEDS else None)
        changes = self.changes(desk, asked)
        if asked.added:
            assert added.since.get("events") == asked.begun, asked
            assert changes[:len(asked.changes)][:-1] == asked.changes[:-1], asked
            assert [at for at, _ in changes][:len(asked.changes)] == [at for at, _ in asked.changes], asked
        asked.added, asked.begun, asked.changes = True, added.since.get("events"), changes

    def changes(self, desk: wb.Desk, asked: Asked) -> list[list[int]]:
        values = desk[asked.name].parameter_values
        return [list(change) for change in values["limit"].changes] if values else []


def live(folder: Path, queries: int, seed: int) -> None:
    """One process: go on with the program up to the end of the source. Each line says that a kill may follow."""
    choose, program = random.Random(seed), Program(folder)
    events, _ = made(7, ROWS, latency=LATENCY)
    desk = wb.desk(events, checkpoints=wb.Checkpoints(folder / "state", every="300ms", keep=3))
    there = [asked for asked in program.asked.values() if not asked.removed]
    for place, asked in enumerate(there):
        program.add(desk, events, asked)
        if place % 50 == 0:
            print("again", place, flush=True)
    desk.run(rows=0)
    while not desk._loop.session.finished:
        there = [asked for asked in program.asked.values() if not asked.removed]
        did = choose.choice(["run", "run", "run", "add", "remove", "set"]) if there else "add"
        print(did, len(there), flush=True)
        match did:
            case "run":
                desk.run(rows=choose.randrange(1, 120 + queries // 2))
            case "add" if len(program.asked) < queries:
                for _ in range(max(1, queries // 8)):
                    asked = Asked(f"q{len(program.asked)}", choose.randrange(SHEDS + 1), choose.randrange(-20, 20),
                                  choose.choice(["", "lines", "lines", "parquet"] if queries <= 100 else
                                                ["", "lines"]), choose.random() < 0.2)
                    asked.budget |= asked.number == PAIRS
                    program.write(asked)
                    program.add(desk, events, asked)
                    program.write(asked)
            case "remove" if there:
                for asked in choose.sample(there, len(there) // 20 + 1):
                    asked.removed = True
                    program.write(asked)
                    desk.remove(asked.name)
            case "set" if limited := [asked for asked in there if desk[asked.name].parameters]:
                for asked in choose.sample(limited, len(limited) // 4 + 1):
                    desk.set(asked.name, limit=choose.randrange(-40, 40))
                    asked.changes = program.changes(desk, asked)
                    program.write(asked)
    desk.run()
    found = {}
    for name in desk:
        snapshot = desk[name].snapshot()
        found[name] = {"state": desk[name].state, "rows": desk[name].rows, "begun": desk[name].since.get("events"),
                       "changes": program.changes(desk, program.asked[name]), "table": rows_of(snapshot.table)}
    desk.stop()
    (folder / "found.json").write_text(json.dumps(found))


def alone(columns: dict[str, Any], asked: Asked) -> Rows:
    kept = np.ones(len(columns["at"]), np.bool_) if asked.begun is None else columns["at"] >= asked.begun
    events = wb.from_arrow({name: values[kept] for name, values in columns.items()}, time="at", name="events",
                           reorder_latency=LATENCY)
    limit = wb.lit(LIMIT)
    for at, value in asked.changes:
        limit = wb.when(wb.start_time() >= at).then(value).otherwise(limit)
    wanted = query(events, asked.number, asked.constant, limit)
    if asked.number != SHEDS:
        return rows_of(wanted.collect())
    desk = wb.desk(events)
    desk.add("alone", wanted, overload=RULE)
    desk.run()
    return rows_of(desk["alone"].table)


def in_sink(program: Program, asked: Asked) -> Rows:
    file = program.sink(asked)
    if asked.sink == "parquet":
        return written(file)
    return sorted(tuple(json.loads(line)) for line in file.read_text().splitlines()) if file.is_file() else []


def kill_some(folder: Path, queries: int, kills: int, seed: int) -> int:
    """Run processes, of which the first ones are killed, until one ends by itself; how many were killed."""
    choose, killed = random.Random(seed), 0
    while True:
        errors = (folder / "errors.txt").open("w")
        with errors, subprocess.Popen(
                [sys.executable, "-m", "tests.engine.run.test_desk_killed", str(folder), str(queries),
                 str(choose.randrange(10**6))], stdout=subprocess.PIPE, stderr=errors, text=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}) as child:
            assert child.stdout is not None
            lines = choose.randrange(1, 16) if killed < kills else 10**9
            for _, _ in zip(range(lines), child.stdout, strict=False):
                pass
            if killed < kills:
                with suppress(subprocess.TimeoutExpired):
                    child.wait(choose.random() * choose.choice([0.001, 0.1]))
                child.kill()
        if child.returncode == 0:
            return killed
        assert child.returncode < 0, (folder / "errors.txt").read_text()
        killed += 1


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("queries", "kills", "seed"), [(60, 10, 1), (1000, 6, 2)])
def test_queries_of_killed_processes_answer_as_alone(queries: int, kills: int, seed: int, tmp_path: Path) -> None:
    assert kill_some(tmp_path, queries, kills, seed) >= kills - 1
    program, (_, columns) = Program(tmp_path), made(7, ROWS, latency=LATENCY)
    found = json.loads((tmp_path / "found.json").read_text())
    assert found.keys() == {name for name, asked in program.asked.items() if not asked.removed}
    states = Counter[str]()
    for name, asked in program.asked.items():
        if asked.removed:
            rows = Counter(in_sink(program, asked))
            assert not asked.added or not rows - Counter(alone(columns, asked)), asked
            continue
        now = found[name]
        states[now["state"]] += 1
        asked.begun, asked.changes = now["begun"], now["changes"]
        if now["state"] == "stopped":
            assert asked.number == PAIRS
            continue
        assert now["state"] == "finished", asked
        wanted = alone(columns, asked)
        assert now["rows"] == len(wanted), asked
        assert not Counter(map(tuple, now["table"])) - Counter(wanted), asked
        if asked.sink:
            assert in_sink(program, asked) == wanted, asked
    assert states["finished"] > queries // 4
    assert states["stopped"]


if __name__ == "__main__":
    live(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
