"""A mannequin around fifteen joints: clothes, face, hair, hands and shoes, as capsules to draw.

The joints stay where they are, so their projection is a picture's ground truth. What `body15` does
not have (direction of nose and feet) follows from shoulders, hips and knees. Sizes are in metres
for a dancer of 1.70 m and scale with the dancer.
"""

import colorsys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.skeletons import BODY15
from dancematch.synthetic.dance.body import unit_vectors
from dancematch.synthetic.rendering.raster import Capsules

Array = NDArray[np.float64]
Colour = tuple[float, float, float]  # red, green, blue, 0..1

HAIR_STYLES = ("short", "bob", "long", "bun", "ponytail")
ANKLE_METRES = 0.090  # height of an ankle that stands on the floor

_PAINTS = ("nothing", "skin", "hair", "shirt", "bottoms", "shoes", "accent", "dark", "lips", "socks")
_SKINS = ((0.96, 0.80, 0.69), (0.90, 0.70, 0.56), (0.78, 0.57, 0.42), (0.62, 0.42, 0.30), (0.45, 0.30, 0.22))
_HAIRS = ((0.10, 0.08, 0.08), (0.25, 0.15, 0.10), (0.45, 0.27, 0.14), (0.80, 0.62, 0.32), (0.55, 0.20, 0.12))


@dataclass(frozen=True)
class Appearance:
    """Clothes, hair and room; they change surfaces only, never the joints."""

    skin: Colour = _SKINS[1]
    hair: Colour = _HAIRS[1]
    shirt: Colour = (0.85, 0.25, 0.27)
    bottoms: Colour = (0.16, 0.22, 0.38)
    shoes: Colour = (0.25, 0.45, 0.62)
    accent: Colour = (0.98, 0.80, 0.25)  # soles and the badge on the chest
    hair_style: str = "short"
    shorts: bool = True
    long_sleeves: bool = False
    girth: float = 1.0  # thickness of limbs and torso
    wall: Colour = (0.66, 0.74, 0.78)
    floor: Colour = (0.72, 0.55, 0.38)
    checkered: bool = False  # floor of tiles instead of boards

    def __post_init__(self) -> None:
        if self.hair_style not in HAIR_STYLES:
            raise InputError(f"hair_style must be one of {', '.join(HAIR_STYLES)}, got {self.hair_style!r}")

    @classmethod
    def random(cls, seed: int) -> Self:
        """A different appearance for every seed."""
        rng = np.random.default_rng([seed, 3])
        hue = rng.random()

        def vivid(turn: float, strength: float, value: float) -> Colour:
            return colorsys.hsv_to_rgb((hue + turn) % 1, strength, value)

        return cls(
            skin=_SKINS[rng.integers(len(_SKINS))],
            hair=_HAIRS[rng.integers(len(_HAIRS))],
            shirt=vivid(0, rng.uniform(0.55, 0.8), rng.uniform(0.7, 0.95)),
            bottoms=vivid(rng.uniform(0.35, 0.65), rng.uniform(0.35, 0.6), rng.uniform(0.25, 0.45)),
            shoes=vivid(rng.uniform(0.1, 0.9), 0.45, rng.uniform(0.35, 0.85)),
            accent=vivid(rng.uniform(0.4, 0.6), 0.55, 0.95),
            hair_style=HAIR_STYLES[rng.integers(len(HAIR_STYLES))],
            shorts=bool(rng.random() < 0.8),
            long_sleeves=bool(rng.random() < 0.25),
            girth=float(rng.uniform(0.9, 1.15)),
            wall=vivid(rng.uniform(0.3, 0.7), rng.uniform(0.08, 0.22), rng.uniform(0.7, 0.85)),
            floor=colorsys.hsv_to_rgb(rng.uniform(0.06, 0.11), rng.uniform(0.3, 0.5), rng.uniform(0.55, 0.8)),
            checkered=bool(rng.random() < 0.4),
        )


def palette(appearance: Appearance) -> Array:
    """The colours that the capsules' `paint` indexes, [paints, 3]."""
    fixed = {
        "nothing": (0, 0, 0),
        "dark": (0.06, 0.05, 0.06),
        "lips": tuple(0.75 * c + 0.25 * r for c, r in zip(appearance.skin, (0.7, 0.1, 0.15), strict=True)),
        "socks": (0.95, 0.95, 0.95),
    }
    return np.array([fixed.get(paint) or getattr(appearance, paint) for paint in _PAINTS], dtype=float)


