"""A conformance case: inputs, steps and expected rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whimbrel.errors import WhimbrelError

Row = tuple[Any, Any, Any, Any]
"""(start, end, payload, partition key or None); an unknown end is None."""


class UnsupportedError(Exception):
    """The case needs something that Whimbrel does not have; the message names it."""


@dataclass(frozen=True)
class Case:
    """A case as its file states it.

    Attributes
    ----------
    name : str
        ``family/name``.
    inputs : mapping of str to mapping
        Rows in the order of arrival, and how they are let in.
    op : mapping
        Where the stream begins and the steps that follow.
    rows : list of Row, or None
        What must come out; None when the run must fail.
    cut_rows : mapping of str to int
        How many rows of each input go before a checkpoint.
    """

    name: str
    inputs: Mapping[str, Any]
    op: Mapping[str, Any]
    rows: list[Row] | None
    cut_rows: Mapping[str, int]

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]


def read_cases(folder: Path, differences: Mapping[str, Any] | None = None) -> list[Case]:
    """Every case of a folder, one family a file.

    Parameters
    ----------
    folder : path
    differences : mapping, optional
        By the name of a case, where Whimbrel answers something else on purpose: ``{"reason": ..., "events": [...]}``.

    Raises
    ------
    WhimbrelError
        When there is no case.
    """
    files = sorted(folder.glob("*.json"))
    cases = [_case(f"{file.stem}/{fact['name']}", fact, (differences or {}))
             for file in files for fact in json.loads(file.read_text(encoding="utf-8"))]
    if not cases:
        raise WhimbrelError(f"There are no cases in {str(folder)!r}.",
                            hint="Use family.json files, each with an array of cases.")
    return cases


def _case(name: str, fact: Mapping[str, Any], differences: Mapping[str, Any]) -> Case:
    expected = differences[name] if name in differences else fact["expected"]
    events = expected.get("events")
    return Case(name, fact["inputs"], fact["op"], None if events is None else [_row(event) for event in events],
                fact.get("checkpoint_after", {}))


def _row(event: Sequence[Any]) -> Row:
    start, end, payload, *partition = event
    return start, None if end == "inf" else end, payload, partition[0] if partition else None
