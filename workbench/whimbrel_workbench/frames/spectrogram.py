"""Frame of a spectrogram of one channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.finality import Stages
from whimbrel_workbench.frames.scope import ScopeChannel, ScopeFrame


@dataclass(frozen=True, slots=True, eq=False)
class Spectrogram:
    """A channel whose spectra are computed for what is in sight.

    Parameters
    ----------
    scope : ScopeFrame
        The signal; its first channel is shown.
    """

    scope: ScopeFrame

    @property
    def channel(self) -> ScopeChannel:
        return self.scope.channels[0]

    @property
    def x(self) -> Extent:
        return self.scope.x

    @property
    def calendar(self) -> bool:
        return self.scope.calendar

    @property
    def zone(self) -> str | None:
        return self.scope.zone

    @property
    def value(self) -> str:
        return self.channel.column

    @property
    def keys(self) -> tuple[str, ...]:
        return self.scope.keys

    @property
    def stages(self) -> Stages:
        return self.scope.stages

    @property
    def per_s(self) -> float:
        """Samples in a second, or in a tick without a unit."""
        return self.channel.axis.per_s or float(1 / self.channel.axis.timebase.period)

    @property
    def frequency(self) -> str:
        """Label of the axis of frequencies."""
        return "Hz" if self.channel.axis.per_s else "per tick"

    @property
    def others(self) -> tuple[str, ...]:
        """Channels that are not shown."""
        return (*(channel.name for channel in self.scope.channels[1:]), *self.scope.others)

    def compared(self, _earlier: Spectrogram) -> Self:
        """The same: what is new stands at its end."""
        return self
