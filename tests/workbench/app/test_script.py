"""A script or notebook becomes the dashboard of what its cells show."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from IPython import get_ipython

from whimbrel_workbench.app.script import Cell, ScriptError, dashboard_of, script_cells

QUERY = """
import whimbrel as wb
log = wb.from_arrow({"at": [1, 4, 12], "k": ["a", "b", "a"]}, time="at")
counts = log.group_by("k").tumbling_window(10).aggregate(n=wb.count())
""".strip()


def script(folder: Path, text: str) -> Path:
    file = folder / "app.py"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_plain_script_shows_its_last_expression(tmp_path: Path) -> None:
    made = dashboard_of(script(tmp_path, f'"""Words."""\n{QUERY}\ncounts.view(kind="table")\n'))
    assert made.title == "app"
    assert {name: asked.options.kind for name, asked in made.views.items()} == {"n by k": "table"}


def test_cells_show_views_under_their_headings(tmp_path: Path) -> None:
    made = dashboard_of(script(tmp_path, f"""
# %% [markdown]
# # A day of counts
#
# Some words.

# %%
{QUERY}
counts

# %% [markdown]
# ## Only the numbers

# %%
counts.view(kind="number")
1 + 1
counts.collect()

# %%
from IPython.display import display
display(counts.view(kind="number"))
display(counts.at_latencies(0, 5))
7
"""))
    assert made.title == "A day of counts"
    assert list(made.views) == ["n by k", "Only the numbers", "Only the numbers (2)"]


def test_a_dashboard_is_the_page(tmp_path: Path) -> None:
    made = dashboard_of(script(tmp_path, f"""{QUERY}
from whimbrel_workbench import Dashboard
Dashboard("Counts", {{"all": counts}})
"""))
    assert made.title == "Counts"
    assert list(made.views) == ["all"]


def test_a_notebook_runs_with_its_magics_in_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "columns.py").write_text("COLUMN = 'n'\n", encoding="utf-8")
    cells = [nbformat.v4.new_markdown_cell("# Report\n\n## Counts of *k*"), nbformat.v4.new_code_cell(QUERY),
             nbformat.v4.new_code_cell("import os, columns\n%time here = os.listdir()\nassert 'report.ipynb' in here"),
             nbformat.v4.new_code_cell("counts.view(y=columns.COLUMN)")]
    file = tmp_path / "report.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), file)
    before = Path.cwd()
    made = dashboard_of(file)
    assert made.title == "Report"
    assert list(made.views) == ["Counts of k"]
    assert Path.cwd() == before
    assert get_ipython() is None


@pytest.mark.parametrize(("name", "text", "what"), (
    ("app.txt", "counts", "must be a .py script"), ("none.py", None, "File not found"),
    ("app.py", "1 + 1\n", "must show a query"), ("app.ipynb", "{", "as a notebook"),
    ("app.ipynb", "[]", "as a notebook"),
    ("app.py", "# %%\nx = 1\n# %%\n1 / 0\n", "failed"), ("app.py", "x = (\n", "failed"),
))
def test_what_is_wrong_is_said(tmp_path: Path, name: str, text: str | None, what: str,
                               capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / name
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(ScriptError, match=what) as error:
        dashboard_of(file)
    if "1 / 0" in str(text):
        assert error.value.where == "cell 2"
        assert "ZeroDivisionError" in "".join(capsys.readouterr())


def test_cells_are_distinguished() -> None:
    assert script_cells("import a\n# %% [md]\n# words\n#   more\n#%% name\nb\n") == [
        Cell("code", "import a"), Cell("markdown", "words\n  more"), Cell("code", "b")]
