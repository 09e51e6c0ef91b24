"""Tables whose rows have lifetimes, from the statements of a file."""

# ruff: noqa: S608 - the texts are those of the file, and SQL here opens nothing

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from whimbrel.errors import SqlError
from whimbrel.sql import sql
from whimbrel.sql.tables import table_stream
from whimbrel.stream import Stream

_NAME: Final = r'(?:"[^"]+"|[\w.]+)'
_CREATE: Final = re.compile(rf"CREATE\s+(?:TEMP(?:ORARY)?\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?({_NAME})\s*\((.*)\)",
                            re.IGNORECASE | re.DOTALL)
_CREATE_AS: Final = re.compile(rf"CREATE\s+(?:OR\s+REPLACE\s+)?(?:TEMP(?:ORARY)?\s+)?TABLE\s+({_NAME})\s+AS\s+(.*)",
                               re.IGNORECASE | re.DOTALL)
_VIEW: Final = re.compile(rf"CREATE\s+(?:OR\s+REPLACE\s+)?(?:TEMP(?:ORARY)?\s+)?(?:MATERIALIZED\s+)?VIEW\s+({_NAME})"
                          r"\s*(?:\(([^)]*)\)\s*)?AS\s+(.*)", re.IGNORECASE | re.DOTALL)
_DROP: Final = re.compile(r"DROP\s+(?:TABLE|(?:MATERIALIZED\s+)?VIEW)\s+(?:IF\s+EXISTS\s+)?"
                          rf"({_NAME}(?:\s*,\s*{_NAME})*)", re.IGNORECASE)
_INSERT: Final = re.compile(rf"INSERT\s+INTO\s+({_NAME})\s*(?:\(([^()]*)\)\s*)?((?:VALUES|SELECT|WITH|FROM)\b.*)",
                            re.IGNORECASE | re.DOTALL)
_DELETE: Final = re.compile(rf"(?:DELETE\s+FROM|TRUNCATE(?:\s+TABLE)?)\s+({_NAME})\s*(?:WHERE\s+(.*))?",
                            re.IGNORECASE | re.DOTALL)
_UPDATE: Final = re.compile(rf"UPDATE\s+({_NAME})\s+SET\s+(.*)", re.IGNORECASE | re.DOTALL)
_HARMLESS: Final = re.compile(r"CREATE\s+(UNIQUE\s+)?INDEX|DROP\s+INDEX|REINDEX|PRAGMA|SET|BEGIN|START|COMMIT|ANALYZE|"
                             r"CREATE\s+SCHEMA|DROP\s+TRIGGER|FLUSH|VACUUM|CHECKPOINT", re.IGNORECASE)
_CELL: Final = re.compile(r"\s*(?:([-+]?\d+)|([-+]?(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?)|'((?:[^']|'')*)'|(NULL))"
                          r"\s*([,)])", re.IGNORECASE)
_ROW: Final = "row of the table"
_TEXTS: Final = ("char", "text", "string", "clob")
_CONSTRAINTS: Final = ("primary", "unique", "constraint", "check", "foreign", "watermark", "key", "index")


@dataclass
class TableHistory:
    """A table from the statement that creates it.

    Parameters
    ----------
    types : dict of str to pyarrow.DataType
    rows : list of tuple
        Every row that the table has had.
    starts, ends : list
        The numbers of the statements that insert and delete each row; None for a row that is still there.
    """

    types: dict[str, pa.DataType]
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int | None] = field(default_factory=list)
    _stream: Stream | None = field(default=None, repr=False)

    def insert(self, rows: list[tuple[Any, ...]], now: int) -> None:
        """Add rows that hold from now on."""
        self.rows += rows
        self.starts += [now] * len(rows)
        self.ends += [None] * len(rows)
        self._stream = None

    def delete(self, numbers: list[int], now: int) -> None:
        """End rows by their numbers."""
        for number in numbers:
            self.ends[number] = now
        self._stream = None

    def stream(self) -> Stream:
        """All rows with their lifetimes."""
        if self._stream is None:
            lasting = [number for number, (start, end) in enumerate(zip(self.starts, self.ends, strict=True))
                       if start != end]
            lasting.sort(key=self.starts.__getitem__)
            self._stream = table_stream(
                self._table(lasting), "table", pa.int64(), [self.starts[number] for number in lasting],
                [self.ends[number] for number in lasting])
        return self._stream

    def now(self) -> pa.Table:
        """The rows that are there, with their numbers."""
        there = [number for number, end in enumerate(self.ends) if end is None]
        return self._table(there).append_column(_ROW, pa.array(there, pa.int64()))

    def _table(self, numbers: list[int]) -> pa.Table:
        columns = {name: pa.array([self.rows[number][place] for number in numbers], type_)
                   for place, (name, type_) in enumerate(self.types.items())}
        return pa.table(columns)


