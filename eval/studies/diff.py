"""How often does the diff of two choreographies say what became of a unit of four counts?

    dancematch extract REAL/dances/DANCE/*.mp4 -o SKELETONS/dances/DANCE
    python eval/studies/diff.py AISTPP_FOLDER REAL SKELETONS [--motions 30] [--seed 0]

Pairs of one dance with a known time lag: an advanced AIST++ sequence beside itself with an estimator's noise,
a basic one by two dancers to one music, and real clips of two people (REAL has an index.csv with lags; pairs
whose skeletons are not in SKELETONS are passed over). Each pair is taken as it is, and with one edit of the
clip, so that what became of each unit is known. Basic dances are loops, which two dancers need not begin
together: these are not edited. Prints one JSON line per kind of pairs and edit.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np

from dancematch import formats
from dancematch.evaluation.real.clip_index import read_index
from dancematch.formats.motion_capture.aist_names import list_sequences, parse_name
from dancematch.model.tokeniser import load_background, load_model
from dancematch.motion import CANONICAL, canonicalise, into_world, mirror, perturb
from dancematch.pipeline.counts.counts import Counted, Counts, units_of
from dancematch.pipeline.counts.movement import count_dance
from dancematch.pipeline.counts.music import count_music
from dancematch.pipeline.query import query_of_motions
from dancematch.report.compare import bone_directions, compare
from dancematch.report.diff import UNIT_BEATS, UNIT_SECONDS
from dancematch.report.lesson import Lesson, make_lesson
from dancematch.types import Motion, Span

MODEL = load_model()
BACKGROUND = load_background(MODEL)
SHOWN_DEGREES = 25.0  # by which an edit changes the limbs that it is about, at least
CUT_UNITS = 2  # at an end
LEAST_UNITS = 6  # of a dance that is cut at an end
LIMBS = {
    "arms": (("shoulder", "elbow"), ("elbow", "wrist")),
    "legs": (("hip", "knee"), ("knee", "ankle")),
}
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


@dataclass(frozen=True, eq=False)
class Pair:
    """Two performances of one dance, both canonical."""

    clip: Motion
    reference: Motion
    lag: float  # time in the clip minus time in the reference
    counted: Counted  # of the reference

    @property
    def units(self) -> list[Span]:
        """The units of the reference, as the diff cuts them."""
        return list(units_of(self.counted.counts, self.reference.span, UNIT_BEATS, UNIT_SECONDS))

    def frames(self, unit: Span) -> slice:
        """The frames of the clip in which a unit is danced."""
        return slice(*(self.frame(time) for time in (unit.start, unit.end)))

    def frame(self, time: float) -> int:
        """The frame of the clip at a time of the reference."""
        frame = round((time + self.lag - self.clip.start) * self.clip.fps)
        return min(max(frame, 0), len(self.clip.joints))

    def shows(self, unit: Span) -> bool:
        """Whether the clip lasts over most of the unit."""
        frames = self.frames(unit)
        return (frames.stop - frames.start) / self.clip.fps > 0.5 * unit.seconds


# ---- pairs


def true_counts(music: str, motion: Motion) -> Counted:
    """The counts of an AIST++ sequence, whose music has a known tempo and begins with it."""
    number = int(music[-1])
    bpm = 110.0 + 5 * number if music.startswith("HO") else 80.0 + 10 * number
    return Counted(Counts(bpm, motion.start, motion.span.end, 1.0, "music"))


def advanced_pairs(folder: Path, count: int, rng: np.random.Generator) -> Iterator[Pair]:
    """Advanced AIST++ sequences beside themselves with noise and drift."""
    named = [(name, path) for path in list_sequences(folder) if (name := parse_name(path.stem))]
    named = [one for one in named if one[0].kind == "FM"]
    for number in rng.permutation(len(named))[:count]:
        name, path = named[number]
        motion = formats.read(path)[0]
        noisy = perturb(perturb(motion, "noise", seed=int(number)), "drift", seed=int(number))
        yield Pair(canonicalise(noisy), canonicalise(motion), 0.0, true_counts(name.music, motion))


def basic_pairs(folder: Path, count: int, rng: np.random.Generator) -> Iterator[Pair]:
    """A basic AIST++ dance by two dancers to one music."""
    named = [(name, path) for path in list_sequences(folder) if (name := parse_name(path.stem))]
    named = [one for one in named if one[0].kind == "BM"]
    for number in rng.permutation(len(named))[:count]:
        name, path = named[number]
        same = [
            other for n, other in named
            if (n.genre, n.choreography, n.music) == (name.genre, name.choreography, name.music)
            and n.dancer != name.dancer
        ]  # fmt: skip
        if same:
            motion, other = (formats.read(one)[0] for one in (path, same[int(rng.integers(len(same)))]))
            yield Pair(canonicalise(other), canonicalise(motion), 0.0, true_counts(name.music, motion))


def real_pairs(folder: Path, skeletons: Path) -> Iterator[Pair]:
    """Real clips of one dance by two people, each beside the other."""
    clips = [
        clip for clip in read_index(folder)
        if clip.lag_seconds is not None and (skeletons / clip.file).with_suffix(".npz").exists()
    ]  # fmt: skip
    for one, other in permutations(clips, 2):
        if one.dance == other.dance and not one.is_copy_of(other):
            both = [formats.read((skeletons / clip.file).with_suffix(".npz")) for clip in (one, other)]
            own, theirs = (query_of_motions(motions, MODEL, "a clip").dancers for motions in both)
            found = compare(own, theirs, MODEL, BACKGROUND)
            if not found.same:
                continue
            known = next(d.motion for d in theirs if d.dancer == found.match.reference_dancer)
            counted = count_dance(known, count_music(folder / other.file))
            lag = one.lag_seconds - other.lag_seconds
            yield Pair(found.query_motion, found.reference_motion, lag, counted)


# ---- edits: of the clip, in the frames of one unit; None where that would not be seen


def splice(motion: Motion, *parts: Motion) -> Motion:
    """Parts one after the other, from the time at which the motion starts."""
    joints = np.concatenate([part.joints for part in parts])
    visibility = np.concatenate([part.visibility for part in parts])
    return Motion(joints, motion.fps, motion.skeleton, visibility, start=motion.start)


def take(motion: Motion, frames: slice) -> Motion:
    """Some frames of a motion."""
    return Motion(motion.joints[frames], motion.fps, motion.skeleton, motion.visibility[frames])


def put(motion: Motion, frames: slice, part: Motion) -> Motion:
    """The motion with other frames at a place."""
    joints, visibility = motion.joints.copy(), motion.visibility.copy()
    joints[frames], visibility[frames] = part.joints, part.visibility
    return Motion(joints, motion.fps, motion.skeleton, visibility, start=motion.start)


def exchange(part: Motion, limbs: str) -> Motion:
    """The same with what the left limb does done by the right one, and the other way round."""
    joints, visibility = part.joints.copy(), part.visibility.copy()
    for near, far in LIMBS[limbs]:
        for side, other in (("left", "right"), ("right", "left")):
            start, end = (CANONICAL.index(f"{side}_{joint}") for joint in (near, far))
            from_, to = (CANONICAL.index(f"{other}_{joint}") for joint in (near, far))
            bone = part.joints[:, to] - part.joints[:, from_]
            joints[:, end] = joints[:, start] + bone * np.array([-1, 1, 1], np.float32)
            visibility[:, end] = part.visibility[:, to]
    return Motion(joints, part.fps, part.skeleton, visibility)


def hide(part: Motion) -> Motion:
    """The same with arms and legs not seen."""
    joints = part.joints.copy()
    for ends in LIMBS.values():
        for _, joint in ends:
            for side in ("left", "right"):
                joints[:, CANONICAL.index(f"{side}_{joint}")] = np.nan
    return Motion(joints, part.fps, part.skeleton)


def degrees_apart(one: Motion, other: Motion) -> float:
    """Mean over the bones that differ."""
    cosines = (bone_directions(one.joints[:, 1:]) * bone_directions(other.joints[:, 1:])).sum(axis=2)
    angles = np.degrees(np.arccos(np.clip(cosines, -1, 1)))
    changed = angles[np.isfinite(angles) & (angles > 1.0)]
    return float(changed.mean()) if len(changed) else 0.0


Edit = Callable[[Pair, int], tuple[Motion, set[int]] | None]  # the clip, and the units that are edited


def replace_unit(change: Callable[[Motion], Motion], *, seen: bool = True) -> Edit:
    """The edit that changes the frames of a unit; where it must be seen, by enough degrees."""

    def edit(pair: Pair, unit: int) -> tuple[Motion, set[int]] | None:
        frames = pair.frames(pair.units[unit])
        part = take(pair.clip, frames)
        other = change(part)
        if seen and degrees_apart(part, other) < SHOWN_DEGREES:
            return None
        return put(pair.clip, frames, other), {unit}

    return edit


def remove_unit(pair: Pair, unit: int) -> tuple[Motion, set[int]]:
    """Cut the unit out."""
    frames, clip = pair.frames(pair.units[unit]), pair.clip
    return splice(clip, take(clip, slice(frames.start)), take(clip, slice(frames.stop, None))), {unit}


def swap_units(pair: Pair, unit: int) -> tuple[Motion, set[int]] | None:
    """Let the unit and the next one change places."""
    if unit + 2 >= len(pair.units):
        return None
    first, second = (pair.frames(one) for one in pair.units[unit : unit + 2])
    clip = pair.clip
    order = (slice(first.start), second, first, slice(second.stop, None))
    return splice(clip, *(take(clip, frames) for frames in order)), {unit, unit + 1}


def start_later(pair: Pair, _unit: int) -> tuple[Motion, set[int]] | None:
    """Cut the first units off."""
    if len(pair.units) < LEAST_UNITS:
        return None
    at = pair.frame(pair.units[CUT_UNITS].start)
    return take(pair.clip, slice(at, None)), set(range(CUT_UNITS))


def end_earlier(pair: Pair, _unit: int) -> tuple[Motion, set[int]] | None:
    """Cut the last units off."""
    units = pair.units
    if len(units) < LEAST_UNITS:
        return None
    at = pair.frame(units[-CUT_UNITS].start)
    return splice(pair.clip, take(pair.clip, slice(at))), set(range(len(units) - CUT_UNITS, len(units)))


def stand_at_first(pair: Pair, _unit: int) -> tuple[Motion, set[int]] | None:
    """Let the dancer wait over the first units."""
    if len(pair.units) < LEAST_UNITS:
        return None
    at = pair.frame(pair.units[CUT_UNITS].start)
    still = take(pair.clip, slice(at, at + 1))
    return splice(pair.clip, *[still] * at, take(pair.clip, slice(at, None))), set(range(CUT_UNITS))


DANCED = {"kept", "changed"}
EDITS: dict[str, tuple[Edit, set[str]]] = {
    "none": (lambda pair, _unit: (pair.clip, set()), DANCED),
    "removed": (remove_unit, {"left out"}),
    "swapped": (swap_units, {"moved"}),
    "mirrored": (replace_unit(mirror), {"mirrored"}),
    "arms exchanged": (replace_unit(lambda part: exchange(part, "arms")), {"arms exchanged"}),
    "legs exchanged": (replace_unit(lambda part: exchange(part, "legs")), {"legs exchanged"}),
    "limbs unseen": (replace_unit(hide, seen=False), {"hardly seen"}),
    "starts later": (start_later, {"not shown"}),
    "ends earlier": (end_earlier, {"not shown"}),
    "waits at first": (stand_at_first, {"left out", "changed"}),
}


# ---- measures


def teach(pair: Pair, clip: Motion) -> Lesson:
    """The lesson of a pair with an edited clip."""
    own, theirs = (
        query_of_motions([into_world(one)], MODEL, "a clip").dancers for one in (clip, pair.reference)
    )
    found = compare(own, theirs, MODEL, BACKGROUND, mirrored=False)
    return make_lesson(found, theirs, pair.counted)


def label_units(lesson: Lesson, units: Sequence[Span]) -> list[str]:
    """What the diff says of each unit."""
    passages = [line.passage for line in lesson.diff if line.passage.reference is not None]
    return [
        next(one.kind for one in passages if one.reference.end > (unit.start + unit.end) / 2)
        for unit in units
    ]


def name_spans(sentence: str, counts: Counts | None) -> Span | None:
    """The time of the reference that a sentence of practice is about."""
    if counts is None:
        found = re.search(r"from second ([\d.]+) to ([\d.]+)", sentence)
        return Span(float(found[1]), float(found[2])) if found else None
    bars = [ORDINALS.index(one) for one in re.findall(r"the (\w+)(?: eight-count|\b)", sentence)
            if one in ORDINALS]  # fmt: skip
    if not bars:
        return None
    counted = re.findall(r"counts? (\d+)(?:(?:-| and )(\d+))?", sentence)
    first = int(counted[0][0]) if counted else 1
    last = int(counted[-1][1] or counted[-1][0]) if counted else 8
    step = counts.seconds_per_count
    return Span(counts.first + step * (8 * bars[0] + first - 1), counts.first + step * (8 * bars[-1] + last))


def covers(span: Span | None, unit: Span) -> bool:
    """Whether a span and a unit have more than a sliver in common."""
    return span is not None and min(span.end, unit.end) - max(span.start, unit.start) > 0.1


@dataclass
class Tally:
    """The figures of one kind of pairs and one edit."""

    lessons: int = 0
    edited: int = 0
    edited_right: int = 0
    others: int = 0
    others_right: int = 0
    outside: int = 0
    outside_right: int = 0
    practice_first: int = 0
    advice: int = 0
    advice_kept: int = 0

    def __post_init__(self) -> None:
        self.called: Counter[str] = Counter()
        self.others_called: Counter[str] = Counter()

    def add(self, pair: Pair, edited: set[int], truth: set[str], lesson: Lesson) -> None:
        """Count one lesson."""
        units = pair.units
        labels = label_units(lesson, units)
        self.lessons += 1
        chosen = [labels[unit] for unit in sorted(edited)]
        self.called.update(chosen)
        self.edited += len(chosen)
        if truth == {"moved"}:  # one of the two moved, whichever; the other was danced
            right = "moved" in chosen and set(chosen) <= DANCED | {"moved"}
            self.edited_right += len(chosen) * right
        else:
            self.edited_right += sum(label in truth for label in chosen)
        self._count_others(pair, edited, labels)
        self._count_practice(units, labels, edited, lesson)

    def _count_others(self, pair: Pair, edited: set[int], labels: Sequence[str]) -> None:
        for number, (unit, label) in enumerate(zip(pair.units, labels, strict=True)):
            if number in edited:
                continue
            if pair.shows(unit):
                self.others += 1
                self.others_right += label in DANCED
                self.others_called[label] += 1
            else:
                self.outside += 1
                self.outside_right += label == "not shown"

    def _count_practice(
        self, units: Sequence[Span], labels: Sequence[str], edited: set[int], lesson: Lesson
    ) -> None:
        """Whether the first sentence is about the edit; and how many are about what was kept.

        Timing is not counted: what is kept can be late.
        """
        spans = [name_spans(sentence, lesson.counted.counts) for sentence in lesson.practice]
        self.practice_first += bool(spans) and any(covers(spans[0], units[unit]) for unit in edited)
        if set(labels) == {"kept"}:
            return
        for sentence, span in zip(lesson.practice, spans, strict=True):
            about = [label for unit, label in zip(units, labels, strict=True) if covers(span, unit)]
            if not sentence.startswith(("You are late", "You are early")):
                self.advice += 1
                self.advice_kept += bool(about) and set(about) == {"kept"}


def measure(kind: str, pairs: Sequence[Pair], edits: Sequence[str], seed: int) -> None:
    """Print the figures of one kind of pairs, edit by edit."""
    for number, name in enumerate(edits):
        edit, truth = EDITS[name]
        tally, rng = Tally(), np.random.default_rng([seed, number])
        for pair in pairs:
            inside = [n for n, unit in enumerate(pair.units) if pair.shows(unit)][1:-1]
            tried = (edit(pair, int(unit)) for unit in rng.permutation(inside))
            found = next((one for one in tried if one is not None), None)
            if found is not None:
                tally.add(pair, found[1], truth, teach(pair, found[0]))
        print(json.dumps({
            "check": "diff", "pairs_of": kind, "edit": name, "seed": seed, **vars(tally),
            "called": dict(tally.called.most_common()),
            "others_called": dict(tally.others_called.most_common()),
        }), flush=True)  # fmt: skip


def main() -> None:
    """Measure all kinds of pairs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("aistpp", type=Path)
    parser.add_argument("real", type=Path)
    parser.add_argument("skeletons", type=Path)
    parser.add_argument("--motions", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    measure("real clips, two people", list(real_pairs(asked.real, asked.skeletons)), list(EDITS), asked.seed)
    advanced = list(advanced_pairs(asked.aistpp, asked.motions, rng))
    measure("AIST++ advanced, noise", advanced, list(EDITS), asked.seed)
    basic = list(basic_pairs(asked.aistpp, asked.motions, rng))
    measure("AIST++ basic, two dancers", basic, ["none"], asked.seed)


if __name__ == "__main__":
    main()
