# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Signals: a heart, a bearing, a voice
#
# You will find heartbeats in an electrocardiogram, a damaged bearing in its vibration, and the syllables of a voice.
# Samples and events stand in one algebra, and the same query runs on a recording and live.
#
# All three signals are generated in this notebook, so what they contain is known. They need no download and no licence.
# For recordings, use `wb.read_wfdb`, `wb.read_edf`, `wb.read_audio` or `wb.read_parquet` instead.

# %%
import numpy as np
from scipy import signal as design

import whimbrel as wb
from whimbrel import col

draw = np.random.default_rng(14)

# %% [markdown]
# ## A heart
#
# Five minutes at 360 samples per second. Each heartbeat is a sum of five waves. They are 0.7 to 0.9 seconds apart, the
# baseline moves with the breath, and ten seconds are missing.

# %%
RATE = 360
at = np.arange(300 * RATE) / RATE
truth = np.cumsum(0.8 + 0.1 * np.sin(np.arange(380) / 9) + draw.normal(0, 0.015, 380))
truth = truth[truth < 299]
waves = [(-0.20, 0.10, 0.025), (-0.03, -0.12, 0.010), (0.0, 1.1, 0.011), (0.03, -0.25, 0.012), (0.25, 0.25, 0.045)]
near = truth[np.clip(np.searchsorted(truth, at + 0.4) - 1, 0, len(truth) - 1)]
lead = sum(size * np.exp(-((at - near - delay) ** 2) / (2 * width**2)) for delay, size, width in waves)
lead += 0.3 * np.sin(2 * np.pi * 0.25 * at) + draw.normal(0, 0.03, len(at))
lead = np.ma.masked_where((at >= 120) & (at < 130), lead.astype("float32"))
ecg = wb.from_samples({"mv": lead}, rate=RATE, start="2024-05-01", unit="us", name="ecg")

# %% [markdown]
# A band-pass filter removes the breath, and `above` turns the peaks that remain into events. The filter begins again
# after the gap.

# %%
band = design.butter(2, [5, 30], "bandpass", fs=RATE, output="sos")
clean = ecg.select("mv", band=wb.iir(col.mv, sos=band))
beats = clean.above(col.band, on=0.35, off=0.05, min=2)
ecg.view(marks=beats)

# %% [markdown]
# Zoom in, and drag over a stretch with the selection tool to hear it. At ten times the speed, the heartbeats are a
# rhythm.
#
# The next view lays the newest heartbeats one over the other. Every query can be the trigger.

# %%
ecg.view(trigger=beats, before="250ms", after="400ms")

# %% [markdown]
# `sync` gives each heartbeat its samples: its epoch. The mean of all epochs shows the waves without the noise.

# %%
epochs = beats.sync(ecg, before="250ms", after="400ms", gaps="skip")
cut = epochs.select(height=col.mv.seg.max() - col.mv.seg.min(), samples=col.mv.seg.length()).collect()
print(f"{cut.num_rows} epochs of {cut['samples'][0]} samples, {np.mean(cut['height']):.2f} mV from lowest to highest")

# %% [markdown]
# ## A bearing
#
# Ten seconds of vibration at 12,000 samples per second. A damaged outer race is hit 3.58 times per turn of the shaft,
# and each hit makes the housing ring at 3 kHz. Noise is four times as strong.

# %%
VIBRATION, SHAFT_HZ = 12_000, 29.5
OUTER_HZ = 3.585 * SHAFT_HZ
hits = np.cumsum(np.full(1_060, 1 / OUTER_HZ) * (1 + draw.normal(0, 0.005, 1_060)))
strikes = np.zeros(10 * VIBRATION)
strikes[(hits[hits < 9.99] * VIBRATION).astype(int)] = 1
ring = np.exp(-np.arange(240) / 40) * np.sin(2 * np.pi * 3_000 * np.arange(240) / VIBRATION)
vibration = np.convolve(strikes, ring)[:len(strikes)] + draw.normal(0, 0.4, len(strikes))
bearing = wb.from_samples({"g": vibration.astype("float32")}, rate=VIBRATION, start="2024-05-01", unit="ns")

# %% [markdown]
# The strikes cannot be seen in the spectrum of the vibration, which shows the housing. The envelope of the ringing has
# their rate.

# %%
around = design.butter(4, [2_000, 4_000], "bandpass", fs=VIBRATION, output="sos")
ringing = bearing.select(x=wb.iir(col.g, sos=around))
spectra = ringing.rewindow(VIBRATION).select(p=col.x.seg.envelope().seg.psd(window="hann")).collect()
power = np.mean([each.as_py() for each in spectra["p"]], axis=0)
found_hz = 50 + int(np.argmax(power[50:200]))
print(f"a line at {found_hz} Hz; the outer race is hit {OUTER_HZ:.1f} times per second")

# %%
bearing.view(kind="spectrogram")

# %% [markdown]
# ## A voice
#
# A pulse train of 120 Hz through three resonances of a throat gives a vowel. Six vowels with pauses are two seconds
# of something like speech.

# %%
SPEECH = 16_000
pulses = np.zeros(6 * SPEECH // 3)
pulses[::SPEECH // 120] = 1
vowels = {"a": (800, 1_200, 2_500), "e": (500, 1_800, 2_500), "i": (300, 2_300, 3_000)}
said = np.zeros_like(pulses)
for place, name in enumerate("aeiaei"):
    part = slice(place * SPEECH // 3 + 800, place * SPEECH // 3 + 4_000)
    sound = pulses[part]
    for hz in vowels[name]:
        b, a = design.iirpeak(hz, 12, fs=SPEECH)
        sound = design.lfilter(b, a, sound) + 0.2 * sound
    said[part] = sound * np.hanning(len(sound))
pcm = (said / np.abs(said).max() * 20_000 + draw.normal(0, 30, len(said))).astype("int16")
voice = wb.from_samples({"pcm": pcm}, rate=SPEECH, start="2024-05-01", unit="us")
voice.view(kind="spectrogram")

# %% [markdown]
# Windows with sound become ranges, ranges that meet are stitched, and `sync` cuts the sound out: the pauses are gone.

# %%
loud = voice.rewindow(256).where(col.pcm.seg.std() > 200).select(on=wb.lit(True)).stitch()
syllables = loud.sync(voice)
heard = syllables.samples()
print(f"{loud.collect().num_rows} syllables, {heard.collect().num_rows / len(pcm):.0%} of the recording")
voice.view(marks=loud)

# %% [markdown]
# ## Live
#
# A replay delivers the electrocardiogram as if it were live. The query is the same, and so are the heartbeats.

# %%
live = beats.on(wb.replay(ecg, speed=float("inf"))).collect()
history = beats.collect()
start_s = (history["start"].to_numpy() - np.datetime64("2024-05-01", "us")) / np.timedelta64(1, "s")
apart = np.abs(start_s[:, None] - truth[None]).min(axis=0)
there = (truth < 119.5) | (truth > 130.5)
print(f"{np.sum(apart[there] < 0.05)} of {there.sum()} beats found; live as in history: {live.equals(history)}; "
      f"{loud.collect().num_rows} syllables; outer race within 1%: {abs(found_hz / OUTER_HZ - 1) < 0.01}")
