"""Can one performance seen twice, one person twice and two people be distinguished, if all dance the same?

    python eval/studies/same_performance.py CLIPS AISTPP_FOLDER [--skeletons FOLDER] [--views FOLDER]
        [--copies FOLDER] [--people FOLDER]

Pairs of recordings of one dance, of three kinds. One performance: clips of CLIPS that its index calls copies,
re-encodings (--copies, `reencode_clips.py`), changed excerpts, rendered views (--views, `make_views.py`)
beside their source. One person twice: basic dances of AIST++ by one dancer to two pieces of music, and
actions of --people (`people_motions.py`). Two people: the same sources. Game characters of one dance have one
animation, so they are a kind of their own and choose nothing; nor do the genres LH and PO.

Prints JSON lines: the measures of each kind and the share that is called one performance by the limits of
`search/stage2/timing.py`; the same by limits chosen without the dance; and how well one person and two can be
distinguished.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from people_motions import load_people
from tqdm import tqdm

from dancematch import formats
from dancematch.evaluation.measures.likelihood_ratios import equal_error_rate
from dancematch.evaluation.real.clip_index import read_index
from dancematch.evaluation.real.clip_skeletons import load_recordings
from dancematch.evaluation.suites.aist import dance_of, load_clips
from dancematch.evaluation.suites.changed_excerpts import changed_excerpt
from dancematch.formats.motion_capture.aist_names import AistName, parse_name
from dancematch.model.tokeniser import load_background, load_model
from dancematch.motion import mirror
from dancematch.search.engine import Engine, Query
from dancematch.search.stage2 import timing
from dancematch.search.stage2.ranking import CLEAR_SYNCHRONY
from dancematch.search.stage2.word_alignment import TEMPI
from dancematch.tracks import bones_of
from dancematch.types import Fingerprint, Motion

HELD_OUT_GENRES = ("LH", "PO")
QUERIES = 200  # of AIST++ and of each set of people
EXCERPTS = ((5.0, 1.0), (10.0, 0.5))  # seconds and strength of the changes
FRONTAL = 30.0  # degrees
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_FALSE = 0.0075  # of every kind, when limits are chosen: less than 1 % is to be left on other dances
FOLDS = 8
CORRELATIONS = np.arange(0.80, 0.97, 0.01)
JITTERS = (0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.010, 0.015)

Label = Callable[[str], str | None]  # from a recording's id to the kind of the pair; None: no pair


@dataclass(frozen=True, eq=False)
class PairQuery:
    """One dancer that is compared with some recordings."""

    motion: Motion
    dance: str
    label: Label


@dataclass(frozen=True)
class MeasuredPair:
    """What was measured of a query and a recording of the same dance."""

    kind: str  # begins with "one performance", "one person", "two people" or "one animation"
    dance: str
    log_ratio: float
    synchrony: float  # height of the peak
    histogram: float
    correlation: float
    jitter: float
    seconds: float


def main() -> None:
    """Measure all pairs that the folders have, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path)
    parser.add_argument("aistpp", type=Path)
    for name in ("skeletons", "views", "copies", "people"):
        parser.add_argument(f"--{name}", type=Path)
    options = parser.parse_args()
    sources = [real_pairs(options.clips, options.skeletons, options.copies)]
    sources += [aist_pairs(options.aistpp, options.views)]
    sources += [people_pairs(options.people)] if options.people else []
    report([pair for source in sources for pair in source])


def report(pairs: Sequence[MeasuredPair]) -> None:
    """Print limits by fold, each kind of pairs, and how well persons are told apart."""
    chosen = cross_validate(pairs)
    for kind in dict.fromkeys(pair.kind for pair in pairs):
        own = np.array([pair.kind == kind for pair in pairs])
        print(json.dumps(describe(kind, [pairs[n] for n in np.flatnonzero(own)], chosen[own])), flush=True)
    for source in ("aist", "msr action"):
        one, two = (
            [pair for pair in pairs if pair.kind == f"{who}, {source}"]
            for who in ("one person", "two people")
        )
        if one and two:
            print(json.dumps(tell_persons_apart(source, one, two)), flush=True)


def real_pairs(folder: Path, skeletons: Path | None, copies: Path | None) -> Iterator[MeasuredPair]:
    """Clips of one dance, excerpts of clips, and re-encodings beside the clip itself."""
    clips = {clip.file: clip for clip in read_index(folder)}
    recordings = load_recordings(folder, list(clips.values()), skeletons)

    def label(file: str) -> Label:
        def kind(other: str) -> str | None:
            one, two = clips[file], clips[other]
            if file == other or one.dance != two.dance or one.kind != "dance":
                return None
            if one.is_copy_of(two):
                return "one performance, posted twice"
            if one.dance == "split-screen":
                return None  # a student beside one and the same reference: both kinds in one clip
            return "one animation, two characters" if one.game_character else "two people, real clips"

        return kind

    dancers = [(one, motion) for one in recordings for motion in one.motions]
    asked = [PairQuery(motion, one.dance_id, label(one.recording_id)) for one, motion in dancers]
    dancing = [one for one in recordings if clips[one.recording_id].kind != "no-dance" and one.motions]
    for number, ((seconds, strength), one) in enumerate(product(EXCERPTS, dancing)):
        motion = changed_excerpt(one.motions[0], [number], seconds=seconds, strength=strength)
        only = {one.recording_id: f"one performance, {seconds:.0f} s of a real clip"}
        asked.append(PairQuery(motion, one.dance_id, only.get))
    by_name = {file.rsplit(".", 1)[0]: clip for file, clip in clips.items()}
    for path in sorted(copies.glob("*.npz")) if copies else ():
        name, change = path.stem.split("--")
        source = by_name[name.replace("__", "/")]
        only = {source.file: f"one performance, re-encoded {change}"}
        asked.append(PairQuery(formats.read(path)[0], source.dance, only.get))
    return measure([(one.recording_id, motion) for one, motion in dancers], asked)


