"""Checkpoints: folders of Arrow files that appear atomically."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import Any

from whimbrel.errors import CheckpointError
from whimbrel.expr import functions_in, identity
from whimbrel.kernels import state_of
from whimbrel.optimize import planned_before
from whimbrel.plan import Node, Operator, Source, Token, walk
from whimbrel.run.execution import Execution
from whimbrel.run.state_folder import check_sums, found_folder, has_sums, read_file, write_folder

FORMAT = 16
_INPUTS = r" of \d+(, \d+)*$"
_BAND = re.compile(r"band\((?:.+ < )?late <= ('[^']*'|\d+)(?: by .*)?\) of \d+")
"""The step of a latency band, as :class:`~whimbrel.operators.LatenessBand` shows it."""
_RUN = "run.arrow"


def save(session: Execution, path: str | os.PathLike[str], tokens: Sequence[Token] = ()) -> None:
    """Write a checkpoint; it replaces an existing one when it is complete.

    Raises
    ------
    CheckpointError
        When `path` holds something else, or cannot be written.
    """
    states = {_name(number): state_of(kernel) for number, kernel in enumerate(session.pipeline.kernels)}
    states[_RUN] = {"format": FORMAT, "version": version("whimbrel"),
                    "queries": describe_plans(session.plans), "runs": _kernels(session),
                    "last": _last_steps(session.plans), "left": sorted(session.left),
                    "sent_watermarks": session.pipeline.sent_watermarks,
                    "settled": [answer.settled_rows for answer in session.answers],
                    "offsets": {str(source): json.dumps(offset)
                                for source, offset in session.reader.offsets.items()},
                    "tokens": [json.dumps(token) for token in tokens]}
    write_folder(Path(path), states, _RUN, f"checkpoint({str(path)!r})")


def planned_as_in(path: str | os.PathLike[str]) -> AbstractContextManager[None]:
    """Plan queries as those of a checkpoint: its log may have been shorter, or a feed."""
    where = f"restore({str(path)!r}, ...)"
    try:
        run = read_file(found_folder(Path(path), _RUN, where) / _RUN, where)
    except CheckpointError:  # which loading it will raise
        return nullcontext()
    return planned_before(run.get("runs", ()))


def load(session: Execution, path: str | os.PathLike[str]) -> list[Token]:
    """Resume a new session from a checkpoint of the same query.

    Returns
    -------
    list of JSON value
        The commit tokens of the sinks.

    Raises
    ------
    CheckpointError
        When it belongs to another query, schema or version.
    DamagedCheckpointError
        When its files are missing or have changed.
    """
    where = f"restore({str(path)!r}, ...)"
    folder = found_folder(Path(path), _RUN, where)
    if has_sums(folder):
        check_sums(folder, where)
    run = read_file(folder / _RUN, where)
    check_version(run, where)
    if not has_sums(folder):  # which is no damage in other versions
        check_sums(folder, where)
    _check(run, session.plans, _kernels(session), where)
    for number, kernel in enumerate(session.pipeline.kernels):
        kernel.restore_state(read_file(folder / _name(number), where).parts)
    offsets = {int(source): json.loads(offset) for source, offset in run["offsets"].items()}
    session.resume(run["sent_watermarks"], run["settled"], run["left"], offsets)
    return [json.loads(token) for token in run["tokens"]]


def check_version(run: dict[str, Any], where: str) -> None:
    """Refuse what another version or format has written."""
    made_by = f"{run['format']}, {run['version']}"
    here = f"{FORMAT}, {version('whimbrel')}"
    if made_by != here:
        raise CheckpointError(f"The checkpoint was written by whimbrel {run['version']} (format {run['format']}); this "
                              f"is {version('whimbrel')} (format {FORMAT}).", where=where,
                              hint="Restore it with the version that wrote it, or run the query from the start.")


def _check(run: dict[str, Any], plans: Sequence[Node], runs: Sequence[str], where: str) -> None:
    if len(run["settled"]) != len(plans):
        raise CheckpointError(f"The checkpoint has {_count(len(run['settled']))}, got {len(plans)}.", where=where,
                              hint="Give all queries that were started together, in their order.")
    written, wanted = run["queries"], describe_plans(plans)
    if (was := _latencies(written)) != (given := _latencies(wanted)):
        raise CheckpointError(f"The checkpoint belongs to another query: it has {was}, not {given}.", where=where,
                              hint=f"Restore the bands of the same query with {was}."
                              if was.startswith("at") else "Restore the query without at_latencies(...).")
    for old, new in zip(written, wanted, strict=False):
        if old != new:
            was, given = (re.sub(_INPUTS, "", step) for step in (old, new))
            differs = f"it has {was}, not {given}" if was != given else f"its {was} reads another step"
            raise CheckpointError(f"The checkpoint belongs to another query: {differs}.", where=where,
                                  hint="Restore the same query, with the same columns in its sources.")
    if len(written) != len(wanted):
        raise CheckpointError(f"The checkpoint belongs to another query, with {len(written)} steps, not {len(wanted)}.",
                              where=where, hint="Restore the query that wrote the checkpoint.")
    for was, given in zip_longest(run["runs"], runs):
        if was != given:
            raise CheckpointError(f"The optimized plan has changed: {given} instead of {was}.", where=where,
                                  hint="Read the same kinds of sources with the same options, or do not restore.")
    if run["last"] != _last_steps(plans):
        raise CheckpointError("The checkpoint has the same queries in another order.", where=where,
                              hint="Give the queries in the order in which they were started.")


def _latencies(steps: Sequence[str]) -> str:
    """The latencies of described plans, in the user's words."""
    found = dict.fromkeys(match[1] for match in map(_BAND.fullmatch, steps) if match)
    shown = ", ".join("'0s'" if latency == "'0'" else latency for latency in found)
    return f"at_latencies({shown})" if found else "one latency"


def _count(queries: int) -> str:
    return "one query" if queries == 1 else f"{queries} queries"


def describe_plans(plans: Sequence[Node]) -> list[str]:
    """What queries are, step by step: what it does, and to which steps. How many rows a source has is no part of it."""
    nodes = list(walk(plans))
    number = {id(node): place for place, node in enumerate(nodes)}
    return [_source(node.op) if isinstance(node.op, Source)
            else f"{_step(node.op)} of {', '.join(str(number[id(below)]) for below in node.inputs)}" for node in nodes]


def _step(step: Operator) -> str:
    """What a step does, and its functions, whose names stay when they change."""
    found = list(functions_in(step))
    return f"{step.show()} by functions {identity(*found)}" if found else step.show()


def _kernels(session: Execution) -> list[str]:
    """What runs, step by step; how sources are read is no part of it."""
    return [node.op.name if isinstance(node.op, Source) else node.op.show() for node in session.pipeline.nodes]


def _last_steps(plans: Sequence[Node]) -> list[int]:
    """Where among the steps each query ends."""
    number = {id(node): place for place, node in enumerate(walk(plans))}
    return [number[id(plan)] for plan in plans]


def _source(source: Source) -> str:
    late = source.disorder
    edges = " in edges" if source.edges else ""
    partitions = "" if late.partition is None else f", by {late.partition}, lag={late.lag}, every={late.every}"
    after = f", after {source.after}" if source.after else ""
    return (f"{source.name}({source.schema.show()}){edges} over {source.schema.time_type}, "
            f"reorder_latency={late.reorder_latency}, late={late.late}{partitions}{after}")


def _name(number: int) -> str:
    return f"step-{number:02}.arrow"
