"""Write docs/operators from docstrings: a page for each operator and each aggregate, and an index by topic.

Run by `make generate`; a test checks that what is committed is what would be written.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import whimbrel.aggregates
import whimbrel.operators
from whimbrel.plan import FLUENT, Aggregate, Operator
from whimbrel.stream import (
    aggregates,
    combined_aggregates,
    list_aggregates,
    pair_statistics,
    single_values,
    time_weighted,
)
from whimbrel.stream.methods import Methods
from whimbrel.stream.time_functions import FunctionsOfTime

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "operators"
TOPICS = {
    "Rows": ("Where", "SampleKeys", "Select", "Explode", "Union", "Unpivot", "Between", "DistinctWithin",
             "Assume", "AlignSamples"),
    "Lifetimes": ("SetDuration", "Extend", "Shift", "AlterLifetime", "Retime", "ClipDuration", "PointAtEnd", "Chop",
                  "Stitch", "Edges", "Resample"),
    "Windows": ("HoppingWindow", "ClosedWindow", "CalendarWindow", "SlidingWindow", "SlidingBorders",
                "CalendarSlidingWindow", "SessionWindow", "TableWindow", "WholeWindow", "LastRows", "Quantize"),
    "Groups": ("GroupAggregate", "EpochAggregate", "TopK", "Pivot"),
    "Signals": ("Rewindow", "SegmentSamples", "Sync", "Zip", "OnClock", "FirFilter", "PolyphaseResample",
                "DetectRanges", "ProcessBlocks"),
    "Joins": ("Join", "AsofJoin", "SemiJoin", "Clip"),
    "Patterns": ("Detect",),
    "More": (),
    "What plans hold besides": ("Results", "RunningAggregate", "Fill", "Coalesce", "FinerUnit", "Sort",
                                "EvictingAggregate", "Punctuate"),
}
"""Operators in an order to read them in; one that no topic names is listed under More."""
MEASURES = {
    "How many, how much": ("Count", "Sum", "Mean", "Product", "SumOfSquares", "Var", "Std", "AnyTrue", "AllTrue"),
    "Which": ("Min", "Max", "First", "Last", "ArgMin", "ArgMax"),
    "Bits": ("BitAnd", "BitOr", "BitXor"),
    "All values": ("Median", "Quantile", "QuantileList", "CountDistinct", "Collect", "LargestValues", "Mode",
                   "SumDistinct", "MedianDeviation", "Entropy", "StringAgg", "Increase"),
    "With bounded memory": ("ApproximateCountDistinct", "ApproximateQuantile", "ApproximateTopK"),
    "Over time": ("TimeMean", "Integral", "TimeIn"),
    "More": (),
    "Your own": ("UserAggregate",),
}
INDEX = """# Operators

What a stream can do, in an order to read it in; what it all means together is in [semantics](../semantics.md). Every
page has the operator drawn on a timeline and an example that runs.