@dataclass
class SqlHistory:
    """The tables and views of a file, as statements change them.

    Of what a statement changes that this class does not know, such as REPLACE, queries find no table from then on. The
    same holds for a statement that is refused.
    """

    tables: dict[str, TableHistory] = field(default_factory=dict)
    views: dict[str, str] = field(default_factory=dict)

    def run(self, text: str, now: int) -> None:
        """Run one statement at its time; SqlError if it has a query that is refused."""
        text = re.sub(r"^\s*--.*$", "", text, flags=re.MULTILINE).strip().rstrip(";").strip()
        if (found := _CREATE_AS.fullmatch(text)) is not None:
            self._create_as(_plain(found[1]), found[2], now)
        elif (found := _VIEW.fullmatch(text)) is not None:
            self._create_view(_plain(found[1]), found[2], found[3])
        elif (found := _CREATE.match(text)) is not None:
            self.tables[_plain(found[1])] = TableHistory(dict(_columns(found[2])))
        elif (found := _DROP.match(text)) is not None:
            for name in found[1].split(","):
                self.tables.pop(_plain(name.strip()), None)
                self.views.pop(_plain(name.strip()), None)
        elif (found := _INSERT.fullmatch(text)) is not None:
            self._insert(_plain(found[1]), found[2], found[3], now)
        elif (found := _DELETE.fullmatch(text)) is not None:
            self._delete(_plain(found[1]), found[2], now)
        elif (found := _UPDATE.fullmatch(text)) is not None:
            self._update(_plain(found[1]), found[2], now)
        elif _HARMLESS.match(text) is None:
            self.forget(text)

    def forget(self, text: str) -> None:
        """Give up the tables that a statement may have changed, so that queries of them are refused."""
        for name in self._named(text, self.tables):
            del self.tables[name]

    def query(self, text: str) -> tuple[str, dict[str, TableHistory]]:
        """A query with the views before it, and the tables that it may name."""
        views = "".join(f"CREATE VIEW {name} AS {view};\n" for name, view in self._named(text, self.views).items())
        return views + text.strip().rstrip(";"), self._named(views + text, self.tables)

    def _named(self, text: str, things: dict[str, Any]) -> dict[str, Any]:
        """Those that a text may name, and for views those that they name."""
        words = {word.lower() for word in re.findall(r"\w+", text)}
        names: set[str] = set()
        while True:
            more = {name for name in things if name.lower() in words} - names
            if not more:
                return {name: thing for name, thing in things.items() if name in names}
            names |= more
            for name in more:
                if isinstance(things[name], str):
                    words |= {word.lower() for word in re.findall(r"\w+", things[name])}

    def now(self, text: str, *, numbered: bool = False) -> pa.Table:
        """The answer of a query now; tables have the numbers of their rows as a column, if asked."""
        whole, tables = self.query(text)
        there = {name: table.now() if numbered else table.now().drop([_ROW]) for name, table in tables.items()}
        return sql(whole, **there).collect().drop(["start", "end"])

    def rows(self, text: str, *, numbered: bool = False) -> list[tuple[Any, ...]]:
        """The rows of a query now."""
        found = self.now(text, numbered=numbered)
        return list(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def _table(self, name: str) -> TableHistory:
        found = {each.lower(): table for each, table in self.tables.items()}
        if name.lower() not in found:
            raise SqlError(f"There is no table {name!r}.", where="a statement of the file", hint="Create it first.")
        return found[name.lower()]

    def _create_as(self, name: str, query: str, now: int) -> None:
        found = self.now(query)
        table = TableHistory({each.name: each.type for each in found.schema})
        table.insert(list(zip(*(column.to_pylist() for column in found.columns), strict=True)), now)
        self.tables[name] = table

    def _create_view(self, name: str, columns: str | None, query: str) -> None:
        if columns is None:
            self.views[name] = query
            return
        self.views[name] = f"SELECT * FROM ({query}) AS renamed({columns})"

    def _insert(self, name: str, columns: str | None, source: str, now: int) -> None:
        table = self._table(name)
        names = list(table.types)
        given = names if columns is None else [_plain(each.strip()) for each in columns.split(",")]
        rows = _literal_rows(source) if source[:6].upper() == "VALUES" else None
        if rows is None and source[:6].upper() == "VALUES":
            rows = [row for part in _parted(source[6:]) for row in self.rows(f"SELECT {part.strip()[1:-1]}")]
        elif rows is None:
            rows = self.rows(source)
        places = {each.lower(): place for place, each in enumerate(given)}
        whole = [tuple(_of_type(row[places[each.lower()]], type_) if places.get(each.lower(), len(row)) < len(row)
                       else None for each, type_ in table.types.items()) for row in rows]
        table.insert(whole, now)

    def _delete(self, name: str, condition: str | None, now: int) -> None:
        table = self._table(name)
        where = "" if condition is None else f" WHERE {condition}"
        table.delete([row[0] for row in self.rows(f'SELECT "{_ROW}" FROM {name}{where}', numbered=True)], now)

    def _update(self, name: str, rest: str, now: int) -> None:
        table = self._table(name)
        found = re.search(r"\bWHERE\b", rest, re.IGNORECASE)
        settings, where = (rest, "") if found is None else (rest[: found.start()], " " + rest[found.start() :])
        new = {}
        for each in _parted(settings):
            column, equal, value = each.partition("=")
            if not equal or "(" in column:
                raise SqlError("UPDATE sets one column after the other here.", where="a statement of the file",
                               hint="Write SET a = 1, b = 2.")
            new[_plain(column.strip()).lower()] = value.strip()
        changed = self.rows(f'SELECT "{_ROW}", {", ".join(new.values())} FROM {name}{where}', numbered=True)
        rows = []
        for number, *values in changed:
            by_name = dict(zip(new, values, strict=True))
            rows.append(tuple(_of_type(by_name[each.lower()], type_) if each.lower() in by_name else old
                              for (each, type_), old in zip(table.types.items(), table.rows[number], strict=True)))
        table.delete([row[0] for row in changed], now)
        table.insert(rows, now)


def _plain(name: str) -> str:
    return name.strip('"')


def _parted(text: str) -> list[str]:
    """Parts between commas that no parenthesis and no quote holds."""
    parts, depth, quoted, start = [], 0, False, 0
    for place, mark in enumerate(text):
        if mark == "'":
            quoted = not quoted
        elif not quoted:
            depth += (mark in "([") - (mark in ")]")
            if mark == "," and depth == 0:
                parts.append(text[start:place])
                start = place + 1
    return [*parts, text[start:]]


def _columns(text: str) -> list[tuple[str, pa.DataType]]:
    """Columns of CREATE TABLE; each type is the widest of its kind, as in SQLite."""
    found = []
    for part in _parted(text):
        words = part.split()
        if words and words[0].lower().split("(")[0] not in _CONSTRAINTS:
            found.append((_plain(words[0]), _type(" ".join(words[1:]).lower())))
    return found


def _type(text: str) -> pa.DataType:
    if "[]" in text.split(" ", maxsplit=1)[0]:
        return pa.list_(_type(text.replace("[]", "", 1)))
    if any(word in text for word in _TEXTS):
        return pa.string()
    if text.startswith("bool"):
        return pa.bool_()
    if text.startswith("date") and not text.startswith("datetime"):
        return pa.date32()
    if text.startswith(("timestamp", "datetime")):
        return pa.timestamp("us", "UTC") if "tz" in text or "with time zone" in text else pa.timestamp("us")
    if text.startswith(("real", "float", "double", "numeric", "decimal")):
        return pa.float64()
    return pa.int64()


def _literal_rows(source: str) -> list[tuple[Any, ...]] | None:
    """Rows of VALUES that are literals alone; None where they are not."""
    rows: list[tuple[Any, ...]] = []
    row: list[Any] = []
    place, inside = 6, False
    while True:
        if not inside:
            found = re.compile(r"[\s,]*(\()?").match(source, place)
            assert found is not None
            place = found.end()
            if found[1] is None:
                return rows if not source[place:].strip() else None
            inside = True
        cell = _CELL.match(source, place)
        if cell is None:
            return None
        whole, real, text, _, after = cell.groups()
        row.append(int(whole) if whole else float(real) if real else None if text is None else text.replace("''", "'"))
        place = cell.end()
        if after == ")":
            rows.append(tuple(row))
            row, inside = [], False


def _of_type(value: Any, type_: pa.DataType) -> Any:
    """A value in the type of its column."""
    if value is None or (pa.types.is_string(type_) and isinstance(value, str)):
        return value
    try:
        if pa.types.is_string(type_):
            return str(value)
        if pa.types.is_floating(type_):
            return float(value)
        if pa.types.is_integer(type_):
            return int(value)
        return pa.array([value]).cast(type_)[0].as_py() if isinstance(value, str) else value
    except (ValueError, TypeError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise SqlError(f"{value!r} cannot be read as {type_}.", where="a statement of the file",
                       hint="Write a value of the type of the column.") from None
