"""Names that other tools have lead to those that are here."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import CallError, PlanError, UnknownNameError
from whimbrel.migration_hints import (
    CERTIFICATE,
    ESTIMATE,
    EXPRESSION,
    FEED_STATUS,
    FEEDS,
    LINEAGE,
    LISTS,
    METRICS,
    PACKAGE,
    PROGRESSIVE_QUERY,
    RUN,
    STREAM,
    TEXTS,
    TIMES,
    USER_AGGREGATE,
)

EVENTS = wb.from_arrow({"at": [1], "x": [2]}, time="at")
HELD = [("A stream", EVENTS, STREAM), ("An expression", col.x + 1, EXPRESSION), ("whimbrel", wb, PACKAGE),
        ("col.x.str", col.x.str, TEXTS), ("col.x.dt", col.x.dt, TIMES), ("col.x.list", col.x.list, LISTS)]
ANSWERS = [EVENTS.collect(), col.x, wb.sinks, wb.when(col.x > 0), wb.when(col.x > 0).then(1), wb.count()]
"""What hints also call methods of."""
ABOUT = [(held, name, hint) for _, held, elsewhere in HELD for name, hint in elsewhere.items()]


@pytest.mark.parametrize(("held", "name", "hint"), ABOUT)
def test_a_name_from_elsewhere_leads_to_one_that_is_here(held: Any, name: str, hint: str) -> None:
    with pytest.raises(UnknownNameError, match=re.escape(f"Use {hint}")):
        getattr(held, name)
    for package, called in re.findall(r"\b(?:(wb|polars)\.)?(\w+)\(", hint):
        here = [wb] if package == "wb" else [*(each for _, each, _ in HELD), *ANSWERS]
        assert package == "polars" or any(hasattr(each, called) for each in here)


@pytest.mark.parametrize(("of", "held", "elsewhere"), HELD)
def test_any_other_name_is_not_there(of: str, held: Any, elsewhere: Mapping[str, str]) -> None:
    with pytest.raises(AttributeError, match=rf"^{of} has no 'nothing_of_the_kind'\.$"):
        _ = held.nothing_of_the_kind
    assert not any(hasattr(held, name) for name in [*elsewhere, "__arrow_c_stream__", "_ipython_display"])


def test_an_old_name_leads_to_the_present_one() -> None:
    query = EVENTS.tumbling_window(5).aggregate(n=wb.count())
    progress, run = query.progressive(), query.start()
    assert run.wait(60)
    held = [(progress, PROGRESSIVE_QUERY), (next(progress), ESTIMATE), (run, RUN), (run.metrics, METRICS),
            (wb.feeds.FeedStatus(), FEED_STATUS), (wb.feeds, FEEDS), (query.lineage(start=0), LINEAGE),
            (query.certify(EVENTS, EVENTS), CERTIFICATE)]
    for each, names in held:
        for old, new in names.items():
            with pytest.raises(UnknownNameError, match=re.escape(f"Use {new}.")):
                getattr(each, old)
            assert hasattr(each, new.partition("(")[0])


def test_a_member_that_no_aggregate_has_is_refused() -> None:
    """An old ``deaccumulate`` was ignored: the aggregate was right, but as slow as one without."""
    for member, name in USER_AGGREGATE.items():
        functions = {"init": 0, "accumulate": lambda s, x: s + x, "result": lambda s: s, member: lambda s, x: s - x}
        with pytest.raises(wb.WhimbrelError, match=rf"(?s)has no '{member}'.*Use {name}\."):
            wb.aggregate(type("Total", (), functions))


def test_a_slip_leads_to_the_nearest_name() -> None:
    for slip, held in (("tumbling_windw", EVENTS), ("fill_nul", col.x), ("read_parqet", wb)):
        with pytest.raises(UnknownNameError, match="hint:  Use "):
            getattr(held, slip)


def test_a_condition_after_the_fewest_rows_leads_to_the_other_order() -> None:
    with pytest.raises(UnknownNameError, match=r"Use \.where.* before \.min_rows\(3\): wb\.mean"):
        _ = wb.mean(col.x).min_rows(1).where
    assert wb.mean(col.x).where(col.x > 1).min_rows(1).show()


def test_checked_functions_are_those_of_their_modules() -> None:
    """Programs that send functions to others look them up there."""
    assert sys.modules[wb.mean.__module__].mean is wb.mean


def test_a_column_of_a_stream_leads_to_its_expression() -> None:
    with pytest.raises(UnknownNameError, match=r"(?s)has no 'x'.*Use col\.x in an expression"):
        _ = EVENTS.x


@pytest.mark.parametrize(("call", "what"), [
    (lambda: len(EVENTS), "has no length.*Use stream.collect().num_rows"),
    (lambda: list(EVENTS), "stream[0].*Use stream.collect().to_pylist()"),
    (lambda: EVENTS["x"], 'Use stream.select("x"), col["x"] in an expression, or stream.collect()["x"].'),
    (lambda: EVENTS[["at", "x"]], 'Use stream.select("at", "x")'),
    (lambda: EVENTS[col.x > 1], r"Use stream.where(col.x > 1)"),
    (lambda: EVENTS[:3], "stream.head(10)"),
    (lambda: wb.from_arrow({"at": [1]}), 'from_arrow() needs time=..*Add time="at"'),
    (lambda: wb.read_csv("log.csv", "at"), "takes 1 argument by place, got 2.*such as time="),
    (lambda: wb.read_csv("log.csv", tiem="at"), "has no argument 'tiem'.*Use 'time'"),
    (lambda: wb.read_parquet(time="at"), "needs path.*Add a path"),
    (lambda: wb.from_samples({"x": [1]}), "Add rate=1000"),
    (lambda: wb.feeds.kafka("rows", "localhost:1"), "feeds.kafka() needs time="),
    (wb.absent, 'absent() needs within=..*Add within="10m"'),
    (lambda: wb.read_delta("log", versoin=1), "has no argument 'versoin'.*Use 'version'"),
    (wb.mean, "mean() needs value.*Add a value, such as col.x"),
    (lambda: wb.quantile(col.x, 0.5, interpolaton="linear"), "has no argument 'interpolaton'.*Use 'interpolation'"),
    (wb.event, "event() needs condition.*Add a condition"),
    (EVENTS.tumbling_window, "tumbling_window() needs size.*Add a duration"),
    (lambda: EVENTS.tumbling_window(5, ofset=1), "has no argument 'ofset'.*Use 'offset'"),
    (lambda: EVENTS.head(1, 2), "head() takes 1 argument by place, got 2"),
])
def test_mistakes_of_python_say_what_to_write(call: Callable[[], object], what: str) -> None:
    with pytest.raises(CallError, match="(?s)" + re.escape(what).replace(r"\.\*", ".*")):
        call()
    assert EVENTS  # whose length Python would take otherwise


def test_what_is_held_is_copied_as_before() -> None:
    assert copy.deepcopy(col.x + 1).show() == "col.x + 1"
    assert copy.copy(EVENTS).collect().num_rows == 1


@pytest.mark.parametrize(("call", "error", "present"), [
    (lambda: EVENTS.start(to=None), UnknownNameError, "sink="),
    (lambda: wb.start(EVENTS, to=None), UnknownNameError, "sinks="),
    (lambda: EVENTS.then(EVENTS, span="1h"), UnknownNameError, "dedup_window="),
    (lambda: EVENTS.sample(share=0.1), UnknownNameError, "fraction="),
    (lambda: wb.read_csv("log.csv", time="at", sep=";"), UnknownNameError, "delimiter="),
    (lambda: wb.PartitionWatermarks("x", lag=5), UnknownNameError, "max_lag="),
    (lambda: wb.event(col.x > 1).repeat(least=2), UnknownNameError, "min="),
    (lambda: wb.simultaneous(some=col.x > 1), UnknownNameError, "any="),
    (lambda: wb.aggregate(deaccumulate=lambda state, x: state - x), UnknownNameError, "remove="),
    (lambda: EVENTS.at_latencies(0, 1).behind(), UnknownNameError, r"bands\[0\].lineage"),
    (lambda: EVENTS.at_latencies(0, 1).x, UnknownNameError, r"col\.x in an expression"),
    (lambda: wb.feeds.kafka("rows", "localhost:1", time="at", arrived_as="seen"), PlanError, "arrival_column="),
    (lambda: wb.feeds.http("http://localhost:1", time="at", idle_after=5), PlanError, "idle_timeout="),
])
def test_former_arguments_lead_to_the_present_ones(call: Callable[[], object], error: type[Exception],
                                                   present: str) -> None:
    with pytest.raises(error, match=f"hint:  Use {present}"):
        call()
