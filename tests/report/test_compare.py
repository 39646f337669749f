import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from cli_samples import run_main
from dance_samples import LEGS, dance, shipped, shipped_background, without, write_dance
from dancematch import formats
from dancematch.errors import NoDancerError
from dancematch.motion import change_tempo, excerpt, mirror
from dancematch.pipeline.query import query_of_motions
from dancematch.report.compare import BONES, WORST_MOMENTS, Comparison, bone_directions, compare
from dancematch.report.compare_page import summarise, write_comparison
from dancematch.report.lesson import make_lesson
from dancematch.skeletons import BODY15
from dancematch.types import Motion

ARM = ("left_elbow", "left_wrist")
PNG = b"\x89PNG\r\n\x1a\n"


def beside(clip: Motion, reference: Motion, *, mirrored: bool | None = None) -> Comparison:
    return compare(
        query_of_motions([clip], shipped(), "clip").dancers,
        query_of_motions([reference], shipped(), "reference").dancers,
        shipped(), shipped_background(), mirrored=mirrored,
    )  # fmt: skip


@cache
def teacher() -> Motion:
    return dance(5, eight_counts=3)


def with_arm_down(motion: Motion, start: float, end: float) -> Motion:
    """The same, the left arm hanging straight down for a while."""
    joints = motion.joints.copy()
    frames = slice(round(start * motion.fps), round(end * motion.fps))
    shoulder = joints[frames, BODY15.index("left_shoulder")]
    for joint, metres in zip(ARM, (0.28, 0.53), strict=True):
        joints[frames, BODY15.index(joint)] = shoulder - np.array([0, metres, 0])
    return Motion(joints, motion.fps, motion.skeleton)


def late_by(motion: Motion, seconds: float, start: float, end: float) -> Motion:
    """The same, from `start` to `end` done later; the ways there and back take a second."""
    times = np.arange(len(motion.joints)) / motion.fps
    shift = np.interp(times, [start - 1, start, end, end + 1], [0, seconds, seconds, 0])
    frames = np.clip(np.round((times - shift) * motion.fps), 0, len(times) - 1).astype(int)
    return Motion(motion.joints[frames], motion.fps, motion.skeleton)


def test_a_performance_does_not_differ_from_itself():
    found = beside(teacher(), teacher())

    assert (False, 1.0) == (found.match.mirrored, pytest.approx(found.tempo, abs=1e-6))
    assert 0.0 == pytest.approx(np.nanmax(found.degrees), abs=0.1)
    assert 0.0 == pytest.approx(np.abs(found.late).max(), abs=1e-6)
    assert () == found.worst


def test_a_turned_moved_and_larger_dancer_does_not_differ():
    """Place, heading and size of the body are no difference."""
    turn = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    other = Motion(1.2 * teacher().joints @ turn.T + np.array([3, 0, -2]), teacher().fps, BODY15)

    assert 0.0 == pytest.approx(np.nanmax(beside(other, teacher()).degrees), abs=0.5)


def test_a_dropped_arm_is_found_when_and_where_it_is():
    found = beside(with_arm_down(teacher(), 5.0, 6.5), teacher())
    worst = max(found.worst, key=lambda moment: moment.degrees)

    assert 5.0 <= worst.query <= 6.5
    assert {"left upper arm", "left forearm"} == {bone.bone for bone in worst.bones[:2]}
    assert {"left upper arm", "left forearm"} == {bone.bone for bone in found.bones[:2]}
    assert "low" in {bone.tendency for bone in worst.bones[:2]}


def test_a_difference_is_the_angle_between_the_bones():
    """Written out for one bone at one moment, from the joints that the comparison itself shows."""
    found = beside(with_arm_down(teacher(), 5.0, 6.5), teacher())
    moment = int(np.abs(found.query - 5.8).argmin())
    shoulder, elbow = (BODY15.index(joint) for joint in BONES["left upper arm"])
    one, other = (joints[moment] for joints in (found.query_joints, found.reference_joints))
    own, theirs = one[elbow] - one[shoulder], other[elbow] - other[shoulder]
    cosine = own @ theirs / np.linalg.norm(own) / np.linalg.norm(theirs)

    expected = np.degrees(np.arccos(cosine))
    assert found.degrees[moment, list(BONES).index("left upper arm")] == pytest.approx(expected, abs=0.1)
    assert np.allclose(1, np.linalg.norm(bone_directions(found.query_joints), axis=2), atol=1e-5)


