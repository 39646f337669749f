"""Procedural choreographies: dances composed from a seed, and dancers who perform them in their own style.

A choreography is plain data: moves of four beats, each a layer of key poses for arms, legs and
torso. Everything random comes from the seed that is passed in.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.skeletons import BODY15
from dancematch.synthetic.dance.body import Body, PoseChannels, pose_joints, unit_vectors
from dancematch.synthetic.dance.moves import (
    ADJECTIVES,
    ARM_MOVES,
    ARM_POSES,
    LEG_MOVES,
    LEG_POSES,
    NOUNS,
    TORSO_CHANNELS,
    TORSO_MIRROR,
    TORSO_MOVES,
    TORSO_POSES,
)
from dancematch.types import Motion

Array = NDArray[np.float64]

BEATS_PER_MOVE = 4
_STEPS_PER_BEAT = 24  # of the grid on which channels are interpolated
_SMOOTHING_SECONDS = 0.05  # human movement has no corners
_FORMS = ("AABA", "ABAB", "AABB", "ABAC", "ABCA", "ABBA", "ABCB")


@dataclass(frozen=True)
class Layer:
    """One body part during a move: key poses, one every `beats`, repeated."""

    name: str
    keys: tuple[str, ...]
    beats: float


@dataclass(frozen=True)
class Move:
    """Four beats of dance."""

    arms: Layer
    legs: Layer
    torso: Layer
    turn: float = 0.0  # degrees to the left, over the whole move
    mirrored: bool = False


@dataclass(frozen=True)
class Choreography:
    """A dance as it would be taught: its moves in order, and their tempo."""

    name: str
    moves: tuple[Move, ...]
    bpm: float

    @property
    def beats(self) -> int:
        """Length in beats."""
        return BEATS_PER_MOVE * len(self.moves)


@dataclass(frozen=True)
class Dancer:
    """A body and a style: what differs between two performances of one choreography."""

    body: Body = field(default_factory=Body)
    amplitude: float = 1.0  # how large the movements are
    energy: float = 0.5  # 0 flows, 1 hits every beat and bounces
    wobble_seconds: float = 0.0  # how far the timing strays
    sway_metres: float = 0.0  # how far the dancer drifts over the floor
    tempo: float = 1.0
    heading: float = 0.0  # degrees to the left of the camera
    seed: int = 0  # of the wobble and the sway

    @classmethod
    def random(cls, seed: int) -> Self:
        """A different dancer for every seed."""
        rng = np.random.default_rng([seed, 1])
        shares = {
            name: getattr(Body, name) * rng.uniform(0.95, 1.05)
            for name in ("leg", "arm", "torso", "shoulders", "hips", "head")
        }
        return cls(
            body=Body(height=float(rng.uniform(1.52, 1.92)), **shares),
            amplitude=float(rng.uniform(0.8, 1.2)),
            energy=float(rng.uniform(0, 1)),
            wobble_seconds=float(rng.uniform(0.01, 0.05)),
            sway_metres=float(rng.uniform(0.01, 0.08)),
            tempo=float(rng.uniform(0.92, 1.08)),
            heading=float(rng.uniform(-15, 15)),
            seed=seed,
        )


def compose_dance(seed: int, *, eight_counts: int = 4, bpm: float = 110) -> Choreography:
    """A dance of `eight_counts` x 8 beats: a different one for every seed, always the same for one seed.

    Eight-counts come in a form such as AABA. A repeated one is not mirrored, though a teacher might:
    the dance would then contain its own mirror image.
    """
    if seed < 0 or eight_counts < 1 or not 40 <= bpm <= 240:
        raise InputError(
            f"a choreography needs seed >= 0, eight_counts >= 1 and bpm 40 to 240,"
            f" got {seed}, {eight_counts} and {bpm}"
        )
    rng = np.random.default_rng([seed, 0])
    form = _FORMS[rng.integers(len(_FORMS))]
    decks = {layer: _shuffle_moves(layer, rng) for layer in ("arms", "legs", "torso")}
    phrases: dict[str, tuple[Move, Move]] = {}
    moves: list[Move] = []
    for count in range(eight_counts):
        letter = form[count % len(form)]
        phrases.setdefault(letter, (_compose_move(decks, rng), _compose_move(decks, rng)))
        moves += phrases[letter]
    return Choreography(_make_name(seed), tuple(moves), float(bpm))


def perform(dance: Choreography, dancer: Dancer = Dancer(), *, fps: float = 30.0) -> Motion:
    """The choreography as this dancer performs it, in metres on a floor at 0."""
    seconds = dance.beats * 60 / (dance.bpm * dancer.tempo)
    times = np.arange(max(int(seconds * fps), 2)) / fps
    rng = np.random.default_rng([dancer.seed, 2])
    wobbly = times + dancer.wobble_seconds * _draw_drift(times, rng)
    at = wobbly * dance.bpm * dancer.tempo / 60 * _STEPS_PER_BEAT
    pose = _pose_channels(dance, dancer, at)
    joints = pose_joints(pose, dancer.body)
    sway = [_draw_drift(times, rng) for _ in range(2)]
    joints[..., [0, 2]] += dancer.sway_metres * np.stack(sway, axis=-1)[:, None]
    return Motion(joints=joints.astype(np.float32), fps=fps, skeleton=BODY15)


def _shuffle_moves(layer: str, rng: np.random.Generator) -> Iterator[Layer]:
    """A layer's moves in random order, without repeats until all are used."""
    known = {"arms": ARM_MOVES, "legs": LEG_MOVES, "torso": TORSO_MOVES}[layer]
    names = sorted(known)
    while True:
        for number in rng.permutation(len(names)):
            beats, keys = known[names[number]]
            yield Layer(names[number], tuple(keys.split()), beats)


