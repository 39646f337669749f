"""Fingerprint -> Match: the search itself, in two stages.

Stage one compares word histograms with every entry, and looks up where three words in a row occur;
stage two looks at the best dances' words in their order, says where the clip lies in them and at
what tempo. Dances come and go while others search.
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
from dancematch.search.settings import ALL_DANCES, DEFAULT_LIMIT, DEFAULT_SETTINGS, DanceFilter, Settings
from dancematch.search.stage1.columns import Columns
from dancematch.search.stage1.postings import Postings, choose_channels
from dancematch.search.stage1.shortlist import Candidates, SearchIndex, propose
from dancematch.search.stage2.ranking import (
    PASSAGES,
    Query,
    Shortlisted,
    VariantScores,
    look_at,
    rank,
    score_variants,
)
from dancematch.search.stage2.scoring import SegmentScores
from dancematch.search.stage2.variant import Variant, WordStatistics
from dancematch.search.stage2.word_alignment import usual_similarity
from dancematch.search.words.entries import (
    WINDOW_SECONDS,
    WINDOW_STEP_SECONDS,
    WINDOWED_FROM_SECONDS,
    Entries,
)
from dancematch.search.words.index_cache import load_index_cache, save_index_cache
from dancematch.search.words.word_store import WordStore
from dancematch.search.words.word_usage import Usage
from dancematch.tracks import KnownTrack, PackedTracks, pack_tracks
from dancematch.types import Codebook, Fingerprint, Match

__all__ = ["PASSAGES", "Engine", "Query", "SearchState"]


class SearchState(NamedTuple):
    """What searches go by: whoever explains a match must see the very numbers."""

    library: SearchIndex
    rarity: WordStatistics
    codebook: Codebook


@dataclass
class _Derived:
    """What the first search after a change makes of the dances for all others; a change begins a new one."""

    rarity: WordStatistics | None = None


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
        """Enter `dances`, of which one may come several times (once a dancer or take).

        `background` are clips of no dance here: what they score says what chance gives.
        """
        self._codebook, self._settings = codebook, settings
        self._writing = threading.Lock()
        self._library = SearchIndex(
            Entries(),
            WordStore(codebook.vocabulary, codebook.model_id),
            Columns(len(codebook.channels), codebook.vocabulary, settings.weighting),
            Postings(codebook.vocabulary, choose_channels(codebook.channels)),
        )
        self._derived = _Derived()
        for one in background:
            self._checked(one)
        self._cohort = Cohort(list(background))
        self._library.entries.add_strangers(background)
        self._library.columns.append_fingerprints(background)
        self.add([KnownTrack(key, name, 1, words) for key, (name, words) in enumerate(dances)])

    def _checked(self, fingerprint: Fingerprint) -> Fingerprint:
        if fingerprint.model_id != self._codebook.model_id:
            raise ModelMismatchError(
                f"these words are of the model {fingerprint.model_id}, "
                f"expected {self._codebook.model_id}; fingerprint the dance again with this model"
            )
        return fingerprint

    @property
    def tracks(self) -> int:
        """How many dancers are there."""
        return len(self._library.entries.tracks)

    @property
    def library(self) -> SearchIndex:
        """All that is known of the dances."""
        return self._library

    def add(self, known: Sequence[KnownTrack]) -> None:
        """Enter dancers of dances; searches find them from now on."""
        for one in known:
            self._checked(one.fingerprint)
        if known:
            self.enter(pack_tracks(known))

    def enter(self, tracks: PackedTracks) -> None:
        """Enter many dancers at once, packed; their words must be of this engine's model."""
        channels = len(self._codebook.channels)
        if tracks.packed.words.shape[1] != channels:
            raise InputError(
                f"words of {channels} channels were expected, got {tracks.packed.words.shape[1]}"
            )
        with self._writing:
            # A search meets a dance in stage one first; all else about it must stand by then.
            library, volume = self._library, tracks.packed
            numbers = library.shelf.put(volume)
            entries = library.entries.add(tracks)
            library.postings.enter(volume)
            begins = volume.offsets[entries.tracks - numbers.start]
            bounds = begins + entries.firsts, begins + entries.lasts
            library.columns.append_words(volume.words, volume.seen, *bounds)
            self._derived = _Derived()

    def remove(self, keys: Sequence[int]) -> set[int]:
        """Forget dancers by the keys they were entered with; returns the keys of those who were here."""
        if not keys:
            return set()
        with self._writing:
            known = self._library.entries.remove(keys)
            tracks = list(known.values())
            if tracks:
                entries, _ = self._library.entries.of_tracks(np.array(tracks))
                self._library.columns.delete(entries.tolist())
                self._library.postings.delete(tracks)
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
        """The dances most like the clip, best first; each by its best reading and place.

        `settings` may weigh the metrics and cut the shortlist otherwise than the engine's own; how
        words are weighted in histograms stays the engine's.
        """
        chosen, rarity = settings or self._settings, self._worth()
        readings = [Variant(self._checked(query.fingerprint), self._codebook, rarity) for query in queries]
        candidates = propose(self._library, readings, chosen, only)  # stage one: histograms, words in a row
        shortlisted = Shortlisted(
            self._names(candidates), candidates.stretches, self._library.shelf, self._library.entries.facts
        )
        dances = self._library.entries.dances_searched(only)
        return rank(queries, readings, shortlisted, self._cohort, dances, chosen, limit)  # stage two

    def judged(self, query: Query, *, settings: Settings | None = None) -> tuple[list[str], SegmentScores]:
        """The dances that stage one proposes for one reading of a clip, and what each metric says of them."""
        chosen = settings or self._settings
        reading = Variant(self._checked(query.fingerprint), self._codebook, self._worth())
        candidates = propose(self._library, [reading], chosen, ALL_DANCES)
        looked = look_at(reading, self._library.shelf, candidates.stretches[0], chosen)
        return self._names(candidates), looked

    def scored(self, query: Query, dance_id: str, *, settings: Settings | None = None) -> VariantScores:
        """What words and synchrony say of each track of one dance for one variant of a query."""
        own = np.flatnonzero(self._library.entries.allowed(DanceFilter(among=frozenset({dance_id}))))
        return self.scored_tracks([query], own, settings=settings)[0]

    def scored_tracks(
        self, queries: Sequence[Query], tracks: NDArray[np.integer], *, settings: Settings | None = None
    ) -> list[VariantScores]:
        """The same of tracks by their numbers, in the order in which they came, for each variant."""
        shelf, rarity = self._library.shelf, self._worth()
        readings = [Variant(self._checked(query.fingerprint), self._codebook, rarity) for query in queries]
        placed = [shelf.wholes(tracks)] * len(queries)
        return score_variants(readings, shelf, placed, self._cohort, settings or self._settings)

    def insight(self) -> SearchState:
        """What searches go by at this moment."""
        return SearchState(self._library, self._worth(), self._codebook)

    def save(self, folder: str | Path, stamp: str) -> None:
        """Keep everything in a folder, in place of what `save` wrote there before; all of it or nothing.

        `stamp` says which state of the catalogue this is: `load` asks for it. Searches go on meanwhile,
        changes wait.
        """
        with self._writing:
            save_index_cache(Path(folder), stamp, self._model(), self._library)

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
        """What `save` wrote under this very stamp, left on disk and mapped.

        None if there is none, or it is damaged, or was made for other words, another background or weighting.
        """
        made = cls(codebook, background=background, settings=settings)
        library = load_index_cache(Path(folder), stamp, made._model())
        if library is None:
            return None
        made._library = library
        return made

    def _model(self) -> dict[str, Any]:
        """What the arrays depend on beside the dances."""
        postings, cohort = self._library.postings, self._cohort.whole.stretches
        return {
            "model_id": self._codebook.model_id,
            "channels": list(self._codebook.channels),
            "vocabulary": self._codebook.vocabulary,
            "weighting": self._settings.weighting,
            "postings": postings.channels.tolist(),
            "windows": [WINDOW_SECONDS, WINDOW_STEP_SECONDS, WINDOWED_FROM_SECONDS],
            "background": zlib.crc32(cohort.words.tobytes() + cohort.seen.tobytes()),
        }

    def usage(self) -> Usage:
        """How the entries that are here, background included, use words."""
        return self._library.columns.usage()

    def weigh_among(self, usage: Usage) -> None:
        """Weigh words as they are rare among all entries, of which these are some; until the next change."""
        with self._writing:
            self._library.columns.weigh_among(usage)
            self._derived = _Derived()

    def _worth(self) -> WordStatistics:
        """What words are worth among the entries as they are now."""
        derived = self._derived
        if derived.rarity is None:
            columns = self._library.columns
            usual = usual_similarity(self._codebook, columns.word_totals())
            derived.rarity = WordStatistics(self._settings.weighting, columns.rarity(), usual)
        return derived.rarity

    def _names(self, candidates: Candidates) -> list[str]:
        return [self._library.entries.names[dance] for dance in candidates.dances.tolist()]
