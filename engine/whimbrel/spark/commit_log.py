"""Commit log of a Spark query's micro-batches, to resume without duplicates."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from whimbrel.clock import MIN_TIME
from whimbrel.errors import CheckpointError

_QUERY = "query.json"


@dataclass(frozen=True)
class CommittedBatch:
    """A micro-batch whose answer is where it belongs.

    Parameters
    ----------
    number : int
    newest : int
        Largest event time seen until then, in ticks.
    rows, late_rows : int
        Rows seen until then, and those of them that came too late.
    closed : bool
        Whether it was the last one.
    """

    number: int
    newest: int = MIN_TIME
    rows: int = 0
    late_rows: int = 0
    closed: bool = False


class Book:
    """A folder with the query, an entry for each of its last micro-batches, and their states.

    An entry appears atomically, after the rows of its micro-batch are written and before Spark commits it. After a
    crash, a repeated micro-batch is either in the log, or computed again from the previous state.

    Parameters
    ----------
    folder : Path
    query : sequence of str
        Its steps.
    partitions : int
        Number of partitions of the state; that of an existing log counts.

    Raises
    ------
    CheckpointError
        When the folder belongs to another query.
    """

    def __init__(self, folder: Path, query: Sequence[str], partitions: int) -> None:
        self.folder, self.partitions = folder, partitions
        where = f"start_on_spark(checkpoint={str(folder.parent)!r})"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / _QUERY).exists():
                _write(folder / _QUERY, {"query": list(query), "partitions": partitions})
            known = json.loads((folder / _QUERY).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise CheckpointError(f"Cannot read a checkpoint in {str(folder)!r}: {error}", where=where,
                                  hint="Use a folder that does not exist, or the checkpoint of this query.") from error
        if known["query"] != list(query):
            differs = next((f"it has {old}, not {new}" for old, new in zip(known["query"], query, strict=False)
                            if old != new), f"it has {len(known['query'])} steps, not {len(query)}")
            raise CheckpointError(f"The checkpoint belongs to another query: {differs}.", where=where,
                                  hint="Use the same query and source columns, or another checkpoint=.")
        self.partitions = int(known["partitions"])

    @property
    def states(self) -> Path:
        """Where the states of micro-batches are, by their numbers."""
        return self.folder / "states"

    @property
    def last(self) -> CommittedBatch | None:
        """The last micro-batch whose answer is in its place."""
        numbers = [int(file.stem) for file in self.folder.glob("[0-9]*.json")]
        if not numbers:
            return None
        return CommittedBatch(**json.loads((self.folder / f"{max(numbers)}.json").read_text(encoding="utf-8")))

    def write(self, entry: CommittedBatch) -> None:
        """Let a micro-batch count; what came before its predecessor is forgotten."""
        _write(self.folder / f"{entry.number}.json", asdict(entry))
        for file in self.folder.glob("[0-9]*.json"):
            if int(file.stem) < entry.number - 1:
                file.unlink()
        for state in self.states.glob("[0-9]*"):
            if int(state.name) < entry.number - 1:
                shutil.rmtree(state, ignore_errors=True)


def _write(path: Path, content: object) -> None:
    """A file that is there whole, or not at all."""
    draft = path.with_suffix(".partial")
    with draft.open("w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
