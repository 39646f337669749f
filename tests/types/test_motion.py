import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dance_samples import dance, shipped, standing, without
from dancematch import motion as room
from dancematch.errors import InputError
from dancematch.model.kmeans import patch_features
from dancematch.model.parts import LAYOUTS
from dancematch.motion import (
    BONE_LENGTHS,
    CANONICAL,
    FPS,
    PERTURBATIONS,
    canonicalise,
    change_tempo,
    clean,
    excerpt,
    mirror,
    perturb,
    resample,
    to_body15,
)
from dancematch.skeletons import BODY15, COCO17
from dancematch.types import Motion, Skeleton

SEEDS = st.integers(0, 200)
POINT = Skeleton("point", ("tip",), (-1,), (0,))
WRIST = CANONICAL.index("left_wrist")


def moved(
    motion: Motion, *, degrees: float = 0.0, scale: float = 1.0, by: tuple[float, float, float] = (0, 0, 0)
) -> Motion:
    """The dancer elsewhere: turned about the vertical, larger, carried away."""
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turn = np.array([[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]])
    return Motion(motion.joints @ turn.T * scale + by, motion.fps, motion.skeleton, start=motion.start)


def point(times: object, values: object, **options) -> Motion:
    """One joint that moves along x only, resampled."""
    joints = np.zeros((len(values), 1, 3))
    joints[:, 0, 0] = values
    joints[np.isnan(joints[:, 0, 0]), 0] = np.nan
    return resample(times, joints, None, POINT, **options)


def track(motion: Motion) -> list[float]:
    return motion.joints[:, 0, 0].tolist()


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.floats(-360, 360), st.floats(0.3, 3), st.tuples(*[st.floats(-5, 5)] * 3))
def test_place_heading_and_size_change_nothing(seed, degrees, scale, by):
    plain = canonicalise(dance(seed))
    other = canonicalise(moved(dance(seed), degrees=degrees, scale=scale, by=by))

    np.testing.assert_allclose(plain.joints[:, 1:], other.joints[:, 1:], atol=2e-3)
    np.testing.assert_allclose(plain.joints[:, 0], other.joints[:, 0], atol=2e-2)  # speeds, 1/s


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.floats(-180, 180), st.floats(0.5, 2), st.tuples(*[st.floats(-3, 3)] * 3))
def test_place_heading_and_size_change_no_word(seed, degrees, scale, by):
    """Not one, but for patches on the very border between two words, where rounding decides."""
    plain = shipped().fingerprint(dance(seed)).words
    other = shipped().fingerprint(moved(dance(seed), degrees=degrees, scale=scale, by=by)).words
    differing = np.argwhere(plain != other)

    assert len(differing) < 0.01 * plain.size
    assert all(margin(dance(seed), step, channel) < 1e-3 for step, channel in differing)


def margin(motion: Motion, step: int, channel: int) -> float:
    """How much nearer, in squared metres, a patch is to its word than to the second nearest."""
    name, part = list(shipped().parts.items())[channel]
    features = patch_features(canonicalise(motion), LAYOUTS[shipped().layout][name])[step]
    distances = np.sort(np.square((features - part.mean) @ part.basis - part.centres).sum(axis=1))
    return float(distances[1] - distances[0])


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_a_mirror_image_of_a_mirror_image_is_the_thing_itself(seed):
    for shown in (dance(seed), canonicalise(dance(seed))):
        np.testing.assert_array_equal(shown.joints, mirror(mirror(shown)).joints)
        assert not np.array_equal(shown.joints, mirror(shown).joints)


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_mirroring_before_or_after_is_the_same(seed):
    before, after = canonicalise(mirror(dance(seed))), mirror(canonicalise(dance(seed)))

    np.testing.assert_allclose(before.joints, after.joints, atol=1e-3)


def test_mirroring_swaps_what_is_seen_too():
    hidden = without(dance(1), ["left_wrist"])
    shown = mirror(hidden)

    assert 0 == shown.visibility[:, BODY15.index("right_wrist")].max()
    assert 1 == shown.visibility[:, BODY15.index("left_wrist")].min()


def test_every_body_gets_the_same_bones():
    """Pelvis at the origin, the canonical lengths, and the left side at +x on average."""
    shown = canonicalise(moved(dance(3, dancer=4), degrees=130))
    bones = shown.joints[:, 2:] - shown.joints[:, [CANONICAL.parents[j] for j in range(2, 16)]]

    assert 0 == np.abs(shown.joints[:, 1]).max()
    np.testing.assert_allclose(
        np.linalg.norm(bones, axis=2), np.tile(BONE_LENGTHS[1:], (len(bones), 1)), atol=1e-4
    )
    side = shown.joints[:, CANONICAL.index("left_hip")] - shown.joints[:, CANONICAL.index("right_hip")]
    assert side[:, 0].min() > 0.1
    assert (CANONICAL, FPS) == (shown.skeleton, shown.fps)


