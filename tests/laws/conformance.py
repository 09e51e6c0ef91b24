"""Reads conformance cases (JSON facts: inputs, steps, expected) and asks the oracle for the answer.

The cases lie outside the project; whoever uses this checks :data:`FOLDER` first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import reduce
from pathlib import Path
from typing import Any

from whimbrel.testing import oracle
from whimbrel.testing.oracle import INF, Aggregated, Event, Payload

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "cases"
FAMILIES = ("windows", "lifetime", "aggregates", "group", "join", "outer_anti_join", "clip", "stateless",
            "ingress_disorder", "union", "detect")

NOT_IN_THE_MODEL = {
    "windows/all_events_moved_to_one_instant_sum": "alter_lifetime",
    "lifetime/clip_constant_noop_intervals": "clip_duration", "lifetime/clip_constant_intervals": "clip_duration",
    "lifetime/extend_edges_by_3": "extend", "lifetime/shrink_edges_by_3": "extend",
    "lifetime/shrink_edges_drops_nonpositive": "extend",
    "lifetime/point_at_end_edges": "point_at_end", "lifetime/point_at_end_constant_duration": "point_at_end",
    "aggregates/top3_combined_with_count": "top_k", "aggregates/top5_ranked_lists": "top_k",
    "group/group_apply_identity": "a group's sub-query other than an aggregate",
    "join/fixed_interval_partitioned_keyed": "partitions", "join/equi_join_partition_cleanup": "partitions",
    "join/shift_selector_is_an_amount_not_a_time": "a group's sub-query other than an aggregate",
    "stateless/select_many_repeat_constant_count": "explode", "stateless/select_many_single": "explode",
    "stateless/select_many_start_and_key": "explode",
    "stateless/unpivot_one_key": "unpivot", "stateless/pivot_one_key_single_or_default": "pivot",
    "ingress_disorder/adjust_late_start_end_follows": "end edges that come late",
    "ingress_disorder/adjust_late_start_and_late_end": "end edges that come late",
    "outer_anti_join/anti_join_partitioned_watermark_order": "partitions",
    "outer_anti_join/anti_join_partition_cleanup": "partitions",
    "union/partitioned_union": "partitions",
    "detect/ai_bi_non_overlapping": "predicates over registers",
    "detect/a_b_simultaneous_allowed": "streams declared free of simultaneous events",
    "detect/partitioned_a_b": "partitions", "detect/partitioned_lwm_beyond_duration": "partitions",
    "detect/list_element_arcs": "arcs over lists of events",
    "detect/multi_element_arcs_simultaneous": "arcs over lists of events",
}
"""Cases that need an operator the model does not have, with what they need."""


class Fields(dict[str, Any]):
    """A payload whose fields are read as attributes, as the cases write them."""

    __getattr__ = dict.__getitem__


def cases() -> list[Any]:
    """Every case of the families, named ``family/name``."""
    return [{**case, "name": f"{family}/{case['name']}"} for family in FAMILIES
            for case in json.loads((FOLDER / f"{family}.json").read_text())]


def expected(case: Any) -> list[Event]:
    return [(_time(start), _time(end), _payload(value)) for start, end, value in case["expected"]["events"]]


def lifetimes_only(case: Any) -> bool:
    """A register's value is no part of the model's matches."""
    return bool(case["name"].startswith("detect/"))


def answer(case: Any) -> list[Event]:
    """The oracle's answer to a case."""
    return _run(case["op"], {name: _ingress(given) for name, given in case["inputs"].items()})


def _ingress(given: Any) -> list[Event]:
    options = given.get("ingress", {})
    late = {"throw": "raise"}.get(options.get("disorder", "throw"), options.get("disorder"))
    intervals = _coalesce([row for row in given["events"] if row[0] != "punct"])
    if late == "raise" and any(_time(row[1]) < _time(row[0]) for row in given["events"] if row[0] != "punct"):
        return intervals  # An end edge is on time by its own sync, which an interval no longer has.
    return oracle.ingress(intervals, options.get("reorder_latency", 0), late).facts


def _coalesce(rows: Iterable[Any]) -> list[Event]:
    facts: list[Event] = []
    for sync, other, value in ((_time(sync), _time(other), _payload(value)) for sync, other, value in rows):
        if other > sync:
            facts.append((sync, other, value))
        else:
            facts[facts.index((other, INF, value))] = (other, sync, value)
    return facts


def _run(op: Any, inputs: dict[str, list[Event]]) -> list[Event]:
    facts = inputs[op["from"]]
    for step in op["steps"]:
        facts = _STEPS[step["op"]](facts, step, inputs)
    return facts


def _join(facts: list[Event], step: Any, inputs: dict[str, list[Event]]) -> list[Event]:
    right = inputs[step["right"]] if isinstance(step["right"], str) else _run(step["right"], inputs)
    return oracle.join(facts, right, lambda row: (_evaluate(step["left_key"], {"x": row}),),
                       lambda row: (_evaluate(step["right_key"], {"x": row}),),
                       lambda left, other: _payload(_evaluate(step["result"], {"l": left, "r": other})))


def _outer_join(facts: list[Event], step: Any, inputs: dict[str, list[Event]]) -> list[Event]:
    lonely = [(start, end, _payload(_evaluate(step["outer"], {"l": row})))
              for start, end, row in _of_left(oracle.anti_join)(facts, step, inputs)]
    return oracle.union(_join(facts, {**step, "result": step["inner"]}, inputs), lonely)


