"""Laws of all operators: batches, order, tiers and snapshots change nothing.

Each law is a function of a :class:`~whimbrel.testing.trial.Trial`; its docstring is the law. :func:`check_operator`
asks them all.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import fields, replace
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from whimbrel.batch import Batch, table_schema
from whimbrel.errors import WhimbrelError
from whimbrel.kernels import Tier, tier
from whimbrel.operators import Fill
from whimbrel.plan import Aggregate, Node, Operator, OrderingSpec, partition_columns
from whimbrel.run import Execution, collect_together
from whimbrel.run.checkpoint import load, save
from whimbrel.testing import oracle
from whimbrel.testing.oracle import Event, Ingested, coalesced
from whimbrel.testing.property_checks import broken_promises
from whimbrel.testing.query import INPUT_NAMES
from whimbrel.testing.rows import EXAMPLE_SCHEMA, BatchedRows, InBlocks, facts_from_table
from whimbrel.testing.trial import Build, Reference, Trial, outcome

Law = Callable[[Trial], None]


def matches_the_reference(trial: Trial) -> None:
    """The answer to a whole history is the reference's answer."""
    trial.same(trial.run(), "read whole")


def batches_change_nothing(trial: Trial) -> None:
    """Any re-batching gives the same facts: a row each, empty batches in between, dictionary-encoded strings."""
    chance = trial.random()

    def anywhere(facts: list[Event]) -> list[list[Event]]:
        cuts = sorted(chance.choices(range(len(facts) + 1), k=4))
        return [facts[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(facts)], strict=True)]

    trial.same(trial.run(lambda facts: [[event] for event in facts]), "one row a batch")
    trial.same(trial.run(anywhere), "cut anywhere")
    trial.same(trial.run(anywhere, dictionaries=True), "cut anywhere, some batches dictionary-encoded")
    trial.same(trial.run(anywhere, idle=True), "as a feed that pauses")


def disorder_changes_nothing(trial: Trial) -> None:
    """Any disorder within the promised bound gives the same facts; with a bound of zero, any order of ties does.

    So does an order that is kept by partition only, in a source that says so.
    """
    chance = trial.random()
    for latency in (0, 3, 30):
        arrived = replace(trial, inputs=tuple(_arrivals(facts, latency, chance) for facts in trial.inputs))
        for rows in (1, 3):
            trial.same(arrived.run(partial(_every, rows=rows), disorder=OrderingSpec(latency, "raise")),
                       f"up to {latency} ticks late, {rows} rows a batch, inputs {arrived.inputs}")
    parted = replace(trial, inputs=tuple(_by_partition(facts, 9, chance) for facts in trial.inputs))
    trial.same(parted.run(partial(_every, rows=2), disorder=OrderingSpec(0, "raise", partition="key", lag=9, every=2)),
               f"in order by key only, inputs {parted.inputs}")


def bounds_of_blocks_change_nothing(trial: Trial) -> None:
    """A log without a promised order, of whose blocks it is known how early they begin, has the same facts."""
    chance = trial.random()
    for late_by in (0, 5, 30):
        arrived = replace(trial, inputs=tuple(_arrivals(facts, late_by, chance) for facts in trial.inputs))
        sources = [InBlocks(_every(facts, 3), name=name)
                   for name, facts in zip(INPUT_NAMES, arrived.inputs, strict=False)]
        trial.same(arrived.answer(sources), f"blocks of 3 rows, up to {late_by} ticks late, inputs {arrived.inputs}")


