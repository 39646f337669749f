"""A catalogue of known dances that takes and finds whole files."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dancematch.catalogue.listing import (
    Page,
    names_with_skeletons,
    read_dance,
    read_page,
    recording_names,
    sample_names,
)
from dancematch.catalogue.stats import CatalogueStats, count_stats
from dancematch.catalogue.store import Dance, Exclusion, Store
from dancematch.catalogue.verify import CatalogueProblem, find_problems
from dancematch.errors import DiskFullError
from dancematch.model.names import describe_model
from dancematch.model.tokeniser import Tokeniser, load_background, load_model
from dancematch.pipeline.analysis.analyse_files import Analyser, analyse_files
from dancematch.pipeline.analysis.clip_files import find_clips
from dancematch.pipeline.analysis.file_analysis import MakeEstimator, Progress
from dancematch.pipeline.cached_engine import CachedEngine
from dancematch.pipeline.ingest import Added, Ingest, name_dance, store_dance, tokenise_dancers
from dancematch.pipeline.searcher import Searcher
from dancematch.pose import default_estimator
from dancematch.search.confidence.verdict import MAX_EVALUE, require_max_evalue
from dancematch.search.settings import ALL_DANCES, DEFAULT_LIMIT, DEFAULT_SETTINGS, DanceFilter, Settings
from dancematch.tracks import KnownTrack
from dancematch.types import Fingerprint, Match, Motion, Span

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from dancematch.pipeline.answer import Answer
    from dancematch.pipeline.query import QueryClip
    from dancematch.search.engine import Engine
    from dancematch.search.explain import EvidenceMatrix, Explanation


def open_catalogue(
    where: str | Path,
    *,
    model: str | Path | None = None,
    create: bool = True,
    make_estimator: MakeEstimator = default_estimator,
) -> "Catalogue":
    """Open the catalogue at a file's path or database URL; `create` it if it is not there."""
    return Catalogue(where, model=model, create=create, make_estimator=make_estimator)


