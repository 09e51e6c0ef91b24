"""F. Signals: windows of samples against NumPy, SciPy and PyWavelets on whole arrays, and hand-written loops.

Samples of all channels are counted; memory holds them. Blocks have 262,144 samples unless a case says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.compare import Row
from bench.figure import Figure
from bench.fixed_costs import rows_of_fixed_costs
from bench.signal_detections import detections
from bench.signal_filters import recording, windows_and_samples
from bench.signal_ladder import ladder
from bench.signal_leaks import leaks
from bench.signal_memory import memory_of_samples
from bench.signal_packets import packets
from bench.signal_recordings import recordings as applications
from bench.signal_schedules import schedules

SAMPLES, QUICK_SAMPLES = 33_554_432, 4_194_304


def run(*, quick: bool, recordings: Path | None = None) -> Iterator[Row | Figure]:
    """Rows of figures, and applications whose truth is known; those of a folder of recordings, if one is given."""
    samples = QUICK_SAMPLES if quick else SAMPLES
    yield from windows_and_samples(samples)
    yield from detections(samples)
    yield from leaks(samples)
    yield from packets(samples)
    yield from schedules(samples)
    yield from memory_of_samples(samples)
    yield from ladder(recording(samples // 4).astype(np.int16))
    yield from rows_of_fixed_costs()
    if recordings is not None:
        yield from applications(recordings)
