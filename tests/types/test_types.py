import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dancematch.errors import InputError
from dancematch.skeletons import BODY15
from dancematch.types import Codebook, Fingerprint, Match, Motion, Skeleton, Span

JOINTS = len(BODY15.joints)
NAN, INF = float("nan"), float("inf")


def motion(frames: int = 2, **changes) -> Motion:
    given = {"joints": np.zeros((frames, JOINTS, 3)), "fps": 30.0, "skeleton": BODY15, **changes}
    return Motion(**given)


def fingerprint(**changes) -> Fingerprint:
    usual = {"words": np.array([[0, 1], [2, 3]]), "vocabulary": 4, "seconds_per_word": 0.5, "model_id": "toy"}
    return Fingerprint(**{**usual, **changes})


def codebook(**changes) -> Codebook:
    usual = {
        "model_id": "toy",
        "channels": ("arms",),
        "vectors": np.zeros((1, 3, 2)),
        "similarity": np.eye(3)[None],
    }
    return Codebook(**{**usual, **changes})


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        (((), (), ()), "no joints"),
        ((("a", "a"), (-1, 0), (0, 1)), "names a joint twice"),
        ((("a", "b"), (1, -1), (0, 1)), "parent must stand before its child"),
        ((("a", "b"), (-1, 1), (0, 1)), "parent must stand before its child"),
        ((("a", "b"), (-1, -2), (0, 1)), "parent must stand before its child"),
        ((("a", "b"), (-1,), (0, 1)), "parent must stand before its child"),
        ((("a", "b", "c"), (-1, 0, 0), (1, 2, 0)), "mirror must be its own inverse"),
        ((("a", "b"), (-1, 0), (0, 2)), "mirror must be its own inverse"),
        ((("a", "b"), (-1, 0), (0, -1)), "mirror must be its own inverse"),
        ((("a", "b"), (-1, 0), (0,)), "mirror must be its own inverse"),
    ],
)
def test_impossible_skeletons_are_refused(parts, complaint):
    with pytest.raises(InputError, match=complaint):
        Skeleton("odd", *parts)


def test_a_skeleton_knows_its_joints():
    assert 0 == BODY15.index("pelvis")
    with pytest.raises(InputError, match="'body15' has no joint 'tail'"):
        BODY15.index("tail")


@pytest.mark.parametrize(("start", "end"), [(-1, 1), (1, 1), (2, 1), (0, INF), (NAN, 1), (0, NAN)])
def test_impossible_spans_are_refused(start, end):
    with pytest.raises(InputError, match="0 <= start < end"):
        Span(start, end)


def test_a_span_knows_its_length():
    assert 2.5 == Span(0.5, 3.0).seconds


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"joints": np.zeros((2, JOINTS))}, "joints must be"),
        ({"joints": np.zeros((2, JOINTS + 1, 3))}, r"got \[2, 16, 3\]"),
        ({"joints": np.zeros((2, JOINTS, 2))}, "joints must be"),
        ({"joints": np.zeros((0, JOINTS, 3))}, "at least one frame"),
        ({"joints": np.full((2, JOINTS, 3), INF)}, "finite, or NaN"),
        ({"fps": 0}, "fps must be"),
        ({"fps": -30}, "fps must be"),
        ({"fps": NAN}, "fps must be"),
        ({"fps": 1001}, "fps must be"),
        ({"start": -0.1}, "start must be"),
        ({"start": NAN}, "start must be"),
        ({"start": INF}, "start must be"),
        ({"visibility": np.ones((2, JOINTS - 1))}, "visibility must be"),
        ({"visibility": np.full((2, JOINTS), 1.1)}, "between 0 and 1"),
        ({"visibility": np.full((2, JOINTS), -0.1)}, "between 0 and 1"),
        ({"visibility": np.full((2, JOINTS), NAN)}, "between 0 and 1"),
    ],
)
def test_impossible_motions_are_refused(changes, complaint):
    with pytest.raises(InputError, match=complaint):
        motion(**changes)


def test_unseen_joints_are_invisible_whatever_was_claimed():
    """A joint with any coordinate missing has visibility 0, though the caller may say 1."""
    joints = np.zeros((2, JOINTS, 3))
    joints[1, 4, 2] = NAN
    expected = np.ones((2, JOINTS))
    expected[1, 4] = 0

    np.testing.assert_array_equal(expected, motion(joints=joints).visibility)
    np.testing.assert_array_equal(expected, motion(joints=joints, visibility=np.ones((2, JOINTS))).visibility)


def test_a_motion_knows_when_it_happens():
    assert Span(2.0, 3.5) == motion(frames=45, start=2).span
    assert 1.5 == motion(frames=45).seconds


@pytest.mark.parametrize(
    ("made", "names"),
    [
        (motion, ("joints", "visibility")),
        (fingerprint, ("words", "visibility")),
        (codebook, ("vectors", "similarity")),
    ],
)
def test_arrays_cannot_be_changed_afterwards(made, names):
    for name in names:
        with pytest.raises(ValueError, match="read-only"):
            getattr(made(), name)[...] = 0


