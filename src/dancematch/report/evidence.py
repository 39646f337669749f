"""What speaks for a match and what against it, with all that it takes to find the same again.

`gather_evidence` gathers it; `evidence_page.py` writes it for people who know dances or laws, not programs.
"""

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dancematch import formats
from dancematch.catalogue.records import Dance
from dancematch.errors import InputError
from dancematch.motion import canonicalise, mirror
from dancematch.pipeline.analysis import Progress
from dancematch.pipeline.catalogue import Catalogue
from dancematch.pipeline.files import content_hash
from dancematch.pipeline.query import QueryClip, QueryDancer, holds_words
from dancematch.pipeline.tokenise import decode
from dancematch.report.compare import BONES, Comparison, align_dancers, bone_directions, order_segments
from dancematch.report.evidence_strength import Commonness, Likelihood, commonness_of, likelihood_of
from dancematch.report.footage import Footage, MarkedStill
from dancematch.search.confidence.verdict import MAX_EVALUE
from dancematch.search.explain import BESIDE_SECONDS, MetricValue
from dancematch.search.explain import EvidenceMatrix as Alignment
from dancematch.search.settings import DanceFilter
from dancematch.search.stage2.local_alignment import AlignedSegment, IntArray
from dancematch.search.stage2.synchrony import SynchronyPeak, lag_curve
from dancematch.tracks import KnownTrack
from dancematch.types import Fingerprint, FloatArray, Match, Passage, Span

MOMENTS = 6  # at which the two are shown side by side
NEAREST = 5  # other dances that are named
ALSO_ALIKE = 3  # passages at other places that are named
# Body parts that a layman knows, by the channels of the same name, and the bones that belong to each.
LIMBS: Mapping[str, tuple[str, ...]] = {
    **{f"{side}_arm": (f"{side} upper arm", f"{side} forearm") for side in ("left", "right")},
    "torso": ("head", "torso", "shoulders", "hips"),
    **{f"{side}_leg": (f"{side} thigh", f"{side} shin") for side in ("left", "right")},
}

FileKind = Literal["video", "motion file", "motion words"]


@dataclass(frozen=True)
class QueryFile:
    """The file that was asked about."""

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
    """How far one part of the body agrees over the matching passages."""

    name: str
    agreement: float | None  # of its words: 1 the same, 0 as unrelated dances are; None if not seen in both
    degrees: float | None  # between the two dancers' bones
    unrelated: float | None  # the same between moments of the two that do not belong together


@dataclass(frozen=True)
class MomentPair:
    """A moment of both."""

    query: float  # seconds
    reference: float
    degrees: float | None  # between the bones of the two, on average


@dataclass(frozen=True, eq=False)
class Pictures:
    """What is drawn."""

    alignment: Alignment
    query: FloatArray  # [moments, 15, 3] facing forward; mirrored if the match is
    reference: FloatArray
    lags: FloatArray  # [lags] seconds of the dance at which the clip's dancer may begin
    correlations: FloatArray  # [lags] of both dancers' movements then
    stills: tuple[MarkedStill, ...] = ()  # of the clip's video, one per moment


@dataclass(frozen=True, eq=False)
class Evidence:
    """Everything that a report says."""

    clip: QueryFile
    reference: Dance
    reference_dancer: int
    has_skeletons: bool  # of the reference; without, it is drawn from its words
    match: Match
    likelihood: Likelihood
    synchrony: SynchronyPeak | None  # None: the verdict rests on words alone
    commonness: Commonness
    others: tuple[Match, ...]  # the next best dances for the same dancer
    metrics: Mapping[str, MetricValue]
    limbs: tuple[Limb, ...]
    passages: tuple[Passage, ...]  # that agree along the line of the match, in order of time
    also_alike: tuple[Passage, ...]  # the best of those that agree at other places, in order of time
    covered: float  # the share of the clip's matching segment that they cover
    moments: tuple[MomentPair, ...]
    catalogue: CatalogueFacts
    model_id: str
    version: str  # of this package
    made: str  # when: UTC, ISO 8601
    command: str  # that does it again
    pictures: Pictures = field(repr=False)

    @property
    def found(self) -> bool:
        """Whether it is a match or a possible one."""
        return self.match.verdict != "no match"

    @cached_property
    def rivals(self) -> list[Match]:
        """Other dances that are a match or a possible one."""
        return [one for one in self.others if one.verdict != "no match"]


def read_query_file(
    catalogue: Catalogue,
    path: str | Path,
    *,
    on_progress: Progress | None = None,
) -> tuple[QueryClip, QueryFile, Footage | None]:
    """Read a clip for `gather_evidence`: its dancers, what file it is and, of a video, its pictures."""
    path = Path(path)
    clip, query = QueryFile(path.name, content_hash(path), "video"), catalogue.read_query(path, on_progress)
    if formats.is_motion_file(path):
        kind: FileKind = "motion words" if holds_words(path) else "motion file"
        return query, replace(clip, kind=kind), None
    skeleton = query.dancers[0].motion.skeleton
    return query, clip, Footage(path, dict(enumerate(query.images, start=1)), skeleton)


