"""Conformance cases of joins, through the public API; they lie in the optional data folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.operators.twosided import in_order
from whimbrel import col

FOLDER = Path(__file__).resolve().parents[4] / "shared" / "cases"
FAMILIES = ("join", "outer_anti_join", "clip")
CASES = {f"{family}/{case['name']}": case for family in FAMILIES if FOLDER.is_dir()
         for case in json.loads((FOLDER / f"{family}.json").read_text())}
OTHERWISE = "join/shift_selector_is_an_amount_not_a_time"
"""Needs a query of its own."""


class Fields(dict[str, Any]):
    """A payload whose fields are read as attributes, as the cases write them."""

    __getattr__ = dict.__getitem__


def evaluate(text: str, **values: Any) -> Any:
    return eval(text, {}, {name: Fields(value) if isinstance(value, dict) else value for name, value in values.items()})


def events(case: Any, name: str) -> list[list[Any]]:
    """[start, end, payload, partition], end edges joined to their starts."""
    rows: list[list[Any]] = []
    for start, other, payload, *partition in (row for row in case["inputs"][name]["events"] if len(row) > 2
                                              and isinstance(row[0], int)):
        end = None if other == "inf" else other
        key = partition[0] if partition else 0
        if end is None or end > start:
            rows.append([start, end, payload, key])
        else:
            rows[rows.index([end, None, payload, key])][1] = start
    return rows


def stream(rows: list[list[Any]], key: str) -> wb.Stream:
    """The key is computed here; payloads are carried as text."""
    table = pa.table({
        "at": pa.array([row[0] for row in rows], pa.int64()), "until": pa.array([row[1] for row in rows], pa.int64()),
        "partition": [row[3] for row in rows], "key": [evaluate(key, x=row[2]) for row in rows],
        "payload": [json.dumps(row[2]) for row in rows], "arrived": [0] * len(rows),
    })
    return wb.from_arrow(table, time="at", end="until", arrival="arrived").select("partition", "key", "payload")


def side(case: Any, of: Any, key: str) -> wb.Stream:
    """An input, with the steps before the join."""
    name, steps = (of, []) if isinstance(of, str) else (of["from"], of["steps"])
    rows = events(case, name)
    for step in steps:
        if step["op"] == "where":
            rows = [row for row in rows if evaluate(step["pred"], x=row[2])]
    made = stream(rows, key)
    for step in steps:
        if step["op"] == "alter_duration":
            made = made.sliding_window(step["duration"])
    return made


def answer(case: Any) -> list[tuple[Any, ...]]:
    *before, step = case["op"]["steps"]
    left = side(case, {"from": case["op"]["from"], "steps": before}, step["left_key"])
    right = side(case, step["right"], step["right_key"])
    on = ["partition", "key"]
    joined = {
        "join": lambda: left.join(right, on=on), "left_outer_join": lambda: left.join(right, on=on, how="left"),
        "where_not_exists": lambda: left.anti_join(right, on=on), "clip": lambda: left.clip_at(right, on=on),
    }[step["op"]]()
    rows = []
    for row in joined.collect().to_pylist():
        mine, theirs = (json.loads(row.get(name) or "null") for name in ("payload", "payload_right"))
        form = step.get("result") or step.get("outer" if theirs is None else "inner", "l")
        partition = (row["partition"],) if len(case["inputs"]["in1"]["events"][0]) > 3 else ()
        rows.append((row["start"], row["end"], json.dumps(evaluate(form, l=mine, r=theirs)), *partition))
    return in_order(rows)


@pytest.mark.data
@pytest.mark.parametrize("name", CASES.keys() - {OTHERWISE})
def test_case(name: str) -> None:
    expected = [(start, None if end == "inf" else end, json.dumps(payload), *partition)
                for start, end, payload, *partition in CASES[name]["expected"]["events"]]
    assert answer(CASES[name]) == in_order(expected)


@pytest.mark.data
def test_a_shift_by_a_time_is_no_shift_to_it() -> None:
    case = CASES[OTHERWISE]
    rows = events(case, "in1")
    table = pa.table({"at": [row[0] for row in rows], "until": pa.array([row[1] for row in rows], pa.int64()),
                      **{name: [row[2][name] for row in rows] for name in rows[0][2]}})
    log = wb.from_arrow(table, time="at", end="until")
    played = log.where(col.EventType < 2).clip_at(log.where(col.EventType == 2), on="GameId")
    keys = ["GameId", "UserId"]
    kills = played.group_by(*keys).aggregate(kills=wb.sum(col.NumKills))
    joined = kills.shift(col.start + 1).join(kills.set_duration(1), on=keys, allow_lookahead=True)
    assert (joined.collect().num_rows, case["expected"]["events"]) == (0, [])
