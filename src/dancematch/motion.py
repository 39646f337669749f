"""From raw joints to the canonical frame: pure functions from Motion to Motion.

World frame: metres, y up; a dancer who faces +z has the left side at +x. Canonical frame:
the pelvis is the origin, the dancer faces +z in every frame, and every body has the same
bone lengths, so that moving, turning or scaling the dancer changes nothing. What that
removes (travel and turning) stays visible in one virtual `root` joint.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from dancematch.errors import InputError
from dancematch.skeletons import BODY15, recipe_for
from dancematch.types import FloatArray, Motion, Skeleton

CANONICAL_VERSION = 1  # raised with every change of the canonical frame: part of every model's id
FPS = 30.0
GAP_SECONDS = 0.5  # a joint unseen for longer than this stays unseen
SMOOTHING_SECONDS = 0.24  # window of the smoother: a beat at 180 bpm is longer
STEADY_HEADING = 0.3  # length of the mean of unit vectors from which a dancer is filmed from one side
HEADING_SECONDS = 0.5  # the facing direction follows turns, not every twist of the hips

CANONICAL = Skeleton(
    "canonical16",
    ("root", *BODY15.joints),
    (-1, *(parent + 1 for parent in BODY15.parents)),
    (0, *(other + 1 for other in BODY15.mirror)),
)

# Bone lengths of the canonical body, metres; pelvis and neck have none of their own.
_BONES = {
    "neck": 0.50, "head": 0.24, "shoulder": 0.17, "elbow": 0.28, "wrist": 0.25,
    "hip": 0.11, "knee": 0.42, "ankle": 0.42,
}  # fmt: skip
BONE_LENGTHS: FloatArray = np.array(
    [_BONES.get(joint.rpartition("_")[2], 0.0) for joint in BODY15.joints], dtype=np.float32
)


def resample(
    times: ArrayLike,
    joints: ArrayLike,
    visibility: ArrayLike | None,
    skeleton: Skeleton,
    *,
    fps: float = FPS,
    gap_seconds: float = GAP_SECONDS,
) -> Motion:
    """Return samples taken at any times as a motion on an even clock.

    Each joint is interpolated between the samples that saw it, unless they lie more
    than `gap_seconds` apart: then it is unseen in between. The clock starts at the
    first sample, so `start` says when the dancer came into view.
    """
    stamps = np.asarray(times, dtype=np.float64)
    values = np.asarray(joints, dtype=np.float64)
    if stamps.ndim != 1 or len(stamps) != len(values) or len(stamps) == 0:
        raise InputError(f"one time per sample is needed, got {len(stamps)} times for {len(values)} samples")
    if not (np.isfinite(stamps).all() and (np.diff(stamps) > 0).all()):
        raise InputError("times must be finite and increasing")
    confidence = np.ones(values.shape[:2]) if visibility is None else np.asarray(visibility, dtype=np.float64)
    count = int(np.floor((stamps[-1] - stamps[0]) * fps + 1e-6)) + 1
    clock = stamps[0] + np.arange(count) / fps
    new_joints = np.full((count, values.shape[1], 3), np.nan)
    new_visibility = np.zeros((count, values.shape[1]), dtype=np.float32)
    for joint in range(values.shape[1]):
        seen = np.isfinite(values[:, joint]).all(axis=1)
        if not seen.any():
            continue
        known = stamps[seen]
        bridged = _find_bridged(clock, known, max(gap_seconds, 1.0 / fps))
        for axis in range(3):
            new_joints[bridged, joint, axis] = np.interp(clock[bridged], known, values[seen, joint, axis])
        new_visibility[bridged, joint] = np.interp(clock[bridged], known, confidence[seen, joint])
    return Motion(new_joints, fps, skeleton, new_visibility, start=max(0.0, float(stamps[0])))


def _find_bridged(clock: NDArray[np.float64], known: NDArray[np.float64], gap: float) -> NDArray[np.bool_]:
    """Return which ticks of the clock lie between two known samples at most `gap` apart."""
    after = np.searchsorted(known, clock - 1e-6)
    inside = after < len(known)
    following = known[np.minimum(after, len(known) - 1)]
    preceding = known[np.maximum(after - 1, 0)]
    on_sample = np.abs(following - clock) < 1e-6
    between = (after > 0) & (following - preceding <= gap + 1e-6)
    return inside & (on_sample | between)


def clean(motion: Motion, *, fps: float = FPS) -> Motion:
    """Return the motion at `fps`, with short gaps closed and jitter removed."""
    times = motion.start + np.arange(len(motion.joints)) / motion.fps
    even = resample(times, motion.joints, motion.visibility, motion.skeleton, fps=fps)
    return Motion(_smooth(even.joints, fps), fps, even.skeleton, even.visibility, start=motion.start)


def _smooth(joints: FloatArray, fps: float) -> FloatArray:
    """Apply Savitzky-Golay to each run of frames in which a joint is seen: a mean would dull the accents."""
    window = int(SMOOTHING_SECONDS * fps) // 2 * 2 + 1
    if window < 5:
        return joints
    result = joints.copy()
    if np.isfinite(joints).all():
        if len(joints) >= window:
            result = _savitzky_golay(joints, window)
        return result
    for joint in range(joints.shape[1]):
        for first, last in _seen_runs(np.isfinite(joints[:, joint, 0])):
            if last - first >= window:
                result[first:last, joint] = _savitzky_golay(joints[first:last, joint], window)
    return result


def _savitzky_golay(values: FloatArray, window: int) -> FloatArray:
    """Return the middle of a parabola fitted to each `window` of samples; at the ends, half a window of it.

    SciPy has the same, but loading it takes longer than most searches.
    """
    half = window // 2
    powers = np.vander(np.arange(-half, half + 1, dtype=np.float64), 3)
    fit = powers @ np.linalg.pinv(powers)  # [window, window]: samples -> the parabola at their positions
    middle = sliding_window_view(values, window, axis=0) @ fit[half]
    head = np.tensordot(fit[:half], values[:window], axes=1)
    tail = np.tensordot(fit[half + 1 :], values[-window:], axes=1)
    return np.concatenate([head, middle, tail]).astype(np.float32)


def _seen_runs(seen: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield the runs [first, last) in which `seen` holds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], seen.astype(np.int8), [0]])))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def to_body15(motion: Motion) -> Motion:
    """Return the motion on the skeleton that everything is compared on, still in the world frame.

    A joint that the motion's own skeleton lacks is unseen.
    """
    if motion.skeleton.name == BODY15.name:
        return motion
    recipe = recipe_for(motion.skeleton)
    joints = np.full((len(motion.joints), len(BODY15.joints), 3), np.nan, dtype=np.float32)
    visibility = np.zeros(joints.shape[:2], dtype=np.float32)
    for place, joint in enumerate(BODY15.joints):
        source = [motion.skeleton.index(part) for part in recipe[joint]]
        if source:
            joints[:, place] = motion.joints[:, source].mean(axis=1)
            visibility[:, place] = motion.visibility[:, source].min(axis=1)
    return Motion(joints, motion.fps, BODY15, visibility, start=motion.start)


def mirror(motion: Motion) -> Motion:
    """Return the mirrored motion: left and right change places."""
    swap = list(motion.skeleton.mirror)
    joints = motion.joints[:, swap] * np.array([-1, 1, 1], dtype=np.float32)
    if motion.skeleton.name == CANONICAL.name:
        # The root holds (sideways speed, yaw rate, forward speed): the mirror negates the first two.
        joints[:, 0] *= np.array([1, -1, 1], dtype=np.float32)
    return Motion(joints, motion.fps, motion.skeleton, motion.visibility[:, swap], start=motion.start)


def canonicalise(motion: Motion) -> Motion:
    """Return a motion, cleaned, in the canonical frame, on `CANONICAL`.

    The root joint holds what the frame removes: sideways speed, yaw rate and forward
    speed, in metres of the canonical body and radians per second.
    """
    body = clean(to_body15(motion))
    lateral = heading(body.joints)
    facing = _turn(body.joints - body.joints[:, :1], lateral)
    scale = _scale_to_canonical(body.joints)
    root = _root_velocity(body.joints[:, 0] * scale, lateral, body.fps)
    joints = np.concatenate([root[:, None], on_standard_body(facing)], axis=1)
    seen = np.isfinite(joints).all(axis=2)
    visibility = np.concatenate([body.visibility[:, :1], body.visibility], axis=1) * seen
    return Motion(joints, body.fps, CANONICAL, visibility, start=body.start)


def heading(joints: FloatArray) -> FloatArray:
    """Return the dancer's left as one horizontal unit vector (x, z) per frame.

    Hips and shoulders together, smoothed in time: the hips alone swing with every step and
    the shoulders twist against them. A dancer whose sides stand one above the other has no
    heading in that moment and keeps the last one.
    """
    hips = joints[:, BODY15.index("left_hip")] - joints[:, BODY15.index("right_hip")]
    shoulders = joints[:, BODY15.index("left_shoulder")] - joints[:, BODY15.index("right_shoulder")]
    lateral = np.nan_to_num(hips)[:, [0, 2]] + np.nan_to_num(shoulders)[:, [0, 2]]
    half = int(HEADING_SECONDS * FPS / 2)
    kernel = np.hanning(2 * half + 3)[1:-1]
    smooth = np.stack([np.convolve(lateral[:, i], kernel)[half:-half] for i in range(2)], axis=1)
    length = np.linalg.norm(smooth, axis=1)
    known = np.flatnonzero(length > 1e-3 * length.max()) if length.max() > 1e-6 else np.zeros(0, dtype=int)
    if not len(known):
        return np.tile(np.array([1, 0], dtype=np.float32), (len(joints), 1))
    latest = known[np.maximum(np.searchsorted(known, np.arange(len(joints)), side="right") - 1, 0)]
    return np.asarray(smooth[latest] / length[latest, None], dtype=np.float32)


def camera_angle(motion: Motion) -> float | None:
    """Return from where the dancer is filmed on average: 0 from the front, 90 from a side, 180 from behind.

    In degrees; None for a dancer who turns so much that there is no such side.
    """
    lateral = _mean_heading(motion)
    if float(np.linalg.norm(lateral)) < STEADY_HEADING:
        return None
    return float(np.degrees(np.abs(np.arctan2(lateral[1], lateral[0]))))


def face_camera(motion: Motion) -> Motion:
    """Return the motion turned as a whole about the vertical: on average it is then filmed from the front."""
    lateral = _mean_heading(motion)
    sides = np.tile(lateral / max(float(np.linalg.norm(lateral)), 1e-6), (len(motion.joints), 1))
    return replace(motion, joints=_turn(motion.joints, sides).astype(np.float32))


def _mean_heading(motion: Motion) -> FloatArray:
    return np.asarray(heading(clean(to_body15(motion)).joints).mean(axis=0))


def _turn(points: FloatArray, lateral: FloatArray) -> FloatArray:
    """Turn each frame about the vertical so that the dancer's left comes to +x."""
    side = lateral[:, None] if points.ndim == 3 else lateral
    x = points[..., 0] * side[..., 0] + points[..., 2] * side[..., 1]
    z = -points[..., 0] * side[..., 1] + points[..., 2] * side[..., 0]
    return np.stack([x, points[..., 1], z], axis=-1)


