import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dancematch.errors import InputError
from dancematch.skeletons import BODY15
from dancematch.synthetic.dance.body import Body
from dancematch.synthetic.dance.choreography import Choreography, Dancer, compose_dance, perform
from dancematch.types import Motion

SEEDS = st.integers(0, 10_000)
PARENTS = np.array(BODY15.parents)


def short_dance(seed: int) -> Choreography:
    return compose_dance(seed, eight_counts=2)


def joint(motion: Motion, name: str) -> np.ndarray:
    return motion.joints[:, BODY15.index(name)]


def bone_directions(motion: Motion, samples: int = 120) -> np.ndarray:
    """Where every bone points, seen by the dancer, at evenly spaced moments."""
    bones = motion.joints[:, 1:] - motion.joints[:, PARENTS[1:]]
    bones = bones / np.linalg.norm(bones, axis=-1, keepdims=True)
    left = joint(motion, "left_hip") - joint(motion, "right_hip")
    left = left[:, [0, 2]] / np.linalg.norm(left[:, [0, 2]], axis=-1, keepdims=True)
    across = bones[..., 0] * left[:, :1] + bones[..., 2] * left[:, 1:]
    ahead = bones[..., 2] * left[:, :1] - bones[..., 0] * left[:, 1:]
    moments = np.linspace(0, len(bones) - 1, samples).astype(int)
    return np.stack([across, bones[..., 1], ahead], axis=-1)[moments]


def test_a_seed_always_gives_the_same_performance():
    first = perform(short_dance(7), Dancer.random(3))
    np.random.default_rng(0).random(5)
    second = perform(short_dance(7), Dancer.random(3))

    assert short_dance(7) == short_dance(7)
    np.testing.assert_array_equal(first.joints, second.joints)


def test_names_are_readable_and_not_shared():
    names = [compose_dance(seed, eight_counts=1).name for seed in range(300)]

    assert len(set(names)) == 300
    assert all(name.count("-") == 1 and name.replace("-", "").isalpha() for name in names)


def test_length_follows_counts_and_tempo():
    """Two eight-counts at 120 bpm last eight seconds; a dancer twice as fast needs four."""
    dance = compose_dance(1, eight_counts=2, bpm=120)

    assert dance.beats == 16
    assert pytest.approx(8.0) == perform(dance).seconds
    assert pytest.approx(4.0) == perform(dance, Dancer(tempo=2.0)).seconds
    assert len(perform(dance, fps=60).joints) == 480


@pytest.mark.parametrize("seed", range(10))
def test_eight_counts_come_back(seed):
    """Four eight-counts hold at least one twice and at least two different ones."""
    moves = compose_dance(seed).moves
    phrases = {moves[i : i + 2] for i in range(0, len(moves), 2)}

    assert len(phrases) in (2, 3)


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, dancer=SEEDS)
def test_bones_keep_their_length(seed, dancer):
    motion = perform(short_dance(seed), Dancer.random(dancer))
    lengths = np.linalg.norm(motion.joints[:, 1:] - motion.joints[:, PARENTS[1:]], axis=-1)

    assert np.ptp(lengths, axis=0).max() < 2e-3


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, dancer=SEEDS)
def test_movement_stays_human(seed, dancer):
    """Hands stay below 12 m/s, nothing jumps, feet never go through the floor, and one is near it."""
    motion = perform(short_dance(seed), Dancer.random(dancer))
    speed = np.linalg.norm(np.diff(motion.joints, axis=0), axis=-1) * motion.fps
    force = np.linalg.norm(np.diff(motion.joints, n=2, axis=0), axis=-1) * motion.fps**2
    ankles = np.stack([joint(motion, "left_ankle"), joint(motion, "right_ankle")], axis=1)[..., 1]

    assert speed.max() < 12
    assert force.max() < 220
    assert ankles.min() > 0.05
    assert np.percentile(ankles.min(axis=1), 80) < 0.2


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS)
def test_knees_bend_forward(seed):
    """A knee is never behind the line from hip to ankle, as the hips see it."""
    motion = perform(short_dance(seed))
    left = joint(motion, "left_hip") - joint(motion, "right_hip")
    ahead = np.cross(left, (0.0, 1.0, 0.0))
    ahead /= np.linalg.norm(ahead, axis=-1, keepdims=True)
    for side in ("left", "right"):
        hip, knee, ankle = (joint(motion, f"{side}_{name}") for name in ("hip", "knee", "ankle"))
        line = (ankle - hip) / np.linalg.norm(ankle - hip, axis=-1, keepdims=True)
        bend = knee - (hip + ankle) / 2
        forward = ahead - (ahead * line).sum(-1, keepdims=True) * line
        assert (bend * forward).sum(axis=-1).min() > -1e-3


def test_hands_stay_outside_the_trunk():
    """Less than one frame in fifty has a wrist within 8 cm of the spine."""
    inside = []
    for seed in range(12):
        motion = perform(short_dance(seed))
        pelvis, neck = joint(motion, "pelvis"), joint(motion, "neck")
        spine = neck - pelvis
        for side in ("left", "right"):
            way = joint(motion, f"{side}_wrist") - pelvis
            share = np.clip((way * spine).sum(-1) / (spine * spine).sum(-1), 0, 1)
            inside.append(np.linalg.norm(way - share[:, None] * spine, axis=-1) < 0.08)

    assert np.mean(inside) < 0.02


def test_a_dance_is_recognised_for_every_dancer():
    """Every performance is nearer to all others of its dance than to any other dance."""
    dances, dancers = 10, 3
    shown = np.array(
        [
            bone_directions(perform(compose_dance(d), Dancer.random(p)))
            for d in range(dances)
            for p in range(dancers)
        ]
    ).reshape(dances * dancers, -1)
    distance = np.sqrt(((shown[:, None] - shown[None]) ** 2).mean(axis=-1))
    which = np.repeat(np.arange(dances), dancers)
    same = which[:, None] == which

    assert distance[same].max() < 0.6 * distance[~same].min()


def test_dancers_differ():
    """Body, manner and timing are the dancer's own: no two performances are alike."""
    one, other = (perform(short_dance(4), Dancer.random(seed)) for seed in (1, 2))

    assert len(one.joints) != len(other.joints)
    assert np.abs(bone_directions(one) - bone_directions(other)).mean() > 0.01


def test_turns_go_all_the_way_round():
    """A dance with a full turn shows the dancer's back once and ends facing the front."""
    seed = next(s for s in range(100) if sum(move.turn != 0 for move in short_dance(s).moves) == 1)
    motion = perform(short_dance(seed))
    left = joint(motion, "left_hip") - joint(motion, "right_hip")
    heading = np.unwrap(np.arctan2(-left[:, 2], left[:, 0]))

    assert pytest.approx(2 * np.pi, abs=1.2) == abs(heading[-1] - heading[0])


def test_body_follows_its_proportions():
    motion = perform(short_dance(2), Dancer(body=Body(height=2.0, leg=0.5)))
    thigh = np.linalg.norm(joint(motion, "left_hip") - joint(motion, "left_knee"), axis=-1)

    assert pytest.approx(0.5) == float(thigh.mean())


@pytest.mark.parametrize(
    ("seed", "counts", "bpm"), [(-1, 4, 110), (0, 0, 110), (0, 4, 20), (0, 4, float("nan"))]
)
def test_impossible_dances_are_refused(seed, counts, bpm):
    with pytest.raises(InputError, match="bpm 40 to 240"):
        compose_dance(seed, eight_counts=counts, bpm=bpm)
