"""The contract of sinks."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Any, Literal

import pyarrow as pa

Token = Any
"""What a sink needs to know of prepared rows to commit them, as JSON."""


class Sink(ABC):
    """Sink of settled rows, with two-phase commit.

    A sink writes each row once if it can.

    The engine writes rows, then prepares them: they are durable, but readers do not see them. It then writes a
    checkpoint with the commit token, and commits the rows. A run that is killed between two of these steps resumes
    from its last checkpoint. It commits the stored token again, and writes later rows again.

    Attributes
    ----------
    name : str
        The name of the sink in errors.
    guarantee : {"exactly once", "at least once"}
        What readers see after a run was killed and resumed from a checkpoint.
    run : str
        The id of the run that writes, set before it is opened. A run that resumes from its checkpoints has the same id.
    checkpointed : bool
        Whether that run has checkpoints, set before it is opened.
    stopped : threading.Event
        Given before it is opened. Set when the run stops: the sink then no longer waits for its server.
    last_error : str
        Error of the last attempt, while the sink retries; empty otherwise.
    """

    name: str
    run: str = ""
    checkpointed: bool = True
    stopped: threading.Event = threading.Event()
    last_error: str = ""
    guarantee: Literal["exactly once", "at least once"] = "at least once"

    @property
    def again(self) -> str:
        """Hint for errors: how to resume after a failure to write."""
        return ("Start the run again when the server is available: nothing is lost." if self.checkpointed else
                "Use checkpoints=wb.Checkpoints(folder) to resume: a run without them starts again from the beginning.")

    @abstractmethod
    def open(self, schema: pa.Schema, rows: int, token: Token) -> None:
        """Open the sink for the rows after this many.

        Parameters
        ----------
        schema : pyarrow.Schema
            start, end and payload.
        rows : int
            Rows in the checkpoint from which the run resumes; 0 for a new run.
        token : JSON value
            The commit token of the last of these rows, to be committed if it is not; None for a new run.
        """

    @abstractmethod
    def write(self, rows: pa.RecordBatch) -> None:
        """Write settled rows."""

    def ready(self) -> bool:
        """Check that :meth:`prepare` does not wait for an unavailable server.

        A server may be away or frozen. The engine calls this right before :meth:`prepare`, and repeats the call until
        the sink is ready. The sink may make written rows durable here.
        """
        return True

    @abstractmethod
    def prepare(self) -> Token:
        """Prepare the written rows: durable, but not visible to readers.

        Return the commit token.
        """

    def commit(self, token: Token) -> None:  # noqa: B027 - for most, what is safe is seen
        """Commit prepared rows: make them visible to readers.

        The engine may call it twice with the same token.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the sink. Rows that were not prepared are lost."""
