"""Features and training pairs of words: what should a word describe, and which pairs should it learn from?

    python eval/studies/word_features.py AISTPP REAL SKELETONS VIEWS PEOPLE [--seeds 0,1]

Words without a network: per channel Fisher's discriminant on matched patches
(`training/network/discriminant.py`) and 256 centres by k-means, learnt without the genres of `HELD_OUT`.
Each variant has its features and its pairs:

- pose: position and direction of a patch's joints, each limb from where it hangs; with neighbours, also how
  the mean of patches to either side differs. movement: the same minus the mean of the four seconds around,
  in the picture plane only.
- dancers: two dancers of one choreography of AIST++. views: a pose estimator's views of rendered dancers
  (VIEWS, by `make_views.py`) and their source. real: two dancers of one dance of REAL at the lag of their
  best synchrony; cross-validated by dance, so that a query is answered by words that saw no clip of its
  dance. people: short motions by several people (PEOPLE, `people_motions.py`), warped in time.

By histogram alone, rank 1: clips of `QUERIED` among the basic clips of all other dancers of AIST++; and
clips of REAL, every dancer as seen and mirrored, among all other performances (with windows, as in a
catalogue) and AIST++. SKELETONS is a store of REAL's skeletons, as for `dancematch eval real`. One JSON
object per variant; counts are sums over the seeds and, of AIST++, over the folds. Differences of two or
three real clips are chance.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from people_motions import PersonMotion, load_people
from real_folds import FOLDS, deal_folds
from tqdm import tqdm

from dancematch.directions import bone_directions, mirror_bones
from dancematch.errors import DanceMatchError
from dancematch.evaluation.measures.ranking import rank_of
from dancematch.evaluation.real.clip_index import IndexedClip, read_index
from dancematch.evaluation.real.clip_skeletons import load_recordings
from dancematch.evaluation.suites.aist import ask_cross_dancer
from dancematch.formats.motion_capture.aist_names import parse_name
from dancematch.model.kmeans import PATCH_FRAMES, PartWords
from dancematch.model.parts import HANGS_FROM, LAYOUTS, joint_places
from dancematch.motion import CANONICAL, FPS
from dancematch.search.stage1.histogram import (
    DEFAULT_WEIGHTING,
    channels_seen,
    combine_channels,
    inverse_document_frequency,
    unit_histogram,
    word_counts,
)
from dancematch.search.stage2.synchrony import lag_curve
from dancematch.search.words.entries import window_bounds
from dancematch.training.data.files import find_motion_files, read_motions
from dancematch.training.data.pairs import (
    MIN_CORRELATION,
    AlignedPair,
    mirror_joints,
    pair_dancers,
    pair_views,
)
from dancematch.training.data.sources import IndexedFile
from dancematch.training.data.tracks import TrainingTrack, make_tracks
from dancematch.training.kmeans import fit_centres
from dancematch.training.network.discriminant import fit_discriminant
from dancematch.types import BoneArray, Fingerprint, FloatArray

HELD_OUT = ("KR", "LO", "LH", "PO")  # genres that no words learn from
QUERIED = ("KR", "LO")
VOCABULARY = 256
DIMENSIONS = 20  # of the discriminant
DRAWN_PATCHES = 12_000  # matched, per kind of pairs
CENTRE_PATCHES = 16_000
SEGMENT_FRAMES = 80  # of a pair, from which up to `SEGMENT_PATCHES` are drawn
SEGMENT_PATCHES = 16
MEAN_FRAMES = 60  # to either side, that movement is relative to
MIN_SECONDS = 1.0  # of a dancer of a real clip
PEOPLE_SETS = ("kinder gator", "bharatanatyam")
PAIRS_PER_MOTION = 8
MIN_MOTION_FRAMES = 40

_ORIGINS = joint_places(tuple(HANGS_FROM.get(joint, joint) for joint in CANONICAL.joints))
_HANGS = np.array([joint in HANGS_FROM for joint in CANONICAL.joints])

Places = NDArray[np.intp]


@dataclass(frozen=True)
class Feature:
    """What is described of a patch."""

    patch_frames: int = PATCH_FRAMES
    neighbours: int = 0  # patches to either side
    movement: bool = False


POSE, MOVEMENT = Feature(), Feature(movement=True)
ChannelFeatures = Sequence[tuple[Feature, str]]  # each with its layout; one length of patches
POSE_14: ChannelFeatures = ((POSE, "parts14"),)
BOTH_7: ChannelFeatures = ((POSE, "parts7"), (MOVEMENT, "parts7"))

FEATURES: Mapping[str, ChannelFeatures] = {
    "pose in 14 channels": POSE_14,
    "movement in 14": ((MOVEMENT, "parts14"),),
    "pose in 7, movement in 7": BOTH_7,
    "pose in 14, movement in 7": (*POSE_14, (MOVEMENT, "parts7")),
    "pose in 14, 1 neighbour": ((Feature(neighbours=1), "parts14"),),
    "pose in 14, 2 neighbours": ((Feature(neighbours=2), "parts14"),),
    "pose in 14, patches of 8 frames": ((Feature(patch_frames=8), "parts14"),),
}
SOURCES = (("dancers", "views"), ("dancers", "views", "real"), ("dancers", "views", "people"))
VARIANTS = (
    *((name, ("dancers",)) for name in FEATURES),
    *((name, kinds) for name, used in FEATURES.items() if used in (POSE_14, BOTH_7) for kinds in SOURCES),
)


class RealTrack(NamedTuple):
    """A dancer of a real clip."""

    clip: IndexedClip
    joints: FloatArray  # canonical
    bones: BoneArray  # a step is a patch of `PATCH_FRAMES`
    fold: int | None  # in which its dance is a query; None: it is none


class Channel(NamedTuple):
    """The words of one body part, described by one feature."""

    feature: Feature
    joints: list[int]
    words: PartWords


def describe(joints: FloatArray, starts: Places, feature: Feature, *, mirrored: bool = False) -> FloatArray:
    """The patches that begin at the frames `starts`, which increase: [patches, joints, numbers]."""
    patch = feature.patch_frames
    margin = MEAN_FRAMES + feature.neighbours * patch
    first = max(0, int(starts[0]) - margin)
    shown = joints[first : int(starts[-1]) + patch + margin]
    shown = mirror_joints(shown) if mirrored else shown
    shown = np.where(_HANGS[:, None], shown - shown[:, _ORIGINS], shown)
    if feature.movement:
        shown = (shown - moving_mean(shown))[..., :2]

    def frames_of(begin: Places) -> FloatArray:  # [patches, frames, joints, axes]
        return shown[np.clip(begin, 0, len(shown) - patch)[:, None] + np.arange(patch)]

    own = starts - first
    # The first two cosines of a patch; the discriminant of a network reads the same.
    direction = np.cos(np.pi * (np.arange(patch) + 0.5) / patch) * np.sqrt(2) / patch
    mean = frames_of(own).mean(axis=1)
    numbers = [mean, np.einsum("f,sfja->sja", direction, frames_of(own))]
    for distance in range(patch, patch * (feature.neighbours + 1), patch):
        before, after = (frames_of(own + side).mean(axis=1) for side in (-distance, distance))
        numbers += [after - before, after + before - 2 * mean]
    return np.concatenate(numbers, axis=2, dtype=np.float32)


def moving_mean(values: FloatArray) -> NDArray[np.float64]:
    """The mean of what is seen in the frames around each frame: [frames, joints, axes]."""
    seen = np.isfinite(values)
    sums, counts = (
        np.concatenate([np.zeros_like(rows[:1]), rows]).cumsum(axis=0)
        for rows in (np.where(seen, values, 0.0), seen.astype(np.float64))
    )
    frames = np.arange(len(values))
    low, high = np.maximum(frames - MEAN_FRAMES, 0), np.minimum(frames + MEAN_FRAMES + 1, len(values))
    return (sums[high] - sums[low]) / np.maximum(counts[high] - counts[low], 1)


def describe_track(joints: FloatArray, feature: Feature, *, mirrored: bool = False) -> FloatArray:
    """All patches of a track, one after the other."""
    patch = feature.patch_frames
    return describe(joints, np.arange(0, len(joints) - patch + 1, patch), feature, mirrored=mirrored)


def draw_matched_patches(
    pairs: Sequence[AlignedPair], feature: Feature, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Patches of drawn pairs that show the same moment, half of them as mirror images."""
    patch, drawn, count = feature.patch_frames, [], 0
    while count < DRAWN_PATCHES:
        pair = pairs[rng.integers(len(pairs))]
        mirrored = bool(rng.random() < 0.5)
        starts = _draw_starts(pair, patch, rng)
        if len(starts):
            first = describe(pair.first.joints, starts[:, 0], feature, mirrored=mirrored != pair.mirrored)
            drawn.append((first, describe(pair.second.joints, starts[:, 1], feature, mirrored=mirrored)))
            count += len(starts)
    first, second = (np.concatenate(rows) for rows in zip(*drawn, strict=True))
    return first, second


