"""Samples on a reference clock, against the shared laws and the oracle."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

from tests.laws.test_laws import INPUTS
from whimbrel.testing import Query, check_operator, laws
from whimbrel.testing.oracle import Event
from whimbrel.testing.oracle.device_clock import on_clock

ALONE = ".set_duration(1).tumbling_window(3).aggregate(x=wb.max(col.x))"
OF_FIRST = ".alter_lifetime(duration=2).assume(periodic=3, gaps=True)"
OF_PHASE = ".alter_lifetime(duration=1).assume(periodic=3, phase=1, gaps=True, jitter=1)"
PAIRS = ".set_duration(1).tumbling_window(4).aggregate(n=wb.max(col.time)).select(sample=col.n, gps={})"
DRIFT, JUMPS = "col.n * 4 + (col.n * col.n) // 9", "col.n * 4 + col.n // 11 * 100"

CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "slewed": (OF_FIRST, DRIFT, {"slew": 200_000}),
    "phase": (OF_PHASE, DRIFT, {"slew": 7_000}),
    "steps": (OF_PHASE, JUMPS, {"slew": 50_000, "step": 30}),
    "every_error_a_step": (OF_FIRST, "col.n * 4", {"slew": 0, "step": 0}),
    "at_least_a_tick": (OF_FIRST, "col.n + col.n // 7", {"slew": 2_000_000}),
}


def text(name: str) -> str:
    sampling, times, options = CASES[name]
    given = "".join(f", {key}={value}" for key, value in options.items())
    return (f"{ALONE}{sampling}.on_clock(t{PAIRS.format(times)}, index='sample', time='gps'{given}, "
            f"allow_lookahead=True)")


QUERIES = {name: text(name) for name in CASES}


def reference(name: str) -> Any:
    sampling, times, options = CASES[name]

    def of(s: list[Event], t: list[Event]) -> list[Event]:
        return on_clock(Query((ALONE + sampling,)).reference(s), Query((PAIRS.format(times),)).reference(t),
                        Fraction(3), "sample", "gps", slew=Fraction(options["slew"]), step=options.get("step"),
                        phase=1 if sampling is OF_PHASE else None)
    return of


@pytest.mark.share(10, rest="soak")
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", QUERIES)
def test_law(name: str, law: laws.Law) -> None:
    check_operator(Query((QUERIES[name],)).build, *INPUTS, reference=reference(name), laws=[law])


def facts(seed: int) -> list[Event]:
    chance = random.Random(seed)
    times = [chance.randint(-20, 90) for _ in range(chance.randint(1, 60))]
    return [(time, time + 1, {"time": time, "key": "a", "k2": 0, "flag": True, "x": chance.randint(0, 9), "y": 0.5})
            for time in times]


@pytest.mark.share(3)
@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("name", QUERIES)
def test_the_oracle_agrees_on_random_samples(name: str, seed: int) -> None:
    check_operator(Query((QUERIES[name],)).build, facts(seed), facts(seed + 100), reference=reference(name),
                   laws=[laws.matches_the_reference, laws.batches_change_nothing])


def test_most_cases_give_samples() -> None:
    for name in QUERIES:
        assert reference(name)(*INPUTS), name
