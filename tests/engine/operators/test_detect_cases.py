"""Conformance cases of patterns, through the public API; they lie in the optional data folder."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel.operators import Pattern

FILE = Path(__file__).resolve().parents[4] / "shared" / "cases" / "detect.json"
CASES = {case["name"]: case for case in json.loads(FILE.read_text())} if FILE.is_file() else {}


def events(case: Any) -> wb.Stream:
    """The rows in the order of time; what a partition is comes in a column of its own."""
    rows = sorted((row for row in case["inputs"]["in1"]["events"] if isinstance(row[0], int)), key=lambda row: row[0])
    until = pa.array([None if row[1] == "inf" else row[1] for row in rows], pa.int64())
    columns: dict[str, Any] = {"at": [row[0] for row in rows], "until": until}
    payloads = [row[2] if isinstance(row[2], dict) else {"value": row[2]} for row in rows]
    columns |= {name: [payload[name] for payload in payloads] for name in payloads[0]}
    columns |= {"partition": [row[3] for row in rows]} if len(rows[0]) > 3 else {}
    return wb.from_arrow(pa.table(columns), time="at", end="until")


def function(text: str) -> Callable[[Any, Any], Any]:
    """A function of an event and the register, as a user writes it."""
    text = re.sub(r"\(r\.(\w+) if r else (''|\"\")\)", r"r.\1", text)
    text = re.sub(r"\b([xr])\b(?!\.)", r"\1.value", text)
    return eval(f"lambda x, r: {text}")


def pattern(form: Any) -> Pattern:
    (kind, inner), *_ = form.items()
    match kind:
        case "seq":
            return reduce(lambda first, second: first.then(second), map(pattern, inner))
        case "or":
            return reduce(lambda first, second: first | second, map(pattern, inner))
        case "opt":
            return pattern(inner).optional()
        case "plus":
            return pattern(inner).repeat()
        case "star":
            return pattern(inner).repeat(0)
        case "all":  # of all events of one time: each time is one row, with the number of its zeros and ones
            digit = re.search(r"== (\d)", inner)
            assert digit
            return wb.event(wb.col(digit[1]) == 0 if inner.startswith("not") else wb.col(digit[1]) > 0)
    updates = ast.parse(form["acc"], mode="eval").body if "acc" in form else None
    if isinstance(updates, ast.Dict):
        pairs = zip(updates.keys, updates.values, strict=True)
        made = {key.value: function(ast.unparse(value)) for key, value in pairs}
    else:
        made = {} if updates is None else {"value": function(form["acc"])}
    return wb.event(function(inner), **made)


@pytest.mark.data
@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    case = CASES[name]
    step = case["op"]["steps"][-1]
    stream, form = events(case), step["apply"][0] if "apply" in step else step
    if "key" in step:
        stream = stream.group_by(key=wb.col(step["key"].removeprefix("x.")))
    elif "partition" in stream.schema:
        stream = stream.group_by("partition")
    if '"all"' in json.dumps(form):
        stream = stream.sliding_window(1).aggregate(**{
            str(value): wb.count().where(wb.col.value == value) for value in (0, 1)})
    expected = case["expected"]["events"]
    values = expected[0][2]
    register = {"value": form["register"]} if isinstance(form["register"], int) else {"value": ""}
    if isinstance(values, dict):
        register = {name: type(value)() for name, value in values.items()}
    found = stream.detect(pattern(form["pattern"]), within=form["max_duration"], register=register,
                          overlapping=form["overlapping"],
                          simultaneous="in_order" if form.get("simultaneity_free") else "discard").collect().to_pylist()
    actual = [[row["start"], row["end"], {name: row[name] for name in register}, *([row["partition"]] if "partition" in
               row else [])] for row in found]
    wanted = [[start, end, value if isinstance(value, dict) else {"value": value}, *key]
              for start, end, value, *key in expected]
    assert sorted(map(repr, actual)) == sorted(map(repr, wanted))
