"""Clips -> skeleton files: one .npz per clip, resumable."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from dancematch.errors import InputError
from dancematch.formats import npz
from dancematch.formats.files import clear_parts, fit_file_name
from dancematch.pipeline.analysis.analyse_files import analyse_files
from dancematch.pipeline.analysis.clip_files import content_hash, find_clips
from dancematch.pipeline.analysis.file_analysis import Analysis, MakeEstimator, Progress
from dancematch.pose import default_estimator


def extract(
    places: Sequence[str | Path],
    folder: str | Path,
    *,
    jobs: int = 1,
    make_estimator: MakeEstimator = default_estimator,
    on_progress: Progress | None = None,
    every_frame: bool = False,
) -> Iterator[tuple[Analysis, Path | None]]:
    """Write each clip's motions to `folder`/NAME.npz, and say where; None for one that failed.

    A NAME that would be too long for the file system is shortened, with a digest of the whole of it.
    A clip whose file is there already, from the same content, comes back at once: an
    interrupted run goes on where it stopped. `every_frame` says that the estimator looks at every frame:
    one that was made at another rate of poses is not taken for it.
    """
    inside = Path(folder).absolute()
    clips = [clip for clip in find_clips(places) if inside not in clip.absolute().parents]
    targets = choose_targets(clips, Path(folder))
    create_folder(Path(folder))
    hashes: dict[Path, str] = {}
    waiting: list[Path] = []
    for clip in clips:
        try:
            hashes[clip] = content_hash(clip)
            if _is_extracted(targets[clip], hashes[clip], every_frame):
                yield Analysis(clip, tuple(npz.read(targets[clip]))), targets[clip]
            else:
                waiting.append(clip)
        except InputError as error:
            yield Analysis(clip, error=error), None
    for found in analyse_files(waiting, jobs=jobs, make_estimator=make_estimator, on_progress=on_progress):
        if found.error is not None:
            yield found, None
            continue
        source: dict[str, str | int | float] = {"name": found.path.name, "sha256": hashes[found.path]}
        source |= {"every_frame": True} if every_frame else {}
        npz.write(targets[found.path], found.motions, source=source)
        yield found, targets[found.path]


def create_folder(folder: Path) -> None:
    """Make a folder for results, or clear away what killed processes left unfinished in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        clear_parts(folder)
    except OSError as error:
        raise InputError(f"{folder} cannot be made a folder: {error.strerror}; choose another") from None


def choose_targets(clips: Sequence[Path], folder: Path) -> dict[Path, Path]:
    """Return the .npz file of each clip.

    Clips of one name have that of their folder before it; those that even so have one name are refused.
    """
    stems = Counter(clip.stem for clip in clips)
    names = {
        clip: clip.stem if stems[clip.stem] == 1 else f"{clip.absolute().parent.name}-{clip.stem}"
        for clip in clips
    }
    targets = {clip: folder / fit_file_name(f"{name}.npz") for clip, name in names.items()}
    taken: dict[Path, Path] = {}
    for clip, target in targets.items():
        if target in taken:
            raise InputError(
                f"{taken[target]} and {clip} would both be written to {target}; extract them apart"
            )
        taken[target] = clip
    return targets


def _is_extracted(target: Path, digest: str, every_frame: bool) -> bool:
    if not target.exists():
        return False
    source = npz.read_source(target)
    if source.get("sha256") != digest:
        raise InputError(f"{target} exists already and was made from another clip; choose another folder")
    if bool(source.get("every_frame")) != every_frame:
        raise InputError(f"{target} exists already, at another rate of poses; choose another folder")
    return True
