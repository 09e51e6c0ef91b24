"""What PostgreSQL says of a transaction: the messages of its plugin ``pgoutput``, protocol 1."""

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
    """A table as the server describes it: its name in parts, and each column with the number of its type."""

    name: tuple[str, str]
    columns: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one row.

    Attributes
    ----------
    kind : {"insert", "update", "delete"}
    relation : Relation
    values : mapping of str to bytes or None
        As text, by column. Of a deletion: the key, or all columns where the table's replica identity is full.
    untold : tuple of str
        Columns whose long values an update left as they were, and of which the server does not tell them.
    """

    kind: Kind
    relation: Relation
    values: Mapping[str, bytes | None]
    untold: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Truncation:
    """All rows of tables are gone; nobody says which those were."""

    relations: tuple[Relation, ...]


@dataclass(frozen=True, slots=True)
class Commit:
    """The end of a transaction: what came before it, behind the last one, became visible together.

    Attributes
    ----------
    committed_us : int
        Microseconds since 1970.
    end : int
        The place in the log behind it.
    """

    committed_us: int
    end: int


@dataclass
class _Text:
    """A message that is read from the front, behind the letter of its kind."""

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
    """What became of rows, transaction by transaction, in the order of their commits.

    Parameters
    ----------
    messages : iterable of bytes
        Of one call of the server's functions, which describes each table before it is named. None is held.
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
    """The row as it is now, or as it was before it was deleted."""
    known: dict[str, bytes | None] = {}
    row: dict[str, bytes | None] = {}
    while text.at < len(text.message):
        text.take(1)  # whether it is the old key, the old row or the new row, which comes last
        row = _row(relation, text)
        known |= row
    # A value that stayed is no null: what is null of the old key only was not told.
    untold = [name for name, _ in relation.columns if name not in row and known.get(name) is None]
    return Change(kind, relation, known, tuple(untold))


def _row(relation: Relation, text: _Text) -> dict[str, bytes | None]:
    """Values by column; a long one that an update left as it was is not told again."""
    found: dict[str, bytes | None] = {}
    for name, _ in relation.columns[:text.number("!h")]:
        how = text.take(1)
        if how != _KEPT:
            found[name] = text.take(text.number("!i")) if how == _TEXT else None
    return found
