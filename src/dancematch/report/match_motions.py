"""The two motions of a match, to look at beside each other in 3D: the query's dancer and the known dance's.

The query's dancer is as seen. The known dance is laid on the query's clock at the tempo and lag of the match,
and mirrored if the match is. Both are on `body15`, stand on the floor around the origin, and face +z.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from dancematch import formats
from dancematch.errors import InputError, UnknownDanceError
from dancematch.formats.motion_capture import gltf_write
from dancematch.motion import FPS, heading, mirror, to_body15
from dancematch.pipeline.analysis.extract import create_folder
from dancematch.pipeline.catalogue import Catalogue
from dancematch.pipeline.query import QueryClip
from dancematch.pipeline.tokenise import decode
from dancematch.skeletons import BODY15
from dancematch.types import Match, Motion

FIGURES = "match.glb"
SKELETONS = ("query.bvh", "reference.bvh")


def write_match_motions(
    catalogue: Catalogue, query: QueryClip, match: Match, where: str | Path, *, overwrite: bool = False
) -> list[Path]:
    """Write both motions of a match and return the files: all of them are written, or none.

    A path that ends in .glb is one file with two figures side by side, the query's on the left. Any other is
    a folder, made if need be, for the same as `match.glb` and for `query.bvh` and `reference.bvh`.
    """
    where = Path(where)
    targets = require_motions_free(where, overwrite=overwrite)
    both = pair_motions(catalogue, query, match)
    if targets == [where]:
        _write_figures(where, both, match, overwrite)
        return targets
    create_folder(where)
    with TemporaryDirectory(dir=where, prefix=".dancematch-") as made:
        for name, motion in zip(SKELETONS, both, strict=True):
            formats.write(Path(made, name), [gltf_write.leave_out_unseen(motion)])
        _write_figures(Path(made, FIGURES), both, match, overwrite)
        return [Path(made, target.name).replace(target) for target in targets]


def require_motions_free(where: Path, *, overwrite: bool) -> list[Path]:
    """Return the files that `write_match_motions` writes; refuse, before the work, what it cannot write."""
    if where.suffix.lower() == ".glb":
        targets = [where]
    else:
        targets = [where / name for name in (FIGURES, *SKELETONS)]
        if where.exists() and not where.is_dir():
            raise InputError(f"{where} is a file; motions go into a folder, or into a file that ends in .glb")
    for target in targets:
        if target.exists() and not overwrite:
            raise InputError(f"{target} exists already; choose another name or ask for overwriting")
    return targets


def _write_figures(path: Path, both: tuple[Motion, Motion], match: Match, overwrite: bool) -> None:
    gltf_write.write(path, both, names=("query", match.name), overwrite=overwrite)


def pair_motions(catalogue: Catalogue, query: QueryClip, match: Match) -> tuple[Motion, Motion]:
    """Return the query's dancer and the known dance's over the span of the match, frame by frame at one time.

    A known dance whose skeletons were not kept is decoded from its words.
    """
    known = _read_known(catalogue, match)
    frames = max(1, round(match.query.seconds * FPS))
    later = np.arange(frames) / FPS
    tempo = match.tempo or match.reference.seconds / match.query.seconds
    start = match.query.start
    own = _sample(to_body15(query.dancer(match.dancer).motion), start + later, start)
    reference = to_body15(mirror(known) if match.mirrored else known)
    theirs = _sample(reference, match.reference.start + tempo * later, start)
    return _face_forward(own, theirs)


def _read_known(catalogue: Catalogue, match: Match) -> Motion:
    recording_id = match.recording_id or ""
    motion = catalogue.dancers(recording_id).get(match.reference_dancer)
    if motion is not None:
        return motion
    for track in catalogue.recording_tracks(recording_id):
        if track.dancer == match.reference_dancer:
            return decode(track.fingerprint, catalogue.tokeniser)
    raise UnknownDanceError(f"{match.name!r} has no dancer {match.reference_dancer} any more; search again")


def _sample(motion: Motion, times: NDArray[np.float64], start: float) -> Motion:
    """Return a motion's joints at these times, on a clock from `start` on.

    Between two frames a joint is interpolated, or unseen if either does not show it. Before the first and
    after the last frame, as far as the words of a match go beyond them, the pose is held.
    """
    places = np.clip((times - motion.start) * motion.fps, 0, len(motion.joints) - 1)
    nearest = np.round(places).astype(np.int64)
    before, after = np.floor(places + 1e-6).astype(np.int64), np.ceil(places - 1e-6).astype(np.int64)
    share = np.where(after > before, places - before, 0.0)[:, None, None]
    joints = (1 - share) * motion.joints[before] + share * motion.joints[after]
    if not np.isfinite(joints).all(axis=2).any():
        raise InputError("a dancer of the match is not seen within its span; there is nothing to write")
    return Motion(joints.astype(np.float32), FPS, BODY15, motion.visibility[nearest], start)


def _face_forward(own: Motion, theirs: Motion) -> tuple[Motion, Motion]:
    """Return both dancers around the origin, each turned as a whole.

    The first faces +z on average, the second faces as the first does at the same moments, on average.
    """
    left, their_left = (heading(one.joints) @ [1, 1j] for one in (own, theirs))
    turn = left.sum()
    beside = (their_left * left.conj()).sum()
    return _place(own, turn), _place(theirs, turn * beside)


def _place(motion: Motion, left: complex) -> Motion:
    """Return a dancer turned so that `left`, x + iz, becomes +x, and moved to the floor around the origin."""
    turned = (motion.joints[..., [0, 2]] @ np.array([1, 1j])) * np.exp(-1j * np.angle(left))
    joints = np.stack([turned.real, motion.joints[..., 1], turned.imag], axis=-1)
    middle = np.nanmedian(joints, axis=(0, 1))
    joints -= [middle[0], np.nanmin(joints[..., 1]), middle[2]]
    return Motion(joints.astype(np.float32), motion.fps, BODY15, motion.visibility, motion.start)
