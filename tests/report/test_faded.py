"""What the camera did not see is drawn faded and dashed, wherever a dancer is drawn."""

import re
from pathlib import Path

import numpy as np
import pytest

from dance_samples import dance, shipped, shipped_background
from dancematch.pipeline.analysis.file_analysis import ImageTrack
from dancematch.pipeline.query import query_of_motions
from dancematch.pose.stills import Still
from dancematch.report import svg
from dancematch.report.compare import Comparison, compare
from dancematch.report.compare_page import write_comparison
from dancematch.report.footage import Footage
from dancematch.report.lesson import Lesson, make_lesson
from dancematch.report.page import render_page
from dancematch.report.plots import draw_comparison, draw_pose, new_figure
from dancematch.report.poses import FADED_LEGEND, FADED_OPACITY, Poses
from dancematch.skeletons import BODY15
from dancematch.types import SEEN_FROM, Motion

HAND = BODY15.index("left_wrist")
ELBOW = BODY15.index("left_elbow")
STATES = (0.0, SEEN_FROM - 0.01, SEEN_FROM, 1.0)


def guessed(motion: Motion, joints: tuple[int, ...] = (HAND,), visibility: float = 0.1) -> Motion:
    """The same, some joints guessed."""
    changed = motion.visibility.copy()
    changed[:, joints] = visibility
    return Motion(motion.joints, motion.fps, motion.skeleton, changed, motion.start)


def bones_of(drawing: svg.Drawing) -> list[tuple[str, bool]]:
    """The names of the bones' outer joints, and whether each is faded; all bones must be known."""
    outer = [joint for joint, parent in zip(BODY15.joints, BODY15.parents, strict=True) if parent >= 0]
    return [(joint, bone[1]) for joint, bone in zip(outer, drawing["bones"], strict=True)]


@pytest.mark.parametrize("visibility", STATES)
def test_a_bone_is_faded_if_an_end_was_not_seen(visibility):
    """From the visibility on from which a word counts, it is drawn as seen."""
    (drawing,) = svg.skeletons_at(guessed(dance(3), (ELBOW,), visibility), [1.0])
    faded = [joint for joint, is_faded in bones_of(drawing) if is_faded]

    assert (["left_elbow", "left_wrist"] if visibility < SEEN_FROM else []) == faded
    assert not drawing["head"]["faded"]


def test_a_faded_bone_is_pale_and_dashed_on_a_page():
    """By attributes of its own, whatever style a page has; all other bones have none of them."""
    (drawing,) = svg.skeletons_at(guessed(dance(3), (HAND, BODY15.index("head"))), [1.0])
    page = draw(drawing)

    lines = re.findall(r"<(?:line|circle)[^>]*>", page)
    faded = [line for line in lines if "faded" in line]
    assert (14 + 1, 3) == (len(lines), len(faded))  # the forearm, the neck and the head
    for line in faded:
        assert f'opacity="{FADED_OPACITY}"' in line
        assert re.search(r'stroke-dasharray="[\d.]+ [\d.]+"', line)
    assert 3 == page.count("opacity") == page.count("stroke-dasharray")


def draw(drawing: svg.Drawing) -> str:
    """A skeleton as a page has it: one card of an evidence report."""
    from jinja2 import Environment, PackageLoader

    template = '{% import "svg.html" as svg %}{{ svg.skeleton(drawing, stage) }}'
    environment = Environment(loader=PackageLoader("dancematch.report"), autoescape=True)
    return environment.from_string(template).render(drawing=drawing, stage=svg.STAGE)


def test_a_joint_that_is_not_even_guessed_is_left_out():
    joints = dance(3).joints.copy()
    joints[:, HAND] = np.nan
    (drawing,) = svg.skeletons_at(Motion(joints, 30.0, BODY15), [1.0])

    assert 13 == len(drawing["bones"])
    assert not any(bone[1] for bone in drawing["bones"])


def test_nothing_is_measured_by_a_guess():
    """A comparison shows guessed joints, and knows no number of theirs."""
    poses = beside(guessed(dance(5))).query_poses

    assert np.isfinite(poses.joints[:, HAND]).all()
    assert np.isnan(poses.measured[:, HAND]).all()
    assert np.isfinite(poses.measured[:, ELBOW]).all()


def beside(clip: Motion) -> Comparison:
    return compare(
        query_of_motions([clip], shipped(), "clip").dancers,
        query_of_motions([dance(5)], shipped(), "reference").dancers,
        shipped(), shipped_background(),
    )  # fmt: skip


def lesson_of(clip: Motion) -> Lesson:
    return make_lesson(beside(clip), query_of_motions([dance(5)], shipped(), "reference").dancers)


