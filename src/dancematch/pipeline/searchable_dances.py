"""Known dances that clips are searched for among."""

from collections.abc import Generator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from dancematch.model.tokeniser import Tokeniser
from dancematch.pipeline.analysis.file_analysis import MakeEstimator, Progress
from dancematch.pipeline.cached_engine import CachedEngine
from dancematch.pipeline.known_dances import KnownDances
from dancematch.pipeline.review_list import ReviewList
from dancematch.pipeline.scan.access import WINDOW_LIMIT, CatalogueAccess
from dancematch.pipeline.searcher import Searcher
from dancematch.search.confidence.verdict import MAX_EVALUE, require_max_evalue
from dancematch.search.settings import DEFAULT_LIMIT, DEFAULT_SETTINGS, DanceChoice, DanceFilter, Settings
from dancematch.types import Fingerprint, Match, Motion

if TYPE_CHECKING:
    from dancematch.pipeline.answer import Answer
    from dancematch.pipeline.counts.counts import Counted
    from dancematch.pipeline.lineage import Lineage
    from dancematch.pipeline.query import QueryClip
    from dancematch.pipeline.scan.scan import OnRecognised, Scan, ScanSource, ScanStart
    from dancematch.search.engine import Engine
    from dancematch.search.explain import EvidenceMatrix, Explanation


class SearchableDances(KnownDances):
    """Says which known dance a clip is, which one is danced when, and why."""

    tokeniser: Tokeniser
    searcher: Searcher  # the cached engine, or a cluster's in its place
    reviews: ReviewList  # possible matches that wait for a decision, and decisions
    _background: Sequence[Fingerprint]
    _cached_engine: CachedEngine
    _make_estimator: MakeEstimator

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
        return answer.with_names(self.name_tracks(keys)).with_content(clip.sha256)

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

    def engine(self) -> "Engine":
        """The engine, brought up to date with what others have added and removed."""
        return self._cached_engine.current()

    @property
    def background(self) -> Sequence[Fingerprint]:
        """Ordinary dances in the model's words, of no catalogue."""
        return self._background