def _compose_move(decks: dict[str, Iterator[Layer]], rng: np.random.Generator) -> Move:
    layers = {layer: next(deck) for layer, deck in decks.items()}
    if rng.random() < 0.3:
        layers["arms"] = _draw_free_arms(rng)
    turn = 0.0
    if rng.random() < 0.15:
        # Stepping on the spot is the only way to turn without dragging the feet.
        beats, keys = LEG_MOVES["marching"]
        layers["legs"] = Layer("turn", tuple(keys.split()), beats)
        turn = float(rng.choice([-360, 360]))
    return Move(**layers, turn=turn, mirrored=bool(rng.random() < 0.5))


def _draw_free_arms(rng: np.random.Generator) -> Layer:
    """Four random arm poses in a row."""
    names = sorted(ARM_POSES)
    pairs = [rng.choice(len(names), size=2) for _ in range(4)]
    return Layer("free arms", tuple(f"{names[left]}/{names[right]}" for left, right in pairs), 1)


def _make_name(seed: int) -> str:
    """A readable name; seeds less than 4096 apart never share one."""
    scrambled = seed * 2654435761 % 4096  # an odd factor: one-to-one
    return f"{ADJECTIVES[scrambled % 64]}-{NOUNS[scrambled // 64 % 64]}"


def _pose_channels(dance: Choreography, dancer: Dancer, at: Array) -> PoseChannels:
    """Every channel, interpolated on a grid of beats, smoothed, and read at the grid places `at`."""
    grid = np.arange(dance.beats * _STEPS_PER_BEAT) / _STEPS_PER_BEAT
    rate = dance.bpm * dancer.tempo / 60 * _STEPS_PER_BEAT
    size = dancer.amplitude

    def read(channels: Array) -> Array:
        smooth = _smooth(channels, _SMOOTHING_SECONDS * rate)
        places = np.arange(len(grid))
        return np.stack([np.interp(at, places, channel) for channel in smooth.T], axis=-1)

    hold = 0.05 + 0.25 * dancer.energy
    rest, home = _read_arm_key("down"), _read_leg_key("home")
    arms = rest + size * (_interpolate(dance, "arms", grid, hold) - rest)
    legs = home + size * (_interpolate(dance, "legs", grid, hold) - home)
    legs[:, 1] -= 0.05 * dancer.energy * (0.5 + 0.5 * np.cos(2 * np.pi * grid))  # down on the beat
    torso = size * _interpolate(dance, "torso", grid, hold)
    channels = dict(zip(TORSO_CHANNELS, read(torso).T, strict=True))
    angles = {k: v if k in ("hip_x", "hip_z") else np.radians(v) for k, v in channels.items()}
    heading = np.radians(dancer.heading + read(_sum_turns(dance, grid)[:, None])[:, 0])
    return PoseChannels(read(arms).reshape(-1, 2, 2, 3), read(legs).reshape(-1, 3, 3), angles, heading)


def _interpolate(dance: Choreography, layer: str, grid: Array, hold: float) -> Array:
    """Interpolate from key to key, arriving on the beat after holding for the share `hold` of the time."""
    beats, keys = _list_keys(dance, layer)
    after = np.clip(np.searchsorted(beats, grid, side="right"), 1, len(beats) - 1)
    start, end = beats[after - 1], beats[after]
    way = np.clip((np.clip((grid - start) / (end - start), 0, 1) - hold) / (1 - hold), 0, 1)
    ease = (way**2 * (3 - 2 * way))[:, None]
    if layer == "arms":
        return _swing_arms(keys[after - 1], keys[after], ease)
    drawn = keys[after - 1] * (1 - ease) + keys[after] * ease
    bump = np.sin(np.pi * way)[:, None]
    return drawn + bump * _lift_feet(keys[after - 1], keys[after]) if layer == "legs" else drawn


