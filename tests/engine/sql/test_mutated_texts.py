"""Texts with words left out, added and exchanged: a stream or an SqlError, and nothing else."""

from __future__ import annotations

import random
import time

import pytest

import whimbrel as wb
from tests.engine.sql.logs import STREAMS
from tests.engine.sql.test_pairs import PAIRS
from tests.engine.sql.test_refusals import REFUSED
from tests.engine.sql.test_streams import ALIKE
from tests.engine.sql.test_tables import QUERIES, TABLES

TEXTS = [*QUERIES, *ALIKE, *(text for text, _ in PAIRS.values()), *(text for text, _ in REFUSED.values())]


def words(text: str) -> list[str]:
    for mark in "(),":
        text = text.replace(mark, f" {mark} ")
    return text.split()


WORDS = sorted({word for text in TEXTS for word in words(text)})


def mutated(draw: random.Random) -> str:
    found = words(draw.choice(TEXTS))
    for _ in range(draw.randint(1, 3)):
        place = draw.randrange(len(found))
        match draw.randrange(4):
            case 0 if len(found) > 1:
                del found[place]
            case 1:
                found.insert(place, draw.choice(WORDS))
            case 2:
                found[place] = draw.choice(WORDS)
            case _:
                other = draw.randrange(len(found))
                found[place], found[other] = found[other], found[place]
    return " ".join(found)


def check(seed: int, texts: int) -> None:
    draw = random.Random(seed)
    data = {**TABLES, **STREAMS}
    for _ in range(texts):
        text = mutated(draw)
        began = time.process_time()
        try:
            wb.sql(text, **data)
        except wb.SqlError as error:
            if len(str(error).splitlines()) > 8:
                raise AssertionError(text) from error
        except Exception as error:
            raise AssertionError(text) from error
        assert time.process_time() - began < 5, text


def test_mutated_texts() -> None:
    check(0, 1_500)


@pytest.mark.parametrize(("seed", "texts"), [
    *(pytest.param(seed, 25_000, marks=pytest.mark.long) for seed in range(1, 3)),
    *(pytest.param(seed, 100_000, marks=pytest.mark.soak) for seed in range(3, 11))])
def test_many_mutated_texts(seed: int, texts: int) -> None:
    check(seed, texts)
