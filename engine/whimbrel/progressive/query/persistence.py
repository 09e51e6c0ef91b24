"""A progressive answer written down, and gone on with later: what was read is not read again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from whimbrel.batch import Mask
from whimbrel.errors import CheckpointError
from whimbrel.kernels import restored, state_of
from whimbrel.plan import explain
from whimbrel.progressive.estimation.notebook_claims import read, written
from whimbrel.progressive.sampling.fingerprint import fingerprint
from whimbrel.progressive.validation import GUARANTEED, path_of
from whimbrel.run import read_state, write_state

if TYPE_CHECKING:
    from whimbrel.progressive.query.progressive_query import ProgressiveQuery

Place = str | os.PathLike[str]


def write(progress: ProgressiveQuery, path: Place) -> None:
    """Write down what was read, and in which order it goes on, as one Arrow file.

    Raises
    ------
    CheckpointError
        Where no file can be written there.
    """
    where = f"keep({path!r})"
    place = path_of(path, where=where)
    scan = progress.scan
    before = progress.merged.before or (np.empty((0, 0)), np.empty((0, 0)))
    state = state_of({
        "of": _identity(progress), "rows": _rows(progress, scan.read), "panes": progress.merged.panes,
        "windows": progress.merged.windows, "scan": scan.state_parts(),
        "phases": progress.phases, "claims": written(progress.added_claims),
        "looked": progress.merged.statistics is not None,
        "known": progress.merged.before is not None, "low": before[0], "high": before[1]})
    try:
        write_state(place, state)
    except OSError as error:
        raise CheckpointError(f"Nothing can be written there: {' '.join(str(error).split())[:120]}.", where=where,
                              hint="give the path of a file in a folder that is there") from None


def go_on(progress: ProgressiveQuery, path: Place) -> None:
    """Put a progress that has read nothing where another one was.

    Raises
    ------
    CheckpointError
        When there is none, it is of another query, or rows that were read have changed since.
    """
    where = f"progressive(resume={path!r})"
    place = path_of(path, where=where)
    try:
        state: Any = read_state(place)
    except (OSError, ValueError, KeyError) as error:
        raise CheckpointError(f"There is nothing to go on from: {' '.join(str(error).split())[:120]}.", where=where,
                              hint="give the file that keep(path) wrote") from None
    if state["of"] != _identity(progress):
        raise CheckpointError("It was kept by another query, or of other rows.", where=where,
                              hint="ask the same query of the same rows, with the same confidence and intervals=")
    if state.get("rows") != _rows(progress, state["scan"]["read"]):
        raise CheckpointError("Rows that were read then are not what they were.", where=where,
                              hint="ask anew, without resume=; a file that was copied counts as another one")
    merged = progress.merged
    restored(merged.panes, state["panes"])
    if merged.overlap:
        restored(merged.windows, state["windows"])
    progress.scan.restore_state(state["scan"])
    if state.get("looked"):
        progress.read_statistics()
    progress.phases, progress.added_claims = state["phases"], read(state["claims"])
    merged.before = (state["low"], state["high"]) if state["known"] else None


def _identity(progress: ProgressiveQuery) -> dict[str, Any]:
    """What must be the same: the query as it is printed, and the rows of each block."""
    plan = progress.plan if progress.late is None else progress.late.plan
    kind = {} if progress.merged.bounds is None else {"intervals": GUARANTEED}
    return {"plan": explain(plan), "confidence": progress.confidence, **kind,
            "blocks": progress.blocks.first.tolist(), "latest": progress.blocks.latest.tolist()}


def _rows(progress: ProgressiveQuery, read: Mask) -> str:
    """What must be the same of the blocks that were read; the others may be what they are now."""
    first, stop = progress.blocks.first[read].tolist(), progress.blocks.stop[read].tolist()
    return fingerprint(progress.states.source, progress.states.columns, zip(first, stop, strict=True))
