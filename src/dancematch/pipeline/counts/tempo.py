"""Which of one octave of tempi has most power, and how far it stands out.

Whether dancers count a song at 70 or at 140 cannot be heard or seen: one octave holds every tempo once.
"""

import numpy as np
from numpy.typing import NDArray

SLOWEST, FASTEST = 70.0, 140.0  # beats per minute
_TEMPI = np.geomspace(SLOWEST, FASTEST, 401)
_NEIGHBOURS = 0.11  # octaves around a tempo that are the same peak: some 8 %
BEATS_PER_SECOND = _TEMPI / 60

Signal = NDArray[np.float64]


def spectrum(signal: Signal, fps: float, share: float) -> Signal:
    """The amplitude of signals [frames, signals] together, at so many waves per beat of each tempo.

    As a share of all there is in the signals; their ends count less.
    """
    window = np.hanning(len(signal))[:, None]
    centred = window * (signal - signal.mean(axis=0))
    waves = np.exp(-2j * np.pi * np.outer(share * BEATS_PER_SECOND, np.arange(len(signal)) / fps))
    total = max(float((centred**2).sum()) * len(signal), 1e-12)
    return np.asarray(np.sqrt((np.abs(waves @ centred) ** 2).sum(axis=1) / total))


def find_tempo(amplitudes: Signal) -> tuple[float, float]:
    """The tempo with the largest amplitude, in beats per minute, and by what share it exceeds all others."""
    best = int(amplitudes.argmax())
    octaves = np.abs(np.log2(_TEMPI / _TEMPI[best]))
    others = amplitudes[np.minimum(octaves, 1 - octaves) > _NEIGHBOURS]
    margin = (amplitudes[best] - others.max()) / max(float(amplitudes[best]), 1e-12)
    return _refine(amplitudes, best), float(margin)


def _refine(amplitudes: Signal, best: int) -> float:
    """The tempo at the top of the parabola through a peak and its neighbours."""
    if not 0 < best < len(amplitudes) - 1:
        return float(_TEMPI[best])
    before, here, after = amplitudes[best - 1 : best + 2]
    bend = before - 2 * here + after
    beside = 0.5 * (before - after) / bend if bend < -1e-12 else 0.0
    return float(_TEMPI[best] * (_TEMPI[1] / _TEMPI[0]) ** beside)