def test_a_mirrored_performance_is_seen_as_such():
    found = beside(mirror(teacher()), teacher())

    assert found.match.mirrored
    assert np.nanmean(found.degrees) < 0.5


def test_mirroring_can_be_forbidden():
    found = beside(mirror(teacher()), teacher(), mirrored=False)

    assert not found.match.mirrored
    assert np.nanmean(found.degrees) > 10


@pytest.mark.parametrize("tempo", [0.8, 1.25])
def test_another_tempo_is_measured_and_is_no_difference(tempo):
    found = beside(change_tempo(teacher(), tempo), teacher())

    assert found.tempo == pytest.approx(tempo, abs=0.02)
    assert np.nanmean(found.degrees) < 3
    assert np.abs(found.late).max() < 0.15


def test_lateness_is_distinguished_from_difference():
    """Three tenths of a second late for a while: late there, on time elsewhere, and hardly different."""
    found = beside(late_by(teacher(), 0.3, 6, 9), teacher())
    during = (found.reference > 6.5) & (found.reference < 8.5)

    assert 0.3 == pytest.approx(float(np.median(found.late[during])), abs=0.1)
    assert 0.0 == pytest.approx(float(np.median(found.late[found.reference < 4])), abs=0.1)
    assert np.nanmean(found.degrees) < 4


def test_an_excerpt_is_compared_with_its_own_place():
    found = beside(excerpt(teacher(), 4.0, 10.0), teacher())

    assert 4.0 == pytest.approx(found.reference[0] - found.query[0], abs=0.1)
    assert np.nanmean(found.degrees) < 2
    assert (np.diff(found.query) >= 0).all()


def test_what_is_not_seen_is_no_difference():
    """Legs out of the picture: no number is made up for them."""
    found = beside(without(teacher(), LEGS), teacher())
    unseen = [number for number, name in enumerate(BONES) if "thigh" in name or "shin" in name]

    assert np.isnan(found.degrees[:, unseen]).all()
    assert {"thigh", "shin"}.isdisjoint(bone.bone.split()[-1] for bone in found.bones)
    assert np.nanmean(found.degrees) < 2


def test_another_dance_is_far_off_and_no_match():
    near, far = beside(dance(5, dancer=2, eight_counts=3), teacher()), beside(dance(8), teacher())

    assert (True, False) == (near.same, far.same)
    assert ("match", "no match") == (near.verdict, far.verdict)
    assert near.matched > 0.9
    assert np.nanmean(near.degrees) < np.nanmean(far.degrees)
    assert len(far.worst) <= WORST_MOMENTS


def test_a_possible_match_needs_words_that_match_for_long():
    """Words that match are not enough alone; a match needs none."""
    found = beside(dance(5, dancer=2, eight_counts=3), teacher())
    possible = replace(found.match, verdict="possible match", log_ratio=0.5)
    none = replace(found.match, verdict="no match", log_ratio=-1.0)
    match = replace(found.match, verdict="match", log_ratio=3.0)
    verdicts = [
        replace(found, match=one, matched=matched).verdict
        for one, matched in ((possible, 0.9), (possible, 0.1), (none, 0.9), (match, 0.1))
    ]

    assert ["possible match", "no match", "no match", "match"] == verdicts
    short = summarise(replace(found, match=possible, matched=0.1))
    assert (
        "No match: the words match for 10 % of the time, less than the 50 % that a possible match needs."
        in short
    )
    assert "times more likely if both show one dance than if they show two." in short


def test_of_several_dancers_the_best_matching_two_are_compared():
    clip = query_of_motions([dance(8), teacher()], shipped(), "clip").dancers
    reference = query_of_motions([dance(9), teacher()], shipped(), "reference").dancers
    found = compare(clip, reference, shipped(), shipped_background())

    assert (2, 2) == (found.match.dancer, found.match.reference_dancer)
    assert 0.0 == pytest.approx(np.nanmax(found.degrees), abs=0.1)


def test_a_clip_without_a_dancer_is_refused():
    with pytest.raises(NoDancerError, match=r"mine\.mp4"):
        query_of_motions([excerpt(teacher(), 0, 0.1)], shipped(), "mine.mp4")


# ---- the verb


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("compare")
    formats.write(folder / "teacher.npz", [teacher()])
    formats.write(folder / "mine.npz", [with_arm_down(teacher(), 5.0, 6.5)])
    write_dance(folder / "other.npz", 8)
    run_main("add", folder / "dances.db", folder / "teacher.npz", "--dance", "Thriller")
    return folder


