"""What a catalogue knows, to be read: dances, recordings and tracks, and what is derived from them."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dancematch.catalogue.details import DanceDetails, read_details, read_etag, read_etags
from dancematch.catalogue.listing import (
    Page,
    TrackNames,
    dances_with_skeletons,
    name_tracks,
    read_dance,
    read_dance_recordings,
    read_names,
    read_page,
    read_poster,
    read_recording,
    sample_dance_ids,
)
from dancematch.catalogue.records import Dance, Exclusion, Recording
from dancematch.catalogue.stats import CatalogueStats, count_stats
from dancematch.catalogue.verify import CatalogueProblem, find_problems
from dancematch.pipeline.dance_container import DanceContainer
from dancematch.tracks import KnownTrack
from dancematch.types import Fingerprint, Motion

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class KnownDances(DanceContainer):
    """Tells what is known of dances; changes nothing."""

    def dances(self, *, label: str | None = None, collection: str | None = None) -> list[Dance]:
        """What is known, or what of it has this label or is of this collection, by name."""
        return self._store.dances(label=label, collection=collection)

    def recordings(
        self, dance: str | None = None, *, label: str | None = None, collection: str | None = None
    ) -> list[Recording]:
        """The recordings of one dance, by name or id, or of all; those of a dance in the order of adding."""
        if dance is not None:
            return read_dance_recordings(self._store, dance)
        return self._store.recordings(label=label, collection=collection)

    def dance(self, dance: str) -> Dance:
        """What is known of one dance, by its name or id."""
        return read_dance(self._store, dance)

    def details(self, dances: Sequence[str]) -> dict[str, DanceDetails]:
        """Dances by how they are named here, by name or id, with their recordings and ETags of one moment.

        An unknown one has no item.
        """
        return read_details(self._store, dances)

    def recording(self, recording: str, dance: str | None = None) -> Recording:
        """What is known of one recording, by its id or file name, perhaps among those of a dance."""
        return read_recording(self._store, recording, dance)

    def names(self) -> dict[str, str]:
        """The names of all dances by id."""
        return read_names(self._store)

    def page(
        self,
        *,
        label: str | None = None,
        collection: str | None = None,
        text: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page:
        """Some of the dances, in order of name, the first of them after the name `after`."""
        return read_page(self._store, label=label, collection=collection, text=text, after=after, limit=limit)

    def to_arrow(
        self, *, label: str | None = None, collection: str | None = None, recordings: bool = False
    ) -> "pa.Table":
        """One row per dance, or per recording, columns named as `list --json` has them."""
        from dancematch.pipeline.tables import dances_to_arrow, recordings_to_arrow

        if recordings:
            return recordings_to_arrow(self.recordings(label=label, collection=collection))
        return dances_to_arrow(self.dances(label=label, collection=collection))

    def to_pandas(
        self, *, label: str | None = None, collection: str | None = None, recordings: bool = False
    ) -> "pd.DataFrame":
        """The same as a data frame."""
        from dancematch.pipeline.tables import arrow_to_pandas

        return arrow_to_pandas(self.to_arrow(label=label, collection=collection, recordings=recordings))

    def require_any(self, label: str | None, collection: str | None) -> None:
        """Refuse a label, or a collection, that no dance has; None is not asked about."""
        self._store.require_any(label, collection)

    def poster(self, recording_id: str) -> bytes | None:
        """The picture that is kept of a recording, as JPEG; None if there is none."""
        return read_poster(self._store, recording_id)

    def with_skeletons(self, dance_ids: Sequence[str]) -> set[str]:
        """Those of the dances, by id, that can be shown."""
        return dances_with_skeletons(self._store, dance_ids)

    def some_dance_ids(self, limit: int) -> list[str]:
        """The ids of at most `limit` dances, evenly chosen."""
        return sample_dance_ids(self._store, limit)

    def known_by_content(self, digest: str) -> Recording | None:
        """The recording of the very content that `content_hash` names so."""
        return self._store.find_recording(digest)

    def name_tracks(self, track_keys: Sequence[int]) -> dict[int, TrackNames]:
        """What tracks are of, by their keys; one that has been removed since has no item."""
        return name_tracks(self._store, track_keys)

    def tracks(self, dances: Iterable[str]) -> list[KnownTrack]:
        """Every dancer of these dances, by name or id, with the words, in order of name."""
        return self._store.tracks(dances)

    def recording_tracks(self, recording_id: str) -> list[KnownTrack]:
        """Every dancer of a recording with the words."""
        return self._store.recording_tracks(recording_id)

    def dancers(self, recording_id: str) -> dict[int, Motion | None]:
        """Every dancer's skeletons by the dancer's number; None if they were not kept."""
        return self._store.dancers(recording_id)

    def motions(self, dance: str) -> list[Motion]:
        """The skeletons that a dance was learnt from, one motion per recording and dancer."""
        known = self._store.motions(dance).values()
        return [motion for dancers in known for motion in dancers.values() if motion is not None]

    def fingerprints(self) -> list[tuple[str, Fingerprint]]:
        """Every dancer's words with the id of the dance, in order of its name."""
        return self._store.fingerprints()

    def exclusions(self, dance: str | None = None) -> list[Exclusion]:
        """The excluded segments of one dance or of all, by name and time."""
        return self._store.exclusions(dance)

    def etag(self, dance: str) -> str:
        """A text that changes whenever what is said of a dance or its recordings does."""
        return read_etag(self._store, dance)

    def etags(self) -> dict[str, str]:
        """The same of all dances, by their ids."""
        return read_etags(self._store)

    def stats(self) -> CatalogueStats:
        """What is known, in numbers."""
        return count_stats(self._store)

    def verify(self) -> list[CatalogueProblem]:
        """Everything that is wrong with the catalogue; nothing if all is well."""
        return list(find_problems(self._store))

    @property
    def where(self) -> str:
        """The database's file, or its URL without the password."""
        return self._store.where

    @property
    def identity(self) -> str:
        """A random name that no other catalogue has."""
        return self._store.identity

    @property
    def generation(self) -> int:
        """Counts the changes: what was derived at another generation is out of date."""
        return self._store.generation
