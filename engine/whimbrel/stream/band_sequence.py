"""Latency bands as a sequence, found by number or by latency."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar, overload

from whimbrel.clock import TickUnit, duration_ticks, show_ticks
from whimbrel.errors import PlanError, UnknownNameError
from whimbrel.stream.stream_protocol import StreamLike

S = TypeVar("S", bound=StreamLike)


class BandSequence(Sequence[S]):
    """The streams of several latencies, the shortest first."""

    latencies: tuple[str, ...]
    streams: tuple[S, ...]

    @overload
    def __getitem__(self, index: int | str) -> S: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[S, ...]: ...
    def __getitem__(self, index: int | str | slice) -> S | tuple[S, ...]:
        if isinstance(index, slice):
            if any(isinstance(bound, str) for bound in (index.start, index.stop)):
                raise PlanError("A slice of bands is by number.", where="bands[...:...]", hint="Use bands[:2].")
            return self.streams[index]
        return self.streams[_position(index, self.latencies, self.streams[0].node.schema.unit)]

    def __len__(self) -> int:
        return len(self.streams)

    def __iter__(self) -> Iterator[S]:
        return iter(self.streams)

    def count(self, *stream: Any) -> int:
        """Count how often a stream is among the bands.

        Use :func:`whimbrel.count` to count rows.

        >>> import whimbrel as wb
        >>> bands = wb.from_arrow({"at": [1, 2]}, time="at").at_latencies(0, 5)
        >>> bands.count(bands[0])
        1
        """
        if len(stream) != 1:
            raise UnknownNameError("Bands are a sequence, so bands.count(stream) counts streams and not rows.",
                                   where="bands.count()",
                                   hint="Use aggregate(n=wb.count()) before at_latencies(...), or len(bands).")
        return self.streams.count(stream[0])


def _position(index: int | str, names: Sequence[str], unit: TickUnit) -> int:
    """The number of a band, which may be asked by its latency in any spelling."""
    if isinstance(index, str):
        name = index
        with suppress(PlanError):
            name = show_ticks(duration_ticks(index, unit), unit)
        if name in names:
            return names.index(name)
    if isinstance(index, int) and -len(names) <= index < len(names):
        return index
    raise PlanError(f"There is no band {index!r}.", where=f"bands[{index!r}]",
                    hint=f"Use a number below {len(names)}, or one of {', '.join(map(repr, names))}.")
