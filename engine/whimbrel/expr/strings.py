"""String functions on whole columns, through Arrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch import Column
from whimbrel.errors import ExpressionError, KernelError
from whimbrel.expr.nodes import Call
from whimbrel.expr.string_search import contains, ends_with, index_of, is_ascii, lengths, starts_with
from whimbrel.expr.text_functions import TEXT_FUNCTIONS
from whimbrel.expr.value import Value, from_arrow

_SAMPLE, _FEW = 1_024, 64
"""Rows that are looked at, and the most distinct texts of them for which all rows are looked through for others."""


def string_function(expr: Call, x: Value) -> Value:
    """The functions of ``.str``."""
    if expr.function in TEXT_FUNCTIONS:
        made = TEXT_FUNCTIONS[expr.function]
        is_pattern = expr.function == "str.extract" or (expr.function == "str.replace" and expr.options[2])
        try:
            return Value(x.type, per_distinct(x, lambda s: made(s, *expr.options), is_slow=is_pattern))
        except (pa.ArrowCapacityError, MemoryError):
            raise KernelError("The texts of one batch would be too long for memory.", where=expr.show(),
                              hint="Make them shorter.") from None
    match expr.function, expr.options:
        case "str.contains", (text, True):
            return from_arrow(_matched(expr, x, text))
        case "str.contains", (text, False):
            return from_arrow(per_distinct(x, lambda s: contains(s, text)))
        case "str.index_of", (text,):
            return from_arrow(per_distinct(x, lambda s: index_of(s, text)))
        case "str.starts_with", (text,):
            return from_arrow(per_distinct(x, lambda s: starts_with(s, text)))
        case "str.ends_with", (text,):
            return from_arrow(per_distinct(x, lambda s: ends_with(s, text)))
        case "str.length", _:
            return from_arrow(per_distinct(x, lengths))
        case "str.lower", _:
            return Value(x.type, per_distinct(x, lambda s: (pc.ascii_lower if is_ascii(s) else pc.utf8_lower)(s)))
        case _:
            return Value(x.type, per_distinct(x, lambda s: (pc.ascii_upper if is_ascii(s) else pc.utf8_upper)(s)))


def _matched(expr: Call, x: Value, pattern: str) -> Any:
    try:
        return per_distinct(x, lambda s: pc.match_substring_regex(s, pattern), is_slow=True)
    except pa.ArrowInvalid as error:
        raise ExpressionError(f"{pattern!r} is not a pattern: {str(error).splitlines()[0]}", where=expr.show(),
                              hint="Use RE2 syntax, without look-around and back-references.") from None


def compare_text(compare: Callable[[Any, Any], Any], x: Value, y: Value) -> Value:
    if isinstance(y.data, pa.Scalar):
        return from_arrow(per_distinct(x, lambda s: compare(s, y.data)))
    if isinstance(x.data, pa.Scalar):
        return from_arrow(per_distinct(y, lambda s: compare(x.data, s)))
    return from_arrow(compare(x.arrow(), y.arrow()))


def concatenate(x: Value, y: Value) -> Value:
    empty = pa.scalar("", x.type)
    if isinstance(y.data, pa.Scalar):
        return Value(x.type, per_distinct(x, lambda s: pc.binary_join_element_wise(s, y.data, empty)))
    if isinstance(x.data, pa.Scalar):
        return Value(x.type, per_distinct(y, lambda s: pc.binary_join_element_wise(x.data, s, empty)))
    return Value(x.type, pc.binary_join_element_wise(x.arrow(), y.arrow(), empty))


def per_distinct(x: Value, function: Callable[[Any], Any], *, is_slow: bool = False) -> Any:
    """An element-wise Arrow function, called on the dictionary where there is one.

    A function that is slower than finding the distinct texts, as patterns are, is called on these where they are few.
    """
    data = x.data
    if is_slow and isinstance(data, pa.StringArray) and _are_few(data):
        coded = data.dictionary_encode()
        found = function(coded.dictionary)
        if not pa.types.is_string(found.type) or len(data) * (pc.max(pc.binary_length(found)).as_py() or 0) < 2**31:
            return found.take(coded.indices)
    if not isinstance(data, pa.DictionaryArray):
        return function(data)
    answers = function(data.dictionary)
    if not pa.types.is_string(answers.type) and not pa.types.is_large_string(answers.type):
        return answers.take(data.indices)
    # Two distinct values may have become one: keep the dictionary free of duplicates.
    encoded = answers.dictionary_encode()
    return pa.DictionaryArray.from_arrays(encoded.indices.take(data.indices), encoded.dictionary)


def _are_few(texts: pa.Array) -> bool:
    """Whether rows that are evenly spread over an array have few distinct texts."""
    step = len(texts) // _SAMPLE
    if step < 4:
        return False
    sample = texts.take(Column(pa.int64(), np.arange(0, len(texts), step)).to_arrow())
    return len(sample.dictionary_encode().dictionary) <= _FEW
