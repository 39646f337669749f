from dataclasses import replace

import numpy as np
import pytest

from dancematch.errors import NoDancerError
from dancematch.pose import estimate_dancers
from dancematch.pose.blazepose.estimator import _make_track
from dancematch.pose.blazepose.tracker import Tracker, _assign_poses
from dancematch.pose.selection import select_dancers
from dancematch.pose.track import Track
from dancematch.skeletons import BLAZEPOSE33
from pose_samples import Person, Stage

FRAME = np.zeros((720, 1280, 3), np.uint8)
FPS = 25


def follow(stage: Stage, seconds: float, **options: int) -> Tracker:
    tracker = Tracker(stage, **{"max_dancers": 6, **options})
    for number in range(round(seconds * FPS)):
        stage.seconds = number / FPS
        tracker.step(stage.seconds, FRAME)
    return tracker


def still(x: float, y: float = 360.0):
    return lambda _: (x, y)


def walking(start: float, end: float, seconds: float):
    return lambda now: (start + (end - start) * now / seconds, 360.0)


def during(path, *spans: tuple[float, float]):
    """The path, in view only within these spans of time."""
    return lambda now: path(now) if any(start <= now < end for start, end in spans) else None


def find_identities(tracker: Tracker, stage: Stage) -> list[set[int]]:
    """For each identity, the numbers of the real people whose clothes it has, apart from overlaps."""
    return [
        {
            number
            for pose in identity.poses
            for number, person in enumerate(stage.people)
            if np.array_equal(person.colours, pose.colours)
        }
        for identity in tracker.people
    ]


def test_one_dancer_is_tracked_with_few_detections():
    """Poses lead from frame to frame: the detector runs in a small part of them."""
    stage = Stage(Person(walking(200, 1000, 4), size=600))
    tracker = follow(stage, 4)

    assert [len(person.times) for person in tracker.people] == [100]
    assert stage.looks < 30


def looked_at(stage: Stage, seconds: float, steady_fps: float | None) -> list[float]:
    """The times of the frames that a tracker chooses among 20 per second."""
    tracker = Tracker(stage, max_dancers=6, steady_fps=steady_fps)
    chosen = []
    for stage.seconds in np.arange(0, seconds, 1 / 20).tolist():
        if tracker.is_due(stage.seconds):
            tracker.step(stage.seconds, FRAME)
            chosen.append(stage.seconds)
    return chosen


def test_while_everybody_is_firmly_tracked_fewer_frames_are_looked_at():
    """All of the first second, then every other; without a steady rate all."""
    stage = Stage(Person(walking(200, 1000, 4), size=600))

    assert 21 + 29 == pytest.approx(len(looked_at(stage, 4, 10.0)), abs=1)
    assert 0.1 == pytest.approx(np.diff(looked_at(stage, 4, 10.0))[25:].max())
    assert 80 == len(looked_at(stage, 4, None))


def test_while_a_person_is_new_or_was_just_lost_every_frame_is_looked_at():
    """One of two goes at 2 s and is back at 4 s: all frames for half a second, and for the first one back."""
    stage = Stage(
        Person(still(300), size=500, colour=1), Person(during(still(900), (0, 2), (4, 6)), size=500, colour=2)
    )
    chosen = np.array(looked_at(stage, 6, 10.0))
    spans = [(1.1, 2), (2.1, 2.4), (3, 4), (4.6, 5), (5.7, 6)]
    rates = [((chosen >= start) & (chosen < end)).sum() / (end - start) for start, end in spans]

    assert [10, 20, 10, 20, 10] == pytest.approx(rates, abs=3)


def test_nobody_is_looked_for_in_every_frame_of_an_empty_picture():
    assert 20 == pytest.approx(len(looked_at(Stage(Person(during(still(300)))), 2, 10.0)), abs=1)


def test_all_people_are_found_in_the_first_frame():
    """Five small dancers in a row are five identities from the start, each on one body."""
    stage = Stage(*(Person(still(150 + 245 * i), size=110, colour=i) for i in range(5)))
    tracker = follow(stage, 2)

    assert [{0}, {1}, {2}, {3}, {4}] == sorted(find_identities(tracker, stage), key=min)
    assert [len(person.times) for person in tracker.people] == [50] * 5


def test_crossing_dancers_keep_their_identities():
    """One passes behind the other; each identity wears one person's clothes before and after."""
    stage = Stage(
        Person(walking(200, 1100, 4), colour=3),
        Person(walking(1100, 200, 4), colour=9),
    )
    tracker = follow(stage, 4)
    ends = [(person.poses[0].region.x, round(person.pose.region.x, -2)) for person in tracker.people]

    assert sorted(ends) == [(200, 1100), (1100, 200)]


def test_three_crossing_at_one_place_keep_their_identities():
    stage = Stage(
        Person(walking(200, 1100, 5), colour=1),
        Person(still(650), colour=2),
        Person(walking(1150, 150, 5), colour=3),
    )
    tracker = follow(stage, 5)
    ends = [(person.poses[0].region.x, round(person.pose.region.x, -2)) for person in tracker.people]

    assert sorted(ends) == [(200, 1100), (650, 600), (1150, 200)]


def test_who_comes_back_soon_is_the_same_person():
    stage = Stage(Person(still(300), colour=1), Person(during(still(900), (0, 2), (3, 5)), colour=2))
    tracker = follow(stage, 5)

    assert [{0}, {1}] == find_identities(tracker, stage)
    assert tracker.people[1].times[-1] == pytest.approx(4.96)
    assert 1 < np.diff(tracker.people[1].times).max() < 1.5


def test_a_person_who_comes_back_late_is_a_new_one():
    stage = Stage(Person(during(still(900), (0, 2), (7, 9)), colour=2))

    assert len(follow(stage, 9).people) == 2


