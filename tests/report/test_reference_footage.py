"""Frames of the recording that was matched, beside those of the clip; or its poster."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cli_samples import run_main
from dance_samples import dance, shipped, write_dance
from dancematch.errors import InputError
from dancematch.pipeline.analysis.clip_files import content_hash
from dancematch.pipeline.analysis.file_analysis import ImageTrack
from dancematch.pipeline.catalogue import Catalogue, open_catalogue
from dancematch.pipeline.query import QueryClip, query_of_motions, read_query
from dancematch.report.evidence import Evidence, gather_evidence, read_query_file, show_reference
from dancematch.report.evidence_page import render_evidence, write_evidence
from dancematch.report.evidence_text import describe_evidence
from dancematch.report.footage import Footage, reference_footage
from film_samples import FilmedDancer, in_picture
from pose_samples import quarters, write_clip

A4_HEIGHT = 990  # pixels of a page between its margins
MOMENTS = 6
STAMPS = tuple(range(0, 10_000, 200))


def read(path: Path) -> QueryClip:
    return read_query(path, shipped(), make_estimator=FilmedDancer)


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """The videos of two dances, one of them also as another dancer's clip, and a catalogue of both dances."""
    home = tmp_path_factory.mktemp("reference")
    for name, shade in (("dance3", 1), ("dance5", 2), ("dance3-by4", 3)):
        write_clip(home / f"{name}.mp4", STAMPS, image=quarters(160, 120) // shade, rate=5)
    with open_catalogue(home / "dances.db", make_estimator=FilmedDancer) as catalogue:
        catalogue.add(home / "dance3.mp4")
        catalogue.add(home / "dance5.mp4")
    return home


@pytest.fixture(scope="module")
def known(home):
    with open_catalogue(home / "dances.db", create=False, make_estimator=FilmedDancer) as catalogue:
        yield catalogue


def footage_of(home: Path) -> Footage:
    video = home / "dance3.mp4"
    return reference_footage(video, content_hash(video), video.name, read)


@pytest.fixture(scope="module")
def found(known: Catalogue, home) -> Evidence:
    """The evidence for a clip of the third dance, with frames of the clip alone."""
    query, clip, footage = read_query_file(known, home / "dance3-by4.mp4")
    return gather_evidence(known, query, clip, footage=footage)


# ---- whose frames they are


def test_the_file_that_was_added_is_taken(home):
    footage = footage_of(home)
    pictures = footage.stills(1, [1.0, 2.0])

    assert [1] == list(footage.dancers)
    assert [1.0, 2.0] == [picture.still.seconds for picture in pictures]
    assert all(picture.seen.all() for picture in pictures)


def test_another_file_is_refused_and_the_expected_one_named(home):
    """Also the same dance in other bytes: what is shown as evidence is what was added, and nothing else."""
    expected = content_hash(home / "dance3.mp4")
    with pytest.raises(InputError) as refused:
        reference_footage(home / "dance5.mp4", expected, "dance3.mp4", read)

    assert "dance5.mp4 is not the recording that was matched: that is dance3.mp4" in str(refused.value)
    assert expected in str(refused.value)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [("gone.mp4", "does not exist"), ("motion.npz", "is a motion file and has no frames")],
)
def test_what_is_no_video_is_refused(tmp_path, name, complaint):
    write_dance(tmp_path / "motion.npz", 1)

    with pytest.raises(InputError, match=complaint):
        reference_footage(tmp_path / name, "0" * 64, "dance.mp4", read)


def test_dancers_have_the_numbers_that_the_catalogue_gave_them(home):
    """Who has no words is not in the catalogue: the second of a clip is then the first there."""
    clip = query_of_motions([dance(3), dance(5)], shipped(), "clip")
    tracks = [
        ImageTrack(np.arange(len(one.joints)) / one.fps, in_picture(one), one.visibility)
        for one in (dance(3), dance(5))
    ]
    second = QueryClip(clip.dancers[1:], images=tuple(tracks))
    video = home / "dance3.mp4"
    footage = reference_footage(video, content_hash(video), "it", lambda _path: second)

    assert [1] == list(footage.dancers)
    assert footage.dancers[1] is tracks[1]


# ---- what is shown


def jpegs(page: str) -> int:
    return page.count("data:image/jpeg;base64,")


def test_frames_of_both_are_shown_at_moments_that_belong_together(found, home):
    both = show_reference(found, footage_of(home))
    page = render_evidence(both)

    assert (MOMENTS, MOMENTS) == (len(both.pictures.stills), len(both.pictures.reference_stills))
    for moment, picture in zip(both.moments, both.pictures.reference_stills, strict=True):
        assert moment.reference == pytest.approx(picture.still.seconds, abs=0.11)
    assert 2 * MOMENTS == jpegs(page) == page.count('class="still"')
    assert 2 * MOMENTS == page.count('class="skeleton"')
    assert "a frame of the clip and one of the recording of the dance, cut to the dancer" in one_line(page)
    first = page.index('aria-label="The clip at'), page.index('aria-label="The recording of the dance at')
    assert first[0] < first[1]


