"""How much a motion file may hold: every limit of the readers, with its reason.

A reader asks here before it takes memory or begins to work, so that the same numbers hold for the command
line, the library and the service. A file within all of them is read in about half a gigabyte.
docs/formats.md has them as a table.
"""

from collections.abc import Sequence

from dancematch.errors import InputError

# Bytes
MAX_BYTES = 200 << 20  # of a motion file, packed and unpacked: an hour of three dancers of 33 joints
MAX_READ_BYTES = 2 << 30  # of other files that are read whole, and of our own motions, which are not packed
MAX_PARSED_BYTES = 400 << 20  # of a parsed JSON text, by an estimate: Python takes 32 per number
MAX_METADATA_BYTES = 16 << 20  # of a text within an archive: that of a thousand dancers is half of it
MAX_DIRECTORY_BYTES = 1 << 20  # of an archive's list of members, of which each takes about a hundred
MAX_HIERARCHY_BYTES = 4 << 20  # of the joints' part of a BVH file: a thousand joints take a tenth

# What is in a recording
MAX_FRAMES = 1_000_000  # nine hours at 30 per second
MAX_SECONDS = 36_000.0  # ten hours; a slow frame rate makes many frames of few, later on
MAX_START = 1e10  # seconds of the first frame: times of day count from 1970, and add up to 2e9
MAX_PEOPLE = 500  # in one frame; pose estimators find far fewer
MAX_TRACKS = 1_000  # dancers of one file, who are searched for one by one
MAX_JOINTS = 1_000  # of one skeleton; with all fingers and cloth it has some hundreds
MAX_POSITIONS = 12_000_000  # joints times frames of all dancers: six hours of one dancer of 17 joints
MAX_KEYPOINTS = 5_000_000  # the same in JSON and tables, which take twice the memory until they are converted
MAX_CHANNEL_VALUES = 20_000_000  # numbers of a BVH file: two hours of 96 channels at 30 per second
MAX_METRES = 1e6  # from the origin; a larger number is damaged, and would overflow float32 in later sums

# How it is written
MAX_NAME = 200  # characters of a joint's, a skeleton's, a model's or a picture's name
MAX_NESTING = 200  # joints from the root to a fingertip; skeletons have twenty
MAX_KEYS = 10_000  # different keys of a JSON text: tools write some dozens
MAX_DIMENSIONS = 8  # of an array; three are needed
MAX_MEMBERS = 4_000  # of an archive: three per dancer, and one
MAX_COLUMNS = 1_000  # of a table; four per landmark are 133
MAX_ROW = 1 << 18  # characters of one row of a table
MAX_INSTRUCTIONS = 2_000  # of a pickle: a dictionary of three arrays takes about a hundred
MAX_MESSAGE = 300  # characters that an error tells of a file, besides its path


def require_frames(frames: int) -> None:
    """Refuse more frames than any clip has."""
    _require(frames, MAX_FRAMES, "frames")


def require_seconds(seconds: float, start: float) -> None:
    """Refuse a motion that lasts longer than any recording, or starts after all of them."""
    if not (seconds <= MAX_SECONDS and start <= MAX_START):
        raise InputError(
            f"the motion starts at {start:g} s and lasts {seconds:g} s; more than {MAX_START:g} and "
            f"{MAX_SECONDS:g} s are not read"
        )


def require_plausible_frames(frames: int, shown: int) -> None:
    """Refuse implausible gaps: memory is needed for `frames`, but only `shown` are in the file."""
    if frames > min(MAX_FRAMES, 100 * shown + 1000):
        raise InputError(f"the frame numbers or times span {frames} frames, but only {shown} are there")


def require_people(most: int) -> None:
    """Refuse more people in one frame than any picture shows, before they are compared with each other."""
    if most > MAX_PEOPLE:
        raise InputError(f"a frame shows {most} people; more than {MAX_PEOPLE} are not read")


def require_tracks(tracks: int) -> None:
    """Refuse more dancers than are worth a search."""
    _require(tracks, MAX_TRACKS, "dancers or parts of their tracks")


def require_joints(joints: int) -> None:
    """Refuse more joints than a body has."""
    _require(joints, MAX_JOINTS, "joints")


def require_positions(positions: int) -> None:
    """Refuse more joint positions, or words, over all dancers and frames than are held in memory."""
    _require(positions, MAX_POSITIONS, "joint positions over all frames and dancers", "; split the recording")


def require_keypoints(keypoints: int) -> None:
    """The same for JSON and tables."""
    _require(keypoints, MAX_KEYPOINTS, "keypoints over all frames and dancers", "; split the recording")


def require_shape(shape: Sequence[object]) -> None:
    """Refuse a shape that no array of a motion has, before its sizes are multiplied."""
    sizes = [size for size in shape[: MAX_DIMENSIONS + 1] if isinstance(size, int) and 0 <= size <= MAX_BYTES]
    if len(sizes) != len(shape) or len(shape) > MAX_DIMENSIONS:
        raise InputError(
            f"an array has at most {MAX_DIMENSIONS} dimensions, each of 0 to {MAX_BYTES}; it may be damaged"
        )


def require_names(names: Sequence[str]) -> None:
    """Refuse names longer than tools give."""
    longest = max(map(len, names), default=0)
    if longest > MAX_NAME:
        raise InputError(f"a name has {longest} characters; more than {MAX_NAME} are not read")


def require_depth(parents: Sequence[int]) -> None:
    """Refuse a skeleton of which one joint hangs below more others than in any body; parents come first."""
    depths: list[int] = []
    for parent in parents:
        depths.append(depths[parent] + 1 if 0 <= parent < len(depths) else 1)
    if max(depths, default=0) > MAX_NESTING:
        raise InputError(f"joints are nested {max(depths)} deep; more than {MAX_NESTING} are not read")


def _require(found: int, most: int, what: str, advice: str = "") -> None:
    if found > most:
        raise InputError(f"there are {found} {what}; more than {most} are not read{advice}")