def test_another_person_at_the_same_place_is_not_the_one_who_left():
    """Clothes tell that another person took the place."""
    stage = Stage(
        Person(during(still(600), (0, 2)), colour=2),
        Person(during(still(800), (2.5, 5)), colour=7),
    )

    assert [{0}, {1}] == find_identities(follow(stage, 5), stage)


def test_a_newcomer_is_noticed_within_two_seconds():
    stage = Stage(Person(still(300), colour=1), Person(during(still(1000), (1, 6)), size=200, colour=2))
    tracker = follow(stage, 6)

    assert [{0}, {1}] == find_identities(tracker, stage)
    assert tracker.people[1].times[0] < 3


def test_a_small_newcomer_is_noticed_in_time():
    """Far people are only seen in small tiles, which take turns."""
    late = Person(during(still(1100, 600), (1, 12)), size=100, colour=2)
    stage = Stage(Person(still(300), colour=1), late)

    assert [{0}, {1}] == find_identities(follow(stage, 12), stage)


def test_poses_that_jumped_to_another_body_go_to_whom_they_fit():
    """Two people with each other's poses get their own back, even one who was lost."""
    stage = Stage(Person(still(500), colour=1), Person(still(600), colour=2))
    one, other = follow(stage, 1).people
    poses = one.pose, other.pose

    assert [(other, poses[1]), (one, poses[0])] == _assign_poses(
        [(one, poses[1]), (other, poses[0])], [one, other], 1.0
    )
    assert [(other, poses[1])] == _assign_poses([(one, poses[1])], [one, other], 1.0)


def test_a_pose_stays_with_the_person_it_was_found_for_when_no_other_fits():
    """A sudden change of light alone loses no one."""
    stage = Stage(Person(still(500), colour=1))
    stage.people[0].at = lambda now: (500 if now < 1 else 560, 360.0)
    (one,) = follow(stage, 1).people
    changed = replace(stage.people[0].pose(1.0), colours=np.roll(one.pose.colours, 5))

    assert [(one, changed)] == _assign_poses([(one, changed)], [one], 1.0)


def test_clothes_are_learned_only_from_a_person_who_stands_alone():
    stage = Stage(Person(still(500), colour=1))
    (one,) = follow(stage, 1).people
    mixed = replace(one.pose, colours=np.roll(one.pose.colours, 5))
    before = one.colours
    one.add(1.0, mixed, alone=False)
    np.testing.assert_array_equal(before, one.colours)
    one.add(1.1, mixed, alone=True)

    assert pytest.approx((one.colours[1], one.colours[6])) == (0.9, 0.1)


def test_two_identities_never_share_a_body():
    """However long one stands hidden behind the other, no body is counted twice at a time."""
    stage = Stage(Person(still(600), colour=1), Person(walking(300, 605, 2), colour=2))
    stage.people[1].at = lambda now: (300 + 152.5 * min(now, 2), 360.0)
    tracker = follow(stage, 6)
    stamps = [
        (time, pose.region.x)
        for person in tracker.people
        for time, pose in zip(person.times, person.poses, strict=True)
    ]

    assert len(stamps) == len(set(stamps))


def test_an_empty_stage_has_no_people():
    assert follow(Stage(Person(lambda _: None)), 1).people == []


def test_the_largest_are_followed_when_there_are_too_many():
    """A big dancer who comes late takes the place of a small bystander."""
    stage = Stage(
        Person(still(200), size=200, colour=1),
        Person(still(500), size=210, colour=2),
        Person(during(still(1000), (1, 5)), size=500, colour=3),
    )
    tracker = follow(stage, 5, max_dancers=2)
    at_the_end = [
        len(numbers) and person.times[-1] > 4.9
        for numbers, person in zip(find_identities(tracker, stage), tracker.people, strict=True)
    ]

    assert sum(at_the_end) == 2
    assert {2} in find_identities(tracker, stage)


def tracks_of(stage: Stage, seconds: float) -> list[Track]:
    people = follow(stage, seconds).people
    return list(select_dancers([_make_track(person, (1280, 720), seconds) for person in people]).dancers)


def test_a_bystander_does_not_win_over_the_dancer():
    """A large person who hardly moves ranks behind a smaller one who dances."""
    bystander = Person(still(300), size=500, colour=1, swing=0.1)
    dancer = Person(still(900), size=300, colour=2, swing=0.3)
    first, second = tracks_of(Stage(bystander, dancer), 3)

    assert (first.dancer, second.dancer) == (1, 2)
    assert abs(first.image[:, :, 0].mean() - 900 / 1280) < 0.05


def test_a_very_short_clip_still_has_its_dancer():
    assert len(tracks_of(Stage(Person(still(300))), 1.0)) == 1


def test_a_track_becomes_a_motion_on_the_clip_s_clock():
    """A dancer who comes in at 2 s gives a motion that starts there, at 30 frames per second."""
    stage = Stage(Person(during(still(300), (2, 6))))
    motion = tracks_of(stage, 6)[0].motion()

    assert (motion.fps, motion.skeleton) == (30, BLAZEPOSE33)
    assert (pytest.approx(motion.start, abs=0.3), pytest.approx(motion.seconds, abs=0.3)) == (2.0, 4.0)


class _EmptyRoom:
    name = "empty"

    def tracks(self, path, *, on_frame=None):
        assert (path.name, on_frame) == ("empty_room.mp4", None)
        return []


def test_a_video_without_a_person_is_an_expected_error():
    with pytest.raises(NoDancerError, match=r"empty_room\.mp4"):
        estimate_dancers("empty_room.mp4", _EmptyRoom())
