"""The three kinds of programme, each with its catalogue: joined motions, skeletons of clips, and videos."""

import csv
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from dancematch.evaluation.medley.changes import MOTION_CHANGES
from dancematch.evaluation.medley.motion_programmes import draw_clips, join_motions, name_clip
from dancematch.evaluation.medley.programme import (
    PROGRAMME_SECONDS,
    ItemKind,
    Part,
    Programme,
    ProgrammeSource,
    compose_programme,
)
from dancematch.evaluation.medley.scanning import Scan, ScanSource, scan_apart, scan_here
from dancematch.evaluation.medley.skeleton_programmes import draw_recordings, place_dancers
from dancematch.evaluation.methods.recogniser import MotionRecording
from dancematch.evaluation.real.clip_index import INDEX, IndexedClip
from dancematch.evaluation.suites.aist import AistClip
from dancematch.evaluation.suites.open_set import outside_cohort
from dancematch.model.patches import PatchTokeniser
from dancematch.training.data.files import find_motion_files, read_motions
from dancematch.types import Fingerprint, Motion


class MadeProgramme(NamedTuple):
    """A programme, the recordings of its catalogue, and what is scanned."""

    programme: Programme
    known: Sequence[MotionRecording]
    source: ScanSource
    distractors: Sequence[MotionRecording] = ()  # in the catalogue of every programme


class ProgrammeMaker(Protocol):
    """Makes programmes of one kind."""

    @property
    def name(self) -> str:
        """What is scanned."""

    @property
    def scan(self) -> Scan:
        """How it is scanned."""

    def make(self, part: Part, seed: Sequence[int]) -> MadeProgramme:
        """A programme and its catalogue, the same for the same seed."""


@dataclass(frozen=True)
class UnknownMotion:
    """A motion that no catalogue has."""

    source: ProgrammeSource
    motion: Motion


def load_unknown_motions(
    folder: Path, model: PatchTokeniser, background: Sequence[Fingerprint]
) -> list[UnknownMotion]:
    """The motions of a folder that are not in the model's background.

    Those that an index.csv beside them calls no dance (column `is_dance`) do not dance.
    """
    found = []
    for path, motions in read_motions(find_motion_files([folder])):
        if isinstance(motions, list) and outside_cohort(motions[:1], model, background):
            kind: ItemKind = "unknown dance" if _is_dance(path) else "not dancing"
            source = ProgrammeSource(str(path.relative_to(folder)), kind, motions[0].span)
            found.append(UnknownMotion(source, motions[0]))
    return found


def _is_dance(path: Path) -> bool:
    index = path.with_name(INDEX)
    if not index.is_file():
        return True
    with index.open(encoding="utf-8-sig", newline="") as file:
        rows = {row.get("file"): row.get("is_dance") for row in csv.DictReader(file)}
    return rows.get(path.name) != "0"


@dataclass(frozen=True)
class MotionMaker:
    """Excerpts of AIST++ and of other motions, joined into one motion."""

    clips: Sequence[AistClip]
    unknown: Sequence[UnknownMotion] = ()
    name: str = field(default="motions", init=False)
    scan: Scan = scan_here
    seconds: float = PROGRAMME_SECONDS

    def make(self, part: Part, seed: Sequence[int]) -> MadeProgramme:
        """A programme, and a catalogue of one recording per dance."""
        known, sources = draw_clips(self.clips, part, np.random.default_rng(seed))
        motions = {name_clip(clip): clip.motion for clip in self.clips}
        motions |= {one.source.recording: one.motion for one in self.unknown}
        everything = [*sources, *(one.source for one in self.unknown)]
        programme = compose_programme(
            everything, [*seed, 1], changes=list(MOTION_CHANGES), seconds=self.seconds
        )
        return MadeProgramme(programme, known, join_motions(programme, motions))


@dataclass(frozen=True)
class SkeletonMaker:
    """Excerpts of clips as skeletons, each dancer a motion."""

    clips: Sequence[IndexedClip]
    recordings: Sequence[MotionRecording]  # one per clip, in the same order
    distractors: Sequence[MotionRecording] = ()
    name: str = field(default="skeletons", init=False)
    scan: Scan = scan_here
    seconds: float = PROGRAMME_SECONDS

    def make(self, part: Part, seed: Sequence[int]) -> MadeProgramme:
        """A programme, and a catalogue with distractors."""
        known, sources = draw_recordings(self.clips, self.recordings, part, np.random.default_rng(seed))
        programme = compose_programme(sources, [*seed, 1], changes=list(MOTION_CHANGES), seconds=self.seconds)
        dancers = {one.recording_id: one.motions for one in self.recordings}
        return MadeProgramme(programme, known, place_dancers(programme, dancers), self.distractors)


@dataclass(frozen=True)
class VideoMaker:
    """Excerpts of videos joined into one video, which is kept."""

    clips: Sequence[IndexedClip]
    recordings: Sequence[MotionRecording]
    files: Sequence[Path]  # one per clip, in the same order
    folder: Path  # for the programmes
    distractors: Sequence[MotionRecording] = ()
    name: str = field(default="videos", init=False)
    scan: Scan = scan_apart
    seconds: float = PROGRAMME_SECONDS

    def make(self, part: Part, seed: Sequence[int]) -> MadeProgramme:
        """A programme, and a catalogue with distractors; a video that was made before is used again."""
        from dancematch.evaluation.medley.video_programmes import PICTURE_CHANGES, write_programme

        known, sources = draw_recordings(self.clips, self.recordings, part, np.random.default_rng(seed))
        programme = compose_programme(
            sources, [*seed, 1], changes=list(PICTURE_CHANGES), seconds=self.seconds
        )
        digest = hashlib.sha256(repr(programme).encode()).hexdigest()[:12]
        target = self.folder / f"{part.replace(' ', '-')}-{seed[-1]}-{digest}.mp4"
        if not target.exists():
            files = {clip.file: file for clip, file in zip(self.clips, self.files, strict=True)}
            write_programme(programme, files, target)
        return MadeProgramme(programme, known, target, self.distractors)
