"""CREATE STREAM: what a stream that Python passes must be.

It opens nothing: the stream of this name is checked, and has the declared columns in later statements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokens import TokenType

from whimbrel.batch import logical_type
from whimbrel.clock import duration_ticks, show_ticks
from whimbrel.errors import WhimbrelError, near_match
from whimbrel.expr import Col
from whimbrel.sql.binder import Binder
from whimbrel.sql.dialect import Whimbrel
from whimbrel.sql.positions import SqlText
from whimbrel.sql.relation import SqlRelation, relation_of, time_columns
from whimbrel.sql.types import arrow_type
from whimbrel.stream import Stream

_FORM = "Use CREATE STREAM s (ts TIMESTAMP INCREASING, k VARCHAR, TIME ts)."
_ORDERS = ("INCREASING", "DECREASING", "BANDED")


@dataclass(frozen=True)
class DeclaredColumn:
    """One column of CREATE STREAM.

    Parameters
    ----------
    name, type : token, and pyarrow.DataType
    order : token, optional
        INCREASING, DECREASING or BANDED.
    band : str
        Of BANDED: ticks, or a duration such as ``5s``.
    """

    name: Any
    type: pa.DataType
    order: Any = None
    band: str = "0"


class CreateStream(exp.Expression):  # type: ignore[misc]
    """``CREATE STREAM name (col TYPE ..., TIME col)``."""

    arg_types: ClassVar[dict[str, bool]] = {"name": True, "columns": True, "time": True}


def create_stream(source: SqlText, tokens: Sequence[Any]) -> CreateStream:
    """The statement of these tokens, which begin with CREATE STREAM."""
    def refuse(what: str, token: Any) -> Exception:
        return source.error_at(what, token.start, token.end + 1, _FORM)

    if len(tokens) < 6 or tokens[3].token_type != TokenType.L_PAREN or tokens[-1].token_type != TokenType.R_PAREN:
        raise refuse("CREATE STREAM needs a name and columns in parentheses.", tokens[1])
    columns: list[DeclaredColumn] = []
    time = None
    for part in _parts(tokens[4:-1]):
        if len(part) == 2 and part[0].text.upper() == "TIME" and time is None and columns:
            time = part[1]
        elif len(part) < 2:
            raise refuse("A column of CREATE STREAM has a name and a type.", part[0] if part else tokens[3])
        else:
            columns.append(_column(source, part))
    if time is None:
        raise refuse("CREATE STREAM must name the event time.", tokens[2])
    return CreateStream(name=tokens[2], columns=columns, time=time)


def _parts(tokens: Sequence[Any]) -> list[list[Any]]:
    """The tokens between commas that stand in no parentheses."""
    parts: list[list[Any]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if token.token_type == TokenType.COMMA and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _column(source: SqlText, part: Sequence[Any]) -> DeclaredColumn:
    name, *rest = part
    at = next((number for number, each in enumerate(rest) if each.text.upper() in _ORDERS), len(rest))
    words = rest[:at]
    order, *band = rest[at:] or [None]
    text = source.text[words[0].start : words[-1].end + 1] if words else ""
    try:
        kind = arrow_type(exp.DataType.build(text, dialect=Whimbrel()), source) if text else None
    except (ParseError, ValueError, WhimbrelError):
        kind = None
    if kind is None:
        raise source.error_at(f"There is no type {text[:40]!r}.", name.start, part[-1].end + 1,
                              "Use BIGINT, DOUBLE, VARCHAR, BOOLEAN, DATE, TIMESTAMP or DECIMAL.")
    banded = order is not None and order.text.upper() == "BANDED"
    if (len(band) != 1 if banded else band) or (banded and band[0].token_type not in (
            TokenType.NUMBER, TokenType.STRING)):
        raise source.error_at("BANDED needs a number of ticks or a duration." if banded else
                              f"Nothing stands after {order.text.upper()}.", order.start, part[-1].end + 1,
                              "Use BANDED 5, or BANDED '5s'.")
    return DeclaredColumn(name, kind, order, band[0].text if banded else "0")


def declared(node: CreateStream, binder: Binder) -> tuple[str, SqlRelation]:
    """The name of a declared stream, and the relation of the stream that was passed."""
    name, columns, time = (node.args[key] for key in ("name", "columns", "time"))

    def refuse(what: str, token: Any, hint: str) -> Exception:
        return binder.text.error_at(what, token.start, token.end + 1, hint)

    stream = binder.streams.get(name.text)
    if not isinstance(stream, Stream):
        what = "no stream" if stream is None else "a table"
        raise refuse(f"CREATE STREAM declares a stream that is passed, and {name.text!r} is {what}.", name,
                     f"Pass it: wb.sql(..., {name.text}=wb.from_arrow(table, time={time.text!r})).")
    for column in columns:
        _check_column(column, stream, binder)
    wanted = next((column for column in columns if column.name.text == time.text), None)
    if wanted is None:
        raise refuse(f"TIME names no column: {time.text!r}.", time,
                     near_match(time.text, [each.name.text for each in columns]))
    times = sorted(time_columns(stream.node))
    if time.text not in times and wanted.order is None:
        raise refuse(f"{time.text!r} is not the event time of the stream {name.text!r}.", time,
                     f"Use the event time: {', '.join(times) or 'it has none as a column'}.")
    if time.text in times:
        _check_order(wanted, stream, binder)
    names = [column.name.text for column in columns]
    if list(stream.schema.names) != names:
        stream = stream.select(**{each: Col(each) for each in names})
    for column in columns:
        if column.order is not None and column.name.text not in times:
            stream = _ordered(column, stream, binder)
    if time.text not in times:
        value = -Col(time.text) if wanted.order.text.upper() == "DECREASING" else Col(time.text)
        stream = stream.retime(value)
    return name.text, relation_of(stream, name.text)


def _ordered(column: DeclaredColumn, stream: Stream, binder: Binder) -> Stream:
    """The stream with a column in its declared order."""
    order, name = column.order, column.name.text
    word = "decreasing" if order.text.upper() == "DECREASING" else "increasing"
    band: dict[str, Any] = {"band": int(column.band) if column.band.isdigit() else column.band} if (
        order.text.upper() == "BANDED") else {}
    try:
        return stream.assume(**{word: name}, **band)
    except WhimbrelError as error:
        raise binder.text.error_at(error.what, column.name.start, order.end + 1, error.hint) from None


def _check_column(column: DeclaredColumn, stream: Stream, binder: Binder) -> None:
    name = column.name
    if name.text not in stream.schema.names:
        raise binder.text.error_at(f"The stream has no column {name.text!r}.", name.start, name.end + 1,
                                   near_match(name.text, stream.schema.names))
    known = logical_type(stream.schema.type_of(name.text))
    alike = pa.types.is_timestamp(known) and pa.types.is_timestamp(column.type) and (
        (known.tz is None) == (column.type.tz is None))
    if known != column.type and not alike:
        raise binder.text.error_at(f"The column {name.text!r} is {known}, and the text says {column.type}.",
                                   name.start, name.end + 1, "Change the type, or cast the column of the stream.")


def _check_order(time: DeclaredColumn, stream: Stream, binder: Binder) -> None:
    """Check that the event time has the order of its source."""
    order = time.order
    if order is None:
        return
    if order.text.upper() == "DECREASING":
        raise binder.text.error_at("An event time must be INCREASING or BANDED.", order.start, order.end + 1,
                                   "Make a time of the negative value where the stream is made.")
    unit = stream.schema.unit
    try:
        band = int(duration_ticks(int(time.band) if time.band.isdigit() else time.band, unit))
    except WhimbrelError as error:
        raise binder.text.error_at(error.what, order.start, order.end + 1, "Use BANDED 5, or BANDED '5s'.") from None
    latest = max((source.disorder.reorder_latency or 0 for source in stream.sources), default=0)
    if latest > band:
        what = "is in order" if not band else f"is at most {show_ticks(band, unit)} out of order"
        raise binder.text.error_at(
            f"The text says that {time.name.text!r} {what}, and its source has a reorder latency of "
            f"{show_ticks(latest, unit)}.", order.start, order.end + 1,
            f"Use BANDED '{show_ticks(latest, unit)}'." if unit else f"Use BANDED {latest}.")