class Catalogue:
    """Known dances: add to them, search them."""

    def __init__(
        self,
        where: str | Path,
        *,
        model: str | Path | None = None,
        create: bool = True,
        make_estimator: MakeEstimator = default_estimator,
    ) -> None:
        tokeniser = load_model(model)
        self.tokeniser: Tokeniser = tokeniser
        self._background = load_background(tokeniser, model)
        self._store = Store(
            where, tokeniser.model_id, create=create, lazily=True, describe_model=describe_model
        )
        self._make_estimator = make_estimator
        self._cached_engine = CachedEngine(self._store, tokeniser.codebook, self._background)
        self.searcher: Searcher = self._cached_engine  # a cluster's may take its place

    def add(
        self,
        path: str | Path,
        *,
        dance_id: str | None = None,
        label: str | None = None,
        collection: str | None = None,
        on_progress: Progress | None = None,
    ) -> Added:
        """Learn a dance from a video or motion file.

        Unless an id is given, it is the title in the `.info.json` that yt-dlp writes beside a video, else the
        file's name. The same content is not added twice, whatever its name.
        """
        ingest = Ingest(self._store, self.tokeniser, self._analyser(1), label, collection)
        (added,) = ingest.add({Path(path): dance_id}, on_progress)
        if added.error is not None:
            raise added.error
        return added

    def add_many(
        self,
        places: Sequence[str | Path],
        *,
        label: str | None = None,
        collection: str | None = None,
        jobs: int = 1,
        analyser: Analyser | None = None,
        on_progress: Progress | None = None,
    ) -> Iterator[Added]:
        """Add every clip in the files and folders named, and say what became of each.

        `analyser` may analyse them elsewhere than in `jobs` processes of this machine.
        """
        yield from self.add_clips(
            find_clips(places),
            label=label, collection=collection, jobs=jobs, analyser=analyser, on_progress=on_progress,
        )  # fmt: skip

    def add_clips(
        self,
        clips: Sequence[Path],
        *,
        label: str | None = None,
        collection: str | None = None,
        by_title: bool = True,
        jobs: int = 1,
        analyser: Analyser | None = None,
        on_progress: Progress | None = None,
    ) -> Iterator[Added]:
        """As `add_many`, for clips that have been found already; by their files' names if not `by_title`."""
        names = {clip: None if by_title else name_dance(clip) for clip in clips}
        ingest = Ingest(self._store, self.tokeniser, analyser or self._analyser(jobs), label, collection)
        yield from ingest.add(names, on_progress)

    def _analyser(self, jobs: int) -> Analyser:
        return lambda contents, report: analyse_files(
            list(contents), jobs=jobs, make_estimator=self._make_estimator, on_progress=report
        )

    def learn(self, dance: Dance, motions: Sequence[Motion]) -> Dance:
        """Store a dance by its motions; its length and dancers are taken from them."""
        dancers = tokenise_dancers(self.tokeniser, motions, dance.source)
        return store_dance(self._store, self.tokeniser, dance, dancers)

    def learn_words(self, dance: Dance, words: Sequence[Fingerprint]) -> Dance:
        """Store a dance by its words alone, one fingerprint per dancer; there are no skeletons to show."""
        return store_dance(self._store, self.tokeniser, dance, [(None, one) for one in words])

    def search(
        self,
        query: "str | Path | Motion | Sequence[Motion] | QueryClip",
        *,
        limit: int = DEFAULT_LIMIT,
        max_evalue: float = MAX_EVALUE,
        only: DanceFilter = ALL_DANCES,
        settings: Settings | None = None,
        on_progress: Progress | None = None,
    ) -> "Answer":
        """Which known dance the clip is: one verdict per dancer.

        The clip is a video, motion file or file of words, motions, or what `read_query` made of one. Every
        dancer in it is searched for, as seen and mirrored. A match has at most the E-value `max_evalue`,
        which lies within 0 to 1.
        """
        from dancematch.pipeline.answer import answer_query
        from dancematch.pipeline.query import QueryClip

        require_max_evalue(max_evalue)  # these two before the long work
        self._store.require_any(only.label, only.collection)
        clip = query if isinstance(query, QueryClip) else self.read_query(query, on_progress)
        answer = answer_query(
            self.searcher, clip, limit=limit, max_evalue=max_evalue, only=only, settings=settings
        )
        names = [match.dance_id for match in answer.candidates]
        return answer.with_recordings(recording_names(self._store, names))

    def read_query(
        self, clip: str | Path | Motion | Sequence[Motion], on_progress: Progress | None = None
    ) -> "QueryClip":
        """The dancers of a clip, ready to be searched for."""
        from dancematch.pipeline.query import read_query

        make = self._make_estimator
        return read_query(clip, self.tokeniser, make_estimator=make, on_progress=on_progress)

    def explain(
        self, query: "QueryClip", match: Match, settings: Settings | None = None
    ) -> "tuple[Explanation, EvidenceMatrix]":
        """Why a dance that a search for the query found is like it."""
        from dancematch.search.explain import explain

        engine = self.searcher.engine_for(match.dance_id)
        return explain(engine, query.variant(match), match, settings or DEFAULT_SETTINGS)

    def engine(self) -> "Engine":
        """The engine, brought up to date with what others have added and removed."""
        return self._cached_engine.current()

    def dances(self, *, label: str | None = None, collection: str | None = None) -> list[Dance]:
        """What is known, or what of it has this label or is of this collection, by name."""
        return self._store.dances(label=label, collection=collection)

    def to_arrow(self, *, label: str | None = None, collection: str | None = None) -> "pa.Table":
        """One row per dance, columns named as `list --json` has them; arguments are those of `dances`."""
        from dancematch.pipeline.tables import dances_to_arrow

        return dances_to_arrow(self.dances(label=label, collection=collection))

    def to_pandas(self, *, label: str | None = None, collection: str | None = None) -> "pd.DataFrame":
        """The same as a data frame."""
        from dancematch.pipeline.tables import to_pandas

        return to_pandas(self.to_arrow(label=label, collection=collection))

    def require_any(self, label: str | None, collection: str | None) -> None:
        """Refuse a label, or a collection, that no dance has; None is not asked about."""
        self._store.require_any(label, collection)

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

    def dance(self, dance_id: str) -> Dance:
        """What is known of one dance."""
        return read_dance(self._store, dance_id)

    def with_skeletons(self, dance_ids: Sequence[str]) -> set[str]:
        """Those of the dances, some thousand at most, that can be shown."""
        return names_with_skeletons(self._store, dance_ids)

    def some_names(self, limit: int) -> list[str]:
        """The names of at most `limit` dances, evenly chosen."""
        return sample_names(self._store, limit)

    def known_by_content(self, digest: str) -> str | None:
        """The dance that was learnt from the very content that `content_hash` names so."""
        return self._store.find_content(digest)

    def tracks(self, dance_ids: Iterable[str]) -> list[KnownTrack]:
        """Every dancer of these dances with the words, in order of name and dancer."""
        return self._store.tracks(dance_ids)

    def dancers(self, dance_id: str) -> dict[int, Motion | None]:
        """Every dancer's skeletons by the dancer's number; None if they were not kept."""
        return self._store.dancers(dance_id)

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

    @property
    def background(self) -> Sequence[Fingerprint]:
        """Ordinary dances in the model's words, of no catalogue."""
        return self._background

    def fingerprints(self) -> list[tuple[str, Fingerprint]]:
        """Every dancer's words with the name of the dance, in order of name and dancer."""
        return self._store.fingerprints()

    def motions(self, dance_id: str) -> list[Motion]:
        """The skeletons that a dance was learnt from, a dancer each."""
        return self._store.motions(dance_id)

    def remove(self, dance_id: str) -> None:
        """Forget a dance."""
        self.remove_many([dance_id])

    def remove_many(self, dance_ids: Iterable[str]) -> None:
        """Forget dances, all of them or, if one is unknown, none."""
        names = list(dance_ids)
        try:
            self._store.remove_many(names)
        except DiskFullError:
            self._cached_engine.remove_cache()  # which gives its room, and has to go in any case
            self._store.remove_many(names)
        self._cached_engine.remove_cache()

    def exclude(self, dance_id: str, span: Span, reason: str | None = None) -> Exclusion:
        """Never match this segment of a dance again; returns what is excluded, cut to the dance."""
        return self._store.exclude(dance_id, span, reason)

    def exclusions(self) -> list[Exclusion]:
        """The excluded segments, by name and time."""
        return self._store.exclusions()

    def stats(self) -> CatalogueStats:
        """What is known, in numbers."""
        return count_stats(self._store)

    def verify(self) -> list[CatalogueProblem]:
        """Everything that is wrong with the catalogue; nothing if all is well."""
        return list(find_problems(self._store))

    def close(self) -> None:
        """Let go of the database."""
        self.searcher.close()
        self._cached_engine.close()
        self._store.close()

    def __enter__(self) -> "Catalogue":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
