"""How often the right dance is on the shortlist of a very large catalogue, by which route, at what cost.

    python bench/recall.py DATA VIEWS [--tracks 100000 1000000] [--skeletons DIR] [--cache DIR]

DATA is the folder of data sets (real/ with index.csv, aistpp/, bvh/, people/), VIEWS what
eval/studies/make_views.py rendered of AIST++. The catalogue: every recording of a dance in real/ and of the
AIST++ dances that VIEWS show, among a crowd (crowd.py), each recording a dance of its own. Queries: a real
clip, which must be found by a recording of another performance of its dance, its own and copies of it taken
out; a view, by any recording of its dance. `words`: histogram and three words in a row, the shortlist without
descriptors; `descriptors`: the 200 tracks with most votes of any variant; `both`: the shortlist of a search.
`first` is a whole search, ranked. Only the most prominent dancer of a clip asks. One JSON object per
figure; `misses` names what is not found.
"""

import argparse
import json
import os
import resource
import time
from dataclasses import dataclass, replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is there: one thread for everybody

import numpy as np
from crowd import Crowd, load_sources, make_crowd

from dancematch.evaluation.real.clip_index import IndexedClip, read_index
from dancematch.evaluation.real.clip_skeletons import load_recordings
from dancematch.evaluation.suites.aist import dance_of, load_clips
from dancematch.evaluation.suites.retrieval_tasks import find_views
from dancematch.formats import npz
from dancematch.model.tokeniser import load_background, load_model
from dancematch.motion import mirror
from dancematch.pipeline.tokenise import tokenise_motions
from dancematch.pose.selection import select_motions
from dancematch.search.engine import Engine
from dancematch.search.query import Query
from dancematch.search.settings import CAP, DEFAULT_SETTINGS, DanceFilter
from dancematch.search.stage1.descriptor_index import DescriptorIndex
from dancematch.search.stage1.shortlist import find_candidates
from dancematch.tracks import KnownTrack, bones_of

FIRST_KEY = 1 << 40  # of what is no crowd
ROUTES = ("words", "descriptors", "both")


@dataclass(frozen=True)
class Known:
    """A recording with an answer's name."""

    name: str
    dance: str
    performance: str
    part: str  # people, game characters, rendered
    variants: tuple[list[Query], ...]  # per dancer: as seen and mirrored


def show(figure: str, **figures) -> None:
    print(json.dumps({"bench": "recall", "figure": figure, **figures}), flush=True)


def variants_of(model, motions) -> tuple[list[Query], ...]:
    dancing, _ = select_motions(motions)
    seen = tokenise_motions(model, dancing)
    other = tokenise_motions(model, {number: mirror(motion) for number, motion in dancing.items()})
    return tuple(
        [Query(seen[number]), Query(other[number], mirrored=True)] for number in seen if number in other
    )


def real_clips(model, folder: Path, skeletons: Path | None) -> tuple[list[Known], list[tuple[str, object]]]:
    """Recordings of dances; and the tracks of all other clips, which go into the crowd."""
    clips: list[IndexedClip] = read_index(folder)
    recordings = load_recordings(folder, clips, skeletons)
    known = [
        Known(clip.file, clip.dance, clip.performance, clip.part, variants_of(model, one.motions))
        for clip, one in zip(clips, recordings, strict=True)
        if clip.kind == "dance"
    ]
    others = [
        (clip.file, motion)
        for clip, one in zip(clips, recordings, strict=True)
        for motion in one.motions
        if clip.kind != "dance"
    ]
    return known, others


def aist_and_views(model, folder: Path, views: Path) -> tuple[list[Known], list[Known]]:
    """All recordings of the dances that the views show; and the views."""
    clips = load_clips(folder)
    shown = list(find_views(views, {clip.name: number for number, clip in enumerate(clips)}))
    dances = {dance_of(clips[number].name) for _, number in shown}
    known = [
        Known(
            f"aist {number}", dance_of(clip.name), str(number), "", ([Query(model.fingerprint(clip.motion))],)
        )
        for number, clip in enumerate(clips)
        if dance_of(clip.name) in dances
    ]
    asked = [
        Known(
            path.stem, dance_of(clips[number].name), path.stem, "rendered", variants_of(model, npz.read(path))
        )
        for path, number in shown
    ]
    return known, asked


def catalogue(model, known: list[Known], crowd: Crowd, count: int) -> Engine:
    engine = Engine(model.codebook, background=load_background(model, "network"))
    began, spent = time.perf_counter(), time.process_time()
    tracks = [
        KnownTrack(FIRST_KEY + 100 * number + dancer, one.name, 1 + dancer, variants[0].fingerprint,
                   recording_key=FIRST_KEY + number)
        for number, one in enumerate(known) for dancer, variants in enumerate(one.variants)
    ]  # fmt: skip
    engine.add(tracks)
    for piece in crowd.pieces(count - len(tracks)):
        engine.enter(piece)
    entered = time.process_time() - spent
    built, began_build = time.process_time(), time.perf_counter()
    engine.build_descriptors()
    index = engine.index
    arrays = ("columns", "postings", "word_store")
    show(
        "build", tracks=engine.tracks, enter_cpu_seconds=round(entered, 1),
        descriptors_cpu_seconds=round(time.process_time() - built, 1),
        descriptors_seconds=round(time.perf_counter() - began_build, 1),
        seconds=round(time.perf_counter() - began, 1), descriptors=index.descriptors.descriptors,
        **{f"{name}_mb": round(getattr(index, name).nbytes / 1e6) for name in arrays},
        descriptors_mb=round(len(index.descriptors.pack()) / 1e6),
        process_peak_gb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    )  # fmt: skip
    return engine


