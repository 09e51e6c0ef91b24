"""Translate the two-stream steps of cases to joins."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

import whimbrel
from whimbrel import col
from whimbrel.expr import Expr
from whimbrel.stream import Stream
from whimbrel.testing.conformance.case import UnsupportedError
from whimbrel.testing.conformance.expressions import choose, translate, translate_condition
from whimbrel.testing.conformance.payload_shape import Tree, flatten, names
from whimbrel.testing.conformance.stream_columns import Flow, call

Step = Mapping[str, Any]

_CONDITIONS = ("condition", "pred")
"""What a step calls the part of a match that its keys do not say."""
_OF_MATCHES = ("op", "right", "left_key", "right_key", "inner", *_CONDITIONS)
"""What a step says of matches; what else an outer join says is of rows of one side alone."""
_NAMED = {"l": "left", "r": "right"}


def join(left: Flow, right: Flow, step: Step, how: str) -> Flow:
    """Join two streams whose columns have been given different names: ``l...`` and ``r...``."""
    mine, theirs, on = _keyed(left, right, step)
    sides = _sides(left, right)
    stream = call(mine, "join", theirs, on=on, how=how, allow_lookahead=True, **_condition(step, sides))
    result = Flow(stream, left.payload, left.keys, left.key)
    here = result.named(**sides)
    if "inner" not in step:
        return result.select(translate(step["result"], here))
    made = translate(step["inner"], here)
    for side, text in ({} if how == "inner" else _alone(step, how)).items():
        other = col.r_is if side == "l" else col.l_is
        made = choose(other.is_not_null(), made, translate(text, here))
    return result.select(made)


def _alone(step: Step, how: str) -> dict[str, str]:
    """What is made of rows of one side alone, by the side.

    That is what their text reads; a text that reads neither side belongs to the side that its field is named after.
    """
    texts = {field: str(step[field]) for field in step if field not in _OF_MATCHES}
    kept = "lr" if how == "full" else how[0]
    found: dict[str, str] = {}
    for field, text in texts.items():
        read = [side for side in kept if _reads(text, side)]
        named = [side for side in kept if field.startswith(_NAMED[side])]
        found.setdefault((read if len(read) == 1 else named or [kept[0]])[0], text)
    if len(texts) != len(kept) or len(found) != len(kept):
        raise UnsupportedError(f"a {how} outer join with {', '.join(texts) or 'nothing'} for rows of one side")
    return found


def of_left(left: Flow, right: Flow, step: Step, method: str) -> Flow:
    """What a method makes of the left stream, whose payload the result has."""
    mine, theirs, on = _keyed(left, right, step)
    stream = call(mine, method, theirs, on=on, **_condition(step, _sides(left, right)))
    result = Flow(stream, names(left.payload, "l"), left.keys, left.key)
    return result.select(result.values())


def of_one_type(left: Stream, right: Stream, columns: Sequence[str]) -> tuple[Stream, Stream]:
    """Both with floats where one has them and the other has integers."""
    def type_in(stream: Stream, name: str) -> pa.DataType:
        return stream.schema.type_of(name)

    shared = [name for name in columns if name in left.schema.names and name in right.schema.names]
    uneven = [name for name in shared if {type_in(left, name), type_in(right, name)} == {pa.int64(), pa.float64()}]
    floats = {name: col(name).cast(float) for name in uneven}
    return (left.with_columns(**floats), right.with_columns(**floats)) if floats else (left, right)


def _condition(step: Step, sides: Mapping[str, Tree]) -> dict[str, Expr]:
    """The condition as an option of a method; one of several lines is all of them."""
    said = [step[field] for field in _CONDITIONS if field in step]
    return {} if not said else {"where": translate_condition(" and ".join(f"({text})" for text in said), sides)}


def _reads(text: str, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(ast.parse(text, mode="eval")))


def _sides(left: Flow, right: Flow) -> Mapping[str, Tree]:
    return {"l": left.values(names(left.payload, "l")), "r": left.values(names(right.payload, "r"))}


def _keyed(left: Flow, right: Flow, step: Step) -> tuple[Stream, Stream, list[str]]:
    """Both sides and the columns to match: the keys of common groups, then those of the step, or what all share."""
    def side(flow: Flow, key: str | None, root: str) -> Stream:
        columns = flatten(flow.values(), root) | {f"{root}_is": whimbrel.lit(True)}
        columns |= {"on": whimbrel.lit(True)} if key is None else flatten(flow.translate(key), "on")
        return flow.stream.select(*flow.keys, **columns)

    mine, theirs = side(left, step.get("left_key"), "l"), side(right, step.get("right_key"), "r")
    on = [name for name in mine.schema.names if name.startswith("on")]
    return *of_one_type(mine, theirs, on), [*(key for key in left.keys if key in right.keys), *on]
