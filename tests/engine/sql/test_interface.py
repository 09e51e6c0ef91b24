"""The public functions: parameters, functions, scripts, bounds of texts, and sqlglot."""

from __future__ import annotations

import ast
import math
import signal
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest
from sqlglot.parser import Parser

import whimbrel as wb
from tests.engine.sql.logs import STREAMS, TCP, rows, sql
from whimbrel.errors import MissingExtraError
from whimbrel.sql import interface
from whimbrel.sql.deep_stack import on_deep_stack
from whimbrel.sql.dialect import OVERRIDDEN

ROOM = Path(interface.__file__).parent


def test_parameters() -> None:
    found = wb.sql("SELECT len FROM TCP WHERE len > $low AND srcIP = :ip", parameters={"low": 10, "ip": "a"}, TCP=TCP)
    assert found.collect()["len"].to_pylist() == [30, 40]


def test_functions_of_python() -> None:
    spread = wb.aggregate(init=(0.0, 0.0), accumulate=lambda s, x: (max(s[0], x), max(s[1], -x)),
                          result=lambda s: s[0] + s[1], name="spread")
    found = rows("SELECT tb, spread(len) AS s, double(max(len)) AS d FROM TCP GROUP BY time/60 AS tb",
                 functions={"spread": spread, "double": lambda x: x * 2})
    assert found[0] == {"tb": 0, "s": 20.0, "d": 40}


def test_a_script_with_views() -> None:
    made = wb.sql.script("""
        CREATE VIEW long AS SELECT * FROM TCP WHERE len > 10;
        SELECT tb, count(*) AS n FROM long GROUP BY time/60 AS tb;
    """, **STREAMS)
    assert list(made) == ["long", "result"]
    assert made["result"].collect()["n"].to_pylist() == [1, 2]


def test_explain_in_a_script_is_a_text() -> None:
    assert wb.sql.script("EXPLAIN SELECT * FROM TCP", TCP=TCP)["result"] == TCP.explain()
    bands = TCP.at_latencies(0, 5)
    assert wb.sql.script("EXPLAIN SELECT * FROM TCP EMIT AT 0, 5", TCP=TCP)["result"] == bands.explain()


def test_views_before_one_query() -> None:
    assert wb.sql("CREATE VIEW v AS SELECT len FROM TCP; SELECT * FROM v", TCP=TCP).schema.names == ("len",)


def test_latencies() -> None:
    bands = sql("SELECT m, count(*) AS n FROM bids GROUP BY date_trunc('minute', ts) AS m EMIT AT '1s', '1m'")
    assert bands.latencies == ("1s", "1m")
    for spelled in ("0, 5", "'0', '5'", "0, '5'"):  # ticks, as in at_latencies(0, 5)
        bands = sql(f"SELECT tb, count(*) AS n FROM TCP GROUP BY time/60 AS tb EMIT AT {spelled}")
        assert bands.latencies == ("0", "5")
    with pytest.raises(wb.SqlError, match="A latency needs a unit") as failed:
        sql("SELECT m, count(*) AS n FROM bids GROUP BY date_trunc('minute', ts) AS m EMIT AT 0, '5s'")
    assert failed.value.hint == "Use EMIT AT '0s', '5s'."
    for spelled, hint in (("5, 0", "EMIT AT 0, 5."), ("5, 0, 5", "EMIT AT 0, 5.")):
        with pytest.raises(wb.SqlError, match="Latencies must be in increasing order") as failed:
            sql(f"SELECT tb, count(*) AS n FROM TCP GROUP BY time/60 AS tb EMIT AT {spelled}")
        assert failed.value.hint == f"Put the shortest first: {hint}"
    plain = sql("SELECT tb, count(*) AS n FROM TCP GROUP BY time/60 AS tb EMIT FINAL")
    assert plain.collect()["n"].to_pylist() == [2, 2, 1]


def test_deep_nesting() -> None:
    assert sql(f"SELECT {'(' * 400}len{')' * 400} AS x FROM TCP").schema.names == ("x",)
    with pytest.raises(wb.SqlError, match="nested at most 500 deep"):
        sql(f"SELECT {'(' * 501}len{')' * 501} FROM TCP")


def test_long_texts() -> None:
    with pytest.raises(wb.SqlError, match="at most 1,000,000 characters"):
        sql(f"SELECT len FROM TCP -- {'x' * 1_000_000}")
    with pytest.raises(wb.SqlError, match="at most 1,000 statements"):
        wb.sql.script("SELECT 1;" * 1_001)


def test_comments_and_case_of_names() -> None:
    found = rows("select LEN /* of a packet */ as x // the length\nfrom tcp -- the log\nwhere len = 10")
    assert found == [{"x": 10}]


def test_without_sqlglot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interface, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError) as missing:
        wb.sql("SELECT 1")
    assert str(missing.value).splitlines() == ["wb.sql needs sqlglot, which is not installed.",
                                               "  hint:  pip install 'whimbrel[sql]'"]


@pytest.mark.parametrize("method", OVERRIDDEN)
def test_the_parser_has_each_method_that_is_overridden(method: str) -> None:
    assert callable(getattr(Parser, method))


def test_the_package_runs_no_code_and_opens_nothing() -> None:
    names = {node.id for path in ROOM.glob("*.py") for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
             if isinstance(node, ast.Name)}
    assert not names & {"open", "eval", "exec", "compile", "__import__", "socket", "Path", "urlopen"}


