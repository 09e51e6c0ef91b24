"""Rows of files of JSON lines, and their malformed lines."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from whimbrel.connect.feeds.formats.decode import reason
from whimbrel.connect.feeds.formats.json_format import Json
from whimbrel.connect.feeds.formats.malformed import UnreadableError
from whimbrel.connect.file_formats.file_format import COMPRESSED, FileFormat, HintedError, Report
from whimbrel.connect.file_formats.inferred_types import UntypedError, common_time_type, is_time_type, whole_type
from whimbrel.connect.file_formats.text_blocks import first_text, lines_of, text_blocks
from whimbrel.connect.file_formats.text_encoding import UTF_8, check_encoding
from whimbrel.connect.file_formats.timed_rows import rows_of_lines
from whimbrel.connect.files.data_file import DataFile
from whimbrel.connect.tables.lifetime_columns import Timeline

_LOG = logging.getLogger("whimbrel.files")
_CHANGED = re.compile(r"^.*Column\(/(.+)\) changed from (\w+) to (\w+)")
_MAX_DEPTH = 64
"""Levels of values in each other, up to which a line can be a row."""


class JsonFiles(FileFormat):
    """Files with one JSON object a line.

    Parameters
    ----------
    given : pyarrow.Schema
        Types of some columns, instead of those of the first rows.
    encoding : str
    """

    title = "JSON lines"
    endings = tuple(f"{ending}{packed}" for packed in COMPRESSED for ending in (".jsonl", ".ndjson", ".json"))
    has_open_columns = True

    def __init__(self, given: pa.Schema, encoding: str = UTF_8) -> None:
        self.given, self._encoding = given, encoding
        self._names: dict[DataFile, frozenset[str]] = {}
        self._texts: dict[DataFile, frozenset[str]] = {}

    def time_hint(self, name: str) -> str:
        return (f'Use schema={{"{name}": "timestamp[us]"}} if it has texts in ISO 8601. '
                "Times that are numbers must be whole.")

    def schema(self, file: DataFile, times: Collection[str]) -> pa.Schema:
        text = first_text(file, self._encoding)
        check_encoding(text, self._encoding)
        rows = [row for row in (_object(line) for _, line in lines_of(text)) if row is not None]
        if _is_array(text, has_objects=bool(rows)):
            raise HintedError("it is an array, and not an object a line",
                              "Write an object a line, for example with: jq -c '.[]' FILE.")
        if not rows:
            raise UnreadableError("it has no JSON object that is a line")
        given = {field.name: field.type for field in self.given}
        names = {name: None for row in rows for name in row}
        columns = {name: _of_one_kind([row.get(name) for row in rows]) for name in names if name not in given}
        types = _inferred(columns) if columns else {}
        found = {name: _type(name, values, types[name], is_time=name in times) for name, values in columns.items()}
        self._names[file] = frozenset(names)
        self._texts[file] = frozenset(name for name in names if _are_texts([row.get(name) for row in rows]))
        return pa.schema([(name, given.get(name, found.get(name))) for name in names | given])

    def batches(self, file: DataFile, fields: pa.Schema, timeline: Timeline,
                report: Report) -> Iterator[pa.RecordBatch]:
        def left_out(name: str) -> None:
            _LOG.warning("%s: names that its first rows lack are left out, such as %r; schema= can add columns.",
                         file.name, name)

        whole = self._names.get(file, frozenset()) <= {*fields.names}
        format_ = Json(strict_zones=True, on_unknown=left_out if whole else None,
                       texts=self._texts.get(file, ()))
        for number, text in text_blocks(file, report, encoding=self._encoding):
            lines = [(number + at, line) for at, line in lines_of(text)]
            yield from rows_of_lines(format_, lines, fields, timeline, report).to_batches()


def _is_array(text: bytes, *, has_objects: bool) -> bool:
    """Whether a text begins with an array that is not one malformed line among objects."""
    first = text.lstrip().partition(b"\n")[0].strip()
    is_begun = first.startswith(b"[") and first[1:].lstrip()[:1] in (b"", b"{")
    return is_begun and not (has_objects and first.endswith(b"]"))


def _object(line: bytes) -> dict[str, Any] | None:
    """The object of a line; None if it is another value, or none that can be a row."""
    try:
        value = json.loads(line.decode())
        if b"\\u" in line:
            json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair is no text
        if line.count(b"[") + line.count(b"{") > _MAX_DEPTH and _is_deep(value):
            return None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _are_texts(values: Sequence[Any]) -> bool:
    """Whether values are most frequently texts.

    >>> _are_texts(["2024-01-01", 0, None]), _are_texts([0, 1, "2024-01-01"]), _are_texts([None])
    (True, False, False)
    """
    kinds = Counter(isinstance(value, str) for value in values if value is not None)
    return bool(kinds) and kinds.most_common(1)[0][0]


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [inner for each in level if isinstance(each, dict | list)
                 for inner in (each.values() if isinstance(each, dict) else each)]
    return bool(level)


def _of_one_kind(values: Sequence[Any]) -> list[Any]:
    """Values of the most frequent kind, of several the first; null in place of others, whose lines are malformed.

    The parts of objects and arrays have kinds, too. If few of these are of one kind, all stay as they are.

    >>> _of_one_kind([{"a": 1}, {"a": "?"}, {"b": [2]}]), _of_one_kind([1, "?", "2", None])
    ([{'a': 1}, None, {'b': [2]}], [None, '?', '2', None])
    """
    types = set(map(type, values)) - {type(None)}
    kept = list(values) if len(types) < 2 else _frequent(values, [{*islice(_kinds(each), 1)} for each in values])
    if not types & {dict, list}:
        return kept
    fitting = _frequent(kept, [set(_kinds(each)) for each in kept])
    some, fit = (len(kept) - each.count(None) for each in (kept, fitting))
    return kept if 2 * fit < some else fitting


def _frequent(values: Sequence[Any], kinds: Sequence[set[tuple[str, str]]]) -> list[Any]:
    """Values all of whose kinds are the most frequent ones of their paths."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for path, kind in chain.from_iterable(kinds):
        counts[path][kind] += 1
    frequent = {(path, found.most_common(1)[0][0]) for path, found in counts.items()}
    return [value if each <= frequent else None for value, each in zip(values, kinds, strict=True)]


