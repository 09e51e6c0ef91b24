"""Run a conformance case at one batch size on one tier."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from whimbrel.errors import DisorderError
from whimbrel.kernels import Tier, tier
from whimbrel.testing.conformance.case import Case, Row, UnsupportedError
from whimbrel.testing.conformance.fields import Fields
from whimbrel.testing.conformance.inputs import flow_of, stays_open
from whimbrel.testing.conformance.payload_shape import flatten, transform
from whimbrel.testing.conformance.restart import collect_in_two, collect_settled
from whimbrel.testing.conformance.steps import run_steps
from whimbrel.testing.conformance.stream_columns import PARTITION

Outcome = Literal["passed", "failed", "unsupported"]

_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Circumstance:
    """What must not matter: rows of a batch (None: all), the tier, and a checkpoint in the middle."""

    rows: int | None
    tier: Tier
    checkpoint: bool = False

    def __str__(self) -> str:
        written = ", with a checkpoint" if self.checkpoint else ""
        return f"{'all rows' if self.rows is None else f'{self.rows} rows'} a batch, {self.tier}{written}"


@dataclass(frozen=True)
class CaseVerdict:
    """How a case fared; for one that did not pass, what was missing or different."""

    outcome: Outcome
    why: str = ""


def circumstances(tiers: Sequence[Tier]) -> list[Circumstance]:
    """Every batch size on every tier; with a checkpoint, whose batches are cut there anyway, one size is enough."""
    return [Circumstance(rows, name, checkpoint) for name in tiers
            for rows, checkpoint in ((1, False), (3, False), (None, False), (3, True))]


def run_case(case: Case, tiers: Sequence[Tier]) -> CaseVerdict:
    """Run a case under every circumstance; the first that fails decides."""
    try:
        for circumstance in circumstances(tiers):
            why = _difference(case, circumstance)
            if why:
                return CaseVerdict("failed", f"{circumstance}: {why}")
    except UnsupportedError as need:
        return CaseVerdict("unsupported", str(need))
    return CaseVerdict("passed")


def _difference(case: Case, circumstance: Circumstance) -> str:
    op = Fields(case.op)
    try:
        with tier(circumstance.tier):
            rows = answer(case, op, circumstance)
    except DisorderError as error:
        return "" if case.rows is None else f"{error.what}"
    except UnsupportedError:
        raise
    except Exception as error:  # noqa: BLE001 - a crash is a failure of this case, not of the others
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    if case.rows is None:
        return f"{len(rows)} rows came out of a run that should fail"
    why = _describe(case.rows, rows)
    if why and (unread := op.unread()):
        raise UnsupportedError(", ".join(unread))
    return why


def answer(case: Case, op: Fields, circumstance: Circumstance) -> list[Row]:
    """What the engine makes of the steps of a case."""
    inputs = {name: flow_of(name, given, case, circumstance.rows) for name, given in case.inputs.items()}
    payloads = [payload for _, _, payload, _ in case.rows or () if isinstance(payload, Mapping)]
    declared = sorted({name for payload in payloads for name in payload})
    steps = [step.also(columns=declared) if step["op"] == "pivot" else step for step in op["steps"]]
    result = run_steps(inputs[op["from"]], steps, inputs)
    ends = not any(map(stays_open, case.inputs.values()))
    if circumstance.checkpoint:
        half = {source.name: case.cut_rows.get(source.name, (source.rows or 0) // 2)
                for source in result.stream.sources}
        table = collect_in_two(result.stream, half, ends=ends)
    else:
        table = result.stream.collect() if ends else collect_settled(result.stream)
    rows = [(row["start"], row["end"], transform(result.payload, lambda name: _ranked(row[name])),  # noqa: B023
             row.get(PARTITION), row.get(result.ranked)) for row in table.to_pylist()]
    return _listed(rows) if result.ranked else [row[:4] for row in rows]


def _listed(rows: Sequence[tuple[Any, ...]]) -> list[Row]:
    """Rows of ranked payloads as the lists that the cases have: one for each snapshot."""
    lists: dict[tuple[Any, ...], list[Any]] = {}
    for start, end, payload, partition, rank in sorted(rows, key=lambda row: row[4]):
        lists.setdefault((start, end, partition), []).append({"rank": rank, "payload": payload})
    return [(start, end, payload, partition) for (start, end, partition), payload in lists.items()]


def _ranked(value: Any) -> Any:
    """Lists of ranks as the cases have them: what has a rank is called payload there."""
    if isinstance(value, list) and all(isinstance(item, dict) and item.keys() == {"rank", "value"} for item in value):
        return [{"rank": item["rank"], "payload": item["value"]} for item in value]
    return value


def _describe(expected: Sequence[Row], actual: Sequence[Row]) -> str:
    """The multisets' difference, in short; empty when they are the same."""
    left = list(actual)
    missing = []
    for row in expected:
        match = next((at for at, other in enumerate(left) if _same(row, other)), None)
        if match is None:
            missing.append(row)
        else:
            del left[match]
    parts = [f"{word} {_shown(rows)}" for word, rows in (("missing", missing), ("unexpected", left)) if rows]
    return "; ".join(parts)


def _shown(rows: Sequence[Row]) -> str:
    few = ", ".join(f"[{start}, {'inf' if end is None else end}) {payload!r}{_of(partition)}"
                    for start, end, payload, partition in rows[:3])
    return few if len(rows) <= 3 else f"{few} and {len(rows) - 3} more"


def _of(partition: Any) -> str:
    return "" if partition is None else f" of {partition!r}"


def _same(expected: Any, actual: Any) -> bool:
    if expected is None and isinstance(actual, Mapping | list):  # in columns a record is there if one of its fields is
        return all(leaf is None for leaf in flatten(actual, "x").values())
    if isinstance(expected, Mapping):
        return isinstance(actual, Mapping) and expected.keys() == actual.keys() \
            and all(_same(value, actual[name]) for name, value in expected.items())
    if isinstance(expected, list | tuple):
        return isinstance(actual, list | tuple) and len(expected) == len(actual) \
            and all(map(_same, expected, actual))
    if isinstance(expected, float) and isinstance(actual, int | float):
        return math.isclose(expected, actual, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    return bool(expected == actual)


def summary(verdicts: Mapping[str, CaseVerdict]) -> Iterator[str]:
    """Lines for people: a count for each family, then every case that did not pass."""
    families: dict[str, dict[Outcome, int]] = {}
    for name, verdict in verdicts.items():
        counts = families.setdefault(name.partition("/")[0], {"passed": 0, "failed": 0, "unsupported": 0})
        counts[verdict.outcome] += 1
    yield f"{'family':<20}{'passed':>8}{'failed':>8}{'unsupported':>13}"
    for family, counts in families.items():
        yield f"{family:<20}{counts['passed']:>8}{counts['failed']:>8}{counts['unsupported']:>13}"
    total = {outcome: sum(counts[outcome] for counts in families.values()) for outcome in ("passed", "failed",
                                                                                           "unsupported")}
    yield f"{'all':<20}{total['passed']:>8}{total['failed']:>8}{total['unsupported']:>13}"
    for name, verdict in verdicts.items():
        if verdict.outcome != "passed":
            yield f"{verdict.outcome:<12} {name}: {verdict.why}"