def test_import_does_not_load_sqlglot() -> None:
    import subprocess
    import sys

    code = "import sys, whimbrel; sys.exit('sqlglot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("expression", [
    " OR ".join(f"len = {number}" for number in range(3_000)), "NOT " * 3_000 + "len = 1", "len" + "::BIGINT" * 3_000,
    "len" + " + 1" * 3_000], ids=["or", "not", "cast", "plus"])
def test_long_chains_of_operators_are_refused_at_once(expression: str) -> None:
    with pytest.raises(wb.SqlError, match="at most 1,000 operators"):
        sql(f"SELECT {expression} AS x FROM TCP")


def test_operators_of_many_columns_are_no_chain() -> None:
    columns = ", ".join(f"len + 1 - 2 * 3 + 4 AS c{number}" for number in range(300))
    assert len(sql(f"SELECT {columns} FROM TCP").schema.names) == 300


def test_sets_of_keys_are_counted_before_they_are_made() -> None:
    with pytest.raises(wb.SqlError, match="at most 64 sets of keys, got 4,194,304"):
        sql(f"SELECT count(*) FROM TCP GROUP BY CUBE({', '.join(f'len + {number}' for number in range(22))})")


def test_an_interrupted_caller_leaves_the_limit_of_recursion_to_its_thread() -> None:
    usual, started, go = sys.getrecursionlimit(), threading.Event(), threading.Event()
    during: list[int] = []

    def work() -> None:
        started.set()
        go.wait(30)
        during.append(sys.getrecursionlimit())

    def interrupt(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            on_deep_stack(work)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert started.is_set()
    go.set()
    until = time.monotonic() + 30
    while sys.getrecursionlimit() != usual and time.monotonic() < until:
        time.sleep(0.01)
    assert during[0] > usual
    assert sys.getrecursionlimit() == usual


@pytest.mark.parametrize(("text", "words"), [
    ("SELECT len FROM TCP FOR UPDATE", "FOR UPDATE"),
    ("SELECT len FROM TCP ORDER BY (SELECT max(len) FROM TCP)", "ORDER BY needs a column of the result, not a query"),
    ("SELECT * FROM '[links]'", "There is no table '[links]'"),
    ("SELECT count(*) FROM TCP GROUP BY time/60 EMIT AT 'soon'", "Cannot read 'soon' as a duration"),
    ("SELECT count(*) FROM TCP GROUP BY time/60 EMIT AT 0.5, 5", "EMIT must name latencies, or FINAL"),
    ("SELECT count(*) FROM TCP GROUP BY time/60 EMIT AT 0,", "EMIT must name latencies, or FINAL"),
    ("SELECT count(*) FROM TCP GROUP BY time/60 EMIT AT 5, 0", "Latencies must be in increasing order, got 5, 0"),
])
def test_mistakes_that_were_errors_of_python(text: str, words: str) -> None:
    with pytest.raises(wb.SqlError) as failed:
        sql(text)
    assert words in failed.value.what


def test_a_function_that_cannot_take_expressions_is_named() -> None:
    with pytest.raises(wb.SqlError, match=r"root\(\) takes expressions of whole columns, and failed: TypeError"):
        wb.sql("SELECT root(len) FROM TCP", TCP=TCP, functions={"root": math.sqrt})


@pytest.mark.parametrize("text", [
    "SELECT a FROM A ORDER BY a DESC LIMIT 2", "SELECT k FROM A ORDER BY c DESC LIMIT 2 OFFSET 1",
    "SELECT k, count(*) AS n FROM A GROUP BY k ORDER BY 2 DESC, k",
    "SELECT x.a FROM A x JOIN A y ON x.a = y.c ORDER BY 1",
    "SELECT a FROM A ORDER BY a NULLS FIRST"])
def test_the_order_of_a_result_is_printed(text: str) -> None:
    table = pa.table({"a": [1, 2, None, 5], "k": ["x", "y", "z", "y"], "c": [3, 4, 1, 9]})
    query = wb.sql(text, A=table)
    assert wb.sql(query.sql(), A=table).collect().equals(query.collect())
    assert query.python().startswith("# Its collected result: ORDER BY ")


def test_the_order_of_a_result_follows_its_data() -> None:
    query = wb.sql("SELECT g FROM log ORDER BY x", log=wb.from_arrow({"at": [1], "g": [0], "x": [0]}, time="at"))
    again = query.on(wb.from_arrow({"at": [1, 2], "g": [7, 8], "x": [2, 1]}, time="at"))
    assert again.collect()["g"].to_pylist() == [8, 7]
    with pytest.raises(wb.WhimbrelError, match="ORDER BY and LIMIT work on one result"):
        query.at_latencies(0, 5)


@pytest.mark.parametrize("text", [
    "SELECT count(*) AS n FROM A", "SELECT 1 AS x", "SELECT a FROM A WHERE a > (SELECT avg(c) FROM A)",
    "SELECT count(*) AS n FROM A x JOIN A y ON x.a = y.c"])
def test_tables_of_one_row_are_printed_with_the_query(text: str) -> None:
    table = pa.table({"a": [1, 2, None, 5], "c": [3, 4, 1, 9]})
    query = wb.sql(text, A=table)
    assert wb.sql(query.sql(), A=table).collect().equals(query.collect())