def _of_left(operator: Callable[..., list[Event]]) -> Callable[[list[Event], Any, dict[str, list[Event]]], list[Event]]:
    """An operator whose answer is made of left events."""

    def asked(facts: list[Event], step: Any, inputs: dict[str, list[Event]]) -> list[Event]:
        right = inputs[step["right"]] if isinstance(step["right"], str) else _run(step["right"], inputs)
        return operator(facts, right, lambda left, other: bool(
            _evaluate(step["left_key"], {"x": left}) == _evaluate(step["right_key"], {"x": other})))

    return asked


def _aggregate(facts: list[Event], step: Any, _: dict[str, list[Event]]) -> list[Event]:
    forms = step["aggs"] if "aggs" in step else {"value": (step["apply"][0] if "apply" in step else step)}
    keys = {"group": lambda row: _evaluate(step["key"], {"x": row})} if "key" in step else {}
    rows = oracle.aggregate(facts, {name: _aggregated(form) for name, form in forms.items()}, keys)
    return [(start, end, _result(step, payload)) for start, end, payload in rows]


def _result(step: Any, payload: Payload) -> Payload:
    key = payload.pop("group", None)
    if "result" not in step:
        return payload
    single = {name: {"value": value} for name, value in payload.items()}
    return _payload(_evaluate(step["result"], {"v": payload, "key": {"value": key}, **single}))


def _aggregated(form: Any) -> Aggregated:
    kind = {"avg": "mean", "count_not_null": "count", **dict.fromkeys(_QUANTILES, "quantile")}.get(
        form["op"], form["op"])
    condition = form.get("where")
    options = {} if kind != "quantile" else {
        "q": form["p"], "interpolation": _QUANTILES[form["op"]], "descending": form.get("descending", False)}
    return Aggregated(kind, _function(form["expr"]) if "expr" in form else None,
                      _function(condition) if condition else None, options)


_QUANTILES = {"percentile_disc": "discrete", "percentile_cont": "linear"}


def _detect(facts: list[Event], step: Any, _: dict[str, list[Event]]) -> list[Event]:
    keys = {"key": _function(step["key"])} if "key" in step else {}
    form = step["apply"][0] if "apply" in step else step
    return oracle.detect(facts, _pattern(form["pattern"]), form["max_duration"], keys)


def _pattern(form: Any) -> oracle.Pattern:
    (kind, inner), *_ = form.items()
    match kind:
        case "seq":
            return reduce(oracle.Then, map(_pattern, inner))
        case "or":
            return reduce(oracle.Either, map(_pattern, inner))
        case "opt":
            return oracle.Optional(_pattern(inner))
        case "plus":
            return oracle.Repeat(_pattern(inner))
        case "star":
            return oracle.Repeat(_pattern(inner), minimum=0)
    return oracle.EventStep(_function(inner))


def _group(facts: list[Event], step: Any, inputs: dict[str, list[Event]]) -> list[Event]:
    of = _detect if step["apply"][0]["op"] == "detect" else _aggregate
    return of(facts, step, inputs)


def _function(text: str) -> Callable[[Payload], Any]:
    return lambda row: _evaluate(text, {"x": row})


def _evaluate(text: str, payloads: dict[str, Payload]) -> Any:
    return eval(text, {}, {name: _read(row) for name, row in payloads.items()})


def _read(row: Payload) -> Any:
    fields = Fields({name: value for name, value in row.items() if name not in ("start_time()", "end_time()")})
    return fields["value"] if set(fields) == {"value"} else fields


def _payload(value: Any) -> Payload:
    return dict(value) if isinstance(value, dict) else {"value": value}


def _time(time: Any) -> oracle.Time:
    return INF if time == "inf" else int(time)


def _select(facts: list[Event], step: Any, _: dict[str, list[Event]]) -> list[Event]:
    return [(start, end, _payload(_evaluate(step["expr"], {"x": row, "vs": {"value": start}})))
            for start, end, row in facts]


def _hopping_window(facts: list[Event], step: Any, _: dict[str, list[Event]]) -> list[Event]:
    """Windows of these cases are labelled by their end."""
    return oracle.hopping_window(facts, step["size"], step["period"], offset=step["offset"], label="end")


_STEPS: dict[str, Callable[[list[Event], Any, dict[str, list[Event]]], list[Event]]] = {
    **dict.fromkeys(("passthrough", "coalesce", "set_property"), lambda facts, _, __: facts),
    "where": lambda facts, step, _: oracle.where(facts, _function(step["pred"])),
    "select": _select,
    "alter_duration": lambda facts, step, _: oracle.set_duration(facts, step["duration"]),
    "hopping_window": _hopping_window,
    "union": lambda facts, step, inputs: oracle.union(facts, inputs[step["right"]]),
    "join": _join,
    "left_outer_join": _outer_join,
    "where_not_exists": _of_left(oracle.anti_join),
    "clip": _of_left(oracle.clip),
    "detect": _detect,
    "group_apply": _group,
    **dict.fromkeys(("aggregate", "group_aggregate"), _aggregate),
    **dict.fromkeys(("count", "count_not_null", "sum", "avg", "min", "max", *_QUANTILES), _aggregate),
}
