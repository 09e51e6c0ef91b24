"""Blocks of samples, against the shared laws and a reference in plain Python."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.operators import BlockSamples
from whimbrel.plan import Node
from whimbrel.testing import check_operator, laws
from whimbrel.testing.oracle import Event

WINDOW = 6


def build(stream: wb.Stream) -> wb.Stream:
    """Blocks of the values of windows: of no value to six, so that some overlap and some leave gaps."""
    blocks = stream.where(col.x.is_not_null()).set_duration(1).tumbling_window(WINDOW).aggregate(pcm=wb.collect(col.x))
    step = BlockSamples(columns=("pcm",), period=Fraction(2), phase=0, duplicates="first")
    return wb.Stream(Node(step, (blocks.node,)))


def reference(facts: list[Event]) -> list[Event]:
    blocks: dict[int, list[int]] = {}
    for start, _, payload in sorted(facts, key=lambda fact: fact[0]):
        if payload["x"] is not None:
            blocks.setdefault(start // WINDOW * WINDOW, []).append(payload["x"])
    samples: dict[int, int] = {}
    for first, values in sorted(blocks.items()):
        for number, value in enumerate(values):
            samples.setdefault(first + 2 * number, value)
    return [(time, time + 1, {"pcm": value}) for time, value in sorted(samples.items())]


def facts(seed: int) -> list[Event]:
    """Facts at different times."""
    chance = random.Random(seed)
    times = sorted(chance.sample(range(-20, 60), chance.randint(0, 40)))
    return [(time, time + 1, {"time": time, "key": "a", "k2": 0, "flag": True,
                              "x": chance.choice([*range(9), None]), "y": 0.5}) for time in times]


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_law(law: laws.Law) -> None:
    check_operator(build, facts(3), reference=reference, laws=[law])


@pytest.mark.parametrize("seed", range(20))
def test_the_reference_agrees_on_random_blocks(seed: int) -> None:
    check_operator(build, facts(seed), reference=reference, laws=[laws.matches_the_reference])
