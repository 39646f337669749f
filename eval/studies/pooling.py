"""Several recordings of one dance: by which rule should their likelihood ratios be pooled?

    python eval/studies/pooling.py aist AISTPP_FOLDER [--queries 250] [--seed 0]
    python eval/studies/pooling.py real CLIPS [--skeletons FOLDER]

aist: a query is a basic dance by one dancer, the catalogue all 70 basic dances with 1, 2, 4 or 8 recordings
each by other dancers, drawn by the seed; the larger catalogues hold the smaller ones. Every query is searched
with its own dance and without it; without it the query is an unknown dance. Two halves of the genres: what is
chosen on one can be checked on the other.

real: CLIPS is a folder with an index.csv, as for `dancematch eval real`. Every clip is searched among all
others but copies of its own performance, all recordings of a dance known under one name; and once more
without its own dance.

One search gives the ratios of all recordings that are compared, from which every rule is computed. The rule
"one name per recording" is what a catalogue without dances would say: the largest ratio, and an E-value that
counts every recording. One JSON object per part, number of recordings and rule; `right_at_1_percent` is right
and accepted at the limit that accepts one unknown dance in a hundred.

Not held out: the shipped network was trained on all seven genres of AIST++, dancers and dances among them,
and the ratios were calibrated on pairs of these clips and of basic dances of AIST++, LH and PO excepted. All
rules are computed from the same ratios, so that this favours none of them, but the shares are not those of
new dances. Where the own dance is left out, words are still weighted by statistics that count it.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np
from tqdm import tqdm

from dancematch.errors import NoDancerError
from dancematch.evaluation.measures.accept_rates import true_accepts_at
from dancematch.evaluation.measures.bootstrap import mean_interval
from dancematch.evaluation.measures.likelihood_ratios import cllr
from dancematch.evaluation.real.catalogues import copies_of
from dancematch.evaluation.real.clip_index import IndexedClip, read_index
from dancematch.evaluation.real.clip_skeletons import load_recordings
from dancematch.evaluation.suites.aist import AistClip, dance_of, load_clips
from dancematch.model.tokeniser import load_background, load_model
from dancematch.motion import mirror
from dancematch.pipeline.query import query_of_motions
from dancematch.pipeline.tokenise import words_in
from dancematch.search.confidence.pooling import PoolingRule, pool_log_ratios
from dancematch.search.confidence.verdict import evalue_of, verdict_of
from dancematch.search.engine import Engine, Query
from dancematch.search.settings import ALL_DANCES, DanceFilter
from dancematch.tracks import KnownTrack
from dancematch.types import Motion, Verdict

HALVES = {"BR JB JS KR": ("BR", "JB", "JS", "KR"), "LH LO PO": ("LH", "LO", "PO")}
RECORDINGS = (1, 2, 4, 8)  # per dance
SEPARATE = "one name per recording"
RATES = (0.01, 0.05)  # of unknown dances accepted, at which rules are compared
RULES = (*get_args(PoolingRule), SEPARATE)

MODEL = load_model()
BACKGROUND = load_background(MODEL)


class First(NamedTuple):
    """The first dance that a rule gives for a query."""

    dance: str  # of the query
    right: bool
    evalue: float

    @property
    def verdict(self) -> Verdict:
        """By the limits of a search."""
        return verdict_of(self.evalue)


@dataclass(frozen=True)
class Answer:
    """The ratios of one search: per dance those of its recordings that were compared."""

    ratios: Mapping[str, Sequence[float]]
    dances: int  # that the search covers
    recordings: int

    def pool(self, rule: str) -> dict[str, float]:
        """The pooled ratio of each dance."""
        chosen: PoolingRule = "maximum" if rule == SEPARATE else rule  # type: ignore[assignment]
        return {name: pool_log_ratios(own, chosen) for name, own in self.ratios.items()}

    def first(self, dance: str, rule: str) -> First:
        """The first dance and its E-value, beside the query's; equal ratios in the order of the search."""
        pooled = self.pool(rule)
        if not pooled:
            return First(dance, False, float("inf"))
        name = max(pooled, key=lambda one: pooled[one])
        evalue = evalue_of(pooled[name], self.recordings if rule == SEPARATE else self.dances)
        return First(dance, name == dance, evalue)


