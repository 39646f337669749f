import json
from functools import cache

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from dance_samples import LEGS, dance, save_small_model, shipped, small_model, without, words, write_dance
from dancematch import formats
from dancematch.cli import dancematch
from dancematch.errors import FormatError, InputError, ModelMismatchError, NoDancerError, UnknownDanceError
from dancematch.formats import fingerprint as words_file
from dancematch.model.kmeans import PATCH_FRAMES, KMeansTokeniser, patch_features, straight_frames
from dancematch.model.parts import LAYOUTS
from dancematch.model.tokeniser import load_model, shipped_models
from dancematch.motion import BONE_LENGTHS, CANONICAL, FPS, canonicalise, into_world
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.pipeline.tokenise import decode, fingerprints_of
from dancematch.skeletons import BODY15
from dancematch.types import Fingerprint, Motion

SEEDS = range(6)
LEAST_SAME = {"floor": 0.75, "floor-whole": 0.99}  # measured: 0.81 and 1.00 of the words
MOST_METRES = {"floor": 0.06, "floor-whole": 0.12}  # measured: 0.046 and 0.099 a joint


@cache
def floor() -> KMeansTokeniser:
    return load_model("floor")


@pytest.mark.parametrize("name", sorted(LEAST_SAME))
def test_decoded_words_say_the_same_words(name):
    """Words -> motion -> words: most come back; a word that a pair's word outvotes may not."""
    model = load_model(name)
    said = [model.fingerprint(dance(seed)) for seed in SEEDS]
    again = [model.fingerprint(model.decode(words)) for words in said]
    same = [np.mean(a.words == b.words) for a, b in zip(said, again, strict=True)]

    assert set(LEAST_SAME) <= set(shipped_models())
    assert np.mean(same) >= LEAST_SAME[name]


@pytest.mark.parametrize("name", sorted(MOST_METRES))
def test_decoded_motion_is_near_what_was_danced(name):
    model = load_model(name)
    errors = []
    for seed in SEEDS:
        decoded = model.decode(model.fingerprint(dance(seed))).joints[:, 1:]
        danced = canonicalise(dance(seed)).joints[: len(decoded), 1:]
        errors.append(np.linalg.norm(decoded - danced, axis=2).mean())

    assert np.mean(errors) <= MOST_METRES[name]


def test_a_decoded_body_is_the_canonical_one():
    """Its skeleton, rate, clock and bone lengths; the pelvis at the origin, and no travelling."""
    said = floor().fingerprint(Motion(dance(1).joints, FPS, BODY15, start=2.5))
    decoded = floor().decode(said)
    bones = decoded.joints[:, 2:] - decoded.joints[:, list(CANONICAL.parents[2:])]

    assert (CANONICAL, FPS, 2.5) == (decoded.skeleton, decoded.fps, decoded.start)
    assert len(said) * PATCH_FRAMES == len(decoded.joints)
    np.testing.assert_array_equal(0, decoded.joints[:, :2])
    np.testing.assert_allclose(
        np.broadcast_to(BONE_LENGTHS[1:], bones.shape[:2]), np.linalg.norm(bones, axis=2), atol=1e-4
    )


def test_straight_frames_have_the_features_they_were_made_from():
    joints = LAYOUTS["parts7"]["torso"]
    features = patch_features(canonicalise(dance(2)), joints)
    frames = straight_frames(features)
    body = np.zeros((len(frames), len(CANONICAL.joints), 3))
    body[:, [CANONICAL.index(joint) for joint in joints]] = frames

    np.testing.assert_allclose(features, patch_features(Motion(body, FPS, CANONICAL), joints), atol=1e-5)


def test_what_no_seen_word_tells_is_unseen():
    decoded = floor().decode(floor().fingerprint(without(dance(1), LEGS)))
    unseen = {
        name for name, seen in zip(CANONICAL.joints, decoded.visibility.T, strict=True) if not seen.any()
    }

    assert set(LEGS) == unseen
    assert np.isnan(decoded.joints[:, CANONICAL.index("left_knee")]).all()


def test_words_of_another_model_are_not_decoded():
    for decoder in (shipped().decode, lambda foreign: decode(foreign, shipped())):
        with pytest.raises(ModelMismatchError) as caught:
            decoder(small_model().fingerprint(dance(1)))
        assert f"words of the model {small_model().model_id}, not of {shipped().model_id}" in str(
            caught.value
        )
        assert "dancematch retokenise" in str(caught.value)


def spinner(turns_a_second: float, metres_a_second: float, frames: int = 60) -> Motion:
    """A canonical body that walks ahead, and turns to its left all the while."""
    joints = np.repeat(canonicalise(dance(0)).joints[:1], frames, axis=0)
    joints[:, 0] = [0, -2 * np.pi * turns_a_second, metres_a_second]
    return Motion(joints, FPS, CANONICAL)


