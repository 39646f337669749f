"""The suite `open-set`: are known dances named and accepted, and unknown ones rejected?

`excerpt` (and `video`): the catalogue is all clips; known queries are changed excerpts of them (and a pose
estimator's views of them), unknown dances are segments of motions of other origin. `another dancer` (a whole
clip, and three seconds of it): the catalogue is one recording of every basic choreography by others, with the
query's own and without it; without it the query is the unknown dance, among choreographies of its own genre.
`several recordings`: the same with a few choreographies of the query's genre, every recording of them by
others. Every search is that of `dancematch search`, mirrored too.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dancematch import formats
from dancematch.errors import InputError
from dancematch.evaluation.measures.accept_rates import (
    FALSE_ACCEPT_RATE,
    accepts_by_limit,
    limit_at,
    true_accepts_at,
)
from dancematch.evaluation.measures.bootstrap import bootstrap_interval, mean_interval
from dancematch.evaluation.methods.word_methods import WordMethod, load_word_method
from dancematch.evaluation.suites.aist import AistClip, dance_of
from dancematch.evaluation.suites.changed_excerpts import changed_excerpt
from dancematch.evaluation.suites.retrieval import EvaluationCache, TrackProgress, trained_genres
from dancematch.evaluation.suites.retrieval_tasks import find_views, require_genres
from dancematch.model.patches import PatchTokeniser
from dancematch.model.tokeniser import load_background
from dancematch.motion import excerpt
from dancematch.pipeline.query import dancer_of_motion
from dancematch.search.confidence.verdict import MAX_EVALUE, POSSIBLE_EVALUE
from dancematch.search.engine import Engine, Query
from dancematch.search.settings import Settings
from dancematch.synthetic.dance.choreography import Dancer, compose_dance, perform
from dancematch.training.data.files import find_motion_files, read_motions
from dancematch.types import Fingerprint, Motion

SUITE = "open-set"
LIMITS = (0.001, MAX_EVALUE, 0.1, POSSIBLE_EVALUE)
CURVE = tuple(float(f"{limit:.3g}") for limit in np.geomspace(1e-6, 100, 33))
LARGEST_LIMIT = 1e6  # E-value that stands for infinity, which JSON lacks
QUERIES = 250  # excerpts, unless the options say otherwise
OTHER_DANCERS = 300  # queries of `another dancer` and `several recordings`, at most
SEVERAL_DANCES = 4  # of which a catalogue has several recordings
SHORT_SECONDS = 3.0
SEGMENT_SECONDS = (4.0, 9.0)  # of an unknown dance
STEP_SECONDS, MOST_SEGMENTS = 3.0, 8  # of one unknown motion
FIRST_PROCEDURAL_DANCE = 9000  # seed of the first unknown procedural dance: nothing was chosen on them
LEAST_PROCEDURAL_DANCES = 20


@dataclass(frozen=True)
class OpenSetResult:
    """The decisions of one method, for one kind of known query."""

    suite: str
    method: str
    query: str  # kind of the known queries
    rank1: float
    true_accepts: Mapping[str, float]  # by limit of the E-value
    false_accepts: Mapping[str, float]
    true_accepts_at_1_percent: float
    limit_at_1_percent: float  # the E-value that accepts one unknown dance in a hundred
    curve: Mapping[str, list[float]]
    intervals: Mapping[str, tuple[float, float]]  # 95 %, bootstrap over dances
    queries: int
    unknown: int
    chance: float  # rank1 of a random order
    seconds: float
    model_id: str
    query_genres: list[str]
    unseen: list[str]
    seeds: list[int]


class OpenSetAnswer(NamedTuple):
    """The first match of one search."""

    dance: str  # of the query: the cluster of the bootstrap
    right: bool
    evalue: float


class OpenSetAnswers(NamedTuple):
    """The answers to one kind of query."""

    query: str
    known: list[OpenSetAnswer]
    unknown: list[OpenSetAnswer]
    chance: float


@dataclass(frozen=True)
class OpenSetSuite:
    """The clips of a catalogue, and motions that are not among them."""

    clips: Sequence[AistClip]
    unknown: Sequence[Motion]
    views: Path | None = None
    genres: Sequence[str] | None = None  # of the queries
    queries: int = QUERIES  # at most, of each kind
    seed: int = 0

    def evaluate(
        self, method: str | WordMethod, cache: EvaluationCache, track: TrackProgress
    ) -> Iterator[OpenSetResult]:
        """One result per kind of known query."""
        chosen, model, name = load_word_method(method)
        if chosen.settings is None:
            raise InputError(
                f"open-set asks for verdicts, which take both stages; {name} has one, say two-stage"
            )
        search = OpenSetSearch(
            model, load_background(model, chosen.model), chosen.settings, self.clips,
            cache.tokenise(model, [clip.motion for clip in self.clips], track), track,
        )  # fmt: skip
        genres = require_genres(self.clips, self.genres)
        began = time.perf_counter()
        for answers in self._answer(search):
            yield OpenSetResult(
                SUITE, name, answers.query, **_compute_figures(answers.known, answers.unknown),
                chance=round(answers.chance, 4), seconds=round(time.perf_counter() - began, 1),
                model_id=model.model_id, query_genres=genres,
                unseen=[one for one in genres if one not in trained_genres(model)], seeds=[self.seed],
            )  # fmt: skip
            began = time.perf_counter()

    def _answer(self, search: "OpenSetSearch") -> Iterator[OpenSetAnswers]:
        """The answers to each kind of query."""
        rng = np.random.default_rng(self.seed)
        places, dances = self._query_places(), search.dances
        chosen = [places[number] for number in rng.permutation(len(places))[: self.queries].tolist()]
        chance = float(np.mean([dances.count(dances[place]) for place in chosen])) / len(dances)
        if self.unknown:
            engine = search.engine(range(len(self.clips)))
            outside = outside_cohort(self.unknown, search.model, search.background)
            unknown = search.answer(engine, list(cut_segments(outside, rng)), "unknown dances")
            excerpts = [
                (dances[place], changed_excerpt(self.clips[place].motion, [self.seed, place]))
                for place in chosen
            ]
            yield OpenSetAnswers("excerpt", search.answer(engine, excerpts, "excerpts"), unknown, chance)
            views = [(dances[place], formats.read(path)[0]) for path, place in self.draw_views()]
            if views:
                yield OpenSetAnswers("video", search.answer(engine, views, "views"), unknown, chance)
        basic = [place for place in places if self.clips[place].name.kind == "BM"]
        few = rng.permutation(len(basic))[: min(OTHER_DANCERS, self.queries)]
        queries = [basic[number] for number in few.tolist()]
        yield from search.answer_by_other_dancers(queries, rng)
        yield from search.answer_by_several_recordings(queries, rng)

    def _query_places(self) -> list[int]:
        genres = require_genres(self.clips, self.genres)
        return [place for place, clip in enumerate(self.clips) if clip.name.genre in genres]

    def draw_views(self) -> list[tuple[Path, int]]:
        """The views of the clips that are asked for, each with its clip; drawn by the seed if too many."""
        places = {self.clips[place].name: place for place in self._query_places()}
        found = list(find_views(self.views, places)) if self.views else []
        order = np.random.default_rng(self.seed).permutation(len(found))
        return [found[number] for number in sorted(order[: self.queries].tolist())]


@dataclass(frozen=True)
class OpenSetSearch:
    """`dancematch search` in catalogues of clips whose words are known."""

    model: PatchTokeniser
    background: Sequence[Fingerprint]
    settings: Settings
    clips: Sequence[AistClip]
    prints: Sequence[Fingerprint]  # [clips]
    track: TrackProgress

    @property
    def dances(self) -> list[str]:
        """The dance of each clip."""
        return [dance_of(clip.name) for clip in self.clips]

    def engine(self, places: Sequence[int]) -> Engine:
        """A catalogue of these clips, each a dance of its own."""
        known = [(str(place), self.prints[place]) for place in places]
        return Engine(self.model.codebook, known, background=self.background, settings=self.settings)

    def answer(self, engine: Engine, queries: Sequence[tuple[str, Motion]], what: str) -> list[OpenSetAnswer]:
        """The answers to motions, each given with its dance; those that are too short are left out."""
        long_enough = [(dance, motion) for dance, motion in queries if self.model.is_long_enough(motion)]
        return [
            self.first_match(engine, self._variants(motion), dance)
            for dance, motion in self.track(long_enough, what, len(long_enough))
        ]

    def first_match(self, engine: Engine, variants: Sequence[Query], dance: str) -> OpenSetAnswer:
        """Whether the first match is right, and its E-value."""
        found = engine.search(variants, limit=1)
        if not found or found[0].evalue is None:
            return OpenSetAnswer(dance, False, float("inf"))
        place = int(found[0].dance_id)
        return OpenSetAnswer(dance, dance_of(self.clips[place].name) == dance, found[0].evalue)

    def answer_by_other_dancers(
        self, queries: Sequence[int], rng: np.random.Generator
    ) -> Iterator[OpenSetAnswers]:
        """Clips among one recording of every basic choreography by others, with and without their own."""
        kinds = ("another dancer", f"another dancer, {SHORT_SECONDS:g} s")
        known: dict[str, list[OpenSetAnswer]] = {kind: [] for kind in kinds}
        unknown: dict[str, list[OpenSetAnswer]] = {kind: [] for kind in kinds}
        chances = []
        for place in self.track(queries, kinds[0], len(queries)):
            recordings = self._draw_recordings_by_others(place, rng)
            dance = dance_of(self.clips[place].name)
            if dance not in recordings:
                continue
            others = [one for other, one in recordings.items() if other != dance]
            whole = self._variants(self.clips[place].motion)
            variants = dict(zip(kinds, (whole, _cut_middle(whole)), strict=True))
            for answers, engine in (
                (known, self.engine([*others, recordings[dance]])),
                (unknown, self.engine(others)),
            ):
                for kind in kinds:
                    answers[kind].append(self.first_match(engine, variants[kind], dance))
            chances.append(1 / len(recordings))
        for kind in kinds:
            if known[kind]:
                yield OpenSetAnswers(kind, known[kind], unknown[kind], float(np.mean(chances)))

    def answer_by_several_recordings(
        self, queries: Sequence[int], rng: np.random.Generator
    ) -> Iterator[OpenSetAnswers]:
        """Clips among all recordings by others of a few dances of the genre, with and without their own."""
        kind = "several recordings"
        known, unknown, chances = list[OpenSetAnswer](), list[OpenSetAnswer](), list[float]()
        for place in self.track(queries, kind, len(queries)):
            recordings = self._recordings_by_others(place)
            dance = dance_of(self.clips[place].name)
            own = recordings.pop(dance, [])
            drawn = rng.permutation(sorted(recordings))[:SEVERAL_DANCES].tolist()
            others = [recordings[other] for other in drawn]
            if not own or not others:
                continue
            variants = self._variants(self.clips[place].motion)
            with_it, without = list(chain(*others[1:], own)), list(chain(*others))
            known.append(self.first_match(self.engine(with_it), variants, dance))
            unknown.append(self.first_match(self.engine(without), variants, dance))
            chances.append(len(own) / len(with_it))
        if known:
            yield OpenSetAnswers(kind, known, unknown, float(np.mean(chances)))

    def _variants(self, motion: Motion) -> Sequence[Query]:
        """The motion as seen, mirrored and turned, as `search` asks for it."""
        return dancer_of_motion(1, motion, self.model.fingerprint(motion), self.model).queries()

    def _draw_recordings_by_others(self, query: int, rng: np.random.Generator) -> dict[str, int]:
        """One recording of every basic choreography, not by the query's dancer."""
        own, found = self.clips[query].name, dict[str, int]()
        for place in rng.permutation(len(self.clips)).tolist():
            name = self.clips[place].name
            if name.kind == "BM" and (name.genre, name.dancer) != (own.genre, own.dancer):
                found.setdefault(dance_of(name), place)
        return found

    def _recordings_by_others(self, query: int) -> dict[str, list[int]]:
        """By dance, the recordings of the genre's basic choreographies, not by the query's dancer."""
        own, found = self.clips[query].name, dict[str, list[int]]()
        for place, clip in enumerate(self.clips):
            name = clip.name
            if (name.kind, name.genre) == ("BM", own.genre) and name.dancer != own.dancer:
                found.setdefault(dance_of(name), []).append(place)
        return found


