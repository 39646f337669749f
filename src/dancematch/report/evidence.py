"""The evidence for and against a match, with all that is needed to find the same again.

`evidence_text.py` says it in sentences and `evidence_page.py` as a page, for readers who know dances or laws,
not programs.
"""

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dancematch import formats
from dancematch.catalogue.records import Dance, Recording
from dancematch.catalogue.review_records import Recalibration, Review
from dancematch.errors import InputError
from dancematch.motion import canonicalise, mirror
from dancematch.pipeline.analysis.clip_files import content_hash
from dancematch.pipeline.analysis.file_analysis import FileKind, Progress
from dancematch.pipeline.catalogue import Catalogue
from dancematch.pipeline.counts.counts import Counts
from dancematch.pipeline.lineage import Lineage, count_windows, trace_lineage
from dancematch.pipeline.query import QueryClip, QueryDancer, holds_words
from dancematch.pipeline.tokenise import decode
from dancematch.report.compare import (
    BONES,
    LIMBS,
    Comparison,
    align_dancers,
    bone_directions,
    order_segments,
)
from dancematch.report.evidence_strength import (
    Commonness,
    Likelihood,
    measure_commonness,
    measure_likelihood,
)
from dancematch.report.footage import Footage, MarkedStill
from dancematch.report.poses import Poses
from dancematch.search.confidence.verdict import MAX_EVALUE
from dancematch.search.explain import BESIDE_SECONDS, EvidenceMatrix, MetricValue, make_passage
from dancematch.search.stage2.local_alignment import IntArray
from dancematch.search.stage2.synchrony import SynchronyPeak, lag_curve
from dancematch.types import FloatArray, Match, Passage, Span

MOMENTS = 6  # shown side by side
NEAREST = 5  # other dances that are named
MAX_LINEAGE_WINDOWS = 40  # of the recording that was matched, each of which takes a search: two minutes
ALSO_ALIKE = 3  # passages at other places that are named


@dataclass(frozen=True)
class QueryFile:
    """The file of the query clip."""

    name: str
    sha256: str
    kind: FileKind
    seconds: float = 0.0  # until the last dancer is last seen
    dancers: int = 0


@dataclass(frozen=True)
class CatalogueFacts:
    """Which catalogue was searched, in which state."""

    name: str
    identity: str
    generation: int
    dances: int


@dataclass(frozen=True)
class Limb:
    """How far one part of the body agrees over the matching passages; None if not seen in both."""

    name: str
    agreement: float | None  # of its words: 1 the same, 0 as in unrelated dances
    degrees: float | None  # between the two dancers' bones
    unrelated: float | None  # degrees between moments of the two that do not belong together


@dataclass(frozen=True)
class MomentPair:
    """A moment of the clip and the moment of the dance that goes with it."""

    query: float  # seconds
    reference: float
    degrees: float | None  # between the bones of the two, on average


@dataclass(frozen=True, eq=False)
class Pictures:
    """The arrays that a report draws."""

    alignment: EvidenceMatrix
    query: Poses  # [moments] mirrored if the match is
    reference: Poses
    lags: FloatArray  # [lags] seconds of the dance at which the clip's dancer may begin
    correlations: FloatArray  # [lags] of both dancers' movements then
    stills: tuple[MarkedStill, ...] = ()  # of the clip's video, one per moment
    reference_stills: tuple[MarkedStill, ...] = ()  # of the recording that was matched, one per moment
    poster: bytes | None = None  # a small picture of that recording (JPEG)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Everything that a report says."""

    clip: QueryFile
    dance: Dance
    reference: Recording  # the one that was matched
    has_skeletons: bool  # of the reference; without, it is drawn from its words
    match: Match
    likelihood: Likelihood
    synchrony: SynchronyPeak | None  # None: the verdict rests on words alone
    commonness: Commonness
    others: tuple[Match, ...]  # the next best dances for the same dancer
    metrics: Mapping[str, MetricValue]
    limbs: tuple[Limb, ...]
    passages: tuple[Passage, ...]  # along the line of the match, in order of time
    also_alike: tuple[Passage, ...]  # the best passages at other places, in order of time
    covered: float  # share of the clip's matching segment that the passages cover
    moments: tuple[MomentPair, ...]
    catalogue: CatalogueFacts
    model_id: str
    version: str  # of this package
    made: str  # when: UTC, ISO 8601
    command: str  # that repeats the report
    pictures: Pictures = field(repr=False)
    counts: Counts | None = None  # of the recording that was matched; None where they cannot be trusted
    lineage: Lineage | None = None  # of that recording; None where it is too long
    recalibrated: Recalibration | None = None  # what the ratios and verdicts are shifted by
    reviews: tuple[Review, ...] = ()  # decisions about this clip and dance

    @property
    def found(self) -> bool:
        """Whether it is a match or a possible one."""
        return self.match.verdict != "no match"

    def __repr__(self) -> str:
        return f"<Evidence {self.clip.name!r}, {self.match!r}>"

    @property
    def shows_reference(self) -> bool:
        """Whether there are frames of the recording that was matched."""
        return bool(self.pictures.reference_stills)

    @cached_property
    def rivals(self) -> list[Match]:
        """Other dances that are a match or a possible one."""
        return [one for one in self.others if one.verdict != "no match"]


