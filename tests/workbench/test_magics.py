"""``%%whimbrel`` shows what a cell ends with, and is the cell otherwise."""

from __future__ import annotations

import atexit
import re
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from whimbrel import WhimbrelError
from whimbrel_workbench.live_view import LiveView
from whimbrel_workbench.magics import options_of

# Panel's widgets will have another name for their name, one day.
pytestmark = pytest.mark.filterwarnings("ignore:Widget.name is deprecated")

SETUP = """
import whimbrel as wb
rows = {"at": [1, 5, 3, 9], "seen": [1, 5, 6, 9], "k": ["a", "b", "a", "b"]}
log = wb.from_arrow(rows, time="at", arrival="seen", name="log")
"""


@pytest.fixture(name="shell", scope="module")
def _shell() -> InteractiveShell:
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    atexit.unregister(shell.atexit_operations)  # it is not the shell of this process
    shell.run_line_magic("load_ext", "whimbrel_workbench")
    shell.run_cell(SETUP).raise_error()
    return shell


def magic(shell: InteractiveShell, line: str, cell: str) -> Any:
    return shell.run_cell_magic("whimbrel", line, cell)


def test_the_last_expression_is_shown_with_the_options(shell: InteractiveShell) -> None:
    view = magic(shell, "--kind bars --by k", "counts = log.group_by('k').tumbling_window(10).aggregate(n=wb.count())\n"
                                              "counts\n")
    assert isinstance(view, LiveView)
    view.start()
    assert view.run.wait(60)
    assert shell.user_ns["counts"].collect().num_rows == 2
    assert view.run.snapshot().table.num_rows == 2


def test_latencies_make_bands(shell: InteractiveShell) -> None:
    view = magic(shell, "--latencies 0,10", "log.tumbling_window(10).aggregate(n=wb.count())")
    view.start()
    assert view.run.wait(60)
    assert view.run.snapshot().table["n"].to_pylist() == [4]


@pytest.mark.parametrize("cell", ["x = 1", "3", "pass", "if True:\n    log"])
def test_a_cell_that_does_not_end_with_a_query_is_an_error(shell: InteractiveShell, cell: str) -> None:
    with pytest.raises(WhimbrelError, match="must end with a query"):
        magic(shell, "", cell)
    if cell == "x = 1":
        assert shell.user_ns["x"] == 1


def test_the_cell_is_nothing_but_itself(shell: InteractiveShell) -> None:
    with pytest.raises(ZeroDivisionError):
        magic(shell, "--kind bars", "y = 2\n1 / 0")
    assert shell.user_ns["y"] == 2
    with pytest.raises(WhimbrelError, match="syntax error"):
        magic(shell, "", "log.where(")


@pytest.mark.parametrize("line", ["kind bars", "--kind", "--kind --by k", "--by 'k"])
def test_what_is_no_option(line: str) -> None:
    with pytest.raises(WhimbrelError, match="option"):
        options_of(line)


def test_views_say_which_kinds_there_are(shell: InteractiveShell) -> None:
    with pytest.raises(WhimbrelError, match="Unknown kind of view: 'bra'"):
        magic(shell, "--kind bra", "log")
    with pytest.raises(WhimbrelError, match="needs a query with one latency"):
        magic(shell, "--latencies 5", "log.at_latencies(1)")


def test_values_are_read_as_what_they_are() -> None:
    assert options_of("--top 8 --redraws-per-s 2.5 --legend false --by 'a b',c") == {
        "top": 8, "redraws_per_s": 2.5, "legend": False, "by": ["a b", "c"]}


@pytest.mark.parametrize(("cell", "words"), [
    ("x = 1\nundefined_name", ["2 undefined_name", "NameError"]),
    ("wb.count(1 / 0)", ["1 wb.count(1 / 0)", "ZeroDivisionError"]),
    ("log.select('zz')", ["where: select(zz)", "Use one of the columns "]),
    ("log.view((", ["syntax error: '(' was never closed", "where: line 1: log.view(("]),
])
def test_an_error_is_shown_as_that_of_the_cell(shell: InteractiveShell, cell: str, words: list[str]) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of whatever kind
        magic(shell, "", cell)
    shown = "\n".join(caught.value._render_traceback_())
    shown = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert not [word for word in words if word not in shown], shown
    assert "magics.py" not in shown
    assert len(shown.splitlines()) <= 8


def sql_magic(shell: InteractiveShell, line: str, cell: str) -> Any:
    return shell.run_cell_magic("whimbrel_sql", line, cell)


def test_the_last_statement_of_sql_is_shown(shell: InteractiveShell) -> None:
    view = sql_magic(shell, "--kind bars --name minutes --param low=1",
                     "CREATE VIEW some AS SELECT * FROM log WHERE at > $low;\n"
                     "SELECT tb, k, count(*) AS n FROM some GROUP BY at/10 AS tb, k")
    assert isinstance(view, LiveView)
    assert sorted(shell.user_ns["minutes"].collect()["n"].to_pylist()) == [1, 2]
    assert shell.user_ns["some"].collect().num_rows == 3


def test_tables_of_the_notebook_give_a_table(shell: InteractiveShell) -> None:
    shell.run_cell("import pandas as pd\nframe = pd.DataFrame({'x': [3, 1, 2]})").raise_error()
    found = sql_magic(shell, "", "SELECT x FROM frame ORDER BY x LIMIT 2")
    assert found.to_pydict() == {"x": [1, 2]}


def test_explain_prints_the_plan(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    assert sql_magic(shell, "", "EXPLAIN SELECT * FROM log") is None
    assert "log(at, seen, k" in capsys.readouterr().out


def test_sql_is_registered_where_it_is_free(shell: InteractiveShell) -> None:
    assert {"sql", "whimbrel_sql"} <= set(shell.magics_manager.magics["cell"])


def test_a_mistake_in_sql_shows_its_line(shell: InteractiveShell) -> None:
    with pytest.raises(WhimbrelError, match="There is no column 'kk'"):
        sql_magic(shell, "", "SELECT kk\nFROM log")
    with pytest.raises(WhimbrelError, match="--param must be name=value"):
        sql_magic(shell, "--param low", "SELECT * FROM log")
