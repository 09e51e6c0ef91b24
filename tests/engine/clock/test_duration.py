from __future__ import annotations

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.clock import TickUnit, duration_ticks, show_ticks, tell_ticks
from whimbrel.errors import PlanError


@pytest.mark.parametrize(
    ("text", "unit", "ticks"),
    [
        ("1h30m", "s", 5_400),
        ("250ms", "ms", 250),
        ("-2m", "s", -120),
        ("1w", "ms", 604_800_000),
        ("0.5s", "us", 500_000),
        (timedelta(days=1, microseconds=5), "us", 86_400_000_005),
        (7, None, 7),
        (7, "ns", 7),
    ],
)
def test_ticks_of_what_people_write(text: str | timedelta | int, unit: str, ticks: int) -> None:
    assert duration_ticks(text, unit) == ticks


@pytest.mark.parametrize(
    ("text", "unit", "part"),
    [
        ("5 minutes", "s", "Cannot read '5 minutes'"),
        ("250ms", "s", "a whole number of ticks (s)"),
        ("5m", None, "has integer times"),
        (True, "s", "got True"),
        (1.5, "s", "got 1.5"),
        ("", "s", "Cannot read ''"),
    ],
)
def test_what_cannot_be_ticks_is_refused_with_a_hint(text: str, unit: str, part: str) -> None:
    with pytest.raises(PlanError) as caught:
        duration_ticks(text, unit, where="tumbling_window(...)")
    assert part in caught.value.what
    assert caught.value.hint


@pytest.mark.parametrize(
    ("ticks", "unit", "text"), [(3_600, "s", "1h"), (90, "s", "90s"), (1_500, "ms", "1500ms"), (5, None, "5"),
                                (1_646_153_821, "ms", "19d1h15m53.821s"), (-100_000_001, "us", "-1m40.000001s"),
                                (86_401, "s", "1d1s"), (9_999, "us", "9999us"), (86_400 * 30_000, "s", "30000d")]
)
def test_ticks_print_as_the_longest_exact_unit_or_in_several(ticks: int, unit: str, text: str) -> None:
    assert show_ticks(ticks, unit) == text


@given(st.sampled_from(["s", "ms", "us", "ns"]), st.integers(-(2**63) + 1, 2**63 - 1), st.integers(0, 63))
def test_what_is_printed_reads_as_the_same_ticks_and_counts_no_unit_far(unit: TickUnit, ticks: int, by: int) -> None:
    text = show_ticks(ticks >> by, unit)
    assert duration_ticks(text, unit) == ticks >> by
    counts = [int(count) for count in re.findall(r"(\d+)(?:\.\d+)?[hmsun]", text)]
    assert text.endswith(("d", "w")) or max(counts, default=0) < 10_000


@pytest.mark.parametrize(("ticks", "unit", "words"), [
    (2_000, "ns", "2 us"), (1, "ns", "1 ns"), (0, "ns", "0 s"), (-35, "us", "-35 us"), (999_600, "us", "1 s"),
    (250, "ms", "250 ms"), (12_345, "ms", "12.3 s"), (59_970, "ms", "60 s"), (61, "s", "1 min 1 s"), (7, None, "7"),
])
def test_a_measured_duration_is_shown_in_a_unit_of_its_size(ticks: int, unit: TickUnit, words: str) -> None:
    assert tell_ticks(ticks, unit) == words