def test_the_root_keeps_what_the_frame_removes():
    """Somebody who slides to the own left at a metre a second, forward at half, and does not turn."""
    still = standing(60)
    times = np.arange(60)[:, None] / FPS
    sliding = Motion(still.joints + (times * [[1.0, 0, 0.5]])[:, None].astype(np.float32), FPS, BODY15)
    scale = float(BONE_LENGTHS.sum()) / float(_bones(still).sum())
    left = room.heading(still.joints)[30]
    expected = scale * np.array([left[0] + 0.5 * left[1], 0, -left[1] + 0.5 * left[0]])

    np.testing.assert_allclose(expected, canonicalise(sliding).joints[30, 0], atol=1e-3)


def _bones(motion: Motion) -> np.ndarray:
    parents = list(BODY15.parents[1:])
    return np.linalg.norm(motion.joints[0, 1:] - motion.joints[0, parents], axis=1)


def test_turning_shows_in_the_root():
    """A quarter turn a second to the left (from +z towards +x) is half of pi a second."""
    still = standing(90)
    turning = np.stack([moved(still, degrees=3.0 * frame).joints[frame] for frame in range(90)])
    rate = canonicalise(Motion(turning, FPS, BODY15)).joints[20:70, 0, 1]

    np.testing.assert_allclose(np.full(50, np.pi / 2), np.abs(rate), atol=1e-2)
    assert 1 == len(set(np.sign(rate)))


@settings(max_examples=25, deadline=None)
@given(
    arrays.arrays(np.float64, (30, 2), elements=st.floats(-10, 10)),
    st.sampled_from([5, 7, 9, 15]),
)
def test_smoothing_is_savitzky_and_golays(values, window):
    """Two implementations agree, at the ends too."""
    from scipy.signal import savgol_filter  # takes long: not while tests are collected, in every process

    expected = savgol_filter(values, window, 2, axis=0)

    np.testing.assert_allclose(expected, room._savitzky_golay(values, window), atol=1e-4)


def test_smoothing_takes_out_jitter_and_keeps_the_dance():
    noisy = perturb(dance(2), "noise", seed=1)
    true = dance(2).joints
    before, after = (np.abs(shown.joints - true).mean() for shown in (noisy, clean(noisy)))

    assert after < 0.75 * before
    assert np.abs(clean(dance(2)).joints - true).max() < 0.03


def test_exact_samples_are_kept():
    values = [0.0, 1.0, 4.0, 9.0]

    assert values == track(point([0, 1 / 30, 2 / 30, 3 / 30], values))
    assert [0.0, 4.0] == track(point([0, 1 / 30, 2 / 30], [0.0, 1.0, 4.0], fps=15))
    assert [0.0, 0.5, 1.0] == track(point([0, 1 / 15], [0.0, 1.0]))


@pytest.mark.parametrize(("gap", "bridged"), [(0.2, True), (0.5, True), (0.6, False), (3.0, False)])
def test_short_gaps_are_bridged_and_long_ones_are_not(gap, bridged):
    """Half a second is the limit; what lies in a longer gap stays unseen, both its ends stay seen."""
    times = np.concatenate([[0, 0.1], [0.1 + gap, 0.2 + gap]])
    shown = point(times, times, fps=10)
    inside = shown.visibility[2 : 1 + round(gap * 10), 0]

    assert len(inside) >= 1
    assert {float(bridged)} == set(inside.tolist())
    assert [1, 1, 1, 1] == shown.visibility[[0, 1, -2, -1], 0].tolist()
    np.testing.assert_allclose(np.arange(len(shown.joints))[shown.visibility[:, 0] > 0] / 10,
                               shown.joints[shown.visibility[:, 0] > 0, 0, 0], atol=1e-6)  # fmt: skip


def test_a_joints_gap_is_its_own():
    joints = np.zeros((31, 2, 3))
    joints[5:25, 1] = np.nan
    pair = Skeleton("pair", ("a", "b"), (-1, 0), (0, 1))
    shown = resample(np.arange(31) / 30, joints, None, pair)

    assert 1 == shown.visibility[:, 0].min()
    assert [1] * 5 + [0] * 20 + [1] * 6 == shown.visibility[:, 1].tolist()


def test_uneven_time_stamps_come_out_right():
    """A known wave, sampled whenever a phone felt like it, is that wave on an even clock."""
    rng = np.random.default_rng(5)
    times = 7.0 + np.cumsum(rng.uniform(0.005, 0.03, 400))
    shown = point(times, np.sin(2 * np.pi * times))
    clock = times[0] + np.arange(len(shown.joints)) / FPS

    np.testing.assert_allclose(np.sin(2 * np.pi * clock), track(shown), atol=0.006)
    assert times[0] == pytest.approx(shown.start)
    assert pytest.approx(times[-1], abs=1 / FPS) == shown.span.end