def _scale_to_canonical(joints: FloatArray) -> float:
    """Return the factor that makes this body as large as the canonical one."""
    bones = np.linalg.norm(joints - joints[:, list(BODY15.parents)], axis=2)[:, 1:]
    with np.errstate(invalid="ignore"):
        seen = np.isfinite(bones).any(axis=0)
        lengths = np.nanmedian(bones[:, seen], axis=0) if seen.any() else np.zeros(0)
    total = float(lengths.sum())
    return float(BONE_LENGTHS[1:][seen].sum()) / total if total > 1e-6 else 1.0


def on_standard_body(joints: FloatArray) -> FloatArray:
    """Return every bone in its direction with the canonical length: proportions are the dancer's.

    The joints are those of `body15`, [frames, 15, 3].
    """
    result = np.zeros_like(joints)
    result[:, 0] = joints[:, 0]
    for joint, parent in enumerate(BODY15.parents[1:], start=1):
        bone = joints[:, joint] - joints[:, parent]
        length = np.maximum(np.linalg.norm(bone, axis=1, keepdims=True), 1e-6)
        result[:, joint] = result[:, parent] + bone / length * BONE_LENGTHS[joint]
    return result


def _root_velocity(pelvis: FloatArray, lateral: FloatArray, fps: float) -> FloatArray:
    """Return sideways speed, yaw rate and forward speed of the pelvis in the dancer's own frame."""
    if len(pelvis) < 2:
        return np.zeros_like(pelvis)
    velocity = _turn(np.gradient(pelvis, axis=0) * fps, lateral)
    yaw = np.unwrap(np.arctan2(lateral[:, 1], lateral[:, 0]))
    return np.stack([velocity[:, 0], np.gradient(yaw) * fps, velocity[:, 2]], axis=1).astype(np.float32)


