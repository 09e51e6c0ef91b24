"""What a user may ask of a view, and what is said when it cannot be had."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.workbench.results import hourly
from whimbrel.errors import PlanError, SchemaError
from whimbrel_workbench.frames import FrameBuilder, Options, Result, Style


@pytest.mark.parametrize(("given", "kind"), (
    ("lines", "line"), ("bars", "bar"), ("barh", "bar"), ("points", "scatter")))
def test_kinds_have_the_names_of_hvplot_and_their_plurals(given: str, kind: str) -> None:
    assert Options(kind=given).kind == kind


def test_options_of_picture_and_style_are_given_together() -> None:
    options = Options.of(kind="line", y="flights", title="Flights", ylim=(0, None))
    assert (options.kind, options.y, options.style) == ("line", "flights", Style(title="Flights", ylim=(0.0, None)))
    assert options.styled(title=None).style.title is None


@pytest.mark.parametrize(("given", "hint"), (({"tittle": "x"}, "'title'"), ({"knd": "line"}, "'kind'"),
                                             ({"redraw_per_s": 3}, "'redraws_per_s'")))
def test_an_unknown_option_has_a_near_match(given: dict[str, object], hint: str) -> None:
    with pytest.raises(PlanError, match="Unknown option") as error:
        Options.of(**given)
    assert hint in error.value.hint


@pytest.mark.parametrize("given", (
    {"width": 0}, {"width": "wide"}, {"height": True}, {"alpha": 1.5}, {"logy": "yes"}, {"title": 5}, {"ylim": 5},
    {"ylim": (5, 1)}, {"ylim": (0, 1, 2)}, {"xlim": ("soon", None)}, {"color": []}, {"color": 7},
    {"size": float("nan")},
))
def test_a_style_that_is_invalid_has_a_hint(given: dict[str, object]) -> None:
    with pytest.raises(PlanError) as error:
        Style().styled(**given)
    assert error.value.hint
    assert next(iter(given)) in error.value.where


@pytest.mark.parametrize("given", ({"top": 0}, {"keep_rows": -1}, {"top": 2.5}))
def test_counts_are_one_or_more(given: dict[str, object]) -> None:
    with pytest.raises(PlanError, match="must be an integer"):
        Options(**given)


def test_instants_are_limits_by_the_clock_on_the_wall() -> None:
    noon = 1_385_899_200_000.0
    for end in (datetime(2013, 12, 1, 12), datetime(2013, 12, 1, 12, tzinfo=UTC), "2013-12-01 12:00",
                np.datetime64("2013-12-01T12:00"), "2013-12-01T12:00+05:00", pd.Timestamp("2013-12-01T12:00"),
                pd.Timestamp("2013-12-01T12:00", tz="Asia/Tokyo"), pa.scalar(datetime(2013, 12, 1, 12)),
                pa.scalar(datetime(2013, 12, 1, 12, tzinfo=UTC)).cast(pa.timestamp("s", "UTC"))):
        assert Style().styled(xlim=(None, end)).xlim == (None, noon), end
    for day in (date(2013, 12, 1), "2013-12-01", np.datetime64("2013-12-01")):
        assert Style().styled(xlim=(day, None)).xlim == (noon - 43_200_000, None)


@pytest.mark.parametrize("end", ["1970-01-01T00:00:00.0000015", np.datetime64(1_500, "ns"), pd.Timestamp(1_500)])
def test_limits_are_exact_below_a_microsecond(end: Any) -> None:
    assert Style().styled(xlim=(None, end)).xlim == (None, 0.0015)


@pytest.mark.parametrize("end", [np.datetime64("NaT"), pd.NaT, b"2013-12-01", object()])
def test_what_is_no_instant_is_no_limit(end: Any) -> None:
    with pytest.raises(PlanError, match="xlim must be"):
        Style().styled(xlim=(None, end))


def test_limits_hold_and_the_rest_follows_the_data() -> None:
    picture = FrameBuilder(Options.of(ylim=(5, None))).picture(Result(hourly(JFK=[10, 90]), (2,)))
    assert (picture.y.low, picture.y.high) == (5.0, 103.0)


def test_a_logarithmic_axis_spans_whole_powers_of_ten() -> None:
    picture = FrameBuilder(Options.of(logy=True)).picture(Result(hourly(JFK=[0, 30, 5_000]), (3,)))
    assert (picture.y.low, picture.y.high) == (10.0, 10_000.0)
    assert [line.y.tolist() for line in picture] == [[30, 5_000]]


def test_lines_run_over_time() -> None:
    with pytest.raises(PlanError, match="must be time") as error:
        FrameBuilder(Options(kind="line", x="flights")).picture(Result(hourly(JFK=[1]), (0,)))
    assert "scatter" in error.value.hint


def test_points_need_numbers() -> None:
    with pytest.raises(SchemaError, match="must be a column of numbers"):
        FrameBuilder(Options(kind="scatter", x="origin")).picture(Result(hourly(JFK=[1]), (0,)))


def test_two_axes_are_two_columns() -> None:
    with pytest.raises(PlanError, match="both are 'flights'"):
        FrameBuilder(Options(kind="scatter", x="flights", y="flights")).picture(Result(hourly(JFK=[1]), (0,)))


@pytest.mark.parametrize(("name", "given"), [("y", ["n", "m"]), ("y", []), ("y", 3), ("x", 1.5), ("C", ("n",))])
def test_an_axis_is_one_column(name: str, given: object) -> None:
    with pytest.raises(PlanError, match=f"{name} must be the name of a column"):
        Options(**{name: given})  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [3, [3]])
def test_keys_are_columns(given: object) -> None:
    with pytest.raises(PlanError, match="by must be one or several names"):
        Options(by=given)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ("line", "bar", "heatmap", "scatter", "density", "table", "number"))
def test_each_kind_has_a_method_as_in_hvplot(kind: str) -> None:
    log = wb.from_arrow({"at": [1, 4], "k": ["a", "b"]}, time="at", name="log")
    counts = log.group_by("k").tumbling_window(10).aggregate(n=wb.count())
    for query in (counts, counts.at_latencies(0, 5)):
        made = getattr(query.view, kind)(y="n", title="Counts")
        assert made.options == query.view(kind=kind, y="n", title="Counts").options
        assert made.options.kind == kind