def _draw_starts(pair: AlignedPair, patch: int, rng: np.random.Generator) -> Places:
    """First frames of some matched patches in a drawn segment of a pair: [patches, 2]."""
    (low, _), (high, _) = pair.frames[0], pair.frames[-1]
    begin = int(rng.uniform(low, max(low, high - SEGMENT_FRAMES)))
    first = np.arange(begin, min(begin + SEGMENT_FRAMES, high - patch + 2), patch)
    middle = (patch - 1) / 2  # the patches' middles are matched, not their ends
    second = np.rint(np.interp(first + middle, *pair.frames.T) - middle).astype(np.intp)
    fits = (
        (second >= 0)
        & (first + patch <= len(pair.first.joints))
        & (second + patch <= len(pair.second.joints))
    )
    kept = np.sort(rng.permutation(np.flatnonzero(fits))[:SEGMENT_PATCHES])
    return np.stack([first[kept], second[kept]], axis=1)


def fit_words(
    features: ChannelFeatures, sets: Sequence[Sequence[AlignedPair]], tracks: Sequence[FloatArray], seed: int
) -> list[Channel]:
    """Words that learn what to keep from the sets of pairs, and their centres from tracks."""
    channels = []
    for feature, layout in features:
        rng = np.random.default_rng(seed)
        drawn = [draw_matched_patches(pairs, feature, rng) for pairs in sets]
        first, second = (np.concatenate(rows) for rows in zip(*drawn, strict=True))
        patches = np.concatenate([describe_track(joints, feature)[rng.integers(6) :: 6] for joints in tracks])
        patches = patches[rng.permutation(len(patches))[:CENTRE_PATCHES]]
        for part in LAYOUTS[layout].values():
            joints = joint_places(part)
            one, other, rows = (
                found[:, joints].reshape(len(found), -1) for found in (first, second, patches)
            )
            seen = np.isfinite(one).all(axis=1) & np.isfinite(other).all(axis=1)
            mean, basis = fit_discriminant(one[seen], other[seen], DIMENSIONS)
            rows = rows[np.isfinite(rows).all(axis=1)]
            centres = fit_centres((rows - mean) @ basis, VOCABULARY, rng)
            channels.append(Channel(feature, joints, PartWords(mean, basis, centres)))
    return channels