def read_query_file(
    catalogue: Catalogue, path: str | Path, *, on_progress: Progress | None = None
) -> tuple[QueryClip, QueryFile, Footage | None]:
    """Read a clip for `gather_evidence`: its dancers, its file and, of a video, its pictures."""
    path = Path(path)
    clip, query = QueryFile(path.name, content_hash(path), "video"), catalogue.read_query(path, on_progress)
    if formats.is_motion_file(path):
        kind: FileKind = "motion words" if holds_words(path) else "motion file"
        return query, replace(clip, kind=kind), None
    skeleton = query.dancers[0].motion.skeleton
    return query, clip, Footage(path, dict(enumerate(query.images, start=1)), skeleton)


def command_for(catalogue: str, clip: str, dance: str, *options: str) -> str:
    """The shell command that writes the same report."""
    names, options = [catalogue, clip], ("--report", "again.html", f"--dance={dance}", *options)
    if any(name.startswith("-") for name in names):
        return shlex.join(["dancematch", "search", *options, "--", *names])
    return shlex.join(["dancematch", "search", *names, *options])


def limit_option(max_evalue: float) -> tuple[str, ...]:
    """The option that says which E-value is the limit; empty if it is the default."""
    return () if max_evalue == MAX_EVALUE else ("--max-evalue", repr(max_evalue))


def gather_evidence(
    catalogue: Catalogue,
    query: QueryClip,
    clip: QueryFile,
    *,
    dance: str | None = None,
    max_evalue: float = MAX_EVALUE,
    footage: Footage | None = None,
    command: str | None = None,
) -> Evidence:
    """The evidence for a clip being the dance of that name or id or, without one, the best match.

    `footage` lets the report show the clip's own pictures. `command` says how to repeat the report, if that
    is not the plain command on files of these names.
    """
    dance_id = None if dance is None else catalogue.dance(dance).dance_id  # raises if there is none
    engine = catalogue.engine()
    match, others, recalibrated = _find_match(catalogue, query, dance_id, max_evalue)
    own, variant = query.dancer(match.dancer), query.variant(match)
    why, alignment = catalogue.explain(query, match)
    pair = _pair_dancers(catalogue, own, match, alignment)
    name, dances = Path(catalogue.where).name, engine.search_state().index.entries.dances
    likelihood = measure_likelihood(engine, variant, match, others, dances, max_evalue)
    return Evidence(
        clip=replace(clip, seconds=max(p.motion.span.end for p in query.dancers), dancers=len(query.dancers)),
        dance=catalogue.dance(match.dance_id),
        reference=catalogue.recording(match.recording_id or ""),
        has_skeletons=pair.has_skeletons,
        match=match,
        likelihood=likelihood.shift_cohort(recalibrated.offset) if recalibrated else likelihood,
        synchrony=why.synchrony,
        commonness=measure_commonness(engine, own, match, alignment, catalogue.names()),
        others=others,
        metrics=why.metrics,
        limbs=_measure_limbs(pair, alignment),
        passages=pair.passages,
        also_alike=_list_also_alike(alignment),
        covered=sum(overlap(one.query, match.query) for one in pair.passages) / match.query.seconds,
        moments=pair.moments,
        catalogue=CatalogueFacts(name, catalogue.identity, catalogue.generation, dances),
        model_id=catalogue.tokeniser.model_id,
        version=version("dancematch"),
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        command=command or command_for(name, clip.name, match.name, *limit_option(max_evalue)),
        pictures=replace(
            _collect_pictures(pair, alignment, why.synchrony, footage),
            poster=catalogue.poster(match.recording_id or ""),
        ),
        counts=catalogue.counts(match.recording_id or "").counts,
        lineage=_trace(catalogue, match),
        recalibrated=recalibrated,
        reviews=_find_decisions(catalogue, clip, match),
    )


