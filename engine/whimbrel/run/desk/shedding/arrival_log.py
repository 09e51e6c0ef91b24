"""A record of the periods in which rows arrived."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from whimbrel.errors import CheckpointError
from whimbrel.run.desk.shedding.arrival_sample import Begin

_NAME = "arrivals-{:09}.jsonl"
_FILE = re.compile(r"arrivals-([0-9]{9})\.jsonl")


class ArrivalLog:
    """Says of queries that shed by arrival time which rows came in which period.

    A file has what came after one checkpoint. A line is written after each step, before anyone can see its results. It
    is handed to the operating system, which keeps it when the process is killed.

    Parameters
    ----------
    folder : Path
        That of the checkpoints.

    Attributes
    ----------
    known : dict of str to (int, list of Begin)
        By query, what earlier runs have recorded since the checkpoint.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[str] | None = None
        self._number = 0
        self.known: dict[str, tuple[int, list[Begin]]] = {}

    def open(self, checkpoint: int) -> None:
        """Read what came after a checkpoint; 0 is the beginning."""
        self._number = checkpoint
        for number, file in sorted(self._files().items()):
            if number >= checkpoint:
                self._number = number
                text = file.read_text(encoding="utf-8")
                whole = text[: text.rfind("\n") + 1]
                if whole != text:  # the last line was not finished
                    file.write_text(whole, encoding="utf-8")
                for line in whole.splitlines():
                    self._take(json.loads(line))

    def _files(self) -> dict[int, Path]:
        found = ((_FILE.fullmatch(each.name), each) for each in self._folder.iterdir())
        return {int(match[1]): file for match, file in found if match}

    def _take(self, entries: Mapping[str, tuple[int, list[Begin]] | None]) -> None:
        for name, entry in entries.items():
            if entry is None:
                self.known.pop(name, None)
                continue
            rows, begins = self.known.get(name, (0, []))
            self.known[name] = max(rows, entry[0]), [*begins, *((row, period) for row, period in entry[1])]

    def write(self, entries: Mapping[str, tuple[int, Sequence[Begin]] | None]) -> None:
        """Record how many rows queries have seen, and the periods that began; None: the query begins now."""
        if not entries:
            return
        try:
            if self._file is None:
                self._file = (self._folder / _NAME.format(self._number)).open("a", encoding="utf-8")
            self._file.write(json.dumps(entries) + "\n")
            self._file.flush()
        except OSError as error:
            raise CheckpointError(f"Cannot record arrivals: {error.strerror or error}.",
                                  where=f"Checkpoints({str(self._folder)!r})",
                                  hint="Use a writable folder on a disk with free space.") from error

    def follow(self, checkpoint: int, oldest: int) -> None:
        """Record arrivals since another checkpoint, and remove those before the oldest one."""
        self.close()
        self._number = checkpoint
        for number, file in self._files().items():
            if number < oldest:
                file.unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
