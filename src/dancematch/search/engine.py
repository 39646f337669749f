"""Fingerprint -> Match: the search itself, in two stages.

Stage one compares word histograms with every entry and looks up where three words in a row occur; stage two
compares the shortlist's words in their order and says where the query lies in each dance and at what tempo.
Dances are added and removed while searches run.
"""

import threading
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError, ModelMismatchError
from dancematch.search.confidence.cohort import Cohort
from dancematch.search.query import Query
from dancematch.search.settings import (
    ALL_DANCES,
    DEFAULT_LIMIT,
    DEFAULT_SETTINGS,
    SYNCHRONY_TRACKS,
    DanceFilter,
    Settings,
)
from dancematch.search.stage1.columns import HistogramColumns
from dancematch.search.stage1.descriptor_index import can_index
from dancematch.search.stage1.descriptors import AVERAGED, HOP, LENGTH
from dancematch.search.stage1.postings import Postings, choose_channels
from dancematch.search.stage1.shortlist import Candidates, SearchIndex, find_candidates
from dancematch.search.stage2.ranking import (
    PASSAGES,
    Shortlist,
    VariantScores,
    rank,
    score_variants,
    score_words,
)
from dancematch.search.stage2.scoring import SegmentScores
from dancematch.search.stage2.variant import Variant, WordStatistics
from dancematch.search.stage2.word_alignment import expected_similarity
from dancematch.search.words.entries import (
    WINDOW_SECONDS,
    WINDOW_STEP_SECONDS,
    WINDOWED_FROM_SECONDS,
    Entries,
)
from dancematch.search.words.index_cache import load_index_cache, save_index_cache
from dancematch.search.words.word_store import WordStore
from dancematch.search.words.word_usage import DocumentFrequencies
from dancematch.tracks import KnownTrack, PackedTracks, pack_tracks
from dancematch.types import Codebook, Fingerprint, Match

__all__ = ["PASSAGES", "Engine", "Query", "SearchState"]


@dataclass(frozen=True, eq=False)
class SearchState:
    """What searches compare with at one moment: an explanation must use the same numbers."""

    index: SearchIndex
    statistics: WordStatistics
    codebook: Codebook


class ShortlistScores(NamedTuple):
    """Recordings that stage one proposes, each by the track that is most similar."""

    dance_ids: list[str]
    track_keys: NDArray[np.int64]
    scores: SegmentScores


@dataclass
class _Derived:
    """What the first search after a change computes for all later ones; each change starts a new one."""

    statistics: WordStatistics | None = None


