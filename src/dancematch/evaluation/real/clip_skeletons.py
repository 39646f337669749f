"""Skeletons of a folder's clips, estimated once and kept: a suite that ran before runs in minutes.

A clip's skeletons are kept under its name and the hash of its content, so that an interrupted run goes on
and a clip that was replaced is estimated again. A clip in which nobody is seen leaves a text file that says
so. Motion files are read as they are.
"""

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from dancematch import formats, motion, pose
from dancematch.cache_folder import cache_folder
from dancematch.errors import NoDancerError
from dancematch.evaluation.methods.recogniser import Recording
from dancematch.evaluation.real.clip_index import IndexedClip
from dancematch.evaluation.suites.aist import dance_of, load_clips
from dancematch.formats import npz
from dancematch.pipeline.analysis.analyse_files import analyse_files
from dancematch.pipeline.analysis.clip_files import content_hash
from dancematch.pipeline.analysis.file_analysis import Analysis, MakeEstimator, Progress
from dancematch.pose import default_estimator
from dancematch.types import Motion

_HASH_LETTERS = 16
NOBODY_SUFFIX = ".nobody.txt"


@cache
def default_folder() -> Path:
    """The folder in the user's cache for skeletons that this version of the pose estimation makes."""
    sources = [*sorted(Path(pose.__file__).parent.glob("*.py")), Path(motion.__file__)]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    return cache_folder() / f"skeletons-{digest[:_HASH_LETTERS]}"


def load_recordings(
    folder: Path,
    clips: Sequence[IndexedClip],
    kept: Path | None = None,
    *,
    jobs: int = 1,
    make_estimator: MakeEstimator = default_estimator,
    on_progress: Progress | None = None,
) -> list[Recording]:
    """The dancers of every clip: read from the folder `kept`, or estimated and written there."""
    kept = default_folder() if kept is None else kept
    kept.mkdir(parents=True, exist_ok=True)
    paths = {clip.file: folder / clip.file for clip in clips}
    videos = {file: path for file, path in paths.items() if not formats.is_motion_file(path)}
    targets = {
        file: kept / f"{path.stem}-{content_hash(path)[:_HASH_LETTERS]}.npz" for file, path in videos.items()
    }
    waiting = {videos[file]: target for file, target in targets.items() if not _is_kept(target)}
    for outcome in analyse_files(
        list(waiting), jobs=jobs, make_estimator=make_estimator, on_progress=on_progress
    ):
        keep_skeletons(outcome, waiting[outcome.path])
    return [
        Recording(clip.file, clip.dance, _read(targets.get(clip.file, paths[clip.file]))) for clip in clips
    ]


def keep_skeletons(outcome: Analysis, target: Path) -> None:
    """Write what came of one clip; an error other than an empty clip is raised."""
    if isinstance(outcome.error, NoDancerError):
        _nobody(target).write_text(f"{outcome.path.name}: nobody was seen\n", encoding="utf-8")
    elif outcome.error is not None:
        raise outcome.error
    else:
        source = {"name": outcome.path.name, "sha256": content_hash(outcome.path)}
        npz.write(target, outcome.motions, source=source, overwrite=True)


def _nobody(target: Path) -> Path:
    return target.with_suffix(NOBODY_SUFFIX)


def _is_kept(target: Path) -> bool:
    return target.exists() or _nobody(target).exists()


def _read(path: Path) -> tuple[Motion, ...]:
    return () if _nobody(path).exists() else tuple(formats.read(path))


def load_distractors(folder: Path) -> list[Recording]:
    """Every sequence of a folder in the public AIST++ layout, as recordings of other dances."""
    return [
        Recording(
            "/".join(("distractor", *clip.name.choreography, clip.name.dancer, clip.name.music)),
            f"distractor/{dance_of(clip.name)}",
            (clip.motion,),
        )
        for clip in load_clips(folder)
    ]
