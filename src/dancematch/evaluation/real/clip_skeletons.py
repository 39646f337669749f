"""Skeletons of a folder's clips, estimated once and stored, so that a second run takes minutes.

They are stored under the clip's name and the hash of its content: an interrupted run goes on, and a clip that
was replaced is estimated again. A clip without a dancer leaves a text file that says so. Motion files are
read as they are.
"""

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from dancematch import formats, motion, pose
from dancematch.cache_folder import cache_folder
from dancematch.errors import NoDancerError
from dancematch.evaluation.methods.recogniser import MotionRecording
from dancematch.evaluation.real.clip_index import IndexedClip
from dancematch.evaluation.suites.aist import dance_of, load_clips
from dancematch.formats import npz
from dancematch.pipeline.analysis.analyse_files import analyse_files
from dancematch.pipeline.analysis.clip_files import content_hash
from dancematch.pipeline.analysis.file_analysis import Analysis, MakeEstimator, Progress
from dancematch.pose import default_estimator
from dancematch.types import Motion

_HASH_LETTERS = 16
NO_DANCER_SUFFIX = ".no-dancer.txt"


@cache
def default_folder() -> Path:
    """The folder in the user's cache for skeletons that this version of the pose estimation makes."""
    sources = [*sorted(Path(pose.__file__).parent.rglob("*.py")), Path(motion.__file__)]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    return cache_folder() / f"skeletons-{digest[:_HASH_LETTERS]}"


def load_recordings(
    folder: Path,
    clips: Sequence[IndexedClip],
    skeletons: Path | None = None,
    *,
    jobs: int = 1,
    make_estimator: MakeEstimator = default_estimator,
    on_progress: Progress | None = None,
) -> list[MotionRecording]:
    """The dancers of every clip: read from the folder `skeletons`, or estimated and written there."""
    store = default_folder() if skeletons is None else skeletons
    store.mkdir(parents=True, exist_ok=True)
    paths = {clip.file: folder / clip.file for clip in clips}
    videos = {file: path for file, path in paths.items() if not formats.is_motion_file(path)}
    targets = {
        file: store / f"{path.stem}-{content_hash(path)[:_HASH_LETTERS]}.npz" for file, path in videos.items()
    }
    missing = {
        videos[file]: target
        for file, target in targets.items()
        if not target.exists() and not _no_dancer_file(target).exists()
    }
    for analysis in analyse_files(
        list(missing), jobs=jobs, make_estimator=make_estimator, on_progress=on_progress
    ):
        write_skeletons(analysis, missing[analysis.path])
    return [
        MotionRecording(clip.file, clip.dance, _read(targets.get(clip.file, paths[clip.file])))
        for clip in clips
    ]


def write_skeletons(analysis: Analysis, target: Path) -> None:
    """Write the skeletons of one clip, or that it has no dancer; raise any other error."""
    if isinstance(analysis.error, NoDancerError):
        _no_dancer_file(target).write_text(f"{analysis.path.name}: no dancer was seen\n", encoding="utf-8")
    elif analysis.error is not None:
        raise analysis.error
    else:
        source = {"name": analysis.path.name, "sha256": content_hash(analysis.path)}
        npz.write(target, analysis.motions, source=source, overwrite=True)


def _no_dancer_file(target: Path) -> Path:
    return target.with_suffix(NO_DANCER_SUFFIX)


def _read(path: Path) -> tuple[Motion, ...]:
    return () if _no_dancer_file(path).exists() else tuple(formats.read(path))


def load_distractors(folder: Path) -> list[MotionRecording]:
    """Every sequence of a folder in the public AIST++ layout, as recordings of other dances."""
    return [
        MotionRecording(
            "/".join(("distractor", *clip.name.choreography, clip.name.dancer, clip.name.music)),
            f"distractor/{dance_of(clip.name)}",
            (clip.motion,),
        )
        for clip in load_clips(folder)
    ]