def into_world(canonical: Motion) -> Motion:
    """Return a canonical motion in the world frame, on `body15`: the root gives turning and travel.

    The height of the pelvis is lost: the lowest joint of each frame stands on the
    floor. Where the root was not seen, the dancer stays.
    """
    if canonical.skeleton.name != CANONICAL.name:
        raise InputError(f"a motion on {CANONICAL.name} was expected, got {canonical.skeleton.name}")
    sideways, yaw_rate, forward = np.nan_to_num(canonical.joints[:, 0]).astype(np.float64).T
    yaw = _integrate(yaw_rate, canonical.fps)
    back = np.stack([np.cos(yaw), -np.sin(yaw)], axis=1)  # the inverse rotation
    velocity = _turn(np.stack([sideways, np.zeros_like(yaw), forward], axis=1), back)
    body = _turn(canonical.joints[:, 1:], back)
    lowest = np.nan_to_num(body[:, :, 1], nan=np.inf).min(axis=1)
    height = np.where(np.isfinite(lowest), -lowest, 0)
    x, z = (_integrate(velocity[:, axis], canonical.fps) for axis in (0, 2))
    joints = (body + np.stack([x, height, z], axis=1)[:, None]).astype(np.float32)
    return Motion(joints, canonical.fps, BODY15, canonical.visibility[:, 1:], start=canonical.start)