`group_by` and `group_apply` are no operators: they say for which groups others work, see
[groups](../semantics.md#groups).
"""
AGGREGATES = """
## Aggregates

They stand in `aggregate(...)`, and combine as columns do: `wb.count().where(col.late) / wb.count()`. Nulls are left
out; `.where(condition)` leaves out rows. Each has an [example](../reference/aggregate_examples.md).
"""
FOOT = "\n---\n\nGenerated from {source}; [all operators]({up}README.md).\n"
Described = type[Operator] | type[Aggregate]


@dataclass(frozen=True)
class Page:
    """One operator or aggregate, and what users call it by."""

    described: Described
    calls: dict[str, Callable[..., Any]]
    """How a call begins, ``wb.sum`` or ``Stream.where``, and the function."""

    @property
    def names(self) -> list[str]:
        return [call.removeprefix("Stream.") for call in self.calls] or [self.described.__name__]

    @property
    def path(self) -> str:
        """Below docs/operators."""
        own = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.described.__name__).lower()
        names = [name.removeprefix("wb.") for name in self.names]
        stem = own if own in names or not self.calls else names[0]
        return f"aggregates/{stem}.md" if issubclass(self.described, Aggregate) else f"{stem}.md"

    @property
    def title(self) -> str:
        return ", ".join(f"`{name}`" for name in self.names) if self.calls else self.names[0]


def files() -> dict[Path, str]:
    """What is to be in which file."""
    methods = {name: (build, getattr(Methods, name)) for name, build in FLUENT.items()}
    methods |= {name: (method, method) for name, method in vars(FunctionsOfTime).items() if inspect.isfunction(method)}
    operators = {each: Page(each, {f"Stream.{name}": method for name, (build, method) in methods.items()
                                   if _made_by(build) == each.__name__})
                 for each in _public(whimbrel.operators, Operator)}
    functions = {name: function for module in (aggregates, list_aggregates, single_values, time_weighted)
                 for name, function in vars(module).items()
                 if inspect.isfunction(function) and function.__module__ == module.__name__}
    measures = {each: Page(each, {f"wb.{name}": function for name, function in functions.items()
                                    if _made_by(function) == each.__name__})
                  for each in _public(whimbrel.aggregates, Aggregate)}
    pages = {**operators, **measures}
    combined = [f"- `wb.{name}`: {inspect.getdoc(getattr(module, name)).splitlines()[0]}\n"
                for module in (combined_aggregates, pair_statistics) for name in module.__all__]
    lines = [INDEX, *_listed(TOPICS, operators, "##"), AGGREGATES, *_listed(MEASURES, measures, "###"),
             "\n### Expressions of several\n\n", *combined]
    written = {PAGES / page.path: "".join(_page(page, pages)) for page in pages.values()}
    assert len(written) == len(pages), "two pages have one name"
    return written | {PAGES / "README.md": "".join(lines)}


def _public(package: Any, kind: type[Any]) -> list[Described]:
    things = (getattr(package, name) for name in package.__all__)
    return [thing for thing in things if inspect.isclass(thing) and issubclass(thing, kind)]


def _made_by(build: Callable[..., Any]) -> str:
    """Name of the class that a builder speaks of: the one it refers to, or else the one it makes."""
    named = re.search(r"See :class:`whimbrel\.\w+\.(\w+)`", build.__doc__ or "")
    made = str(inspect.signature(build).return_annotation)
    return named[1] if named else {"UserFunctions": "UserAggregate"}.get(made, made)


def _listed(topics: dict[str, tuple[str, ...]], pages: dict[Described, Page], level: str) -> Iterator[str]:
    by_name = {described.__name__: page for described, page in pages.items()}
    placed = {name for names in topics.values() for name in names}
    for topic, names in topics.items():
        listed = names if topic != "More" else tuple(sorted(by_name.keys() - placed))
        if listed:
            yield f"\n{level} {topic}\n\n"
        for page in (by_name[name] for name in listed):
            summary = inspect.cleandoc(page.described.__doc__ or "").split("\n\n")[0]
            yield f"- [{page.title}]({page.path}): {_markdown(summary, page, {})}\n"


def _page(page: Page, pages: dict[Described, Page]) -> Iterator[str]:
    said = _sections(inspect.getdoc(page.described) or "")
    owned = {call: _sections(inspect.getdoc(function) or "") for call, function in page.calls.items()}
    signatures = {call: f"```py\n{_signature(call, function)}\n```\n" for call, function in page.calls.items()}
    listed = {call: _documented(function, owned[call], said, page, pages)
              for call, function in page.calls.items()}
    single = list(page.calls) if len(page.calls) == 1 else []
    yield f"# {page.title}\n\n" + "".join(f"{signatures[call]}\n" for call in single)
    yield f"{_prose(said[''], page, pages)}\n"
    if not page.calls:
        yield "\nIt has no method of its own; plans have it where it is needed.\n"
    for call in single:
        yield f"\n## Parameters\n\n{listed[call]}" if listed[call] else ""
    for call in (call for call in page.calls if call not in single):
        summary = re.sub(r" ?See :class:`[^`]*`[.]", "", owned[call][""])
        yield f"\n## {call.removeprefix('Stream.')}\n\n{signatures[call]}\n{_prose(summary, page, pages)}\n"
        yield f"\n{listed[call]}" if listed[call] else ""
    if "Notes" in said:
        yield f"\n## Notes\n\n{_notes(said['Notes'], page, pages)}\n"
    yield "\n## Examples\n"
    for example in filter(None, [said.get("Examples"), *(own.get("Examples") for own in owned.values())]):
        yield f"\n{_prose(example, page, pages)}\n"
    up = "../" * page.path.count("/")
    file = Path(inspect.getsourcefile(page.described) or "").relative_to(ROOT)
    source = f"[`{page.described.__name__}`](../../{up}{file.as_posix()})"
    yield FOOT.format(source=source, up=up)


def _sections(documentation: str) -> dict[str, str]:
    """Parts of a numpydoc docstring by their title; the first part has none."""
    first, *rest = re.split(r"^(\w+)\n-{3,}\n", documentation, flags=re.MULTILINE)
    return {"": first.strip()} | {title: text.strip() for title, text in zip(rest[::2], rest[1::2], strict=True)}


def _documented(function: Callable[..., Any], own: dict[str, str], of_class: dict[str, str], page: Page,
                pages: dict[Described, Page]) -> str:
    """What is said of the parameters that a user passes, by the function or else by the class, and its errors."""
    taken = inspect.signature(function).parameters
    if re.match(r"Another name of", own[""]):
        return ""
    documented = (_parameters(own["Parameters"]) if "Parameters" in own
                  else _as_passed(of_class.get("Parameters", ""), taken))
    listed = "".join(_parameter(name, kind, text, page, pages) for name, kind, text in documented
                     if {each.strip(" *") for each in name.split(",")} & taken.keys())
    errors = re.sub(r"^(\w+)\n    ", r"Raises `\1`: ", own.get("Raises", ""), flags=re.MULTILINE)
    return listed + (f"\n{_prose(errors, page, pages)}\n" if errors else "")


def _as_passed(text: str, taken: Mapping[str, inspect.Parameter]) -> Iterator[tuple[str, str, str]]:
    """What a class says of its fields, for those who pass durations where it has ticks, and many where it has one."""
    for name, kind, meaning in _parameters(text):
        parameter = taken.get(name)
        if parameter and parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            yield str(parameter).partition(":")[0], "", meaning
        elif parameter and str(parameter.annotation).startswith("Duration"):
            yield name, kind.replace("int", "str, timedelta or int"), re.sub("^Ticks ", "Time ", meaning).replace(
                ", in ticks", "")
        else:
            yield name, kind, meaning


def _parameters(text: str) -> Iterator[tuple[str, str, str]]:
    for found in re.finditer(r"^(\S.*)\n?((?:\n?[ ]{4}.*\n?)*)", text, flags=re.MULTILINE):
        name, _, kind = found[1].partition(" : ")
        yield name, kind, textwrap.dedent(found[2]).strip()


def _parameter(name: str, kind: str, text: str, page: Page, pages: dict[Described, Page]) -> str:
    kind = f" ({kind})" if kind else ""
    meaning = f": {_markdown(' '.join(text.split()), page, pages)}" if text else ""
    return _item(f"- `{name}`{kind}{meaning}") + "\n"


def _item(text: str) -> str:
    """A line of a list, folded, but not within code."""
    whole = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), text)
    return textwrap.fill(whole, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False).replace(
        "\0", " ")


def _notes(text: str, page: Page, pages: dict[Described, Page]) -> str:
    """Prose, and what is said of shapes, state and source as a list."""
    parts = re.split(r"(?:(?<=[.;\n])|^)\s*(?=(?:Shapes|State|Work|Source|State and digits): |Raises )", text)
    prose = [part for part in parts if part and not re.match(r"(Shapes|State|Work|Source|State and digits): ", part)]
    listed = [re.sub(r"^([\w ]+):", r"- **\1**:", _markdown(" ".join(part.split()), page, pages))
              for part in parts if part and part not in prose]
    lines = [_item(item) for item in listed]
    return "\n\n".join([*(_prose(part, page, pages) for part in prose), *(["\n".join(lines)] if lines else [])])


def _prose(text: str, page: Page, pages: dict[Described, Page]) -> str:
    """Paragraphs; those that are indented are drawings, those that begin with a prompt are sessions."""
    out: list[str] = []
    for paragraph in re.split(r"\n\n+", text.strip("\n")):
        if paragraph.startswith(">>>"):
            out.append(f"```pycon\n{paragraph}\n```")
        elif paragraph.startswith("    "):
            out.append(f"```text\n{textwrap.dedent(paragraph)}\n```")
        else:
            out.append(_markdown(paragraph, page, pages))
    return "\n\n".join(out)


def _markdown(text: str, page: Page, pages: dict[Described, Page]) -> str:
    """Code and references as Markdown has them; an operator or aggregate becomes a link to its page."""
    names = {described.__name__: other for described, other in pages.items()
             if issubclass(described, Aggregate) == issubclass(page.described, Aggregate)}

    def reference(found: re.Match[str]) -> str:
        name = found[1].lstrip("~").rpartition(".")[2]
        other = names.get(name)
        return f"[`{name}`]({Path(other.path).name})" if other and other is not page else f"`{name}`"

    text = re.sub(r":\w+:`([^`]+)`", reference, text).replace("``", "`")
    return "".join(part if part.startswith("`") else part.replace("*", r"\*")
                   for part in re.split(r"(`[^`]*`)", text))


def _signature(call: str, function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    shown: list[str] = []
    keyword_only = False
    for parameter in (each for each in signature.parameters.values() if each.name != "self"):
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only and "*" not in "".join(shown):
            shown.append("*")
        keyword_only = keyword_only or parameter.kind is parameter.KEYWORD_ONLY
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}".replace("'", '"')
        annotation = _of_streams(parameter.annotation).replace("'", '"')
        shown.append(f"{stars}{parameter.name}: {annotation}{default}")
    line = f"{call}({', '.join(shown)}) -> {_of_streams(signature.return_annotation)}"
    return line if len(line) <= 100 else f"{call}(\n" + "".join(f"    {each},\n" for each in shown) + line[
        line.rindex(") -> "):]


def _of_streams(annotation: object) -> str:
    """An annotation as users read it: a method of a stream gives a stream."""
    return "Stream" if annotation == "Self" else str(annotation)


if __name__ == "__main__":
    wanted = files()
    for stale in set(PAGES.rglob("*.md")) - wanted.keys():
        stale.unlink()
    for file, content in wanted.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    print(f"wrote {len(wanted)} pages to {PAGES.relative_to(ROOT)}")
