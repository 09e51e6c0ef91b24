"""Write the reference of functions and of aggregates: one line, one executed example and the SQL of each.

Run by `make generate`; a test checks that what is committed is what would be written. Names come from the classes of
methods and from the table of functions. A function that needs arguments needs an example in `EXAMPLES`.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

import whimbrel as wb
from whimbrel import Stream, col
from whimbrel.errors import WhimbrelError
from whimbrel.expr import FUNCTION_TABLE, Call, Expr, build, children
from whimbrel.expr.functions import StringFunctions, TimeFunctions
from whimbrel.expr.ip_methods import IpFunctions
from whimbrel.expr.list_methods import ListFunctions
from whimbrel.expr.numeric_methods import NumericMethods
from whimbrel.kernels import tier

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
ROW = """log = wb.from_arrow({
    "at": [0], "x": [-2.25], "y": [0.5], "n": [12], "z": [None], "s": ["Numenius phaeopus"],
    "j": ['{"a": [1.50, "x"]}'],
    "t": [datetime(2024, 2, 29, 13, 5, 7, 123456)], "d": [date(2024, 3, 11)], "l": [[3, 1, None, 3]], "w": [["a", "b"]],
    "v": [{"a": 1, "b": 2}], "a": ["10.1.2.3"],
}, time="at", name="log")
"""
ROWS = """log = wb.from_arrow({
    "at": [0, 1, 3, 4], "x": [3.0, 1.0, None, 4.0], "y": [1.0, 2.0, 5.0, 2.5], "n": [6, 3, 3, 1],
    "s": ["a", "b", None, "a"],
}, time="at", name="log")
"""
EXAMPLES = {
    **{name: f"col.y.{name}()" for name in ("asin", "acos", "log", "log10", "log2", "log1p", "sqrt")},
    "round": "col.x.round(1)", "atan2": "col.y.atan2(col.x)", "hypot": "col.x.hypot(3)", "clip": "col.x.clip(0, 1)",
    "nullif": "col.n.nullif(12)", "mod": "col.n.mod(5)", "pow": "col.n.pow(2)",
    "bitwise_and": "col.n.bitwise_and(10)", "bitwise_or": "col.n.bitwise_or(1)", "bitwise_xor": "col.n.bitwise_xor(10)",
    "bitwise_not": "col.n.bitwise_not()", "shift_left": "col.n.shift_left(2)", "shift_right": "col.n.shift_right(2)",
    "hash": "col.s.hash()",
    "is_null": "col.z.is_null()", "is_not_null": "col.z.is_not_null()", "fill_null": "col.z.fill_null(col.n)",
    "is_in": "col.n.is_in([3, 12])", "between": "col.n.between(3, 12)", "cast": 'col.x.cast("int64")',
    "try_cast": 'col.s.try_cast("int64")', "field": 'col.v.field("b")',
    "str.contains": 'col.s.str.contains("phae")', "str.starts_with": 'col.s.str.starts_with("Num")',
    "str.ends_with": 'col.s.str.ends_with("pus")', "str.index_of": 'col.s.str.index_of("us")',
    "str.slice": "col.s.str.slice(0, 3)", "str.strip": 'col.s.str.strip("Nus")', "str.lstrip": 'col.s.str.lstrip("Nu")',
    "str.rstrip": 'col.s.str.rstrip("su")', "str.replace": 'col.s.str.replace("us", "a", count=1)',
    "str.split_part": 'col.s.str.split_part(" ", 2)', "str.extract": 'col.s.str.extract("([a-z]+)us$", 1)',
    "str.pad_start": 'col.s.str.pad_start(20, ".")', "str.pad_end": 'col.s.str.pad_end(20, ".")',
    "str.repeat": "col.s.str.repeat(2)", "str.zfill": 'col.n.cast("string").str.zfill(5)',
    "str.count_matches": 'col.s.str.count_matches("us")', "str.head": "col.s.str.head(3)",
    "str.tail": "col.s.str.tail(4)", "str.to_integer": 'wb.lit("-7").str.to_integer()',
    "str.to_float": 'wb.lit("1e3").str.to_float()', "str.strptime": 'wb.lit("31.01.2024").str.strptime("%d.%m.%Y")',
    "str.like": 'col.s.str.like("%us")', "str.ilike": 'col.s.str.ilike("NUM%")',
    "str.json_extract": 'col.j.str.json_extract("$.a[0]")', "str.concat": 'col.s.str.concat("!")',
    "dt.floor": 'col.t.dt.floor("1mo")', "dt.ceil": 'col.t.dt.ceil("15m")', "dt.round": 'col.t.dt.round("1h")',
    "dt.at_time_zone": 'col.t.dt.at_time_zone("Europe/Berlin")', "dt.epoch": 'col.t.dt.epoch("s")',
    "dt.strftime": 'col.t.dt.strftime("%d.%m.%Y")', "dt.to_timezone": 'col.t.dt.to_timezone("Asia/Tokyo")',
    "dt.replace_timezone": 'col.t.dt.replace_timezone("Asia/Tokyo")', "dt.days_between": "col.t.dt.days_between(col.d)",
    "dt.date_diff": 'col.t.dt.date_diff(col.d, "month")', "dt.business_days": "col.t.dt.business_days(col.d)",
    "dt.total_seconds": '(col.t - col.t.dt.floor("1d")).dt.total_seconds',
    "list.get": "col.l.list.get(-1)", "list.slice": "col.l.list.slice(0, 2)", "list.contains": "col.l.list.contains(1)",
    "list.join": 'col.w.list.join("-")',
    "ip.to_text": "col.n.ip.to_text()", "ip.to_ipv6": 'wb.lit("::1").ip.to_ipv6()',
    "ip.in_prefix": 'col.a.ip.in_prefix("10.0.0.0/8")', "ip.network": "col.a.ip.network(24)",
    "ip.lookup": 'col.a.ip.lookup(wb.prefix_table({"10.0.0.0/8": "lab"}))',
    "wb.lit": "wb.lit(3)", "wb.greatest": "wb.greatest(col.x, col.y)", "wb.least": "wb.least(col.x, col.y)",
    "wb.coalesce": "wb.coalesce(col.z, col.n)", "wb.format": 'wb.format("{} of {}", col.n, col.s)',
    "wb.concat_list": "wb.concat_list(3, 4)",
    "wb.haversine": "wb.haversine(52.52, 13.405, 48.8566, 2.3522)",
    "wb.when": "wb.when(col.x > 0).then(1).otherwise(0)",
}
"""Examples of functions whose arguments matter; another function is called without arguments on a column."""
VALUES = {"q": "0.5", "qs": "[0.5, 0.95]", "edges": "[0, 2, 4]", "time": "col.at, per=1", "k": "2",
          "x": "col.x", "y": "col.y"}
"""Arguments of aggregates by the names of parameters; others are columns."""
OVER_TIME = ("whimbrel.stream.recurrences", "whimbrel.stream.time_weighted")
"""Modules of aggregates that are not those of a window's rows."""
HEAD = """# {title}

{text}

```python
from datetime import date, datetime

import whimbrel as wb
from whimbrel import col

{rows}```
"""