def latencies_are_answered_together(trial: Trial) -> None:
    """Of several latencies each has the answer of exactly the rows that came no later, as if it were asked alone."""
    chance = trial.random()
    arrived = replace(trial, inputs=tuple(_arrivals(facts, 20, chance) for facts in trial.inputs))
    latencies = (0, 4, 11)
    bands = arrived.stream(arrived.sources(partial(_every, rows=3))).at_latencies(*latencies)
    try:
        answers = [partial(facts_from_table, table) for table in collect_together([band.node for band in bands])]
    except WhimbrelError:  # of one that may not be the others'
        answers = [partial(lambda band: facts_from_table(band.collect()), band) for band in bands]
    for latency, answer in zip(latencies, answers, strict=True):
        late = replace(arrived, reference=_after_ingress(trial, partial(oracle.ingress, reorder_latency=latency,
                                                                        late="drop")))
        late.same(outcome(answer), f"reorder latency {latency} of {latencies}, inputs {arrived.inputs}")
    parted = OrderingSpec(0, "drop", partition="key", lag=5, every=2)
    for latency, band in zip(latencies, arrived.stream(arrived.sources(partial(_every, rows=3), disorder=parted))
                             .at_latencies(*latencies), strict=True):
        late = replace(arrived, reference=_after_ingress(trial, partial(
            oracle.partitioned_ingress, reorder_latency=latency, late="drop", by="key", lag=5, every=2,
            added=latency)))
        late.same(outcome(partial(lambda band: facts_from_table(band.collect()), band)),
                  f"reorder latency {latency} of {latencies} by key, inputs {arrived.inputs}")


def late_rows_follow_the_policy(trial: Trial) -> None:
    """Late rows raise, are dropped or adjusted, one after the other, as the late policy says."""
    chance = trial.random()
    for latency in (0, 4):
        arrived = tuple(_arrivals(facts, 20, chance) for facts in trial.inputs)
        for policy in ("raise", "drop", "adjust"):
            late = replace(trial, inputs=arrived, reference=_after_ingress(trial, partial(
                oracle.ingress, reorder_latency=latency, late=policy)))
            late.same(late.run(partial(_every, rows=3), disorder=OrderingSpec(latency, policy)),
                      f"reorder latency {latency}, late rows: {policy}, inputs {arrived}")


def partitions_change_nothing(trial: Trial) -> None:
    """Where a query can be partitioned, the answers of the parts are together the answer, whatever the column."""
    if isinstance(trial.expected(), type):
        return
    sources = trial.sources()
    for columns in partition_columns(trial.stream(sources).node):
        by = [columns.get(source) for source in sources]
        parts = sorted({repr(payload[name]) for facts, name in zip(trial.inputs, by, strict=True) if name is not None
                        for _, _, payload in facts})
        together: list[Event] = []
        for part in parts:
            inputs = tuple([event for event in facts if name is None or repr(event[2][name]) == part]
                           for facts, name in zip(trial.inputs, by, strict=True))
            answer = replace(trial, inputs=inputs, reference=None).run()
            assert not isinstance(answer, type), f"partitioned by {by}: {answer.__name__} where {by} is {part}"
            together += answer
        trial.same(together, f"partitioned by {by}")


def empty_input_is_safe(trial: Trial) -> None:
    """No rows, empty batches only, or punctuations only: the answer is that of the empty stream."""
    empty = replace(trial, inputs=tuple([] for _ in trial.inputs))
    for disorder in (OrderingSpec(None), OrderingSpec(0, "raise")):
        empty.same(empty.run(lambda _: [], disorder=disorder), "no batch at all")
        empty.same(empty.run(lambda _: [[], []], disorder=disorder), "empty batches only")
        empty.same(empty.run(lambda _: [], disorder=disorder, idle=True), "a feed that never says anything")


def nulls_propagate(trial: Trial) -> None:
    """A column of nulls only gives what the reference gives."""
    for name in (name for name in EXAMPLE_SCHEMA.names if name != "time"):
        nulled = replace(trial, inputs=tuple([(start, end, payload | {name: None}) for start, end, payload in facts]
                                             for facts in trial.inputs))
        nulled.same(nulled.run(), f"column {name!r} null")


def tiers_agree(trial: Trial) -> None:
    """Interpreted text, compiled primitives and fused kernels give the same facts."""
    tiers: tuple[Tier, ...] = ("interpreted", "primitives", "fused")
    for name in tiers:
        with tier(name):
            trial.same(trial.run(partial(_every, rows=4)), name)


def take_over_changes_nothing(trial: Trial) -> None:
    """Compiled kernels that take over from interpreted ones at any batch change nothing."""
    for at in (1, 2):
        sources = [_TakenOver(_every(coalesced(facts), 3), at, name)
                   for name, facts in zip(INPUT_NAMES, trial.inputs, strict=False)]
        trial.same(trial.answer(sources), f"taken over at batch {at}")


