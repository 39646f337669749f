"""Any number of tracks made of recorded motions, words and bones of one moment together, for recall.py.

The pool: AIST++, CMU, the people sets, procedural dances and real clips that are no answer to any query, each
perturbed twice by seed (turned by up to 40 degrees, half of them mirrored, then tilted, noisy, drifting, at
another tempo), and put into words by the shipped network. A million perturbed motions would take days to
put into words, so a track of the crowd is spliced of the pool's words and bones: segments of 1.6 to 4 s, each
by a coin of the same dance as the first or of the same set. 66 words (8.8 s), one entry per track.

A spliced track mixes the words of several dances, so its histogram is less like any query's than that of a
whole dance: for the route by words this crowd is easier than as many dances would be, for descriptors not.
"""

import hashlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit

from dancematch.errors import DanceMatchError
from dancematch.evaluation.suites.aist import dance_of, load_clips
from dancematch.evaluation.suites.changed_excerpts import change, draw_span
from dancematch.model.tokeniser import Tokeniser
from dancematch.motion import excerpt, mirror, to_body15
from dancematch.synthetic.dance.choreography import Dancer, compose_dance, perform
from dancematch.tracks import PackedTracks, PackedWords, bones_of, word_type
from dancematch.training.data.files import find_motion_files, read_motions
from dancematch.types import SEEN_FROM, Motion

sys.path.insert(0, str(Path(__file__).parents[1] / "eval" / "studies"))
from people_motions import load_people

VARIANTS = 2  # of each motion in the pool
LONGEST = 20.0  # seconds of one
PROCEDURAL = 200  # dances
TURN = 40.0  # degrees
STEPS = 66
PIECE = 1 << 14
SECONDS_PER_WORD = 4 / 30
# How many of the crowd are of each set.
SHARES = {"aist": 0.35, "real": 0.25, "procedural": 0.15, "people": 0.15, "cmu": 0.1}


@dataclass(frozen=True)
class Source:
    """A motion for the pool."""

    kind: str  # of `SHARES`
    dance: str  # motions of one dance share it
    motion: Motion


def load_sources(data: Path, real: Sequence[tuple[str, Motion]], without: frozenset[str]) -> Iterator[Source]:
    """All motions of the data folder, AIST++ without these dances; `real`: tracks of real clips."""
    for clip in load_clips(data / "aistpp" / "keypoints3d"):
        if dance_of(clip.name) not in without:
            yield Source("aist", dance_of(clip.name), clip.motion)
    for path, motions in read_motions(find_motion_files([data / "bvh"])):
        if not isinstance(motions, DanceMatchError):
            yield Source("cmu", path.stem.split("_")[0], motions[0])
    for people in load_people(data / "people").values():
        for one in people:
            yield from (Source("people", one.recording.dance_id, motion) for motion in one.recording.motions)
    for seed in range(PROCEDURAL):
        yield Source("procedural", f"procedural {seed}", perform(compose_dance(seed), Dancer.random(seed)))
    yield from (Source("real", clip, motion) for clip, motion in real)


def perturb_source(motion: Motion, rng: np.random.Generator) -> Motion:
    """Part of a motion as another camera and estimator might see another performance."""
    body = to_body15(motion)
    span = draw_span(body, LONGEST, rng)
    part = excerpt(body, span.start, span.end)
    angle = np.radians(rng.uniform(-TURN, TURN))
    turn = np.array([[np.cos(angle), 0, -np.sin(angle)], [0, 1, 0], [np.sin(angle), 0, np.cos(angle)]])
    turned = Motion(part.joints @ turn, part.fps, part.skeleton, part.visibility, start=part.start)
    return change(mirror(turned) if rng.random() < 0.5 else turned, rng)