def tokenise(channels: Sequence[Channel], described: Mapping[Feature, FloatArray]) -> Fingerprint:
    """The words of a track; a word is seen where all its joints are."""
    words, seen = [], []
    for channel in channels:
        rows = described[channel.feature][:, channel.joints]
        rows = rows.reshape(len(rows), -1)
        words.append(channel.words.words(rows))
        seen.append(np.isfinite(rows).all(axis=1))
    clock = channels[0].feature.patch_frames / FPS
    return Fingerprint(np.stack(words, 1), VOCABULARY, clock, "study", visibility=np.stack(seen, 1))


def score_histograms(queries: Sequence[Fingerprint], entries: Sequence[Fingerprint]) -> FloatArray:
    """Stage one's similarity of each query and each entry: [queries, entries]."""
    counts = np.stack([word_counts(entry) for entry in entries])  # [entries, channels, words]
    idf = inverse_document_frequency((counts > 0).sum(axis=0), len(entries), DEFAULT_WEIGHTING)
    known = unit_histogram(counts, idf, DEFAULT_WEIGHTING).transpose(1, 2, 0)
    asked = unit_histogram(np.stack([word_counts(query) for query in queries]), idf, DEFAULT_WEIGHTING)
    cosines = (asked.transpose(1, 0, 2) @ known).transpose(1, 0, 2)  # [queries, channels, entries]
    seen = np.stack([channels_seen(entry) for entry in entries], axis=1)
    return np.stack(
        [
            combine_channels(rows, channels_seen(query), seen)
            for rows, query in zip(cosines, queries, strict=True)
        ]
    )