def body_size(joints: Array) -> float:
    """The dancer's size relative to 1.70 m, from torso, thighs and shins."""
    at = {name: joints[:, i] for i, name in enumerate(BODY15.joints)}
    bones = [("pelvis", "neck"), ("left_hip", "left_knee"), ("left_knee", "left_ankle")]
    bones += [("right_hip", "right_knee"), ("right_knee", "right_ankle")]
    lengths = [np.linalg.norm(at[a] - at[b], axis=-1) for a, b in bones]
    known = [float(np.median(length[np.isfinite(length)])) for length in lengths if np.isfinite(length).any()]
    return float(np.clip(np.mean(known) / 0.43, 0.3, 3.0)) if known else 1.0


def build_mannequin(joints: Array, appearance: Appearance) -> Capsules:
    """The capsules of a mannequin in every frame; `joints` of `body15` [frames, 15, 3] on a floor at 0."""
    builder = _MannequinBuilder(joints, appearance)
    for add in (_add_torso, _add_head, _add_hair, _add_arms, _add_legs):
        add(builder)
    return builder.build()


def merge_capsules(dancers: Sequence[Capsules]) -> Capsules:
    """All dancers' capsules in one; each dancer's paints follow those of the previous one."""

    def join(name: str, axis: int) -> Array:
        return np.concatenate([getattr(one, name) for one in dancers], axis=axis)

    return Capsules(
        start=join("start", 1),
        end=join("end", 1),
        radii=join("radii", 0),
        thin=join("thin", 1),
        flatness=join("flatness", 0),
        paint=np.concatenate([one.paint + len(_PAINTS) * i for i, one in enumerate(dancers)]),
    )


class _MannequinBuilder:
    """Collects capsules; holds the directions of the body in every frame."""

    def __init__(self, joints: Array, appearance: Appearance) -> None:
        self.at = {name: joints[:, i] for i, name in enumerate(BODY15.joints)}
        self.appearance = appearance
        self.size = body_size(joints)
        self.up = unit_vectors(self.at["neck"] - self.at["pelvis"])
        self.chest_left = unit_vectors(self.at["left_shoulder"] - self.at["right_shoulder"])
        self.chest_ahead = unit_vectors(np.cross(self.chest_left, self.up))
        self.hip_left = unit_vectors(self.at["left_hip"] - self.at["right_hip"])
        self.hip_ahead = unit_vectors(np.cross(self.hip_left, self.up))
        self._capsules: list[tuple[Array, Array, tuple[float, float], Array, float, int]] = []

    def add(
        self, paint: str, start: Array, end: Array, radii: tuple[float, float],
        *, thin: Array | None = None, flatness: float = 1.0,
    ) -> None:  # fmt: skip
        """Add a capsule from `start` to `end`, flattened along `thin`."""
        sizes = (radii[0] * self.size, radii[1] * self.size)
        self._capsules.append(
            (start, end, sizes, self.up if thin is None else thin, flatness, _PAINTS.index(paint))
        )

    def build(self) -> Capsules:
        """All capsules added so far."""
        start, end, radii, thin, flatness, paint = zip(*self._capsules, strict=True)
        return Capsules(
            np.stack(start, axis=1), np.stack(end, axis=1), np.array(radii), np.stack(thin, axis=1),
            np.array(flatness), np.array(paint),
        )  # fmt: skip


def _add_torso(t: _MannequinBuilder) -> None:
    at, girth, size = t.at, t.appearance.girth, t.size
    top, low = at["neck"] - 0.085 * size * t.up, at["pelvis"] + 0.17 * size * t.up
    t.add("shirt", low, top, (0.132 * girth, 0.158 * girth), thin=t.chest_ahead, flatness=0.66)
    hem = at["pelvis"] + 0.125 * size * t.up
    hips = [at[f"{side}_hip"] + 0.012 * size * t.up for side in ("left", "right")]
    t.add("bottoms", hips[0], hips[1], (0.092 * girth, 0.092 * girth))
    t.add("shirt", hem, low, (0.146 * girth, 0.136 * girth), thin=t.hip_ahead, flatness=0.72)
    inset = 0.02 * size * t.chest_left
    for side, sign in (("left", 1), ("right", -1)):
        shoulder = at[f"{side}_shoulder"] - sign * inset
        t.add("shirt", top + 0.03 * size * t.up, shoulder, (0.085, 0.064 * girth))
        # Without seat and shoulder blades, estimators take a back for a front.
        seat = at[f"{side}_hip"] - size * (0.045 * t.hip_ahead + 0.03 * t.up + 0.02 * sign * t.hip_left)
        t.add("bottoms", seat, seat + 0.05 * size * t.up, (0.083 * girth, 0.078 * girth))
        blade = top - size * (0.045 * girth * t.chest_ahead - 0.07 * sign * t.chest_left)
        t.add("shirt", blade, blade - 0.08 * size * t.up, (0.064 * girth, 0.052 * girth))
    badge = top - 0.03 * size * t.up + 0.107 * girth * size * t.chest_ahead
    t.add("accent", badge, badge, (0.042, 0.042), thin=t.chest_ahead, flatness=0.25)