def _trace(catalogue: Catalogue, match: Match) -> Lineage | None:
    """What other dances share with the recording that was matched; None of one that would take minutes."""
    recording = catalogue.recording(match.recording_id or "")
    if count_windows(recording.seconds) * max(1, recording.dancers) > MAX_LINEAGE_WINDOWS:
        return None
    return trace_lineage(catalogue, match.dance_id, recordings=[recording.recording_id])


def _find_decisions(catalogue: Catalogue, clip: QueryFile, match: Match) -> tuple[Review, ...]:
    """What was decided about this dancer of the clip and any recording of the dance."""
    decided = catalogue.reviews.read("decided", dance=match.dance_id, query_id=clip.sha256)
    return tuple(one for one in decided if one.dancer == match.dancer)


def show_reference(found: Evidence, footage: Footage) -> Evidence:
    """The same evidence with frames of the recording that was matched, in place of its poster.

    `footage.reference_footage` reads a recording's video.
    """
    dancer = found.match.reference_dancer
    stills = tuple(footage.stills(dancer, [moment.reference for moment in found.moments]))
    if not stills:
        raise InputError(f"{footage.video} shows no dancer {dancer}: there are no frames to show")
    return replace(found, pictures=replace(found.pictures, reference_stills=stills))


def _find_match(
    catalogue: Catalogue, query: QueryClip, dance_id: str | None, max_evalue: float
) -> tuple[Match, tuple[Match, ...], Recalibration | None]:
    """The match that the report is about, the best other dances for the same dancer, what ratios have."""
    search = partial(catalogue.search, query, max_evalue=max_evalue)
    nearest = search(limit=NEAREST + 1)
    found = [match for match in nearest.candidates if dance_id in (None, match.dance_id)][:1]
    if not found and dance_id is not None:
        found = search(limit=1, among=frozenset({dance_id})).candidates
    if not found:
        what = "nothing" if dance_id is None else "nothing of that dance"
        raise InputError(
            f"{catalogue.where} holds {what} that a clip could be compared with; add dances to it"
        )
    match = found[0]
    same_dancer = next(one.candidates for one in nearest.dancers if one.dancer == match.dancer)
    others = tuple(one for one in same_dancer if one.dance_id != match.dance_id)[:NEAREST]
    return match, others, nearest.recalibrated


@dataclass(frozen=True, eq=False)
class _DancerPair:
    """The clip's dancer and the dance's, frame by frame."""

    comparison: Comparison
    has_skeletons: bool  # of the known dance
    paths: tuple[IntArray, ...]  # word pairs of the passages
    passages: tuple[Passage, ...]
    frames: NDArray[np.intp]  # of the comparison, within the passages

    @cached_property
    def shown(self) -> NDArray[np.intp]:
        """Some of the frames, evenly spaced."""
        count = len(self.frames)
        return np.unique(self.frames[[int((i + 0.5) * count / MOMENTS) for i in range(MOMENTS)]])

    @property
    def moments(self) -> tuple[MomentPair, ...]:
        """The shown frames as moments of both."""
        both = self.comparison
        values = zip(both.query[self.shown], both.reference[self.shown], both.mean[self.shown], strict=True)
        return tuple(
            MomentPair(float(own), float(theirs), None if math.isnan(degrees) else float(degrees))
            for own, theirs, degrees in values
        )


def _pair_dancers(
    catalogue: Catalogue, own: QueryDancer, match: Match, alignment: EvidenceMatrix
) -> _DancerPair:
    motion = catalogue.dancers(match.recording_id or "").get(match.reference_dancer)
    reference = motion if motion is not None else decode(alignment.reference, catalogue.tokeniser)
    clip = mirror(own.motion) if match.mirrored else own.motion
    segments = order_segments(alignment.on_line)
    comparison = align_dancers(match, alignment, canonicalise(clip), canonicalise(reference), segments)
    passages = tuple(make_passage(alignment, one) for one in segments)
    spans = passages or [Passage(match.query, match.reference, match.tempo or 1.0)]
    frames = _frames_within(comparison, alignment, spans)
    return _DancerPair(comparison, motion is not None, tuple(one.path for one in segments), passages, frames)