# ---- frames of a video


def still_of(visibility: float, hand: tuple[float, float] = (0.5, 0.5)) -> svg.Drawing:
    """A frame whose dancer's left hand is there, seen so well."""
    track = ImageTrack(
        np.array([0.0]), np.full((1, 15, 2), 0.5, np.float32), np.ones((1, 15), dtype=np.float32)
    )
    track.image[0, HAND] = hand
    track.visibility[0, HAND] = visibility
    footage = Footage(Path("x.mp4"), {1: track}, BODY15, lambda *_: [Still(0.0, b"", 100, 100)])
    (picture,) = footage.stills(1, [0.0])
    return svg.still(picture)["lines"]


def test_a_guessed_limb_is_faded_over_a_frame():
    """Also one that the estimator is sure of, but that lies beyond the picture's edge."""
    faded = [("left_wrist", True)]

    assert faded == [bone for bone in bones_of(still_of(0.1)) if bone[1]]
    assert faded == [bone for bone in bones_of(still_of(1.0, (1.2, 0.5))) if bone[1]]
    assert [] == [bone for bone in bones_of(still_of(1.0)) if bone[1]]


def test_a_frame_is_cut_to_what_was_seen():
    """A guess far off would make the dancer small."""
    cut = []
    track = ImageTrack(np.array([0.0]), np.full((1, 15, 2), 0.5, np.float32), np.ones((1, 15), np.float32))
    track.image[0, HAND] = 0.9
    track.visibility[0, HAND] = 0.1

    def keep(_video, _moments, marks):
        cut.extend(marks)
        return [Still(0.0, b"", 100, 100)]

    Footage(Path("x.mp4"), {1: track}, BODY15, keep).stills(1, [0.0])

    assert np.isnan(cut[0][HAND]).all()
    assert 0.5 == np.nanmax(cut[0])


# ---- pictures


def test_a_faded_bone_is_pale_and_dashed_in_a_picture():
    axes = new_figure(2, 2).subplots()
    (poses,) = (Poses(dance(3).joints[:1], np.ones((1, 15), dtype=bool)),)
    poses.seen[0, HAND] = False
    draw_pose(axes, poses.joints[0], poses.seen[0])
    bones, head = axes.lines[:-1], axes.lines[-1]
    pale = [(number, bone) for number, bone in enumerate(bones, start=1) if bone.get_alpha() < 1]

    assert [HAND] == [number for number, _ in pale]
    assert FADED_OPACITY == pale[0][1].get_alpha()
    assert pale[0][1].is_dashed()
    assert not any(bone.is_dashed() for number, bone in enumerate(bones, start=1) if number != HAND)
    assert 1.0 == head.get_alpha()


def test_a_picture_of_a_comparison_has_the_legend(tmp_path):
    draw_comparison(tmp_path / "a.svg", beside(guessed(dance(5, dancer=2))), clip="clip", reference="it")

    assert FADED_LEGEND in (tmp_path / "a.svg").read_text(encoding="utf-8")


# ---- pages


def test_the_pages_have_the_legend(tmp_path):
    write_comparison(tmp_path / "lesson.html", lesson_of(guessed(dance(5))), clip="clip", reference="it")
    demo = render_page("demo.html", correct=0, known=[], cards=[], stage=svg.STAGE)

    assert FADED_LEGEND in (tmp_path / "lesson.html").read_text(encoding="utf-8")
    assert FADED_LEGEND in demo


def test_the_lesson_draws_faded_limbs_in_a_browser(tmp_path, browser):
    """The clip's forearm is pale and dashed, also as the ghost behind; the reference's is not."""
    write_comparison(tmp_path / "lesson.html", lesson_of(guessed(dance(5))), clip="clip", reference="it")
    view = browser.new_page()
    complaints = []
    view.on("pageerror", lambda error: complaints.append(str(error)))
    view.goto((tmp_path / "lesson.html").as_uri())
    drawn = view.evaluate(
        """() => Object.fromEntries(["clip", "reference"].map((id) => [id,
            [...document.querySelectorAll(`#${id} path`)].filter((path) => path.getAttribute("d"))
            .map((path) => [path.getAttribute("class"), path.getAttribute("d").split("M").length - 1,
                            Number(getComputedStyle(path).opacity)])]))"""
    )
    view.close()

    assert [] == complaints
    assert ["left faded", 1, FADED_OPACITY] in drawn["clip"]
    assert {"left": 5, "right": 6, "middle": 3} == {
        kind: count for kind, count, opacity in drawn["clip"] if opacity == 1
    }
    assert [] == [kind for kind, _, _ in drawn["reference"] if "faded" in kind]
