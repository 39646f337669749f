"""The joints of a BVH file by their names, taken apart into a side and a body part.

BVH prescribes no names. CMU and Mixamo write `LeftUpLeg`, 3ds Max `Bip01 L Thigh`,
Blender `thigh.L`, Poser `lThigh`, Unreal `thigh_l`, Biovision `LeftHip`. All are reduced to
("left", "thigh"), and a table says which part is which joint of `body15`.
"""

import re
from collections.abc import Sequence

from dancematch.skeletons import BODY15, SKELETONS
from dancematch.types import Skeleton

_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_SIDES = {"left": "left", "l": "left", "lft": "left", "right": "right", "r": "right", "rt": "right"}
_NOISE = """actor armature avg b base biped bip bone c cc character ctrl def f jnt joint j m mixamorig org rig
    skel skeleton valve"""

# For each joint the parts that may mean it, the surest first. `shoulder` is the start of the
# upper arm in some files and the collar bone in others, but the others have an `arm` as well;
# likewise `leg` is the shin wherever there is a thigh, and `hand` and `foot` may hang below
# a wrist and an ankle.
_LIMBS = {
    "shoulder": "upperarm uparm humerus arm shldr shldrbend shoulder",
    "elbow": "forearm lowerarm lowarm loarm forearmbend elbow radius",
    "wrist": "wrist hand",
    "hip": "upleg upperleg thigh thighbend femur hip",
    "knee": "lowleg lowerleg loleg shin calf knee tibia leg",
    "ankle": "ankle footankle foot",
}
_MIDLINE = {"pelvis": "pelvis hips hip root", "neck": "neck lowerneck neckbase", "head": "head skull"}
_PARTS = frozenset(" ".join([*_LIMBS.values(), *_MIDLINE.values()]).split())

Key = tuple[str, str]  # side ("left", "right" or "") and part


def parse_joint_name(name: str) -> Key:
    """Return the side and the part that a joint's name means."""
    words = [word.lower() for word in _WORDS.findall(re.split(r"[:|]", name)[-1])]
    side = next((_SIDES[word] for word in words if word in _SIDES), "")
    part = "".join(w for w in words if w not in _SIDES and w not in _NOISE.split() and not w.isdigit())
    return (side, part) if side else _split_fused(part)


def _split_fused(part: str) -> Key:
    """Split names such as `ltibia` or `leftarm`, where nothing marks the border."""
    for prefix, side in _SIDES.items():
        if part.startswith(prefix) and part.removeprefix(prefix) in _PARTS:
            return side, part.removeprefix(prefix)
        if part.endswith(prefix) and part.removesuffix(prefix) in _PARTS:
            return side, part.removesuffix(prefix)
    return "", part


def recognise_skeleton(names: Sequence[str], parents: Sequence[int]) -> Skeleton:
    """Return a file's own joints, those of `body15` under their names there."""
    shared = _shared_prefix(names)
    keys = [parse_joint_name(name.removeprefix(shared)) for name in names]
    roles = _find_exact_roles(names) or _find_roles(keys)
    joints = _make_unique([roles.get(place, name) for place, name in enumerate(names)], roles)
    return Skeleton("bvh", joints, tuple(parents), _pair_sides(keys, roles, joints))


def _shared_prefix(names: Sequence[str]) -> str:
    """Return what stands before every name up to a separator, such as an actor's name."""
    first, last = min(names), max(names)
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    found = re.match(r".*[\W_]", first[:same])
    return found[0] if found else ""


def known_layout(skeleton: Skeleton) -> Skeleton:
    """Return the named layout that has the same joints and bones, or else `skeleton` itself.

    So that what was written from a layout is read as that layout, although BVH lists
    joints depth first.
    """
    return next(
        (known for known in SKELETONS.values() if _name_bones(known) == _name_bones(skeleton)), skeleton
    )


def _name_bones(skeleton: Skeleton) -> dict[str, str]:
    parents = (skeleton.joints[parent] if parent >= 0 else "" for parent in skeleton.parents)
    return dict(zip(skeleton.joints, parents, strict=True))


def _find_exact_roles(names: Sequence[str]) -> dict[int, str]:
    """Return the places of the names of `body15` themselves, if the file has every limb's.

    Files of `bvh_write` are recognised even where another joint (a collar bone called
    `LeftShoulder`) could be taken for one of them.
    """
    limbs = {joint for joint in BODY15.joints if joint.startswith(("left_", "right_"))}
    if not limbs <= set(names):
        return {}
    return {names.index(joint): joint for joint in BODY15.joints if joint in names}


def _find_roles(keys: Sequence[Key]) -> dict[int, str]:
    """Return which positions in the file hold which joints of `body15`."""
    places: dict[Key, int] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, place)  # of `spine` and `spine1` the one nearer the root
    if all(key not in places for key in (("left", "upleg"), ("left", "thigh"), ("left", "hip"))):
        _take_leg_for_thigh(places)
    wanted = [(side, joint, parts) for side in ("left", "right") for joint, parts in _LIMBS.items()]
    wanted += [("", joint, parts) for joint, parts in _MIDLINE.items()]
    roles: dict[int, str] = {}
    for side, joint, parts in wanted:
        found = next((places[side, part] for part in parts.split() if (side, part) in places), None)
        if found is not None:
            roles[found] = f"{side}_{joint}" if side else joint
    return roles


def _take_leg_for_thigh(places: dict[Key, int]) -> None:
    """In files with `leg`, `knee` and `ankle` but no thigh, the leg is the thigh."""
    for side in ("left", "right"):
        if (side, "knee") in places and (side, "leg") in places:
            places.setdefault((side, "thigh"), places[side, "leg"])


def _make_unique(names: list[str], roles: dict[int, str]) -> tuple[str, ...]:
    """Return the names without duplicates; recognised joints keep theirs."""
    taken = set(roles.values())
    for place, name in enumerate(names):
        if place in roles:
            continue
        number = 2
        while names[place] in taken:
            names[place] = f"{name}_{number}"
            number += 1
        taken.add(names[place])
    return tuple(names)


def _role_key(role: str) -> Key:
    """Return a key that no unrecognised joint has, for there the space is taken out."""
    side, _, part = role.rpartition("_")
    return side, f"body {part}"


def _pair_sides(keys: Sequence[Key], roles: dict[int, str], joints: Sequence[str]) -> tuple[int, ...]:
    """Pair joints whose names differ only in the side; doubtful ones mirror themselves."""
    labels = [_role_key(roles[place]) if place in roles else key for place, key in enumerate(keys)]
    other = {"left": "right", "right": "left"}
    places: dict[Key, list[int]] = {}
    for place, label in enumerate(labels):
        places.setdefault(label, []).append(place)
    mirror = list(range(len(joints)))
    for (side, part), mine in places.items():
        theirs = places.get((other.get(side, ""), part), []) if side else []
        if len(mine) == len(theirs):
            for a, b in zip(mine, theirs, strict=True):
                mirror[a] = b
    return tuple(mirror)
