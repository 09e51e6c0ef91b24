"""Compare rows of a result with those of a file."""

from __future__ import annotations

import hashlib
import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from whimbrel.testing.sqllogictest.records import LogicRecord


def agrees(record: LogicRecord, rows: list[tuple[Any, ...]]) -> bool:
    """Whether the rows of an answer are those that a record expects."""
    shown = [[_shown(value, record.types[number : number + 1]) for number, value in enumerate(row)] for row in rows]
    if record.sort == "rowsort":
        shown.sort()
    values = [value for row in shown for value in row]
    if record.sort == "valuesort":
        values.sort()
    hashed = record.hashed
    if hashed is not None:
        return hashed == (len(values), _digest(values))
    expected = list(record.expected)
    if values == expected:
        return True
    width = len(rows[0]) if rows else max(len(record.types), 1)
    return any(_alike(record, rows, found, width) for found in _written(expected, width))


def _digest(values: list[str]) -> str:
    return hashlib.md5("".join(f"{value}\n" for value in values).encode(), usedforsecurity=False).hexdigest()


def _shown(value: Any, letter: str) -> str:
    """A value as SQLite's program writes it, by the letter of its column."""
    if value is None:
        return "NULL"
    if letter == "I":
        if isinstance(value, str):
            return str(int(value)) if value.lstrip("-").isdigit() else "0"
        if isinstance(value, bool | int | Decimal) or (isinstance(value, float) and math.isfinite(value)):
            return str(int(value))
    if letter == "R" and isinstance(value, int | float | Decimal):
        return f"{float(value):.3f}"
    if isinstance(value, str):
        return "".join(each if " " <= each <= "~" else "@" for each in value) or "(empty)"
    return str(value)


def _written(expected: list[str], width: int) -> list[list[list[str]]]:
    """The rows that lines may mean: one value a line, or one row a line with tabs or spaces."""
    found = []
    if len(expected) % width == 0:
        found.append([expected[place : place + width] for place in range(0, len(expected), width)])
    for separator in ("\t", None):
        rows = [line.split(separator) for line in expected]
        if all(len(row) == width for row in rows):
            found.append(rows)
    return found


def _alike(record: LogicRecord, rows: list[tuple[Any, ...]], expected: list[list[str]], width: int) -> bool:
    if len(rows) != len(expected):
        return False
    mine = [[_plain(value) for value in row] for row in rows]
    theirs = [[_plain(value) for value in row] for row in expected]
    if record.sort == "valuesort":
        mine = [[value] for value in sorted((value for row in mine for value in row), key=_key)]
        theirs = [[value] for value in sorted((value for row in theirs for value in row), key=_key)]
    elif record.sort == "rowsort":
        mine.sort(key=lambda row: [_key(value) for value in row])
        theirs.sort(key=lambda row: [_key(value) for value in row])
    return all(_equal(one, other) for row, wanted in zip(mine, theirs, strict=True)
               for one, other in zip(row, wanted, strict=True))


def _key(value: Any) -> tuple[int, float, str]:
    return (0, float(f"{value:.6g}"), "") if isinstance(value, float) else (1, 0.0, str(value))


def _plain(value: Any) -> Any:
    """A value of either side in a form that both have: a number, a text or None."""
    if value is None:
        return None
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float | Decimal):
        return float(value)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    text = str(value).strip()
    if text in ("NULL", "true", "false", "t", "f", "(empty)"):
        return {"NULL": None, "true": 1.0, "false": 0.0, "t": 1.0, "f": 0.0, "(empty)": ""}[text]
    try:
        return float(text)
    except ValueError:
        return text


def _equal(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, float) and isinstance(theirs, float):
        return (math.isnan(mine) and math.isnan(theirs)) or math.isclose(mine, theirs, rel_tol=1e-5, abs_tol=1e-9)
    return bool(mine == theirs)