def test_the_dancer_travels_as_the_root_says():
    ahead = into_world(spinner(0, 1.5)).joints[:, 0]
    turned = into_world(spinner(0.5, 0, frames=31)).joints[[0, 30]]

    np.testing.assert_allclose([0, 1.5 * 59 / FPS], (ahead[-1] - ahead[0])[[0, 2]], atol=1e-4)
    np.testing.assert_allclose(-turned[0][:, [0, 2]], turned[1][:, [0, 2]], atol=1e-4)  # half a turn


def test_feet_stand_on_the_floor():
    world = into_world(canonicalise(dance(3)))

    assert BODY15 == world.skeleton
    np.testing.assert_allclose(0, world.joints[:, :, 1].min(axis=1), atol=1e-6)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 40))
def test_the_world_and_the_canonical_frame_tell_the_same(seed):
    """Canonical -> world -> canonical gives the motion again, but for what smoothing twice takes off."""
    once = canonicalise(dance(seed))
    twice = canonicalise(into_world(once))

    np.testing.assert_allclose(once.joints[10:-10, 1:], twice.joints[10:-10, 1:], atol=0.05)
    np.testing.assert_allclose(0, (once.joints - twice.joints)[10:-10, 0].mean(axis=0), atol=0.02)


def test_only_canonical_motion_is_brought_into_the_world():
    with pytest.raises(InputError, match="a motion on canonical16 was expected, got body15"):
        into_world(dance(0))


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 30), st.integers(1, 7), st.floats(0, 1e4), st.integers(0, 2**32))
def test_words_come_back_from_a_file_as_they_were(tmp_path_factory, steps, channels, start, seed):
    rng = np.random.default_rng(seed)
    path = tmp_path_factory.mktemp("words") / "x.npz"
    written = [
        Fingerprint(
            rng.integers(300, size=(steps, channels)).astype(np.uint16), 300, 4 / 30, f"model {number}",
            start, rng.random((steps, channels)).astype(np.float32),
        )
        for number in range(2)
    ]  # fmt: skip
    words_file.write(path, written)

    for before, after in zip(written, words_file.read(path), strict=True):
        np.testing.assert_array_equal(before.words, after.words)
        np.testing.assert_array_equal(before.visibility, after.visibility)
        assert (before.vocabulary, before.seconds_per_word, before.model_id, before.start) == (
            after.vocabulary, after.seconds_per_word, after.model_id, after.start,
        )  # fmt: skip


def test_files_of_words_and_of_motion_are_told_apart(tmp_path):
    write_dance(tmp_path / "motion.npz", 1)
    words_file.write(tmp_path / "words.npz", [words([[1, 2]])])

    with pytest.raises(FormatError, match="holds motion words, not motion; 'dancematch extract'"):
        formats.read(tmp_path / "words.npz")
    with pytest.raises(FormatError, match="holds no motion words; 'dancematch extract --words' writes them"):
        words_file.read(tmp_path / "motion.npz")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"version": 99}, "format number 99, this version reads up to 1"),
        ({"format": "recipe"}, "may be damaged"),
        ({"dancers": []}, "may be damaged"),
        ({"dancers": [{}]}, "may be damaged"),
        ({"dancers": [{"model_id": "x", "vocabulary": 1, "seconds_per_word": 1, "start": 0}]}, "damaged"),
        (None, "may be damaged"),
    ],
)
def test_a_damaged_file_of_words_is_refused(tmp_path, changes, complaint):
    """A header of another kind, or words that do not fit it: one sentence that names the file."""
    path = tmp_path / "x.npz"
    words_file.write(path, [words([[1, 2]])])
    with np.load(path) as stored:
        arrays = dict(stored)
    header = json.loads(str(arrays["fingerprint"]))
    arrays["fingerprint"] = np.array("{" if changes is None else json.dumps(header | changes))
    np.savez(path, **arrays)

    with pytest.raises(FormatError, match=complaint) as caught:
        words_file.read(path)
    assert str(path) in str(caught.value)


def test_words_are_written_as_npz_and_never_over_another_file(tmp_path):
    with pytest.raises(InputError, match=r"words are written as .npz, not '.bvh'"):
        words_file.write(tmp_path / "x.bvh", [words([[1, 2]])])
    with pytest.raises(InputError, match="there are no words to write"):
        words_file.write(tmp_path / "x.npz", [])
    words_file.write(tmp_path / "x.npz", [words([[1, 2]])])
    with pytest.raises(InputError, match="exists already"):
        words_file.write(tmp_path / "x.npz", [words([[3, 4]])])

    assert [[1, 2]] == words_file.read(tmp_path / "x.npz")[0].words.tolist()