def command_for(catalogue: str, clip: str, dance_id: str, *options: str) -> str:
    """The command that writes the same report, as a shell takes it."""
    names, options = [catalogue, clip], ("--report", "again.html", f"--dance={dance_id}", *options)
    if any(name.startswith("-") for name in names):
        return shlex.join(["dancematch", "search", *options, "--", *names])
    return shlex.join(["dancematch", "search", *names, *options])


def limit_option(max_evalue: float) -> tuple[str, ...]:
    """How a command says which E-value is the limit; nothing if it is the usual one."""
    return () if max_evalue == MAX_EVALUE else ("--max-evalue", repr(max_evalue))


def gather_evidence(
    catalogue: Catalogue,
    query: QueryClip,
    clip: QueryFile,
    *,
    dance_id: str | None = None,
    max_evalue: float = MAX_EVALUE,
    footage: Footage | None = None,
    command: str | None = None,
) -> Evidence:
    """Gather what there is to say of a clip and the dance of that name or, without one, the best match.

    `footage` lets the report show the clip's own pictures. `command` says how to repeat it, if it is not
    the plain command on files of these names.
    """
    if dance_id is not None:
        catalogue.dance(dance_id)  # refused if there is none
    engine = catalogue.engine()
    match, others = _found(catalogue, query, dance_id, max_evalue)
    own, asked = query.dancer(match.dancer), query.variant(match)
    why, alignment = catalogue.explain(query, match)
    beside = _beside(catalogue, own, match, alignment)
    name, dances = Path(catalogue.where).name, engine.insight().library.entries.dances
    return Evidence(
        clip=replace(clip, seconds=max(p.motion.span.end for p in query.dancers), dancers=len(query.dancers)),
        reference=catalogue.dance(match.dance_id),
        reference_dancer=beside.dancer,
        has_skeletons=beside.has_skeletons,
        match=match,
        likelihood=likelihood_of(engine, asked, match, others, dances, max_evalue),
        synchrony=why.synchrony,
        commonness=commonness_of(engine, own, match, alignment),
        others=others,
        metrics=why.metrics,
        limbs=_limbs(beside, alignment),
        passages=beside.passages,
        also_alike=_also_alike(alignment),
        covered=sum(overlap(one.query, match.query) for one in beside.passages) / match.query.seconds,
        moments=tuple(_moment(beside.both, place) for place in beside.chosen.tolist()),
        catalogue=CatalogueFacts(name, catalogue.identity, catalogue.generation, dances),
        model_id=catalogue.tokeniser.model_id,
        version=version("dancematch"),
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        command=command or command_for(name, clip.name, match.dance_id, *limit_option(max_evalue)),
        pictures=_pictures(beside, alignment, why.synchrony, footage),
    )


def _found(
    catalogue: Catalogue, query: QueryClip, dance_id: str | None, max_evalue: float
) -> tuple[Match, tuple[Match, ...]]:
    """The match that the report is about, and the best other dances for the same dancer."""
    search = partial(catalogue.search, query, max_evalue=max_evalue)
    nearest = search(limit=NEAREST + 1)
    found = [match for match in nearest.candidates if dance_id in (None, match.dance_id)][:1]
    if not found and dance_id is not None:
        only = DanceFilter(among=frozenset({dance_id}))
        found = search(limit=1, only=only).candidates
    if not found:
        what = "nothing" if dance_id is None else f"nothing of {dance_id!r}"
        raise InputError(
            f"{catalogue.where} holds {what} that a clip could be compared with; add dances to it"
        )
    match = found[0]
    same_dancer = next(one.candidates for one in nearest.dancers if one.dancer == match.dancer)
    return match, tuple(one for one in same_dancer if one.dance_id != match.dance_id)[:NEAREST]


def dancer_of(known: Iterable[KnownTrack], words: Fingerprint) -> int:
    """The dancer of a known dance whose words these are."""
    return next((one.dancer for one in known if np.array_equal(one.fingerprint.words, words.words)), 1)


@dataclass(frozen=True, eq=False)
class _DancerPair:
    """The two dancers beside each other."""

    both: Comparison
    dancer: int  # of the known dance
    has_skeletons: bool  # of the known dance
    paths: tuple[IntArray, ...]  # of the passages
    passages: tuple[Passage, ...]
    kept: NDArray[np.intp]  # moments of the comparison within them

    @property
    def chosen(self) -> NDArray[np.intp]:
        """Some of the moments, evenly spaced."""
        count = len(self.kept)
        return np.unique(self.kept[[int((i + 0.5) * count / MOMENTS) for i in range(MOMENTS)]])