def test_comparing_prints_bones_and_moments(folder):
    answer = run_main("compare", folder / "mine.npz", folder / "teacher.npz")

    assert 0 == answer.code
    assert "degrees apart on average" in answer.out
    assert "left forearm" in answer.out
    assert "The moments that differ most" in answer.out
    assert "Counted by the movement of the reference" in answer.out
    assert "The choreography" in answer.out


def test_clips_that_do_not_differ_are_said_not_to(folder):
    """In a sentence, without tables of nothing."""
    answer = run_main("compare", folder / "teacher.npz", folder / "teacher.npz")
    first, second = answer.out.splitlines()

    assert (0, "") == (answer.code, answer.err)
    assert "0 degrees apart on average" in first
    assert "The two do not differ: every bone by less than 1 degree." == second


def test_json_has_one_value_per_moment_for_every_bone(folder):
    (found,) = run_main("compare", folder / "mine.npz", folder / "teacher.npz", "--json").objects
    timeline = found["timeline"]

    assert list(BONES) == list(timeline["degrees"])
    lengths = {len(values) for values in timeline["degrees"].values()}
    assert lengths == {len(timeline["query"])} == {len(timeline["late"])}
    assert 0.1 == pytest.approx(np.diff(timeline["reference"]).mean(), abs=0.01)
    assert found["worst"][0]["bones"]
    assert "match" == found["verdict"]
    assert {"counts", "counts_reason", "beats", "diff", "practice"} == set(found["lesson"])


def test_a_dance_of_a_catalogue_can_be_the_reference(folder):
    answer = run_main(
        "compare", folder / "mine.npz", "Thriller", "--catalogue", folder / "dances.db", "--json"
    )

    assert 0 == answer.code
    assert answer.objects[0]["degrees"] < 10


def test_two_dances_are_no_match_but_are_shown(folder, tmp_path):
    """Bone by bone, without a choreography: nothing was kept or left out of a dance that is not danced."""
    plot = tmp_path / "diff.png"
    answer = run_main("compare", folder / "other.npz", folder / "teacher.npz", "--plot", plot)

    assert 3 == answer.code
    assert "degrees apart" in answer.out
    assert "do not seem to be one dance" in answer.err
    assert f"{plot}: not written" in answer.err
    assert not plot.exists()


@pytest.mark.parametrize("name", ["out.html", "out.png", "out.svg"])
def test_a_page_or_picture_is_written_once(folder, tmp_path, name):
    target = tmp_path / name
    command = ["compare", folder / "mine.npz", folder / "teacher.npz", "--report", target]
    first, size = run_main(*command), target.stat().st_size
    refused = run_main(*command)

    assert (0, 1) == (first.code, refused.code)
    assert "exists already" in refused.err
    assert size == target.stat().st_size > 5000
    assert 0 == run_main(*command, "--force").code


def test_the_page_needs_nothing_beside_it(tmp_path):
    """No address of any other file, and a name cannot break out of where it stands."""
    found = beside(with_arm_down(teacher(), 5.0, 6.5), teacher())
    nasty = "</script><b>&"
    lesson = make_lesson(found, query_of_motions([teacher()], shipped(), "reference").dancers)
    write_comparison(tmp_path / "page.html", lesson, clip=nasty, reference="teacher")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'application/json">(.*?)</script>', page).group(1))

    assert nasty not in page
    assert [] == re.findall(r"(?:src|href)=\"(?!data:)[^\"]+", page)
    assert "{{" not in page
    assert len(data["query_joints"]) == len(data["mean"]) == len(data["bones"][0]["degrees"])
    assert 15.0 == pytest.approx(data["fps"])
    assert all(line.text in page for line in lesson.diff)
    assert all(sentence in page for sentence in lesson.practice)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["gone.mp4", "teacher.npz"], "does not exist"),
        (["mine.npz", "Polka", "--catalogue", "dances.db"], "neither a file nor a dance"),
        (["gone.mp4", "gone.mp4", "--report", "/proc/out.html"], "/proc/out.html cannot be written"),
        (
            ["mine.npz", "teacher.npz", "--report", "out.txt"],
            "a comparison is a .html, .png, .svg, .pdf file",
        ),
    ],
)
def test_errors_are_one_sentence(folder, monkeypatch, arguments, complaint):
    monkeypatch.chdir(folder)
    answer = run_main("compare", *arguments)

    assert (1, "", 1) == (answer.code, answer.out, len(answer.err.splitlines()))
    assert complaint in answer.err
