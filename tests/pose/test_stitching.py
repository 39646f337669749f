"""Fragments of one dancer become one track again; two people never do."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dancematch.pose.blazepose.stitching import LONGEST_GAP_SECONDS, join_fragments
from dancematch.pose.blazepose.tracker import TrackedPerson
from pose_samples import Person

FPS = 25


def seen(person: Person, start: float, end: float, score: float = 0.9) -> TrackedPerson:
    """A person as the tracker has them, from one moment up to another."""
    times = [frame / FPS for frame in range(round(start * FPS), round(end * FPS))]
    return TrackedPerson(times, [person.pose(seconds, score) for seconds in times])


def standing(x: float, **looks: float) -> Person:
    return Person(lambda _: (x, 360.0), **looks)  # type: ignore[arg-type]


def spans(people: list[TrackedPerson]) -> list[tuple[float, float]]:
    return [(person.times[0], round(person.times[-1] + 1 / FPS, 2)) for person in people]


def test_a_dancer_lost_twice_is_one_dancer():
    """An 18-second clip with two interruptions has one dancer, who is seen from end to end."""
    dancer = standing(600)
    pieces = [seen(dancer, 0, 6), seen(dancer, 7.5, 11), seen(dancer, 13, 18)]
    (joined,) = join_fragments(pieces)

    assert (0.0, 17.96) == (joined.times[0], joined.times[-1])
    assert sum(len(piece.times) for piece in pieces) == len(joined.times)


def test_gaps_stay_unseen():
    dancer = standing(600)
    (joined,) = join_fragments([seen(dancer, 0, 3), seen(dancer, 4, 6)])

    assert 1 < np.diff(joined.times).max() < 1.1


def test_a_fragment_within_a_gap_of_the_dancer_is_the_dancer_s():
    """A flash gives the dancer a second identity for a moment, between two pieces of the first."""
    dancer = standing(600)
    outer = TrackedPerson(
        *(a + b for a, b in zip(_lists(seen(dancer, 0, 2)), _lists(seen(dancer, 3, 5)), strict=True))
    )
    (joined,) = join_fragments([outer, seen(dancer, 2.2, 2.8)])

    assert 0.3 > np.diff(joined.times).max()


def _lists(person: TrackedPerson) -> tuple[list[float], list]:
    return person.times, person.poses


def test_two_people_side_by_side_stay_two():
    """Also in the same clothes, and if both are lost at once."""
    left, right = standing(300, colour=1), standing(900, colour=1)
    pieces = [seen(who, *span) for span in ((0, 3), (3.5, 6)) for who in (left, right)]
    joined = join_fragments(pieces)

    assert [(0, 6), (0, 6)] == spans(joined)
    assert [{300.0}, {900.0}] == sorted(({pose.region.x for pose in one.poses} for one in joined), key=min)


def test_another_person_at_the_same_place_is_another_person():
    """Clothes tell that a cut leads from one woman to another."""
    pieces = [seen(standing(600, colour=1), 0, 6), seen(standing(600, colour=9), 6.2, 12)]

    assert [(0, 6), (6.2, 12)] == spans(join_fragments(pieces))


def test_a_cut_to_a_close_up_keeps_the_dancer():
    """Place and size jump; the clothes are the same and no one else is there."""
    pieces = [seen(standing(300, size=200), 0, 4), seen(standing(800, size=700), 4, 9)]

    assert [(0, 9)] == spans(join_fragments(pieces))


def test_without_a_cut_the_same_clothes_elsewhere_are_another_person():
    """A person who is tracked throughout shows that the camera did not jump."""
    pieces = [seen(standing(300, size=200), 0, 4), seen(standing(900, size=500), 4, 9)]
    witness = seen(standing(600, size=300, colour=5), 0, 9)

    assert 3 == len(join_fragments([*pieces, witness]))


def test_a_person_who_comes_back_after_long_is_not_the_same():
    dancer = standing(600)
    late = 10 + LONGEST_GAP_SECONDS + 0.1

    assert 2 == len(join_fragments([seen(dancer, 0, 10), seen(dancer, late, late + 5)]))


def test_false_detections_do_not_chain():
    """Half a dozen fragments of a fifth of a second, seconds apart, are no dancer."""
    somewhere = standing(600)
    pieces = [seen(somewhere, 2 * number, 2 * number + 0.2) for number in range(6)]

    assert 6 == len(join_fragments(pieces))


def test_of_two_poses_at_one_time_the_surer_one_stays():
    dancer = standing(600)
    (joined,) = join_fragments([seen(dancer, 0, 3, score=0.6), seen(dancer, 2.9, 5, score=0.9)])

    assert len(joined.times) == len(set(joined.times)) == 125
    assert 0.9 == joined.poses[74].score


@st.composite
def crowds(draw) -> list[TrackedPerson]:
    """People of a few places, sizes and clothes, each seen in some fragments."""
    pieces = []
    for _ in range(draw(st.integers(1, 4))):
        who = standing(
            draw(st.sampled_from([300.0, 400.0, 900.0])),
            size=draw(st.sampled_from([150.0, 300.0])),
            colour=draw(st.integers(0, 1)),
        )
        start = 0.0
        for _ in range(draw(st.integers(1, 3))):
            start += draw(st.integers(0, 60)) / 10
            end = start + draw(st.integers(1, 40)) / 10
            pieces.append(seen(who, start, end))
            start = end
    return draw(st.permutations(pieces))


@settings(deadline=None, max_examples=60)
@given(crowds())
def test_joining_invents_nothing(pieces):
    """Every pose comes from a fragment, times grow, and a second joining changes nothing."""
    joined = join_fragments(pieces)
    given_poses = {
        (seconds, id(pose)) for piece in pieces for seconds, pose in zip(*_lists(piece), strict=True)
    }
    kept = [(seconds, id(pose)) for one in joined for seconds, pose in zip(*_lists(one), strict=True)]

    assert given_poses.issuperset(kept)
    assert {seconds for seconds, _ in given_poses} == {seconds for seconds, _ in kept}
    assert all((np.diff(one.times) > 0).all() for one in joined)


@settings(deadline=None, max_examples=60)
@given(crowds())
def test_people_seen_at_the_same_time_are_never_joined(pieces):
    """However many fragments there are: people seen together for a while end in different tracks."""
    joined = join_fragments(pieces)
    owner = {id(pose): number for number, one in enumerate(joined) for pose in one.poses}

    for number, one in enumerate(pieces):
        for other in pieces[:number]:
            if len(set(one.times) & set(other.times)) > 0.3 * FPS:
                ends = [{owner.get(id(pose)) for pose in piece.poses} - {None} for piece in (one, other)]
                assert not ends[0] & ends[1]
