"""All pairs of SQL and Python against the shared laws, and against the oracle by the Python that they print."""

from __future__ import annotations

import re

import pytest

import whimbrel as wb
from tests.engine.sql.test_pairs import ALL
from tests.laws.sql_texts import SqlText
from tests.laws.test_laws import INPUTS
from whimbrel.run import time_partitions
from whimbrel.testing import check_operator, laws
from whimbrel.testing.oracle import differences
from whimbrel.testing.rows import facts_from_table

_NEED_A_CALENDAR = ("parts of times", "literal times", "dates", "clocks of time zones", "windows of months")
_SMALLER = (
    (r"(HOP|CUMULATE)\(TCP, 20, 60\)", r"\1(TCP, 2, 6)"), ("INTERVAL '1' MINUTE", "6"), ("INTERVAL '30' SECOND", "3"),
    ("INTERVAL '5' MINUTE", "9"), ("INTERVAL '1' HOUR", "12"), (r"date_trunc\('\w+', ts\)", "ts/6"),
    (r"time_bucket\((\d+), ts\)", r"ts/\1"), (r"\b60\b", "6"), (r"\b30\b", "3"))
"""The inputs of the laws have integer times from -10 to 30."""

NOT_IN_THE_ORACLE = ("cast", "casts that may fail", "like", "functions", "arithmetic", "texts", "trimmed texts",
                     "regular expressions", "rounding", "largest of columns", "decimals", "a ratio of aggregates")
"""Their functions of single values are tested elsewhere; the engine is compared with itself."""
_OF_STARTS = ("first and last", "a list of values", "values by another one", "all values in order")
"""The oracle reads the start of a row off its column `time`, which the late policy "adjust" does not change."""


def smaller(text: str) -> str:
    """The text with shorter windows."""
    for long, short in _SMALLER:
        text = re.sub(long, short, text)
    return text


TEXTS = {name: SqlText(smaller(text)) for name, (text, _) in ALL.items() if name not in _NEED_A_CALENDAR}


@pytest.mark.share(60, rest="soak")
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", TEXTS)
def test_law(name: str, law: laws.Law) -> None:
    text, adjusted = TEXTS[name], law is laws.late_rows_follow_the_policy and name in _OF_STARTS
    check_operator(text.build, INPUTS[0], laws=[law],
                   reference=None if adjusted or name in NOT_IN_THE_ORACLE else text.reference)


@pytest.mark.share(25)
@pytest.mark.parametrize("name", TEXTS)
def test_threads_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_partitions, "_FEWEST_ROWS", 50)
    rows = {"time": list(range(400)), "key": [["a", "b", None][at % 7 % 3] for at in range(400)],
            "x": [at * 7 % 11 for at in range(400)], "y": [at % 5 / 4 for at in range(400)],
            "flag": [at % 3 > 0 for at in range(400)]}
    query = TEXTS[name].build(wb.from_arrow(rows, time="time", name="s"))
    one, several = (facts_from_table(query.collect(threads=threads)) for threads in (1, 3))
    assert differences(one, several) == ([], [])


@pytest.mark.long
@pytest.mark.parametrize("name", TEXTS)
def test_the_answer_is_the_oracles(name: str) -> None:
    if name not in NOT_IN_THE_ORACLE:
        check_operator(TEXTS[name].build, INPUTS[1], laws=[laws.matches_the_reference],
                       reference=TEXTS[name].reference)
