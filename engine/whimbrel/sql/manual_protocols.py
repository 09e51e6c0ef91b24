"""PROTOCOL blocks of TigonSQL's manual: the columns that streams must have.

Functions that access packets are Python's: a block only declares what the streams that Python passes must be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from sqlglot.tokens import TokenType

from whimbrel.batch import logical_type
from whimbrel.errors import near_match
from whimbrel.sql.positions import SqlText
from whimbrel.sql.relation import time_columns
from whimbrel.stream import Stream

_FORM: Final = "Use PROTOCOL TCP (IP) { uint time get_time (increasing); uint len get_len; }."
_TEXTS: Final[tuple[Callable[[pa.DataType], bool], ...]] = (pa.types.is_string, pa.types.is_large_string)
_WHOLE: Final[tuple[Callable[[pa.DataType], bool], ...]] = (pa.types.is_integer, pa.types.is_timestamp)
_TYPES: Final[dict[str, tuple[Callable[[pa.DataType], bool], ...]]] = {
    "bool": (pa.types.is_boolean,), "ushort": _WHOLE, "uint": _WHOLE, "int": _WHOLE, "ullong": _WHOLE,
    "llong": _WHOLE, "ip": _WHOLE, "float": (pa.types.is_floating,), "string": _TEXTS, "v_str": _TEXTS, "ipv6": _TEXTS}


@dataclass(frozen=True)
class ProtocolField:
    """One field: the tokens of its type and its name, and its attributes."""

    type: Any
    name: Any
    attributes: tuple[str, ...]


@dataclass(frozen=True)
class Protocol:
    """A block: its name, the names of the protocols that it extends, and its own fields."""

    name: Any
    parents: tuple[Any, ...]
    fields: tuple[ProtocolField, ...]


def protocol(source: SqlText, head: Sequence[Any], entries: Sequence[Sequence[Any]]) -> Protocol:
    """The block of the tokens before its brace, and of its entries."""
    def refuse(token: Any) -> Exception:
        return source.error_at("PROTOCOL needs a name, and fields of a type, a name and a function.", token.start,
                               token.end + 1, _FORM)

    word, *rest = head
    if not rest or not rest[0].text.isidentifier():
        raise refuse(word)
    name, *rest = rest
    if rest and (rest[0].token_type != TokenType.L_PAREN or rest[-1].token_type != TokenType.R_PAREN):
        raise refuse(rest[0])
    fields = []
    for entry in entries:
        names = [each for each in entry if each.token_type not in (TokenType.L_PAREN, TokenType.R_PAREN,
                                                                   TokenType.COMMA)]
        if len(names) < 3:
            raise refuse(entry[0])
        if names[0].text.lower() not in _TYPES:
            raise source.error_at(f"There is no type {names[0].text!r} of fields.", names[0].start, names[0].end + 1,
                                  near_match(names[0].text.lower(), _TYPES, noun="type"))
        fields.append(ProtocolField(names[0], names[1], tuple(each.text.lower() for each in names[3:])))
    parents = tuple(each for each in rest if each.token_type not in (TokenType.L_PAREN, TokenType.R_PAREN,
                                                                     TokenType.COMMA))
    return Protocol(name, parents, tuple(fields))


def check_protocols(text: SqlText, protocols: Sequence[Protocol], streams: Mapping[str, Any]) -> None:
    """Refuse a stream of a protocol, of any interface, that has not its fields."""
    known: dict[str, tuple[ProtocolField, ...]] = {}
    for each in protocols:
        inherited: list[ProtocolField] = []
        for parent in each.parents:
            if parent.text not in known:
                raise text.error_at(f"There is no protocol {parent.text!r} before this one.", parent.start,
                                    parent.end + 1, near_match(parent.text, known, noun="protocol"))
            inherited += known[parent.text]
        known[each.name.text] = (*inherited, *each.fields)
    for name, stream in streams.items():
        for field in known.get(name.rpartition(".")[2], ()) if isinstance(stream, Stream) else ():
            _check_field(text, name, stream, field)


def _check_field(text: SqlText, name: str, stream: Stream, field: ProtocolField) -> None:
    column, token = field.name.text, field.name
    if column not in stream.schema.names:
        raise text.error_at(f"The stream {name!r} has no column {column!r}.", token.start, token.end + 1,
                            near_match(column, stream.schema.names))
    type_ = logical_type(stream.schema.type_of(column))
    if not any(test(type_) for test in _TYPES[field.type.text.lower()]):
        raise text.error_at(f"The column {column!r} of {name!r} is {type_}, and the text says {field.type.text}.",
                            token.start, token.end + 1, "Change the type, or cast the column of the stream.")
    latest = max((source.disorder.reorder_latency or 0 for source in stream.sources), default=0)
    if "increasing" in field.attributes and column in time_columns(stream.node) and latest:
        raise text.error_at(f"The text says that {column!r} is in order, and {name!r} has a reorder latency.",
                            token.start, token.end + 1, "Leave increasing out.")