def one_line(page: str) -> str:
    return re.sub(r"\s+", " ", page)


def test_without_footage_a_side_is_drawn_as_a_figure(found, home):
    """On either side: the figures of both are always there."""
    reference_alone = replace(found, pictures=replace(found.pictures, stills=()))
    page = render_evidence(show_reference(reference_alone, footage_of(home)))

    assert (MOMENTS, 2 * MOMENTS) == (jpegs(page), page.count('class="skeleton"'))
    assert "Each shows a frame of the recording of the dance, cut to the dancer" in one_line(page)
    assert "the frames above" in page
    page = render_evidence(found)
    assert (MOMENTS, 2 * MOMENTS) == (jpegs(page), page.count('class="skeleton"'))
    assert "Each shows a frame of the clip, cut to the dancer" in one_line(page)


def test_json_says_whether_frames_of_the_reference_are_shown(found, home):
    shown = show_reference(found, footage_of(home))

    assert describe_evidence(found)["shows_reference"] is False
    assert describe_evidence(shown)["shows_reference"] is True
    assert json.dumps(describe_evidence(shown), allow_nan=False)


def test_a_video_without_the_dancer_is_refused(found, home):
    other = replace(found, match=replace(found.match, reference_dancer=7))

    with pytest.raises(InputError, match="shows no dancer 7"):
        show_reference(other, footage_of(home))


def test_a_poster_is_shown_where_there_are_no_frames(found, home, tmp_path):
    """Once, beside the facts about the recording, if the catalogue keeps one."""
    with open_catalogue(tmp_path / "dances.db", make_estimator=FilmedDancer) as catalogue:
        catalogue.add(home / "dance3.mp4", poster=True)
        query, clip, _ = read_query_file(catalogue, home / "dance3-by4.mp4")
        pictured = gather_evidence(catalogue, query, clip)
    page = render_evidence(pictured)
    (picture,) = re.findall(r'<img class="poster" src="data:image/jpeg;base64,[^"]+" alt="[^"]+">', page)

    assert page.index("What was compared") < page.index(picture) < page.index("In brief")
    assert '<img class="poster"' not in render_evidence(show_reference(pictured, footage_of(home)))
    assert '<img class="poster"' not in render_evidence(found)


def test_the_page_with_frames_of_both_fits_screens_and_paper(found, home, browser, tmp_path):
    shown = show_reference(found, footage_of(home))
    write_evidence(tmp_path / "both.html", shown)
    view = browser.new_page()
    view.goto((tmp_path / "both.html").as_uri())
    for width, media in ((1000, "screen"), (360, "screen"), (673, "print")):
        view.set_viewport_size({"width": width, "height": 900})
        view.emulate_media(media=media)
        assert view.evaluate("document.documentElement.scrollWidth") <= width
    cards = "[...document.querySelectorAll('.moment-card')].map(one => one.getBoundingClientRect().height)"
    tallest = view.evaluate(f"Math.max(...{cards})")
    view.close()

    assert 0 < tallest < A4_HEIGHT


# ---- the command


@pytest.fixture
def filmed(monkeypatch):
    """Catalogues that the command opens see videos as `FilmedDancer` does."""
    from dancematch.pipeline import catalogue

    real = catalogue.open_catalogue
    monkeypatch.setattr(
        catalogue, "open_catalogue", lambda *a, **k: real(*a, **k, make_estimator=FilmedDancer)
    )


@pytest.mark.usefixtures("filmed")
def test_the_command_shows_both_and_says_how_to_repeat_it(home, tmp_path):
    page = tmp_path / "evidence.html"
    answer = run_main(
        "search", home / "dances.db", home / "dance3-by4.mp4", "--report", page, "--json",
        "--reference-video", home / "dance3.mp4",
    )  # fmt: skip
    (said,) = answer.objects

    assert ("dance3.mp4", True) == (said["match"]["recording"], said["shows_reference"])
    assert f"--reference-video {home / 'dance3.mp4'}" in said["command"]
    assert 2 * MOMENTS == jpegs(page.read_text(encoding="utf-8"))


@pytest.mark.usefixtures("filmed")
def test_the_command_refuses_another_recording_and_writes_nothing(home, tmp_path):
    page = tmp_path / "evidence.html"
    copy = shutil.copy(home / "dance5.mp4", tmp_path / "dance3.mp4")
    for video, complaint in (
        (copy, "is not the recording that was matched: that is dance3.mp4"),
        (write_dance(tmp_path / "motion.npz", 1), "is a motion file and has no frames"),
        (tmp_path / "gone.mp4", "gone.mp4"),
    ):
        options = ("--report", page, "--reference-video", video)
        answer = run_main("search", home / "dances.db", home / "dance3-by4.mp4", *options)

        assert answer.code in (1, 2)
        assert complaint in answer.err
        assert not page.exists()


def test_a_reference_video_needs_a_report(home):
    answer = run_main(
        "search", home / "dances.db", home / "dance3-by4.mp4", "--reference-video", home / "dance3.mp4"
    )

    assert (2, "") == (answer.code, answer.out)
    assert "--reference-video adds frames to a --report; give --report too" in answer.err
