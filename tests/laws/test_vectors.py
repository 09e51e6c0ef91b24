"""The command that runs conformance cases, and the shared cases where they are there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from whimbrel import col
from whimbrel.kernels import Tier
from whimbrel.testing.conformance import Case, read_cases, run_case
from whimbrel.testing.conformance.__main__ import main
from whimbrel.testing.conformance.case import UnsupportedError
from whimbrel.testing.conformance.expressions import translate

SHARED = Path(__file__).resolve().parents[3] / "shared" / "cases"
DIFFERENCES = Path(__file__).with_name("differences.json")


def fact(name: str, steps: list[Any], rows: list[Any], expected: list[Any] | None, **ingress: Any) -> dict[str, Any]:
    return {"name": name, "inputs": {"in1": {"events": rows, "ingress": ingress}},
            "op": {"from": "in1", "steps": steps}, "expected": {"events": expected}}


ODD = fact("odd", [{"op": "where", "pred": "x % 2 == 1"}], [[0, 5, 1], [1, 2, 4]], [[0, 5, 1]])
WRONG = fact("wrong", [{"op": "sum", "expr": "x.f"}], [[0, "inf", {"f": 1}]], [[0, "inf", 2]])
UNKNOWN = fact("unknown", [{"op": "invert"}], [[0, 1, "a"]], [])
LATE = fact("late", [{"op": "passthrough"}], [[5, 6, 0], [1, 2, 0]], None, disorder="throw", reorder_latency=2)
PARTITIONS = fact("partitions", [{"op": "count"}], [[5, 8, 0, "a"], [1, 2, 0, "b"], ["lwm", 3], [2, 4, 0, "a"]],
                  [[5, 8, 1, "a"], [1, 2, 1, "b"]], disorder="drop", partitioned=True)
OPEN = fact("open", [{"op": "passthrough"}], [[1, 2, 0, "b"], [5, 8, 0, "a"], ["lwm", 3]], [[1, 2, 0, "b"]],
            partitioned=True, on_completed="none")


TWO = {"in1": [[0, 9, {"k": 1, "s": "a"}]], "in2": [[2, 4, {"k": 1, "s": "b"}], [3, 6, {"k": 2, "s": "c"}]]}
KEYS = {"right": "in2", "left_key": "x.k", "right_key": "x.k"}
LEFT = {"outer": "[l.s, None]", "inner": "[l.s, r.s]"}


def of(steps: list[Any], rows: Any, expected: list[Any]) -> dict[str, Any]:
    """A case that is named as its first step is."""
    given = rows if isinstance(rows, dict) else {"in1": rows}
    return {"name": json.dumps(steps[0])[:70], "inputs": {name: {"events": events} for name, events in given.items()},
            "op": {"from": "in1", "steps": steps}, "expected": {"events": expected}}


MORE = [
    of([{"op": "select", "expr": "ve - vs"}], [[0, 5, 1]], [[0, 5, 5]]),
    of([{"op": "where", "pred": "x.b not in ('u', 'w') and x.a & 1"}], [[0, 5, {"a": 1, "b": "v"}]],
       [[0, 5, {"a": 1, "b": "v"}]]),
    of([{"op": "select", "expr": "{**x, 'a': min(abs(x.a), 3)}"}], [[0, 5, {"a": -4, "b": 2}]],
       [[0, 5, {"a": 3, "b": 2}]]),
    of([{"op": "select", "expr": "x or -1"}], [[0, 5, None], [1, 5, 3]], [[0, 5, -1], [1, 5, 3]]),
    of([{"op": "select", "expr": "x.upper()[1:]"}], [[0, 5, "abc"]], [[0, 5, "BC"]]),
    of([{"op": "where", "pred": "x.vs == 2"}], [[0, 5, {"vs": 2, "a_b": 3, "a": {"b": 4}}]],
       [[0, 5, {"vs": 2, "a_b": 3, "a": {"b": 4}}]]),
    of([{"op": "count"}], [[0, 5, {}], [1, 3, {}]], [[0, 1, 1], [1, 3, 2], [3, 5, 1]]),
    of([{"op": "passthrough"}], [[0, 5, [1, 2]], [1, 3, []]], [[0, 5, [1, 2]], [1, 3, []]]),
    of([{"op": "select", "expr": "x.b"}], [[0, 5, {"a": 1}], [1, 3, {"a": 1, "b": 2}]], [[0, 5, None], [1, 3, 2]]),
    of([{"op": "where_not_exists", "right": "in2", "left_key": "x", "right_key": "x"}], {"in1": [[0, 5, 1]], "in2": []},
       [[0, 5, 1]]),
    of([{"op": "population_variance", "expr": "x"}], [[0, 5, 2], [0, 5, 4]], [[0, 5, 1.0]]),
    of([{"op": "sum_squares", "expr": "x"}], [[0, 5, 2], [0, 5, 4]], [[0, 5, 20]]),
    of([{"op": "top_k", "expr": "x.k", "k": 1}], [[0, 5, {"k": 1, "s": "a"}], [2, 3, {"k": 2, "s": "b"}]],
       [[0, 2, [{"rank": 1, "payload": {"k": 1, "s": "a"}}]], [2, 3, [{"rank": 1, "payload": {"k": 2, "s": "b"}}]],
        [3, 5, [{"rank": 1, "payload": {"k": 1, "s": "a"}}]]]),
    of([{"op": "distinct"}], [[0, 5, 7], [2, 5, 7]], [[0, 2, 7], [2, 5, 7]]),
    of([{"op": "join", "right": "self", "result": "[l, r, vs]"}], [[0, 5, 1]], [[0, 5, [1, 1, 0]]]),
    of([{"op": "join", **KEYS, "pred": "l.s > r.s", "result": "l.s"}], TWO, []),
    of([{"op": "where_not_exists", **KEYS, "pred": "r.s == 'c'"}], TWO, [[0, 9, {"k": 1, "s": "a"}]]),
    of([{"op": "full_outer_join", **KEYS, "left": "[l.s, None]", "right_only": "[None, r.s]", "inner": "[l.s, r.s]"}],
       TWO, [[0, 2, ["a", None]], [2, 4, ["a", "b"]], [4, 9, ["a", None]], [3, 6, [None, "c"]]]),
    of([{"op": "union", "right": "in2"}], {"in1": [[0, 5, 1]], "in2": [[0, 5, 1.5]]}, [[0, 5, 1], [0, 5, 1.5]]),
    of([{"op": "tumbling_window", "size": 10}], [[3, 4, 1]], [[10, 20, 1]]),
    of([{"op": "quantize", "size": 10, "period": 10, "progress": 5}], [[7, 8, 1]], [[5, 10, 1]]),
    of([{"op": "alter_duration", "duration": "ve - vs + 1"}], [[3, 4, 1]], [[3, 5, 1]]),
    of([{"op": "alter_duration", "duration": 0}], [[3, 4, 1]], []),
    of([{"op": "alter_duration", "duration_expr": "x.d * 2"}], [[3, 4, {"d": 1}], [3, "inf", {"d": 2}]],
       [[3, 5, {"d": 1}], [3, 7, {"d": 2}]]),
    of([{"op": "alter_duration", "duration": "x - 3"}], [[3, 4, 1], [3, 4, 3], [3, 9, 5]], [[3, 5, 5]]),
    of([{"op": "alter_duration", "duration": "7 if x > 3 else ve - vs"}], [[3, 4, 1], [3, 9, 5]],
       [[3, 4, 1], [3, 10, 5]]),
    of([{"op": "alter_lifetime", "start_expr": "vs + x", "duration_expr": "x"}], [[3, 9, 1]], [[4, 5, 1]]),
    of([{"op": "alter_lifetime", "start": 5, "duration": "inf"}], [[3, 9, 1]], [[5, "inf", 1]]),
    of([{"op": "shift", "by": "x"}], [[3, 4, 1]], [[4, 5, 1]]),
    of([{"op": "left_outer_join", **KEYS, "condition": "l.s < r.s", **LEFT}], TWO,
       [[0, 2, ["a", None]], [2, 4, ["a", "b"]], [4, 9, ["a", None]]]),
    of([{"op": "left_outer_join", **KEYS, "condition": "l.s > r.s", **LEFT}], TWO, [[0, 9, ["a", None]]]),
    of([{"op": "left_outer_join", **KEYS, "outer": "'none'", "inner": "r.s"}], TWO,
       [[0, 2, "none"], [2, 4, "b"], [4, 9, "none"]]),
    of([{"op": "left_outer_join", "right": "in2", "condition": "l.k < r.k", **LEFT}], TWO,
       [[0, 3, ["a", None]], [3, 6, ["a", "c"]], [6, 9, ["a", None]]]),
    of([{"op": "right_outer_join", **KEYS, "outer": "r.s", "inner": "l.s"}], TWO, [[2, 4, "a"], [3, 6, "c"]]),
    of([{"op": "full_outer_join", **KEYS, "pred": "l.s > r.s", "left": "[l.s, None]", "right_only": "[None, r.s]",
         "inner": "[l.s, r.s]"}], TWO, [[0, 9, ["a", None]], [2, 4, [None, "b"]], [3, 6, [None, "c"]]]),
    of([{"op": "full_outer_join", **KEYS, "left_outer": "1", "right_outer": "2", "inner": "3"}], TWO,
       [[0, 2, 1], [2, 4, 3], [4, 9, 1], [3, 6, 2]]),
    of([{"op": "join", "right": "in2", "condition": "l.k == r.k", "result": "l.s + r.s"}], TWO, [[2, 4, "ab"]]),
    of([{"op": "where_exists", **KEYS, "condition": "r.s == 'b'"}], TWO, [[2, 4, {"k": 1, "s": "a"}]]),
    of([{"op": "where_not_exists", "right": "in2", "condition": "l.k == r.k"}], TWO,
       [[0, 2, {"k": 1, "s": "a"}], [4, 9, {"k": 1, "s": "a"}]]),
    of([{"op": "group_apply", "key": "x % 2", "apply": [{"op": "select", "expr": "key * 100 + x"}]}], [[3, 4, 7]],
       [[3, 4, 107]]),
    of([{"op": "group_apply", "key": "x.k", "apply": [{"op": "join", "right": {"from": "in2", "steps": [
        {"op": "select", "expr": "x.s"}]}, "result": "l.s + r"}]}], TWO, [[2, 4, "ab"], [3, 6, "ac"]]),
    of([{"op": "select_many", "expr": "[x + i for i in range(x)]"}], [[3, 4, 2]], [[3, 4, 2], [3, 4, 3]]),
    of([{"op": "select_many", "expr": "[{'a': x}, {'a': -x}] * 2"}], [[3, 4, 2]],
       [[3, 4, {"a": 2}], [3, 4, {"a": -2}]] * 2),
    of([{"op": "pivot", "key": ["A"], "attribute": "T", "value": "V", "agg": "max"}],
       [[0, 5, {"A": "k", "T": "p", "V": 3}], [0, 5, {"A": "k", "T": "p", "V": 4}]], [[0, 5, {"A": "k", "p": 4}]]),
    of([{"op": "detect", "pattern": {"seq": [{"any": {}, "acc": "vs"}, {"eps": {}}, {"elem": "vs - r > 2"}]},
         "max_duration": 9, "register": 0}], [[0, 1, "a"], [4, 5, "b"]], [[4, 9, 0]]),
    of([{"op": "detect", "pattern": {"elem": "ve - vs > 2", "acc": "ve"}, "max_duration": "inf", "register": 0}],
       [[0, 1, 1], [4, 8, 2]], [[4, "inf", 8]]),
    of([{"op": "group_apply", "key": "x.k", "apply": [
        {"op": "detect", "pattern": {"elem": "key == 1", "acc": "key"}, "register": 0}]}],
       [[0, 1, {"k": 1}], [4, 8, {"k": 2}]], [[0, "inf", 1]]),
    of([{"op": "detect", "pattern": {"seq": [{"elem": "x == 1", "acc": "x"}, {"elem": "x == 2", "acc": "r + x"}]},
         "max_duration": 9, "register": None}], [[0, 1, 1], [1, 2, 2]], [[1, 9, 3]]),
]
"""What no shared case says."""


def folder(path: Path, *facts: dict[str, Any]) -> Path:
    (path / "family.json").write_text(json.dumps(facts))
    return path


def verdict(path: Path, given: dict[str, Any]) -> tuple[str, str]:
    (case,) = read_cases(folder(path, given))
    found = run_case(case, ["interpreted"])
    return found.outcome, found.why


@pytest.mark.parametrize("given", [ODD, LATE, PARTITIONS, OPEN, *MORE], ids=lambda given: given["name"])
def test_a_case_passes(tmp_path: Path, given: dict[str, Any]) -> None:
    assert verdict(tmp_path, given) == ("passed", "")


def test_a_difference_is_reported(tmp_path: Path) -> None:
    assert verdict(tmp_path, WRONG) == (
        "failed", "1 rows a batch, interpreted: missing [0, inf) 2; unexpected [0, inf) 1")


def test_a_partition_is_part_of_the_answer(tmp_path: Path) -> None:
    mistaken = {**PARTITIONS, "expected": {"events": [[5, 8, 1, "b"], [1, 2, 1, "b"]]}}
    assert verdict(tmp_path, mistaken)[1].endswith("missing [5, 8) 1 of 'b'; unexpected [5, 8) 1 of 'a'")


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    assert verdict(tmp_path, UNKNOWN) == ("unsupported", "invert")


@pytest.mark.parametrize(("step", "rows", "why"), [
    ({"op": "sum", "expr": "x", "speed": 3}, [[0, 5, 1]], "sum(speed=)"),
    ({"op": "group_apply", "key": "x", "apply": [{"op": "count", "of": "x"}]}, [[0, 5, 1]], "count(of=)"),
    ({"op": "multicast", "left_steps": [], "right_steps": [], "combine": {"op": "union", "odd": True}}, [[0, 5, 1]],
     "union(odd=)"),
    ({"op": "extend_lifetime", "by": "x"}, [[0, 5, 1]], "extend with an expression"),
    ({"op": "detect", "pattern": {"elem": "x > 0", "unless": "x > 1"}, "register": 0}, [[0, 5, 1]],
     "pattern elem/unless"),
    ({"op": "left_outer_join", "right": "self", "inner": "l", "outer": "l", "other": "l"}, [[0, 5, 1]],
     "a left outer join with outer, other for rows of one side"),
    ({"op": "full_outer_join", "right": "self", "inner": "l", "left": "l"}, [[0, 5, 1]],
     "a full outer join with left for rows of one side"),
], ids=lambda given: str(given)[:40])
def test_a_field_that_nobody_reads_is_named(tmp_path: Path, step: dict[str, Any], rows: list[Any], why: str) -> None:
    """Where the answer is another one: it may be another one because of the field."""
    assert verdict(tmp_path, of([step], rows, [[0, 1, "something else"]])) == ("unsupported", why)


def test_a_run_that_should_fail_and_does_not(tmp_path: Path) -> None:
    in_order = {**LATE, "inputs": {"in1": {"events": [[1, 2, 0]]}}}
    assert verdict(tmp_path, in_order)[1].endswith("1 rows came out of a run that should fail")


def test_the_command_tells_and_its_exit_code_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder(tmp_path, ODD)), "--tier", "interpreted"]) == 0
    assert main([str(folder(tmp_path, ODD, WRONG, UNKNOWN)), "--tier", "interpreted"]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[-4].split() == ["family", "1", "1", "1"]
    assert [line.split(":")[0].split() for line in printed[-2:]] == [["failed", "family/wrong"],
                                                                    ["unsupported", "family/unknown"]]


def test_a_folder_without_cases_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "There are no cases" in capsys.readouterr().err


def test_a_difference_on_purpose_needs_its_own_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = tmp_path / "chosen"
    chosen.write_text(json.dumps({"family/wrong": {"reason": "because", "events": [[0, "inf", 1]]}}))
    assert main([str(folder(tmp_path, WRONG)), "--tier", "interpreted", "--differences", str(chosen)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["by", "choice", "family/wrong:", "because"]


@pytest.mark.parametrize(("text", "shown"), [
    ("x.a // 2 if x.b == 'n' else -x.a", "when(col.x_b == 'n').then(col.x_a // 2).otherwise(-col.x_a)"),
    ("1 < x.a <= 3 or not x.b != 'n'", "(1 < col.x_a) & (col.x_a <= 3) | ~(col.x_b != 'n')"),
    ("(x.b or '') + f'{x.a}'", "col.x_b.fill_null('') + ('' + col.x_a.cast(str))"),
])
def test_expressions(text: str, shown: str) -> None:
    made = translate(text, {"x": {"a": col.x_a, "b": col.x_b}})
    assert made.show().replace("lit('')", "''").replace("lit(1)", "1").replace("'string'", "str") == shown


@pytest.mark.parametrize("text", ["y", "[i for i in x if z]", "x.a.__class__", "open(x.a)"])
def test_an_expression_that_cannot_be_said(text: str) -> None:
    with pytest.raises(UnsupportedError):
        translate(text, {"x": {"a": col.x_a}})


def shared_cases() -> list[Case]:
    if not SHARED.is_dir():
        return []
    return read_cases(SHARED, json.loads(DIFFERENCES.read_text()))


@pytest.mark.data
@pytest.mark.parametrize("tier", ["interpreted", "fused"])
@pytest.mark.parametrize("case", shared_cases(), ids=lambda case: case.name)
def test_shared_case(case: Case, tier: Tier) -> None:
    found = run_case(case, [tier])
    assert found.outcome != "failed", found.why
