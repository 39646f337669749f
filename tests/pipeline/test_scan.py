"""Which dance when: programmes of several dances, dancers, and what is in between."""

from collections.abc import Iterator

import numpy as np
import pytest

from dance_samples import dance, standing
from dancematch.errors import InputError, VideoError
from dancematch.pipeline.catalogue import Catalogue, open_catalogue
from dancematch.pipeline.scan.feeds import TrackFeed
from dancematch.pipeline.scan.moments import GONE_SECONDS, moments_of_motions, moments_of_tracks
from dancematch.pipeline.scan.scan import Scan, ScanStart
from dancematch.pipeline.scan.segments import ScanSegment, SegmentJoiner, segment_of
from dancematch.pose.estimators import TracksSoFar
from dancematch.pose.track import Track
from dancematch.skeletons import BODY15
from dancematch.types import Motion
from film_samples import in_picture
from scan_samples import fill, join, programme, segment


@pytest.fixture(scope="module")
def known(tmp_path_factory) -> Iterator[Catalogue]:
    with open_catalogue(tmp_path_factory.mktemp("scan") / "dances.db") as catalogue:
        yield fill(catalogue)


@pytest.fixture(scope="module")
def found(known) -> list[ScanSegment]:
    return list(known.scan(programme()[0]))


def test_each_dance_is_found_where_it_is_danced_and_how(found):
    """By another dancer, and mirrored; the unknown one between them is named so."""
    _, truth = programme()

    assert [name for name, _, _ in truth] == [one.dance for one in found]
    assert [(s, e) for _, s, e in truth] == [
        pytest.approx((one.span.start, one.span.end), abs=1.0) for one in found
    ]
    assert ["match", "no match", "match"] == [one.verdict for one in found]
    assert (False, True) == (found[0].match.mirrored, found[2].match.mirrored)


def test_segments_neither_overlap_nor_leave_anything_out(found):
    motion, _ = programme()
    edges = [edge for one in found for edge in (one.span.start, one.span.end)]

    assert sorted(edges) == edges
    assert edges[1:-1:2] == edges[2::2]
    assert pytest.approx((0, motion.seconds), abs=0.2) == (edges[0], edges[-1])


def test_each_motion_is_a_dancer_on_the_common_clock(known):
    """The second comes when the first is gone, and is numbered second."""
    late = join([dance(2, dancer=3)], start=60.0)
    segments = list(known.scan([late, join([dance(1, dancer=2)])]))

    assert [(1, "dance1"), (2, "dance2")] == [(one.dancer, one.dance) for one in segments if one.match]
    assert 60.0 <= min(one.span.start for one in segments if one.dancer == 2)


def test_a_scan_goes_on_where_another_was_settled(known, found):
    """What both tell together is what one tells alone."""
    scan = known.scan(programme()[0])
    first = [next(scan)]
    settled = scan.settled
    scan.close()
    rest = list(known.scan(programme()[0], start=settled))

    assert [one.dance for one in found] == [one.dance for one in first + rest]
    assert [one.span.start for one in found] == pytest.approx([one.span.start for one in first + rest], abs=1)
    assert settled == ScanStart(pytest.approx(first[0].span.end), 1)


def test_what_is_danced_now_is_told_before_it_is_over(known):
    told: list[ScanSegment] = []
    motion, truth = programme()
    list(known.scan(motion, on_recognised=told.append))

    assert ["dance1", "dance3"] == [one.dance for one in told]
    assert told[0].span.end < truth[0][2]


def test_a_person_who_stands_and_a_short_motion_are_no_dance(known):
    assert [None] == [one.dance for one in known.scan(standing(300))]
    assert [] == list(known.scan(Motion(dance(1).joints[:12], 30.0, BODY15)))
    assert [] == list(known.scan([]))


def test_an_empty_catalogue_knows_no_dance(tmp_path):
    with open_catalogue(tmp_path / "empty.db") as empty:
        assert {None} == {one.dance for one in empty.scan(programme()[0])}


def test_a_label_that_no_dance_has_is_refused_at_once(known):
    with pytest.raises(InputError):
        known.scan(programme()[0], label="nothing")


def test_what_was_found_before_the_reading_failed_is_told_first(known):
    def fail():
        yield from moments_of_motions([programme()[0]])
        raise VideoError("the camera is gone")

    scan = Scan(fail(), known.scan(standing(30))._catalogue)
    segments = [next(scan) for _ in range(3)]

    with pytest.raises(VideoError, match="the camera is gone"):
        next(scan)
    assert ["dance1", None, "dance3"] == [one.dance for one in segments]


def test_a_segment_survives_its_description(found):
    for one in found:
        again = segment_of(one.described())

        assert (one.dancer, one.span, one.dance, one.verdict) == (
            again.dancer, again.span, again.dance, again.verdict,
        )  # fmt: skip


def test_adjoining_segments_of_one_dance_are_one():
    joiner = SegmentJoiner()
    given = [segment(0, 20), segment(20.5, 30), segment(40, 50), segment(50, 60, None), segment(60, 70, None)]
    joined = [*joiner.add(given), *joiner.release()]

    assert [(0, 30, "Thriller"), (40, 50, "Thriller"), (50, 70, None)] == [
        (one.span.start, one.span.end, one.dance) for one in joined
    ]


def track(motion: Motion, start: float, first: float, last: float) -> Track:
    """What an estimator tells of a dancer who comes at `start`, from `first` to `last` second."""
    times = start + np.arange(len(motion.joints)) / motion.fps
    shown = (times >= first) & (times <= last)
    image = in_picture(motion)[shown]
    return Track(0, times[shown], motion.joints[shown], image, motion.visibility[shown], BODY15)


def parts(motion: Motion, start: float, until: float) -> Iterator[TracksSoFar]:
    """A long video, the last ten seconds of it told every two."""
    for seconds in np.arange(2.0, until + 0.1, 2.0):
        seen = track(motion, start, seconds - 10, seconds)
        yield TracksSoFar([seen] if len(seen.times) else [], float(seconds), complete=False)


def test_a_dancer_is_one_from_part_to_part_and_gone_when_out_of_view():
    moments = list(moments_of_tracks(parts(dance(1, dancer=4), 3.0, 40.0)))
    end = 3.0 + dance(1, dancer=4).seconds
    seen = [one.seconds for one in moments if one.present]

    assert {1} == {dancer for one in moments for dancer in one.present}
    assert end <= seen[-1] < end + GONE_SECONDS + 2.1


def test_dancers_are_numbered_on_where_a_scan_goes_on():
    moments = list(moments_of_tracks(parts(dance(1, dancer=4), 3.0, 12.0), dancers=7))

    assert {8} == {dancer for one in moments for dancer in one.present}


def test_a_feed_of_poses_is_the_motion_and_forgets():
    """Told in pieces that overlap, it is the same as told at once; what is forgotten is not kept."""
    motion = dance(1, dancer=4)
    whole, pieces = TrackFeed(track(motion, 0, 0, 99)), TrackFeed(track(motion, 0, 0, 4))
    for last in (6.0, 8.0, 10.0):
        pieces.append(track(motion, 0, last - 3, last))

    np.testing.assert_array_equal(whole.motion(2, 8).joints, pieces.motion(2, 8).joints)
    assert 0 < pieces.shares(track(motion, 0, 3, 5))
    assert 0 == pieces.shares(track(dance(2, dancer=4), 0, 3, 5))
    pieces.forget(before=5.0)
    assert pieces.motion(0, 4.9) is None
    assert whole.span == pieces.span
