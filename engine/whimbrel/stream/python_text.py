"""Print a query as Python that builds it again."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final

from whimbrel.errors import PlanError
from whimbrel.expr import Col, Keys
from whimbrel.plan import FLUENT, InputStream, MethodCall, Node, Source, used_by
from whimbrel.stream.printed_latency import without_latency
from whimbrel.stream.python_values import PythonValues

HANDED_OVER: Final = ("keys", "known", "right_known")
"""Parameters of builders that the stream gives, not the user."""

_WIDTH: Final = 100
_Used = tuple[int, int]
"""A node, by identity, and how many of its calls count."""


@dataclass(frozen=True)
class PythonText:
    """Text of a function that builds a query, and its arguments.

    Parameters
    ----------
    text : str
    arguments : mapping of str to object
        Streams that were read, and functions and other objects that have no text.
    """

    text: str
    arguments: Mapping[str, Any]


def python_text(node: Node, keys: Keys, latencies: Sequence[str] = (),
                split: Mapping[str, Any] = MappingProxyType({})) -> PythonText:
    """The function ``query`` that builds a plan from what it reads.

    Parameters
    ----------
    node : Node
    keys : tuple of (str, Expr)
        By which its rows are grouped at the end.
    latencies : sequence of str
        Those of ``at_latencies`` after the query, as users write them.
    split : mapping of str to callable
        The user's own split into partial and merge.
    """
    node, latency = without_latency(node, "python()")
    values = PythonValues(import_module("whimbrel"))
    writer = _Writer(values)
    for source in dict.fromkeys(read_by(node)):
        values.argument(source, argument_name(source))
    ending = f".at_latencies({latency})[0]" if latency else ""
    if latencies:
        ending = f".at_latencies({', '.join([*latencies, *values.named(split)])})"
    body = writer.function(node, len(node.calls), keys, {}, "    ", ending)
    imports = sorted(line for line in values.imports if line != "col")
    head = [*imports, "import whimbrel as wb", *(["from whimbrel import col"] if "col" in values.imports else [])]
    text = "\n".join([*head, "", "", f"def query({', '.join(values.arguments)}):", *body])
    return PythonText(text, dict(values.arguments))


def read_by(node: Node) -> list[Any]:
    """What the query reads, in the order in which it names them: sources, or streams that readers have made."""
    found: list[Any] = []
    todo, seen = [node], set[int]()
    while todo:
        each = todo.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if is_read(each):
            found.append(each.op if isinstance(each.op, Source) else each)
            continue
        todo += reversed([used for call in each.calls for stream in call.inputs
                          if (used := used_by(each, stream)) is not None])
    return found


def is_read(node: Node) -> bool:
    """Whether a node is what a reader gave, not a method of it."""
    return not node.calls and not any(below.calls for below in node.walk()) and len(node.sources()) == 1


def argument_name(read: Any) -> str:
    """A name for what is read, after its source."""
    source = read if isinstance(read, Source) else read.sources()[0]
    name = re.sub(r"\W+", "_", source.name).strip("_")
    return f"log_{name}" if name[:1].isdigit() else name or "log"


class _Writer:
    """Texts of the nodes of one query."""

    def __init__(self, values: PythonValues) -> None:
        self.values = values

    def function(self, node: Node, level: int, keys: Keys | None, names: dict[_Used, tuple[str, Keys]],
                 indent: str, ending: str = "") -> list[str]:
        """The lines of a function that returns a stream, given names of what it reads; `ending` is a last method."""
        body = _Body(self, dict(names), indent)
        shared = shared_nodes(node, level, names)
        for place in shared:
            body.assign(*place)
        parts, known = body.parts(node, level)
        result = parts if keys is None else body.grouped((parts, known), keys)
        return [*body.lines, *body.statement("return ", [*result, *filter(None, [ending])])]


class _Body:
    """Statements of one function."""

    def __init__(self, writer: _Writer, names: dict[_Used, tuple[str, Keys]], indent: str) -> None:
        self.writer, self.values, self.names, self.indent = writer, writer.values, names, indent
        self.lines: list[str] = []
        self.numbers = {"stream": 0, "group": 0}

    def fresh(self, stem: str) -> str:
        """A new name of a local stream or function."""
        self.numbers[stem] += 1
        name = f"{stem}_{self.numbers[stem]}"
        return name if name not in self.values.arguments else self.fresh(stem)

    def assign(self, node: Node, level: int) -> None:
        """Give a node that is used several times a name."""
        parts, keys = self.parts(node, level)
        if len(parts) > 1:
            name = self.fresh("stream")
            self.lines += self.statement(f"{name} = ", parts)
            self.names[id(node), level] = name, keys

    def statement(self, head: str, parts: list[str]) -> list[str]:
        """A statement, on several lines if one is too short."""
        whole = f"{self.indent}{head}{''.join(parts)}"
        if len(whole) <= _WIDTH and "\n" not in whole:
            return [whole]
        inner = self.indent + "    "
        lines = [f"{inner}{line}" for part in parts for line in part.split("\n")]
        return [f"{self.indent}{head}(", *lines, f"{self.indent})"]

    def parts(self, node: Node, level: int) -> tuple[list[str], Keys]:
        """The text of a stream, a part for each method, and the keys by which it is grouped then."""
        steps: list[tuple[Node, MethodCall]] = []
        while (id(node), level) not in self.names and level and not is_read(node):
            call = node.calls[level - 1]
            steps.append((node, call))
            node, level = self._below(node, level, call.inputs[0])
        if (id(node), level) in self.names:
            name, keys = self.names[id(node), level]
        elif is_read(node):
            name, keys = self.values.argument(node.op if isinstance(node.op, Source) else node, ""), ()
        else:
            assert not isinstance(node.op, Source)
            raise PlanError(f"This step was not made by a method of a stream: {node.op.show()[:80]}.",
                            where="python()", hint="Print the query before at_latencies().")
        parts = [name]
        for used, call in reversed(steps):
            parts = self.grouped((parts, keys), call.inputs[0].keys)
            parts.append(self._apply(used, call) if call.name == "group_apply" else self._call(used, call))
            keys = call.keys_after
        return parts, keys

    def _below(self, node: Node, level: int, stream: InputStream) -> tuple[Node, int]:
        """The node that a call has used, and how many of its calls count."""
        used = used_by(node, stream)
        if used is None:
            raise PlanError("Steps of this query have been replaced, so they have no text.", where="python()",
                            hint="Call python() on the query as it was written.")
        return used, (level - 1 if not stream.path else len(used.calls))

    def grouped(self, given: tuple[list[str], Keys], keys: Keys) -> list[str]:
        """The text of a stream that is grouped by these keys."""
        parts, known = given
        if [name for name, _ in keys[:len(known)]] != [name for name, _ in known]:
            parts, known = [*parts, ".ungroup()"], ()
        more = keys[len(known):]
        return [*parts, f".group_by({self.key_texts(more)})"] if more else parts

    def key_texts(self, keys: Keys) -> str:
        """Keys as arguments of ``group_by``: columns by their names, and computed keys."""
        computed = {name: expr for name, expr in keys if not _is_column(name, expr)}
        columns = [repr(name) for name, expr in keys if _is_column(name, expr)]
        if any(_is_column(name, expr) for name, expr in keys[len(columns):]):
            computed, columns = dict(keys), []
        return ", ".join([*columns, *self.values.named(computed)])

    def _call(self, node: Node, call: MethodCall) -> str:
        signature = _signature(call.name)
        streams = []
        for stream in call.inputs[1:]:
            used, level = self._below(node, len(node.calls), stream)
            text = self.grouped(self.parts(used, level), stream.keys)
            if len("".join(text)) > _WIDTH // 2:
                name = self.fresh("stream")
                self.lines += self.statement(f"{name} = ", text)
                text = [name]
            streams.append("".join(text))
        arguments, options = call_arguments(call)
        types = _types(signature, len(arguments))
        several = next((each for each in signature.values() if each.kind is each.VAR_KEYWORD), None)

        def annotation(name: str) -> str:
            return str(signature[name].annotation if name in signature else several.annotation if several else "")

        if call.name == "select":  # columns that stay as they are go first, by their names
            while options and _is_column(name := next(iter(options)), options[name]):
                arguments, types = [*arguments, name], [*types, ""]
                del options[name]
        given = [self.values.text(value, type_) for value, type_ in zip(arguments, types, strict=False)]
        texts = [*streams, *given, *self.values.named(options, annotation)]
        short = f".{call.name}({', '.join(texts)})"
        if len(short) <= _WIDTH - len(self.indent):
            return short
        return f".{call.name}(\n" + "".join(f"    {text},\n" for text in texts) + ")"

    def _apply(self, node: Node, call: MethodCall) -> str:
        """A query of each group, as a function of its own."""
        keyed, level = self._below(node, len(node.calls), call.inputs[1])
        last = max(position for position, each in enumerate(node.calls) if each is call)
        keys = tuple((name, expr) for name, expr in call.inputs[0].keys)
        names = {**self.names, (id(keyed), level): ("g", _columns(keys))}
        inner = self.writer.function(node, last, None, names, self.indent + "    ")
        if len(inner) == 1:
            return f".group_apply(lambda g: {inner[0].strip().removeprefix('return ')})"
        name = self.fresh("group")
        self.lines += [f"{self.indent}def {name}(g):", *inner, ""]
        return f".group_apply({name})"


def _columns(keys: Keys) -> Keys:
    from whimbrel.stream.grouping import columns_of_keys

    return columns_of_keys(tuple(name for name, _ in keys))


def call_arguments(call: MethodCall) -> tuple[list[Any], dict[str, Any]]:
    """Arguments of a call after its streams, and options; without defaults and what the stream gives."""
    signature = _signature(call.name)
    positional = _positional(signature)
    hidden = sum(each.name in HANDED_OVER and each.kind is each.POSITIONAL_ONLY for each in positional)
    arguments, positional = list(call.arguments[hidden:]), positional[hidden:]
    while 0 < len(arguments) <= len(positional) and _is_default(arguments[-1], positional[len(arguments) - 1]):
        arguments.pop()
    options = {name: value for name, value in call.options.items()
               if not (name in signature and (_hidden(name, signature) or _is_default(value, signature[name])))}
    return arguments, options


def _positional(signature: Mapping[str, inspect.Parameter]) -> list[inspect.Parameter]:
    """Parameters after those that are streams."""
    found = [each for each in signature.values() if each.kind not in (each.KEYWORD_ONLY, each.VAR_KEYWORD)]
    return found[1 + ("right" in signature):]


def _types(signature: Mapping[str, inspect.Parameter], arguments: int) -> list[str]:
    """Types that a method declares for positional arguments of users."""
    found = [str(each.annotation) for each in _positional(signature)
             if not (each.name in HANDED_OVER and each.kind is each.POSITIONAL_ONLY)]
    return found + found[-1:] * (arguments - len(found))


def _is_column(name: str, expr: Any) -> bool:
    return isinstance(expr, Col) and expr.name == name and expr.remembered is None


def _hidden(name: str, signature: Mapping[str, inspect.Parameter]) -> bool:
    return name in HANDED_OVER and signature[name].kind is inspect.Parameter.KEYWORD_ONLY


def _is_default(value: Any, parameter: inspect.Parameter) -> bool:
    default = parameter.default
    return value is default or (type(value) is type(default) and isinstance(value, str | int | float | tuple)
                                and bool(value == default))


@cache
def _signature(name: str) -> Mapping[str, inspect.Parameter]:
    """Parameters of a method: those of its builder, or of the method where it has none."""
    from whimbrel.stream.time_functions import FunctionsOfTime

    build: Callable[..., Any] = FLUENT[name] if name in FLUENT else getattr(FunctionsOfTime, name)
    return inspect.signature(build).parameters


def shared_nodes(node: Node, level: int, names: Mapping[_Used, Any] = MappingProxyType({})) -> list[tuple[Node, int]]:
    """Nodes that are used several times, inputs before what they feed."""
    uses: dict[_Used, int] = {(id(node), level): 1}
    order: list[tuple[Node, int]] = []
    path: list[tuple[Node, int, Iterator[tuple[Node, int]]]] = [(node, level, _used(node, level, names))]
    while path:
        each, at, below = path[-1]
        for used, under in below:
            place = id(used), under
            uses[place] = uses.get(place, 0) + 1
            if uses[place] == 1:
                path.append((used, under, _used(used, under, names)))
                break
        else:
            path.pop()
            order.append((each, at))
    return [(each, at) for each, at in order if uses[id(each), at] > 1 and (id(each), at) not in names]


def _used(node: Node, level: int, names: Mapping[_Used, Any]) -> Iterator[tuple[Node, int]]:
    """Nodes that the call of a place has used."""
    if (id(node), level) in names or not level or is_read(node):
        return
    call = node.calls[level - 1]
    for stream in call.inputs[:1] if call.name == "group_apply" else call.inputs:
        if (used := used_by(node, stream)) is not None:
            yield used, level - 1 if not stream.path else len(used.calls)
