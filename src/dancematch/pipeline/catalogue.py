"""A catalogue of known dances that takes and finds whole files."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from dancematch.catalogue.details import DanceDetails, read_details, read_etags
from dancematch.catalogue.editing.edit import CatalogueEditor, Edited
from dancematch.catalogue.editing.requests import Edit, EditRecording
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
from dancematch.catalogue.records import Dance, Exclusion, NewRecording, Recording
from dancematch.catalogue.stats import CatalogueStats, count_stats
from dancematch.catalogue.store import Store
from dancematch.catalogue.verify import CatalogueProblem, find_problems
from dancematch.errors import DiskFullError, InputError
from dancematch.model.names import describe_model
from dancematch.model.tokeniser import Tokeniser, load_background, load_model
from dancematch.pipeline.analysis.analyse_files import Analyser, analyse_files
from dancematch.pipeline.analysis.clip_files import find_clips
from dancematch.pipeline.analysis.file_analysis import MakeEstimator, Progress
from dancematch.pipeline.cached_engine import CachedEngine
from dancematch.pipeline.dance_container import DanceContainer
from dancematch.pipeline.ingest import Added, Ingest, store_recording, tokenise_dancers
from dancematch.pipeline.recording_plan import Facts, RecordingPlan, plan_clips, plan_of
from dancematch.pipeline.review_list import ReviewList
from dancematch.pipeline.scan.access import WINDOW_LIMIT, CatalogueAccess
from dancematch.pipeline.searcher import Searcher
from dancematch.pose import default_estimator
from dancematch.search.confidence.verdict import MAX_EVALUE, require_max_evalue
from dancematch.search.kernels.preparation import start_preparing
from dancematch.search.settings import DEFAULT_LIMIT, DEFAULT_SETTINGS, DanceChoice, DanceFilter, Settings
from dancematch.tracks import KnownTrack
from dancematch.types import Fingerprint, Match, Motion, Span

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from dancematch.pipeline.answer import Answer
    from dancematch.pipeline.counts.counts import Counted
    from dancematch.pipeline.lineage import Lineage
    from dancematch.pipeline.query import QueryClip
    from dancematch.pipeline.scan.scan import OnRecognised, Scan, ScanSource, ScanStart
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


class Catalogue(DanceContainer):
    """Known dances: add to them, search them; `len`, `in`, `catalogue["Thriller"]`, iteration: `Dance`s."""

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
        self._editor = CatalogueEditor(self._store)
        self.reviews = ReviewList(self._store)  # possible matches that wait for a decision, and decisions
        self._cached_engine = CachedEngine(self._store, tokeniser.codebook, self._background)
        self.searcher: Searcher = self._cached_engine  # a cluster's may take its place

    def add(
        self,
        path: str | Path,
        *,
        dance: str | None = None,
        poster: bool = False,
        on_progress: Progress | None = None,
        **facts: Unpack[Facts],
    ) -> Added:
        """Learn a recording from a video or motion file.

        With the name of a `dance` it is one more recording of that dance. Without, it is a dance of its own,
        named by the title in the `.info.json` that yt-dlp writes beside a video, else by the file. `facts`
        are labels, collection and notes of the dance, performer, url and date of the recording. A `poster` is
        one small picture of a video. The same content is not added twice, whatever its name.
        """
        plan = plan_of(dance, facts)
        (added,) = self._ingest(1, poster=poster).add({Path(path): plan}, on_progress)
        if added.error is not None:
            raise added.error
        return added

    def add_many(
        self,
        places: Sequence[str | Path],
        *,
        jobs: int = 1,
        analyser: Analyser | None = None,
        on_progress: Progress | None = None,
        **facts: Unpack[Facts],
    ) -> Iterator[Added]:
        """Add every clip in the files and folders named, and say what became of each.

        `analyser` may analyse them elsewhere than in `jobs` processes of this machine.
        """
        plans = plan_clips(find_clips(places), plan_of(None, facts))
        yield from self.add_planned(plans, jobs=jobs, analyser=analyser, on_progress=on_progress)

    def add_planned(
        self,
        plans: Mapping[Path, RecordingPlan],
        *,
        jobs: int = 1,
        analyser: Analyser | None = None,
        posters: bool = False,
        on_progress: Progress | None = None,
    ) -> Iterator[Added]:
        """Add clips by what is said of each (`plan_clips`), and say what became of each."""
        yield from self._ingest(jobs, analyser, poster=posters).add(plans, on_progress)

    def _ingest(self, jobs: int, analyser: Analyser | None = None, *, poster: bool = False) -> Ingest:
        start_preparing()  # a catalogue that grows will be searched
        return Ingest(self._store, self.tokeniser, analyser or self._analyser(jobs, poster))

    def _analyser(self, jobs: int, posters: bool) -> Analyser:
        make = self._make_estimator
        return lambda contents, report: analyse_files(
            list(contents), jobs=jobs, make_estimator=make, posters=posters, on_progress=report
        )

    def learn(self, new: NewRecording, motions: Sequence[Motion], *, join: bool = False) -> Recording:
        """Store a recording by its motions; its length and dancers are taken from them.

        Only if it may `join` a dance can it be of one that is there.
        """
        dancers = tokenise_dancers(self.tokeniser, motions, new.recording.file)
        return store_recording(self._store, self.tokeniser, new, dancers, join=join)

    def learn_words(
        self, new: NewRecording, words: Sequence[Fingerprint], *, join: bool = False
    ) -> Recording:
        """Store a recording by its words alone, one fingerprint per dancer; no skeletons can be shown."""
        dancers = [(None, one) for one in words]
        return store_recording(self._store, self.tokeniser, new, dancers, join=join)

    def search(
        self,
        query: "str | Path | Motion | Sequence[Motion] | QueryClip",
        *,
        limit: int = DEFAULT_LIMIT,
        max_evalue: float = MAX_EVALUE,
        settings: Settings | None = None,
        on_progress: Progress | None = None,
        **which: Unpack[DanceChoice],
    ) -> "Answer":
        """Which known dance the clip is: one verdict per dancer.

        The clip is a video, motion file or file of words, motions, or what `read_query` made of one. Every
        dancer in it is searched for, as seen and mirrored. A match has at most the E-value `max_evalue`,
        which lies within 0 to 1; with a clip that is still being read, at most `QueryClip.limit_evalue`.
        `which` are the fields of `DanceFilter`, such as label="pop", collection="studio", periodic=True.
        """
        from dancematch.pipeline.answer import answer_query
        from dancematch.pipeline.query import QueryClip

        require_max_evalue(max_evalue)  # these two before the long work
        only = self._choose(which)
        clip = query if isinstance(query, QueryClip) else self.read_query(query, on_progress)
        max_evalue = clip.limit_evalue(max_evalue)
        answer = answer_query(
            self.searcher, clip, limit=limit, max_evalue=max_evalue, only=only, settings=settings
        )
        recalibration = self.reviews.recalibration
        if recalibration is not None:
            answer = answer.recalibrate(recalibration, max_evalue)
        keys = [key for one in answer.dancers for match in one.candidates for key in match.track_keys]
        return answer.with_names(self.name_tracks(keys))

    def _choose(self, which: DanceChoice) -> DanceFilter:
        """The dances to search; a label or collection that no dance has is refused."""
        only = DanceFilter(**which)
        self._store.require_any(only.label, only.collection)
        return only

    def read_query(
        self, clip: str | Path | Motion | Sequence[Motion], on_progress: Progress | None = None
    ) -> "QueryClip":
        """The dancers of a clip, ready to be searched for."""
        from dancematch.pipeline.query import read_query

        report, make = self._load_beside(on_progress), self._make_estimator
        return read_query(clip, self.tokeniser, make_estimator=make, on_progress=report)

    def _load_beside(self, on_progress: Progress | None) -> Progress:
        """The same, and from the first frame on the engine is loaded beside the pose networks' work."""

        def report(share: float) -> None:
            if self.searcher is self._cached_engine:
                self._cached_engine.start_loading()
            if on_progress is not None:
                on_progress(share)

        return report

    def search_progressively(
        self,
        clip: str | Path,
        *,
        limit: int = DEFAULT_LIMIT,
        max_evalue: float = MAX_EVALUE,
        settings: Settings | None = None,
        on_progress: Progress | None = None,
        **which: Unpack[DanceChoice],
    ) -> "Generator[Answer, None, None]":
        """Yield answers while a video is read: on what has been read so far, and last on all of it.

        The last answer is that of `search`. Earlier ones (`Answer.read_seconds`) call a match only what has a
        tenth of the E-value (`QueryClip.limit_evalue`). Closing the iterator, as after the first match, ends
        the reading.
        """
        from dancematch.pipeline.query import read_query_progressively

        require_max_evalue(max_evalue)
        self._choose(which)
        report, make = self._load_beside(on_progress), self._make_estimator
        queries = read_query_progressively(
            Path(clip), self.tokeniser, make_estimator=make, on_progress=report
        )
        with closing(queries):
            for query in queries:
                yield self.search(query, limit=limit, max_evalue=max_evalue, settings=settings, **which)

    def scan(
        self,
        source: "ScanSource",
        *,
        max_evalue: float = MAX_EVALUE,
        settings: Settings | None = None,
        on_progress: Progress | None = None,
        on_recognised: "OnRecognised | None" = None,
        start: "ScanStart | None" = None,
        **which: Unpack[DanceChoice],
    ) -> "Scan":
        """Iterate over which dance each dancer dances when, and when none that is known, as it is found.

        The source is a video or motion file of any length, a motion, motions on one clock, each a dancer, or
        moments that are read elsewhere.
        Segments of one dancer come in order. A match has at most the E-value `max_evalue`, as in a search.
        `on_recognised` is told what is danced while it still
        is. Closing the scan ends the reading; another one that begins where it was `settled` goes on with it.
        """
        from dancematch.pipeline.scan.scan import BEGINNING, Scan, read_moments

        require_max_evalue(max_evalue)
        self._choose(which)
        search = partial(self.search, limit=WINDOW_LIMIT, max_evalue=max_evalue, settings=settings, **which)
        access = CatalogueAccess(self.tokeniser, search, self._read_reference)
        start = start or BEGINNING
        moments = read_moments(source, self._make_estimator, self._load_beside(on_progress), start)
        return Scan(moments, access, on_recognised, start)

    def _read_reference(self, match: Match) -> Fingerprint | None:
        """The words of the track that a match names; None if it has been removed since."""
        if match.recording_id is None:
            return None
        known = [one for one in self.recording_tracks(match.recording_id) if one.key == match.track]
        return known[0].fingerprint if known else None

    def keep_for_review(self, answer: "Answer", query_file: str, query_id: str) -> int:
        """Put the possible matches of an answer on the list for review; returns how many of them wait.

        The clip is named by its file and by what `content_hash` says of it.
        """
        return self.reviews.keep(answer, query_file, query_id)

    def explain(
        self, query: "QueryClip", match: Match, settings: Settings | None = None
    ) -> "tuple[Explanation, EvidenceMatrix]":
        """Why a dance that a search for the query found is like it."""
        from dancematch.search.explain import explain

        engine = self.searcher.engine_for(match.dance_id)
        return explain(engine, query.variant(match), match, settings or DEFAULT_SETTINGS)

    def lineage(
        self, dance: str, *, max_evalue: float = MAX_EVALUE, on_progress: Progress | None = None
    ) -> "Lineage":
        """Which other dances share passages with one, by name or id, and which of its passages are rare.

        Twelve searches per thirty seconds of its recordings. `max_evalue` is for all of them together.
        """
        from dancematch.pipeline.lineage import trace_lineage

        return trace_lineage(self, dance, max_evalue=require_max_evalue(max_evalue), on_progress=on_progress)

    def counts(self, recording_id: str) -> "Counted":
        """The eight-counts of a recording by its most prominent dancer's movement; if none, why."""
        from dancematch.pipeline.counts.counts import Counted
        from dancematch.pipeline.counts.movement import count_movement

        motions = [motion for motion in self.dancers(recording_id).values() if motion is not None]
        return count_movement(motions[0]) if motions else Counted(None, "no skeletons of it were kept")

    def name_tracks(self, track_keys: Sequence[int]) -> dict[int, TrackNames]:
        """What tracks are of, by their keys; one that has been removed since has no item."""
        return name_tracks(self._store, track_keys)

    def engine(self) -> "Engine":
        """The engine, brought up to date with what others have added and removed."""
        return self._cached_engine.current()

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

    def poster(self, recording_id: str) -> bytes | None:
        """The picture that is kept of a recording, as JPEG; None if there is none."""
        return read_poster(self._store, recording_id)

    def names(self) -> dict[str, str]:
        """The names of all dances by id."""
        return read_names(self._store)

    def with_skeletons(self, dance_ids: Sequence[str]) -> set[str]:
        """Those of the dances, by id, that can be shown."""
        return dances_with_skeletons(self._store, dance_ids)

    def some_dance_ids(self, limit: int) -> list[str]:
        """The ids of at most `limit` dances, evenly chosen."""
        return sample_dance_ids(self._store, limit)

    def known_by_content(self, digest: str) -> Recording | None:
        """The recording of the very content that `content_hash` names so."""
        return self._store.find_recording(digest)

    def tracks(self, dances: Iterable[str]) -> list[KnownTrack]:
        """Every dancer of these dances, by name or id, with the words, in order of name."""
        return self._store.tracks(dances)

    def recording_tracks(self, recording_id: str) -> list[KnownTrack]:
        """Every dancer of a recording with the words."""
        return self._store.recording_tracks(recording_id)

    def dancers(self, recording_id: str) -> dict[int, Motion | None]:
        """Every dancer's skeletons by the dancer's number; None if they were not kept."""
        return self._store.dancers(recording_id)

    def edit(
        self,
        edits: Sequence[Edit],
        *,
        expected: Mapping[str, str] | None = None,
        dry_run: bool = False,
    ) -> Edited:
        """Correct what is said of dances and recordings: all of it or, if anything is wrong, nothing.

        `expected` has ETags (`etag`) of dances by name or id: one that does not fit any more refuses all.
        """
        return self._editor.edit(edits, expected=expected, dry_run=dry_run)

    def undo(self, edit_id: str | None = None, *, dry_run: bool = False) -> Edited:
        """Take the last edit back, if it is the one of this id; undone again, it is made again."""
        return self._editor.undo(edit_id, dry_run=dry_run)

    def etag(self, dance: str) -> str:
        """A text that changes whenever what is said of a dance or its recordings does."""
        return self._editor.etag(dance)

    def etags(self) -> dict[str, str]:
        """The same of all dances, by their ids."""
        return read_etags(self._store)

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
        """Every dancer's words with the id of the dance, in order of its name."""
        return self._store.fingerprints()

    def motions(self, dance: str) -> list[Motion]:
        """The skeletons that a dance was learnt from, one motion per recording and dancer."""
        known = self._store.motions(dance).values()
        return [motion for dancers in known for motion in dancers.values() if motion is not None]

    def remove(self, dance: str) -> None:
        """Forget a dance, by name or id, with all its recordings."""
        self.remove_many([dance])

    def remove_many(self, dances: Iterable[str]) -> None:
        """Forget dances, all of them or, if one is unknown, none."""
        names = list(dances)
        self._remove(lambda: self._store.remove_many(names))

    def remove_recordings(self, recordings: Iterable[str]) -> None:
        """Forget recordings, by id or file name, all of them or none; a dance goes with its last one."""
        names = list(recordings)
        self._remove(lambda: self._store.remove_recordings(names))

    def _remove(self, work: Callable[[], None]) -> None:
        try:
            work()
        except DiskFullError:
            self._cached_engine.remove_cache()  # which gives its room, and has to go in any case
            work()
        self._cached_engine.remove_cache()

    def exclude(
        self, dance: str, span: Span, reason: str | None = None, *, recording: str | None = None
    ) -> list[Exclusion]:
        """Never match this segment of a dance's recording again; returns all that is excluded of the dance.

        The recording need not be named if the dance has only one.
        """
        known = self.recordings(dance) if recording is None else [self.recording(recording, dance)]
        if len(known) > 1:
            raise InputError(
                f"{dance!r} has {len(known)} recordings; say which one the segment is of, such as "
                f"{known[0].file!r}"
            )
        wanted = EditRecording(known[0].recording_id, exclude=span, reason=reason)
        self.edit([wanted])
        return self._store.exclusions(dance)

    def exclusions(self, dance: str | None = None) -> list[Exclusion]:
        """The excluded segments of one dance or of all, by name and time."""
        return self._store.exclusions(dance)

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
