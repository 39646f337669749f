"""The beats of a dance from its movement alone.

Dancers move from pose to pose and stop on the beat; steps to the left and to the right take two beats, moves
four. So the beat is the tempo at which three signals together have most power: the velocities of the bones
(at half and a quarter of the beat's frequency), their speeds (at a quarter, half and all of it) and how fast
the joints rise (at all of it). `eval/studies/tempo.py` measures how often the tempo is right, and from which
margin over other tempi on it can be trusted.
"""

import numpy as np

from dancematch.motion import FPS, canonicalise, clean, to_body15
from dancematch.pipeline.counts.counts import Counted, Counts
from dancematch.pipeline.counts.tempo import Signal, find_tempo, spectrum
from dancematch.skeletons import BODY15
from dancematch.types import Motion

LEAST_CONFIDENCE = 0.16  # margin over other tempi: eval/results/tempo.jsonl
LEAST_SECONDS = 5.0  # some ten beats
_JUST_OVER = 0.2  # beats by which the first one may lie before the first frame
_LEAST_SPEED = 0.3  # radians per second and bone: a figure that stands still has no beat
_PARENTS = np.array(BODY15.parents)


def count_movement(motion: Motion) -> Counted:
    """The counts of a motion; none, and why, where no tempo stands out."""
    if motion.seconds < LEAST_SECONDS:
        length = f"{motion.seconds:.1f} s of movement are too short to find the beat in"
        return Counted(None, f"{length}; {LEAST_SECONDS:.0f} s are needed")
    turning, rising = _velocities(motion)
    speeds = np.linalg.norm(turning, axis=2)
    if speeds.mean() < _LEAST_SPEED:
        return Counted(None, "there is too little movement to find the beat in")
    bpm, confidence = _find_tempo(turning, rising)
    if confidence < LEAST_CONFIDENCE:
        return Counted(None, "no tempo stands out in the movement")
    first = motion.start + _find_first_beat(speeds.sum(axis=1), bpm)
    return Counted(Counts(bpm, first, motion.span.end, confidence, "movement"))


def count_dance(motion: Motion, music: Counted | None) -> Counted:
    """The counts of a recording by its music or, where no beat is heard, by the movement of a dancer."""
    if music is not None and music.counts is not None:
        return music
    moved = count_movement(motion)
    if moved.counts is not None or music is None:
        return moved
    return Counted(None, f"{music.reason}, and {moved.reason}")


def measure_tempo(motion: Motion) -> tuple[float, float]:
    """Beats per minute of a motion, and the margin of that tempo over others, trusted or not."""
    return _find_tempo(*_velocities(motion))


def _find_tempo(turning: Signal, rising: Signal) -> tuple[float, float]:
    flat, speeds = turning.reshape(len(turning), -1), np.linalg.norm(turning, axis=2)
    waves = [(flat, 0.25), (flat, 0.5), (speeds, 0.25), (speeds, 0.5), (speeds, 1.0), (rising, 1.0)]
    return find_tempo(np.sum([spectrum(signal, FPS, share) for signal, share in waves], axis=0))


def _velocities(motion: Motion) -> tuple[Signal, Signal]:
    """How fast bones turn, [frames, bones, 3] radians per second, and joints rise, [frames, joints] m/s.

    0 where they are not seen.
    """
    joints = canonicalise(motion).joints[:, 1:]
    bones = joints[:, 1:] - joints[:, _PARENTS[1:]]
    length = np.linalg.norm(bones, axis=2, keepdims=True)
    directions = bones / np.where(length > 1e-6, length, np.nan)
    heights = clean(to_body15(motion)).joints[:, :, 1]
    turning, rising = (np.nan_to_num(FPS * np.diff(values, axis=0)) for values in (directions, heights))
    return turning.astype(np.float64), rising.astype(np.float64)


def _find_first_beat(speed: Signal, bpm: float) -> float:
    """Seconds until the first beat, a little below 0 if it is just over: dancers are slowest on the beat."""
    times = (np.arange(len(speed)) + 0.5) / FPS
    wave = np.exp(-2j * np.pi * times * bpm / 60) @ (speed - speed.mean())
    slowest = 0.5 - np.angle(wave) / (2 * np.pi)  # of the fundamental, in beats
    return float(((slowest + _JUST_OVER) % 1.0 - _JUST_OVER) * 60 / bpm)
