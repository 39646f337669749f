from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dancematch.model.tokeniser import load_background, load_model
from dancematch.motion import canonicalise, mirror
from dancematch.pipeline.counts.counts import Counted, Counts
from dancematch.pipeline.query import query_of_motions
from dancematch.report.compare import compare
from dancematch.report.diff import diff_dances
from dancematch.report.diff_plot import draw_diff
from dancematch.report.lesson import make_lesson
from dancematch.skeletons import BODY15
from dancematch.synthetic.dance.choreography import Dancer, compose_dance, perform
from dancematch.types import Motion

BPM = 110.0
# Four bars of two moves, no two bars alike and none its own mirror image.
BARS = [[replace(move, turn=0.0) for move in compose_dance(seed).moves[:2]] for seed in (1, 4, 6, 9)]
OTHER = compose_dance(20).moves


def choreography(*bars):
    return replace(compose_dance(1), moves=tuple(move for bar in bars for move in bar), bpm=BPM)


def flip(bar):
    return [replace(move, mirrored=not move.mirrored) for move in bar]


@cache
def reference() -> Motion:
    return canonicalise(perform(choreography(*BARS)))


def diff(*bars, dancer=3, turned=False):
    """What another dancer, at another tempo, does with the dance of `BARS`."""
    who = Dancer.random(dancer)
    clip = canonicalise(perform(choreography(*bars), who))
    return told(mirror(clip) if turned else clip, who.tempo)


def told(clip: Motion, tempo: float = 1.0):
    """The diff of a canonical clip: what became of each passage, its counts, the parts that were changed."""
    counts = Counts(BPM, 0.0, reference().seconds, 1.0, "movement")
    found = diff_dances(clip, reference(), [tempo, 1.0], counts)
    return [(one.kind, one.reference and counts.describe(one.reference), one.parts) for one in found]


def test_a_dance_by_another_dancer_is_kept():
    assert [("kept", "bars 1-4", ())] == diff(*BARS)


@settings(max_examples=8, deadline=None)
@given(st.sets(st.integers(0, 3), max_size=2))
def test_bars_that_are_cut_out_in_between_are_left_out_and_those_at_the_ends_are_not_shown(missing):
    found = diff(*(bar for number, bar in enumerate(BARS) if number not in missing))
    gone = {name: kind for kind, name, _ in found if kind != "kept"}
    inside = [number for number in range(4) if number not in missing]
    kinds = {
        number: "left out" if inside[0] < number < inside[-1] else "not shown" for number in sorted(missing)
    }
    named = {f"bar {number + 1}": kind for number, kind in kinds.items()}
    if len(missing) == 2 and max(missing) - min(missing) == 1:
        named = {f"bars {min(missing) + 1}-{max(missing) + 1}": kinds[min(missing)]}

    assert named == gone


def test_what_a_clip_shows_before_and_after_the_reference_is_not_shown_in_it():
    assert [("not shown", None, ()), ("kept", "bars 1-4", ()), ("not shown", None, ())] == diff(
        OTHER[:2], *BARS, OTHER[2:4]
    )


def test_what_a_clip_is_too_short_for_is_not_kept():
    """Of a clip that ends, or begins, within four counts, only what it shows is kept."""
    clip = reference()
    cut = round(1.0 * clip.fps)
    counts = Counts(BPM, 0.0, clip.seconds, 1.0, "movement")
    for joints, shown in (
        (clip.joints[:-cut], (0.0, clip.seconds - 1)),
        (clip.joints[cut:], (1, clip.seconds)),
    ):
        found = diff_dances(Motion(joints, clip.fps, clip.skeleton), clip, [1.0], counts)
        (kept,) = [one.reference for one in found if one.kind == "kept"]
        (missing,) = [one.reference for one in found if one.kind == "not shown"]

        assert pytest.approx(shown, abs=0.2) == (kept.start, kept.end)
        assert pytest.approx(clip.seconds, abs=1e-6) == kept.seconds + missing.seconds