def test_a_clip_too_short_for_a_word_has_no_fingerprint(tmp_path):
    formats.write(tmp_path / "short.npz", [Motion(dance(1).joints[:2], FPS, BODY15)])

    with pytest.raises(NoDancerError, match=r"no dancer is seen in .*short.npz for long enough"):
        fingerprints_of(tmp_path / "short.npz", shipped())


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty folder; what went wrong is raised."""
    monkeypatch.chdir(tmp_path)

    def run(line: str) -> str:
        done = CliRunner().invoke(dancematch, line.split())
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert 0 == done.exit_code, done.output
        return done.output

    return run


def test_a_clip_goes_into_words_and_back_on_the_command_line(run, tmp_path):
    """What animation software gets is what the library decodes."""
    write_dance(tmp_path / "clip.npz", 4)
    run("extract clip.npz --words -o words.npz")
    run("extract words.npz -o out.bvh")
    (shown,) = formats.read(tmp_path / "out.bvh")
    expected = decode(shipped().fingerprint(dance(4)), shipped())
    places = [shown.skeleton.index(joint) for joint in BODY15.joints]

    np.testing.assert_allclose(expected.joints, shown.joints[:, places], atol=0.002)


def test_a_dance_of_a_catalogue_is_decoded(run, tmp_path):
    with open_catalogue("dances.db") as known:
        known.add(write_dance(tmp_path / "clip.npz", 4))
    told = json.loads(run("extract dances.db --dance clip -o out.npz --json"))
    (shown,) = formats.read(tmp_path / "out.npz")

    assert {"output": "out.npz", "dancers": 1, "seconds": round(shown.seconds, 3)} == told
    with pytest.raises(UnknownDanceError, match="no dance named 'polka'; 'dancematch list'"):
        run("extract dances.db --dance polka -o other.npz")


def test_one_dancer_of_several_is_chosen(run, tmp_path):
    formats.write(tmp_path / "duet.npz", [dance(1), dance(2)])
    run("extract duet.npz --words -o words.npz")
    with pytest.raises(InputError, match=r".bvh holds one dancer, got 2"):
        run("extract words.npz -o out.bvh")
    with pytest.raises(InputError, match="there is no dancer 3, only 2"):
        run("extract words.npz -o out.bvh --dancer 3")
    run("extract words.npz -o out.npz --dancer 2")
    (shown,) = formats.read(tmp_path / "out.npz")

    np.testing.assert_array_equal(decode(shipped().fingerprint(dance(2)), shipped()).joints, shown.joints)


def test_foreign_words_are_refused_on_the_command_line(run, tmp_path):
    save_small_model(tmp_path / "own")
    write_dance(tmp_path / "clip.npz", 4)
    run("extract clip.npz --words -o words.npz --model own")
    with pytest.raises(ModelMismatchError, match=small_model().model_id):
        run("extract words.npz -o out.npz")
    run("extract words.npz -o out.npz --model own")

    assert (tmp_path / "out.npz").exists()


@pytest.mark.parametrize("line", ["extract clip.npz --words -o there.npz", "extract words.npz -o there.npz"])
def test_nothing_is_replaced_unless_asked(run, tmp_path, line):
    write_dance(tmp_path / "clip.npz", 4)
    run("extract clip.npz --words -o words.npz")
    (tmp_path / "there.npz").write_text("mine")
    with pytest.raises(InputError, match="exists already; choose another name, or say --force"):
        run(line)
    assert "mine" == (tmp_path / "there.npz").read_text()
    run(f"{line} --force")

    assert (tmp_path / "there.npz").read_bytes().startswith(b"PK")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("a.db b.db --dance y -o out.npz", "--dance names a dance of one catalogue, but 2 are given"),
        ("words.npz --words -o out.npz", "holds words already; leave out --words"),
        ("clip.npz clip.npz --words -o out.npz", "is one file, but 2 clips are given: name a folder"),
        ("clip.npz --words --weights here -o out.npz", "extract these first, then put them into words"),
        ("clip.npz --dancer 2 -o out", "--dancer chooses among those of a file of words"),
    ],
)
def test_contradictions_are_wrong_usage(run, tmp_path, line, complaint):
    write_dance(tmp_path / "clip.npz", 4)
    run("extract clip.npz --words -o words.npz")
    done = CliRunner().invoke(dancematch, ["extract", *line.split()])

    assert 2 == done.exit_code
    assert complaint in done.output


def test_the_words_of_several_clips_go_into_a_folder(tmp_path, monkeypatch):
    """One that gives nothing spoils nothing else; the exit code tells."""
    monkeypatch.chdir(tmp_path)
    write_dance(tmp_path / "a.npz", 1)
    write_dance(tmp_path / "b.npz", 2)
    (tmp_path / "bad.bvh").write_bytes(b"garbage")
    done = CliRunner().invoke(dancematch, ["extract", "a.npz", "bad.bvh", "b.npz", "--words", "-o", "words"])

    assert 1 == done.exit_code
    assert "1 of the clips gave nothing" in done.output
    assert ["a.npz", "b.npz"] == sorted(path.name for path in (tmp_path / "words").iterdir())
    np.testing.assert_array_equal(
        shipped().fingerprint(dance(2)).words, words_file.read(tmp_path / "words" / "b.npz")[0].words
    )
