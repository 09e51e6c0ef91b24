"""Results as frames of other libraries."""

from __future__ import annotations

import importlib
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.errors import KernelError, MissingExtraError, PlanError, near_match

_LIBRARIES = {"polars": "Polars", "pandas": "pandas", "duckdb": "DuckDB"}
_FORMS = ("arrow", *_LIBRARIES)
_DIGITS = 38
"""Polars and DuckDB have decimals of so many digits."""


def check_form(form: object) -> None:
    """Refuse an unknown form of results, before anything runs."""
    if form not in _FORMS:
        raise PlanError(f"as_ must be one of {', '.join(map(repr, _FORMS))}, got {form!r}.",
                        where=f"collect(as_={form!r})", hint=near_match(str(form), _FORMS, noun="form"))
    if form != "arrow":
        _library(str(form))


def converted(table: pa.Table, form: str) -> Any:
    """Convert a table of Arrow to a frame of another library.

    Raises
    ------
    MissingExtraError
        Without the library.
    KernelError
        If the library cannot hold a value or a type.
    """
    if form == "arrow":
        return table
    library = _library(form)
    if form == "polars":
        _check_seconds(table)
    if form != "pandas":
        table = _with_short_decimals(table, form)
    try:
        return table.to_pandas() if form == "pandas" else library.from_arrow(table)
    except Exception as error:  # noqa: BLE001 - each library has errors of its own
        said = str(error).splitlines()[0].rstrip(".")
        raise _refused(f"{_LIBRARIES[form]} cannot hold this result: {said}.", form) from None


def _with_short_decimals(table: pa.Table, form: str) -> pa.Table:
    """Decimals of more digits than the library has, as far as their values are short enough."""
    for number, field in enumerate(table.schema):
        if not pa.types.is_decimal256(field.type):
            if "decimal256" in str(field.type):  # Polars would panic, which is no Exception
                raise _refused(f"{_LIBRARIES[form]} has no type for column {field.name!r}, {field.type}.", form)
            continue
        try:
            short = table[number].cast(pa.decimal128(_DIGITS, field.type.scale))
        except pa.ArrowInvalid:
            raise _refused(f"{_LIBRARIES[form]} cannot hold the decimals of column {field.name!r}: more than "
                           f"{_DIGITS} digits.", form) from None
        table = table.set_column(number, field.name, short)
    return table


def _check_seconds(table: pa.Table) -> None:
    """Refuse times in seconds that Polars, which has milliseconds, would show as others."""
    last = (2**63 - 1) // 1000
    for field in table.schema:
        if pa.types.is_timestamp(field.type) and field.type.unit == "s":
            ends = pc.min_max(table[field.name].cast(pa.int64())).values()
            if any(end.is_valid and abs(end.as_py()) > last for end in ends):
                raise _refused(f"Column {field.name!r} has times that Polars cannot hold.", "polars")


def _refused(message: str, form: str) -> KernelError:
    return KernelError(message, where=f'collect(as_="{form}")',
                       hint='Use as_="arrow", or cast the column in select(...) first.')


def _library(form: str) -> Any:
    try:
        return importlib.import_module(form)
    except ImportError:
        raise MissingExtraError(_LIBRARIES[form], "frames", f'collect(as_="{form}")') from None
