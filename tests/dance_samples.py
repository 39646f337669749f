"""Builders of dances, words and small models for the tests from the nouns to the command line."""

import hashlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from dancematch import formats
from dancematch.catalogue.records import Dance, NewRecording, Recording
from dancematch.model.kmeans import KMeansTokeniser
from dancematch.model.patches import PatchTokeniser
from dancematch.model.tokeniser import load_background, load_model, save_model
from dancematch.pose.track import Track
from dancematch.skeletons import BODY15
from dancematch.synthetic.dance.choreography import Dancer, compose_dance, perform
from dancematch.training.background import pick_background
from dancematch.training.kmeans import fit_kmeans
from dancematch.types import Codebook, Fingerprint, Motion

SECONDS_PER_WORD = 0.5
MODEL = "toy"
LEGS = ("left_knee", "left_ankle", "right_knee", "right_ankle")


@cache
def dance(seed: int, dancer: int | None = None, eight_counts: int = 2) -> Motion:
    """A procedural dance, by the plain dancer or by somebody in particular."""
    who = Dancer() if dancer is None else Dancer.random(dancer)
    return perform(compose_dance(seed, eight_counts=eight_counts), who)


def digest(text: object) -> str:
    """The SHA-256 of a text: what stands for a recording's content."""
    return hashlib.sha256(str(text).encode()).hexdigest()


def recorded(
    name: str,
    file: str,
    content: str,
    seconds: float = 0.0,
    label: str | None = None,
    collection: str | None = None,
    added: str = "",
) -> NewRecording:
    """A dance with one recording, to be stored."""
    labels = () if label is None else (label,)
    dance = Dance(name, labels=labels, collection=collection, added=added)
    return NewRecording(dance, Recording(content, file, seconds, added=added))


def without(motion: Motion, joints: Sequence[str]) -> Motion:
    """The same motion, these joints never seen."""
    places = motion.joints.copy()
    places[:, [motion.skeleton.index(joint) for joint in joints]] = np.nan
    return Motion(places, motion.fps, motion.skeleton, start=motion.start)


def standing(frames: int, fps: float = 30.0) -> Motion:
    """Somebody who stands as still as a photograph."""
    first = dance(0).joints[:1]
    return Motion(np.repeat(first, frames, axis=0), fps, BODY15)


def hardly_moving(frames: int, metres: float = 0.1) -> Motion:
    """Somebody who stands, one hand going so far up and down."""
    still = standing(frames)
    joints = still.joints.copy()
    joints[:, BODY15.index("left_wrist"), 1] += metres * np.sin(np.arange(frames) / 10)
    return Motion(joints, still.fps, BODY15)


@cache
def shipped() -> PatchTokeniser:
    """The model that users get."""
    return load_model()


@cache
def shipped_background() -> list[Fingerprint]:
    return load_background(shipped())


@cache
def small_model(seed: int = 0, vocabulary: int = 16) -> KMeansTokeniser:
    """A model fitted in a moment."""
    return fit_kmeans([dance(number) for number in range(4)], vocabulary=vocabulary, seed=seed)


def save_small_model(folder: Path) -> KMeansTokeniser:
    model = small_model()
    save_model(model, folder, pick_background(model, [[dance(number) for number in range(4)]]))
    return model


def write_dance(path: Path, seed: int, dancer: int | None = None, eight_counts: int = 2) -> Path:
    """Keep a procedural dance in a motion file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    formats.write(path, [dance(seed, dancer, eight_counts)])
    return path


def words(rows: object, *, vocabulary: int = 8, start: float = 0.0, visibility: object = None) -> Fingerprint:
    """A fingerprint of the toy model: a row a step, a number a channel."""
    return Fingerprint(
        np.asarray(rows),
        vocabulary,
        SECONDS_PER_WORD,
        MODEL,
        start,
        visibility,  # type: ignore[arg-type]
    )


def random_words(steps: int, seed: int, *, channels: int = 2, vocabulary: int = 8) -> Fingerprint:
    rng = np.random.default_rng(seed)
    return words(rng.integers(vocabulary, size=(steps, channels)), vocabulary=vocabulary)


def toy_codebook(channels: Sequence[str] = ("arms", "legs"), vocabulary: int = 8) -> Codebook:
    """Words that are alike only to themselves."""
    count = len(channels)
    return Codebook(
        MODEL,
        tuple(channels),
        np.tile(np.eye(vocabulary, dtype=np.float32), (count, 1, 1)),
        np.tile(np.eye(vocabulary, dtype=np.float32), (count, 1, 1)),
    )


class Puppet:
    """Stands in for a pose estimator: a "video" is a text that says what is to be seen in it."""

    name = "puppet"

    def tracks(self, path: Path, *, on_frame: Callable[[float], None] | None = None) -> list[Track]:
        """Somebody who dances the dance of that number; "nobody"; or trouble.

        "deadly" ends the process, "endless" never comes to an end by itself.
        """
        told = path.read_text(encoding="utf-8")
        if told == "deadly":
            os.kill(os.getpid(), signal.SIGKILL)
        if told == "nobody":
            return []
        while told == "endless" and on_frame is not None:
            time.sleep(0.01)
            on_frame(0.1)
        if on_frame is not None:
            on_frame(0.5)
        seen = dance(int(told))
        times = np.arange(len(seen.joints)) / seen.fps
        return [Track(1, times, seen.joints, None, seen.visibility, seen.skeleton)]


def write_puppets(folder: Path, **tales: object) -> list[Path]:
    """Write "videos" for `Puppet`: name = what is to be seen."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, tale in tales.items():
        (folder / f"{name}.mp4").write_text(str(tale), encoding="utf-8")
    return [folder / f"{name}.mp4" for name in tales]
