"""Small inputs under the names that the documents use: procedural dances in place of videos."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from dance_samples import dance
from dancematch import formats
from dancematch.motion import mirror
from dancematch.types import Motion
from scan_samples import join

CHOREOGRAPHY = 1  # what the class learns, in four eight-counts
CLAIMED = 2  # the dance that was copied, in the lawyer's case
_DEGREES = 30  # by which an arm is held too low


def cut(motion: Motion, start: float, end: float) -> Motion:
    """A part of a motion, by the shares of its length."""
    first, last = (round(share * len(motion.joints)) for share in (start, end))
    return replace(motion, joints=motion.joints[first:last], visibility=motion.visibility[first:last])


def lower_arm(motion: Motion, start: float, end: float) -> Motion:
    """The same motion, the left arm held lower between two shares of its length."""
    names = [motion.skeleton.index(f"left_{joint}") for joint in ("shoulder", "elbow", "wrist")]
    places = motion.joints.copy()
    first, last = (round(share * len(places)) for share in (start, end))
    angle = np.radians(_DEGREES)
    turn = np.array([[np.cos(angle), np.sin(angle), 0], [-np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    shoulder = places[first:last, names[:1]]
    places[first:last, names[1:]] = shoulder + (places[first:last, names[1:]] - shoulder) @ turn.T
    return replace(motion, joints=places)


def teacher_files() -> Iterator[tuple[str, Motion]]:
    """A choreography and a class: one good dancer, one mirrored, one low arm, one bar left out."""
    yield "choreography.npz", dance(CHOREOGRAPHY, eight_counts=4)
    yield "class/anna.npz", dance(CHOREOGRAPHY, dancer=3, eight_counts=4)
    yield "class/ben.npz", mirror(dance(CHOREOGRAPHY, dancer=8, eight_counts=4))
    yield "class/carla.npz", lower_arm(dance(CHOREOGRAPHY, dancer=5, eight_counts=4), 0.25, 0.5)
    whole = dance(CHOREOGRAPHY, dancer=7, eight_counts=4)
    yield "class/dora.npz", join([cut(whole, 0, 0.5), cut(whole, 0.75, 1)])


def lawyer_files() -> Iterator[tuple[str, Motion]]:
    """A dance, a repertoire, and another dance into which an eight-count of the first was put."""
    yield "original.npz", dance(CLAIMED, eight_counts=4)
    for number in range(20, 26):
        yield f"repertoire/dance-{number}.npz", dance(number, dancer=number)
    copied, other = (dance(seed, dancer=9, eight_counts=4) for seed in (CLAIMED, 60))
    yield "passage.npz", cut(copied, 0.25, 0.5)
    yield "advert.npz", join([cut(other, 0, 0.5), cut(copied, 0.25, 0.5), cut(other, 0.5, 1)])


def archive_files() -> Iterator[tuple[str, Motion]]:
    """Dances by folder, one of them twice, two in a table; videos without a name; an evening."""
    for number, name in enumerate(("waltz", "bolero", "salsa"), start=1):
        yield f"known/{name}/{name}-1.npz", dance(number)
    yield "known/waltz/waltz-2.npz", dance(1, dancer=4)
    yield "known/walz (copy)/waltz.npz", dance(1, dancer=6)
    yield "known/farandole/farandole.npz", dance(33)
    yield "more/tango-1987.npz", dance(31)
    yield "more/reel-1991.npz", dance(32)
    yield "inbox/0001.npz", dance(2, dancer=5)
    yield "inbox/0002.npz", dance(3, dancer=7)
    yield "inbox/0003.npz", dance(44, dancer=7)
    yield "gala.npz", join([dance(1, dancer=5), dance(3, dancer=7)])


def guide_files() -> Iterator[tuple[str, Motion]]:
    """Some dances, and a clip of the first by another dancer."""
    for number in range(1, 4):
        yield f"dances/dance-{number}.npz", dance(number)
    yield "phone.npz", dance(1, dancer=5)
    yield "unknown.npz", dance(45, dancer=6)


FILES: dict[str, Callable[[], Iterator[tuple[str, Motion]]]] = {
    "teacher": teacher_files,
    "lawyer": lawyer_files,
    "archive": archive_files,
}


def write_files(page: str, folder: Path) -> None:
    """Write what the page of that name speaks of into a folder."""
    for name, motion in FILES.get(page, guide_files)():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        formats.write(path, [motion])
