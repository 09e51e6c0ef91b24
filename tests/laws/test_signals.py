"""Operators on samples, against the shared laws and the oracle."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from whimbrel.testing import Query, check_operator, laws
from whimbrel.testing.oracle import Event
from whimbrel.testing.oracle import signals as oracle

BY_KEY = ".set_duration(1).group_by('key').tumbling_window(2).aggregate(x=wb.max(col.x), y=wb.max(col.y))"
ONE = ".set_duration(1).tumbling_window(2).aggregate(x=wb.max(col.x), y=wb.max(col.y))"
SAMPLES = {BY_KEY: ".assume(periodic=2, phase=0, gaps=True, per='key').group_by('key')",
           ONE: ".assume(periodic=2, phase=0, gaps=True)"}
TAPS = tuple([0.5, 0.0, -0.25] + [0.0] * 66 + [1.0])
"""So many run in blocks."""
RUNNING_SUM = "lambda block, total: ({'v': (sums := block['y'].cumsum() + total)}, float(sums[-1]))"
SCALED = ".with_columns(v=(col.v * 1024 + 0.5).floor())"
"""FFTs round; the exact values are multiples of a quarter."""

FILTERS: dict[str, tuple[str, str, str, Callable[..., Any]]] = {
    "iir": (BY_KEY, ".with_columns(v=wb.iir(col.y, b=[1, 0.5], a=[2, -0.5], settle=1))", "y",
            oracle.iir([1, 0.5], [2, -0.5], settle=1)),
    "iir_steady": (ONE, ".with_columns(v=wb.iir(col.x, sos=[[1, 2, 1, 1, 0, 0.25]], init='steady'))", "x",
                   oracle.iir([1, 2, 1], [1, 0, 0.25], steady=True)),
    "process": (BY_KEY, f".process({RUNNING_SUM}, state=0.0, gives={{'v': 'float64'}}, columns=['y'])", "y",
                lambda run: [sum(run[:number + 1]) for number in range(len(run))]),
    "fir": (ONE, ".with_columns(v=wb.fir(col.y, [0.5, 0.25, 1], settle=1))", "y", oracle.fir([0.5, 0.25, 1], settle=1)),
    "fir_center": (BY_KEY, ".with_columns(v=wb.fir(col.x, [1, 2, -1], align='center'))", "x",
                   oracle.fir([1, 2, -1], center=True)),
    "fir_in_blocks": (BY_KEY, f".with_columns(v=wb.fir(col.x, {TAPS}, settle=0)){SCALED}", "x",
                      lambda run: [value * 1024 for value in oracle.fir(TAPS, settle=0)(run)]),
}
DETECTORS: dict[str, tuple[str, str, Callable[[list[Event]], list[Event]]]] = {
    "above": (BY_KEY, ".above(col.x, on=2, off=0)",
              lambda facts: oracle.ranges(facts, 2, lambda row: row["x"], 2, off=0, keys=("key",))),
    "above_padded": (ONE, ".above(col.y, on=1, hold=2, min=2, pad=3)",
                     lambda facts: oracle.ranges(facts, 2, lambda row: row["y"], 1, hold=2, shortest=2, pad=3)),
    "cfar": (BY_KEY, ".cfar(col.x, deviations=1, forget=0.75, startup=3, hold=1, pad=1, limit=6)",
             lambda facts: oracle.ranges(facts, 2, lambda row: row["x"], 1, forget=0.75, startup=3, hold=1, pad=1,
                                         limit=6, keys=("key",))),
    "cfar_of_one_signal": (ONE, ".cfar(col.y, deviations=0.5, startup=2)",
                       lambda facts: oracle.ranges(facts, 2, lambda row: row["y"], 0.5, forget=0.999, startup=2)),
}
RESAMPLED: dict[str, tuple[str, str, Callable[[list[Event]], list[Event]]]] = {
    "polyphase": (ONE, ".select('x').resample(3, how='polyphase')",
                  lambda facts: oracle.polyphase(facts, 2, 3, lambda row: row["x"], "x")),
    "polyphase_keys": (BY_KEY, ".drop('x').resample(1, how='polyphase')",
                       lambda facts: oracle.polyphase(facts, 2, 1, lambda row: row["y"], "y", keys=("key",))),
}
ALL: dict[str, tuple[Any, ...]] = FILTERS | DETECTORS | RESAMPLED

QUERIES = {name: samples + SAMPLES[samples] + step for name, (samples, step, *_) in ALL.items()}


def stream(seed: int) -> list[Event]:
    """Facts of two keys and of none, most at neighboring samples."""
    chance = random.Random(seed)
    facts: list[Event] = []
    for key in ("a", "b", None):
        time = chance.randint(-9, 3)
        for _ in range(chance.randint(3, 12)):
            facts.append((time, time + 1, {
                "time": time, "key": key, "k2": 0, "flag": True, "x": chance.choice([*range(-2, 7), None]),
                "y": chance.choice([-1.25, 0.0, 1.5, 2.75, 4.0, None])}))
            time += chance.choice([1, 2, 2, 2, 2, 5])
    return facts


INPUT = stream(7)


def reference(name: str) -> Callable[[list[Event]], list[Event]]:
    if name not in FILTERS:
        source, _, found = (DETECTORS | RESAMPLED)[name]
        return lambda facts: found(Query((source,)).reference(facts))
    samples, _, column, function = FILTERS[name]
    return lambda facts: oracle.with_column(Query((samples,)).reference(facts), "v", 2, lambda row: row[column],
                                            function, keys=("key",) if samples is BY_KEY else ())


@pytest.mark.share(10, rest="soak")
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", QUERIES)
def test_law(name: str, law: laws.Law) -> None:
    query = Query((QUERIES[name],))
    check_operator(query.build, INPUT, reference=reference(name), laws=[law])


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", QUERIES)
def test_the_oracle_agrees_on_random_samples(name: str, seed: int) -> None:
    query = Query((QUERIES[name],))
    check_operator(query.build, stream(seed), reference=reference(name), laws=[laws.matches_the_reference])
