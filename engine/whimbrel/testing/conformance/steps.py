"""Translate the steps of cases to methods of a stream."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import pyarrow as pa

import whimbrel
from whimbrel import col
from whimbrel.expr import Expr
from whimbrel.stream import Stream
from whimbrel.testing.conformance.case import UnsupportedError
from whimbrel.testing.conformance.expressions import choose
from whimbrel.testing.conformance.joins import join, of_left, of_one_type
from whimbrel.testing.conformance.patterns import beginning, pattern, register_shape
from whimbrel.testing.conformance.payload_shape import flatten, names
from whimbrel.testing.conformance.stream_columns import Flow, call

Step = Mapping[str, Any]
Inputs = Mapping[str, Flow]


def run_steps(flow: Flow, steps: Sequence[Step], inputs: Inputs) -> Flow:
    """The query that the steps make of a stream."""
    for step in steps:
        if step["op"] not in STEPS:
            raise UnsupportedError(step["op"])
        flow = STEPS[step["op"]](flow, step, inputs)
    return flow


def _right(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    match step["right"]:
        case "self":
            return flow
        case str(name):
            return inputs[name]
        case op:
            return run_steps(inputs[op["from"]], op["steps"], inputs)


# Rows.


def _same(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    return flow


def _where(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    return replace(flow, stream=flow.call("where", flow.holds(step["pred"])))


def _select(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    return flow.select(flow.translate(step["expr"]))


def _union(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    """Of records with the same fields, in whatever order and in whatever numbers a side has them."""
    left, right = flow, _right(flow, step, inputs)
    if left.payload != right.payload:
        left, right = left.select(left.values()), right.select(right.values())
    mine, theirs = of_one_type(left.stream, right.stream, right.stream.schema.names)
    return replace(left, stream=call(mine, "union", theirs))


def _distinct(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    chosen = flow.select(flow.translate(step["expr"])) if "expr" in step else flow
    return chosen.moved("distinct", *flatten(chosen.payload, "x").values())


# Lifetimes.


def _lifetime(method: str, *fields: str) -> Callable[[Flow, Step, Inputs], Flow]:
    def moved(flow: Flow, step: Step, inputs: Inputs) -> Flow:
        spans = [_span(flow, step, field) for field in fields]
        if any(isinstance(span, Expr) for span in spans):
            raise UnsupportedError(f"{method} with an expression")
        return flow.moved(method, *spans)

    return moved


def _span(flow: Flow, step: Step, field: str) -> Any:
    """A duration: a number, none for ever, or an expression, also in a field of its own such as ``duration_expr``."""
    value = step[f"{field}_expr"] if f"{field}_expr" in step else step[field]
    return None if value == "inf" else flow.translate(value) if isinstance(value, str) else value


def _alter_duration(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    """A duration of nothing or less leaves nothing."""
    duration = _span(flow, step, "duration")
    nothing = isinstance(duration, int) and duration < 1
    return flow.moved("set_duration", whimbrel.lit(duration) if nothing else duration)


def _alter_lifetime(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    start = step["start_expr"] if "start_expr" in step else step["start"]
    return flow.moved("alter_lifetime", start=flow.translate(start), duration=_span(flow, step, "duration"))


def _hopping_window(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    """The cases label windows by their end."""
    return flow.moved("hopping_window", step["size"], step.get("period", step["size"]), offset=step.get("offset", 0),
                      label="end")


def _repetitive_hopping_window(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    return _chop(_hopping_window(flow, step, inputs), step, inputs)


def _quantize(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    size, hop, offset = step["size"], step.get("period", step["size"]), step.get("offset", 0)
    if "progress" in step:
        return flow.moved("progressive_window", size, hop, step["progress"], offset=offset)
    return flow.moved("quantize", size, hop, offset=offset)


def _session_window(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    """A max_duration of 0 is none."""
    return flow.moved("session_window", step["timeout"], max_duration=step.get("max_duration") or None)


def _shift(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    return flow.moved("shift", _span(flow, step, "by"))


def _chop(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    return flow.moved("chop", step["period"], offset=step.get("offset", 0))


# Aggregates and groups.

_AGGREGATES: dict[str, tuple[str, dict[str, Any]]] = {
    "count_not_null": ("count", {}), "avg": ("mean", {}), "average": ("mean", {}), "avg_squares": ("mean", {}),
    "sum_squares": ("sum_of_squares", {}), "single_or_default": ("first", {}),
    "percentile_disc": ("quantile", {"interpolation": "discrete"}),
    "percentile_cont": ("quantile", {"interpolation": "linear"}),
    **dict.fromkeys(("variance",), ("var", {})), **dict.fromkeys(("stddev", "standard_deviation"), ("std", {})),
    **dict.fromkeys(("population_variance",), ("var", {"sample": False})),
    **dict.fromkeys(("population_stddev", "population_standard_deviation"), ("std", {"sample": False})),
}
_AGGREGATE_STEPS = ("count", "sum", "min", "max", "product", "var", "std", "median", "first", "last", "any", "all",
                    "collect", "count_distinct", *_AGGREGATES)


def _measure(flow: Flow, form: Step) -> Any:
    kind = str(form["op"])
    name, options = _AGGREGATES.get(kind, (kind, {}))
    if not hasattr(whimbrel, name):
        raise UnsupportedError(name)
    if kind.startswith("percentile"):
        options = {**options, "q": form["p"], "descending": form.get("descending", False)}
    elif kind == "top_k":
        options = {"k": form["k"]}
    values = [flow.translate(form["expr"])] if "expr" in form else []
    if kind == "avg_squares":
        values = [value * value for value in values]
    measure = getattr(whimbrel, name)(*values, **options)
    return measure.where(flow.holds(form["where"])) if "where" in form else measure


def _top_k(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    """Lists of ranked payloads; of those that are not what they are ordered by, as a row for each of their items."""
    if step["expr"].strip() == "x" and isinstance(flow.payload, str):
        return _aggregate_one(flow, step, inputs)
    return replace(flow.moved("top_k", step["k"], flow.translate(step["expr"]), rank="rank"), ranked="rank")


def _aggregate_one(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    return replace(flow, stream=flow.call("aggregate", x=_measure(flow, step)), payload="x")


def _aggregate(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    measures = {f"x_{name}": _measure(flow, form) for name, form in step["aggs"].items()}
    payload = {name: f"x_{name}" for name in step["aggs"]}
    result = replace(flow, stream=flow.call("aggregate", **measures), payload=payload)
    if "result" not in step:
        return result
    values = result.values()
    return result.select(result.translate(step["result"], v=values, **values))


def _group_apply(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    key = flow.translate(step["key"])
    root = f"key{len(flow.keys)}"
    columns = flatten(key, root)
    grouped = replace(flow, stream=flow.call("with_columns", **columns), keys=(*flow.keys, *columns),
                      key=names(key, root))
    done = run_steps(grouped, step["apply"], inputs)
    out = replace(done, stream=Stream(done.stream.node), keys=flow.keys, key=flow.key)
    if "result" not in step:
        return out.select(done.values())
    return out.select(done.translate(step["result"], v=done.values()))


def _detect(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    shape = register_shape(step["pattern"], step.get("register", {}), flow.named())
    options: dict[str, Any] = {}
    if flatten(shape, "r"):
        options["register"] = beginning(shape, flow.stream)
    if not step.get("overlapping", True):
        options["overlapping"] = False
    if step.get("simultaneity_free"):
        options["simultaneous"] = "in_order"
    within = _span(flow, step, "max_duration") if "max_duration" in step else None
    found = flow.call("detect", pattern(step["pattern"], flow.named(), shape), within=within, **options)
    return replace(flow, stream=found, payload=names(shape, "r"))


def _select_many(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    """A row for each item of a literal list (``[a, b]``, ``[a] * n``), or of a list expression."""
    if flow.ranked and step["expr"].strip() == "x":
        ranked = {"rank": col(flow.ranked), "payload": flow.values()}
        return replace(flow, ranked="").select(ranked)
    times: dict[str, Any] = {}
    match ast.parse(step["expr"].strip(), mode="eval").body:
        case ast.List(items) if items:
            values = [flow.translate(ast.unparse(item)) for item in items]
        case ast.BinOp(ast.List(items), ast.Mult(), count) | ast.BinOp(count, ast.Mult(), ast.List(items)) if items:
            values = [flow.translate(ast.unparse(item)) for item in items]
            times = {"times": flow.translate(ast.unparse(count))}
        case ast.Name() | ast.Attribute() | ast.Subscript():
            listed = flow.translate(step["expr"])
            if not isinstance(listed, list):
                exploded = flow.call("explode", "many", listed)
                ranked = pa.types.is_struct(exploded.schema.type_of("many"))
                item = {"rank": col.many.field("rank"), "payload": col.many.field("value")} if ranked else col.many
                return replace(flow, stream=exploded).select(item)
            values = listed
        case ast.List([]):
            return replace(flow, stream=flow.call("where", whimbrel.lit(False)))
        case _:
            return replace(flow, stream=flow.call("explode", "many", flow.listed(step["expr"]))).select(col.many)
    if not any(isinstance(value, Mapping | list) for value in values):
        return replace(flow, stream=flow.call("explode", "many", values, **times)).select(col.many)
    which = [whimbrel.lit(at) for at in range(len(values))]
    chosen = reduce(lambda others, at: choose(col.many == at, values[at], others), range(1, len(values)), values[0])
    return replace(flow, stream=flow.call("explode", "many", which, **times)).select(chosen)


def _pivot(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    """The attributes are those of the declared result, where the case has one, and else those of its rows."""
    kind = step.get("agg", "single_or_default")
    name, options = _AGGREGATES.get(kind, (kind, {}))
    if not hasattr(whimbrel, name):
        raise UnsupportedError(f"pivot with {kind}")
    how = {} if kind == "single_or_default" else {"aggregate": partial(getattr(whimbrel, name), **options)}
    named = _plainly_named(flow)
    found = set(named.stream.collect()[step["attribute"]].to_pylist())
    columns = sorted(found | set(step.get("columns", ())) - set(step["key"]))
    done = named.call("pivot", *step["key"], attribute=step["attribute"], value=step["value"], values=columns, **how)
    return replace(flow, stream=done, payload={name: name for name in (*step["key"], *columns)})


def _unpivot(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    """A case says no type for a column that holds nulls only, and such a column makes no row."""
    options = {"attribute": step["attribute"], "value": step["value"]}
    named = _plainly_named(flow)
    table = named.stream.collect()
    values = [name for name in named.payload if name not in step["key"]]
    empty = [name for name in values if len(table) and table[name].null_count == len(table)]
    filled = replace(named, stream=named.call("drop", *empty)) if empty else named
    types = {filled.stream.schema.type_of(name) for name in values if name not in empty}
    if types == {pa.int64(), pa.float64()}:
        floats = {name: col(name).cast(float) for name in values if name not in empty}
        filled = replace(filled, stream=filled.call("with_columns", **floats))
    done = filled.call("unpivot", *step["key"], **options)
    return replace(flow, stream=done, payload={name: name for name in (*step["key"], *options.values())})


def _plainly_named(flow: Flow) -> Flow:
    """With the columns named as the case names them."""
    plain = {name: name for name in flow.payload}
    columns = {name: col(column) for name, column in flow.payload.items()}
    return replace(flow, stream=flow.call("select", *flow.keys, **columns), payload=plain)


def _group_aggregate(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    inner = {"op": "aggregate", "aggs": step["aggs"]}
    result = {"result": step["result"]} if "result" in step else {}
    return _group_apply(flow, {"key": step["key"], "apply": [inner], **result}, inputs)


# Two streams.


def _join(how: str) -> Callable[[Flow, Step, Inputs], Flow]:
    def joined(flow: Flow, step: Step, inputs: Inputs) -> Flow:
        return join(flow, _right(flow, step, inputs), step, how)

    return joined


def _of_left(method: str) -> Callable[[Flow, Step, Inputs], Flow]:
    """Steps whose result has the payload of the left stream."""
    def kept(flow: Flow, step: Step, inputs: Inputs) -> Flow:
        return of_left(flow, _right(flow, step, inputs), step, method)

    return kept


def _multicast(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    left, right = (run_steps(flow, step[side], inputs) for side in ("left_steps", "right_steps"))
    return run_steps(left, [step["combine"].also(right="other side")], {**inputs, "other side": right})


STEPS: dict[str, Callable[[Flow, Step, Inputs], Flow]] = {
    **dict.fromkeys(("passthrough", "coalesce", "set_property"), _same),
    "where": _where, "select": _select, "union": _union, "distinct": _distinct,
    "alter_duration": _alter_duration, "alter_lifetime": _alter_lifetime, "extend_lifetime": _lifetime("extend", "by"),
    "clip_duration": _lifetime("clip_duration", "limit"), "stitch": _lifetime("stitch"),
    "point_at_end": _lifetime("point_at_end"), "shift": _shift, "chop": _chop,
    **dict.fromkeys(("hopping_window", "tumbling_window"), _hopping_window),
    "repetitive_hopping_window": _repetitive_hopping_window,
    **dict.fromkeys(("quantize", "progressive_quantize"), _quantize), "session_window": _session_window,
    **dict.fromkeys(_AGGREGATE_STEPS, _aggregate_one), "top_k": _top_k,
    "pivot": _pivot, "unpivot": _unpivot, "detect": _detect, "select_many": _select_many, "aggregate": _aggregate,
    "group_apply": _group_apply, "group_aggregate": _group_aggregate, "multicast": _multicast,
    "join": _join("inner"), **{f"{how}_outer_join": _join(how) for how in ("left", "right", "full")},
    "clip": _of_left("clip_at"), "where_not_exists": _of_left("anti_join"), "where_exists": _of_left("semi_join"),
}
