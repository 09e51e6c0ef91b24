"""The applications of bench E: expressions give what operators give, and what the oracle says, with less text."""

from __future__ import annotations

import inspect
import io
import statistics
import tokenize
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bench import applications_in_expressions, applications_in_operators
from bench.applications import Application, Samples, applications, same_at_events
from whimbrel.testing.oracle import Event, Payload
from whimbrel.testing.oracle import temporal as oracle

ROWS, WIDTH, CELL, KEYS = 260, 20, 25, 6
ALIKE = {"plus_three", "positive", "added", "views"}
"""One step, without a second stream that is made of the first one."""

NAMES = [each.name for each in applications(Samples(2))]


def application(name: str, *, assumed: bool) -> Application:
    of = Samples(ROWS, width=WIDTH, cell=CELL, keys=KEYS, assumed=assumed)
    return next(each for each in applications(of) if each.name == name)


def events(**columns: Any) -> list[Event]:
    rows = zip(*columns.values(), strict=True)
    return [(at, at + 1, dict(zip(columns, values, strict=True))) for at, values in enumerate(rows)]


def fold(name: str, of: Callable[[list[Any]], Any], least: int = 1) -> oracle.Fold:
    def value(rows: list[Payload]) -> Any:
        there = [row[name] for row in rows if row[name] is not None]
        return of(there) if len(there) >= least else None
    return value


def column(name: str) -> oracle.At:
    return oracle.column(lambda row: row[name])


def having(facts: list[Event], keys: tuple[str, ...] = (), **columns: oracle.At) -> list[Event]:
    """The events with more columns, which are taken when each one starts."""
    made = oracle.taken_at_starts(facts, columns, keys)
    return [(start, end, {**row, **new}) for (start, end, row), (_, _, new) in zip(facts, made, strict=True)]


def kept(facts: list[Event], condition: Callable[[Payload], Any]) -> list[Event]:
    return [event for event in facts if condition(event[2])]


def above(row: Payload) -> bool:
    return None not in (row["m"], row["sd"]) and row["x"] > row["m"] + 3 * row["sd"]


def at_multiples(facts: list[Event], every: int, **columns: oracle.At) -> list[Event]:
    return [(at, at + every, {name: of(facts, at) for name, of in columns.items()})
            for at in range(0, facts[-1][1], every)]


def minus(left: Any, right: Any) -> Any:
    return None if None in (left, right) else left - right


X, Y, KIND, GAP = ([None if np.isnan(each) else each for each in Samples(ROWS).values(name).tolist()]
                   for name in ("x", "y", "kind", "gap"))
MEAN, STD = fold("x", statistics.fmean), fold("x", statistics.stdev, least=2)


def strength() -> list[Event]:
    steps = having(events(x=X), step=oracle.both(minus, column("x"), oracle.ago(column("x"), 1)))
    up, down = (fold("step", lambda some, sign=sign: sum(max(sign * each, 0.0) for each in some), least=0)
                for sign in (1, -1))
    sums = having(steps, up=oracle.past(up, 14), down=oracle.past(down, 14))
    with np.errstate(divide="ignore", invalid="ignore"):
        return [(start, end, {"z": 100 - 100 / (1 + np.float64(row["up"]) / row["down"])}) for start, end, row in sums]


def pan_tompkins() -> list[Event]:
    low = having(having(events(x=X), a=oracle.past(fold("x", sum), 6)), low=oracle.past(fold("a", sum), 6))
    passed = having(low, passed=oracle.both(
        lambda moved, some: moved - some / 32, oracle.ago(column("low"), 16), oracle.past(fold("low", sum), 32)))
    moved = having(passed, **{f"p{ticks}": oracle.ago(column("passed"), ticks) for ticks in (0, 1, 3, 4)})
    for _, _, row in moved:
        near = [row[name] for name in ("p0", "p1", "p3", "p4")]
        row["square"] = None if None in near else ((2 * near[0] + near[1] - near[2] - 2 * near[3]) / 8) ** 2
    return having(moved, z=oracle.past(fold("square", statistics.fmean), 30))


