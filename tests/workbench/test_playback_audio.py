"""Stretches of a signal as sound."""

from __future__ import annotations

import io
import wave
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from whimbrel.errors import PlanError
from whimbrel.plan import Sampling
from whimbrel_workbench.frames import FrameBuilder, Options, Result
from whimbrel_workbench.frames.playback_audio import check_playback, stretch_values, wav_of


def read(data: bytes) -> tuple[int, np.ndarray]:
    with wave.open(io.BytesIO(data)) as file:
        assert (file.getnchannels(), file.getsampwidth()) == (1, 2)
        return file.getframerate(), np.frombuffer(file.readframes(file.getnframes()), "<i2")


def test_a_file_has_the_samples_at_full_volume_without_their_mean() -> None:
    rate, sound = read(wav_of(np.array([7.0, 9.0, 8.0, 8.0]), 16_000))
    assert rate == 16_000
    assert sound.tolist() == [-29_490, 29_490, 0, 0]


def test_missing_samples_are_silent() -> None:
    assert read(wav_of(np.array([1.0, np.nan, 3.0]), 16_000))[1].tolist() == [-29_490, 0, 29_490]
    assert read(wav_of(np.full(3, np.nan), 16_000))[1].tolist() == [0, 0, 0]


@pytest.mark.parametrize(("rate", "played", "samples"), [(100.0, 8_000, 80 * 99 + 1), (1_000_000.0, 90_909, 10)])
def test_rates_that_browsers_do_not_play_become_others(rate: float, played: int, samples: int) -> None:
    found, sound = read(wav_of(np.sin(np.arange(100.0)), rate))
    assert (found, len(sound)) == (played, samples)
    assert len(sound) / found == pytest.approx(100 / rate, rel=0.11)


def test_a_playback_is_at_most_a_minute() -> None:
    assert check_playback(60_000, 1_000.0, 1.0) == 1_000.0
    assert check_playback(600_000, 1_000.0, 10.0) == 10_000.0
    for samples, per_s, words in ((60_001, 1_000.0, "at most 60 s"), (1, 1_000.0, "two samples"), (9, None, "unit")):
        with pytest.raises(PlanError, match=words):
            check_playback(samples, per_s, 1.0)


def test_a_stretch_has_its_settled_its_provisional_and_its_missing_samples() -> None:
    at = pa.array([0, 1_000, 2_000, 4_000, 5_000]).cast(pa.timestamp("us"))
    table = pa.table({"start": at, "end": at, "x": pa.array([1, 2, 3, 5, 6], pa.int16())})
    framer = FrameBuilder(Options(), sampling=Sampling(Fraction(1_000)))
    [channel] = framer.picture(Result(table, (4,), rearranged=0)).channels
    assert stretch_values(channel, 1, 6).tolist() == pytest.approx([2, 3, np.nan, 5, 6], nan_ok=True)
