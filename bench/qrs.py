"""``python -m bench.qrs FILE``: QRS complexes of an annotated ECG, found by an expression, scored and timed.

The file has 360 samples a second. Its second column is a lead, its last one the annotation. Detectors of wfdb and
NeuroKit2 run too, if they are installed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import whimbrel as wb
from whimbrel import Stream, col

Array = np.ndarray[Any, Any]

RATE = 360
TOLERANCE = 54
"""Samples between an annotation and what was found: 150 ms."""
DELAY = 45
"""Samples from a QRS complex to the maximum of its energy."""
COMPLEXES = ("N", "A", "V")


def complexes(ecg: Stream) -> Stream:
    """Pan and Tompkins (1985): where the energy of the slope is largest within 200 ms, and large for its time."""
    signal = import_module("scipy.signal")
    sections = signal.butter(2, [5, 15], "bandpass", fs=RATE, output="sos").tolist()
    passed = wb.iir(col.x, sos=sections)
    slope = (2 * passed + passed.ago(1) - passed.ago(3) - 2 * passed.ago(4)) / 8
    energy = ecg.select(m=wb.mean(slope * slope).past(54))
    usual = wb.mean(wb.max(col.m).past(RATE)).past(8 * RATE)
    return energy.where((col.m == wb.max(col.m).past(72, ahead=72)) & (col.m > 0.3 * usual))


def scores(found: Array, annotated: Array) -> tuple[float, float]:
    """Sensitivity and precision."""
    def near(of: Array, others: Array) -> float:
        return float(np.mean([np.abs(others - each).min() <= TOLERANCE for each in of]))

    return near(annotated, found), near(found, annotated)


def read(file: Path) -> tuple[Array, Array]:
    """Samples of the first lead, and the samples at which there is a QRS complex."""
    table = pq.read_table(file)
    kinds = np.array(table.column(table.num_columns - 1).to_pylist())
    return table.column(1).cast(pa.float64()).to_numpy(), np.flatnonzero(np.isin(kinds, COMPLEXES))


def stream_of(samples: Array) -> Stream:
    """The samples as a stream, one a tick."""
    return wb.from_arrow({"at": np.arange(len(samples)), "x": samples}, time="at", name="ecg").select("x")


def detectors(samples: Array) -> Iterator[tuple[str, Callable[[], Array]]]:
    """Ours and the installed ones, each a function that gives the samples of QRS complexes."""
    yield "whimbrel", lambda: complexes(stream_of(samples)).collect()["start"].to_numpy() - DELAY
    if find_spec("wfdb") is not None:
        processing = import_module("wfdb.processing")
        yield "wfdb xqrs", lambda: processing.xqrs_detect(samples, fs=RATE, verbose=False)
    if find_spec("neurokit2") is not None:
        neurokit2 = import_module("neurokit2")
        yield "NeuroKit2", lambda: neurokit2.ecg_peaks(
            neurokit2.ecg_clean(samples, sampling_rate=RATE), sampling_rate=RATE)[1]["ECG_R_Peaks"]


def main() -> None:
    """Score and time each detector."""
    samples, annotated = read(Path(sys.argv[1]))
    for name, detect in detectors(samples):
        detect()
        began = time.process_time()
        found = detect()
        took_s = time.process_time() - began
        sensitivity, precision = scores(found, annotated)
        rate = len(samples) / took_s / 1e6
        print(f"{name:12} {len(found):,} of {len(annotated):,}, sensitivity {sensitivity:.2%}, "
              f"precision {precision:.2%}, {rate:.2f} M samples/s of CPU time")


if __name__ == "__main__":
    main()