def aist_pairs(folder: Path, views: Path | None) -> Iterator[MeasuredPair]:
    """Recordings of basic dances, excerpts of them, and rendered views."""
    clips = [clip for clip in load_clips(folder) if clip.name.genre not in HELD_OUT_GENRES]
    basic = [clip for clip in clips if clip.name.kind == "BM"]
    chosen = np.random.default_rng(0).permutation(len(basic))[:QUERIES]
    asked = []
    for number, clip in enumerate(basic[place] for place in sorted(chosen.tolist())):
        asked.append(PairQuery(clip.motion, dance_of(clip.name), _aist_label(clip.name, "aist", None)))
        seconds, strength = EXCERPTS[number % 2]
        motion = changed_excerpt(clip.motion, [number], seconds=seconds, strength=strength)
        label = _aist_label(clip.name, "aist excerpts", f"{seconds:.0f} s of aist")
        asked.append(PairQuery(motion, dance_of(clip.name), label))
    for path in sorted(views.glob("view_*.npz")) if views else ():
        name = parse_name(path.stem.removeprefix("view_"))
        if name is None or name.genre in HELD_OUT_GENRES:
            continue
        with np.load(path, allow_pickle=False) as arrays:
            angle = abs(json.loads(str(arrays["metadata"]))["source"]["azimuth"])
        where = f"view {'below' if angle < FRONTAL else 'above'} {FRONTAL:.0f} degrees"
        label = _aist_label(name, "aist views", where)
        asked.append(PairQuery(formats.read(path)[0], dance_of(name), label))
    return measure([(_aist_id(clip.name), clip.motion) for clip in clips], asked)


def _aist_id(name: AistName) -> str:
    return "|".join((dance_of(name), name.dancer, name.music))


def _aist_label(name: AistName, source: str, itself: str | None) -> Label:
    """What a pair is; `itself` names the pair of something made from a clip and that clip."""

    def kind(other: str) -> str | None:
        dance, dancer, music = other.split("|")
        if dance != dance_of(name):
            return None
        if dancer != name.dancer:
            return f"two people, {source}"
        if music != name.music:
            return f"one person, {source}"
        return itself and f"one performance, {itself}"

    return kind


def people_pairs(folder: Path) -> Iterator[MeasuredPair]:
    """Short motions by several people."""
    for name, performed in load_people(folder).items():
        known = {one.recording.recording_id: one for one in performed}
        chosen = np.random.default_rng(0).permutation(len(performed))[:QUERIES]

        def label(own: str, known: Mapping = known, name: str = name) -> Label:
            def kind(other: str) -> str | None:
                one, two = known[own], known[other]
                if own == other or one.recording.dance_id != two.recording.dance_id:
                    return None
                return f"{'one person' if one.person == two.person else 'two people'}, {name}"

            return kind

        asked = [
            PairQuery(one.motions[0], f"{name} {one.dance_id}", label(one.recording_id))
            for one in (performed[place].recording for place in sorted(chosen.tolist()))
        ]
        yield from measure([(key, one.recording.motions[0]) for key, one in known.items()], asked)


def measure(known: Sequence[tuple[str, Motion]], asked: Sequence[PairQuery]) -> Iterator[MeasuredPair]:
    """Every pair that has a kind, by the variant and track that speak most for one dance, as in a search."""
    model = load_model()
    words = [(name, model.fingerprint(motion)) for name, motion in known]
    engine = Engine(model.codebook, words, background=load_background(model))
    for one in tqdm(asked, desc="pairs"):
        tracks = np.array([n for n, (name, _) in enumerate(words) if one.label(name)], int)
        if not len(tracks):
            continue
        best: dict[str, MeasuredPair] = {}
        for motion in (one.motion, mirror(one.motion)):
            for track, pair in _measured(engine, model.fingerprint(motion), words, tracks, one):
                name = words[track][0]
                if name not in best or pair.log_ratio > best[name].log_ratio:
                    best[name] = pair
        yield from best.values()