def moments() -> list[Event]:
    facts = having(events(x=X), m=oracle.cell(MEAN, 100))
    for _, _, row in facts:
        row |= {"d2": (row["x"] - row["m"]) ** 2, "d4": (row["x"] - row["m"]) ** 4, "x2": row["x"] ** 2}
    rms = oracle.cell(fold("x2", lambda some: statistics.fmean(some) ** 0.5), 100)
    return at_multiples(facts, 100, rms=rms, crest=oracle.both(
        lambda high, low: high / low, oracle.cell(fold("x", lambda some: max(map(abs, some))), 100), rms),
        kurtosis=oracle.both(lambda fourth, second: fourth / second**2, oracle.cell(fold("d4", statistics.fmean), 100),
                             oracle.cell(fold("d2", statistics.fmean), 100)))


def fraud() -> list[Event]:
    facts = events(x=X, card=[at % KEYS for at in range(ROWS)])
    of_ten = (oracle.previous(oracle.past_rows(of, 10)) for of in (MEAN, STD))
    return kept(having(facts, ("card",), **dict(zip(("m", "sd"), of_ten, strict=True))), above)


def outliers() -> list[Event]:
    m, sd = (oracle.ago(oracle.past(of, 10), 1) for of in (MEAN, STD))
    return kept(having(events(x=X), m=m, sd=sd), above)


def crossing() -> list[Event]:
    facts = having(events(x=X), short=oracle.past(MEAN, 20), long=oracle.past(MEAN, 50))
    return kept(facts, lambda row: row["short"] > row["long"])


MEANINGS: dict[str, Callable[[], list[Event]]] = {
    "plus_three": lambda: having(events(x=X), z=oracle.column(lambda row: row["x"] + 3)),
    "positive": lambda: kept(events(x=X), lambda row: row["x"] > 0),
    "window_sum": lambda: having(events(x=X), z=oracle.past(fold("x", sum), WIDTH)),
    "added": lambda: events(z=[x + y for x, y in zip(X, Y, strict=True)]),
    "views": lambda: at_multiples(events(kind=KIND), 100, n=oracle.cell(
        lambda rows: sum(row["kind"] == 1 for row in rows), 100)),
    "crossing": crossing,
    "strength": strength,
    "scores": lambda: having(events(x=X), z=oracle.both(lambda step, sd: step / sd, oracle.both(
        minus, column("x"), oracle.cell(MEAN, CELL)), oracle.cell(STD, CELL))),
    "imputed": lambda: [(start, end, {"z": row["m"] if row["x"] is None else row["x"]}) for start, end, row in having(
        events(x=GAP), m=oracle.cell(MEAN, CELL))],
    "resampled": lambda: oracle.resample([(4 * at, 4 * at + 4, {"z": x}) for at, x in enumerate(X)], 5, "linear"),
    "pan_tompkins": pan_tompkins,
    "moments": moments,
    "outliers": outliers,
    "fraud": fraud,
}


@pytest.mark.parametrize("assumed", [True, False], ids=["periodic", "as it is"])
@pytest.mark.parametrize("name", NAMES)
def test_expressions_are_what_operators_and_the_oracle_say(name: str, assumed: bool) -> None:
    each = application(name, assumed=assumed)
    found, means = each.expressions().collect(), MEANINGS[name]()
    assert found.num_rows
    assert same_at_events(each.columns)(found, each.operators().collect())
    assert found["start"].to_pylist() == [start for start, _, _ in means]
    for column_name in each.columns:
        expected = [row[column_name] for _, _, row in means]
        assert [value is None for value in found[column_name].to_pylist()] == [value is None for value in expected]
        np.testing.assert_allclose(np.array(found[column_name].to_pylist(), float), np.array(expected, float),
                                   rtol=1e-4, atol=1e-4)


def test_answers_that_differ_are_not_the_same() -> None:
    each = application("strength", assumed=False)
    found = each.expressions().collect()
    same = same_at_events(each.columns)
    assert same(found, each.operators().collect())
    assert not same(found, application("window_sum", assumed=False).operators().collect())
    assert not same(found.slice(30), found)


@pytest.mark.parametrize("name", NAMES)
def test_expressions_are_shorter_than_operators(name: str) -> None:
    written, before = (_tokens(getattr(form, name)) for form in (applications_in_expressions,
                                                                 applications_in_operators))
    assert len("".join(written)) <= len("".join(before)) * (1.02 if name in ALIKE else 0.8), (written, before)


def _tokens(function: Callable[..., Any]) -> list[str]:
    """What stands below the docstring."""
    body = inspect.getsource(function).split('"""')[2]
    return [token.string for token in tokenize.generate_tokens(io.StringIO(body).readline) if token.string.strip()]
