"""Decoder of PostgreSQL's logical replication messages (``pgoutput``, protocol 1)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["insert", "update", "delete"]

_KEPT, _TEXT = b"u", b"t"
_KINDS: dict[bytes, Kind] = {b"I": "insert", b"U": "update", b"D": "delete"}
_EPOCH_US = 946_684_800_000_000
"""PostgreSQL counts from 2000, others from 1970."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A table: schema and name, and each column with its type number."""

    name: tuple[str, str]
    columns: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one row.

    Attributes
    ----------
    kind : {"insert", "update", "delete"}
    relation : Relation
    values : mapping of str to bytes or None
        Values by column, as text. A delete has the key, or all columns if the replica identity is full.
    unchanged : tuple of str
        Columns whose long values an update did not change, so that the server omits them.
    """

    kind: Kind
    relation: Relation
    values: Mapping[str, bytes | None]
    unchanged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Truncation:
    """All rows of tables were removed; the message does not name them."""

    relations: tuple[Relation, ...]


@dataclass(frozen=True, slots=True)
class Commit:
    """The end of a transaction, which makes its changes visible together.

    Attributes
    ----------
    committed_us : int
        Microseconds since 1970.
    end : int
        The log position after it.
    """

    committed_us: int
    end: int


@dataclass
class _Text:
    """A message that is parsed from the front, after the byte of its kind."""

    message: bytes
    at: int = 1

    def numbers(self, form: str) -> tuple[int, ...]:
        found = struct.unpack_from(form, self.message, self.at)
        self.at += struct.calcsize(form)
        return found

    def number(self, form: str) -> int:
        return self.numbers(form)[0]

    def take(self, count: int) -> bytes:
        self.at += count
        return self.message[self.at - count:self.at]

    def word(self) -> str:
        found = self.take(self.message.index(0, self.at) - self.at).decode()
        self.at += 1
        return found


def changes(messages: Iterable[bytes]) -> Iterator[Change | Truncation | Commit]:
    """Decode changes, by transaction in commit order.

    Parameters
    ----------
    messages : iterable of bytes
        Messages of one request, which describes each table before it names it.
    """
    relations: dict[int, Relation] = {}
    for message in messages:
        text, kind = _Text(message), message[:1]
        if kind == b"R":
            number = text.number("!I")
            relations[number] = _relation(text)
        elif kind in _KINDS:
            yield _change(_KINDS[kind], relations[text.number("!I")], text)
        elif kind == b"T":
            count, _ = text.numbers("!ib")
            yield Truncation(tuple(relations[number] for number in text.numbers(f"!{count}I")))
        elif kind == b"C":
            _, _, end, committed = text.numbers("!bqqq")
            yield Commit(committed + _EPOCH_US, end)


def _relation(text: _Text) -> Relation:
    name = text.word(), text.word()
    _, count = text.numbers("!bh")
    columns = []
    for _ in range(count):
        text.take(1)
        column = text.word()
        type_, _ = text.numbers("!Ii")
        columns.append((column, type_))
    return Relation(name, tuple(columns))


def _change(kind: Kind, relation: Relation, text: _Text) -> Change:
    """The new row, or the old one of a delete."""
    known: dict[str, bytes | None] = {}
    row: dict[str, bytes | None] = {}
    while text.at < len(text.message):
        text.take(1)  # whether it is the old key, the old row or the new row, which comes last
        row = _row(relation, text)
        known |= row
    # An unchanged value is not null: columns that only the old key has as null were omitted.
    unchanged = [name for name, _ in relation.columns if name not in row and known.get(name) is None]
    return Change(kind, relation, known, tuple(unchanged))


def _row(relation: Relation, text: _Text) -> dict[str, bytes | None]:
    """Values by column, without unchanged long values, which the server omits."""
    found: dict[str, bytes | None] = {}
    for name, _ in relation.columns[:text.number("!h")]:
        how = text.take(1)
        if how != _KEPT:
            found[name] = text.take(text.number("!i")) if how == _TEXT else None
    return found
