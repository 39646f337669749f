"""What a notebook shows of motions, answers and matches."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import dancematch as dm
from dance_samples import LEGS, dance, without
from dancematch.pipeline.answer import Answer, DancerAnswer
from dancematch.report.notebook import FIGURE_SECONDS, draw_value
from dancematch.skeletons import BODY15
from dancematch.types import Match, Motion, Span

MATCH = Match(
    "d1", 0.9, Span(0, 8), Span(3, 11), dance="<script>alert(1)</script>", recording="a&b.mp4",
    verdict="match", log_ratio=4.0, evalue=0.0001,
    parts={"reference_bones": 1, "query_bones": 1, "synchrony_seconds": 8},
)  # fmt: skip


def tree_of(value: object) -> ElementTree.Element:
    """The view, which must be well-formed."""
    return ElementTree.fromstring(value._repr_html_())  # noqa: S314  (our own)


def test_a_motion_moves():
    """Each of the 14 bones and the head have a place in each tenth of a second, and return to the first."""
    motion = dance(1)
    figure = tree_of(motion)
    bones = figure.findall(".//polyline")
    moves = {len(bone.find("animate").get("values").split(";")) for bone in bones}

    assert (14, 1) == (len(bones), len(figure.findall(".//circle")))
    assert {len(motion.joints[::3])} == moves
    assert {"indefinite"} == {one.get("repeatCount") for one in figure.iter("animate")}
    assert "0.0-8.7 s, 30 fps, body15" == figure.findtext("figcaption")


def test_a_motion_looks_the_way_it_was_danced():
    """The place of a wrist in the first frame is that of the dancer who faces the viewer, in centimetres."""
    canonical = dm.canonicalise(dance(1))
    wrist = BODY15.index("left_wrist")
    x, y = np.round(100 * canonical.joints[0, 1 + wrist, :2] * [1, -1])
    shown = [bone.get("points").split()[1] for bone in tree_of(dance(1)).findall(".//polyline")]

    assert f"{x:.0f},{y:.0f}" == shown[wrist - 1]


def test_a_view_is_small_and_needs_nothing_beside_it():
    motion = Motion(np.tile(dance(1).joints, (20, 1, 1)), 30.0, BODY15)
    view = motion._repr_html_()

    assert motion.seconds > 100
    assert f"the first {FIGURE_SECONDS:g} s move" in view
    assert len(view) < 80_000
    assert [] == re.findall(r"<script|<style|<link|src=|href=|url\(|\bon\w+=|http", view)


def test_what_was_not_seen_is_faded_and_what_is_not_known_is_not_drawn():
    whole, seen = dance(1), dance(1).visibility.copy()
    seen[30:60, BODY15.index("left_wrist")] = 0.1
    bones = tree_of(replace(whole, visibility=seen)).findall(".//polyline")
    faded = [bone for bone in bones if "0.35" in bone[-1].get("values")]

    assert ["opacity"] == [bone[-1].get("attributeName") for bone in faded]
    assert 14 - len(LEGS) == len(tree_of(without(whole, LEGS)).findall(".//polyline"))


def test_a_motion_without_any_joint_has_an_empty_figure():
    nothing = Motion(np.full((30, len(BODY15.joints), 3), np.nan), 30.0, BODY15)

    assert [] == list(tree_of(nothing).find("svg"))


def test_an_answer_is_a_sentence_and_a_table():
    nearest = replace(MATCH, dance="Waltz", verdict="no match", evalue=3.0)
    shown = tree_of(Answer((DancerAnswer(1, Span(0, 8), (MATCH, nearest)),)))
    rows = [[cell.text or "" for cell in row] for row in shown.find(".//tbody")]

    expected = (
        "Match: <script>alert(1)</script> (a&b.mp4), 0:03-0:11. 1 search in 10,000 gives this by accident."
    )
    assert expected == shown.findtext(".//strong")
    assert [
        "<script>alert(1)</script>",
        "a&b.mp4",
        "match",
        "0:00-0:08",
        "0:03-0:11",
        "",
        "1 in 10,000",
    ] == rows[0]
    assert ["Waltz", "3 per search"] == [rows[1][0], rows[1][-1]]


def test_names_cannot_break_out_of_a_view():
    view = MATCH._repr_html_()

    assert "<script" not in view
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in view


def test_an_answer_without_candidates_says_so():
    assert "No match: there is no dance to compare with." == tree_of(Answer(())).findtext("p")


def test_each_dancer_has_a_verdict():
    answer = Answer(tuple(DancerAnswer(number, Span(0, 8), (MATCH,)) for number in (1, 2)))
    titles = ["".join(one.itertext())[:10] for one in tree_of(answer).findall("p")]

    assert ["Dancer 1. ", "Dancer 2. "] == titles


def test_only_what_has_a_view_is_drawn():
    with pytest.raises(TypeError, match="no view of a Span"):
        draw_value(Span(0, 1))