def schema_is_as_declared(trial: Trial) -> None:
    """Columns of the answer have the declared names and types, also when there are no rows.

    Rows that the reference refuses have no answer, and so no columns of it.
    """
    empty = replace(trial, inputs=tuple([] for _ in trial.inputs))
    for asked, sources in ((trial, trial.sources()), (empty, trial.sources(lambda _: []))):
        if isinstance(asked.expected(), type):
            continue
        query = trial.stream(sources)
        actual = query.collect().schema
        assert actual.equals(table_schema(query.schema)), f"declared {query.schema.show()}, collected\n{actual}"


def text_is_stable(trial: Trial) -> None:
    """The same query prints the same plan every time, without addresses of memory."""
    texts = {trial.stream(trial.sources()).explain() for _ in range(2)}
    assert len(texts) == 1, texts
    assert not re.search(r"0x[0-9a-f]{6,}| object at ", *texts), texts


def snapshots_change_nothing(trial: Trial) -> None:
    """Looking in between changes nothing; what is settled stays; a snapshot is the answer to the rows read so far."""
    if isinstance(trial.expected(), type):
        return
    arrived = replace(trial, inputs=tuple(_arrivals(facts, 5, trial.random()) for facts in trial.inputs))
    for disorder in (OrderingSpec(None), OrderingSpec(5, "raise")):
        query = arrived.stream(arrived.sources(partial(_every, rows=2), disorder=disorder))
        snapshots = list(query.progressive(every="1%"))
        columns = ["start", "end", *query.schema.names]  # and not the ends between which values lie
        final = facts_from_table(snapshots[-1].table.select(columns))
        assert snapshots[-1].final
        trial.same(final, f"looked at {len(snapshots)} times, {disorder}")
        for snapshot in snapshots:
            rows = snapshot.metrics.rows
            table = snapshot.table.select(columns)
            settled = facts_from_table(table.slice(0, snapshot.settled))
            missing, _ = oracle.differences(settled, final)
            assert not missing, f"settled after {rows} rows, but not in the end: {missing[:3]}"
            if trial.reference is not None and len(query.node.sources()) == 1:
                so_far = replace(trial, inputs=(arrived.inputs[0][:rows], *trial.inputs[1:]))
                so_far.same(facts_from_table(table), f"snapshot after {rows} rows, {disorder}")


def restored_runs_resume(trial: Trial) -> None:
    """A run that is restored from a checkpoint gives exactly the rest of the result."""
    if isinstance(trial.expected(), type):
        return
    chance = trial.random()
    arrived = replace(trial, inputs=tuple(_arrivals(facts, 5, chance) for facts in trial.inputs))
    steps = 2 + sum(len(facts) for facts in arrived.inputs)
    for disorder in (OrderingSpec(None), OrderingSpec(5, "raise")):
        for at in (0, chance.randrange(steps), chance.randrange(steps)):
            def plan() -> Any:
                return arrived.stream(arrived.sources(partial(_every, rows=1), disorder=disorder)).node  # noqa: B023

            before, after = _written_down(plan(), plan(), at)
            trial.same(facts_from_table(before) + facts_from_table(after), f"restored after {at} steps, {disorder}")


def _written_down(plan: Node, again: Node, steps: int) -> tuple[pa.Table, pa.Table]:
    """Rows that a run settles before a checkpoint, and rows of a run that resumes from it."""
    with TemporaryDirectory() as folder:
        with closing(Execution(plan)) as session:
            for _ in range(steps):
                session.step()
            save(session, f"{folder}/run")
            before = session.answers[0].settled()
        with closing(Execution(again)) as session:
            load(session, f"{folder}/run")
            while not session.finished:
                session.step()
            return before, session.answers[0].settled()


