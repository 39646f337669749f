"""The suite `medley`: programmes by seed, their truth, what is scanned, and the figures."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dance_samples import dance
from dancematch.errors import InputError
from dancematch.evaluation.medley.changes import MOTION_CHANGES
from dancematch.evaluation.medley.figures import (
    NAMED,
    POSSIBLE,
    ScannedProgramme,
    measure_segments,
    name_outcomes,
)
from dancematch.evaluation.medley.makers import MotionMaker, SkeletonMaker, UnknownMotion
from dancematch.evaluation.medley.motion_programmes import draw_clips, join_motions, name_clip
from dancematch.evaluation.medley.programme import (
    Programme,
    ProgrammeItem,
    ProgrammeSource,
    compose_programme,
)
from dancematch.evaluation.medley.scanning import CatalogueWriter, FoundDance, ScanCost, ScanOutcome
from dancematch.evaluation.medley.skeleton_programmes import draw_recordings, place_dancers
from dancematch.evaluation.medley.suite import MedleySuite
from dancematch.evaluation.medley.video_programmes import PICTURE_CHANGES, SIZE, draw_frames, write_programme
from dancematch.evaluation.methods.recogniser import MotionRecording
from dancematch.evaluation.real.clip_index import IndexedClip
from dancematch.evaluation.suites.registry import SuiteOptions, SuiteOptionsError, require_consistent
from dancematch.motion import canonicalise, excerpt
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.pose.video import probe
from dancematch.synthetic.demo import Scene
from dancematch.types import Motion, Span

COST = ScanCost(seconds=30.0, cpu_seconds=40.0, search_seconds=3.0)
SOURCES = [
    ProgrammeSource("hop-ana", "changed", Span(0, 30), "hop"),
    ProgrammeSource("step-ana", "changed", Span(0, 9), "step"),
    ProgrammeSource("odd", "unknown dance", Span(2, 25)),
    ProgrammeSource("walk", "not dancing", Span(0, 40)),
    ProgrammeSource("nod", "not dancing", Span(0, 2)),
]
CHANGES = list(MOTION_CHANGES)


def programme(seed: int = 0, seconds: float = 120.0) -> Programme:
    return compose_programme(SOURCES, [seed], changes=CHANGES, seconds=seconds)


# The composer


@pytest.mark.parametrize("seconds", [60.0, 61.7, 600.0])
def test_the_truth_adds_up_to_the_programme(seconds):
    """Item follows item without gap or overlap, from 0 to the very end, each within its recording."""
    made = programme(seconds=seconds)
    spans = {one.recording: one.span for one in SOURCES}

    assert pytest.approx(seconds, abs=1 / 60) == made.seconds
    assert 0 == made.items[0].span.start
    assert all(before.span.end == after.span.start for before, after in pairwise(made.items))
    assert made.frames == sum(item.frames for item in made.items)
    for item in made.items:
        if item.recording:
            source = spans[item.recording]
            assert source.start <= item.start
            assert item.excerpt.end <= source.end + 1e-6


def test_a_programme_is_its_seeds():
    assert programme(3) == programme(3)
    assert programme(3) != programme(4)


def test_no_dance_and_no_gap_follows_itself():
    made = programme(seconds=600.0)

    assert [] == [one for one, next_one in pairwise(made.items) if one.dance and one.dance == next_one.dance]
    assert [] == [one for one, next_one in pairwise(made.items) if one.kind == next_one.kind == "gap"]
    assert {"changed", "unknown dance", "not dancing", "gap"} == {item.kind for item in made.items}
    assert "nod" not in {item.recording for item in made.items}


def test_only_known_recordings_are_changed():
    made = programme(seconds=600.0)

    assert {"as it is"} == {item.change for item in made.items if item.kind != "changed"}
    assert set(CHANGES) == {item.change for item in made.items if item.kind == "changed"}
    assert all((item.tempo != 1) == (item.change in ("another tempo", "all at once")) for item in made.items)


def test_a_programme_of_nothing_is_refused():
    with pytest.raises(InputError, match="a recording of 4 s or more"):
        compose_programme([SOURCES[-1]], [0])


# What is scanned


def test_joined_motions_show_what_the_truth_says(long_clips):
    """Within an item the excerpt as it was, in gaps nothing, and no jump over the floor between items."""
    motions = {name_clip(clip): clip.motion for clip in long_clips}
    first, second = list(motions)[:2]
    items = (
        ProgrammeItem("changed", Span(0, 6), "a", first, start=2.0),
        ProgrammeItem("gap", Span(6, 8)),
        ProgrammeItem("changed", Span(8, 14), "b", second, start=1.0),
        ProgrammeItem("changed", Span(14, 20), "a", first, start=3.0, fades=True),
    )
    joined = join_motions(Programme(items), motions)
    shown = canonicalise(excerpt(joined, 1, 5)).joints
    expected = canonicalise(excerpt(motions[first], 3, 7)).joints

    assert 600 == len(joined.joints)
    assert np.isnan(joined.joints[185:235]).all()
    assert np.isfinite(joined.joints[240:]).all()
    assert np.abs(shown[10:-10, 1:] - expected[10:-10, 1:]).max() < 0.06
    assert np.abs(np.diff(joined.joints[240:, 0, [0, 2]], axis=0)).max() < 0.2


def test_another_person_is_never_the_one_in_the_catalogue(clips):
    """Of each dance shown the catalogue has one recording by another dancer; unknown ones it has not."""
    known, sources = draw_clips(clips, "another person", np.random.default_rng(0))
    dancers = {one.dance_id: one.recording_id.split("/")[3] for one in known}

    assert len(known) == len(dancers)
    for source in sources:
        if source.dance is None:
            assert "/".join(source.recording.split("/")[:3]) not in dancers
        else:
            assert dancers[source.dance] != source.recording.split("/")[3]
    assert {"another person", "unknown dance"} == {source.kind for source in sources}


def test_changed_recordings_are_those_of_the_catalogue(clips):
    known, sources = draw_clips(clips, "changed", np.random.default_rng(0))

    assert {one.recording_id for one in known} == {one.recording for one in sources if one.dance}


CLIPS = [
    IndexedClip("hop-ana", "dance", "hop", "ana", 0.0, False),
    IndexedClip("hop-ana-mirrored", "dance", "hop", "ana", 0.0, False),
    IndexedClip("hop-bob", "dance", "hop", "bob", 2.0, False),
    IndexedClip("solo", "single", "solo", "", None, False),
    IndexedClip("walk", "no-dance", "walk", "", None, False),
]
RECORDINGS = [MotionRecording(clip.file, clip.dance, (dance(3, eight_counts=3),)) for clip in CLIPS]


@pytest.mark.parametrize("seed", range(4))
def test_copies_of_a_performance_are_not_another_person(seed):
    """Either all of Ana is shown and Bob is known, or the reverse; only what both have is shown."""
    known, sources = draw_recordings(CLIPS, RECORDINGS, "another person", np.random.default_rng(seed))
    (shown,) = [one for one in sources if one.dance == "hop"]
    seconds = RECORDINGS[0].motions[0].seconds

    expected = {
        "hop-ana": (["hop-bob"], Span(0, seconds - 2)),
        "hop-bob": (["hop-ana", "hop-ana-mirrored"], Span(2, seconds)),
    }
    assert expected[shown.recording] == ([one.recording_id for one in known], shown.span)
    assert {"solo": "unknown dance", "walk": "not dancing"} == {
        one.recording: one.kind for one in sources if one.dance is None
    }


@pytest.mark.parametrize("seed", range(4))
def test_copies_of_a_known_performance_are_changed_recordings(seed):
    known, sources = draw_recordings(CLIPS, RECORDINGS, "changed", np.random.default_rng(seed))
    shown = [one.recording for one in sources if one.dance == "hop"]

    expected = {"hop-ana": ["hop-ana", "hop-ana-mirrored"], "hop-bob": ["hop-bob"]}
    assert [expected[one.recording_id] for one in known] == [shown]


def test_dancers_come_and_go_on_the_programmes_clock():
    """A dancer who is seen from the third second on is so in the programme, sooner if it is faster."""
    late = Motion(dance(3).joints, 30.0, dance(3).skeleton, start=3.0)
    items = (
        ProgrammeItem("gap", Span(0, 2)),
        ProgrammeItem("changed", Span(2, 6), "hop", "clip", start=1.0, tempo=1.25, change="another tempo"),
    )
    (placed,) = place_dancers(Programme(items), {"clip": [late]})

    assert pytest.approx(2 + 2 / 1.25) == placed.start
    assert pytest.approx(6, abs=0.1) == placed.span.end


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """Half a second of a tall video."""
    scene = Scene("clip", dance=1, seconds=(0.0, 0.5), size=(96, 128))
    return scene.render_to(tmp_path_factory.mktemp("scene"))


@pytest.mark.parametrize("change", PICTURE_CHANGES)
def test_frames_of_a_programme(change, clip):
    """As many as it lasts, of one size, black in gaps, the clip's pictures elsewhere."""
    items = (
        ProgrammeItem("changed", Span(0, 0.2), "hop", "clip", start=0.1, change=change),
        ProgrammeItem("gap", Span(0.2, 0.3)),
    )
    frames = list(draw_frames(Programme(items), {"clip": clip}))

    assert [(SIZE[1], SIZE[0], 3)] * 9 == [frame.shape for frame in frames]
    assert [True] * 6 + [False] * 3 == [bool(frame.any()) for frame in frames]
    assert not frames[0][:, : SIZE[0] // 4].any()  # the bar beside a tall picture


def test_a_programme_as_a_video(clip, tmp_path):
    """Its length, size and rate are those of the programme; nothing unfinished is left."""
    items = (ProgrammeItem("changed", Span(0, 0.2), "hop", "clip"), ProgrammeItem("gap", Span(0.2, 0.5)))
    write_programme(Programme(items), {"clip": clip}, tmp_path / "programme.mp4")
    info = probe(tmp_path / "programme.mp4")

    assert (*SIZE, 15) == (info.width, info.height, info.frames)
    assert pytest.approx((0.5, 30), abs=0.02) == (info.seconds, info.fps)
    assert ["programme.mp4"] == [path.name for path in tmp_path.iterdir()]


# The figures


def scanned(*found: tuple[float, float, str, str]) -> ScannedProgramme:
    items = (
        ProgrammeItem("changed", Span(0, 10), "hop", "a"),
        ProgrammeItem("not dancing", Span(10, 20), None, "b"),
        ProgrammeItem("changed", Span(20, 30), "step", "c", change="mirrored"),
        ProgrammeItem("gap", Span(30, 36)),
    )
    named = [FoundDance(Span(start, end), dance, verdict, 1) for start, end, dance, verdict in found]
    return ScannedProgramme(Programme(items), named, COST)


def test_possible_matches_count_apart():
    one = scanned((0, 9, "hop", "match"), (20, 30, "step", "possible match"))
    sure, perhaps = measure_segments([one], NAMED), measure_segments([one], POSSIBLE)

    assert (1.0, 0.5, 1.0, 1.0) == (sure.precision, sure.recall, perhaps.precision, perhaps.recall)
    assert {"found": 1, "possible": 1} == sure.outcomes
    assert {"as it is": (1, 1), "mirrored": (0, 1)} == sure.recall_by_change
    assert (0.5, 0.0, -1.0) == (sure.boundary_error, sure.start_error, sure.end_error)


def test_wrong_time_is_told_per_hour_and_by_what_is_shown():
    """Of 36 s: one second of overrun, and four seconds over somebody who does not dance."""
    figures = measure_segments([scanned((0, 11, "hop", "match"), (15, 19, "wave", "match"))], NAMED)

    assert (500.0, 100.0) == (figures.wrong_per_hour, figures.overrun_per_hour)
    assert {"not dancing": 400.0} == figures.wrong_by_kind


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        ((0, 9, "hop", "match"), "found"),
        ((0, 4, "hop", "match"), "misplaced"),
        ((0, 9, "wave", "match"), "misnamed"),
        ((0, 2, "wave", "match"), "unnoticed"),
    ],
)
def test_what_became_of_a_dance(found, outcome):
    assert [outcome, "unnoticed"] == name_outcomes(scanned(found), NAMED)


