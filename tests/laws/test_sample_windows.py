"""Windows of samples against the shared laws, and a reference over plain numbers and values."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from tests.laws.test_laws import INPUTS
from whimbrel.testing import Query, check_operator, laws
from whimbrel.testing.oracle import Event
from whimbrel.testing.oracle import sample_windows as oracle

KEYED = (".set_duration(1).group_by('key').tumbling_window(5).aggregate(x=wb.max(col.x), y=wb.min(col.y))"
         ".alter_lifetime(duration=1).assume(periodic=5, gaps=True, per='key')")
ALONE = (".set_duration(1).tumbling_window(3).aggregate(x=wb.max(col.x), y=wb.mean(col.y)).alter_lifetime(duration=1)"
         ".assume(periodic=3, phase=1, gaps=True, jitter=1)")
EVENTS = ".clip_duration(9).select('key', 'time')"

QUERIES = {
    "windows": f"{KEYED}.rewindow(2)",
    "overlapping": f"{KEYED}.rewindow(3, 1, short='keep')",
    "with_holes": f"{ALONE}.rewindow(2, 3)",
    "split": f"{ALONE}.rewindow(3, 2, gaps='split', short='keep')",
    "split_keys": f"{KEYED}.rewindow(2, gaps='split')",
    "filled": f"{KEYED}.select('key', 'x').rewindow(3, 2, gaps='fill', fill=7, short='keep')",
    "causal": f"{ALONE}.rewindow(2, 1, label='end')",
    "runs": f"{KEYED}.rewindow()",
    "short_runs": f"{ALONE}.rewindow(limit=3)",
    "back_to_samples": f"{KEYED}.rewindow(3, 2).group_by('key').samples()",
    "samples_of_runs": f"{ALONE}.rewindow(limit=4).samples()",
    "fused": f"{KEYED}.rewindow(2).stitch()",
    "ranges": f"{EVENTS}.sync(t{KEYED})",
    "around": f"{EVENTS}.select('time').sync(t{ALONE}, before=4, after=7)",
    "ranges_without_gaps": f"{EVENTS}.sync(t{KEYED}, gaps='skip', limit=6)",
    "no_end": f".select('time').sync(t{ALONE})",
    "pairs": f"{KEYED}.select('key', 'x').rewindow(2).zip(t{KEYED}.select('key', 'y').rewindow(2))",
}


def of(steps: str, *inputs: list[Event]) -> list[Event]:
    return Query((steps,)).reference(*inputs)


def keyed(facts: list[Event], size: int | None, hop: int | None = None, **options: Any) -> list[Event]:
    return oracle.rewindow(of(KEYED, facts), Fraction(5), size, hop, per=["key"], **options)


def alone(facts: list[Event], size: int | None, hop: int | None = None, **options: Any) -> list[Event]:
    return oracle.rewindow(of(ALONE, facts), Fraction(3), size, hop, phase=1, **options)


def stitched(facts: list[Event]) -> list[Event]:
    """Windows of one key that follow each other as one."""
    out: list[Event] = []
    for start, end, payload in sorted(facts, key=lambda event: (str(event[2]["key"]), event[0])):
        if out and out[-1][1] == start and out[-1][2]["key"] == payload["key"]:
            before = out.pop()
            both = {name: {"index": part["index"], "samples": part["samples"] + payload[name]["samples"]}
                    for name, part in before[2].items() if name != "key"}
            out.append((before[0], end, {"key": payload["key"]} | both))
        else:
            out.append((start, end, payload))
    return out


REFERENCES: dict[str, Callable[..., list[Event]]] = {
    "windows": lambda s: keyed(s, 2),
    "overlapping": lambda s: keyed(s, 3, 1, short="keep"),
    "with_holes": lambda s: alone(s, 2, 3),
    "split": lambda s: alone(s, 3, 2, gaps="split", short="keep"),
    "split_keys": lambda s: keyed(s, 2, gaps="split"),
    "filled": lambda s: oracle.rewindow(of(f"{KEYED}.select('key', 'x')", s), Fraction(5), 3, 2, per=["key"],
                                         gaps="fill", fill=7, short="keep"),
    "causal": lambda s: alone(s, 2, 1, label="end"),
    "runs": lambda s: keyed(s, None),
    "short_runs": lambda s: alone(s, None, limit=3),
    "back_to_samples": lambda s: oracle.samples(keyed(s, 3, 2), Fraction(5), ["key"]),
    "samples_of_runs": lambda s: oracle.samples(alone(s, None, limit=4), Fraction(3)),
    "fused": lambda s: stitched(keyed(s, 2)),
    "ranges": lambda s, t: oracle.sync(of(EVENTS, s), of(KEYED, t), Fraction(5), per=["key"]),
    "around": lambda s, t: oracle.sync(of(f"{EVENTS}.select('time')", s), of(ALONE, t), Fraction(3), phase=1, before=4,
                                        after=7),
    "ranges_without_gaps": lambda s, t: oracle.sync(of(EVENTS, s), of(KEYED, t), Fraction(5), per=["key"], gaps="skip",
                                                     limit=6),
    "no_end": lambda s, t: oracle.sync(of(".select('time')", s), of(ALONE, t), Fraction(3), phase=1),
    "pairs": lambda s, t: oracle.zipped(only(keyed(s, 2), "x"), only(keyed(t, 2), "y"), ["key"]),
}


def only(facts: list[Event], name: str) -> list[Event]:
    return [(start, end, {"key": row["key"], name: row[name]}) for start, end, row in facts]


@pytest.mark.share(10, rest="soak")
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", QUERIES)
def test_law(name: str, law: laws.Law) -> None:
    query = Query((QUERIES[name],))
    check_operator(query.build, *INPUTS[:query.arity], reference=REFERENCES[name], laws=[law])
