"""The changes that an audit makes to a dance: those of cameras, pose estimators and dancers."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from dancematch.evaluation.suites.changed_excerpts import draw_span
from dancematch.motion import excerpt, mirror, perturb
from dancematch.skeletons import BODY15
from dancematch.types import Motion, Span

_LEGS = [BODY15.index(f"{side}_{joint}") for side in ("left", "right") for joint in ("knee", "ankle")]
_ESTIMATOR = ("tilt", "noise", "drift", "dropout", "phase")


class ChangedMotion(NamedTuple):
    """A changed dance, and where in the dance it lies."""

    motion: Motion
    span: Span


class MotionChange(NamedTuple):
    """A kind of change; `seconds` is the length of an excerpt."""

    summary: str
    apply: Callable[[Motion, float, np.random.Generator], ChangedMotion]


def _perturb(*names: str) -> Callable[[Motion, float, np.random.Generator], ChangedMotion]:
    def apply(motion: Motion, _seconds: float, rng: np.random.Generator) -> ChangedMotion:
        changed = motion
        for name in names:
            changed = perturb(changed, name, seed=int(rng.integers(1 << 31)))
        return ChangedMotion(changed, motion.span)

    return apply


def _mirror(motion: Motion, _seconds: float, _rng: np.random.Generator) -> ChangedMotion:
    return ChangedMotion(mirror(motion), motion.span)


def _cut_excerpt(motion: Motion, seconds: float, rng: np.random.Generator) -> ChangedMotion:
    span = draw_span(motion, seconds, rng)
    start = motion.start + span.start
    part = excerpt(motion, span.start, span.end)
    return ChangedMotion(part, Span(start, start + min(seconds, motion.seconds)))


def _hide_legs(motion: Motion, _seconds: float, _rng: np.random.Generator) -> ChangedMotion:
    joints = motion.joints.copy()
    joints[:, _LEGS] = np.nan
    upper_body = Motion(joints, motion.fps, motion.skeleton, motion.visibility, motion.start)
    return ChangedMotion(upper_body, motion.span)


def _film_by_phone(motion: Motion, seconds: float, rng: np.random.Generator) -> ChangedMotion:
    part, span = _cut_excerpt(motion, seconds, rng)
    part = mirror(part) if rng.random() < 0.5 else part
    return ChangedMotion(_perturb(*_ESTIMATOR, "tempo")(part, seconds, rng).motion, span)


CHANGES: Mapping[str, MotionChange] = MappingProxyType(
    {
        "none": MotionChange("as it was added", _perturb()),
        "tilt": MotionChange("the camera up to 10 degrees off level", _perturb("tilt")),
        "noise": MotionChange("every joint trembles by 1.5 cm", _perturb("noise")),
        "drift": MotionChange("every joint wanders by 3 cm", _perturb("drift")),
        "dropout": MotionChange("each joint unseen a tenth of the time", _perturb("dropout")),
        "tempo": MotionChange("a fifth faster or slower", _perturb("tempo")),
        "phase": MotionChange("begun up to a tenth of a second later", _perturb("phase")),
        "mirror": MotionChange("left and right exchanged", _mirror),
        "upper-body": MotionChange("legs never seen", _hide_legs),
        "excerpt": MotionChange("some seconds from anywhere in it", _cut_excerpt),
        "estimator": MotionChange("tilt, noise, drift, dropout and phase at once", _perturb(*_ESTIMATOR)),
        "phone": MotionChange(
            "an excerpt, every second one mirrored, by an estimator, at another tempo", _film_by_phone
        ),
    }
)
