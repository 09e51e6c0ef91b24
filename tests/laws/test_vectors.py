"""The command that runs conformance cases, and the shared cases where they are there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from whimbrel import col
from whimbrel.kernels import Tier
from whimbrel.testing.vectors import Case, judge, read_cases
from whimbrel.testing.vectors.__main__ import main
from whimbrel.testing.vectors.case import UnsupportedError
from whimbrel.testing.vectors.expressions import translate

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


def folder(path: Path, *facts: dict[str, Any]) -> Path:
    (path / "family.json").write_text(json.dumps(facts))
    return path


def verdict(path: Path, given: dict[str, Any]) -> tuple[str, str]:
    (case,) = read_cases(folder(path, given))
    found = judge(case, ["interpreted"])
    return found.outcome, found.why


@pytest.mark.parametrize("given", [ODD, LATE, PARTITIONS, OPEN], ids=lambda given: given["name"])
def test_a_case_passes(tmp_path: Path, given: dict[str, Any]) -> None:
    assert verdict(tmp_path, given) == ("passed", "")


def test_a_difference_is_told(tmp_path: Path) -> None:
    assert verdict(tmp_path, WRONG) == (
        "failed", "1 rows a batch, interpreted: missing [0, inf) 2; unexpected [0, inf) 1")


def test_a_partition_is_part_of_the_answer(tmp_path: Path) -> None:
    mistaken = {**PARTITIONS, "expected": {"events": [[5, 8, 1, "b"], [1, 2, 1, "b"]]}}
    assert verdict(tmp_path, mistaken)[1].endswith("missing [5, 8) 1 of 'b'; unexpected [5, 8) 1 of 'a'")


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    assert verdict(tmp_path, UNKNOWN) == ("unsupported", "invert")


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


@pytest.mark.parametrize("text", ["y", "[i for i in x]", "x.a.upper()"])
def test_an_expression_that_cannot_be_said(text: str) -> None:
    with pytest.raises(UnsupportedError):
        translate(text, {"x": {"a": col.x_a}})


def shared_cases() -> list[Case]:
    if not SHARED.is_dir():
        return []
    return read_cases(SHARED, json.loads(DIFFERENCES.read_text()))


@pytest.mark.parametrize("tier", ["interpreted", "fused"])
@pytest.mark.parametrize("case", shared_cases(), ids=lambda case: case.name)
def test_shared_case(case: Case, tier: Tier) -> None:
    found = judge(case, [tier])
    assert found.outcome != "failed", found.why
