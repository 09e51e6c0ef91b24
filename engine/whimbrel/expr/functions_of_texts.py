"""Functions of texts of the table of functions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as t

from whimbrel.errors import ExpressionError
from whimbrel.expr.function_entry import Function, Types, held, numbers_of
from whimbrel.expr.functions_of_times import check_directives
from whimbrel.expr.real_times import are_real, doubtful_times, read_time
from whimbrel.expr.text_parsers import read_integers, read_times

_INT, _TEXT = pa.int64(), pa.string()
_INTEGER: Final = r"^[+-]?[0-9]+$"
_FLOAT: Final = r"(?i)^[+-]?([0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?|\.[0-9]+(e[+-]?[0-9]+)?|inf|infinity|nan)$"
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SAFE_DIGITS: Final = 18
"""Digits of which every integer is an int64."""
_MOST_DIGITS: Final = 19
"""Digits of the largest int64. Python reads no integers of very many digits."""

PARSED: Final = frozenset("aAbBdDeFHhIjmMpRSTyYzf%")
"""Letters that ``str.strptime`` knows after %."""

_LONG_OFFSET: Final = r"[+-]\d\d:?\d\d:?\d\d"
"""An offset with seconds, such as of Kolkata before 1906. Arrow reads none, and the standard library does."""
_FRACTION: Final = r"^(?P<before>.*)\.(?P<digits>[0-9]{1,9})(?P<after>[^.]*)$"
_STEP: Final = re.compile(r'\.(?P<key>[^.\[\]"]+)|\[(?P<place>-?\d+)\]'
                          r'|(?:\.|(?P<open>\[))"(?P<quoted>[^"]*)"(?(open)\])')


def _whole(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: compute(*given).cast(_INT)


def _count_matches(texts: Any, pattern: str, regex: bool) -> Any:
    if not regex and pattern:
        return pc.count_substring(texts, pattern).cast(_INT)
    if regex and not _matches_nothing(pattern):
        return pc.count_substring_regex(texts, pattern).cast(_INT)
    # Arrow counts a match of nothing at each byte. Replacing finds it at each character: one letter for each match.
    marked, without = (pc.utf8_length(pc.replace_substring_regex(texts, pattern, by)) for by in ("x", ""))
    return pc.subtract(marked, without).cast(_INT)


def _matches_nothing(pattern: str) -> bool:
    """Whether a match can be empty, as of ``x*``: then it is found, and removing it changes nothing."""
    some = pa.array(["", "a", " "])
    found = pc.match_substring_regex(some, pattern)
    return bool(pc.any(pc.and_(found, pc.equal(pc.replace_substring_regex(some, pattern, ""), some))).as_py())


def to_integers(texts: Any) -> Any:
    """Integers of an array of texts; null for other texts and beyond int64."""
    return read_integers(texts, _to_integers)


def _to_integers(texts: Any) -> Any:
    if not _has_x(texts):  # Arrow reads 0x1F
        try:
            return texts.cast(_INT)
        except pa.ArrowInvalid:
            pass
    right = pc.match_substring_regex(texts, _INTEGER)
    plain = pc.if_else(right, texts, pa.scalar(None, texts.type))
    plain = pc.replace_substring_regex(plain, r"^\+", "")
    long = pc.fill_null(pc.greater(pc.utf8_length(plain), _SAFE_DIGITS), False)
    if not pc.any(long).as_py():
        return plain.cast(_INT)
    digits = pc.replace_substring_regex(plain.filter(long), "^(-?)0+([0-9])", r"\1\2")
    found = [int(text) if len(text) <= _MOST_DIGITS + 1 else None for text in digits.to_pylist()]
    few = pa.array([each if each is not None and -(2**63) <= each < 2**63 else None for each in found], _INT)
    return pc.replace_with_mask(pc.if_else(long, pa.scalar(None, texts.type), plain).cast(_INT), long, few)


def _has_x(texts: Any) -> bool:
    """Whether a text has an x; of two scans of the texts, one of their bytes is enough."""
    offsets, data = texts.buffers()[1:]
    if data is None or not len(texts):
        return False
    width = np.int64 if t.is_large_string(texts.type) else np.int32
    bounds = np.frombuffer(offsets, width)[texts.offset : texts.offset + len(texts) + 1]
    return bool(((np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]] | 0x20) == ord("x")).any())


def to_floats(texts: Any) -> Any:
    """Floats of an array of texts; null for other texts."""
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:
        right = pc.match_substring_regex(texts, _FLOAT)
        return pc.if_else(right, texts, pa.scalar(None, texts.type)).cast(pa.float64())


def _strptime(texts: Any, form: str, unit: str) -> Any:
    return read_times(texts, form, _strptime_type((), (form, unit)), _PER_SECOND[unit],
                      lambda left: _read_by_arrow(left, form, unit))


def _read_by_arrow(texts: Any, form: str, unit: str) -> Any:
    digits: Any = None
    if "%f" in re.findall("%.", form):
        parts = pc.extract_regex(texts, _FRACTION)
        digits = pc.struct_field(parts, "digits")
        texts = pc.binary_join_element_wise(pc.struct_field(parts, "before"), pc.struct_field(parts, "after"),
                                            pa.scalar("", texts.type))
        form = form.replace(".%f", "")
    found = pc.strptime(texts, format=form, unit=unit, error_is_null=True)
    found = _only_real(texts, pc.if_else(pc.equal(pc.year(found), 0), pa.scalar(None, found.type), found), form)
    if "%z" in re.findall("%.", form):
        found = _with_long_offsets(texts, found, form)
    if digits is None:
        return found
    nanos = numbers_of(pc.utf8_rpad(digits, 9, "0").cast(_INT), _INT)
    return held(found.type, numbers_of(found, _INT) + nanos * _PER_SECOND[unit] // 10**9, True, found)


def _with_long_offsets(texts: Any, found: Any, form: str) -> Any:
    """Times, also of texts whose offset has seconds."""
    left = pc.fill_null(pc.and_(found.is_null(), pc.match_substring_regex(texts, _LONG_OFFSET)), pa.scalar(value=False))
    few = texts.filter(left)
    if not len(few):
        return found
    whole = pa.array([_moment(text, form) for text in few.to_pylist()], pa.timestamp("us", "UTC"))
    return pc.replace_with_mask(found, left, pc.cast(whole, found.type, safe=False))


def _only_real(texts: Any, found: Any, form: str) -> Any:
    """Times, and null for texts that only the C library takes."""
    doubtful = doubtful_times(found, form)
    if re.search("%[ST]", form):  # a leap second is the first one of the next minute
        doubtful = pc.or_(doubtful, pc.fill_null(pc.equal(pc.second(found), 0), pa.scalar(value=False)))
    few = texts.filter(doubtful)
    if not len(few) or (right := are_real(few, found.filter(doubtful), form)).all():
        return found
    kept = pc.replace_with_mask(pc.invert(doubtful), doubtful, pa.array(right))
    return pc.if_else(kept, found, pa.scalar(None, found.type))


def _moment(text: str, form: str) -> datetime | None:
    """The time of a text in UTC; Arrow leaves out fractions of offsets."""
    try:
        return None if (found := read_time(text, form)) is None else found.astimezone(UTC)
    except OverflowError:
        return None


def _strptime_type(_: Types, options: Sequence[Any]) -> pa.DataType:
    return pa.timestamp(options[1], "UTC" if "%z" in re.findall("%.", options[0]) else None)


def _check_strptime(_: Types, options: Sequence[Any], shown: str) -> None:
    check_directives(options[0], PARSED, shown)
    if options[1] not in ("s", "ms", "us", "ns"):
        raise ExpressionError(f"unit must be 's', 'ms', 'us' or 'ns', got {options[1]!r}.", where=shown,
                              hint='Use unit="us".')
    if "%f" in re.findall("%.", options[0]) and not re.fullmatch(r"[^.]*\.%f[^.]*", options[0]):
        raise ExpressionError("%f must follow the only point of the format.", where=shown, hint='Use "%S.%f".')


def _like(texts: Any, pattern: str, ignore_case: bool) -> Any:
    return pc.match_like(texts, pattern, ignore_case=ignore_case)


def _check_like(_: Types, options: Sequence[Any], shown: str) -> None:
    if re.search(r"(?<!\\)(\\\\)*\\$", options[0]):
        raise ExpressionError(f"The pattern {options[0]!r} ends in an escape.", where=shown,
                              hint="Write two backslashes for one.")


class _Digits(str):
    """A number of JSON as it is written."""

    __slots__ = ()


def json_steps(path: str) -> tuple[str | int, ...] | None:
    """Keys and places of a path such as ``$.a[0]."b c"``; None for anything else."""
    steps: list[str | int] = []
    place = 1
    while place < len(path):
        found = _STEP.match(path, place)
        if found is None:
            return None
        quoted = found["quoted"]
        steps.append(int(found["place"]) if found["place"] else found["key"] if quoted is None else quoted)
        place = found.end()
    return tuple(steps) if path.startswith("$") else None


def _json_extract(texts: Any, path: str) -> Any:
    steps = json_steps(path) or ()
    return pa.array([None if text is None else _json_value(text, steps) for text in texts.to_pylist()], _TEXT)


def _json_value(text: str, steps: tuple[str | int, ...]) -> str | None:
    try:
        found: Any = json.loads(text, parse_int=_Digits, parse_float=_Digits)
        for step in steps:
            if isinstance(found, str) or (isinstance(found, list) != isinstance(step, int)):
                return None
            found = found[step]
        if found is not None and not isinstance(found, str):
            found = json.dumps(_as_numbers(found), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return None if found is None else found.encode().decode()  # one half of a pair of surrogates is no text
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def _as_numbers(value: Any) -> Any:
    if isinstance(value, _Digits):
        return json.loads(value)
    if isinstance(value, list):
        return [_as_numbers(each) for each in value]
    return {key: _as_numbers(each) for key, each in value.items()} if isinstance(value, dict) else value


def _check_path(_: Types, options: Sequence[Any], shown: str) -> None:
    if not isinstance(options[0], str) or json_steps(options[0]) is None:
        raise ExpressionError(f"{options[0]!r} is not a path of JSON.", where=shown,
                              hint='Use keys and places, such as "$.items[0].price".')


def _concat(*given: Any) -> Any:
    *texts, separator = given
    texts = [text.cast(pa.large_string()) for text in texts]
    return pc.binary_join_element_wise(*texts, pa.scalar(separator, pa.large_string())).cast(_TEXT)


TEXTS: Final[dict[str, Function]] = {
    "str.title": Function("a string", None, pc.utf8_title),
    "str.zfill": Function("a string", None, pc.utf8_zero_fill, options=(int,)),
    "str.len_bytes": Function("a string", _INT, _whole(pc.binary_length), sql="strlen"),
    "str.count_matches": Function("a string", _INT, _count_matches, options=(str, bool)),
    "str.to_integer": Function("a string", _INT, to_integers, arrays=True),
    "str.to_float": Function("a string", pa.float64(), to_floats, arrays=True),
    "str.strptime": Function("a string", _strptime_type, _strptime, options=(str, str), sql=None,
                             check=_check_strptime, arrays=True),
    "str.like": Function("a string", pa.bool_(), _like, options=(str, bool), check=_check_like),
    "str.json_extract": Function("a string", _TEXT, _json_extract, options=(str,), sql="json_extract_string",
                                 check=_check_path, arrays=True),
    "str.concat": Function("a string", _TEXT, _concat, arguments=0, options=(str,), sql=None, arrays=True),
}
"""Functions by the names of their calls."""
