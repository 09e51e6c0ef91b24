"""A stretch of a signal as a WAV file."""

from __future__ import annotations

import io
import wave
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from whimbrel.errors import PlanError
from whimbrel_workbench.frames.format_numbers import value_words
from whimbrel_workbench.frames.result import Floats
from whimbrel_workbench.frames.scope import ScopeChannel

MAX_PLAYBACK_S: Final = 60.0
_LOWEST_HZ, _HIGHEST_HZ = 8_000, 96_000
"""Browsers play files of these rates."""
_LOUDEST: Final = 0.9 * 32_767


def check_playback(samples: int, per_s: float | None, speed: float) -> float:
    """The rate of a playback, in samples per second.

    Raises
    ------
    PlanError
        The stretch is empty, would last longer than a minute, or its samples have no unit of time.
    """
    where = f"listen(speed={speed:g})"
    if per_s is None:
        raise PlanError("A signal needs times with a unit to be heard.", where=where,
                        hint="Read it with timestamps, or with unit=.")
    if samples < 2:
        raise PlanError(f"A stretch must have at least two samples, got {samples}.", where=where,
                        hint="Drag over a longer stretch.")
    if (lasts_s := samples / (per_s * speed)) > MAX_PLAYBACK_S:
        raise PlanError(f"Playback must last at most {MAX_PLAYBACK_S:g} s, got {value_words(lasts_s)} s.", where=where,
                        hint="Drag over a shorter stretch, or choose a higher speed.")
    return per_s * speed


def stretch_values(channel: ScopeChannel, first: int, stop: int) -> Floats:
    """The samples of a range as numbers; NaN where one is missing."""
    values = np.full(stop - first, np.nan)
    for trace in (channel.trace, channel.tail):
        for place, piece in trace.pieces(first, stop) if trace is not None else ():
            values[place - first:place - first + len(piece)] = piece
    return values


def wav_of(values: Floats, rate_hz: float) -> bytes:
    """A WAV file as loud as it can be, without the mean; missing samples are silent.

    A rate that browsers do not play becomes one that they do: samples in between are on a line, and of samples that are
    too many each is the mean of several.
    """
    there = np.isfinite(values)
    mean = float(values[there].mean()) if there.any() else 0.0
    sound = np.where(there, values - mean, 0.0)
    if rate_hz > _HIGHEST_HZ:
        every = int(np.ceil(rate_hz / _HIGHEST_HZ))
        sound = np.add.reduceat(sound, np.arange(0, len(sound), every)) / every
        rate_hz /= every
    elif rate_hz < _LOWEST_HZ:
        times = int(np.ceil(_LOWEST_HZ / rate_hz))
        sound = np.interp(np.arange((len(sound) - 1) * times + 1) / times, np.arange(len(sound)), sound)
        rate_hz *= times
    most = float(np.abs(sound).max(initial=0.0))
    return _file(np.round(sound * (_LOUDEST / most if most else 0.0)).astype("<i2"), round(rate_hz))


def _file(sound: NDArray[Any], rate_hz: int) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(sound.tobytes())
    return out.getvalue()
