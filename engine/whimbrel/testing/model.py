"""The oracle with the methods of a stream.

``Model(facts)`` stands where a query has a stream, :data:`MODEL_API` where it has ``wb``, and
``whimbrel.testing.oracle.OracleColumns()`` where it has ``col``. Only what naming and argument forms add is written
here;
what the operators mean is written in the oracle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from whimbrel.testing import oracle
from whimbrel.testing.model_joins import JoinWords
from whimbrel.testing.model_lifetimes import LifetimeWords
from whimbrel.testing.oracle import Event, OracleColumns, Payload, Term
from whimbrel.testing.oracle.lifetimes import table_window, whole_window
from whimbrel.testing.oracle.results import BOUNDS, ROWS, SINCE_OPENED, Windows, epoch_aggregate, snapshots
from whimbrel.testing.oracle.results import results as oracle_results

_col = OracleColumns()


@dataclass(frozen=True)
class Model(LifetimeWords, JoinWords):
    """Facts with the methods of a stream; `keys` are set between ``group_by`` and what it groups."""

    facts: list[Event]
    keys: Mapping[str, Term] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    windows: Windows | None = None

    def where(self, *predicates: Term) -> Model:
        return replace(self, facts=oracle.where(self.facts, *predicates))

    def select(self, *names: str, **columns: Any) -> Model:
        chosen = {name: _col(name) for name in names} | _terms(columns)
        return replace(self, facts=oracle.select(self.facts, chosen), columns=tuple(chosen))

    def with_columns(self, **columns: Any) -> Model:
        names = tuple(dict.fromkeys((*self.names, *columns)))
        return replace(self, facts=oracle.with_columns(self.facts, _terms(columns)), columns=names)

    def tumbling_window(self, size: Any, **options: Any) -> Model:
        if isinstance(size, list):
            return replace(self, facts=table_window(self.facts, size), windows=None)
        if size is None:
            return replace(self, facts=whole_window(self.facts), windows=None)
        return self.hopping_window(size, size, **options)

    def hopping_window(self, size: int, hop: int, **options: Any) -> Model:
        return replace(self, facts=oracle.hopping_window(self.facts, size, hop, **options),
                       windows=Windows(size, hop, **options))

    def sliding_window(self, size: int, **options: Any) -> Model:
        return replace(self, facts=oracle.sliding_window(self.facts, size, **options))

    def group_by(self, *names: str, **columns: Any) -> Model:
        return replace(self, keys={name: _col(name) for name in names} | _terms(columns))

    def aggregate(self, *, emit: str = "change", fill: Any = False, fill_limit: int | None = None,
                  flush: str = "close", **results: Any) -> Model:
        columns = _terms(results)
        bounded = any(each.bounded for each in columns.values())
        windows = self.windows
        bounded |= windows is not None and windows.closed == "both" and windows.hop == windows.size
        answer = oracle_results(self.facts, columns, self.keys, self.windows, fill=fill, fill_limit=fill_limit,
                                by_window=bounded or emit == "close" or fill is not False)
        return Model(answer, columns=(*self.keys, *columns))

    def epoch_aggregate(self, size: int, closing_when: Any, *, offset: int = 0, **results: Any) -> Model:
        columns = _terms(results)
        [closing] = _terms({"closing": closing_when}).values()
        return Model(epoch_aggregate(self.facts, size, closing, columns, self.keys, offset=offset),
                     columns=(*self.keys, *columns))

    def ungroup(self) -> Model:
        return replace(self, keys={})

    def group_apply(self, query: Callable[[Model], Model]) -> Model:
        """Apply the query to each group, and add its keys to the result."""
        groups: dict[tuple[Any, ...], list[Event]] = {}
        for start, end, payload in self.facts:
            key = tuple(of(payload) for of in self.keys.values())
            groups.setdefault(key, []).append((start, end, payload | dict(zip(self.keys, key, strict=True))))
        columns = tuple(dict.fromkeys((*self.keys, *self.names)))
        made = [(start, end, dict(zip(self.keys, key, strict=True)) | payload) for key, facts in groups.items()
                for start, end, payload in query(Model(facts, columns=columns)).facts]
        return Model(made, columns=tuple(dict.fromkeys((*self.keys, *query(Model([], columns=columns)).names))))

    def top_k(self, k: int, by: Term, **options: Any) -> Model:
        rank = options.get("rank", "rank")
        return replace(self, facts=oracle.top_k(self.facts, k, by, self.keys, **options), columns=(*self.names, rank))

    def distinct(self, *names: str) -> Model:
        columns = {**self.keys, **{name: _col(name) for name in names or self.names}}
        made = [(start, end, {name: payload[name] for name in columns})
                for start, end, payload in snapshots(self.facts, columns)]
        return Model(made, columns=tuple(columns))

    def pivot(self, *names: str, attribute: str, value: str, values: Any, aggregate: Any = None) -> Model:
        columns = {**self.keys, **{name: _col(name) for name in names}}
        def cell(each: Any, seen: Payload) -> Any:
            here = [row for row in seen[ROWS] if row[attribute] == each]
            return (aggregate or _only)(_col(value))(seen | {ROWS: here}) if here else None

        made = [(start, end, {name: seen[name] for name in columns} | {str(each): cell(each, seen) for each in values})
                for start, end, seen in snapshots(self.facts, columns)]
        return Model(made, columns=(*columns, *map(str, values)))

    def unpivot(self, *names: str, attribute: str = "attribute", value: str = "value") -> Model:
        made = [(start, end, {name: row[name] for name in names} | {attribute: name, value: row[name]})
                for start, end, row in self.facts for name in sorted(row)
                if name not in names and row[name] is not None]
        return Model(made, columns=(*names, attribute, value))

    def detect(self, pattern: ModelPattern, within: int | None, *, output: Mapping[str, Any] | None = None,
               then: tuple[Term | None, int] | None = None, **options: Any) -> Model:
        facts = oracle.detect(self.facts, pattern.form, within, self.keys, output=_terms(output or {}), **options)
        if then is not None:
            facts = oracle.not_followed(facts, self.facts, then[1], self.keys, then[0])
        return Model(facts, columns=(*self.keys, "first_time", "events", *(output or ())))


class ModelAggregate(Term):
    """``wb.sum(col.x).where(...)``: a term over the rows of a snapshot."""

    def __init__(self, kind: Any, of: Term | None = None, condition: Term | None = None,
                 options: Mapping[str, Any] | None = None) -> None:
        self.kind, self.of, self.condition, self.options = kind, of, condition, options or {}
        super().__init__(lambda seen: oracle.Aggregated(kind, of, condition, self.options).value(seen[ROWS]))

    def where(self, condition: Term) -> ModelAggregate:
        both = condition if self.condition is None else self.condition & condition
        return ModelAggregate(self.kind, self.of, both, self.options)

    def min_rows(self, rows: int) -> Term:
        enough = ModelAggregate("count", self.of, self.condition)
        return Term(lambda seen: self(seen) if enough(seen) >= rows else None)


class ModelWindowBound(Term):
    """``wb.window_start()`` and ``wb.window_end()``."""

    def __init__(self, which: int) -> None:
        super().__init__(lambda seen: seen[BOUNDS][which])
        self.bounded = True


@dataclass(frozen=True)
class ModelPattern:
    """``wb.event(...).then(...)``."""

    form: oracle.Pattern

    def then(self, other: ModelPattern) -> ModelPattern:
        return ModelPattern(oracle.Then(self.form, other.form))

    def __or__(self, other: ModelPattern) -> ModelPattern:
        return ModelPattern(oracle.Either(self.form, other.form))

    def repeat(self, min: int = 1, max: int | None = None, *, reluctant: bool = False) -> ModelPattern:
        return ModelPattern(oracle.Repeat(self.form, min, max, reluctant))

    def prefixes(self) -> ModelPattern:
        return ModelPattern(oracle.Prefixes(self.form))

    def optional(self, *, reluctant: bool = False) -> ModelPattern:
        return ModelPattern(oracle.Optional(self.form, reluctant))


def _event(predicate: Term, /, **updates: Any) -> ModelPattern:
    return ModelPattern(oracle.EventStep(predicate, _terms(updates)))


def _simultaneous(*, any: Term | None = None, all: Term | None = None, none: Term | None = None, min: int = 1,
                  max: float = oracle.INF) -> ModelPattern:
    def holds(events: Sequence[Payload]) -> bool:
        def count(of: Term) -> int:
            return sum(of(event) is True for event in events)

        return (min <= len(events) <= max and (any is None or count(any) > 0)
                and (all is None or count(all) == len(events)) and (none is None or count(none) == 0))

    return ModelPattern(oracle.SimultaneousStep(holds))


def _sequence(**parts: Term | ModelPattern) -> ModelPattern:
    first, *rest = (ModelPattern(_named(part.form if isinstance(part, ModelPattern) else oracle.EventStep(part), name))
                    for name, part in parts.items())
    for each in rest:
        first = first.then(each)
    return first


def _named(pattern: oracle.Pattern, name: str) -> oracle.Pattern:
    """The pattern with a name for those of its events that have none."""
    match pattern:
        case oracle.EventStep():
            return pattern if pattern.name else replace(pattern, name=name)
        case oracle.SimultaneousStep():
            return pattern
        case oracle.Then(first, second):
            return oracle.Then(_named(first, name), _named(second, name))
        case oracle.Either(left, right):
            return oracle.Either(_named(left, name), _named(right, name))
        case oracle.Repeat() | oracle.Optional() | oracle.Prefixes():
            return replace(pattern, pattern=_named(pattern.pattern, name))


class _Memory:
    """``wb.register`` and ``wb.last_of(...)``: what a run remembers, by its name among the columns."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def __getattr__(self, name: str) -> Term:
        return Term(lambda seen: seen.get(f"{self._prefix}.{name}"))


