"""Names that other tools have lead to those that are here."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import UnknownNameError
from whimbrel.migration_hints import EXPRESSION, PACKAGE, STREAM

EVENTS = wb.from_arrow({"at": [1], "x": [2]}, time="at")
HELD = [("A stream", EVENTS, STREAM), ("An expression", col.x + 1, EXPRESSION), ("whimbrel", wb, PACKAGE)]
ABOUT = [(held, name, hint) for _, held, elsewhere in HELD for name, hint in elsewhere.items()]


@pytest.mark.parametrize(("held", "name", "hint"), ABOUT)
def test_a_name_from_elsewhere_leads_to_one_that_is_here(held: Any, name: str, hint: str) -> None:
    with pytest.raises(UnknownNameError, match=re.escape(f"Use {hint}")):
        getattr(held, name)
    for package, called in re.findall(r"\b(?:(wb|polars)\.)?(\w+)\(", hint):
        here = [wb] if package == "wb" else [EVENTS, EVENTS.collect(), col.x, col.x.str, wb, wb.sinks]
        assert package == "polars" or any(hasattr(each, called) for each in here)


@pytest.mark.parametrize(("of", "held", "elsewhere"), HELD)
def test_any_other_name_is_not_there(of: str, held: Any, elsewhere: Mapping[str, str]) -> None:
    with pytest.raises(AttributeError, match=rf"^{of} has no 'nothing_of_the_kind'\.$"):
        _ = held.nothing_of_the_kind
    assert not any(hasattr(held, name) for name in [*elsewhere, "__arrow_c_stream__", "_ipython_display"])


def test_a_slip_leads_to_the_nearest_name() -> None:
    for slip, held in (("tumbling_windw", EVENTS), ("fill_nul", col.x), ("read_parqet", wb)):
        with pytest.raises(UnknownNameError, match="did you mean"):
            getattr(held, slip)



def test_what_is_held_is_copied_as_before() -> None:
    assert copy.deepcopy(col.x + 1).show() == "col.x + 1"
    assert copy.copy(EVENTS).collect().num_rows == 1