def test_the_start_is_kept():
    late = Motion(dance(1).joints, FPS, BODY15, start=12.5)

    for change in (clean, canonicalise, mirror, to_body15, lambda m: change_tempo(m, 1.5)):
        assert 12.5 == change(late).start


@pytest.mark.parametrize(
    ("times", "complaint"),
    [
        ([0.0, 0.0], "increasing"),
        ([1.0, 0.0], "increasing"),
        ([0.0, np.nan], "finite"),
        ([0.0], "one time per sample"),
        ([], "one time per sample"),
        ([[0.0, 1.0]], "one time per sample"),
    ],
)
def test_impossible_times_are_refused(times, complaint):
    with pytest.raises(InputError, match=complaint):
        resample(times, np.zeros((2, 1, 3)), None, POINT)


@pytest.mark.parametrize("rate", [10.0, 24.0, 29.97, 60.0, 120.0])
def test_every_rate_comes_to_thirty(rate):
    slow = change_rate(dance(4), rate)
    shown = clean(slow)

    assert FPS == shown.fps
    assert pytest.approx(slow.seconds, abs=2 / min(rate, FPS)) == shown.seconds


def change_rate(motion: Motion, rate: float) -> Motion:
    times = np.arange(len(motion.joints)) / motion.fps
    return resample(times, motion.joints, motion.visibility, motion.skeleton, fps=rate)


def test_unseen_joints_spread_to_what_hangs_on_them_and_no_further():
    """A lost elbow takes the wrist with it in those frames; nothing else, and no other moment."""
    joints = dance(1).joints.copy()
    joints[60:120, BODY15.index("left_elbow")] = np.nan
    shown = canonicalise(Motion(joints, FPS, BODY15))
    lost = np.zeros_like(shown.visibility)
    lost[60:120, [CANONICAL.index("left_elbow"), WRIST]] = 1

    np.testing.assert_array_equal(1 - lost, shown.visibility)
    np.testing.assert_array_equal(lost == 1, np.isnan(shown.joints).any(axis=2))


def test_short_losses_are_healed():
    joints = dance(1).joints.copy()
    joints[60:70] = np.nan
    shown = canonicalise(Motion(joints, FPS, BODY15))

    assert not np.isnan(shown.joints).any()
    np.testing.assert_allclose(canonicalise(dance(1)).joints[:50], shown.joints[:50], atol=0.02)


@pytest.mark.parametrize("frames", [1, 2, 3, 4])
def test_very_short_motions_stay_motions(frames):
    short = Motion(dance(1).joints[:frames], FPS, BODY15)

    assert frames == len(canonicalise(short).joints)
    assert np.isfinite(canonicalise(short).joints).all()
    for name in PERTURBATIONS:
        assert 1 <= len(perturb(short, name).joints)


@pytest.mark.parametrize("frames", [1, 2, 40])
def test_a_motion_without_a_seen_joint_is_no_crash(frames):
    unseen = Motion(np.full((frames, 15, 3), np.nan), FPS, BODY15)

    assert 0 == canonicalise(unseen).visibility.max()
    for name in PERTURBATIONS:
        assert 0 == perturb(unseen, name).visibility.max()


def test_a_body_shrunk_to_a_point_is_no_crash():
    assert np.isfinite(canonicalise(Motion(np.zeros((10, 15, 3)), FPS, BODY15)).joints).all()


def test_other_layouts_come_to_the_same_frame():
    """A dance seen as COCO-17 gives nearly the same canonical joints as itself."""
    body = dance(2)
    face = {joint: "head" for joint in COCO17.joints if joint not in BODY15.joints}
    places = [BODY15.index(face.get(joint, joint)) for joint in COCO17.joints]
    shown = canonicalise(Motion(body.joints[:, places], FPS, COCO17))

    np.testing.assert_allclose(canonicalise(body).joints[:, 2:4], shown.joints[:, 2:4], atol=0.08)
    np.testing.assert_allclose(canonicalise(body).joints[:, 5:], shown.joints[:, 5:], atol=0.12)


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_perturbations_follow_their_seed(name):
    once, again = perturb(dance(1), name, seed=3), perturb(dance(1), name, seed=3)
    others = [perturb(dance(1), name, seed=seed) for seed in range(4, 12)]

    np.testing.assert_array_equal(once.joints, again.joints)
    assert not all(np.array_equal(once.joints, other.joints, equal_nan=True) for other in others)


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_no_strength_is_no_change(name):
    np.testing.assert_allclose(dance(1).joints, perturb(dance(1), name, 0.0).joints, atol=1e-6)


