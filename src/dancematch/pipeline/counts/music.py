"""The beats of a dance from its sound track.

Notes and drums begin on the beat: the onsets, sudden rises of loudness over all pitches, have most power at
the beat's frequency, at half of it and at two and four times as much. The beat itself is where onsets, folded
to the length of one beat, are strongest.
"""

from pathlib import Path

import numpy as np

from dancematch.errors import InputError
from dancematch.pipeline.counts.counts import Counted, Counts
from dancematch.pipeline.counts.sound import RATE, read_sound
from dancematch.pipeline.counts.tempo import Signal, find_tempo, spectrum
from dancematch.types import FloatArray

LEAST_CONFIDENCE = 0.3  # margin over other tempi: eval/results/tempo.jsonl
LEAST_SECONDS = 5.0
_SILENCE = 1e-3  # root mean square of samples: -60 dB
_WINDOW, _HOP = 1024, 256  # samples of a spectrum, and from one to the next: 12 ms
_FPS = RATE / _HOP
_PIECE = 4096  # spectra that are computed at once
_PITCHES = np.geomspace(40, 8000, 33)  # Hertz, bounds of bands
_QUIETEST = 1e-8  # of the loudest: 80 dB
_PHASES = 96  # places per beat that are tried
_LATE = _WINDOW / 2 / RATE  # an onset is seen when it reaches the middle of a window


def count_music(path: str | Path) -> Counted:
    """The counts of a file's sound track; none, and why, where there is no sound or no beat in it."""
    try:
        sound = read_sound(path)
    except InputError as error:
        return Counted(None, str(error))
    if sound is None:
        return Counted(None, "there is no sound track")
    return count_sound(*sound)


def count_sound(samples: FloatArray, start: float = 0.0) -> Counted:
    """The counts of samples, the first of which is heard at `start`."""
    seconds = len(samples) / RATE
    if seconds < LEAST_SECONDS:
        return Counted(None, f"{seconds:.1f} s of sound are too short to find the beat in")
    if float(np.sqrt(np.mean(samples.astype(np.float64) ** 2))) < _SILENCE:
        return Counted(None, "the sound track is silent")
    onsets = _measure_onsets(samples)
    bpm, confidence = _find_tempo(onsets)
    if confidence < LEAST_CONFIDENCE:
        return Counted(None, "no tempo stands out in the sound track")
    first = start + _find_first_beat(onsets, bpm)
    return Counted(Counts(bpm, first, start + seconds, confidence, "music"))


def measure_tempo(samples: FloatArray) -> tuple[float, float]:
    """Beats per minute of samples, and the margin of that tempo over others, trusted or not."""
    return _find_tempo(_measure_onsets(samples))


def _find_tempo(onsets: Signal) -> tuple[float, float]:
    waves = [spectrum(onsets[:, None], _FPS, share) for share in (0.5, 1.0, 2.0, 4.0)]
    return find_tempo(np.sum(waves, axis=0))


def _measure_onsets(samples: FloatArray) -> Signal:
    """How much louder each moment is than the one before, mean over pitches, beyond the mean of a second."""
    frames = np.lib.stride_tricks.sliding_window_view(samples, _WINDOW)[::_HOP]
    window = np.hanning(_WINDOW).astype(np.float32)
    edges = np.searchsorted(np.fft.rfftfreq(_WINDOW, 1 / RATE), _PITCHES)
    first, end = np.unique(edges)[:-1], np.unique(edges)[-1]
    power = np.concatenate(
        [
            np.add.reduceat(_power(frames[at : at + _PIECE] * window)[:, :end], first, axis=1)
            for at in range(0, len(frames), _PIECE)
        ]
    )
    decibels = 10 * np.log10(np.maximum(power, max(_QUIETEST * float(power.max()), 1e-20)))
    rises = np.maximum(np.diff(decibels, axis=0), 0).mean(axis=1)
    second = np.ones(int(_FPS)) / int(_FPS)
    return np.asarray(np.maximum(rises - np.convolve(rises, second, "same"), 0), dtype=np.float64)


def _power(frames: FloatArray) -> FloatArray:
    return np.asarray(np.abs(np.fft.rfft(frames, axis=1)) ** 2)


def _find_first_beat(onsets: Signal, bpm: float) -> float:
    """Seconds until the first beat: where onsets, folded to one beat, are strongest."""
    beats = ((np.arange(len(onsets)) + 1) / _FPS + _LATE) * bpm / 60
    folded = np.bincount((beats % 1.0 * _PHASES).astype(np.int64), weights=onsets, minlength=_PHASES)
    near = np.hanning(9)[1:-1]
    smooth = np.convolve(np.concatenate([folded[-3:], folded, folded[:3]]), near, "valid")
    return float((int(smooth.argmax()) + 0.5) / _PHASES * 60 / bpm)
