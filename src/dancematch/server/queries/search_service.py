"""Searches and the questions about them: explain, compare, report. No HTTP in here."""

import secrets
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dancematch.pipeline.analysis.file_analysis import Analysis
from dancematch.pipeline.answer import Answer
from dancematch.pipeline.catalogue import Catalogue
from dancematch.pipeline.query import query_of_analysis, query_of_motions
from dancematch.report.compare import compare
from dancematch.report.evidence import QueryFile
from dancematch.report.lesson import make_lesson
from dancematch.search.query import Query
from dancematch.server.files.upload import Upload
from dancematch.server.jobs.table import now
from dancematch.server.limits import MAX_EXPLAINED_COST
from dancematch.server.metrics import Metrics
from dancematch.server.options import Options
from dancematch.server.problems import not_found, too_costly
from dancematch.server.queries.held_searches import HeldSearch, HeldSearches
from dancematch.server.queries.reports import write_report
from dancematch.server.schemas.explanations import DifferencesResponse, ExplanationResponse
from dancematch.server.schemas.requests import SearchRequest
from dancematch.server.schemas.searches import SearchResponse
from dancematch.types import Fingerprint, Match

_DEFAULT_NAME = "clip"  # of a file that came without a name


class SearchService:
    """Searches one catalogue, in this process or on a cluster, and holds the answers for questions."""

    def __init__(self, catalogue: Catalogue, options: Options, metrics: Metrics) -> None:
        self._catalogue, self._options, self._metrics = catalogue, options, metrics
        _search_on_cluster(options, catalogue)
        self.held = HeldSearches()

    def open(self) -> None:
        """Load the engine, and compile its loops with one search."""
        for one in self._catalogue.background[:1]:
            self._catalogue.searcher.search([Query(one), Query(one, mirrored=True)])

    def search(self, request: SearchRequest, digest: str, analysis: Analysis) -> SearchResponse:
        """Search for the dancers that were found in a file."""
        answer, facts = self._search(request, analysis, digest)
        self._metrics.count_search(answer.verdict)
        file = QueryFile(request.filename or _DEFAULT_NAME, digest, analysis.kind)
        if request.review:
            self._catalogue.keep_for_review(answer, file.name, file.sha256)
        search_id = secrets.token_hex(16) if request.keep else None
        response = SearchResponse.of(answer, search_id=search_id, **facts)
        if response.search_id:
            self.held.add(response.search_id, HeldSearch(response, answer, file))
        return response

    def search_part(self, request: SearchRequest, part: Analysis) -> SearchResponse:
        """Search for what has been read of a video: not held, not counted, not kept for review."""
        answer, facts = self._search(request, part)
        return SearchResponse.of(answer, search_id=None, **facts)

    def _search(
        self, request: SearchRequest, analysis: Analysis, digest: str | None = None
    ) -> tuple[Answer, dict[str, Any]]:
        """The answer, and what else its response says of the search."""
        query = query_of_analysis(analysis, self._catalogue.tokeniser, "the file")
        query = replace(query, sha256=digest)
        began = time.perf_counter()
        names = ("limit", "max_evalue", "label", "collection", "periodic")
        answer = self._catalogue.search(query, **{name: getattr(request, name) for name in names})
        facts = {
            "filename": request.filename,
            "created": now(),
            "max_evalue": query.limit_evalue(request.max_evalue),
            "searched": self._catalogue.searcher.tracks,
            "elapsed_seconds": round(time.perf_counter() - began, 4),
            "picture": bool(query.images),
        }
        return answer, facts

    def explain(self, search_id: str, dance_id: str, dancer: int | None = None) -> ExplanationResponse:
        """Why one of the candidates of a search is like the clip."""
        search = self.held.find(search_id)
        match = search.match(dance_id, dancer)
        self._require_explainable(search, match)
        why, evidence = self._catalogue.explain(search.query, match)
        return ExplanationResponse.of(search_id, match, why, evidence)

    def compare(self, search_id: str, dance_id: str, dancer: int | None = None) -> DifferencesResponse:
        """Where the clip differs from one of the candidates, moment by moment."""
        search = self.held.find(search_id)
        match = search.match(dance_id, dancer)
        dancers = self._catalogue.dancers(match.recording_id or "").values()
        motions = [motion for motion in dancers if motion is not None]
        if not motions:
            raise not_found("not_found", f"no skeletons of {match.name!r} were kept, or it is gone")
        tokeniser, own = self._catalogue.tokeniser, search.query.dancer(match.dancer)
        known = query_of_motions(motions, tokeniser, match.name).dancers
        require_explainable(own.words, [one.words for one in known])
        background = self._catalogue.background
        found = compare([own], known, tokeniser, background, name=match.name, mirrored=match.mirrored)
        return DifferencesResponse.of(search_id, match, make_lesson(found, known))

    def report(
        self, search: HeldSearch, dance_id: str, dancer: int | None = None, clip: Upload | None = None
    ) -> str:
        """The evidence that the clip is one of the candidates, as an HTML page."""
        match = search.match(dance_id, dancer)
        self._require_explainable(search, match)
        return write_report(self._catalogue, self._options, search, match, clip)

    def _require_explainable(self, search: HeldSearch, match: Match) -> None:
        """Refuse a match with the recording that fits best if to explain it would take minutes."""
        known = self._catalogue.recording_tracks(match.recording_id or "")
        own = search.query.dancer(match.dancer).words
        require_explainable(own, [track.fingerprint for track in known])


def require_explainable(query: Fingerprint, known: Sequence[Fingerprint]) -> None:
    """Refuse what would take minutes: each window of a long dance is compared with all of it."""
    if len(query) * sum(len(words) ** 2 for words in known) > MAX_EXPLAINED_COST:
        raise too_costly("the clip and the dance together are too long to be explained; search for a part")


def _search_on_cluster(options: Options, catalogue: Catalogue) -> None:
    """Let the cluster of the options, if there is one, search in place of this process."""
    if options.cluster is not None:
        from dancematch.cluster.search import ClusterSearch

        shards = options.shards
        catalogue.searcher = ClusterSearch(catalogue, options.catalogue, options.cluster, shards=shards)
