"""sample: a share of all keys, against the shared laws and a reference over plain tuples."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

import pytest

import whimbrel as wb
from tests.laws.test_laws import INPUTS
from whimbrel import col
from whimbrel.errors import PlanError
from whimbrel.testing import Query, check_operator, laws
from whimbrel.testing.oracle import Event, Payload

QUERIES = {
    "text": ".sample(0.5, 'key')",
    "two_columns": ".sample(0.6, 'key', 'k2', seed=7)",
    "group": ".group_by('k2').sample(0.4)",
    "edges": ".anti_join(t, on='key').sample(0.5, 'x')",
}
REFERENCES = {
    "text": lambda s: sampled(s, 0.5, "key"),
    "two_columns": lambda s: sampled(s, 0.6, "key", "k2", seed=7),
    "group": lambda s: sampled(s, 0.4, "k2"),
    "edges": lambda s, t: sampled(Query((".anti_join(t, on='key')",)).reference(s, t), 0.5, "x"),
}
KEYS = wb.from_arrow({"at": range(10_000), "plane": [f"plane {n}" for n in range(10_000)]}, time="at")


def sampled(facts: list[Event], share: float, *names: str, seed: int = 0) -> list[Event]:
    def kept(payload: Payload) -> bool:
        state = mixed(seed)
        for value in (payload[name] for name in names):
            text = isinstance(value, str) and hashlib.blake2b(value.encode(), digest_size=8).digest()
            number = int.from_bytes(text, "little") if text else (value or 0) % 2**64
            state = mixed(mixed(state ^ number) ^ (value is not None))
        return state < share * 2**64

    return [fact for fact in facts if kept(fact[2])]


def mixed(word: int) -> int:
    word = (word + 0x9E3779B97F4A7C15) % 2**64
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return word ^ word >> 31


def planes(share: float, seed: int = 0) -> set[str]:
    return set(KEYS.sample(share, "plane", seed=seed).collect()["plane"].to_pylist())


@pytest.mark.share(10, rest="soak")
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", QUERIES)
def test_law(name: str, law: laws.Law) -> None:
    query = Query((QUERIES[name],))
    check_operator(query.build, *INPUTS[:query.arity], reference=REFERENCES[name], laws=[law])


def test_a_share_is_a_share_and_seeds_are_independent() -> None:
    tenth, other = planes(0.1), planes(0.1, seed=1)
    assert 850 < len(tenth) < 1150
    assert 50 < len(tenth & other) < 150
    assert tenth < planes(0.3) < planes(1) == set(KEYS.collect()["plane"].to_pylist())
    assert planes(0) == set()


def test_the_key_may_be_a_null_a_float_or_a_bool() -> None:
    rows = wb.from_arrow({"at": range(6), "y": [0.0, -0.0, None, None, 1.5, 1.5], "b": [True] * 6}, time="at")
    kept = [set(rows.sample(0.5, "y", "b", seed=seed).collect()["at"].to_pylist()) for seed in range(20)]
    assert all(({0, 1} <= found or not {0, 1} & found) and ({2, 3} <= found or not {2, 3} & found) for found in kept)
    assert len(set(map(frozenset, kept))) > 4


@pytest.mark.parametrize(("mistake", "says"), [
    (lambda: KEYS.sample(10, "plane"), "fraction must be between 0 and 1, got 10."),
    (lambda: KEYS.sample(0.1), "sample() needs a key."),
    (lambda: KEYS.tumbling_window(9).aggregate(all=wb.collect(col.plane)).sample(0.1, "all"), "A key must be a number"),
])
def test_mistakes_are_reported(mistake: Callable[[], wb.Stream], says: str) -> None:
    with pytest.raises(PlanError, match=re.escape(says)):
        mistake()