def test_a_dancer_who_waits_at_first_leaves_the_beginning_out():
    clip = reference()
    begin = round(8 * 60 / BPM * clip.fps)
    joints = np.concatenate([np.repeat(clip.joints[begin : begin + 1], begin, axis=0), clip.joints[begin:]])
    found = told(Motion(joints, clip.fps, clip.skeleton))

    assert [("left out", "bar 1"), ("kept", "bars 2-4")] == [one[:2] for one in found]


# Of the legs, the first half of the bar is symmetric.
@pytest.mark.parametrize(
    ("limbs", "joints", "where"),
    [("arms", ("elbow", "wrist"), "bar 2"), ("legs", ("knee", "ankle"), "counts 5-8 of bar 2")],
)
def test_a_bar_with_the_other_arm_or_leg_is_exchanged_and_not_mirrored(limbs, joints, where):
    clip, turned = reference(), mirror(reference())
    root = "shoulder" if limbs == "arms" else "hip"
    places = clip.joints.copy()
    bar = slice(*(round(beats * 60 / BPM * clip.fps) for beats in (8, 16)))
    for side in ("left", "right"):
        hold = clip.skeleton.index(f"{side}_{root}")
        for joint in joints:
            moved = clip.skeleton.index(f"{side}_{joint}")
            places[bar, moved] = clip.joints[bar, hold] + turned.joints[bar, moved] - turned.joints[bar, hold]
    found = told(Motion(places, clip.fps, clip.skeleton))

    assert [(f"{limbs} exchanged", where)] == [one[:2] for one in found if one[0] != "kept"]


def test_a_bar_in_which_arms_and_legs_are_not_seen_is_not_judged():
    clip = reference()
    joints = clip.joints.copy()
    limbs = [
        clip.skeleton.index(f"{side}_{joint}")
        for side in ("left", "right")
        for joint in ("elbow", "wrist", "knee", "ankle")
    ]
    bar = slice(*(round(beats * 60 / BPM * clip.fps) for beats in (8, 16)))
    joints[bar, limbs] = np.nan

    assert ("hardly seen", "bar 2", ()) in told(Motion(joints, clip.fps, clip.skeleton))


def test_bars_that_change_places_are_moved():
    first, second, third, fourth = BARS

    assert [
        ("kept", "bar 1", ()),
        ("kept", "bar 2", ()),
        ("moved", "bar 3", ()),
        ("kept", "bar 4", ()),
    ] == diff(first, third, second, fourth)


def test_a_bar_on_the_other_side_is_mirrored():
    first, second, third, fourth = BARS

    assert [("kept", "bar 1", ()), ("mirrored", "bar 2", ()), ("kept", "bars 3-4", ())] == diff(
        first, flip(second), third, fourth
    )


def test_other_arms_in_half_a_bar_are_a_change_of_the_arms():
    first, second, (before, changed), fourth = BARS
    found = diff(first, second, [before, replace(changed, arms=OTHER[0].arms)], fourth)
    kept, change, rest = found

    assert ("kept", "bar 1, count 1 to bar 3, count 4", ()) == kept
    assert ("changed", "counts 5-8 of bar 3") == change[:2]
    assert {"left arm", "right arm"} >= set(change[2]) > set()
    assert ("kept", "bar 4", ()) == rest


def test_a_bar_in_between_is_added():
    first, second, third, fourth = BARS

    assert [("kept", "bars 1-2", ()), ("added", None, ()), ("kept", "bars 3-4", ())] == diff(
        first, second, OTHER[:2], third, fourth
    )


def test_without_counts_and_without_movement_there_is_a_diff_still():
    still = Motion(np.repeat(reference().joints[:1], 90, axis=0), 30, reference().skeleton)
    found = diff_dances(still, reference(), [1.0], None)

    assert reference().seconds == pytest.approx(sum(one.reference.seconds for one in found if one.reference))