def rewound_runs_resume(trial: Trial) -> None:
    """A run that goes back to where it was, twice, has the same answer in the end."""
    if isinstance(trial.expected(), type):
        return
    chance = trial.random()
    arrived = replace(trial, inputs=tuple(_arrivals(facts, 5, chance) for facts in trial.inputs))
    steps = 2 + sum(len(facts) for facts in arrived.inputs)
    for disorder in (OrderingSpec(None), OrderingSpec(5, "raise")):
        plan = arrived.stream(arrived.sources(partial(_every, rows=1), disorder=disorder)).node
        for at in (0, chance.randrange(steps)):
            with closing(Execution(plan)) as session:
                _advance(session, at)
                mark = session.mark()
                for further in (chance.randrange(steps), steps):
                    _advance(session, further)
                    session.go_back(mark)
                while not session.finished:
                    session.step()
                trial.same(facts_from_table(session.answers[0].settled()), f"back to {at} steps, {disorder}")


def _advance(session: Execution, steps: int) -> None:
    for _ in range(steps):
        if not session.finished:
            session.step()


def properties_hold(trial: Trial) -> None:
    """What a plan says of its streams is true of every batch of them."""
    if isinstance(trial.expected(), type):
        return
    arrived = replace(trial, inputs=tuple(_arrivals(facts, 5, trial.random()) for facts in trial.inputs))
    for inputs, disorder in ((trial, OrderingSpec(None)), (arrived, OrderingSpec(5, "raise"))):
        query = inputs.stream(inputs.sources(partial(_every, rows=3), disorder=disorder))
        broken = broken_promises(query.node)
        assert not broken, broken


def lineage_reproduces_a_row(trial: Trial) -> None:
    """The lineage of a result row suffices: the query over these events gives the row again."""
    chance = trial.random()
    query = trial.stream(trial.sources())
    answer = outcome(lambda: facts_from_table(query.collect()))
    # A row that is made for an empty window is made of no event.
    if isinstance(answer, type) or any(isinstance(node.op, Fill) for node in query.node.walk()):
        return
    for start, end, payload in chance.sample(answer, min(3, len(answer))):
        with tier("interpreted"):
            found = query.lineage(payload, start=start, end=None if end == oracle.INF else end)
            again = facts_from_table(found.rerun())
        cuts = sorted({start, *(time for event in again for time in event[:2] if start < time < end)})
        for time in cuts:
            then = [(start, end, said) for since, until, said in again if since <= time < until]
            missing, _ = oracle.differences([(start, end, payload)], then)
            assert not missing, f"{payload} in [{start}, {end}) is not said at {time} of\n{found.events}"


def docstrings_are_complete(trial: Trial) -> None:
    """Every operator of the plan documents its parameters, shows an example and draws a timeline."""
    query = trial.stream(trial.sources())
    for operator in {type(node.op) for node in query.node.walk() if isinstance(node.op, Operator)}:
        assert not docstring_lacks(operator), f"{operator.__name__}'s docstring lacks {docstring_lacks(operator)}"


def docstring_lacks(described: type[Operator | Aggregate]) -> list[str]:
    """Which parts are missing; an aggregate has parameters to tell only where it has options of its own."""
    text = inspect.getdoc(described) or ""
    inherited = {field.name for field in fields(Aggregate)}
    bare = issubclass(described, Aggregate) and {field.name for field in fields(described)} <= inherited
    return [part for part, form in _DOCSTRING_PARTS.items()
            if not (bare and part == "Parameters") and not re.search(form, text, re.MULTILINE)]


_DOCSTRING_PARTS = {
    "a title": r"\A\S.*\.\n", "Parameters": r"^Parameters\n-+$", "Examples": r"^Examples\n-+$",
    "a timeline drawing": r"^ *time +-?\d+( +-?\d+)+",
}

LAWS: tuple[Law, ...] = (
    matches_the_reference, batches_change_nothing, disorder_changes_nothing, late_rows_follow_the_policy,
    bounds_of_blocks_change_nothing, latencies_are_answered_together, partitions_change_nothing,
    empty_input_is_safe, nulls_propagate, tiers_agree, take_over_changes_nothing, schema_is_as_declared, text_is_stable,
    snapshots_change_nothing, restored_runs_resume, rewound_runs_resume, properties_hold,
    lineage_reproduces_a_row, docstrings_are_complete,
)