def _integrate(rate: NDArray[np.floating], fps: float) -> NDArray[np.float64]:
    """Return the integral of a rate over time, from 0, by the trapezoidal rule."""
    steps = (rate[1:] + rate[:-1]) / (2 * fps)
    return np.concatenate([[0.0], np.cumsum(steps)])


def perturb(motion: Motion, name: str, strength: float = 1.0, *, seed: int = 0) -> Motion:
    """Return the motion after a change of the given name; strength 1 is a usual amount.

    `PERTURBATIONS` lists the names. The same seed gives the same change.
    """
    if name not in PERTURBATIONS:
        raise InputError(f"there is no perturbation {name!r}; there are {', '.join(PERTURBATIONS)}")
    if not 0 <= strength < float("inf"):
        raise InputError(f"a strength must be 0 or more, got {strength}")
    return PERTURBATIONS[name](motion, strength, np.random.default_rng(seed))


def _tilt(motion: Motion, strength: float, rng: np.random.Generator) -> Motion:
    """Tilt the camera by up to 10 degrees about a horizontal axis."""
    angle = np.radians(10 * strength) * rng.uniform(0.5, 1)
    about = rng.uniform(0, 2 * np.pi)
    axis = np.array([np.cos(about), 0, np.sin(about)])
    cross = np.cross(np.eye(3), axis)
    rotation = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    return _with_joints(motion, motion.joints @ rotation.T)


