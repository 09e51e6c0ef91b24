"""Checkpoints of a desk, and the journal of changes."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import astuple
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from whimbrel.errors import CheckpointError, DamagedCheckpointError
from whimbrel.kernels import state_of
from whimbrel.plan import Node
from whimbrel.run.checkpoint import FORMAT, check_version, describe_plans
from whimbrel.run.checkpoint_coordinator import Checkpoints
from whimbrel.run.desk.desk_query import DeskQuery, SavedSink
from whimbrel.run.desk.desk_session import DeskSession
from whimbrel.run.desk.desk_sinks import new_run
from whimbrel.run.desk.shedding.arrival_log import ArrivalLog
from whimbrel.run.folder_lock import locked
from whimbrel.run.state_folder import check_sums, found_folder, read_file, write_folder

_DESK = "desk.arrow"
_JOURNAL = "journal.jsonl"
_DIGITS = 9
_KERNELS_A_FILE = 64


class DeskCheckpoints:
    """Saves a desk in a folder, query by query, so that one with other queries resumes from it.

    Each change by a user is written to the journal before it takes effect. After a kill the newest valid checkpoint and
    the journal together give the same values and the same times.

    Parameters
    ----------
    checkpoints : Checkpoints

    Attributes
    ----------
    skipped : list of str
        Damaged checkpoints.
    failed : CheckpointError or None
        Error of the last checkpoint; the desk tries again.
    """

    def __init__(self, checkpoints: Checkpoints) -> None:
        self._checkpoints = checkpoints
        self._folder = Path(checkpoints.folder)
        self.skipped: list[str] = []
        self.failed: CheckpointError | None = None
        self._lock: IO[bytes] | None = locked(self._folder)
        self._number = 0
        self._due = 0.0
        self._takes = -1
        self._entries: list[dict[str, Any]] = _read_journal(self._folder / _JOURNAL)
        self._arrivals = ArrivalLog(self._folder)
        self._saved: dict[str, Any] = {}
        self._states: list[Any] = []
        self._kept: deque[Mapping[int, Any]] = deque(maxlen=checkpoints.keep)
        self._where = f"Checkpoints({str(self._folder)!r})"

    def open(self, session: DeskSession) -> None:
        """Bring the sources to where the newest valid checkpoint has them."""
        found: dict[str, Any] | None = None
        number = 0
        for folder in reversed(self._written()):
            self._number = max(self._number, int(folder.name))
            try:
                found, self._states = self._read(folder)
                number = int(folder.name)
                break
            except DamagedCheckpointError:
                self.skipped.append(folder.name)
        if found is None and self.skipped:
            raise CheckpointError(f"All {len(self.skipped)} checkpoints are damaged.", where=self._where,
                                  hint="Use another folder to start from the beginning.")
        if found is not None:
            self._restore_sources(session, found)
            self._saved = dict(found["queries"])
        for entry in self._entries[0 if found is None else found["journal"]:]:
            self._apply(entry)
        self._arrivals.open(number)

    def _read(self, folder: Path) -> tuple[dict[str, Any], list[Any]]:
        folder = found_folder(folder, _DESK, self._where)
        check_sums(folder, self._where)
        desk = read_file(folder / _DESK, self._where)
        check_version(desk, self._where)
        states = [state for number in range(desk["files"]) for state in read_file(folder / _name(number), self._where)]
        return desk, states

    def _restore_sources(self, session: DeskSession, found: dict[str, Any]) -> None:
        written, now = found["sources"], describe_plans(list(session.sources.values()))
        if written != now:
            raise CheckpointError(f"The checkpoint is of a desk that reads {', '.join(written)}.", where=self._where,
                                  hint="Make the desk with the same sources, in their order.")
        for number, (index, sent) in zip(session.pipeline.entries, found["reading"], strict=True):
            session.pipeline.kernels[number].restore_state(self._states[index].parts)
            session.pipeline.sent_watermarks[number] = sent
        session.resume({int(source): json.loads(offset) for source, offset in found["offsets"].items()})

    def _apply(self, entry: dict[str, Any]) -> None:
        """What a user did after the checkpoint."""
        name = entry["name"]
        match entry["did"]:
            case "add":
                self._saved[name] = {each: entry[each] for each in ("since", "steps", "sink")} | {"sets": []}
            case "sink":
                self._saved[name]["sink"] = entry["sink"]
            case "remove":
                self._saved.pop(name, None)
            case "set":
                self._saved[name].setdefault("sets", []).append((entry["values"], entry["times"]))

    def begin(self, session: DeskSession) -> None:
        """Forget saved queries that were not added again."""
        for name in list(self._saved):
            self.record({"did": "remove", "name": name})
        self._saved, self._states = {}, []
        session.reader.save_offsets()
        self._due = time.monotonic() + self._checkpoints.every_s

    def since(self, name: str, plan: Node) -> dict[str, int] | None:
        """From when a saved query reads rows; None if there is none of this name.

        Raises
        ------
        CheckpointError
            When the saved query of this name is another one.
        """
        saved = self._saved.get(name)
        if saved is None:
            return None
        for old, new in zip(saved["steps"], [*describe_plans([plan]), ""], strict=False):
            if old != new:
                raise CheckpointError(f"The saved query {name!r} is another one: it has {_words(old)}.",
                                      where=f"desk.add({name!r}, ...)",
                                      hint="Use another name, or add the query as it was and remove it.")
        return dict(saved["since"])

    def sink(self, name: str) -> SavedSink:
        """What is saved of the sink of a query, whose id is saved before the sink is opened."""
        saved = SavedSink(*self._saved[name]["sink"])
        if not saved.run:
            saved = SavedSink(new_run())
            self.record({"did": "sink", "name": name, "sink": astuple(saved)})
        return saved

    def restore(self, session: DeskSession, query: DeskQuery) -> None:
        """Give a query that was just added its saved state."""
        saved = self._saved[query.name]
        if "kernels" in saved:
            if query.shared is not None:
                query.shared.restore([self._states[index].parts for index in saved["kernels"]], saved["sent"],
                                     saved["newest"])
            else:
                self._restore_kernels(session, query, saved)
            query.answer.resume(saved["settled"])
        if query.name in session.arrivals and query.name in self._arrivals.known:
            session.arrivals[query.name].replay(*self._arrivals.known[query.name])
        for name, (changes, newest) in saved.get("parameters", {}).items():
            query.parameter_values[name].resume(((at, value) for at, value in changes), newest)
        for values, times in saved.get("sets", ()):
            for name, value in values.items():
                query.parameter_values[name].set(value, times[name])
        if saved.get("state") in ("failed", "stopped"):
            session.end_as_before(query, saved["state"], saved["error"])

    def restored(self, name: str) -> None:
        """A saved query is there again."""
        self._saved.pop(name, None)

    def _restore_kernels(self, session: DeskSession, query: DeskQuery, saved: Mapping[str, Any]) -> None:
        pipeline = session.pipeline
        for node, index, sent in zip(query.root.walk(), saved["kernels"], saved["sent"], strict=True):
            number = pipeline.position(node)
            if number not in pipeline.entries:
                pipeline.kernels[number].restore_state(self._states[index].parts)
                pipeline.sent_watermarks[number] = sent
        pipeline.newest[query.number] = saved["newest"]

    def was_shared(self, name: str) -> bool | None:
        """Whether a saved query took part in a shared aggregate; None if there is none."""
        found: bool | None = self._saved.get(name, {}).get("shared")
        return found

    def record(self, entry: dict[str, Any]) -> None:
        """Write down what a user does, before it takes effect."""
        self._entries.append(entry)
        try:
            with (self._folder / _JOURNAL).open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise CheckpointError(f"Cannot write the journal: {error.strerror or error}.", where=self._where,
                                  hint="Use a writable folder on a disk with free space.") from error

    def record_arrivals(self, session: DeskSession) -> None:
        """Write down in which periods the rows of a step have come, before anyone can see its results."""
        made = {kernel: kernel.record() for kernel in set(session.arrivals.values())}  # equal queries have one
        self._arrivals.write({name: entry for name, kernel in session.arrivals.items()
                              if (entry := made[kernel]) is not None})

    def begin_arrivals(self, name: str) -> None:
        """A query that sheds by arrival time begins, whatever another one of its name has seen."""
        self._arrivals.write({name: None})

    def write_when_due(self, session: DeskSession) -> None:
        """Write a checkpoint if it is time, and no sink waits for its server."""
        if time.monotonic() >= self._due and session.sinks.ready:
            session.complete()
            self.write(session)

    def write(self, session: DeskSession, *, last: bool = False) -> None:
        """Write a checkpoint, and commit what sinks have; what feeds can forget is acknowledged."""
        began = time.monotonic()
        try:
            self._write(session, last)
        finally:  # one that takes longer than the time between two leaves as much for rows
            ended = time.monotonic()
            self._due = max(began + self._checkpoints.every_s, ended + ended - began)

    def write_if_read(self, session: DeskSession) -> None:
        """Write a checkpoint if something was read since the last one."""
        if session.takes != self._takes:
            self.write(session)

    def _write(self, session: DeskSession, last: bool) -> None:
        self._number += 1
        session.settle()
        sinks = session.sinks.prepare()
        try:
            write_folder(self._folder / f"{self._number:0{_DIGITS}}", self._state(session), _DESK, self._where)
        except CheckpointError as error:
            self.failed = error
            if last:
                raise
            return
        self.failed, self._takes = None, session.takes
        session.sinks.commit(sinks)
        self._kept.append(session.reader.offsets)
        oldest = self._kept[0] if len(self._kept) == self._kept.maxlen else {}
        session.reader.acknowledge(self._kept[-1], self._kept[-1] if last else oldest)
        valid = [each for each in self._written() if each.name not in self.skipped]
        for folder in valid[:-self._checkpoints.keep]:
            shutil.rmtree(folder, ignore_errors=True)
        self._arrivals.follow(self._number, int(valid[-self._checkpoints.keep:][0].name))

    def _state(self, session: DeskSession) -> dict[str, Any]:
        pipeline = session.pipeline
        numbers = sorted({*pipeline.entries, *(number for plan in pipeline.plans for number in pipeline.needs[plan])})
        index = {number: place for place, number in enumerate(numbers)}
        states = [state_of(pipeline.kernels[number]) for number in numbers]
        queries = {}
        for query in session.queries.values():
            saved: dict[str, Any] = {
                "steps": query.steps_as_written, "since": query.since, "state": query.status,
                "error": None if query.failure is None else query.failure.what, "settled": query.answer.settled_rows,
                "sink": astuple(query.saved_sink), "shared": query.shared is not None,
                "parameters": {name: (values.changes, values.newest)
                               for name, values in query.parameter_values.items()}}
            if query.shared is not None and session.is_read(query):
                own = query.shared.kernels
                saved |= {"kernels": list(range(len(states), len(states) + len(own))),
                          "newest": query.shared.newest, "sent": query.shared.sent}
                states += map(state_of, own)
            elif query.shared is None and query.status in ("running", "finished"):
                held = [pipeline.position(node) for node in query.root.walk()]
                saved |= {"kernels": [index[number] for number in held],
                          "newest": pipeline.newest[query.number],
                          "sent": [pipeline.sent_watermarks[number] for number in held]}
            queries[query.name] = saved
        files = [states[at : at + _KERNELS_A_FILE] for at in range(0, len(states), _KERNELS_A_FILE)]
        desk = {"format": FORMAT, "version": version("whimbrel"), "journal": len(self._entries), "files": len(files),
                "sources": describe_plans(list(session.sources.values())), "queries": queries,
                "reading": [(index[number], pipeline.sent_watermarks[number]) for number in pipeline.entries],
                "offsets": {str(source): json.dumps(offset) for source, offset in session.reader.offsets.items()}}
        return {**{_name(number): file for number, file in enumerate(files)}, _DESK: desk}

    def _written(self) -> list[Path]:
        return sorted(each for each in self._folder.iterdir() if re.fullmatch(rf"[0-9]{{{_DIGITS}}}", each.name))

    def close(self) -> None:
        """Let go of the folder."""
        self._arrivals.close()
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _name(number: int) -> str:
    return f"steps-{number:03}.arrow"


def _words(step: str) -> str:
    return re.sub(r" of \d+(, \d+)*$", "", step)


def _read_journal(file: Path) -> list[dict[str, Any]]:
    """Its entries; a last line that was not finished is removed."""
    if not file.is_file():
        return []
    text = file.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        file.write_text(whole, encoding="utf-8")
    return [json.loads(line) for line in whole.splitlines()]
