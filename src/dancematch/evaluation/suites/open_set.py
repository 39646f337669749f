"""Known or not: how many known dances are named and accepted, and how many unknown ones are accepted?

Three questions. `excerpt` (and `video`): the catalogue is all clips; known queries are changed excerpts of
them (and what a pose estimator saw of them), strangers are stretches of motions of other origin.
`another dancer` (a whole clip, and three seconds of it): the catalogue is one take of every basic
choreography by somebody else, with the query's own and without it: then the query is the stranger,
among choreographies of its own genre. `several takes`: the same with a few choreographies of the query's
genre, every take of them by others. Every search is that of `dancematch search`, mirrored too.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dancematch import formats
from dancematch.errors import InputError
from dancematch.evaluation.measures.accept_rates import accepts_by_limit, limit_at, true_accepts_at
from dancematch.evaluation.measures.bootstrap import bootstrap_interval, mean_interval
from dancematch.evaluation.methods.word_comparison import WordMethod
from dancematch.evaluation.suites.aist import AistClip, dance_of
from dancematch.evaluation.suites.changed_excerpts import changed_excerpt
from dancematch.evaluation.suites.retrieval import EvaluationCache, TrackProgress, trained_genres, with_words
from dancematch.evaluation.suites.retrieval_tasks import known_genres, view_files
from dancematch.model.patches import PatchTokeniser
from dancematch.model.tokeniser import load_background
from dancematch.motion import excerpt, mirror
from dancematch.search.confidence.verdict import MAX_EVALUE, POSSIBLE_EVALUE
from dancematch.search.engine import Engine, Query
from dancematch.search.settings import Settings
from dancematch.types import Fingerprint, Motion

LIMITS = (0.001, MAX_EVALUE, 0.1, POSSIBLE_EVALUE)
CURVE = tuple(float(f"{limit:.3g}") for limit in np.geomspace(1e-6, 100, 33))
RATE = 0.01  # of strangers let in, at which true accepts are told
HOPELESS = 1e6  # an E-value beyond which none is told: JSON has no infinity
QUERIES = 250  # excerpts, unless told otherwise
OTHER_DANCERS = 300  # queries of `another dancer` and `several takes`, at most
SCHOOL = 4  # dances of which a catalogue has several takes
SHORT_SECONDS = 3.0
STRETCH_SECONDS = (4.0, 9.0)  # of a stranger
STEP_SECONDS, MOST_STRETCHES = 3.0, 8  # of one stranger's motion


@dataclass(frozen=True)
class OpenSetResult:
    """What one method accepts and rejects, for one kind of known query."""

    suite: str
    method: str
    query: str  # what the known queries are
    rank1: float
    true_accepts: Mapping[str, float]  # by the limit of the E-value: named rightly and accepted
    false_accepts: Mapping[str, float]  # the same of strangers
    true_accepts_at_1_percent: float
    limit_at_1_percent: float  # the E-value that lets in one stranger in a hundred
    curve: Mapping[str, list[float]]
    intervals: Mapping[str, tuple[float, float]]  # 95 %, dances drawn anew
    queries: int
    strangers: int
    chance: float  # rank1 of guessing
    seconds: float
    model_id: str
    query_genres: list[str]
    unseen: list[str]
    seeds: list[int]


class OpenSetAnswer(NamedTuple):
    """What a search said of one query."""

    dance: str  # queries of one dance go wrong together
    right: bool
    evalue: float


@dataclass(frozen=True)
class OpenSetSuite:
    """The clips of a catalogue, and who is not among them."""

    clips: Sequence[AistClip]
    strangers: Sequence[Motion]
    views: Path | None = None
    genres: Sequence[str] | None = None  # of the queries
    queries: int = QUERIES  # at most, of each kind
    seed: int = 0

    def evaluate(
        self, method: str | WordMethod, memory: EvaluationCache, track: TrackProgress
    ) -> Iterator[OpenSetResult]:
        """Ask everything; a result a kind of known query."""
        chosen, model, name = with_words(method)
        if chosen.settings is None:
            raise InputError(
                f"open-set asks how sure a search is, which takes both stages; {name} has one, say two-stage"
            )
        motions = [clip.motion for clip in self.clips]
        searching = OpenSetSearch(
            model, load_background(model, chosen.model), chosen.settings,
            memory.words(model, motions, track), track,
        )  # fmt: skip
        began = time.perf_counter()
        for kind, known, others, chance in self._answers(searching):
            seconds = round(time.perf_counter() - began, 1)
            genres = known_genres(self.clips, self.genres)
            yield OpenSetResult(
                "open-set", name, kind, **_figures(known, others),
                chance=round(chance, 4), seconds=seconds, model_id=model.model_id, query_genres=genres,
                unseen=[one for one in genres if one not in trained_genres(model)], seeds=[self.seed],
            )  # fmt: skip
            began = time.perf_counter()

    def _answers(
        self, searching: "OpenSetSearch"
    ) -> Iterator[tuple[str, list[OpenSetAnswer], list[OpenSetAnswer], float]]:
        """Each kind of query: what was said of the known and of the strangers, and chance."""
        rng = np.random.default_rng(self.seed)
        dances = [dance_of(clip.name) for clip in self.clips]
        asked = self._asked()
        chosen = [asked[place] for place in rng.permutation(len(asked))[: self.queries].tolist()]
        chance = float(np.mean([dances.count(dances[place]) for place in chosen])) / len(dances)
        if self.strangers:
            engine = searching.engine(range(len(self.clips)))
            outside = outside_cohort(self.strangers, searching.model, searching.background)
            others = searching.ask(engine, dances, list(stretches(outside, rng)), "strangers")
            excerpts = (
                (dances[place], changed_excerpt(self.clips[place].motion, [self.seed, place]))
                for place in chosen
            )
            yield "excerpt", searching.ask(engine, dances, list(excerpts), "excerpts"), others, chance
            seen = list(self._seen(dances))
            if seen:
                yield "video", searching.ask(engine, dances, seen, "views"), others, chance
        basic = [place for place in asked if self.clips[place].name.kind == "BM"]
        few = rng.permutation(len(basic))[: min(OTHER_DANCERS, self.queries)]
        places = [basic[place] for place in few.tolist()]
        yield from searching.other_dancers(self.clips, places, rng)
        yield from searching.several_takes(self.clips, places, rng)

    def _asked(self) -> list[int]:
        genres = known_genres(self.clips, self.genres)
        return [place for place, clip in enumerate(self.clips) if clip.name.genre in genres]

    def _seen(self, dances: Sequence[str]) -> Iterator[tuple[str, Motion]]:
        """The views of the clips that may be asked for, drawn by the seed if there are too many."""
        places = {self.clips[place].name: place for place in self._asked()}
        found = list(view_files(self.views, places)) if self.views else []
        order = np.random.default_rng(self.seed).permutation(len(found))
        for path, place in (found[number] for number in sorted(order[: self.queries].tolist())):
            yield dances[place], formats.read(path)[0]


@dataclass(frozen=True)
class OpenSetSearch:
    """A search as users run it, over clips whose words are known."""

    model: PatchTokeniser
    background: Sequence[Fingerprint]
    settings: Settings
    prints: Sequence[Fingerprint]
    track: TrackProgress

    def engine(self, places: Sequence[int]) -> Engine:
        """A catalogue of these clips, each under its place."""
        known = [(str(place), self.prints[place]) for place in places]
        return Engine(self.model.codebook, known, background=self.background, settings=self.settings)

    def ask(
        self, engine: Engine, dances: Sequence[str], queries: Sequence[tuple[str, Motion]], what: str
    ) -> list[OpenSetAnswer]:
        """Search for motions, each told with the dance it is of."""
        long_enough = [(dance, motion) for dance, motion in queries if self.model.is_long_enough(motion)]
        answers = []
        for dance, motion in self.track(long_enough, what, len(long_enough)):
            readings = [
                Query(self.model.fingerprint(motion)),
                Query(self.model.fingerprint(mirror(motion)), mirrored=True),
            ]
            answers.append(self.best(engine, readings, dances, dance))
        return answers

    def best(
        self, engine: Engine, readings: Sequence[Query], dances: Sequence[str], dance: str
    ) -> OpenSetAnswer:
        """The first match: whether it is right, and how sure."""
        found = engine.search(readings, limit=1)
        if not found or found[0].evalue is None:
            return OpenSetAnswer(dance, False, float("inf"))
        return OpenSetAnswer(dance, dances[int(found[0].dance_id)] == dance, found[0].evalue)

    def other_dancers(
        self, clips: Sequence[AistClip], queries: Sequence[int], rng: np.random.Generator
    ) -> Iterator[tuple[str, list[OpenSetAnswer], list[OpenSetAnswer], float]]:
        """Clips asked of one take of every basic choreography by others, its own among them or not."""
        dances = [dance_of(clip.name) for clip in clips]
        kinds = ("another dancer", f"another dancer, {SHORT_SECONDS:g} s")
        known: dict[str, list[OpenSetAnswer]] = {kind: [] for kind in kinds}
        unknown: dict[str, list[OpenSetAnswer]] = {kind: [] for kind in kinds}
        chances = []
        for place in self.track(queries, "another dancer", len(queries)):
            takes = _takes_by_others(clips, place, rng)
            if dances[place] not in takes:
                continue
            others = [take for dance, take in takes.items() if dance != dances[place]]
            readings = dict(zip(kinds, self._lengths(clips[place].motion), strict=True))
            for answers, engine in (
                (known, self.engine([*others, takes[dances[place]]])),
                (unknown, self.engine(others)),
            ):
                for kind in kinds:
                    answers[kind].append(self.best(engine, readings[kind], dances, dances[place]))
            chances.append(1 / len(takes))
        for kind in kinds:
            if known[kind]:
                yield kind, known[kind], unknown[kind], float(np.mean(chances))

    def several_takes(
        self, clips: Sequence[AistClip], queries: Sequence[int], rng: np.random.Generator
    ) -> Iterator[tuple[str, list[OpenSetAnswer], list[OpenSetAnswer], float]]:
        """Clips asked of all takes by others of a few dances of the genre, its own among them or not."""
        dances = [dance_of(clip.name) for clip in clips]
        known, unknown, chances = list[OpenSetAnswer](), list[OpenSetAnswer](), list[float]()
        for place in self.track(queries, "several takes", len(queries)):
            takes = _every_take_by_others(clips, place)
            own = takes.pop(dances[place], [])
            others = [takes[dance] for dance in rng.permutation(sorted(takes))[:SCHOOL].tolist()]
            if not own or not others:
                continue
            readings, _ = self._lengths(clips[place].motion)
            with_it, without = list(chain(*others[1:], own)), list(chain(*others))
            known.append(self.best(self.engine(with_it), readings, dances, dances[place]))
            unknown.append(self.best(self.engine(without), readings, dances, dances[place]))
            chances.append(len(own) / len(with_it))
        if known:
            yield "several takes", known, unknown, float(np.mean(chances))

    def _lengths(self, motion: Motion) -> tuple[list[Query], list[Query]]:
        """The whole, and its middle: as seen and mirrored."""
        whole = [
            Query(self.model.fingerprint(motion)),
            Query(self.model.fingerprint(mirror(motion)), mirrored=True),
        ]
        words = round(SHORT_SECONDS / whole[0].fingerprint.seconds_per_word)
        first = max(0, (len(whole[0].fingerprint) - words) // 2)
        last = min(first + words, len(whole[0].fingerprint)) - 1
        return whole, [Query(one.fingerprint.segment(first, last), one.mirrored) for one in whole]


def _takes_by_others(clips: Sequence[AistClip], query: int, rng: np.random.Generator) -> dict[str, int]:
    """A take of every basic choreography by somebody who is not the query's dancer."""
    own, found = clips[query].name, dict[str, int]()
    for place in rng.permutation(len(clips)).tolist():
        name = clips[place].name
        if name.kind == "BM" and (name.genre, name.dancer) != (own.genre, own.dancer):
            found.setdefault(dance_of(name), place)
    return found


