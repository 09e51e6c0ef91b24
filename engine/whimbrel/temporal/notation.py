"""The TiLT paper's notation of steps over time.

Each temporal step defines an object, such as ``~mean20m[t] = ⊕(mean, ~log.px[t-20m : t])``. Scalar steps are written
into the definitions that use them. What occurs twice is defined once, also if it occurs at several times. The text
comes from steps and parts, and decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from whimbrel.clock import TickUnit, show_ticks
from whimbrel.expr import Col, Expr, OuterValue, columns_of, substitute
from whimbrel.expr.columns import children, with_children
from whimbrel.plan import Aggregate
from whimbrel.temporal.bounds import HERE, Bounds, window_bounds
from whimbrel.temporal.parts import CellWindow, EventValue, ReadColumn, RowWindow, TimeWindow, WindowFold

Window = TimeWindow | RowWindow | CellWindow


@dataclass(frozen=True)
class Leaf:
    """An object at a time.

    Parameters
    ----------
    base : str
        Its name, with the column.
    form : str
        The text, with ``{t}`` for the time.
    lag : int
        It is read so many ticks before t.
    reads : Bounds
        How far the form itself reads from that time.
    """

    base: str
    form: str
    lag: int = 0
    reads: Bounds = HERE

    @staticmethod
    def of(base: str) -> Leaf:
        """The object at t."""
        return Leaf(base, f"~{base}[{{t}}]")


@dataclass(frozen=True)
class TimedEvents:
    """What a step gives at t.

    Parameters
    ----------
    columns : mapping of str to Expr
        Over leaves.
    conditions : tuple of Expr
        Where there is an event.
    whole : Leaf
        An object that has a value where the step has an event, if the conditions hold.
    """

    columns: Mapping[str, Expr]
    conditions: tuple[Expr, ...]
    whole: Leaf

    def read(self, expr: Expr) -> Expr:
        """An expression of the columns over leaves."""
        return substitute(expr, self.columns)

    def where(self, condition: Expr | None) -> TimedEvents:
        """Those for which a condition is true."""
        return self if condition is None else replace(self, conditions=(*self.conditions, self.read(condition)))


@dataclass
class Notation:
    """Definitions, in the order in which they are needed.

    Parameters
    ----------
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is.
    """

    unit: TickUnit
    definitions: dict[str, str] = field(default_factory=dict)
    reads: dict[str, Bounds] = field(default_factory=dict)
    leaves: dict[str, Leaf] = field(default_factory=dict)

    # Objects in expressions.

    def leaf(self, leaf: Leaf) -> Col:
        """An object at a time, in an expression."""
        text = leaf.form.format(t=self._time(leaf.lag))
        self.leaves[text] = leaf
        return _plain(text)

    def moved(self, expr: Expr, lag: int) -> Expr:
        """An expression so many ticks before."""
        if not lag:
            return expr
        moved = {text: self.leaf(replace(self.leaves[text], lag=self.leaves[text].lag + lag))
                 for text in self._read(expr)}
        return substitute(expr, moved)

    def there(self, events: TimedEvents) -> Expr:
        """Where a step has an event."""
        return self.leaf(replace(events.whole, form=f"~{events.whole.base}[{{t}}] ≠ φ"))

    def held(self, value: Expr, events: TimedEvents) -> Expr:
        """A value that is there only where a step has an event: a constant says nothing of that."""
        if self._read(value):
            return value
        return self.leaf(self.conditional("v", value, (*events.conditions, self.there(events))))

    def reads_of(self, exprs: Iterable[Expr]) -> Bounds:
        """How far expressions read."""
        found = HERE
        for leaf in (self.leaves[text] for expr in exprs for text in self._read(expr)):
            at = Bounds(leaf.lag, -leaf.lag).then(leaf.reads)
            found = found.combined(at.then(self.reads.get(leaf.base, HERE)))
        return found

    def _read(self, expr: Expr) -> list[str]:
        return sorted(columns_of(expr) & self.leaves.keys())

    def _time(self, lag: int) -> str:
        return f"t-{show_ticks(lag, self.unit)}" if lag > 0 else f"t+{show_ticks(-lag, self.unit)}" if lag else "t"

    # Definitions.

    def define(self, hint: str, body: str, reads: Bounds) -> Leaf:
        """An object with this body; the same one for the same body."""
        name = next((known for known, text in self.definitions.items() if text == body), None)
        if name is None:
            hint = hint if hint.isidentifier() else "v"
            hint += "_" if hint[-1].isdigit() else ""
            names = (hint.rstrip("_"), *(f"{hint}{number}" for number in range(2, 2 + len(self.definitions))))
            name = next(each for each in names if each not in self.definitions)
            self.definitions[name], self.reads[name] = body, reads
        return Leaf.of(name)

    def conditional(self, hint: str, value: Expr, conditions: Sequence[Expr]) -> Leaf:
        """An object that has a value where conditions hold: one that is there already, or a new one."""
        if not conditions and isinstance(value, Col) and value.name in self.leaves:
            leaf = self.leaves[value.name]
            if leaf == Leaf.of(leaf.base):
                return leaf
        exprs = self.shared([*conditions, value])
        there = " and ".join(dict.fromkeys(map(inside, exprs[:-1])))
        body = f"{there} ? {exprs[-1].show()} : φ" if there else exprs[-1].show()
        return self.define(hint, body, self.reads_of(exprs))

    def shared(self, exprs: Sequence[Expr]) -> list[Expr]:
        """The expressions with an object for whatever occurs twice in them, at whatever times."""
        uses: Counter[str] = Counter()
        seen: set[str] = set()
        todo = list(exprs)
        while todo:
            at_t, _ = self._at_t(todo.pop())
            uses[at_t.show()] += 1
            if at_t.show() not in seen:
                seen.add(at_t.show())
                todo += children(at_t)

        def written(expr: Expr) -> Expr:
            at_t, lag = self._at_t(expr)
            inner = with_children(at_t, tuple(map(written, children(at_t))))
            if uses[at_t.show()] > 1 and len(self._read(at_t)) > 1:
                made = self.define("v", inner.show(), self.reads_of([inner]))
                return self.leaf(replace(made, lag=lag))
            return self.moved(inner, lag)

        return [written(expr) for expr in exprs]

    def _at_t(self, expr: Expr) -> tuple[Expr, int]:
        """An expression whose latest time is t, and how many ticks before it is read."""
        lags = [self.leaves[text].lag for text in self._read(expr)]
        lag = min(lags, default=0)
        return self.moved(expr, -lag), lag

    # Windows and parts.

    def folded(self, aggregate: Aggregate, events: TimedEvents, window: Window | str, reads: Bounds = HERE
               ) -> tuple[str, Bounds]:
        """``⊕(f, window)``, and how far it reads.

        A window that is given as text reads as far as `reads`.
        """
        text, reads = (window, reads) if isinstance(window, str) else self.window(window)
        of = events.where(aggregate.condition)
        plain = replace(aggregate, condition=None).show()
        if aggregate.expr is None:
            function, hint = plain.removesuffix("()"), "v"
            base = self.conditional(hint, self.leaf(events.whole), of.conditions).base
        else:
            function = of_nothing(plain, aggregate.expr)
            hint = aggregate.expr.name if isinstance(aggregate.expr, Col) else "v"
            base = self.conditional(hint, events.read(aggregate.expr), of.conditions).base
        return f"⊕({function}, ~{base}[{text}])", reads.then(self.reads.get(base, HERE))

    def window_value(self, aggregate: Aggregate, events: TimedEvents, window: Window) -> Leaf:
        """An object that is an aggregate of a window."""
        body, reads = self.folded(aggregate, events, window)
        return self.define(self._hint([aggregate], window), body, reads)

    def part(self, part: ReadColumn, events: TimedEvents) -> Expr:
        """A value of other events."""
        match part.of:
            case WindowFold(window=RowWindow(rows, before)) if before:
                whole = self._fold(replace(part.of, window=RowWindow(rows)), events)
                return self._previous(whole.base, before, part.lag)
            case WindowFold():
                return self.leaf(replace(self._fold(part.of, events), lag=part.lag))
        return self._of_event(part.of, part.lag, events)

    def _of_event(self, of: EventValue, lag: int, events: TimedEvents) -> Expr:
        value = self.held(events.read(of.expr), events)
        if not of.before:
            return self.moved(value, lag)
        return self._previous(self.conditional("v", value, ()).base, of.before, lag)

    def _previous(self, base: str, events: int, lag: int) -> Col:
        """An object so many events before."""
        count = "" if events == 1 else f", {events}"
        return self.leaf(Leaf(base, f"~{base}[previous({{t}}{count})]", lag, Bounds(rows=events)))

    def _fold(self, fold: WindowFold, events: TimedEvents) -> Leaf:
        folds = {name: self.folded(each, events, fold.window) for name, each in fold.aggregates.items()}
        body = substitute(fold.results, {name: _plain(text) for name, (text, _) in folds.items()}).show()
        reads = HERE
        for _, each in folds.values():
            reads = reads.combined(each)
        least = f", min_rows={fold.min_rows}" if fold.min_rows > 1 else ""
        return self.define(self._hint([*fold.aggregates.values()], fold.window), body + least, reads)

    def _hint(self, aggregates: Sequence[Aggregate], window: Window) -> str:
        """A name such as ``mean20m``."""
        match window:
            case TimeWindow(back=ticks) | CellWindow(size=ticks):
                size = show_ticks(ticks, self.unit)
            case RowWindow(rows):
                size = str(rows)
        function = aggregates[0].show().split("(")[0] if len(aggregates) == 1 else "value"
        return f"{function}{size}".replace(".", "_")

    def window(self, window: Window) -> tuple[str, Bounds]:
        """A window as text, and how far it reads."""
        match window:
            case TimeWindow(back, lookahead):
                return f"{self._time(back)} : {self._time(-lookahead)}", window_bounds(window)
            case RowWindow(rows):
                return f"last({rows}, t)", window_bounds(window)
            case CellWindow(size, offset):
                shift = f", offset={show_ticks(offset, self.unit)}" if offset else ""
                return f"cell(t, {show_ticks(size, self.unit)}{shift})", window_bounds(window)


def inside(condition: Expr) -> str:
    """A condition among others."""
    text = condition.show()
    return f"({text})" if " | " in text or " & " in text else text


def of_nothing(text: str, expr: Expr) -> str:
    """A call without its first argument: only its name, if there are no others."""
    inner = expr.show()
    return text.replace(f"({inner})", "", 1).replace(f"({inner}, ", "(", 1)


def _plain(text: str) -> Col:
    """A text as an operand."""
    return Col(text, OuterValue("rows", text))