def check_operator(build: Build, *inputs: Sequence[Event], reference: Reference | None = None,
                   laws: Sequence[Law] = LAWS, seed: int = 0) -> None:
    """Assert the shared laws for a query.

    Parameters
    ----------
    build : callable
        One stream for each input -> the query, such as ``Query((".where(col.x > 3)",)).build``.
    inputs : sequences of facts
        ``(start, end, payload)`` over the columns of :data:`~whimbrel.testing.EXAMPLE_SCHEMA`.
    reference : callable, optional
        The inputs -> the facts of the answer, from the oracle or from ten lines of the test's own. Without it the
        engine is compared with itself only.
    laws : sequence of callables
        Which laws; all by default.
    seed : int
        Chooses batchings and orders of arrival.

    Raises
    ------
    AssertionError
        With the law, what differed, and the smallest input found that still breaks it, as Python to paste.

    Examples
    --------
    >>> from whimbrel.testing import Query, check_operator
    >>> from whimbrel.testing.laws import matches_the_reference
    >>> query = Query((".where(col.x > 3)", ".select('x')"))
    >>> row = {"time": 0, "key": "a", "k2": 1, "x": 4, "y": None, "flag": True}
    >>> check_operator(query.build, [(0, 1, row)], reference=query.reference, laws=[matches_the_reference])
    """
    trial = Trial(build, tuple(list(facts) for facts in inputs), reference, seed)
    for law in laws:
        if _broken(law, trial):
            ask(law, _minimal(law, trial))


def ask(law: Law, trial: Trial) -> None:
    """One law; when it is broken, say so with the inputs and the query as Python to paste."""
    why = _broken(law, trial)
    if why:
        raise AssertionError(f"{law.__name__}: {law.__doc__}\n{why}\n\n{trial.paste()}") from why


def _broken(law: Law, trial: Trial) -> Exception | None:
    try:
        law(trial)
    except Exception as error:  # noqa: BLE001 - a crash breaks a law as much as a wrong answer
        return error
    return None


def _minimal(law: Law, trial: Trial) -> Trial:
    """Leave out facts, one at a time, as long as the law stays broken."""
    for smaller in _without_one_fact(trial):
        if _broken(law, smaller):
            return _minimal(law, smaller)
    return trial


def _without_one_fact(trial: Trial) -> Iterator[Trial]:
    for which, facts in enumerate(trial.inputs):
        for at in range(len(facts)):
            fewer = [*facts[:at], *facts[at + 1:]]
            yield replace(trial, inputs=(*trial.inputs[:which], fewer, *trial.inputs[which + 1:]))


def _arrivals(facts: list[Event], latency: int, chance: Any) -> list[Event]:
    # A row that arrives earlier started at most `latency` later, because arrivals are ordered by start + delay.
    return sorted(facts, key=lambda event: (event[0] + chance.randint(0, latency), chance.random()))


def _by_partition(facts: list[Event], lag: int, chance: Any) -> list[Event]:
    keys = dict.fromkeys(payload["key"] for _, _, payload in facts)
    behind = {key: chance.randint(0, lag) for key in keys}
    return sorted(facts, key=lambda event: (event[0] + behind[event[2]["key"]], chance.random()))


def _every(facts: list[Event], rows: int) -> list[list[Event]]:
    return [facts[start:start + rows] for start in range(0, len(facts), rows)]


def _after_ingress(trial: Trial, ingress: Callable[[list[Event]], Ingested]) -> Reference:
    def reference(*inputs: list[Event]) -> list[Event]:
        let_in = [ingress(facts).facts for facts in inputs]
        if trial.reference is not None:
            return trial.reference(*let_in)
        answer = replace(trial, inputs=tuple(map(coalesced, let_in))).run()
        assert not isinstance(answer, type)
        return answer

    return reference


class _TakenOver(BatchedRows):
    """Sorted rows: batches before `at` are worked on interpreted, those after it by compiled kernels."""

    def __init__(self, batches: Sequence[Sequence[Event]], at: int, name: str) -> None:
        super().__init__(batches, name=name, disorder=OrderingSpec(0, "raise"))
        self.at = at

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        for position, batch in enumerate(super().read(columns, offset)):
            with tier("interpreted" if position < self.at else "fused"):
                yield batch
