"""The cell magics ``%%whimbrel`` and ``%%whimbrel_sql``.

The first shows the last expression of a cell, the second the last statement of a text of SQL.
"""

from __future__ import annotations

import ast
import shlex
from typing import Any, Final

import pyarrow as pa
from IPython.core.interactiveshell import InteractiveShell

from whimbrel.errors import PlanError
from whimbrel.sql import reads_tables_only, sql
from whimbrel.stream import LatencyBands, Stream

_USAGE: Final = "Write options as in %%whimbrel --kind bars --latencies 1s,1m."


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register the magics of cells.

    They are ``%%whimbrel``, ``%%whimbrel_sql``, and ``%%sql`` if no other tool has it.

    ``%load_ext whimbrel_workbench`` calls this.
    """
    def whimbrel(line: str, cell: str) -> Any:
        """Show the query that the cell ends with.

        The options are those of ``query.view(...)`` and --latencies.

        %%whimbrel --kind bars --by carrier,origin --latencies 1s,1m
        """
        options = options_of(line)
        value = last_expression(shell, cell)
        return shown(value, options, f"%%whimbrel {line}".strip())

    def whimbrel_sql(line: str, cell: str) -> Any:
        """Show the last statement of a text of SQL, over the streams and tables of the notebook.

        The options are those of ``query.view(...)``, --latencies, --name for a variable, and --param for parameters.

        %%whimbrel_sql --kind bars --name counts --param low=100
        """
        options = options_of(line)
        return shown_sql(shell, cell, options, f"%%whimbrel_sql {line}".strip())

    shell.register_magic_function(whimbrel, "cell", "whimbrel")  # type: ignore[arg-type]  # IPython says it loosely
    shell.register_magic_function(whimbrel_sql, "cell", "whimbrel_sql")  # type: ignore[arg-type]  # as above
    if "sql" not in shell.magics_manager.magics["cell"]:
        shell.register_magic_function(whimbrel_sql, "cell", "sql")  # type: ignore[arg-type]  # as above


def options_of(line: str) -> dict[str, Any]:
    """Parse the options on the line of a magic.

    Numbers, true and false are read as such. A comma makes a list.

    Examples
    --------
    >>> options_of("--kind bars --by carrier,origin --top 8")
    {'kind': 'bars', 'by': ['carrier', 'origin'], 'top': 8}
    """
    where = f"%%whimbrel {line}".strip()
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise PlanError(f"Cannot parse the options: {error}.", where=where, hint=_USAGE) from None
    options: dict[str, Any] = {}
    for name, value in zip(words[::2], [*words[1::2], None], strict=False):
        if not name.startswith("--") or value is None or value.startswith("--"):
            raise PlanError(f"An option must be --name and a value, got {name!r}.", where=where, hint=_USAGE)
        parts = [_value(part) for part in value.split(",")]
        options[name[2:].replace("-", "_")] = parts if len(parts) > 1 else parts[0]
    return options


def _value(word: str) -> Any:
    try:
        return ast.literal_eval(word.capitalize() if word in ("true", "false", "none") else word)
    except (SyntaxError, ValueError):
        return word


def last_expression(shell: InteractiveShell, cell: str) -> Any:
    """Run a cell, and return the value of its last expression.

    None if the cell ends with something else.
    """
    code: Any = shell.compile
    name = code.cache(cell)
    try:
        tree = ast.parse(shell.transform_cell(cell))  # type: ignore[no-untyped-call]
    except SyntaxError as error:
        line = (error.text or "").strip()
        raise PlanError(f"The cell has a syntax error: {error.msg}.", where=f"line {error.lineno}: {line}",
                        hint="Count lines from the one after %%whimbrel.") from None
    try:
        *before, last = tree.body or [ast.Pass()]
        if not isinstance(last, ast.Expr):
            exec(code(tree, name, "exec"), shell.user_ns)  # noqa: S102 - the user's own cell
            return None
        exec(code(ast.Module(before, []), name, "exec"), shell.user_ns)  # noqa: S102 - as above
        return eval(code(ast.Expression(last.value), name, "eval"), shell.user_ns)  # noqa: S307 - as above
    except Exception as error:
        _show_from_cell(shell, error, name)
        raise


def _show_from_cell(shell: InteractiveShell, error: Exception, name: str) -> None:
    """Let a traceback begin in the cell: how it is run is not the reader's business."""
    if hasattr(error, "_render_traceback_"):
        return
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != name:
        trace = trace.tb_next
    error._render_traceback_ = (  # type: ignore[attr-defined]
        lambda: shell.InteractiveTB.structured_traceback(type(error), error, trace, tb_offset=0))


def shown_sql(shell: InteractiveShell, cell: str, options: dict[str, Any], where: str) -> Any:
    """The view of the last statement of a text.

    A statement that reads tables only gives a table.

    Views of the text become variables of the notebook.
    """
    options = dict(options)
    name, given = options.pop("name", None), options.pop("param", [])
    parameters = {}
    for each in given if isinstance(given, list) else [given]:
        key, equals, value = str(each).partition("=")
        if not equals:
            raise PlanError(f"--param must be name=value, got {each!r}.", where=where, hint="Write --param low=100.")
        parameters[key] = _value(value)
    known = {key: value for key, value in shell.user_ns.items() if not key.startswith("_") and _is_relation(value)}
    made = sql.script(cell, parameters=parameters, **known)
    result = made.pop("result", None)
    shell.user_ns.update(made)
    if name is not None:
        shell.user_ns[str(name)] = result
    if isinstance(result, str):
        print(result)  # noqa: T201 - the plan of EXPLAIN
        return None
    if isinstance(result, Stream) and reads_tables_only(result):
        return result.collect().drop(["start", "end"])
    return shown(result, options, where)


def _is_relation(value: Any) -> bool:
    """Whether SQL can read a variable: a stream, or a table of Arrow, pandas or Polars."""
    frame = type(value).__name__ == "DataFrame" and type(value).__module__.split(".")[0] in ("pandas", "polars")
    return frame or isinstance(value, Stream | pa.Table | pa.RecordBatch)


def shown(value: Any, options: dict[str, Any], where: str) -> Any:
    """The view of a query with these options."""
    options = dict(options)
    latencies = options.pop("latencies", None)
    if isinstance(value, Stream) and latencies is not None:
        value = value.at_latencies(*(latencies if isinstance(latencies, list) else [latencies]))
    elif latencies is not None and isinstance(value, LatencyBands):
        raise PlanError("--latencies needs a query with one latency, and this one has several.",
                        where=where, hint="Remove --latencies.")
    if not isinstance(value, Stream | LatencyBands):
        found = "nothing" if value is None else f"of type {type(value).__name__}"
        raise PlanError(f"The cell must end with a query, but its last expression is {found}.",
                        where=where, hint="Put a query on the last line.")
    return value.view(**options)
