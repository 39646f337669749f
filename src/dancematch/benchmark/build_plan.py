"""Which clips go into a release: labels, duplicates and decisions, before any pose is estimated."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from dancematch.benchmark.build_folder import LEAVE_OUT, BuildFolder, QuarantineRow, ReviewRow
from dancematch.benchmark.clip_info import ClipInfo, read_clip_info
from dancematch.benchmark.labels import Label, LabelDecision, Labeller
from dancematch.benchmark.release import FORMAT
from dancematch.errors import InputError
from dancematch.pipeline.analysis.clip_files import content_hash, find_clips


@dataclass(frozen=True)
class Edition:
    """A release's name, the labels it may have, and whether its clips are rendered."""

    name: str
    labels: tuple[Label, ...]
    synthetic: bool = False


@dataclass(frozen=True)
class SourceClip:
    """A clip with the information beside it and the decision about its label."""

    path: Path
    sha256: str
    info: ClipInfo
    decision: LabelDecision

    @property
    def clip_id(self) -> str:
        """Equal for equal content."""
        return self.sha256[:16]


@dataclass(frozen=True)
class BuildPlan:
    """Every clip, by what is to be done with it."""

    labelled: tuple[SourceClip, ...]
    review: tuple[ReviewRow, ...]
    quarantine: tuple[QuarantineRow, ...]
    left_out: int

    @property
    def clip_count(self) -> int:
        """How many clips were given."""
        return len(self.labelled) + len(self.review) + len(self.quarantine) + self.left_out

    def digest(self, edition: Edition, model_id: str, estimator: str) -> str:
        """A hash that is equal for two builds only if their releases would be equal."""
        clips = sorted(
            [
                clip.sha256,
                astuple(clip.decision),
                sorted(clip.info.uploaders),
                clip.info.licence,
                sorted(clip.info.conditions.items()),
            ]
            for clip in self.labelled
        )
        content = [FORMAT, edition.name, list(map(astuple, edition.labels)), model_id, estimator, clips]
        return hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()


def plan_build(
    videos: Sequence[str | Path],
    build_folder: BuildFolder,
    labeller: Labeller,
    on_progress: Callable[[float], None],
) -> BuildPlan:
    """Sort the clips in `videos`; answers in review.csv take precedence over labels found in the texts."""
    answers = build_folder.read_answers({key: label.name for key, label in labeller.labels.items()})
    own = {build_folder.release.absolute(), (build_folder.folder / "clips").absolute()}
    paths = [path for path in find_clips(videos) if not own & set(path.absolute().parents)]
    labelled, review, quarantine, left_out = [], [], [], 0
    known: dict[str, Path] = {}
    for done, path in enumerate(paths, start=1):
        on_progress(done / len(paths))
        clip = _read_clip(path, known, labeller)
        if isinstance(clip, QuarantineRow):
            quarantine.append(clip)
            continue
        answer = answers.get(clip.clip_id)
        if answer == LEAVE_OUT:
            left_out += 1
        elif answer:
            labelled.append(replace(clip, decision=LabelDecision(answer, "a person", 1.0)))
        elif clip.decision.label_id:
            labelled.append(clip)
        else:
            review.append(_review_row(clip, labeller))
    return BuildPlan(tuple(labelled), tuple(review), tuple(quarantine), left_out)


def _read_clip(path: Path, known: dict[str, Path], labeller: Labeller) -> SourceClip | QuarantineRow:
    """A clip with its label decision; a second copy of a video is quarantined."""
    sha256 = ""
    try:
        sha256 = content_hash(path)
        info = read_clip_info(path)
    except InputError as error:
        kind = "no usable information beside it" if sha256 else "the file cannot be read"
        return QuarantineRow(str(path), sha256, kind, str(error), final=False)
    same = known.get(sha256) or known.get(info.video_id or "")
    if same is not None:
        reason = f"it is {same} again"
        return QuarantineRow(str(path), sha256, "the same video as another", reason, final=False)
    known[sha256] = path
    if info.video_id:
        known[info.video_id] = path
    return SourceClip(path, sha256, info, labeller.find(info.title, info.tags, info.description))


def _review_row(clip: SourceClip, labeller: Labeller) -> ReviewRow:
    candidates = [f"{key} = {labeller.labels[key].name}" for key in clip.decision.candidates]
    return ReviewRow(
        clip=str(clip.path),
        clip_id=clip.clip_id,
        title=clip.info.title,
        tags=" | ".join(clip.info.tags),
        why=clip.decision.reason,
        candidates="; ".join(candidates),
    )
