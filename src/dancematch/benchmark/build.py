"""Clips and what is written about them -> a release of the benchmark.

Labels first, then skeletons, the long part: every finished clip is kept, so that a run that
was killed goes on where it stopped. The release is put together at the end, from kept
skeletons alone, and appears whole or not at all.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dancematch import formats
from dancematch.benchmark.alignment import align_skeleton
from dancematch.benchmark.build_folder import LEAVE_OUT, BuildFolder, QuarantineRow, ReviewRow
from dancematch.benchmark.clip_info import ClipInfo, read_clip_info
from dancematch.benchmark.datasheet import ReleaseFacts, format_card, format_datasheet
from dancematch.benchmark.labels import Label, LabelDecision, Labeller
from dancematch.benchmark.release import (
    ABOUT,
    FORMAT,
    Release,
    ReleaseEntry,
    ReleaseWriter,
    read_release,
    restore,
)
from dancematch.benchmark.splits import hash_performers, split
from dancematch.errors import InputError, NoDancerError
from dancematch.formats import npz
from dancematch.model.tokeniser import Tokeniser, load_model
from dancematch.pipeline.analyse_files import analyse_files
from dancematch.pipeline.analysis import MakeEstimator
from dancematch.pipeline.files import content_hash, find_clips
from dancematch.pipeline.tokenise import words_in
from dancematch.pose import default_estimator
from dancematch.synthetic.rendering.render_many import StageProgress
from dancematch.types import Fingerprint, Motion


@dataclass(frozen=True)
class Edition:
    """What a release is called, which labels it may have, and whether it was rendered."""

    name: str
    labels: tuple[Label, ...]
    synthetic: bool = False


@dataclass(frozen=True)
class BuildResult:
    """What came of a run."""

    release: Release
    clips_given: int
    for_review: int
    quarantined: int
    left_out: int  # by a person's decision


@dataclass(frozen=True)
class _Clip:
    path: Path
    sha256: str
    info: ClipInfo
    finding: LabelDecision

    @property
    def clip_id(self) -> str:
        return self.sha256[:16]


@dataclass(frozen=True)
class _Plan:
    """What is to be done before anything slow is."""

    labelled: tuple[_Clip, ...]
    questions: tuple[ReviewRow, ...]
    failures: tuple[QuarantineRow, ...]
    left_out: int

    @property
    def clips_given(self) -> int:
        return len(self.labelled) + len(self.questions) + len(self.failures) + self.left_out


def build(
    videos: Sequence[str | Path],
    build_folder: BuildFolder,
    edition: Edition,
    *,
    jobs: int = 1,
    model: str | Path | None = None,
    make_estimator: MakeEstimator = default_estimator,
    force: bool = False,
    retry: bool = False,
    on_stage: StageProgress = lambda _name: lambda _share: None,
) -> BuildResult:
    """Make a release of the clips in `videos`; a run that was interrupted is continued.

    A finished release is replaced only by `force`. `retry` looks again at clips that failed.
    """
    build_folder.sweep()
    restore(build_folder.release)
    plan = _make_plan(videos, build_folder, Labeller(edition.labels), on_stage("reading"))
    build_folder.write_questions(plan.questions)
    if not plan.labelled:
        raise _nothing(build_folder, plan, ())
    tokeniser = load_model(model)
    seen = [clip for clip in plan.labelled if not formats.is_motion_file(clip.path)]
    estimator = make_estimator().name if seen else "motion files"
    stamp = _stamp(plan, edition, tokeniser.model_id, estimator)
    if build_folder.release.exists() and not force:
        found = read_release(build_folder.release)
        if found.about.get("plan") != stamp or retry:
            raise _would_change(found, plan)
        return _told(found, plan)
    failed = (
        {} if retry else {c.sha256: f for c in plan.labelled if (f := build_folder.failures.get(c.sha256))}
    )
    _look(plan, build_folder, failed, _Looking(estimator, make_estimator, jobs), on_stage("looking"))
    made = _Assembly(build_folder, plan, failed, estimator).put_together(
        edition, tokeniser, stamp, on_stage("writing")
    )
    return _told(made, plan)


def _make_plan(
    videos: Sequence[str | Path], build_folder: BuildFolder, labeller: Labeller, tell: Callable[[float], None]
) -> _Plan:
    answers = build_folder.answers({key: label.name for key, label in labeller.labels.items()})
    own = (build_folder.release.absolute(), (build_folder.folder / "clips").absolute())
    paths = [
        path
        for path in find_clips(videos)
        # A .json beside videos is what a downloader wrote, though it might be a motion elsewhere.
        if path.suffix != ".json" and not set(own) & set(path.absolute().parents)
    ]
    labelled, questions, failures, left_out = [], [], [], 0
    taken: dict[str, Path] = {}
    for done, path in enumerate(paths, start=1):
        tell(done / len(paths))
        clip = _read_clip(path, taken, labeller)
        if isinstance(clip, QuarantineRow):
            failures.append(clip)
            continue
        answer = answers.get(clip.clip_id)
        if answer == LEAVE_OUT:
            left_out += 1
        elif answer:
            labelled.append(replace(clip, finding=LabelDecision(answer, "a person", 1.0)))
        elif clip.finding.label_id:
            labelled.append(clip)
        else:
            questions.append(_question(clip, labeller))
    return _Plan(tuple(labelled), tuple(questions), tuple(failures), left_out)


def _read_clip(path: Path, taken: dict[str, Path], labeller: Labeller) -> _Clip | QuarantineRow:
    """Read what is known of a clip; one that is there twice is used once."""
    sha256 = ""
    try:
        sha256 = content_hash(path)
        info = read_clip_info(path)
    except InputError as error:
        kind = "no usable information beside it" if sha256 else "the file cannot be read"
        return QuarantineRow(str(path), sha256, kind, str(error), final=False)
    same = taken.get(sha256) or taken.get(info.video_id or "")
    if same is not None:
        return QuarantineRow(
            str(path), sha256, "the same video as another", f"it is {same} again", final=False
        )
    taken[sha256] = path
    if info.video_id:
        taken[info.video_id] = path
    return _Clip(path, sha256, info, labeller.find(info.title, info.tags, info.description))


def _question(clip: _Clip, labeller: Labeller) -> ReviewRow:
    named = [f"{key} = {labeller.labels[key].name}" for key in clip.finding.candidates]
    return ReviewRow(
        clip=str(clip.path),
        clip_id=clip.clip_id,
        title=clip.info.title,
        tags=" | ".join(clip.info.tags),
        why=clip.finding.how,
        candidates="; ".join(named),
    )


def _stamp(plan: _Plan, edition: Edition, model_id: str, estimator: str) -> str:
    """Equal for two runs only if their releases would be."""
    clips = sorted(
        [
            c.sha256,
            str(c.finding),
            sorted(c.info.uploaders),
            c.info.licence,
            sorted(c.info.conditions.items()),
        ]
        for c in plan.labelled
    )
    told = [FORMAT, edition.name, [str(label) for label in edition.labels], model_id, estimator, clips]
    return hashlib.sha256(json.dumps(told, default=str).encode()).hexdigest()


@dataclass(frozen=True)
class _Looking:
    """With what skeletons are found."""

    estimator: str
    make: MakeEstimator
    jobs: int


def _look(
    plan: _Plan,
    build_folder: BuildFolder,
    failed: dict[str, QuarantineRow],
    how: _Looking,
    tell: Callable[[float], None],
) -> None:
    """Find the skeletons of every clip that has none yet, and keep each as soon as it is there."""
    kept = {clip.path: build_folder.skeleton_path(how.estimator, clip.clip_id) for clip in plan.labelled}
    waiting = {
        clip.path: clip
        for clip in plan.labelled
        if clip.sha256 not in failed and not kept[clip.path].exists()
    }
    for target in kept.values():
        target.parent.mkdir(parents=True, exist_ok=True)
    build_folder.write_failures([*plan.failures, *failed.values()])
    outcomes = analyse_files(list(waiting), jobs=how.jobs, make_estimator=how.make, on_progress=tell)
    for outcome in outcomes if waiting else ():
        clip = waiting[outcome.path]
        if outcome.error is None:
            npz.write(kept[clip.path], [align_skeleton(motion) for motion in outcome.motions])
        elif isinstance(outcome.error, InputError):
            failed[clip.sha256] = QuarantineRow.of(clip.path, clip.sha256, outcome.error)
            build_folder.write_failures([*plan.failures, *failed.values()])
        else:
            raise outcome.error  # not this clip's fault: the next one would fail too


@dataclass(frozen=True)
class _Assembly:
    """Puts kept skeletons together into a release."""

    build_folder: BuildFolder
    plan: _Plan
    failed: dict[str, QuarantineRow]
    estimator: str

    def put_together(
        self, edition: Edition, tokeniser: Tokeniser, stamp: str, tell: Callable[[float], None]
    ) -> Release:
        writer = ReleaseWriter(self.build_folder.release)
        dancers: dict[str, tuple[list[Motion], list[Fingerprint]]] = {}
        clips = {clip.clip_id: clip for clip in self.plan.labelled if clip.sha256 not in self.failed}
        for done, (clip_id, clip) in enumerate(sorted(clips.items()), start=1):
            motions = npz.read(self.build_folder.skeleton_path(self.estimator, clip_id))
            try:
                words = words_in(tokeniser, motions, clip.path)
            except NoDancerError as error:
                failure = QuarantineRow.of(clip.path, clip.sha256, error)
                self.failed[clip.sha256] = replace(failure, final=False)  # another model may need less
            else:
                dancers[clip_id] = ([motions[number - 1] for number in words], list(words.values()))
                writer.add(clip_id, *dancers[clip_id])
            tell(done / len(clips))
        self.build_folder.write_failures([*self.plan.failures, *self.failed.values()])
        if not dancers:
            raise _nothing(self.build_folder, self.plan, list(self.failed.values()))
        entries = self._entries([clips[clip_id] for clip_id in dancers], dancers, edition)
        facts = self._facts(edition, tokeniser.model_id)
        about = {"format": FORMAT, "edition": edition.name, "clips": len(entries), "plan": stamp}
        about |= {"model_id": tokeniser.model_id, "estimator": self.estimator, "synthetic": edition.synthetic}
        texts = {"README.md": format_card(entries, facts), "DATASHEET.md": format_datasheet(entries, facts)}
        writer.finish(entries, edition.labels, {**texts, ABOUT: json.dumps(about, indent=1) + "\n"})
        return read_release(self.build_folder.release)

    def _entries(
        self,
        clips: Sequence[_Clip],
        dancers: dict[str, tuple[list[Motion], list[Fingerprint]]],
        edition: Edition,
    ) -> list[ReleaseEntry]:
        names = {label.label_id: label.name for label in edition.labels}
        who = hash_performers({clip.clip_id: clip.info.uploaders for clip in clips}, self.build_folder.secret)
        label_of = {clip.clip_id: str(clip.finding.label_id) for clip in clips}
        split_of = split(who, label_of)
        return [
            ReleaseEntry(
                clip_id=clip.clip_id,
                label_id=label_of[clip.clip_id],
                label=names[label_of[clip.clip_id]],
                split=split_of[clip.clip_id],
                performer=who[clip.clip_id],
                seconds=round(max(motion.seconds for motion in dancers[clip.clip_id][0]), 3),
                dancers=len(dancers[clip.clip_id][0]),
                words=len(dancers[clip.clip_id][1][0]),
                labelled_by=clip.finding.how,
                label_score=round(clip.finding.score, 3),
                licence=clip.info.licence,
                # Of a recording nobody has checked what stands there: it might be a name.
                conditions=(dict(clip.info.conditions) or None) if edition.synthetic else None,
            )
            for clip in clips
        ]

    def _facts(self, edition: Edition, model_id: str) -> ReleaseFacts:
        reasons = Counter(failure.kind for failure in (*self.plan.failures, *self.failed.values()))
        reasons += Counter(f"label unclear: {_without_place(row.why)}" for row in self.plan.questions)
        reasons["a person left it out"] = self.plan.left_out
        left_out = {reason: count for reason, count in reasons.items() if count}
        return ReleaseFacts(
            edition.name, edition.synthetic, model_id, self.estimator, self.plan.clips_given, left_out
        )


def _without_place(why: str) -> str:
    return why.rpartition(": ")[2]


def _told(release: Release, plan: _Plan) -> BuildResult:
    return BuildResult(
        release=release,
        clips_given=plan.clips_given,
        for_review=len(plan.questions),
        quarantined=plan.clips_given - len(release.entries) - len(plan.questions) - plan.left_out,
        left_out=plan.left_out,
    )


def _would_change(found: Release, plan: _Plan) -> InputError:
    clips = f"{len(found.entries)} clips are in it, {len(plan.labelled)} have a label now"
    return InputError(
        f"{found.folder} would change ({clips}, or what is known of them or the model is another); say"
        " --force to replace it: skeletons that are kept are used again"
    )


def _nothing(build_folder: BuildFolder, plan: _Plan, failed: Sequence[QuarantineRow]) -> InputError:
    build_folder.write_failures([*plan.failures, *failed])
    return InputError(
        f"no clip of {plan.clips_given} can be released: {len(plan.questions)} wait in"
        f" {build_folder.folder / 'review.csv'}, {len(plan.failures) + len(failed)} stand in"
        f" {build_folder.folder / 'quarantine.csv'}"
    )