def _terms(columns: Mapping[str, Any]) -> dict[str, Term]:
    return {name: value if isinstance(value, Term) else MODEL_API.lit(value) for name, value in columns.items()}


def _quantile(of: Term, q: float, interpolation: str = "linear", *, descending: bool = False) -> ModelAggregate:
    options = {"q": q, "interpolation": interpolation, "descending": descending}
    return ModelAggregate("quantile", of, options=options)


def _only(of: Term) -> ModelAggregate:
    return ModelAggregate("only", of)


def _when_it_started(of: Term) -> Term:
    """Pairs of start and value: the column `time` is the start that the event had before any window."""
    return Term(lambda payload: None if of(payload) is None else (payload["time"], of(payload)))


def _pair(left: Term, right: Term) -> Term:
    def both(payload: Any) -> Any:
        pair = (left(payload), right(payload))
        return None if None in pair else pair
    return Term(both)


def _row_by(value: Term, by: Term) -> Term:
    """Triples of what orders a row, its start and its value."""
    def row(payload: Any) -> Any:
        parts = (by(payload), payload["time"], value(payload))
        return None if None in parts else parts
    return Term(row)


def _edge(kind: str, by_kind: str) -> Any:
    """``wb.first`` and ``wb.last``: by start, or by another value."""
    def edge(of: Term, by: Term | None = None) -> ModelAggregate:
        return ModelAggregate(kind, _when_it_started(of)) if by is None else ModelAggregate(by_kind, _row_by(of, by))
    return edge