# ---- lessons


@cache
def model():
    tokeniser = load_model()
    return tokeniser, load_background(tokeniser)


def lesson(clip: Motion, known: Motion, music: Counted | None = None):
    tokeniser, background = model()
    own, theirs = (list(query_of_motions([one], tokeniser, "a clip").dancers) for one in (clip, known))
    return make_lesson(compare(own, theirs, tokeniser, background), theirs, music)


def point_left_arm(joints: np.ndarray, frames: slice, up: float) -> None:
    shoulder = joints[frames, BODY15.index("left_shoulder")]
    for joint, length in (("left_elbow", 0.28), ("left_wrist", 0.53)):
        joints[frames, BODY15.index(joint)] = shoulder + np.array([0, up * length, 0], np.float32)


def lower_left_arm(motion: Motion, start: float, end: float) -> Motion:
    """The same, the left arm hanging down from `start` to `end` seconds."""
    joints = motion.joints.copy()
    frames = slice(round(start * motion.fps), round(end * motion.fps))
    point_left_arm(joints, frames, -1)
    return Motion(joints, motion.fps, motion.skeleton)


@pytest.fixture(scope="module")
def raised():
    """A dance whose arms are up in the second bar, and its counts."""
    motion = perform(choreography(*BARS))
    joints = motion.joints.copy()
    frames = slice(round(6.54 * 30), round(7.64 * 30))  # counts 5 and 6 of bar 2
    point_left_arm(joints, frames, 1)
    counts = Counts(BPM, 0.0, motion.seconds, 1.0, "music")
    return Motion(joints, motion.fps, motion.skeleton), Counted(counts)


@pytest.mark.parametrize(("turned", "side"), [(False, "left"), (True, "right")])
def test_a_student_is_told_what_to_raise_and_when(raised, turned, side):
    """Of a mirrored clip the sides are the student's own."""
    known, counted = raised
    clip = lower_left_arm(known, 6.54, 7.64)
    found = lesson(mirror(clip) if turned else clip, known, counted)

    assert turned == found.comparison.match.mirrored
    assert 3 >= len(found.practice) >= 1
    assert found.practice[0].startswith(f"Raise your {side} ")
    assert found.practice[0].endswith("higher in counts 5 and 6 of the second eight-count.")


def test_a_lesson_is_told_drawn_and_has_its_beats_on_both_clocks(raised, tmp_path):
    known, counted = raised
    found = lesson(lower_left_arm(known, 6.54, 7.64), known, counted)
    told = found.described()
    draw_diff(tmp_path / "diff.svg", found, clip="mine", reference="hers")

    assert [
        "Bar 1, count 1 to bar 2, count 4 kept.",
        "Counts 5-8 of bar 2 changed: left arm.",
        "Bars 3-4 kept.",
    ] == [line["text"] for line in told["diff"]]
    assert {"bar": 1, "count": 2, "reference": 0.545} == {
        name: told["beats"][1][name] for name in ("bar", "count", "reference")
    }
    assert 0.545 == pytest.approx(told["beats"][1]["query"], abs=0.1)
    assert "music of the reference at 110 beats per minute" in found.counted_by
    assert "To practise" in (tmp_path / "diff.svg").read_text(encoding="utf-8")


def test_of_two_dances_there_is_nothing_to_practise():
    found = lesson(perform(compose_dance(31)), perform(choreography(*BARS)))

    assert (False, ()) == (found.comparison.same, found.practice)


def test_tendencies_never_say_too_to(raised):
    known, counted = raised
    moments = lesson(lower_left_arm(known, 6.54, 7.64), known, counted).comparison.worst
    said = {bone.tendency for moment in moments for bone in moment.bones}

    assert said <= {"", "low", "high", "far back", "far forward", "far to the left", "far to the right"}