def files() -> dict[Path, str]:
    """Content of the generated files, by path."""
    return {REFERENCE / "function_examples.md": "".join(_functions()),
            REFERENCE / "aggregate_examples.md": "".join(_aggregates())}


def _functions() -> Iterator[str]:
    yield HEAD.format(title="Examples of all functions", rows=ROW, text=(
        "This page has one line and one example of each function of a row. [Functions of a row](functions.md) has "
        "their types and corner\ncases. The results are those of this log of one row:"))
    log = _log(ROW)
    used = set[str]()
    for title, owner, prefix, named in (
            ("Numbers", NumericMethods, "col.x.", ""), ("Any value", Expr, "col.x.", ""),
            ("Strings", StringFunctions, "col.s.str.", "str."), ("Times and dates", TimeFunctions, "col.t.dt.", "dt."),
            ("Lists", ListFunctions, "col.l.list.", "list."),
            ("Addresses", IpFunctions, "col.a.ip.", "ip."), ("Several values", build, "wb.", "wb.")):
        members = {f"{named}{name}": member for name, member in _members(owner)}
        examples = {name: _example(name, member, prefix + name.removeprefix(named)) for name, member in members.items()}
        for text in examples.values():
            used |= _called(_expression(text))
        yield f"\n## {title}\n\n" + _table(log, "select", members, examples)
    missing = FUNCTION_TABLE.keys() - used
    assert not missing, f"add methods or examples of {', '.join(sorted(missing))} to scripts/generate_functions.py"


