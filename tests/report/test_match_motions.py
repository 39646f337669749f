"""The two motions of a match, on one clock and beside each other."""

from dataclasses import replace

import numpy as np
import pytest

from dance_samples import LEGS, dance, digest, recorded, shipped, without
from dancematch import formats
from dancematch.errors import InputError, UnknownDanceError
from dancematch.motion import FPS, change_tempo, excerpt, heading, mirror
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.report.match_motions import pair_motions, write_match_motions
from dancematch.skeletons import BODY15
from dancematch.types import Motion
from gltf_figures import read_figures

NEAR_METRES = 0.08  # mean over the joints, of one performance by one dancer


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """Four dances, and a fifth of which only the words are kept."""
    with open_catalogue(tmp_path_factory.mktemp("motions") / "dances.db") as catalogue:
        for seed in range(1, 5):
            name = f"dance{seed}"
            catalogue.learn(recorded(name, f"{name}.npz", digest(name), 1.0), [dance(seed)])
        words = shipped().fingerprint(dance(5))
        catalogue.learn_words(recorded("words", "words.npz", digest("words"), 1.0), [words])
        yield catalogue


def turned(motion: Motion, degrees: float) -> Motion:
    """The same, filmed from another side."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    joints = motion.joints @ np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]], dtype=np.float32)
    return Motion(joints, motion.fps, motion.skeleton, start=motion.start)


def find(known, motion: Motion):
    answer = known.search(motion)
    return answer.query, answer.candidates[0]


def apart(one: Motion, other: Motion) -> float:
    """Mean distance of the joints from frame to frame, metres."""
    return float(np.nanmean(np.linalg.norm(one.joints - other.joints, axis=2)))


CHANGES = {
    "as it is": lambda motion: motion,
    "from second 3 on": lambda motion: excerpt(motion, 3.0, motion.seconds),
    "a fifth faster": lambda motion: change_tempo(motion, 1.2),
    "mirrored": mirror,
    "from the side": lambda motion: turned(motion, 70),
    "later on its clock": lambda motion: Motion(motion.joints, motion.fps, motion.skeleton, start=9.0),
}


@pytest.mark.parametrize("change", CHANGES)
def test_both_do_the_same_at_the_same_time(known, change):
    """However the query was changed, the known dance is laid on it; a moment later it is elsewhere."""
    query, match = find(known, CHANGES[change](dance(2)))
    own, theirs = pair_motions(known, query, match)
    late = Motion(np.roll(theirs.joints, 30, axis=0), FPS, BODY15)

    assert "dance2" == match.name
    assert (match.query.start, FPS, BODY15) == (own.start, own.fps, own.skeleton)
    assert (own.start, own.joints.shape) == (theirs.start, theirs.joints.shape)
    assert own.seconds == pytest.approx(match.query.seconds, abs=1 / FPS)
    assert apart(own, theirs) < NEAR_METRES < apart(own, late)


def test_the_query_is_as_seen_and_the_known_dance_is_mirrored(known):
    query, match = find(known, mirror(dance(2)))
    own, _ = pair_motions(known, query, match)
    first = round(match.query.start * FPS)
    seen = mirror(dance(2)).joints[first : first + len(own.joints)]

    assert match.mirrored
    # But for place and heading: distances between joints are those of the query.
    np.testing.assert_allclose(
        np.linalg.norm(seen[:, 5] - seen[:, 14], axis=1),
        np.linalg.norm(own.joints[:, 5] - own.joints[:, 14], axis=1), atol=1e-3,
    )  # fmt: skip


def test_both_stand_on_the_floor_and_face_forward(known):
    own, theirs = pair_motions(known, *find(known, turned(dance(2), 120)))
    for motion in (own, theirs):
        assert motion.joints[..., 1].min() == pytest.approx(0, abs=1e-5)
        np.testing.assert_allclose(0, np.median(motion.joints[..., [0, 2]], axis=(0, 1)), atol=1e-4)

    np.testing.assert_allclose([1, 0], heading(own.joints).mean(axis=0), atol=0.4)


def test_a_folder_gets_the_figures_and_both_skeletons(known, tmp_path):
    query, match = find(known, dance(2))
    written = write_match_motions(known, query, match, tmp_path / "new" / "motions")
    figures, own, theirs = written
    (skeleton,), (reference,) = formats.read(own), formats.read(theirs)

    assert ["match.glb", "query.bvh", "reference.bvh"] == [path.name for path in written]
    assert sorted(written) == sorted((tmp_path / "new" / "motions").iterdir())
    assert ["query", "dance2"] == [figure.name for figure in read_figures(figures)]
    assert BODY15.joints == skeleton.skeleton.joints
    assert len(skeleton.joints) == len(reference.joints) == round(match.query.seconds * FPS)


def test_a_glb_path_is_one_file_with_two_figures_side_by_side(known, tmp_path):
    query, match = find(known, dance(2))
    assert [tmp_path / "x.glb"] == write_match_motions(known, query, match, tmp_path / "x.glb")
    own, theirs = read_figures(tmp_path / "x.glb")
    between = np.median(theirs.joints["pelvis"] - own.joints["pelvis"], axis=0)

    assert [tmp_path / "x.glb"] == list(tmp_path.iterdir())
    np.testing.assert_allclose([1.5, 0, 0], between, atol=0.05)


def test_legs_that_are_not_seen_are_left_out(known, tmp_path):
    query, match = find(known, without(dance(2), LEGS))
    figures, own, theirs = write_match_motions(known, query, match, tmp_path / "motions")
    seen = [joint for joint in BODY15.joints if joint not in LEGS]

    assert seen == list(read_figures(figures)[0].joints)
    assert seen == list(formats.read(own)[0].skeleton.joints)
    assert BODY15.joints == formats.read(theirs)[0].skeleton.joints


def test_a_dance_of_words_alone_is_decoded(known):
    query, match = find(known, dance(5))
    own, theirs = pair_motions(known, query, match)

    assert "words" == match.name
    assert apart(own, theirs) < 4 * NEAR_METRES  # words keep neither build nor height


def test_of_several_recordings_the_one_that_was_matched_is_taken(tmp_path):
    """Each half of a dance is a recording of its own: a clip of the second is laid on the second."""
    halves = {"first": (0.0, 4.0), "second": (4.0, dance(2).seconds)}
    with open_catalogue(tmp_path / "dances.db") as catalogue:
        for name, seconds in halves.items():
            new = recorded("both", f"{name}.npz", digest(name), 1.0)
            catalogue.learn(new, [excerpt(dance(2), *seconds)], join=True)
        for name, (start, end) in halves.items():
            query, match = find(catalogue, excerpt(dance(2), start, end))
            own, theirs = pair_motions(catalogue, query, match)

            assert ("both", f"{name}.npz", digest(name)) == (match.name, match.recording, match.recording_id)
            assert apart(own, theirs) < NEAR_METRES


def test_nothing_is_replaced_unless_it_may_be(known, tmp_path):
    """One file in the way, and none is written."""
    (tmp_path / "reference.bvh").write_text("mine")
    query, match = find(known, dance(2))
    with pytest.raises(InputError, match=r"reference.bvh exists already"):
        write_match_motions(known, query, match, tmp_path)
    assert ["reference.bvh"] == [path.name for path in tmp_path.iterdir()]
    write_match_motions(known, query, match, tmp_path, overwrite=True)

    assert 3 == len(list(tmp_path.iterdir()))


def test_a_file_is_no_folder_for_motions(known, tmp_path):
    (tmp_path / "motions.txt").write_text("mine")
    query, match = find(known, dance(2))
    with pytest.raises(InputError, match=r"motions.txt is a file; motions go into a folder"):
        write_match_motions(known, query, match, tmp_path / "motions.txt", overwrite=True)

    assert "mine" == (tmp_path / "motions.txt").read_text()


def test_a_match_with_a_dance_that_is_gone_is_refused(known, tmp_path):
    query, match = find(known, dance(2))
    for gone in (replace(match, recording_id=digest("polka")), replace(match, reference_dancer=7)):
        with pytest.raises(UnknownDanceError):
            write_match_motions(known, query, gone, tmp_path / "motions")

    assert [] == list(tmp_path.iterdir())