def _every_take_by_others(clips: Sequence[AistClip], query: int) -> dict[str, list[int]]:
    """By dance, the takes of the query's genre's basic choreographies by somebody who is not its dancer."""
    own, found = clips[query].name, dict[str, list[int]]()
    for place, clip in enumerate(clips):
        name = clip.name
        if (name.kind, name.genre) == ("BM", own.genre) and name.dancer != own.dancer:
            found.setdefault(dance_of(name), []).append(place)
    return found


def outside_cohort(
    motions: Sequence[Motion], model: PatchTokeniser, background: Sequence[Fingerprint]
) -> list[Motion]:
    """The motions that are not in the background: a query's null scores must not come from itself.

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


def stretches(motions: Sequence[Motion], rng: np.random.Generator) -> Iterator[tuple[str, Motion]]:
    """A few seconds of each at a time, as a query would be, with a name for what they are of."""
    for number, motion in enumerate(motions):
        for start in np.arange(0, max(motion.seconds - 5, 0.1), STEP_SECONDS)[:MOST_STRETCHES].tolist():
            end = min(motion.seconds, start + rng.uniform(*STRETCH_SECONDS))
            yield f"stranger {number}", excerpt(motion, start, end)


def _figures(known: Sequence[OpenSetAnswer], strangers: Sequence[OpenSetAnswer]) -> dict[str, Any]:
    """What is computed from the answers."""
    doubts, right = np.array([one.evalue for one in known]), np.array([one.right for one in known])
    others = np.array([one.evalue for one in strangers])
    true, false = accepts_by_limit(doubts, right, others, LIMITS)
    curve = accepts_by_limit(doubts, right, others, CURVE)
    dances = [one.dance for one in known]
    apart = [one.dance for one in strangers]

    def at_rate(mine: np.ndarray, theirs: np.ndarray) -> float:
        return true_accepts_at(doubts[mine], right[mine], others[theirs], RATE)

    intervals = {
        "rank1": mean_interval(right, dances),
        f"true_accepts_{MAX_EVALUE}": mean_interval(right & (doubts <= MAX_EVALUE), dances),
        f"false_accepts_{MAX_EVALUE}": mean_interval(others <= MAX_EVALUE, apart),
        "true_accepts_at_1_percent": bootstrap_interval(at_rate, dances, apart),
    }
    return {
        "rank1": round(float(right.mean()), 4),
        "true_accepts": _rounded(true),
        "false_accepts": _rounded(false),
        "true_accepts_at_1_percent": round(true_accepts_at(doubts, right, others, RATE), 4),
        "limit_at_1_percent": float(f"{min(limit_at(others, RATE), HOPELESS):.3g}"),
        "curve": {
            "limits": list(CURVE),
            **{
                name: list(_rounded(shares).values())
                for name, shares in zip(("true_accepts", "false_accepts"), curve, strict=True)
            },
        },
        "intervals": {name: (round(low, 4), round(high, 4)) for name, (low, high) in intervals.items()},
        "queries": len(known),
        "strangers": len(strangers),
    }


def _rounded(shares: Mapping[str, float]) -> dict[str, float]:
    return {limit: round(share, 4) for limit, share in shares.items()}
