"""Joint names as tools spell them: `leftEyeInner`, `LEFT_EYE_INNER`, `left eye (inner)` are one joint."""

import re
from collections.abc import Iterable

from dancematch.formats.limits import MAX_NAME
from dancematch.types import Skeleton

_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")


def to_snake_case(name: str) -> str:
    """Return the name in lower case with single underscores, without the name of its enumeration."""
    short = name[:MAX_NAME].removeprefix("PoseLandmark.")  # a longer one is no joint's
    return "_".join(word.lower() for word in _BORDER.split(short) if word)


def has_upper_body(joints: Iterable[str]) -> bool:
    """Whether both shoulders and an elbow are among the joints: the least that a dancer is."""
    found = set(joints)
    return {"left_shoulder", "right_shoulder"} <= found and bool({"left_elbow", "right_elbow"} & found)


def find_joints(names: Iterable[str], skeleton: Skeleton) -> dict[str, int]:
    """Return which joint of `skeleton` each name means; other names are left out."""
    known = {joint: place for place, joint in enumerate(skeleton.joints)}
    return {name: known[key] for name in names if (key := to_snake_case(name)) in known}
