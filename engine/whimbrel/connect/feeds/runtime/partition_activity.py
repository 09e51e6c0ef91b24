"""Event time and last arrival of each partition, to find idle partitions."""

from __future__ import annotations

from time import monotonic

import pyarrow as pa

from whimbrel.batch import Batch
from whimbrel.clock import MIN_TIME


class PartitionActivity:
    """Track the latest event time and last arrival of each partition; idle partitions are forgotten.

    Parameters
    ----------
    partition : str
        The column that names them.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [60, 10, 20], "device": ["a", "b", "b"]}, time="at").sources[0]
    >>> activity = PartitionActivity("device")
    >>> activity.note(next(log.read(["device"])))
    >>> activity.slowest(since=0.0), activity.slowest(since=float("inf"))
    (20, None)
    """

    def __init__(self, partition: str) -> None:
        self._partition = partition
        self._last: dict[object, tuple[int, float]] = {}

    def note(self, rows: Batch) -> None:
        """Note rows that arrived."""
        now = monotonic()
        named = pa.table({"partition": rows.column(self._partition).to_arrow(), "time": rows.sync})
        newest = named.group_by("partition").aggregate([("time", "max")])
        for partition, time in zip(newest["partition"].to_pylist(), newest["time_max"].to_pylist(), strict=True):
            self._last[partition] = max(time, self._last.get(partition, (MIN_TIME, 0.0))[0]), now

    def slowest(self, since: float) -> int | None:
        """Newest time of the slowest partition with rows since a moment; None if no partition has any."""
        self._last = {partition: last for partition, last in self._last.items() if last[1] >= since}
        return min((time for time, _ in self._last.values()), default=None)