def load_aist(folder: Path) -> list[TrainingTrack]:
    """Every sequence of AIST++ as a track."""
    return list(_read_tracks(find_motion_files([folder])))


def _read_tracks(files: Sequence[Path]) -> Iterator[TrainingTrack]:
    for path, motions in read_motions(files):
        if isinstance(motions, DanceMatchError):
            raise motions
        yield from make_tracks(path, motions)


def load_real(folder: Path, skeletons: Path) -> list[RealTrack]:
    """Every dancer of real clips who is seen long enough, with the fold of the dance."""
    clips = read_index(folder)
    folds = deal_folds(clips)
    return [
        RealTrack(clip, track.joints, bone_directions(motion, PATCH_FRAMES), folds.get(clip.dance))
        for clip, recording in zip(clips, load_recordings(folder, clips, skeletons), strict=True)
        for motion in recording.motions
        for track in make_tracks(Path(clip.file), [motion])
        if len(track.joints) >= MIN_SECONDS * FPS
    ]


def pair_real(tracks: Sequence[RealTrack]) -> list[tuple[int, AlignedPair]]:
    """Two dancers of one dance where they move most alike, each pair with the fold of its dance."""
    pairs = []
    for one, other in combinations([track for track in tracks if track.fold is not None], 2):
        if one.clip.dance != other.clip.dance:
            continue
        found = [(*_best_lag(one.bones, other.bones, mirrored), mirrored) for mirrored in (False, True)]
        correlation, lag, mirrored = max(found)
        if correlation < MIN_CORRELATION:
            continue
        frames = np.arange(max(0, -lag), min(len(one.joints), len(other.joints) - lag), dtype=np.int32)
        first, second = (
            TrainingTrack(track.clip.file, track.joints, track.clip.dance) for track in (one, other)
        )
        pairs.append((one.fold, AlignedPair(first, second, np.stack([frames, frames + lag], 1), mirrored)))
    return pairs


def _best_lag(one: BoneArray, other: BoneArray, mirrored: bool) -> tuple[float, int]:
    """The highest correlation, and the frame of the other at which the first begins there."""
    own = mirror_bones(one) if mirrored else one
    lags, correlations = lag_curve(own, other, 1.0, PATCH_FRAMES / FPS)
    if not len(lags):
        return 0.0, 0
    best = int(correlations.argmax())
    return float(correlations[best]), round(float(lags[best]) * FPS)


def pair_people(motions: Sequence[PersonMotion], rng: np.random.Generator) -> list[AlignedPair]:
    """A few pairs of people per motion, warped in time."""
    by_motion: dict[str, list[TrainingTrack]] = {}
    for motion in motions:
        recording = motion.recording
        indexed = IndexedFile(recording.dance_id, motion.person, None)
        tracks = make_tracks(Path(recording.recording_id), recording.motions, "people", indexed)
        by_motion.setdefault(recording.dance_id, []).extend(
            track for track in tracks if len(track.joints) >= MIN_MOTION_FRAMES
        )
    pairs = []
    for tracks in by_motion.values():
        two = [both for both in combinations(tracks, 2) if both[0].dancer != both[1].dancer]
        for place in rng.permutation(len(two))[:PAIRS_PER_MOTION]:
            pairs += pair_dancers(two[place])
    return pairs