@dataclass(frozen=True)
class Crowd:
    """The pool, and tracks spliced of it by number."""

    words: np.ndarray  # [steps, channels]
    seen: np.ndarray  # [steps, channels / 8]
    bones: np.ndarray  # [steps, 20]
    offsets: np.ndarray  # [tracks + 1]
    dances: np.ndarray  # [tracks], rising; tracks of one dance lie together
    kinds: np.ndarray  # [tracks] of `SHARES`, rising

    def pieces(self, count: int) -> Iterator[PackedTracks]:
        """The first so many tracks of the crowd, some at a time."""
        for first in range(0, count, PIECE):
            yield self.tracks(first, min(PIECE, count - first))

    def tracks(self, first: int, count: int) -> PackedTracks:
        """Some tracks by number, each a dance and recording of its own."""
        sizes = np.bincount(self.kinds, minlength=len(SHARES))
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        shares = np.array(list(SHARES.values())) * (sizes > 0)
        edges = np.searchsorted(self.dances, [self.dances, self.dances + 1])
        places = splice(
            self.offsets, bounds, np.cumsum(shares / shares.sum()), edges, self.kinds, first, count
        ).ravel()
        clocks = np.tile([0.0, SECONDS_PER_WORD], (count, 1))
        offsets = np.arange(count + 1) * STEPS
        packed = PackedWords(self.words[places], self.seen[places], offsets, clocks, self.bones[places])
        keys = np.arange(first, first + count)
        return PackedTracks(
            keys, [f"crowd {key}" for key in keys.tolist()], np.ones(count, np.int64), [()] * count,
            [None] * count, np.full(count, np.nan, np.float32), keys, packed,
        )  # fmt: skip


@njit(cache=True)
def splice(offsets, bounds, shares, edges, kinds, first, count):
    """Places in the pool, [count, STEPS]; the same number gives the same track."""
    places = np.empty((count, STEPS), np.int64)
    for number in range(count):
        np.random.seed(first + number)  # noqa: NPY002  (numba's own)
        kind = min(np.searchsorted(shares, np.random.random()), len(shares) - 1)  # noqa: NPY002
        home = np.random.randint(bounds[kind], bounds[kind + 1])  # noqa: NPY002
        step = 0
        while step < STEPS:
            if step == 0 or np.random.random() < 0.5:  # noqa: NPY002
                track = np.random.randint(edges[0, home], edges[1, home])  # noqa: NPY002
            else:
                track = np.random.randint(bounds[kinds[home]], bounds[kinds[home] + 1])  # noqa: NPY002
            longest = np.random.randint(12, 31)  # noqa: NPY002
            length = min(longest, offsets[track + 1] - offsets[track], STEPS - step)
            start = np.random.randint(offsets[track], offsets[track + 1] - length + 1)  # noqa: NPY002
            for at in range(length):
                places[number, step + at] = start + at
            step += length
    return places


def make_crowd(sources: Sequence[Source], tokeniser: Tokeniser, seed: int, cache: Path) -> Crowd:
    """The pool of all sources, from the cache folder where the same was made before."""
    stamp = hashlib.sha256(f"{tokeniser.model_id} {seed} {VARIANTS} {LONGEST} {len(sources)}".encode())
    for source in sources:
        stamp.update(f"{source.kind} {source.dance} {source.motion.joints.shape}".encode())
    path = cache / f"crowd-{stamp.hexdigest()[:16]}.npz"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.savez(path.with_suffix(".part.npz"), **_make_pool(sources, tokeniser, seed))
        path.with_suffix(".part.npz").replace(path)
    with np.load(path, allow_pickle=False) as arrays:
        return Crowd(**{name: arrays[name] for name in arrays.files})


def _make_pool(sources: Sequence[Source], tokeniser: Tokeniser, seed: int) -> dict[str, np.ndarray]:
    names = list(SHARES)
    order = sorted(range(len(sources)), key=lambda n: (names.index(sources[n].kind), sources[n].dance))
    made, dances, kinds, seen_dances = [], [], [], {}
    for number in order:
        source = sources[number]
        dance = seen_dances.setdefault((source.kind, source.dance), len(seen_dances))
        for variant in range(VARIANTS):
            motion = perturb_source(source.motion, np.random.default_rng([seed, number, variant]))
            if tokeniser.is_long_enough(motion):
                made.append(tokeniser.fingerprint(motion))
                dances.append(dance)
                kinds.append(names.index(source.kind))
    return {
        "words": np.concatenate([one.words for one in made]).astype(word_type(made[0].vocabulary)),
        "seen": np.packbits(np.concatenate([one.visibility for one in made]) >= SEEN_FROM, axis=1),
        "bones": np.concatenate([bones_of(one) for one in made]),
        "offsets": np.cumsum([0, *map(len, made)]),
        "dances": np.array(dances),
        "kinds": np.array(kinds),
    }