def _beside(catalogue: Catalogue, own: QueryDancer, match: Match, alignment: Alignment) -> _DancerPair:
    number = dancer_of(catalogue.tracks([match.dance_id]), alignment.reference)
    motion = catalogue.dancers(match.dance_id).get(number)
    theirs = motion if motion is not None else decode(alignment.reference, catalogue.tokeniser)
    ours = mirror(own.motion) if match.mirrored else own.motion
    segments = order_segments(alignment.on_the_line)
    both = align_dancers(match, alignment, canonicalise(ours), canonicalise(theirs), segments)
    passages = tuple(_passage(alignment, one) for one in segments)
    kept = _kept(both, alignment, passages or [Passage(match.query, match.reference, match.tempo or 1.0)])
    return _DancerPair(both, number, motion is not None, tuple(one.path for one in segments), passages, kept)


def _passage(alignment: Alignment, segment: AlignedSegment) -> Passage:
    query, reference = alignment.query.span(*segment.query), alignment.reference.span(*segment.reference)
    return Passage(query, reference, segment.tempo)


def _also_alike(alignment: Alignment) -> tuple[Passage, ...]:
    best = [_passage(alignment, one) for one in alignment.elsewhere[:ALSO_ALIKE]]
    return tuple(sorted(best, key=lambda one: (one.query.start, one.reference.start)))


def _kept(both: Comparison, alignment: Alignment, passages: Sequence[Passage]) -> NDArray[np.intp]:
    """The moments of the comparison on the line of the match at which both are in one of the passages."""
    near = np.abs(both.reference - alignment.place(both.query)) <= BESIDE_SECONDS
    inside = [
        (both.query >= one.query.start) & (both.query < one.query.end)
        & (both.reference >= one.reference.start) & (both.reference < one.reference.end)
        for one in passages
    ]  # fmt: skip
    kept = np.flatnonzero(np.any(inside, axis=0) & near)
    return kept if len(kept) else np.flatnonzero(near) if near.any() else np.arange(len(near))


def _moment(both: Comparison, place: int) -> MomentPair:
    degrees = float(both.mean[place])
    return MomentPair(
        float(both.query[place]), float(both.reference[place]), None if math.isnan(degrees) else degrees
    )


def _limbs(beside: _DancerPair, alignment: Alignment) -> tuple[Limb, ...]:
    """Each part that a layman knows or, of a model that has none of them, each of its channels."""
    pairs = np.concatenate(beside.paths) if beside.paths else alignment.straight
    agreed = dict(zip(alignment.codebook.channels, alignment.by_channel(pairs), strict=True))
    apart, unrelated = beside.both.degrees[beside.kept], _unrelated(beside.both)
    numbers = {bone: number for number, bone in enumerate(BONES)}
    limbs = []
    for name in [name for name in LIMBS if name in agreed] or list(agreed):
        bones = [numbers[bone] for bone in LIMBS.get(name, ())]
        values = agreed[name], _mean(apart[:, bones]), _mean(unrelated[:, bones])
        limbs.append(Limb(name.replace("_", " "), *map(_known, values)))
    return tuple(limbs)


def _unrelated(both: Comparison) -> FloatArray:
    """Degrees between the bones of the two at moments far apart, which do not belong together."""
    ours, theirs = bone_directions(both.query_joints), bone_directions(both.reference_joints)
    count = len(ours)
    cosines = [
        (ours * np.roll(theirs, round(share * count), axis=0)).sum(axis=2) for share in (0.25, 0.5, 0.75)
    ]
    return np.asarray(np.degrees(np.arccos(np.clip(np.concatenate(cosines), -1, 1))), dtype=np.float32)


def overlap(one: Span, other: Span) -> float:
    """The seconds that both share."""
    return max(0.0, min(one.end, other.end) - max(one.start, other.start))


def _mean(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else math.nan


def _known(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), 4)


def _pictures(
    beside: _DancerPair, alignment: Alignment, peak: SynchronyPeak | None, footage: Footage | None
) -> Pictures:
    both, chosen = beside.both, beside.chosen
    stills = () if footage is None else footage.stills(both.match.dancer, both.query[chosen].tolist())
    return Pictures(
        alignment, both.query_joints[chosen], both.reference_joints[chosen],
        *_lag_curve(alignment, 1.0 if peak is None else peak.tempo), tuple(stills),
    )  # fmt: skip


def _lag_curve(alignment: Alignment, tempo: float) -> tuple[FloatArray, FloatArray]:
    """The correlation of both dancers over time lag, on the dance's clock; empty where bones are not seen."""
    query, reference = alignment.query, alignment.reference
    if query.bones is None or reference.bones is None:
        return np.zeros(0, np.float32), np.zeros(0, np.float32)
    lags, correlations = lag_curve(query.bones, reference.bones, tempo, query.seconds_per_word)
    return np.asarray(lags + reference.start, dtype=np.float32), correlations
