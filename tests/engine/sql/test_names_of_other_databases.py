"""Names of functions of other databases: the hint is what works here, and no name that only looks alike."""

from __future__ import annotations

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.sql.test_tables import duck
from whimbrel.errors import SqlError
from whimbrel.sql.function_names import AGGREGATES, FUNCTIONS
from whimbrel.sql.names_of_other_databases import ELSEWHERE_ONLY, WORKING_HERE

TIMES = pa.array([0, 90_000_000, -1], pa.timestamp("us"))
LOG = pa.table({"t": TIMES, "u": TIMES, "s": ["abc", "", None], "x": [1.5, -2.0, None], "n": [1, 2, None],
                "l": pa.array([[1, 2, 3], [], None], pa.list_(pa.int64()))})


def test_every_name_has_a_hint_that_is_a_query() -> None:
    for expression in dict.fromkeys(WORKING_HERE.values()):
        wb.sql(f"SELECT {expression} AS v FROM log", log=LOG)
    assert not ({*WORKING_HERE} | ELSEWHERE_ONLY) & {*FUNCTIONS, *AGGREGATES}
    assert not {*WORKING_HERE} & ELSEWHERE_ONLY


@pytest.mark.parametrize(("call", "hint"), [
    ("md5(s)", "Pass it"), ("age(t, u)", "Use date_diff('day', t, u)."), ("last_day(t)", "Pass it"),
    ("make_date(2024, 1, 2)", "Use CAST('2024-01-31' AS DATE)."), ("ascii(s)", "Pass it"), ("bit_count(n)", "Pass it"),
    ("date_add(t, INTERVAL '1' DAY)", r"Use t + INTERVAL '1' DAY."), ("to_timestamp(s)", "Use strptime(s"),
    ("array_length(l)", "Use list_length(l)"), ("concat_ws(',', s, s)", "Use concat(s, ',', s)."),
    ("isinf(x)", "Use abs(x) = CAST('inf' AS DOUBLE)."), ("list(x)", "Use array_agg(x)."),
    ("s->>'$.a'", "Use json_extract_string(s, '$.a')."), ("json_extract_string(s, 'a[')", "Use keys and places"),
    ("split_part(s, '', 1)", "See the functions"), ("n//2", "Use / to divide integers."),
    ("{'a': 1}", "Select each value"),
    ("n ^ 2", "Use power(x, y), or xor(x, y)"), ("n ** 2", "Use power(x, y)"), ("lengthh(s)", "Use length."),
    ("tuncr(x)", "Use trunc."), ("trick(x)", "Pass it"), ("[n, 2]", "wb.concat_list"), ("[1, 'a']", ""),
])
def test_hint(call: str, hint: str) -> None:
    with pytest.raises(SqlError) as error:
        wb.sql(f"SELECT {call} AS v FROM log", log=LOG)
    assert hint in error.value.hint


@pytest.mark.parametrize(("call", "said"), [
    ("isinf(x)", "'isinf'"), ("random()", "random()"), ("array_length(l)", "'array_length'"), ("s->>'$.a'", "'->>'"),
    ("{'a': 1}", "structs"),
])
def test_an_error_has_the_name_that_the_query_has(call: str, said: str) -> None:
    with pytest.raises(SqlError) as error:
        wb.sql(f"SELECT {call} AS v FROM log", log=LOG)
    assert said in error.value.what


@pytest.mark.parametrize(("key", "said"), [
    ("extract(month FROM t)", "EXTRACT(MONTH FROM t) repeats, so"),
    ("t::date", "CAST(t AS DATE) is a narrowing cast, so"),
])
def test_a_key_that_closes_no_group_is_shown_as_a_whole(key: str, said: str) -> None:
    log = wb.from_arrow(LOG.slice(0, 2), time="t")
    with pytest.raises(SqlError) as error:
        wb.sql(f"SELECT count(*) AS n FROM log GROUP BY {key}", log=log)
    assert error.value.what.startswith(said)


def test_bits_and_replacements_are_printed() -> None:
    log = wb.from_arrow(LOG.slice(0, 2), time="t", name="log")
    query = log.select(a=(wb.col.n + 1).bitwise_and(3).shift_left(2), b=wb.col.n.bitwise_not().bitwise_or(8),
                       c=wb.col.n.shift_right(1), d=wb.col.s.str.replace("b", "'"))
    assert wb.sql(query.sql(), log=log).collect() == query.collect()


@pytest.mark.parametrize("values", [
    "l[1], l[2], l[-1], l[9], l[1:2], l[2:], l[:2], l[-2:], l[-2:-1]",
    "s[1], s[2], s[-1], s[9], s[1:2], s[2:], s[:2], s[-2:], s[2:1]",
    "[1, 2, 3], [1, 2][2], ['a'], list_contains([1, 2], n)", "extract(epoch FROM t) AS a, date_part('epoch', t) AS b",
])
def test_subscripts_lists_and_epochs(values: str) -> None:
    text = f"SELECT {values} FROM t"
    ours = [list(row.values()) for row in wb.sql(text, t=LOG).collect().drop(["start", "end"]).to_pylist()]
    assert ours == [list(row.values()) for row in duck(text, {"t": LOG})]