def _frames_within(
    comparison: Comparison, alignment: EvidenceMatrix, passages: Sequence[Passage]
) -> NDArray[np.intp]:
    """The frames of the comparison on the line of the match at which both are in one of the passages.

    Where there are none, those on the line; where there are none of these either, all.
    """
    own, theirs = comparison.query, comparison.reference
    near = np.abs(theirs - alignment.place(own)) <= BESIDE_SECONDS
    inside = [
        (own >= one.query.start) & (own < one.query.end)
        & (theirs >= one.reference.start) & (theirs < one.reference.end)
        for one in passages
    ]  # fmt: skip
    frames = np.flatnonzero(np.any(inside, axis=0) & near)
    return frames if len(frames) else np.flatnonzero(near) if near.any() else np.arange(len(near))


def _list_also_alike(alignment: EvidenceMatrix) -> tuple[Passage, ...]:
    best = [make_passage(alignment, one) for one in alignment.off_line[:ALSO_ALIKE]]
    return tuple(sorted(best, key=lambda one: (one.query.start, one.reference.start)))


def overlap(one: Span, other: Span) -> float:
    """The seconds that both share."""
    return max(0.0, min(one.end, other.end) - max(one.start, other.start))


def _measure_limbs(pair: _DancerPair, alignment: EvidenceMatrix) -> tuple[Limb, ...]:
    """Each part that a layman knows or, of a model that has none of them, each of its channels."""
    steps = np.concatenate(pair.paths) if pair.paths else alignment.line_pairs
    agreements = dict(zip(alignment.codebook.channels, alignment.by_channel(steps), strict=True))
    apart, unrelated = pair.comparison.degrees[pair.frames], _unrelated_degrees(pair.comparison)
    numbers = {bone: number for number, bone in enumerate(BONES)}
    limbs = []
    for name in [name for name in LIMBS if name in agreements] or list(agreements):
        bones = [numbers[bone] for bone in LIMBS.get(name, ())]
        values = agreements[name], _finite_mean(apart[:, bones]), _finite_mean(unrelated[:, bones])
        limbs.append(Limb(name.replace("_", " "), *map(_round_or_none, values)))
    return tuple(limbs)


def _unrelated_degrees(comparison: Comparison) -> FloatArray:
    """Degrees between the bones of the two at moments far apart, which do not belong together."""
    own, theirs = bone_directions(comparison.query_joints), bone_directions(comparison.reference_joints)
    cosines = [
        (own * np.roll(theirs, round(share * len(own)), axis=0)).sum(axis=2) for share in (0.25, 0.5, 0.75)
    ]
    return np.asarray(np.degrees(np.arccos(np.clip(np.concatenate(cosines), -1, 1))), dtype=np.float32)


def _finite_mean(values: FloatArray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else math.nan


def _round_or_none(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), 4)


def _collect_pictures(
    pair: _DancerPair, alignment: EvidenceMatrix, peak: SynchronyPeak | None, footage: Footage | None
) -> Pictures:
    both, shown = pair.comparison, pair.shown
    stills = () if footage is None else footage.stills(both.match.dancer, both.query[shown].tolist())
    return Pictures(
        alignment, both.query_poses[shown], both.reference_poses[shown],
        *_lag_curve(alignment, 1.0 if peak is None else peak.tempo), tuple(stills),
    )  # fmt: skip


def _lag_curve(alignment: EvidenceMatrix, tempo: float) -> tuple[FloatArray, FloatArray]:
    """The correlation of both dancers over time lag, on the dance's clock; empty where bones are not seen."""
    query, reference = alignment.query, alignment.reference
    if query.bones is None or reference.bones is None:
        return np.zeros(0, np.float32), np.zeros(0, np.float32)
    lags, correlations = lag_curve(query.bones, reference.bones, tempo, query.seconds_per_word)
    return np.asarray(lags + reference.start, dtype=np.float32), correlations