class Study:
    """The clips, the pairs by kind, and what is asked."""

    def __init__(self, aistpp: Path, real: Path, skeletons: Path, views: Path, people: Path) -> None:
        self.aist = load_aist(aistpp)
        self.names = [name for track in self.aist if (name := parse_name(track.name))]
        self.learnt = [
            track for track, name in zip(self.aist, self.names, strict=True) if name.genre not in HELD_OUT
        ]
        self.real = load_real(real, skeletons)
        seen = list(_read_tracks(find_motion_files([views], without_genres=HELD_OUT)))
        sets = load_people(people)
        self.pairs = {
            "dancers": pair_dancers(self.learnt),
            "views": pair_views([*self.learnt, *seen]),
            "people": [
                pair for name in PEOPLE_SETS for pair in pair_people(sets[name], np.random.default_rng(0))
            ],
        }
        self.real_pairs = pair_real(self.real)

    def count_pairs(self, kind: str) -> int:
        """All pairs of a kind."""
        return len(self.real_pairs if kind == "real" else self.pairs[kind])

    def measure(self, features: ChannelFeatures, kinds: Sequence[str], seeds: Sequence[int]) -> dict:
        """Right answers and queries, by what is asked."""
        used = [feature for feature, _ in features]
        every = [(track.joints, False) for track in self.aist]
        every += [(track.joints, mirrored) for mirrored in (False, True) for track in self.real]
        described = [
            {feature: describe_track(joints, feature, mirrored=mirrored) for feature in used}
            for joints, mirrored in every
        ]
        joints = [track.joints for track in self.learnt]
        answers: dict[str, list[bool]] = {}
        for seed in seeds:
            for fold in range(FOLDS) if "real" in kinds else (None,):
                channels = fit_words(features, self._choose_pairs(kinds, fold), joints, seed)
                prints = [tokenise(channels, one) for one in described]
                for asked, right in (*self._ask_aist(prints), *self._ask_real(prints, fold)):
                    answers.setdefault(asked, []).append(right)
        return {asked: {"right": sum(right), "queries": len(right)} for asked, right in answers.items()}

    def _choose_pairs(self, kinds: Sequence[str], fold: int | None) -> list[Sequence[AlignedPair]]:
        """The sets of pairs to learn from; of real clips those of the other folds."""
        others = [pair for own, pair in self.real_pairs if own != fold]
        return [others if kind == "real" else self.pairs[kind] for kind in kinds]

    def _ask_aist(self, prints: Sequence[Fingerprint]) -> Iterator[tuple[str, bool]]:
        """Whether each clip's first answer is right, by genre."""
        basic = [place for place, name in enumerate(self.names) if name.kind == "BM"]
        names, known = [self.names[place] for place in basic], [prints[place] for place in basic]
        questions = list(ask_cross_dancer(names, QUERIED))
        scores = score_histograms([known[one.query] for one in questions], known)
        for row, one in zip(scores, questions, strict=True):
            yield names[one.query].genre, rank_of(row[one.candidates], one.right) == 1

    def _ask_real(self, prints: Sequence[Fingerprint], fold: int | None) -> Iterator[tuple[str, bool]]:
        """Whether each clip's first answer is right, by part; the queries of a fold, or all."""
        count = len(self.aist)
        entries, clips = list(prints[:count]), [None] * count
        for track, known in zip(self.real, prints[count:], strict=False):  # mirrored tracks follow
            windows = [(0, len(known) - 1), *window_bounds(known)]
            entries += [known.segment(first, last) for first, last in windows]
            clips += [track.clip] * len(windows)
        queries = [
            place
            for place, track in enumerate(self.real)
            if track.fold is not None and fold in (None, track.fold)
        ]
        variants = [place + count + side * len(self.real) for side in (0, 1) for place in queries]
        scores = score_histograms([prints[place] for place in variants], entries)
        best: dict[IndexedClip, FloatArray] = {}
        for row, place in zip(scores, queries * 2, strict=True):
            clip = self.real[place].clip
            best[clip] = np.maximum(best.get(clip, row), row)
        for clip, row in best.items():
            candidate = np.array([other is None or not other.is_copy_of(clip) for other in clips])
            right = np.array([other is not None and other.dance == clip.dance for other in clips])
            yield clip.part, rank_of(row[candidate], right[candidate]) == 1


def main() -> None:
    """Measure every variant and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for folder in ("aistpp", "real", "skeletons", "views", "people"):
        parser.add_argument(folder, type=Path)
    parser.add_argument("--seeds", default="0,1")
    options = parser.parse_args()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    study = Study(options.aistpp, options.real, options.skeletons, options.views, options.people)
    for name, kinds in tqdm(VARIANTS):
        report = {
            "features": name, "channels": sum(len(LAYOUTS[layout]) for _, layout in FEATURES[name]),
            "pairs": {kind: study.count_pairs(kind) for kind in kinds}, "seeds": seeds,
            "answers": study.measure(FEATURES[name], kinds, seeds),
        }  # fmt: skip
        print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
