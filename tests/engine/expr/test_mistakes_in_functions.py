"""Mistakes in functions are errors of Whimbrel that say what helps, before there is a row."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import WhimbrelError

ROW = {"x": [1.5], "i": [3], "s": ["a"], "l": [[1, 2]], "v": [{"a": 1, "start": 2}], "u": [{"i": 1}]}
LOG = wb.from_arrow({"at": [0], **ROW}, time="at")


@pytest.mark.parametrize(("build", "what", "hint"), [
    (lambda: LOG.tumbling_window(wb.calendar({"a": [0], "b": [5]})).aggregate(n=wb.count(), fill=True),
     "fill=True needs a tumbling", r"wb.calendar\(...\) have no grid"),
    (lambda: wb.calendar([(0, 5)]), "made of a table, not of list", "two columns"),
    (lambda: LOG.tumbling_window(5, timezone="UTC"), "Integer times follow no clock", "Leave timezone= out"),
    (lambda: LOG.select(y=wb.lit(2**63) + 1).collect(), "9223372036854775808 does not fit into int64", "decimals"),
    (lambda: LOG.select(y=col.s.str.repeat(10**10)).collect(), "too long for memory", "shorter"),
    (lambda: LOG.select(y=~col.i), "'~' takes a condition, not int64", "bitwise_not"),
    (lambda: LOG.explode("v", 3), r"explode\(\) needs a list of values, got 3", r"explode\('v', \[3\]\)"),
    (lambda: LOG.explode("v", "ab"), "needs a list of values, got 'ab'", r"explode\('v'\) for the items"),
    (lambda: LOG.unnest("x"), "unnest.. needs a struct; column 'x' has type double", "column of structs"),
    (lambda: LOG.unnest("l"), "unnest.. needs a struct", r"explode\('l'\)"),
    (lambda: LOG.unnest("z"), "no column 'z'", ""),
    (lambda: LOG.unnest(3), "needs names of columns, got 3", "position"),
    (lambda: LOG.unnest(*[]), "needs names of columns, got none", "position"),
    (lambda: LOG.unnest("v"), "'start' is a column of every result", "another name"),
    (lambda: LOG.unnest("u"), "two columns 'i'", "rename"),
    (lambda: LOG.select(y=col.s.str.repeat(-1)), "needs a number from 0, got -1", "0 or more"),
    (lambda: LOG.select(y=col.s.str.zfill(-1)), "needs a number from 0", "0 or more"),
    (lambda: LOG.select(y=col.s.str.pad_end(-1)), "needs a number from 0", "0 or more"),
    (lambda: LOG.select(y=col.s.str.replace("a", 2)), r"replace\(\) needs one string, got 2", "one string"),
    (lambda: LOG.select(y=col.s.str.replace("a", "b", count="c")), "needs a whole number, got 'c'", ""),
    (lambda: LOG.select(y=col.s.str.replace("", "-")), "needs a text to look for", "Use \\+ to add"),
    (lambda: LOG.select(y=col.s.str.replace("(a)", r"\2", regex=True)), "refers to what the pattern", r"\\0 to \\1"),
    (lambda: LOG.select(y=col.s.str.replace("a", "\\", regex=True)), "refers to what the pattern", r"\\0 to \\0"),
    (lambda: LOG.select(y=col.s.str.replace("x*", "-", regex=True, count=2)), "matches an empty text", "count=1"),
    (lambda: LOG.select(y=col.s.str.extract("(")), r"'\(' is not a pattern: [^<]*$", "RE2"),
    (lambda: LOG.select(y=col.s.str.extract("(x)", 2)), "has no group 2", "from 0 to 1"),
    (lambda: LOG.select(y=col.s.str.split_part("", 1)), "needs a separator", "slice"),
    (lambda: LOG.select(y=col.i & 1), "'&' takes conditions", r"bitwise_and\(y\)"),
    (lambda: LOG.select(y=col.s.str.strip(3)), r"strip\(\) needs one string, got 3", "one string"),
    (lambda: LOG.select(y=col.s.str.extract(3)), "needs one string, got 3", "one string"),
    (lambda: LOG.select(y=col.s.str.split_part(3, 1)), "needs one string, got 3", "one string"),
    (lambda: LOG.select(y=col.x.round("a")), "whole number of digits, got 'a'", r"round\(2\)"),
    (lambda: LOG.select(y=col.x.clip()), "needs an end of a range", r"clip\(high=1\)"),
    (lambda: LOG.select(y=col.x.cast(3)), "Unknown type 3", "int64"),
    (lambda: LOG.select(y=col.v.field(3)), "needs the name of a field, got 3", "field"),
    (lambda: LOG.select(y=col.s.field("a")), "field takes a struct, not string", "json_extract"),
    (lambda: LOG.select(y=col.s.sqrt()), "sqrt takes a number, not string", r"cast\('float64'\)"),
    (lambda: LOG.select(y=col.s.atan()), "atan takes a number, not string", r"cast\('float64'\)"),
    (lambda: LOG.select(y=col.x.str.lower()), "str.lower takes a string, not double", r"cast\('string'\)"),
    (lambda: col.s.str.pad(3), "no 'pad'", "pad_start"), (lambda: col.s.str.split(","), "no 'split'", "explode"),
    (lambda: col.x.dt.truncate("1h"), "no 'truncate'", r'floor\("1h"\)'),
    (lambda: col.l.list.len, "no 'len'", r"length\(\)"), (lambda: col.x.sinn, "no 'sinn'", "'sin'"),
    (lambda: wb.nullif(col.x, 1), "no 'nullif'", "a method: col.x.nullif"),
])
def test_mistake(build: Callable[[], object], what: str, hint: str) -> None:
    with pytest.raises(WhimbrelError, match=what) as error:
        build()
    assert re.search(hint, error.value.hint)
