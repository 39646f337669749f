"""The joint layouts that files and estimators use, and the way from each to `body15`.

`body15` is the skeleton everything is compared on. A layout reaches it through a
table that names, for each of the fifteen joints, the joints whose mean it is.
"""

from collections.abc import Mapping, Sequence

from dancematch.errors import InputError
from dancematch.types import Skeleton

Recipe = Mapping[str, tuple[str, ...]]  # joint of body15 -> joints of the layout to average


def sided_mirror(joints: Sequence[str], left: str = "left", right: str = "right") -> tuple[int, ...]:
    """Pair every joint with the one whose name differs only in its side."""
    places = {name: i for i, name in enumerate(joints)}

    def other(name: str) -> str:
        if left in name:
            return name.replace(left, right)
        return name.replace(right, left)

    return tuple(places.get(other(name), i) for i, name in enumerate(joints))


def make_skeleton(name: str, tree: str) -> Skeleton:
    """Build a layout from "joint<parent joint<parent ..." in layout order; a root has no parent."""
    pairs = [entry.partition("<")[::2] for entry in tree.split()]
    joints = tuple(joint for joint, _ in pairs)
    parents = tuple(joints.index(parent) if parent else -1 for _, parent in pairs)
    return Skeleton(name, joints, parents, sided_mirror(joints))


BODY15 = make_skeleton(
    "body15",
    """pelvis neck<pelvis head<neck
    left_shoulder<neck left_elbow<left_shoulder left_wrist<left_elbow
    right_shoulder<neck right_elbow<right_shoulder right_wrist<right_elbow
    left_hip<pelvis left_knee<left_hip left_ankle<left_knee
    right_hip<pelvis right_knee<right_hip right_ankle<right_knee""",
)

COCO17 = make_skeleton(
    "coco17",
    """nose left_eye<nose right_eye<nose left_ear<left_eye right_ear<right_eye
    left_shoulder<nose right_shoulder<nose left_elbow<left_shoulder right_elbow<right_shoulder
    left_wrist<left_elbow right_wrist<right_elbow left_hip<left_shoulder right_hip<right_shoulder
    left_knee<left_hip right_knee<right_hip left_ankle<left_knee right_ankle<right_knee""",
)

BLAZEPOSE33 = make_skeleton(
    "blazepose33",
    """nose left_eye_inner<nose left_eye<left_eye_inner left_eye_outer<left_eye
    right_eye_inner<nose right_eye<right_eye_inner right_eye_outer<right_eye
    left_ear<left_eye_outer right_ear<right_eye_outer mouth_left<nose mouth_right<nose
    left_shoulder<nose right_shoulder<nose left_elbow<left_shoulder right_elbow<right_shoulder
    left_wrist<left_elbow right_wrist<right_elbow left_pinky<left_wrist right_pinky<right_wrist
    left_index<left_wrist right_index<right_wrist left_thumb<left_wrist right_thumb<right_wrist
    left_hip<left_shoulder right_hip<right_shoulder left_knee<left_hip right_knee<right_hip
    left_ankle<left_knee right_ankle<right_knee left_heel<left_ankle right_heel<right_ankle
    left_foot_index<left_heel right_foot_index<right_heel""",
)

SMPL24 = make_skeleton(
    "smpl24",
    """pelvis left_hip<pelvis right_hip<pelvis spine1<pelvis left_knee<left_hip right_knee<right_hip
    spine2<spine1 left_ankle<left_knee right_ankle<right_knee spine3<spine2 left_foot<left_ankle
    right_foot<right_ankle neck<spine3 left_collar<spine3 right_collar<spine3 head<neck
    left_shoulder<left_collar right_shoulder<right_collar left_elbow<left_shoulder
    right_elbow<right_shoulder left_wrist<left_elbow right_wrist<right_elbow left_hand<left_wrist
    right_hand<right_wrist""",
)

OPENPOSE25 = make_skeleton(
    "openpose25",
    """nose neck<nose right_shoulder<neck right_elbow<right_shoulder right_wrist<right_elbow
    left_shoulder<neck left_elbow<left_shoulder left_wrist<left_elbow pelvis<neck
    right_hip<pelvis right_knee<right_hip right_ankle<right_knee
    left_hip<pelvis left_knee<left_hip left_ankle<left_knee
    right_eye<nose left_eye<nose right_ear<right_eye left_ear<left_eye
    left_big_toe<left_ankle left_small_toe<left_big_toe left_heel<left_ankle
    right_big_toe<right_ankle right_small_toe<right_big_toe right_heel<right_ankle""",
)

# The ears stand where other layouts have the head's centre; a nose or an eye would tilt it forward.
_HEAD = ("left_ear", "right_ear")
_HIPS = ("left_hip", "right_hip")
_SHOULDERS = ("left_shoulder", "right_shoulder")

RECIPES: Mapping[str, Recipe] = {
    "body15": {},
    "coco17": {"pelvis": _HIPS, "neck": _SHOULDERS, "head": _HEAD},
    "blazepose33": {"pelvis": _HIPS, "neck": _SHOULDERS, "head": _HEAD},
    "smpl24": {"pelvis": _HIPS, "neck": _SHOULDERS},
    "openpose25": {"pelvis": _HIPS, "neck": _SHOULDERS, "head": _HEAD},
}
"""Joints of `body15` that are not joints of the same name in the layout.

The pelvis is the middle of the hips and the neck the middle of the shoulders in every
layout, although some have joints of these names: they lie 5 to 10 cm elsewhere.
"""

SKELETONS: Mapping[str, Skeleton] = {
    skeleton.name: skeleton for skeleton in (BODY15, COCO17, BLAZEPOSE33, SMPL24, OPENPOSE25)
}


def recipe_for(skeleton: Skeleton) -> Recipe:
    """Return how the joints of `body15` are made from those of `skeleton`; nothing for a joint it lacks.

    A layout that is not in the table (a BVH file's own) serves if it uses the names of
    `body15`. It may lack legs, hands and head, but not shoulders, an elbow, and hips or pelvis.
    """
    special = RECIPES.get(skeleton.name, RECIPES["smpl24"])
    recipe = {joint: special.get(joint, (joint,)) for joint in BODY15.joints}
    there = set(skeleton.joints)
    if not there.issuperset(recipe["pelvis"]) and "pelvis" in there:
        recipe["pelvis"] = ("pelvis",)
    lacking = {joint for joint, parts in recipe.items() if not there.issuperset(parts)}
    if lacking & {"pelvis", "neck", *_SHOULDERS} or {"left_elbow", "right_elbow"} <= lacking:
        missing = sorted({part for joint in lacking for part in recipe[joint]} - there)
        raise InputError(f"skeleton {skeleton.name!r} lacks {', '.join(missing)}, which body15 is made from")
    return {joint: () if joint in lacking else parts for joint, parts in recipe.items()}