def _skull_axes(t: _MannequinBuilder) -> tuple[Array, Array, Array, Array]:
    """Middle of the head, and its own up, ahead and left."""
    rise = unit_vectors(t.at["head"] - t.at["neck"])
    # Ears lie ahead of the shoulders, so an upright head's line leans forward a little.
    up = unit_vectors(rise + 0.5 * t.up - 0.2 * t.chest_ahead)
    ahead = unit_vectors(t.chest_ahead - (t.chest_ahead * up).sum(-1, keepdims=True) * up)
    return t.at["head"] + t.size * (0.015 * up + 0.012 * ahead), up, ahead, np.cross(up, ahead)


def _add_head(t: _MannequinBuilder) -> None:
    middle, up, ahead, left = _skull_axes(t)

    def spot(x: float, y: float, z: float) -> Array:
        return middle + t.size * (x * left + y * up + z * ahead)

    t.add("skin", t.at["neck"] + 0.01 * t.size * t.up, spot(0, -0.04, -0.02), (0.056, 0.052))
    t.add("skin", spot(0, -0.062, 0.022), spot(0, 0.042, 0), (0.058, 0.096), thin=left, flatness=0.84)
    t.add("skin", spot(0, 0.018, 0.092), spot(0, -0.016, 0.108), (0.010, 0.017))
    for sign in (1, -1):
        t.add("lips", spot(0.024 * sign, -0.048, 0.077), spot(0, -0.056, 0.083), (0.006, 0.009))
        t.add("socks", spot(0.032 * sign, 0.02, 0.082), spot(0.034 * sign, 0.02, 0.081), (0.0155, 0.0155))
        t.add("dark", spot(0.032 * sign, 0.02, 0.089), spot(0.032 * sign, 0.02, 0.089), (0.0105, 0.0105))
        t.add("hair", spot(0.018 * sign, 0.051, 0.088), spot(0.048 * sign, 0.052, 0.077), (0.006, 0.006))
        t.add("skin", spot(0.083 * sign, 0.015, 0.0), spot(0.083 * sign, -0.015, 0.0), (0.02, 0.014))


def _add_hair(t: _MannequinBuilder) -> None:
    middle, up, ahead, left = _skull_axes(t)
    style = t.appearance.hair_style

    def lock(start: tuple[float, float], end: tuple[float, float], radii: tuple[float, float]) -> None:
        first, last = (middle + t.size * (y * up + z * ahead) for y, z in (start, end))
        t.add("hair", first, last, radii, thin=left, flatness=0.95)

    lock((0.062, -0.026), (0.078, 0.012), (0.096, 0.078))
    lock((0.05, -0.040), (-0.045, -0.045), (0.095, 0.074))
    if style == "bun":
        lock((0.14, -0.06), (0.15, -0.065), (0.052, 0.048))
    elif style == "ponytail":
        lock((0.08, -0.12), (-0.14, -0.16), (0.042, 0.026))
    elif style in ("bob", "long"):
        for sign in (1, -1):
            top = middle + t.size * (0.04 * up - 0.025 * ahead + 0.055 * sign * left)
            drop = 0.10 if style == "bob" else 0.24
            end = middle - t.size * (drop * up + 0.05 * ahead - 0.05 * sign * left)
            t.add("hair", top, end, (0.058, 0.045))
        lock((0.02, -0.05), (-drop, -0.06), (0.07, 0.05))


def _add_arms(t: _MannequinBuilder) -> None:
    girth = t.appearance.girth
    for side, sign in (("left", 1), ("right", -1)):
        shoulder, elbow, wrist = (t.at[f"{side}_{joint}"] for joint in ("shoulder", "elbow", "wrist"))
        t.add("skin", shoulder, elbow, (0.050 * girth, 0.040 * girth))
        t.add("skin", elbow, wrist, (0.042 * girth, 0.029 * girth))
        sleeve = elbow if t.appearance.long_sleeves else shoulder + 0.52 * (elbow - shoulder)
        t.add("shirt", shoulder, sleeve, (0.064 * girth, 0.054 * girth))
        if t.appearance.long_sleeves:
            t.add("shirt", elbow, wrist + 0.06 * (elbow - wrist), (0.054 * girth, 0.042 * girth))
        _add_hand(t, elbow, wrist, sign)