# The suite


def test_distractors_are_in_every_catalogue(own_model, tmp_path):
    """Stored once, and with the recordings of a programme no others."""
    writer = CatalogueWriter(str(own_model))
    for number, known in enumerate((RECORDINGS[:1], RECORDINGS[2:4], [])):
        writer.write(tmp_path / f"{number}.db", known, RECORDINGS[4:])
        with open_catalogue(tmp_path / f"{number}.db", model=own_model, create=False) as catalogue:
            assert {one.dance_id for one in (*known, RECORDINGS[4])} == {
                one.name for one in catalogue.dances()
            }


def perfect_scan(truth: list[Programme]):
    """A scanner that knows the programme that was made last."""

    def scan(where: Path, _source: object) -> ScanOutcome:
        assert where.exists()
        named = [FoundDance(one.span, one.dance, "match", 1) for one in truth[-1].truth]
        return ScanOutcome(tuple(named), COST)

    return scan


class Noting:
    """A maker that notes what it makes."""

    def __init__(self, maker: MotionMaker | SkeletonMaker) -> None:
        self._maker, self.made = maker, list[Programme]()
        self.name, self.scan = maker.name, perfect_scan(self.made)

    def make(self, part, seed):
        """What the maker makes."""
        made = self._maker.make(part, seed)
        self.made.append(made.programme)
        return made