@dataclass(frozen=True)
class Asked:
    """The answers to one query."""

    dance: str
    own: Answer | None  # None: its dance has no other recording
    without: Answer


def search(engine: Engine, variants: Sequence[Query], only: DanceFilter = ALL_DANCES) -> Answer:
    """All dances that are compared with a query."""
    entries = engine.index.entries
    found = engine.search(variants, limit=entries.dances, only=only)
    ratios = {match.dance_id: [float(one.log_ratio or 0) for one in match.recordings] for match in found}
    recordings = entries.recordings_among(entries.allowed(only), only, None)
    return Answer(ratios, entries.dances_searched(only), recordings)


def report(part: str, recordings: object, asked: Sequence[Asked]) -> None:
    """Print the figures of each rule."""
    for rule in RULES:
        print(json.dumps({"study": "pooling", "part": part, "recordings": recordings, "rule": rule,
                          **measure(rule, asked), "model_id": MODEL.model_id}), flush=True)  # fmt: skip


SHARES: Mapping[str, tuple[bool, Callable[[First], bool]]] = {  # with the own dance or without it
    "rank1": (True, lambda one: one.right),
    "right_and_match": (True, lambda one: one.right and one.verdict == "match"),
    "right_and_possible": (True, lambda one: one.right and one.verdict == "possible match"),
    "wrong_and_match": (True, lambda one: not one.right and one.verdict == "match"),
    "unknown_accepted": (False, lambda one: one.verdict == "match"),
    "unknown_possible": (False, lambda one: one.verdict == "possible match"),
}


def measure(rule: str, asked: Sequence[Asked]) -> dict[str, object]:
    """The figures of one rule; shares of the queries, with 95 % intervals over dances."""
    own = [one.own.first(one.dance, rule) for one in asked if one.own is not None]
    unknown = [one.without.first(one.dance, rule) for one in asked]
    figures: dict[str, object] = {"queries": len(own), "unknown": len(unknown)}
    intervals: dict[str, list[float]] = {}
    for name, (known, test) in SHARES.items():
        rows = own if known else unknown
        if rows:
            values = [test(one) for one in rows]
            figures[name] = round(float(np.mean(values)), 4)
            intervals[name] = [round(end, 4) for end in mean_interval(values, [one.dance for one in rows])]
    if own:
        evalues, right = [one.evalue for one in own], [one.right for one in own]
        for rate in RATES:
            accepted = true_accepts_at(evalues, right, [one.evalue for one in unknown], rate)
            figures[f"right_at_{round(100 * rate)}_percent"] = round(accepted, 4)
        figures["cllr"] = measure_cllr(rule, asked)
    return {**figures, "intervals": intervals}


def measure_cllr(rule: str, asked: Sequence[Asked]) -> float:
    """The cost of the ratios of the own dance and of all others that were compared."""
    same, different = list[float](), list[float]()
    for one in asked:
        if one.own is not None:
            pooled = one.own.pool(rule)
            same += [pooled.pop(one.dance)] if one.dance in pooled else []
            different += pooled.values()
    return round(cllr(np.array(same), np.array(different)), 4)