@pytest.mark.parametrize("name", PERTURBATIONS)
@pytest.mark.parametrize("strength", [-1.0, float("nan")])
def test_impossible_strengths_are_refused(name, strength):
    with pytest.raises(InputError, match="strength"):
        perturb(dance(1), name, strength)


def test_unknown_perturbations_are_refused_by_name():
    with pytest.raises(InputError, match="no perturbation 'magic'; there are tilt, noise"):
        perturb(dance(1), "magic")


def test_a_tilt_turns_the_body_and_bends_nothing():
    tilted = perturb(dance(1), "tilt")
    upright = np.array([0, 1.0, 0])
    spine = dance(1).joints[0, 1] - dance(1).joints[0, 0]

    np.testing.assert_allclose(
        np.linalg.norm(np.diff(dance(1).joints, axis=1), axis=2),
        np.linalg.norm(np.diff(tilted.joints, axis=1), axis=2),
        atol=1e-4,
    )
    turned = tilted.joints[0, 1] - tilted.joints[0, 0]
    angle = np.degrees(np.arccos(turned @ spine / np.linalg.norm(turned) / np.linalg.norm(spine)))
    assert 0 < angle < 10.01
    assert abs(turned @ upright - spine @ upright) < 0.05


@pytest.mark.parametrize(("name", "metres"), [("noise", 0.015), ("drift", 0.03)])
def test_noise_and_drift_are_as_large_as_they_say(name, metres):
    """Drift is the smaller between its corners, and slow: neighbouring frames err alike."""
    error = perturb(dance(1, eight_counts=8), name).joints - dance(1, eight_counts=8).joints
    step = np.diff(error, axis=0).std()

    assert 0.6 * metres < error.std() < 1.1 * metres
    assert (step < 0.1 * metres) == (name == "drift")


def test_dropout_loses_a_tenth():
    lost = np.mean([1 - perturb(dance(1), "dropout", seed=seed).visibility.mean() for seed in range(12)])

    assert 0.06 < lost < 0.12


def test_another_tempo_is_a_fifth_off():
    ratios = {round(perturb(dance(1), "tempo", seed=s).seconds / dance(1).seconds, 1) for s in range(8)}

    assert {0.8, 1.2} == ratios


@pytest.mark.parametrize("factor", [0.5, 1.25, 2.0])
def test_dancing_faster_takes_less_time(factor):
    wave = point(np.arange(120) / 30, np.sin(np.arange(120) / 12))
    faster = change_tempo(wave, factor)

    assert pytest.approx(wave.seconds / factor, abs=2 / FPS) == faster.seconds
    at = np.arange(len(faster.joints)) * factor / 12
    np.testing.assert_allclose(np.sin(at), track(faster), atol=0.005)


@pytest.mark.parametrize("factor", [0.0, -1.0, 11.0, float("nan")])
def test_impossible_tempi_are_refused(factor):
    with pytest.raises(InputError, match="tempo factor"):
        change_tempo(dance(1), factor)


def test_an_excerpt_is_the_frames_between():
    part = excerpt(Motion(dance(1).joints, FPS, BODY15, start=4.0), 1.0, 3.0)

    np.testing.assert_array_equal(dance(1).joints[30:90], part.joints)
    assert 0.0 == part.start


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 2), (3, 2), (0, 99), (float("nan"), 2)])
def test_an_excerpt_lies_within(start, end):
    with pytest.raises(InputError, match="is not within"):
        excerpt(dance(1), start, end)


def test_a_crop_is_half_and_a_phase_a_moment():
    assert len(dance(1).joints) // 2 == pytest.approx(len(perturb(dance(1), "crop").joints), abs=1)
    late = {len(dance(1).joints) - len(perturb(dance(1), "phase", seed=seed).joints) for seed in range(20)}
    assert {1, 2, 3} == late


def test_a_dancer_who_rolls_onto_one_side_keeps_the_last_heading():
    """While the sides stand one above the other there is no heading; turning the floor must not show."""
    upright = standing(90).joints
    side = np.zeros_like(upright)
    side[..., 0], side[..., 1] = (
        upright[..., 1],
        -upright[..., 0],
    )  # lying: left and right one above the other
    joints = np.concatenate([upright[:60], side[:60]])
    quarter = joints[..., [2, 1, 0]] * np.array([1, 1, -1], dtype=np.float32)
    straight = canonicalise(Motion(joints, 30, BODY15)).joints[:, 1:]
    turned = canonicalise(Motion(quarter, 30, BODY15)).joints[:, 1:]

    np.testing.assert_allclose(straight, turned, atol=1e-3)