def _aggregates() -> Iterator[str]:
    yield HEAD.format(title="Examples of all aggregates", rows=ROWS, text=(
        "This page has one line and one example of each aggregate. The [index](../operators/README.md#aggregates)\n"
        "has links to their pages. Those over time are [functions of time](../how-to/functions-of-time.md). The\n"
        "results are of this log in one window:"))
    members = {f"wb.{name}": member for name, member in inspect.getmembers(wb, inspect.isfunction)
               if name in wb.__all__ and _takes_values(member)}
    examples = {name: text for name, member in members.items() if (text := _aggregate_example(name, member))}
    yield "\n" + _table(_log(ROWS).tumbling_window(5), "aggregate", members, examples)


def _members(owner: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Public functions of a module, or of a class and of those below it that have the same methods, in their order."""
    owners = [owner] if inspect.ismodule(owner) or owner in (Expr, NumericMethods) else [
        each for each in owner.__mro__ if each is not object]
    for each in owners:
        for name, member in vars(each).items():
            function = member.fget if isinstance(member, property) else member
            namespace = isinstance(member, property) and owner is Expr  # col.x.str
            if inspect.isfunction(function) and not name.startswith("_") and name != "show" and not namespace and (
                    not inspect.ismodule(owner) or function.__module__ == owner.__name__):
                yield name, member


def _takes_values(function: Callable[..., Any]) -> bool:
    first = next(iter(inspect.signature(function).parameters.values()), None)
    module = function.__module__
    return module.startswith("whimbrel.stream") and module not in OVER_TIME and "Value" in str(
        first and first.annotation)


def _example(name: str, member: Any, called: str) -> str:
    return EXAMPLES.get(name) or (called if isinstance(member, property) else f"{called}()")


def _aggregate_example(name: str, function: Callable[..., Any]) -> str:
    """The first call that fits the types of an aggregate; nothing where none does."""
    needed = [each for each in inspect.signature(function).parameters.values()
              if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD]
    for value in ("col.x", "col.n", "col.n > 2", "col.s"):
        columns = iter((value, "col.y"))
        text = f"{name}({', '.join(VALUES.get(each.name) or next(columns, 'None') for each in needed)})"
        with suppress(WhimbrelError):
            _log(ROWS).tumbling_window(5).aggregate(y=_expression(text))
            return text
    return ""


def _log(text: str) -> Any:
    names = {"wb": wb, "date": date, "datetime": datetime}
    exec(text, names)  # noqa: S102 - the text of the page, which readers run
    return names["log"]


def _expression(text: str) -> Any:
    return eval(text, {"wb": wb, "col": col, "date": date, "timedelta": timedelta})  # noqa: S307 - an example above


def _called(expr: Any) -> set[str]:
    own = {expr.function} if isinstance(expr, Call) else set()
    return own.union(*map(_called, children(expr)))


def _table(stream: Stream, method: str, members: dict[str, Any], examples: dict[str, str]) -> str:
    columns = {f"y{number}": _expression(text) for number, text in enumerate(examples.values())}
    with tier("interpreted"):  # one row does not pay for compiling
        results = getattr(stream, method)(**columns).collect()
    lines = ["| Name | Meaning | Example | Result | SQL |", "|---|---|---|---|---|"]
    for (column, expr), (name, text) in zip(columns.items(), examples.items(), strict=True):
        cells = (f"`{name}`", _summary(members[name]), f"`{text}`", f"`{_shown(results[column])}`",
                 _sql(stream, method, expr))
        lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _summary(member: Any) -> str:
    text = " ".join((inspect.getdoc(member) or "").split("\n\n")[0].split())
    text = re.sub(r" ?See :class:`[^`]*`\.", "", text)
    text = re.sub(r":\w+:`(?:[\w.~]*\.)?(\w+)`", r"`\1`", text).replace("``", "`")
    return "".join(part if part.startswith("`") else part.replace("*", r"\*") for part in re.split("(`[^`]*`)", text))


def _shown(values: pa.ChunkedArray) -> str:
    value = values[0].as_py()
    if isinstance(value, float) and math.isfinite(value):
        return format(value, ".6g") if value != round(value, 3) else repr(value)
    return str(value) if isinstance(value, date | time) else repr(value)


def _sql(stream: Stream, method: str, expr: Any) -> str:
    """The expression in SQL; nothing where SQL has no word for it."""
    try:
        text = getattr(stream, method)(y=expr).sql()
    except WhimbrelError:
        return ""
    found = re.search(r"SELECT\s+(.*?)\s+AS\s+y\b", " ".join(text.split()), flags=re.IGNORECASE)
    return f"`{found[1]}`" if found else ""


if __name__ == "__main__":
    for file, content in files().items():
        file.write_text(content, encoding="utf-8")
        print(f"wrote {file.relative_to(ROOT)}")