def _measured(
    engine: Engine,
    query: Fingerprint,
    words: Sequence[tuple[str, Fingerprint]],
    tracks: np.ndarray,
    asked: PairQuery,
) -> Iterator[tuple[int, MeasuredPair]]:
    """One variant of a query beside each track."""
    (scored,) = engine.score_tracks([Query(query)], tracks)
    synchrony = scored.synchrony
    for place, track in enumerate(tracks.tolist()):
        name, reference = words[track]
        found = None
        if scored.evidence["synchrony"][place] >= CLEAR_SYNCHRONY:
            line = float(synchrony.offsets[place]), TEMPI[synchrony.tempi[place]]
            bones = bones_of(query), bones_of(reference)
            found = timing.measure_timing(*bones, *line, query.seconds_per_word)
        # Equal ratios, at the bounds, are told apart by the score, as a search does.
        ratio = float(scored.log_ratios[place]) + 1e-4 * float(scored.words.scores[place])
        measured = (0.0, 1.0, 0.0) if found is None else (found.correlation, found.jitter, found.seconds)
        height, histogram = synchrony.heights[place], scored.words.parts["histogram"][place]
        kind = str(asked.label(name))
        yield track, MeasuredPair(kind, asked.dance, ratio, float(height), float(histogram), *measured)


def cross_validate(pairs: Sequence[MeasuredPair]) -> np.ndarray:
    """Which pairs are called one performance by limits chosen without their dances."""
    names = sorted({pair.dance for pair in pairs})
    shuffled = np.random.default_rng(0).permutation(len(names))
    fold_of = {names[n]: place % FOLDS for place, n in enumerate(shuffled.tolist())}
    folds = np.array([fold_of[pair.dance] for pair in pairs])
    called = np.zeros(len(pairs), bool)
    for fold in range(FOLDS):
        limits = choose([pair for pair, own in zip(pairs, folds == fold, strict=True) if not own])
        print(json.dumps({"check": "limits", "fold": fold, **limits}), flush=True)
        called[folds == fold] = is_called(
            [p for p, own in zip(pairs, folds == fold, strict=True) if own], **limits
        )
    print(json.dumps({"check": "limits", "fold": None, **choose(pairs)}), flush=True)
    return called


def choose(pairs: Sequence[MeasuredPair]) -> dict[str, float]:
    """The limits that find most, each kind counting the same, and are false of no kind too often."""
    kinds = np.array([pair.kind for pair in pairs])
    names = [name for name in dict.fromkeys(kinds.tolist()) if not name.startswith("one animation")]
    best, limits = -1.0, {"correlation": 1.0, "jitter": 0.0}
    for correlation, jitter in product(CORRELATIONS.tolist(), JITTERS):
        called = is_called(pairs, correlation, jitter)
        shares = {name: called[kinds == name].mean() for name in names}
        false = max(share for name, share in shares.items() if not name.startswith("one performance"))
        found = float(
            np.mean([share for name, share in shares.items() if name.startswith("one performance")])
        )
        if false <= MOST_FALSE and found > best:
            best, limits = found, {"correlation": round(correlation, 2), "jitter": jitter}
    return limits


def is_called(pairs: Sequence[MeasuredPair], correlation: float, jitter: float) -> np.ndarray:
    """Which pairs are within these limits."""
    return np.array(
        [
            pair.log_ratio > 0
            and pair.correlation >= correlation - 1e-9
            and pair.jitter <= jitter
            and pair.seconds >= timing.LEAST_SECONDS
            for pair in pairs
        ],
        bool,
    )


def describe(kind: str, pairs: Sequence[MeasuredPair], cross_validated: np.ndarray) -> dict[str, object]:
    """What one kind of pairs measures, and what is called one performance."""
    shipped = is_called(pairs, timing.LEAST_CORRELATION, timing.MOST_JITTER)
    enough = [pair for pair in pairs if pair.seconds >= timing.LEAST_SECONDS]
    spread = {
        name: np.quantile([getattr(p, name) for p in enough], QUANTILES).round(4).tolist()
        for name in ("synchrony", "correlation", "jitter", "seconds")
        if enough
    }  # fmt: skip
    return {
        "check": "pairs", "kind": kind, "pairs": len(pairs), "long_enough": len(enough),
        "called_one_performance": int(shipped.sum()), "share": round(float(shipped.mean()), 4),
        "share_cross_validated": round(float(cross_validated.mean()), 4), "quantiles_if_long_enough": spread,
    }  # fmt: skip


def tell_persons_apart(
    source: str, one: Sequence[MeasuredPair], two: Sequence[MeasuredPair]
) -> dict[str, object]:
    """The equal error rate of each measure between one person and two, who dance the same."""
    rates = {}
    for name, sign in (
        ("log_ratio", 1),
        ("synchrony", 1),
        ("histogram", 1),
        ("correlation", 1),
        ("jitter", -1),
    ):
        values = [np.array([sign * getattr(pair, name) for pair in own], float) for own in (one, two)]
        rates[name] = round(equal_error_rate(*values), 4)
    return {"check": "one person or two", "source": source, "one": len(one), "two": len(two),
            "equal_error_rates": rates}  # fmt: skip


if __name__ == "__main__":
    main()
