"""Functions from a text to a text, on whole columns through Arrow."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.errors import ExpressionError

_GROUP: Final = re.compile(r"\((?:\?P?<\w+>|(?!\?))")
"""Where a group begins that RE2 counts."""


def _slice(texts: Any, start: int, stop: int | None) -> Any:
    return pc.utf8_slice_codeunits(texts, start, stop)


def _strip(texts: Any, characters: str | None) -> Any:
    return pc.utf8_trim_whitespace(texts) if characters is None else pc.utf8_trim(texts, characters)


def _lstrip(texts: Any, characters: str | None) -> Any:
    return pc.utf8_ltrim_whitespace(texts) if characters is None else pc.utf8_ltrim(texts, characters)


def _rstrip(texts: Any, characters: str | None) -> Any:
    return pc.utf8_rtrim_whitespace(texts) if characters is None else pc.utf8_rtrim(texts, characters)


def _replace(texts: Any, old: str, new: str, regex: bool, count: int | None) -> Any:
    made = pc.replace_substring_regex if regex else pc.replace_substring
    return made(texts, old, new, max_replacements=count)


def _split_part(texts: Any, separator: str, number: int) -> Any:
    """The part of this number of each text, from 1, or from -1 at the end; an empty text where there are fewer."""
    if isinstance(texts, pa.Scalar):
        return _split_part(pa.array([texts]), separator, number)[0]
    parts = pc.split_pattern(texts, separator)
    there = pc.greater_equal(pc.list_value_length(parts), abs(number))
    bounds, step = (parts.offsets[:-1], number - 1) if number > 0 else (parts.offsets[1:], number)
    places = pc.add(bounds.cast(pa.int64()), step)
    found = parts.values.take(pc.if_else(there, places, pa.scalar(None, pa.int64())))
    return pc.if_else(pc.is_null(texts), pa.scalar(None, texts.type), pc.fill_null(found, ""))


def _extract(texts: Any, pattern: str, group: int) -> Any:
    """What a group of a pattern matches, or the whole pattern for 0; null where nothing matches."""
    return pc.struct_field(pc.extract_regex(texts, _named_group(pattern, group)[0]), "found")


def _named_group(pattern: str, group: int) -> tuple[str, int]:
    """The pattern with a name for this group only, as Arrow finds groups by name; and its number of groups."""
    found, number, inside, place = [], 0, False, 0
    while place < len(pattern):
        mark = pattern[place]
        if mark == "\\":
            found.append(pattern[place : place + 2])
            place += 2
            continue
        inside = (inside or mark == "[") and mark != "]"
        begin = None if inside else _GROUP.match(pattern, place)
        if begin is not None:
            number += 1
            mark = "(?P<found>" if number == group else "(?:"
            place = begin.end() - 1
        found.append(mark)
        place += 1
    return "".join(found) if group else f"(?P<found>{''.join(found)})", number


TEXT_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "str.slice": _slice, "str.replace": _replace, "str.split_part": _split_part, "str.extract": _extract,
    "str.strip": _strip, "str.lstrip": _lstrip, "str.rstrip": _rstrip,
    "str.pad_start": pc.utf8_lpad, "str.pad_end": pc.utf8_rpad, "str.reverse": pc.utf8_reverse,
    "str.repeat": pc.binary_repeat,
}
"""Functions by the names of their calls: a column of texts and the options give another one."""


def check_pattern(pattern: str, group: int, where: str) -> None:
    """Refuse what RE2 cannot read, and a group that is not there, before there are rows."""
    nothing = pa.array([""])
    try:
        pc.match_substring_regex(nothing, pattern)
        if group <= (groups := _named_group(pattern, group)[1]):
            _extract(nothing, pattern, group)
            return
    except pa.ArrowInvalid as error:
        raise ExpressionError(f"{pattern!r} is not a pattern: {str(error).splitlines()[0]}", where=where,
                              hint="Use RE2 syntax, without look-around and back-references.") from None
    raise ExpressionError(f"The pattern {pattern!r} has no group {group}.", where=where,
                          hint=f"Use a group from 0 to {groups}; 0 is the whole match.")


def check_replacement(pattern: str, new: str, count: int | None, where: str) -> None:
    """Refuse references to groups that a pattern has not, and counts of matches of nothing."""
    check_pattern(pattern, 0, where)
    groups = _named_group(pattern, 0)[1]
    if any(not mark or mark not in "\\0123456789"[: groups + 2] for mark in re.findall(r"(?s)\\(.|$)", new)):
        raise ExpressionError(f"The replacement {new!r} refers to what the pattern {pattern!r} does not have.",
                              where=where, hint=f"Use \\0 to \\{groups} for groups, and \\\\ for a backslash.")
    if (count or 0) > 1 and pc.match_substring_regex(pa.scalar(""), pattern).as_py():  # Arrow counts one place twice
        raise ExpressionError(f"The pattern {pattern!r} matches an empty text, so its matches are not counted.",
                              where=where, hint="Leave count out, or use count=1.")