@pytest.mark.parametrize("made", [motion, fingerprint, codebook])
def test_arrays_are_read_only_in_another_process_too(made):
    """Pickling, as it happens between processes, keeps values and promises."""
    before = made()
    after = pickle.loads(pickle.dumps(before))  # noqa: S301  (our own)

    for name, value in vars(before).items():
        np.testing.assert_array_equal(value, getattr(after, name))
    assert not any(v.flags.writeable for v in vars(after).values() if isinstance(v, np.ndarray))


def test_the_callers_array_is_the_callers():
    """Changing an array after a motion was made of it changes nothing in the motion."""
    joints = np.zeros((2, JOINTS, 3), dtype=np.float32)
    made = motion(joints=joints)
    joints[:] = 7

    assert 0 == np.abs(made.joints).max()
    assert joints.flags.writeable


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"vocabulary": 0}, "vocabulary must be"),
        ({"vocabulary": 65537}, "vocabulary must be"),
        ({"words": np.zeros(3, int)}, "words must be"),
        ({"words": np.zeros((0, 2), int)}, "words must be"),
        ({"words": np.zeros((2, 0), int)}, "words must be"),
        ({"words": np.zeros((2, 2))}, "whole numbers"),
        ({"words": np.array([[0, 4]])}, r"0\.\.3"),
        ({"words": np.array([[0, -1]])}, r"0\.\.3"),
        ({"seconds_per_word": 0}, "seconds_per_word"),
        ({"seconds_per_word": INF}, "seconds_per_word"),
        ({"start": -1}, "start must be"),
        ({"visibility": np.ones((2, 1))}, "shape of words"),
        ({"visibility": np.full((2, 2), 2)}, "between 0 and 1"),
        ({"visibility": np.full((2, 2), NAN)}, "between 0 and 1"),
    ],
)
def test_impossible_fingerprints_are_refused(changes, complaint):
    with pytest.raises(InputError, match=complaint):
        fingerprint(**changes)


def test_the_largest_vocabulary_fits():
    assert 65535 == fingerprint(words=np.array([[65535]]), vocabulary=65536).words[0, 0]


def test_words_become_seconds():
    """Words 1 to 2 of half a second each, on a clock that starts at 3 s, are 3.5 s to 4.5 s."""
    made = fingerprint(words=np.zeros((4, 2), int), start=3.0)

    assert Span(3.5, 4.5) == made.span(1, 2)
    assert Span(3.0, 5.0) == made.span(0, 3)


@pytest.mark.parametrize(("first", "last"), [(-1, 0), (1, 0), (0, 2), (2, 2)])
def test_words_that_are_not_there_have_no_time(first, last):
    with pytest.raises(InputError, match=r"not within 0\.\.1"):
        fingerprint().span(first, last)


@given(st.data())
def test_a_stretch_keeps_the_clock(data):
    """Whatever stretch is cut out, its own times are those of the words in the whole."""
    count = data.draw(st.integers(1, 30))
    first = data.draw(st.integers(0, count - 1))
    last = data.draw(st.integers(first, count - 1))
    seen = np.linspace(0, 1, count)[:, None]
    whole = fingerprint(
        words=np.arange(count)[:, None], vocabulary=count, start=data.draw(st.floats(0, 100)), visibility=seen
    )
    part = whole.segment(first, last)

    assert whole.span(first, last).start == part.span(0, len(part) - 1).start
    assert pytest.approx(whole.span(first, last).end) == part.span(0, len(part) - 1).end
    assert list(range(first, last + 1)) == part.words[:, 0].tolist()
    np.testing.assert_array_equal(whole.visibility[first : last + 1], part.visibility)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"vectors": np.zeros((3, 2))}, "vectors must be"),
        ({"channels": ("arms", "legs")}, "vectors must be"),
        ({"channels": (), "vectors": np.zeros((0, 3, 2))}, "vectors must be"),
        ({"similarity": np.eye(2)[None]}, "similarity must be"),
        ({"vectors": np.full((1, 3, 2), NAN)}, "finite"),
        ({"similarity": np.full((1, 3, 3), INF)}, "finite"),
        ({"similarity": np.triu(np.ones((3, 3)))[None]}, "symmetric"),
    ],
)
def test_impossible_codebooks_are_refused(changes, complaint):
    with pytest.raises(InputError, match=complaint):
        codebook(**changes)


def test_a_codebook_knows_its_vocabulary():
    assert 3 == codebook().vocabulary


def test_a_match_claims_no_more_than_was_measured():
    made = Match("thriller", 0.9, Span(0, 1), Span(4, 5))

    assert (False, None, 1, None, {}) == (
        made.mirrored,
        made.tempo,
        made.dancer,
        made.evalue,
        made.parts,
    )