def _list_keys(dance: Choreography, layer: str) -> tuple[Array, Array]:
    """All keys of a layer: their beats, and their values [keys, channels]."""
    beats: list[float] = []
    keys: list[Array] = []
    read = {"arms": _read_arm_key, "legs": _read_leg_key, "torso": _read_torso_key}[layer]
    for number, move in enumerate(dance.moves):
        part: Layer = getattr(move, layer)
        # The last beat leads to the next move; a key on its half would be a jerk.
        for turn in range(int((BEATS_PER_MOVE - 1) / part.beats) + 1):
            beats.append(number * BEATS_PER_MOVE + turn * part.beats)
            keys.append(read(part.keys[turn % len(part.keys)], mirrored=move.mirrored))
    return np.array([*beats, dance.beats]), np.stack([*keys, keys[-1]])


def _read_arm_key(key: str, *, mirrored: bool = False) -> Array:
    left, _, right = key.partition("/")
    pair = [ARM_POSES[left], ARM_POSES[right or left]]
    return unit_vectors(np.array(pair[::-1] if mirrored else pair, dtype=float)).reshape(-1)


def _read_leg_key(key: str, *, mirrored: bool = False) -> Array:
    right = key.startswith("right-")
    pose = np.array(LEG_POSES[key.replace("right-", "left-")], dtype=float).reshape(3, 3)
    return (pose[[0, 2, 1]] * (-1, 1, 1) if right != mirrored else pose).reshape(-1)


def _read_torso_key(key: str, *, mirrored: bool = False) -> Array:
    right = key.startswith("right-")
    pose = TORSO_POSES[key.replace("right-", "left-")]
    values = np.array([pose.get(channel, 0.0) for channel in TORSO_CHANNELS], dtype=float)
    return values * np.array(TORSO_MIRROR) if right != mirrored else values


def _swing_arms(before: Array, after: Array, ease: Array) -> Array:
    """Rotate arms between directions; opposite directions go round the side, ahead of the body."""
    first, last = before.reshape(-1, 4, 3), after.reshape(-1, 4, 3)
    opposed = np.clip(-(first * last).sum(axis=-1, keepdims=True), 0, 1)
    middle = unit_vectors(first + last + 2 * opposed * np.array([0.8, 0.0, 0.45]))
    share = ease[:, None]
    curve = (1 - share) ** 2 * first + 2 * share * (1 - share) * middle + share**2 * last
    return unit_vectors(curve).reshape(len(before), -1)


def _lift_feet(before: Array, after: Array) -> Array:
    """The height of a foot that travels."""
    way = np.linalg.norm((after - before).reshape(-1, 3, 3)[..., [0, 2]], axis=-1)
    lift = np.zeros((len(before), 3, 3))
    lift[:, 1:, 1] = np.where(way[:, 1:] > 0.02, np.minimum(0.03 + 0.1 * way[:, 1:], 0.08), 0)
    return lift.reshape(len(before), -1)


def _sum_turns(dance: Choreography, grid: Array) -> Array:
    """Degrees turned so far, at every step of the grid."""
    total = np.zeros_like(grid)
    for number, move in enumerate(dance.moves):
        way = np.clip(grid / BEATS_PER_MOVE - number, 0, 1)
        total += move.turn * way**2 * (3 - 2 * way)
    return total


def _smooth(channels: Array, sigma: float) -> Array:
    """The channels under a Gaussian over time, with the ends held."""
    reach = int(4 * sigma) + 1
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    padded = np.pad(channels, ((reach, reach), (0, 0)), mode="edge")
    return np.stack([np.convolve(c, kernel / kernel.sum(), mode="valid") for c in padded.T], axis=-1)


def _draw_drift(times: Array, rng: np.random.Generator) -> Array:
    """A slow random curve around 0, mostly within -1..1."""
    rates = rng.uniform(0.04, 0.35, size=4)
    phases = rng.uniform(0, 2 * np.pi, size=4)
    waves: Sequence[Array] = [np.sin(2 * np.pi * r * times + p) for r, p in zip(rates, phases, strict=True)]
    return np.asarray(np.sum(waves, axis=0) / 2)