def _add_hand(t: _MannequinBuilder, elbow: Array, wrist: Array, sign: int) -> None:
    """Add a palm with fingers and thumb; the thumb points ahead when the arm hangs."""
    along = unit_vectors(wrist - elbow)
    thumb = t.chest_ahead + 0.35 * t.up + 0.2 * sign * t.chest_left
    thumb = unit_vectors(thumb - (thumb * along).sum(-1, keepdims=True) * along)
    palm = np.cross(along, thumb)
    size = t.size
    t.add("skin", wrist + 0.02 * size * along, wrist + 0.075 * size * along, (0.032, 0.042),
          thin=palm, flatness=0.5)  # fmt: skip
    for spread in (-0.022, 0.0, 0.022):
        root = wrist + size * (0.085 * along + spread * thumb)
        t.add("skin", root, root + size * (0.075 * along + 0.3 * spread * thumb), (0.0135, 0.0105))
    root = wrist + size * (0.035 * along + 0.03 * thumb)
    t.add("skin", root, root + size * (0.045 * along + 0.035 * thumb), (0.015, 0.011))


def _add_legs(t: _MannequinBuilder) -> None:
    girth = t.appearance.girth
    for side, sign in (("left", 1), ("right", -1)):
        hip, knee, ankle = (t.at[f"{side}_{joint}"] for joint in ("hip", "knee", "ankle"))
        t.add("skin", hip, knee, (0.083 * girth, 0.056 * girth))
        t.add("skin", knee, ankle, (0.055 * girth, 0.036 * girth))
        if t.appearance.shorts:
            t.add("bottoms", hip, hip + 0.62 * (knee - hip), (0.091 * girth, 0.082 * girth))
            t.add("socks", ankle + 0.06 * (knee - ankle), ankle, (0.041 * girth, 0.040))
        else:
            t.add("bottoms", hip, knee, (0.091 * girth, 0.068 * girth))
            t.add("bottoms", knee, ankle + 0.1 * (knee - ankle), (0.068 * girth, 0.056 * girth))
        _add_calf_and_shoe(t, (hip, knee, ankle), sign)


def _add_calf_and_shoe(t: _MannequinBuilder, leg: tuple[Array, Array, Array], sign: int) -> None:
    hip, knee, ankle = leg
    shin = unit_vectors(ankle - knee)
    bend = knee - (hip + ankle) / 2
    # A bent knee shows where the toes point; a straight one leaves it to the hips.
    ahead = unit_vectors(bend + 0.12 * t.size * (t.hip_ahead + 0.25 * sign * t.hip_left))
    calf = unit_vectors((ahead * shin).sum(-1, keepdims=True) * shin - ahead)
    middle = knee + 0.22 * t.size * shin + 0.018 * t.size * calf
    paint = "skin" if t.appearance.shorts else "bottoms"
    t.add(
        paint, knee + 0.06 * t.size * shin, middle, (0.052 * t.appearance.girth, 0.043 * t.appearance.girth)
    )
    toes, sole = _foot_axes(t, ankle, shin, ahead)
    heel = ankle - 0.035 * t.size * toes - 0.048 * t.size * sole
    tip = ankle + 0.140 * t.size * toes - 0.055 * t.size * sole
    t.add("shoes", heel, tip, (0.041, 0.034))
    t.add(
        "shoes",
        ankle - 0.022 * t.size * sole,
        ankle + 0.06 * t.size * toes - 0.044 * t.size * sole,
        (0.046, 0.038),
    )
    drop = 0.022 * t.size * sole
    t.add("accent", heel - drop, tip - drop + 0.006 * t.size * toes, (0.043, 0.038), thin=sole, flatness=0.4)


def _foot_axes(t: _MannequinBuilder, ankle: Array, shin: Array, ahead: Array) -> tuple[Array, Array]:
    """Directions to the toes and up from the sole: flat on the floor, across the shin in the air."""
    upright = np.broadcast_to([0.0, 1.0, 0.0], shin.shape)
    lifted = np.clip((ankle[:, 1:2] / t.size - 0.115) / 0.15, 0, 1)
    sole = unit_vectors((1 - lifted) * upright + lifted * unit_vectors(-shin + 0.35 * ahead))
    toes = unit_vectors(ahead - (ahead * sole).sum(-1, keepdims=True) * sole)
    return toes, sole
