"""Random typed SQL over streams: equal to the oracle, and to DuckDB where it is relational."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import duckdb
import pytest

import whimbrel as wb
from tests.engine.sql.random_texts import RandomText, of_a_database, ours
from tests.laws.sql_texts import SqlText, logs
from tests.laws.test_laws import stream
from whimbrel.plan import Node
from whimbrel.testing import check_operator, laws
from whimbrel.testing.oracle import Event
from whimbrel.testing.rows import BatchedRows

FAST = 6
SEEDS = [pytest.param(seed, marks=[] if seed < FAST else [pytest.mark.long]) for seed in range(60)]


def multiset(rows: list[dict[str, Any]]) -> Counter[tuple[object, ...]]:
    """Rows without their order; numbers as floats, because a database counts in its own types."""
    return Counter(tuple(float(each) if isinstance(each, int | float) and not isinstance(each, bool) else each
                         for each in row.values()) for row in rows)


def events(seed: int) -> list[Event]:
    return stream(seed, rows=random.Random(seed).choice([0, 1, 8, 20]))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_answer_is_the_oracles(seed: int) -> None:
    write = RandomText(seed)
    for text in (ours(write.relational()), write.temporal()):
        query = SqlText(text)
        check_operator(query.build, events(seed), reference=query.reference, laws=[laws.matches_the_reference])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_answer_is_duckdbs(seed: int) -> None:
    tables = logs(wb.Stream(Node(BatchedRows([events(seed)], name="s"))))
    write = RandomText(-1 - seed)
    with duckdb.connect() as connection:
        connection.register("TCP", tables["TCP"].collect().drop(["start", "end"]))
        for _ in range(2):
            text = write.relational()
            theirs = connection.sql(of_a_database(text)).to_arrow_table().to_pylist()
            found = wb.sql(ours(text), **tables).collect().drop(["start", "end"]).to_pylist()
            assert multiset(found) == multiset(theirs), text