class Engine:
    """The dances of a catalogue, ready to be searched."""

    def __init__(
        self,
        codebook: Codebook,
        dances: Iterable[tuple[str, Fingerprint]] = (),
        *,
        background: Sequence[Fingerprint] = (),
        settings: Settings = DEFAULT_SETTINGS,
    ) -> None:
        """Enter `dances`, each a recording of its own; one name may come several times.

        `background` are clips of unrelated dances, the cohort that scores are compared with.
        """
        self._codebook, self._settings = codebook, settings
        self._writing = threading.Lock()
        self._index = SearchIndex(
            Entries(),
            WordStore(codebook.vocabulary, codebook.model_id),
            HistogramColumns(len(codebook.channels), codebook.vocabulary, settings.weighting),
            Postings(codebook.vocabulary, choose_channels(codebook.channels)),
        )
        self._derived = _Derived()
        for one in background:
            self._require_model(one)
        self._cohort = Cohort(list(background))
        self._index.entries.add_background(background)
        self._index.columns.append_fingerprints(background)
        named = enumerate(dances)
        self.add([KnownTrack(key, name, 1, words, recording_key=key) for key, (name, words) in named])

    def _require_model(self, fingerprint: Fingerprint) -> None:
        if fingerprint.model_id != self._codebook.model_id:
            raise ModelMismatchError(
                f"these words are of the model {fingerprint.model_id}, "
                f"expected {self._codebook.model_id}; put the dance into words of this model"
            )

    @property
    def tracks(self) -> int:
        """The number of tracks."""
        return len(self._index.entries.tracks)

    @property
    def index(self) -> SearchIndex:
        """The dances in all forms that the stages need."""
        return self._index

    def add(self, known: Sequence[KnownTrack]) -> None:
        """Add tracks; searches find them from now on."""
        for one in known:
            self._require_model(one.fingerprint)
        if known:
            self.enter(pack_tracks(known))

    def enter(self, tracks: PackedTracks) -> None:
        """Add packed tracks; their words must be of this engine's model."""
        channels = len(self._codebook.channels)
        if tracks.packed.words.shape[1] != channels:
            raise InputError(
                f"words of {channels} channels were expected, got {tracks.packed.words.shape[1]}"
            )
        with self._writing:
            # A search reads the columns of stage one first; all else about a dance must be there by then.
            index, packed = self._index, tracks.packed
            numbers = index.word_store.append(packed)
            entries = index.entries.add(tracks)
            index.postings.enter(packed)
            index.descriptors.add(packed, numbers.start)
            begins = packed.offsets[entries.tracks - numbers.start]
            bounds = begins + entries.firsts, begins + entries.lasts
            index.columns.append_words(packed.words, packed.seen, *bounds)
            self._derived = _Derived()

    def remove(self, keys: Sequence[int]) -> set[int]:
        """Remove tracks by their keys; returns the keys that were here."""
        if not keys:
            return set()
        with self._writing:
            known = self._index.entries.remove(keys)
            tracks = list(known.values())
            if tracks:
                entries, _ = self._index.entries.of_tracks(np.array(tracks))
                self._index.columns.delete(entries.tolist())
                self._index.postings.delete(tracks)
                self._derived = _Derived()
            return set(known)

    def search(
        self,
        queries: Sequence[Query],
        *,
        limit: int = DEFAULT_LIMIT,
        settings: Settings | None = None,
        only: DanceFilter = ALL_DANCES,
    ) -> list[Match]:
        """Return the dances most similar to the query, best first; each by its best recording and place.

        `settings` may weigh the metrics and cut the shortlist differently than the engine's own; how words
        are weighted in histograms stays the engine's.
        """
        chosen, index, variants = settings or self._settings, self._index, self._variants(queries)
        candidates = find_candidates(index, variants, chosen, only)  # stage one
        shortlist = Shortlist(
            self._names(candidates), candidates.segments, index.word_store, index.entries.facts
        )
        dances = index.entries.dances_searched(only)
        return rank(queries, variants, shortlist, self._cohort, dances, chosen, limit)  # stage two

    def score_shortlist(self, query: Query, *, settings: Settings | None = None) -> ShortlistScores:
        """Return the recordings that stage one proposes for one variant, and each metric's value of them."""
        chosen, (variant,) = settings or self._settings, self._variants([query])
        candidates = find_candidates(self._index, [variant], chosen, ALL_DANCES)
        bounds = candidates.segments[0]
        scores = score_words(variant, self._index.word_store, bounds, chosen)
        keys = self._index.entries.keys_of(bounds.tracks)
        return ShortlistScores(self._names(candidates), keys, scores)

    def score_dance(self, query: Query, dance_id: str, *, settings: Settings | None = None) -> VariantScores:
        """Score each track of one dance, of all recordings, by words and synchrony, for one variant."""
        own = np.flatnonzero(self._index.entries.allowed(DanceFilter(among=frozenset({dance_id}))))
        return self.score_tracks([query], own, settings=settings)[0]

    def score_tracks(
        self, queries: Sequence[Query], tracks: NDArray[np.integer], *, settings: Settings | None = None
    ) -> list[VariantScores]:
        """Score tracks by number, in the order of their adding, for each variant."""
        word_store, variants = self._index.word_store, self._variants(queries)
        bounds = [word_store.whole_tracks(tracks)] * len(queries)
        return score_variants(variants, word_store, bounds, self._cohort, settings or self._settings)

    def _variants(self, queries: Sequence[Query]) -> list[Variant]:
        statistics = self._word_statistics()
        for query in queries:
            self._require_model(query.fingerprint)
        return [Variant(query.fingerprint, self._codebook, statistics) for query in queries]

    @property
    def wants_descriptors(self) -> bool:
        """Whether `build_descriptors` has anything to do."""
        return can_index() and self.tracks > max(SYNCHRONY_TRACKS, 2 * self._index.descriptors.trained)

    def build_descriptors(self) -> None:
        """Index the descriptors of all tracks, where there are too many to measure synchrony with each.

        Takes minutes for a million tracks; searches and changes go on meanwhile. Nothing is done without
        faiss, or while there is an index that was trained on half as many tracks or more.
        """
        if not self.wants_descriptors:
            return
        index = self._index
        chunks = index.word_store.chunks
        made = index.descriptors.build(chunks)
        with self._writing:
            first = sum(map(len, chunks))
            late = np.arange(first, len(index.word_store))  # those that came meanwhile
            if len(late):
                made.add(index.word_store.copy_tracks(late), first)
            index.descriptors.take(made)

    def search_state(self) -> SearchState:
        """Return what searches compare with at this moment."""
        return SearchState(self._index, self._word_statistics(), self._codebook)

    def save(self, folder: str | Path, stamp: str) -> None:
        """Write the index cache, in place of an earlier one; all of it or nothing.

        `stamp` names the state of the catalogue: `load` asks for it. Searches go on meanwhile, changes wait.
        """
        with self._writing:
            save_index_cache(Path(folder), stamp, self._model(), self._index)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        stamp: str,
        codebook: Codebook,
        *,
        background: Sequence[Fingerprint] = (),
        settings: Settings = DEFAULT_SETTINGS,
    ) -> Self | None:
        """Return an engine on the index cache with this stamp, left on disk and mapped.

        None if there is none, or it is damaged, or made for another model, background or weighting.
        """
        made = cls(codebook, background=background, settings=settings)
        index = load_index_cache(Path(folder), stamp, made._model())
        if index is None:
            return None
        made._index = index
        return made

    def _model(self) -> dict[str, Any]:
        """What the cached arrays depend on beside the dances."""
        postings, cohort = self._index.postings, self._cohort.whole.segments
        return {
            "model_id": self._codebook.model_id,
            "channels": list(self._codebook.channels),
            "vocabulary": self._codebook.vocabulary,
            "weighting": self._settings.weighting,
            "postings": postings.channels.tolist(),
            "windows": [WINDOW_SECONDS, WINDOW_STEP_SECONDS, WINDOWED_FROM_SECONDS],
            "descriptors": [LENGTH, AVERAGED, HOP],
            "background": zlib.crc32(cohort.words.tobytes() + cohort.seen.tobytes()),
        }

    def usage(self) -> DocumentFrequencies:
        """Return how often the entries, background included, have each word."""
        return self._index.columns.usage()

    def weigh_among(self, usage: DocumentFrequencies) -> None:
        """Take the idf from the usage of all shards, of which this is one; until the next change."""
        with self._writing:
            self._index.columns.weigh_among(usage)
            self._derived = _Derived()

    def _word_statistics(self) -> WordStatistics:
        derived = self._derived
        if derived.statistics is None:
            columns = self._index.columns
            usual = expected_similarity(self._codebook, columns.word_totals())
            derived.statistics = WordStatistics(self._settings.weighting, columns.idf(), usual)
        return derived.statistics

    def _names(self, candidates: Candidates) -> list[str]:
        return [self._index.entries.names[dance] for dance in candidates.dances.tolist()]