def _cut_middle(variants: Sequence[Query]) -> list[Query]:
    """The middle seconds of a query's variants."""
    whole = variants[0].fingerprint
    words = round(SHORT_SECONDS / whole.seconds_per_word)
    first = max(0, (len(whole) - words) // 2)
    last = min(first + words, len(whole)) - 1
    return [replace(one, fingerprint=one.fingerprint.segment(first, last)) for one in variants]


def load_unknown_dances(folder: Path | None) -> list[Motion]:
    """Motions that are not in AIST++: those of the folder, and at least as many procedural dances."""
    files = [motions for _, motions in read_motions(find_motion_files([folder]))] if folder else []
    given = [motions[0] for motions in files if isinstance(motions, list)]
    seeds = [FIRST_PROCEDURAL_DANCE + number for number in range(max(len(given), LEAST_PROCEDURAL_DANCES))]
    return [*given, *(perform(compose_dance(seed, eight_counts=3), Dancer.random(seed)) for seed in seeds)]


def outside_cohort(
    motions: Sequence[Motion], model: PatchTokeniser, background: Sequence[Fingerprint]
) -> list[Motion]:
    """The motions that are not in the background cohort: null scores must not come from the query itself.

    A background holds beginnings, so a motion is in it if its words begin with those of a member, and are
    longer only where the member was cut.
    """
    longest = max(map(len, background), default=0)
    members = {one.words.tobytes() for one in background}
    return [
        motion
        for motion in motions
        if not model.is_long_enough(motion)
        or model.fingerprint(motion).words[:longest].tobytes() not in members
    ]


def cut_segments(motions: Sequence[Motion], rng: np.random.Generator) -> Iterator[tuple[str, Motion]]:
    """Segments of each motion as long as a query, with a name for the motion."""
    for number, motion in enumerate(motions):
        for start in np.arange(0, max(motion.seconds - 5, 0.1), STEP_SECONDS)[:MOST_SEGMENTS].tolist():
            end = min(motion.seconds, start + rng.uniform(*SEGMENT_SECONDS))
            yield f"unknown {number}", excerpt(motion, start, end)


def _compute_figures(known: Sequence[OpenSetAnswer], unknown: Sequence[OpenSetAnswer]) -> dict[str, Any]:
    """The fields of a result that are computed from the answers."""
    evalues, right = np.array([one.evalue for one in known]), np.array([one.right for one in known])
    others = np.array([one.evalue for one in unknown])
    true, false = accepts_by_limit(evalues, right, others, LIMITS)
    curve = accepts_by_limit(evalues, right, others, CURVE)
    dances, other_dances = [one.dance for one in known], [one.dance for one in unknown]

    def at_rate(drawn: np.ndarray, drawn_others: np.ndarray) -> float:
        return true_accepts_at(evalues[drawn], right[drawn], others[drawn_others], FALSE_ACCEPT_RATE)

    intervals = {
        "rank1": mean_interval(right, dances),
        f"true_accepts_{MAX_EVALUE}": mean_interval(right & (evalues <= MAX_EVALUE), dances),
        f"false_accepts_{MAX_EVALUE}": mean_interval(others <= MAX_EVALUE, other_dances),
        "true_accepts_at_1_percent": bootstrap_interval(at_rate, dances, other_dances),
    }
    return {
        "rank1": round(float(right.mean()), 4),
        "true_accepts": _round_shares(true),
        "false_accepts": _round_shares(false),
        "true_accepts_at_1_percent": round(true_accepts_at(evalues, right, others, FALSE_ACCEPT_RATE), 4),
        "limit_at_1_percent": float(f"{min(limit_at(others, FALSE_ACCEPT_RATE), LARGEST_LIMIT):.3g}"),
        "curve": {
            "limits": list(CURVE),
            **{
                name: list(_round_shares(shares).values())
                for name, shares in zip(("true_accepts", "false_accepts"), curve, strict=True)
            },
        },
        "intervals": {name: (round(low, 4), round(high, 4)) for name, (low, high) in intervals.items()},
        "queries": len(known),
        "unknown": len(unknown),
    }


def _round_shares(shares: Mapping[str, float]) -> dict[str, float]:
    return {limit: round(share, 4) for limit, share in shares.items()}