def study_aist(folder: Path, queries: int, seed: int) -> None:
    """Print the figures of basic dances by other dancers."""
    clips = [clip for clip in load_clips(folder) if clip.name.kind == "BM"]
    words = [MODEL.fingerprint(clip.motion) for clip in tqdm(clips, desc="words")]
    rng = np.random.default_rng(seed)
    for half, genres in HALVES.items():
        places = [place for place, clip in enumerate(clips) if clip.name.genre in genres]
        drawn = sorted(rng.permutation(places)[:queries].tolist(), key=lambda place: dancer_of(clips[place]))
        variants = {
            place: [Query(words[place]), Query(MODEL.fingerprint(mirror(clips[place].motion)), mirrored=True)]
            for place in tqdm(drawn, desc="mirrored")
        }
        orders = {dancer: rng.permutation(len(clips)).tolist() for dancer in sorted(map(dancer_of, clips))}
        for count in RECORDINGS:
            asked, built = list[Asked](), ("", Engine(MODEL.codebook))
            for place in tqdm(drawn, desc=f"{half}, {count}"):
                dancer, dance = dancer_of(clips[place]), dance_of(clips[place].name)
                if built[0] != dancer:
                    known = draw_recordings(clips, orders[dancer], dancer, count)
                    pairs = [(dance_of(clips[n].name), words[n]) for n in known]
                    built = dancer, Engine(MODEL.codebook, pairs, background=BACKGROUND)
                left = search(built[1], variants[place], DanceFilter(but=frozenset({dance})))
                asked.append(Asked(dance, search(built[1], variants[place]), left))
            report(half, count, asked)


def dancer_of(clip: AistClip) -> str:
    """The genre and number of a dancer: numbers are not unique."""
    return clip.name.genre + clip.name.dancer


def draw_recordings(clips: Sequence[AistClip], order: Sequence[int], dancer: str, count: int) -> list[int]:
    """The first so many recordings of every dance by others than one dancer."""
    found: dict[str, list[int]] = {}
    for place in order:
        if dancer_of(clips[place]) != dancer:
            found.setdefault(dance_of(clips[place].name), []).append(place)
    return [place for own in found.values() for place in own[:count]]


def study_real(folder: Path, skeletons: Path | None) -> None:
    """Print the figures of real clips, each among all others but its own performance."""
    clips = read_index(folder)
    motions = {one.recording_id: one.motions for one in load_recordings(folder, clips, skeletons)}
    tracks: dict[str, list[KnownTrack]] = {clip.file: [] for clip in clips}
    key = 0
    for place, clip in enumerate(tqdm(clips, desc="words")):
        with suppress(NoDancerError):
            for dancer, words in words_in(MODEL, motions[clip.file], clip.file).items():
                tracks[clip.file].append(KnownTrack(key, clip.dance, dancer, words, recording_key=place))
                key += 1
    answers: dict[str, list[Asked]] = {}
    for clip in tqdm(clips, desc="queries"):
        for asked in ask_clip(clip, clips, tracks, motions[clip.file]):
            answers.setdefault(clip.part, []).append(asked)
            if clip.kind == "dance":
                answers.setdefault("all dances", []).append(asked)
    for part, asked in answers.items():
        report(part, "all others", asked)


def ask_clip(
    clip: IndexedClip,
    clips: Sequence[IndexedClip],
    tracks: Mapping[str, list[KnownTrack]],
    motions: Sequence[Motion],
) -> Iterator[Asked]:
    """The answers to one clip; none where no dancer is seen."""
    variants = list[Query]()
    with suppress(NoDancerError):
        dancers = query_of_motions(motions, MODEL, clip.file).dancers
        variants = [query for dancer in dancers for query in dancer.queries()]
    if not variants:
        return
    copies = copies_of(clip, clips)
    engine = Engine(MODEL.codebook, background=BACKGROUND)
    engine.add([track for one in clips if one.file not in copies for track in tracks[one.file]])
    without = search(engine, variants, DanceFilter(but=frozenset({clip.dance})))
    yield Asked(clip.dance, search(engine, variants) if clip.kind == "dance" else None, without)


def main() -> None:
    """Print the figures of one kind of clips."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=["aist", "real"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=int, default=250)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skeletons", type=Path)
    options = parser.parse_args()
    if options.kind == "aist":
        study_aist(options.folder, options.queries, options.seed)
    else:
        study_real(options.folder, options.skeletons)


if __name__ == "__main__":
    main()
