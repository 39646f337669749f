"""Clips and the information beside them -> a release of the benchmark.

Labels come first, then skeletons, the long part: each clip's skeletons are saved as soon as they are
estimated, so that a killed build continues where it stopped. The release is assembled at the end
from saved skeletons alone, and appears whole or not at all.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dancematch import formats
from dancematch.benchmark.alignment import align_skeleton
from dancematch.benchmark.build_folder import BuildFolder, QuarantineRow
from dancematch.benchmark.build_plan import BuildPlan, Edition, SourceClip, plan_build
from dancematch.benchmark.datasheet import ReleaseFacts, format_card, format_datasheet
from dancematch.benchmark.labels import Labeller
from dancematch.benchmark.release import (
    ABOUT,
    FORMAT,
    Release,
    ReleaseEntry,
    ReleaseWriter,
    read_release,
    restore_release,
)
from dancematch.benchmark.splits import assign_splits, hash_performers
from dancematch.errors import InputError, NoDancerError
from dancematch.formats import npz
from dancematch.model.tokeniser import Tokeniser, load_model
from dancematch.pipeline.analysis.analyse_files import analyse_files
from dancematch.pipeline.analysis.file_analysis import MakeEstimator
from dancematch.pipeline.tokenise import words_in
from dancematch.pose import default_estimator
from dancematch.synthetic.rendering.render_many import StageProgress
from dancematch.types import Fingerprint, Motion

Dancers = tuple[list[Motion], list[Fingerprint]]  # of one clip


@dataclass(frozen=True)
class BuildResult:
    """A release, and how many clips are not in it."""

    release: Release
    clips_given: int
    for_review: int
    quarantined: int
    left_out: int  # by a person's decision


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
    """Make a release of the clips in `videos`; an interrupted build is continued.

    A finished release is replaced only with `force`. `retry` analyses quarantined clips again.
    """
    build_folder.remove_partial_files()
    restore_release(build_folder.release)
    plan = plan_build(videos, build_folder, Labeller(edition.labels), on_stage("reading"))
    build_folder.write_review(plan.review)
    if not plan.labelled:
        raise _empty_release(build_folder, plan, ())
    tokeniser = load_model(model)
    has_videos = not all(formats.is_motion_file(clip.path) for clip in plan.labelled)
    estimator = make_estimator().name if has_videos else "motion files"
    digest = plan.digest(edition, tokeniser.model_id, estimator)
    if build_folder.release.exists() and not force:
        release = read_release(build_folder.release)
        if release.about.get("plan") != digest or retry:
            raise _changed_release(release, plan)
        return _count_clips(release, plan)
    builder = _ReleaseBuilder(build_folder, plan, edition, estimator, tokeniser)
    if not retry:
        builder.keep_quarantined()
    builder.estimate_poses(make_estimator, jobs, on_stage("analysing"))
    return _count_clips(builder.assemble(digest, on_stage("writing")), plan)


class _ReleaseBuilder:
    """Estimates poses and assembles the release of a plan."""

    def __init__(
        self, folder: BuildFolder, plan: BuildPlan, edition: Edition, estimator: str, tokeniser: Tokeniser
    ) -> None:
        self.folder = folder
        self.plan = plan
        self.edition = edition
        self.estimator = estimator
        self.tokeniser = tokeniser
        self.failed: dict[str, QuarantineRow] = {}  # by SHA-256

    def keep_quarantined(self) -> None:
        """Skip the clips that an earlier build quarantined."""
        for clip in self.plan.labelled:
            if clip.sha256 in self.folder.quarantined:
                self.failed[clip.sha256] = self.folder.quarantined[clip.sha256]

    def estimate_poses(
        self, make_estimator: MakeEstimator, jobs: int, on_progress: Callable[[float], None]
    ) -> None:
        """Save the aligned skeletons of every clip that has none yet."""
        targets = {clip.path: self._skeleton_path(clip.clip_id) for clip in self.plan.labelled}
        waiting = {
            clip.path: clip
            for clip in self.plan.labelled
            if clip.sha256 not in self.failed and not targets[clip.path].exists()
        }
        for target in targets.values():
            target.parent.mkdir(parents=True, exist_ok=True)
        self._write_quarantine()
        analyses = analyse_files(
            list(waiting), jobs=jobs, make_estimator=make_estimator, on_progress=on_progress
        )
        for analysis in analyses if waiting else ():
            clip = waiting[analysis.path]
            if analysis.error is None:
                npz.write(targets[clip.path], [align_skeleton(motion) for motion in analysis.motions])
            elif isinstance(analysis.error, InputError):
                self.failed[clip.sha256] = QuarantineRow.from_error(clip.path, clip.sha256, analysis.error)
                self._write_quarantine()
            else:
                raise analysis.error  # not this clip's fault: the next one would fail too

    def assemble(self, digest: str, on_progress: Callable[[float], None]) -> Release:
        """Write the release from saved skeletons."""
        writer = ReleaseWriter(self.folder.release)
        clips = {clip.clip_id: clip for clip in self.plan.labelled if clip.sha256 not in self.failed}
        dancers: dict[str, Dancers] = {}
        for done, (clip_id, clip) in enumerate(sorted(clips.items()), start=1):
            motions = npz.read(self._skeleton_path(clip_id))
            try:
                words = words_in(self.tokeniser, motions, clip.path)
            except NoDancerError as error:
                row = QuarantineRow.from_error(clip.path, clip.sha256, error)
                self.failed[clip.sha256] = replace(row, final=False)  # another model may need less
            else:
                dancers[clip_id] = ([motions[number - 1] for number in words], list(words.values()))
                writer.add(clip_id, *dancers[clip_id])
            on_progress(done / len(clips))
        self._write_quarantine()
        if not dancers:
            raise _empty_release(self.folder, self.plan, list(self.failed.values()))
        entries = self._make_entries([clips[clip_id] for clip_id in dancers], dancers)
        facts = self._count_facts()
        about = {"format": FORMAT, "edition": self.edition.name, "clips": len(entries), "plan": digest}
        about |= {"model_id": facts.model_id, "estimator": self.estimator, "synthetic": facts.synthetic}
        texts = {"README.md": format_card(entries, facts), "DATASHEET.md": format_datasheet(entries, facts)}
        writer.finish(entries, self.edition.labels, {**texts, ABOUT: json.dumps(about, indent=1) + "\n"})
        return read_release(self.folder.release)

    def _skeleton_path(self, clip_id: str) -> Path:
        return self.folder.skeleton_path(self.estimator, clip_id)

    def _write_quarantine(self) -> None:
        self.folder.write_quarantine([*self.plan.quarantine, *self.failed.values()])

    def _make_entries(self, clips: Sequence[SourceClip], dancers: dict[str, Dancers]) -> list[ReleaseEntry]:
        names = {label.label_id: label.name for label in self.edition.labels}
        performers = hash_performers(
            {clip.clip_id: clip.info.uploaders for clip in clips}, self.folder.secret
        )
        labels = {clip.clip_id: str(clip.decision.label_id) for clip in clips}
        splits = assign_splits(performers, labels)
        return [
            ReleaseEntry(
                clip_id=clip.clip_id,
                label_id=labels[clip.clip_id],
                label=names[labels[clip.clip_id]],
                split=splits[clip.clip_id],
                performer=performers[clip.clip_id],
                seconds=round(max(motion.seconds for motion in dancers[clip.clip_id][0]), 3),
                dancers=len(dancers[clip.clip_id][0]),
                words=len(dancers[clip.clip_id][1][0]),
                labelled_by=clip.decision.reason,
                label_score=round(clip.decision.score, 3),
                licence=clip.info.licence,
                # A downloaded clip's conditions are unchecked text: it might hold a name.
                conditions=(dict(clip.info.conditions) or None) if self.edition.synthetic else None,
            )
            for clip in clips
        ]

    def _count_facts(self) -> ReleaseFacts:
        reasons = Counter(row.kind for row in (*self.plan.quarantine, *self.failed.values()))
        reasons += Counter(f"label unclear: {row.why.rpartition(': ')[2]}" for row in self.plan.review)
        reasons["a person left it out"] = self.plan.left_out
        return ReleaseFacts(
            edition=self.edition.name,
            synthetic=self.edition.synthetic,
            model_id=self.tokeniser.model_id,
            estimator=self.estimator,
            clips_given=self.plan.clip_count,
            left_out={reason: count for reason, count in reasons.items() if count},
        )


def _count_clips(release: Release, plan: BuildPlan) -> BuildResult:
    return BuildResult(
        release=release,
        clips_given=plan.clip_count,
        for_review=len(plan.review),
        quarantined=plan.clip_count - len(release.entries) - len(plan.review) - plan.left_out,
        left_out=plan.left_out,
    )


def _changed_release(release: Release, plan: BuildPlan) -> InputError:
    clips = f"{len(release.entries)} clips are in it, {len(plan.labelled)} have a label now"
    return InputError(
        f"{release.folder} would change ({clips}, or what is known of them or the model is another); say"
        " --force to replace it: skeletons that are kept are used again"
    )


def _empty_release(build_folder: BuildFolder, plan: BuildPlan, failed: Sequence[QuarantineRow]) -> InputError:
    build_folder.write_quarantine([*plan.quarantine, *failed])
    return InputError(
        f"no clip of {plan.clip_count} can be released: {len(plan.review)} wait in"
        f" {build_folder.folder / 'review.csv'}, {len(plan.quarantine) + len(failed)} stand in"
        f" {build_folder.folder / 'quarantine.csv'}"
    )