def test_a_perfect_scanner_has_perfect_figures(long_clips, own_model):
    """Lines per programme, then a summary, for changed recordings and another person's."""
    unknown = [UnknownMotion(ProgrammeSource("walk", "not dancing", Span(0, 6)), excerpt(dance(9), 0, 6))]
    maker = Noting(MotionMaker(long_clips, unknown, seconds=60.0))
    lines = list(MedleySuite([maker], programmes=1).evaluate(CatalogueWriter(str(own_model))))

    assert [("programme", "changed"), ("summary", "changed"), ("programme", "another person"),
            ("summary", "another person")] == [(line.line, line.part) for line in lines]  # fmt: skip
    for summary in lines[1::2]:
        assert (1.0, 1.0, 0.0) == (summary.match.f1, summary.possible.f1, summary.match.wrong_per_hour)
        assert (0.5, 0.1) == (summary.cost.realtime_factor, summary.cost.search_share)
    assert {"found", None} == {item["outcome"] for item in lines[0].truth}


def test_programmes_need_their_data(tmp_path):
    for wrong, message in (
        ({"kinds": ["skeletons"]}, "need --clips"),
        ({"kinds": ["videos"], "clips": tmp_path}, "need --videos"),
        ({"models": ["a", "b"]}, "one --model"),
    ):
        with pytest.raises(SuiteOptionsError, match=message):
            require_consistent(["medley"], SuiteOptions(tmp_path, **wrong))
