"""Steps of a case as a query: each is one or a few methods of a stream, called as a user would."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

import whimbrel
from whimbrel import col
from whimbrel.stream import Stream
from whimbrel.testing.vectors.case import UnsupportedError
from whimbrel.testing.vectors.expressions import choose, translate
from whimbrel.testing.vectors.patterns import beginning, pattern, register_shape
from whimbrel.testing.vectors.shape import Tree, flatten, names, transform

PARTITION = "partition"
"""The column that names the partition of a row."""

Step = Mapping[str, Any]
Inputs = Mapping[str, "Flow"]


@dataclass(frozen=True)
class Flow:
    """A stream, and where in its columns the payload of the case lies.

    Parameters
    ----------
    stream : Stream
    payload : tree of names of columns
    keys : tuple of str
        Columns of the groups, outermost first, that every step keeps.
    """

    stream: Stream
    payload: Tree
    keys: tuple[str, ...] = ()

    def values(self, payload: Tree | None = None) -> Tree:
        """The payload as a tree of expressions."""
        return transform(self.payload if payload is None else payload, col)

    def translate(self, text: str, **more: Tree) -> Tree:
        """An expression over this stream."""
        partition = {"key": col(PARTITION)} if PARTITION in self.keys else {}
        return translate(text, {"x": self.values(), "vs": whimbrel.start_time(), **partition, **more})

    def select(self, payload: Tree) -> Flow:
        """With another payload, given as a tree of expressions."""
        stream = self.call("select", *self.keys, **flatten(payload, "x"))
        return replace(self, stream=stream, payload=names(payload, "x"))

    def call(self, method: str, *arguments: Any, **options: Any) -> Stream:
        """A method of the stream, per key where there are keys."""
        grouped = {name for name, _ in self.stream.keys}
        missing = [key for key in self.keys if key not in grouped]
        return call(self.stream.group_by(*missing) if missing else self.stream, method, *arguments, **options)

    def moved(self, method: str, *arguments: Any, **options: Any) -> Flow:
        """With other lifetimes."""
        return replace(self, stream=self.call(method, *arguments, **options))


def call(stream: Stream, name: str, *arguments: Any, **options: Any) -> Stream:
    """A method of a stream, if there is one that takes these options."""
    method = getattr(stream, name, None)
    if method is None:
        raise UnsupportedError(name)
    known = inspect.signature(method).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values())
    for option in options:
        if option not in known and not takes_any:
            raise UnsupportedError(f"{name}({option}=)")
    return method(*arguments, **options)


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
    return replace(flow, stream=flow.call("where", flow.translate(step["pred"])))


def _select(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    return flow.select(flow.translate(step["expr"]))


def _union(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    return replace(flow, stream=flow.call("union", _right(flow, step, inputs).stream))


# Lifetimes.


def _lifetime(method: str, *fields: str) -> Callable[[Flow, Step, Inputs], Flow]:
    def moved(flow: Flow, step: Step, inputs: Inputs) -> Flow:
        return flow.moved(method, *(_span(step[field]) for field in fields))

    return moved


def _span(value: Any) -> Any:
    return None if value == "inf" else value


def _hopping_window(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    """The cases label windows by their end."""
    return flow.moved("hopping_window", step["size"], step["period"], offset=step["offset"], label="end")


def _quantize(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    return flow.moved("quantize", step["size"], step["period"], offset=step["offset"])


def _session_window(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    """A max_duration of 0 is none."""
    return flow.moved("session_window", step["timeout"], max_duration=step["max_duration"] or None)


def _alter_lifetime(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    return flow.moved("alter_lifetime", start=flow.translate(step["start"]), duration=_span(step["duration"]))


def _shift(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    amount = flow.translate(step["by_expr"]) if "by_expr" in step else step["by"]
    return flow.moved("shift", amount)


def _chop(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    return flow.moved("chop", step["period"], offset=step["offset"])


# Aggregates and groups.

_AGGREGATES = {"count_not_null": "count", "avg": "mean", "percentile_disc": "quantile", "percentile_cont": "quantile"}


def _measure(flow: Flow, form: Step) -> Any:
    kind = str(form["op"])
    name = _AGGREGATES.get(kind, kind)
    if not hasattr(whimbrel, name):
        raise UnsupportedError(name)
    options: dict[str, Any] = {}
    if kind.startswith("percentile"):
        options = {"q": form["p"], "descending": form.get("descending", False),
                   "interpolation": "linear" if kind.endswith("cont") else "discrete"}
    elif kind == "top_k":
        options = {"k": form["k"]}
    values = [flow.translate(form["expr"])] if "expr" in form else []
    measure = getattr(whimbrel, name)(*values, **options)
    return measure.where(flow.translate(form["where"])) if "where" in form else measure


def _aggregate_one(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    return Flow(flow.call("aggregate", x=_measure(flow, step)), "x", flow.keys)


def _aggregate(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    measures = {f"x_{name}": _measure(flow, form) for name, form in step["aggs"].items()}
    payload = {name: f"x_{name}" for name in step["aggs"]}
    result = Flow(flow.call("aggregate", **measures), payload, flow.keys)
    return result.select(result.translate(step["result"], **result.values())) if "result" in step else result


def _group_apply(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    key = flow.translate(step["key"])
    root = f"key{len(flow.keys)}"
    columns = flatten(key, root)
    grouped = replace(flow, stream=flow.call("with_columns", **columns), keys=(*flow.keys, *columns))
    done = run_steps(grouped, step["apply"], inputs)
    out = replace(done, stream=Stream(done.stream.node), keys=flow.keys)
    if "result" not in step:
        return out.select(done.values())
    return out.select(done.translate(step["result"], v=done.values(), key=done.values(names(key, root))))


def _detect(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    shape = register_shape(step["pattern"], step["register"], flow.values())
    options: dict[str, Any] = {}
    if flatten(shape, "r"):
        options["register"] = beginning(shape, flow.stream)
    if not step["overlapping"]:
        options["overlapping"] = False
    if step.get("simultaneity_free"):
        options["simultaneous"] = "in_order"
    found = flow.call("detect", pattern(step["pattern"], flow.values(), shape), within=step["max_duration"], **options)
    return Flow(found, names(shape, "r"), flow.keys)


def _select_many(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    """Lists that are written down (``[a, b]``, ``[a] * n``), or the list that the payload is (``x``)."""
    match ast.parse(step["expr"], mode="eval").body:
        case ast.Name("x"):
            exploded = replace(flow, stream=flow.call("select_many", flow.payload))
            ranked = pa.types.is_struct(exploded.stream.schema.type_of(flow.payload))
            item = col(flow.payload)
            return exploded.select({"rank": item.field("rank"), "payload": item.field("value")} if ranked else item)
        case ast.List(items):
            options = {}
        case ast.BinOp(ast.List(items), ast.Mult(), times):
            options = {"times": flow.translate(ast.unparse(times))}
        case _:
            raise UnsupportedError(f"select_many of {step['expr']}")
    values = [flow.translate(ast.unparse(item)) for item in items]
    return replace(flow, stream=flow.call("select_many", "many", values, **options), payload="many").select(col.many)


def _pivot(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    """The attributes are those of the declared result, where the case has one, and else those of its rows."""
    if step["agg"] != "single_or_default":
        raise UnsupportedError(f"pivot with {step['agg']}")
    named = _plainly_named(flow)
    found = set(named.stream.collect()[step["attribute"]].to_pylist())
    columns = sorted(found | set(step.get("columns", ())) - set(step["key"]))
    done = named.call("pivot", *step["key"], attribute=step["attribute"], value=step["value"], values=columns)
    return Flow(done, {name: name for name in (*step["key"], *columns)}, flow.keys)


def _unpivot(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    """A case says no type for a column that holds nulls only, and such a column makes no row."""
    options = {"attribute": step["attribute"], "value": step["value"]}
    named = _plainly_named(flow)
    table = named.stream.collect()
    empty = [name for name in named.payload if name not in step["key"] and table[name].null_count == len(table)]
    filled = replace(named, stream=named.call("drop", *empty)) if empty else named
    done = filled.call("unpivot", *step["key"], **options)
    return Flow(done, {name: name for name in (*step["key"], *options.values())}, flow.keys)


def _plainly_named(flow: Flow) -> Flow:
    """With the columns named as the case names them."""
    plain = {name: name for name in flow.payload}
    columns = {name: col(column) for name, column in flow.payload.items()}
    return replace(flow, stream=flow.call("select", *flow.keys, **columns), payload=plain)


def _group_aggregate(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    inner = {"op": "aggregate", "aggs": step["aggs"]}
    return _group_apply(flow, {"key": step["key"], "apply": [inner], "result": step["result"]}, inputs)


# Two streams.


def _join(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    return _joined(flow, _right(flow, step, inputs), step)


def _joined(left: Flow, right: Flow, step: Step, **options: Any) -> Flow:
    """Join two streams whose columns have been given different names: ``l...`` and ``r...``."""
    mine, theirs = _keyed(left, step.get("left_key"), "l"), _keyed(right, step.get("right_key"), "r", "r_is")
    on = [name for name in mine.schema.names if name.startswith("on")]
    joined = call(mine, "join", theirs, on=[*left.keys, *on], allow_lookahead=True, **options)
    result = Flow(joined, left.payload, left.keys)
    here = {"l": result.values(names(left.payload, "l")), "r": result.values(names(right.payload, "r"))}
    if "inner" in step:
        inner, outer = (translate(step[which], here) for which in ("inner", "outer"))
        return result.select(choose(col.r_is.is_not_null(), inner, outer))
    return result.select(translate(step["result"], here))


def _left_outer_join(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    return _joined(flow, _right(flow, step, inputs), step, how="left")


def _keyed(flow: Flow, key: str | None, root: str, *flags: str) -> Stream:
    columns = flatten(flow.values(), root) | dict.fromkeys(flags, whimbrel.lit(True))
    if key is not None:
        columns |= flatten(flow.translate(key), "on")
    return flow.stream.select(*flow.keys, **columns)


def _of_left(method: str) -> Callable[[Flow, Step, Inputs], Flow]:
    """Steps whose result has the payload of the left stream."""
    def step_(flow: Flow, step: Step, inputs: Inputs) -> Flow:
        mine = _keyed(flow, step.get("left_key"), "l")
        theirs = _keyed(_right(flow, step, inputs), step.get("right_key"), "r")
        on = [name for name in mine.schema.names if name.startswith("on")]
        result = Flow(call(mine, method, theirs, on=[*flow.keys, *on]), names(flow.payload, "l"), flow.keys)
        return result.select(result.values())

    return step_


def _multicast(flow: Flow, step: Step, inputs: Inputs) -> Flow:
    left, right = (run_steps(flow, step[side], inputs) for side in ("left_steps", "right_steps"))
    return run_steps(left, [{**step["combine"], "right": "other side"}], {**inputs, "other side": right})


STEPS: dict[str, Callable[[Flow, Step, Inputs], Flow]] = {
    **dict.fromkeys(("passthrough", "coalesce", "set_property"), _same),
    "where": _where, "select": _select, "union": _union,
    "alter_duration": _lifetime("set_duration", "duration"), "extend_lifetime": _lifetime("extend", "by"),
    "clip_duration": _lifetime("clip_duration", "limit"), "stitch": _lifetime("stitch"),
    "point_at_end": _lifetime("point_at_end"), "shift": _shift, "alter_lifetime": _alter_lifetime, "chop": _chop,
    "hopping_window": _hopping_window, "quantize": _quantize, "session_window": _session_window,
    **dict.fromkeys(("count", "count_not_null", "sum", "avg", "min", "max", "percentile_disc", "percentile_cont",
                     "top_k"), _aggregate_one),
    "pivot": _pivot, "unpivot": _unpivot, "detect": _detect, "select_many": _select_many, "aggregate": _aggregate,
    "group_apply": _group_apply, "group_aggregate": _group_aggregate,
    "join": _join, "left_outer_join": _left_outer_join, "multicast": _multicast, "clip": _of_left("clip"),
    "where_not_exists": _of_left("anti_join"), "where_exists": _of_left("semi_join"),
}