def _kinds(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Kinds of a value and of its parts, with their paths."""
    if value is None:
        return
    yield path, "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _kinds(inner, f"{path}/{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from _kinds(inner, f"{path}/[]")


def _type(name: str, values: Sequence[Any], type_: pa.DataType, *, is_time: bool) -> pa.DataType:
    """The type of a column of a sample; that of most values if it is a time, which text cannot be."""
    present = [value for value in values if value is not None]
    if is_time and not is_time_type(type_) and present:
        return common_time_type(present, lambda value: _inferred({name: [value]})[name]) or type_
    if not pa.types.is_floating(type_) or not all(isinstance(value, int) for value in present):
        return type_
    exact = whole_type(present)
    if exact is None:
        raise UntypedError(f"{name!r} has integers that no type holds",
                           f'Use schema={{"{name}": "double"}} for approximate numbers, or write them as texts.')
    return exact


def _inferred(columns: Mapping[str, Sequence[Any]]) -> dict[str, pa.DataType]:
    lines = [json.dumps(dict(zip(columns, row, strict=True))).encode() for row in zip(*columns.values(), strict=True)]
    try:
        return {field.name: _wide(field.type) for field in Json().infer(lines)}
    except pa.ArrowInvalid as error:
        name = max((name for name in columns if f"Column(/{name}" in str(error)), key=len, default=None)
        if name is None:
            raise
        what = _CHANGED.sub(r"\1 is \2 and \3", reason(error))
        raise UntypedError(f"{name!r} has values of several types: {what}",
                           f"Use schema={{{name!r}: ...}} with its type, or write values of one type.") from None


def _wide(type_: pa.DataType) -> pa.DataType:
    """The type of a sample, wide enough for later values, which may have fractions of seconds."""
    return pa.timestamp("us", type_.tz) if pa.types.is_timestamp(type_) and type_.unit in ("s", "ms") else type_