def names_of(engine: Engine, index, queries: list[Query], only: DanceFilter) -> set[str]:
    candidates = find_candidates(index, engine._variants(queries), DEFAULT_SETTINGS, only)
    return {index.entries.names[dance] for dance in candidates.dances.tolist()}


def voted(engine: Engine, queries: list[Query], without: frozenset[str]) -> set[str]:
    """The dances of the tracks with most votes."""
    entries, best = engine.index.entries, {}
    for votes in engine.index.descriptors.search([bones_of(query.fingerprint) for query in queries]):
        for track, score in zip(votes.tracks[: 2 * CAP].tolist(), votes.scores.tolist(), strict=False):
            best[track] = max(best.get(track, 0.0), score)
    tracks = sorted(best, key=lambda track: (-best[track], track))
    names = (entries.names[dance] for dance in entries.dances_of(np.array(tracks, np.int64)).tolist())
    return set([name for name in dict.fromkeys(names) if name not in without][:CAP])


def ask(engine: Engine, asked: list[Known], known: list[Known]) -> None:
    """The share of queries whose right dance each route finds, and how long the two kinds of search take."""
    words_alone = replace(engine.index, descriptors=DescriptorIndex())
    found: dict[str, dict[str, list[str]]] = {}
    counts: dict[str, int] = {}
    for one in asked:
        queries = one.variants[0]
        copies = frozenset(k.name for k in known if (k.dance, k.performance) == (one.dance, one.performance))
        right = {k.name for k in known if k.dance == one.dance} - copies
        only = DanceFilter(but=copies)
        shortlists = {
            "words": names_of(engine, words_alone, queries, only),
            "descriptors": voted(engine, queries, copies),
            "both": names_of(engine, engine.index, queries, only),
        }
        matches = engine.search(queries, only=only)
        counts[one.part] = counts.get(one.part, 0) + 1
        for route in (*ROUTES, "first"):
            hit = matches[0].dance_id in right if route == "first" else bool(right & shortlists[route])
            found.setdefault(one.part, {}).setdefault(route, []).extend([] if hit else [one.name])
    for part, misses in found.items():
        shares = {route: round(1 - len(names) / counts[part], 4) for route, names in misses.items()}
        show("recall", tracks=engine.tracks, part=part, queries=counts[part], **shares, misses=misses)
    total = sum(counts.values())
    shares = {
        route: round(1 - sum(len(of[route]) for of in found.values()) / total, 4)
        for route in (*ROUTES, "first")
    }
    show("recall", tracks=engine.tracks, part="all", queries=total, **shares)


def measure_times(engine: Engine, asked: list[Known], repeats: int) -> None:
    """Whole searches with and without descriptors, in turn, on the same queries."""
    index, times = engine.index, {"words": [], "both": [], "descriptors": []}
    words_alone = replace(index, descriptors=DescriptorIndex())
    for one in asked[:repeats]:
        for route in times:
            engine._index = words_alone if route == "words" else index
            bones = [bones_of(query.fingerprint) for query in one.variants[0]]
            began, spent = time.perf_counter(), time.process_time()
            index.descriptors.search(bones) if route == "descriptors" else engine.search(one.variants[0])
            times[route].append((time.perf_counter() - began, time.process_time() - spent))
    engine._index = index
    for route, pairs in times.items():
        wall, cpu = 1000 * np.array(pairs[3:]).T
        figures = {
            f"{name}{unit}": round(float(function(values)), 1)
            for values, unit in ((wall, "_ms"), (cpu, "_cpu_ms"))
            for name, function in (("p50", np.median), ("least", np.min))
        }
        show("time", tracks=engine.tracks, route=route, queries=len(wall), **figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("views", type=Path)
    parser.add_argument("--tracks", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--skeletons", type=Path, help="of real clips, estimated once")
    parser.add_argument("--cache", type=Path, required=True, help="folder for the crowd's pool")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    model = load_model("network")
    real, others = real_clips(model, options.data / "real", options.skeletons)
    aist, views = aist_and_views(model, options.data / "aistpp" / "keypoints3d", options.views)
    without = frozenset(one.dance for one in views)
    crowd = make_crowd(list(load_sources(options.data, others, without)), model, options.seed, options.cache)
    known = [*real, *aist]
    asked = [one for one in (*real, *views) if one.variants]
    for count in options.tracks:
        engine = catalogue(model, known, crowd, count)
        ask(engine, asked, known)
        measure_times(engine, [one for one in asked if len(one.variants[0][0].fingerprint) >= 40], 33)


if __name__ == "__main__":
    main()