def _string_agg(of: Term, separator: str = ",", *, order: str = "time", descending: bool = False) -> ModelAggregate:
    return ModelAggregate("string_agg", _when_it_started(of) if order == "time" else of,
                          options={"separator": separator, "descending": descending})


def _counted_at(value: Term, at: Term) -> Term:
    """Triples of a start, a value and a time."""
    return Term(lambda payload: None if value(payload) is None else (payload["time"], value(payload), at(payload)))


MODEL_API = SimpleNamespace(
    WHOLE=None,
    calendar=lambda sessions: list(zip(sessions["open"], sessions["close"], strict=True)),
    lit=lambda value: Term(lambda _: value),
    absent=lambda event=None, *, within: (event, within),
    when=oracle.TermWhen,
    count=lambda of=None: ModelAggregate("count", of),
    sum=lambda of: ModelAggregate("sum", of),
    mean=lambda of: ModelAggregate("mean", of),
    min=lambda of: ModelAggregate("min", of),
    max=lambda of: ModelAggregate("max", of),
    product=lambda of: ModelAggregate("product", of),
    sum_of_squares=lambda of: ModelAggregate("sum_of_squares", of),
    var=lambda of, sample=True: ModelAggregate("var" if sample else "var_of_all", of),
    std=lambda of, sample=True: ModelAggregate("std" if sample else "std_of_all", of),
    any=lambda of: ModelAggregate("any", of),
    all=lambda of: ModelAggregate("all", of),
    first=_edge("first", "arg_min"),
    last=_edge("last", "last_by"),
    any_value=lambda of: ModelAggregate("first", _when_it_started(of)),
    arg_min=lambda of, by: ModelAggregate("arg_min", _row_by(of, by)),
    arg_max=lambda of, by: ModelAggregate("arg_max", _row_by(of, by)),
    mode=lambda of: ModelAggregate("mode", of),
    sum_distinct=lambda of: ModelAggregate("sum_distinct", of),
    quantiles=lambda of, qs: ModelAggregate("quantiles", of, options={"qs": qs}),
    mad=lambda of: ModelAggregate("mad", of),
    entropy=lambda of: ModelAggregate("entropy", of),
    string_agg=_string_agg,
    increase=lambda of: ModelAggregate("increase", _when_it_started(of)),
    histogram=lambda of, edges: ModelAggregate("histogram", of, options={"edges": edges}),
    rate=lambda of, at, per=1: ModelAggregate("rate", _counted_at(of, at), options={"per": per}),
    bit_and=lambda of: ModelAggregate("bit_and", of),
    bit_or=lambda of: ModelAggregate("bit_or", of),
    bit_xor=lambda of: ModelAggregate("bit_xor", of),
    median=lambda of: _quantile(of, 0.5),
    quantile=_quantile,
    count_distinct=lambda of: ModelAggregate("count_distinct", of),
    approx_count_distinct=lambda of, _=12: ModelAggregate("count_distinct", of),
    approx_quantile=lambda of, q, **_: _quantile(of, q),
    approx_top_k=lambda of, k, **_: ModelAggregate("most_frequent", of, options={"k": k}),
    collect=lambda of: ModelAggregate("collect", _when_it_started(of)),
    top_k=lambda of, k, ties=True: ModelAggregate("top_k", of, options={"k": k, "ties": ties}),
    n_null=lambda of: ModelAggregate("count", Term(lambda payload: 1 if of(payload) is None else None)),
    weighted_mean=lambda of, weight: ModelAggregate("weighted_mean", _pair(of, weight)),
    geometric_mean=lambda of: ModelAggregate("geometric_mean", of),
    corr=lambda of, other: ModelAggregate("corr", _pair(of, other)),
    cov=lambda of, other: ModelAggregate("cov", _pair(of, other)),
    slope=lambda of, by: ModelAggregate("slope", _pair(of, by)),
    skew=lambda of: ModelAggregate("skew", of),
    running=lambda of: Term(lambda seen: of(seen | {ROWS: seen[SINCE_OPENED]})),
    start_time=lambda: Term(lambda seen: seen["start_time()"]),
    end_time=lambda: Term(lambda seen: seen["end_time()"]),
    simultaneous=_simultaneous,
    window_start=lambda: ModelWindowBound(0),
    window_end=lambda: ModelWindowBound(1),
    event=_event,
    sequence=_sequence,
    register=_Memory("register"),
    first_of=lambda event: _Memory(f"first_of({event!r})"),
    last_of=lambda event: _Memory(f"last_of({event!r})"),
)
"""``wb`` of the model."""
