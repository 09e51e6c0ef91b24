"""Redis stream as a sink."""

from __future__ import annotations

from typing import Any, Literal

import pyarrow as pa

from whimbrel.connect.addresses import checked_url
from whimbrel.connect.sinks.json_rows import json_rows
from whimbrel.connect.sinks.retrying_sink import ServerSink
from whimbrel.errors import MissingExtraError, SinkError

_TOGETHER = 1000


class RedisSink(ServerSink):
    """Sink of a Redis stream, with row numbers as ids.

    Each settled row is an entry. Needs ``whimbrel[redis]``.

    Exactly once if the sources deliver the same rows in the same order again: an existing row number is not added
    again. The stream belongs to one run. The field ``row`` has the row as JSON, ``run`` the id of the run.

    Parameters
    ----------
    stream : str
    url : str
        ``redis://host:port``. A password in it is in no plan, log or checkpoint.
    """

    kind = "redis"
    guarantee: Literal["exactly once", "at least once"] = "exactly once"

    def __init__(self, stream: str, url: str = "redis://127.0.0.1:6379") -> None:
        try:
            import redis
        except ImportError:
            raise MissingExtraError("redis", "redis", "sinks.redis()") from None
        self._library: Any = redis
        self.lost = (OSError, redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError)
        self.permanent_errors = (redis.RedisError,)
        self.name, self._url = stream, checked_url(url, "redis", "rediss", "unix")

    def _connect(self, schema: pa.Schema, rows: int) -> None:
        self._row = rows
        self._link = self._library.Redis.from_url(self._url, socket_timeout=10, retry=None)
        last = self._link.xrevrange(self.name, count=1)
        self._there = int(last[0][0].split(b"-")[0]) if last else 0
        if last and last[0][1].get(b"run", b"").decode(errors="replace") != self.run:
            raise SinkError(f"The stream {self.name!r} has entries of another run.",
                            where=f"sinks.redis({self.name!r})",
                            hint="Resume from the checkpoints of the run that wrote them; without checkpoints use "
                                 "another stream, or delete this one.")

    def _send(self, rows: pa.RecordBatch) -> None:
        for start in range(0, rows.num_rows, _TOGETHER):
            pipe = self._link.pipeline(transaction=False)
            for _, text in json_rows(rows.slice(start, _TOGETHER)):
                self._row += 1
                if self._row > self._there:
                    pipe.xadd(self.name, {"row": text, "run": self.run}, id=f"{self._row}-0")
            pipe.execute()
            self._acknowledged(min(_TOGETHER, rows.num_rows - start))

    def _settle(self) -> None:
        """Do nothing: each entry was acknowledged."""

    def _disconnect(self) -> None:
        self._link.close()