def _noise(motion: Motion, strength: float, rng: np.random.Generator) -> Motion:
    """Add an unsure estimator's noise: every joint trembles by about 1.5 cm."""
    return _with_joints(motion, motion.joints + rng.normal(0, 0.015 * strength, motion.joints.shape))


def _drift(motion: Motion, strength: float, rng: np.random.Generator) -> Motion:
    """Add an estimator's slow errors: every joint wanders by about 3 cm over seconds."""
    knots = max(4, int(motion.seconds / 2) + 2)
    corners = rng.normal(0, 0.03 * strength, (knots, *motion.joints.shape[1:]))
    at = np.linspace(0, knots - 1.001, len(motion.joints))
    low, share = at.astype(int), (at % 1)[:, None, None]
    return _with_joints(motion, motion.joints + corners[low] * (1 - share) + corners[low + 1] * share)


def _dropout(motion: Motion, strength: float, rng: np.random.Generator) -> Motion:
    """Hide each joint for a tenth of the time, for about a second at once."""
    joints = motion.joints.copy()
    length = max(1, round(motion.fps))
    for joint in range(joints.shape[1]):
        for _ in range(rng.poisson(0.1 * strength * len(joints) / length)):
            first = int(rng.integers(len(joints)))
            joints[first : first + length, joint] = np.nan
    return Motion(joints, motion.fps, motion.skeleton, motion.visibility, start=motion.start)


def _tempo(motion: Motion, strength: float, rng: np.random.Generator) -> Motion:
    """Change the tempo by a fifth, faster or slower."""
    factor = 1.2 ** (strength * rng.choice([-1, 1]))
    return change_tempo(motion, factor)


def change_tempo(motion: Motion, factor: float) -> Motion:
    """Return the motion danced `factor` times as fast."""
    if not 0.1 <= factor <= 10:
        raise InputError(f"a tempo factor must lie between 0.1 and 10, got {factor}")
    times = np.arange(len(motion.joints)) / (motion.fps * factor)
    gap = GAP_SECONDS * max(1.0, 1 / factor)  # frames that a slower tempo moves apart are still bridged
    faster = resample(
        times, motion.joints, motion.visibility, motion.skeleton, fps=motion.fps, gap_seconds=gap
    )
    return Motion(faster.joints, faster.fps, faster.skeleton, faster.visibility, start=motion.start)


def _crop(motion: Motion, strength: float, rng: np.random.Generator) -> Motion:
    """Cut out half of the motion, from anywhere in it."""
    length = max(1, round(len(motion.joints) * 0.5**strength))
    first = int(rng.integers(len(motion.joints) - length + 1))
    return excerpt(motion, first / motion.fps, (first + length) / motion.fps)


def excerpt(motion: Motion, start: float, end: float) -> Motion:
    """Return the part from `start` to `end`, in seconds after the motion's own start, on a clock from 0."""
    within = 0 <= start < end < float("inf")  # not so for NaN either
    first, last = (round(start * motion.fps), round(end * motion.fps)) if within else (0, 0)
    if not 0 <= first < last <= len(motion.joints):
        raise InputError(f"{start} to {end} s is not within the motion's {motion.seconds:.2f} s")
    return Motion(motion.joints[first:last], motion.fps, motion.skeleton, motion.visibility[first:last])


def _phase(motion: Motion, strength: float, rng: np.random.Generator) -> Motion:
    """Start the recording up to a tenth of a second later."""
    late = min(int(rng.integers(1, 4) * strength), len(motion.joints) - 1)
    return excerpt(motion, late / motion.fps, motion.seconds)


def _with_joints(motion: Motion, joints: NDArray[np.floating]) -> Motion:
    return Motion(joints, motion.fps, motion.skeleton, motion.visibility, start=motion.start)


PERTURBATIONS: Mapping[str, Callable[[Motion, float, np.random.Generator], Motion]] = {
    "tilt": _tilt,
    "noise": _noise,
    "drift": _drift,
    "dropout": _dropout,
    "tempo": _tempo,
    "crop": _crop,
    "phase": _phase,
}
