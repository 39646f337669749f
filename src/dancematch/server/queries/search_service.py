"""Searches and the questions about them: explain, compare, report. No HTTP in here."""

import secrets
import time
from collections.abc import Sequence

from dancematch.pipeline.analysis.file_analysis import Analysis
from dancematch.pipeline.catalogue import Catalogue
from dancematch.pipeline.query import QueryClip, query_of_motions, query_of_words
from dancematch.report.compare import compare
from dancematch.report.evidence import QueryFile
from dancematch.search.engine import Query
from dancematch.search.settings import DanceFilter
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
from dancematch.types import Fingerprint

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
        tokeniser = self._catalogue.tokeniser
        if analysis.kind == "motion words":
            query = query_of_words(analysis.words, tokeniser)
        else:
            query = query_of_motions(
                analysis.motions, tokeniser, "the file", analysis.ignored, analysis.images
            )
        file = QueryFile(request.filename or _DEFAULT_NAME, digest, analysis.kind)
        return self._answer(query, request, file)

    def _answer(self, query: QueryClip, request: SearchRequest, file: QueryFile) -> SearchResponse:
        began = time.perf_counter()
        only = DanceFilter(request.label, request.collection, request.periodic)
        answer = self._catalogue.search(query, limit=request.limit, max_evalue=request.max_evalue, only=only)
        self._metrics.count_search(answer.verdict)
        response = SearchResponse.of(
            answer,
            search_id=secrets.token_hex(16) if request.keep else None,
            filename=request.filename,
            created=now(),
            max_evalue=request.max_evalue,
            searched=self._catalogue.searcher.tracks,
            elapsed_seconds=round(time.perf_counter() - began, 4),
            picture=bool(query.images),
        )
        if response.search_id:
            self.held.add(response.search_id, HeldSearch(response, answer, file))
        return response

    def explain(self, search_id: str, dance_id: str, dancer: int | None = None) -> ExplanationResponse:
        """Why one of the candidates of a search is like the clip."""
        search = self.held.find(search_id)
        match = search.match(dance_id, dancer)
        known = [track.fingerprint for track in self._catalogue.tracks([dance_id])]
        require_explainable(search.query.dancer(match.dancer).words, known)
        why, evidence = self._catalogue.explain(search.query, match)
        return ExplanationResponse.of(search_id, match, why, evidence)

    def compare(self, search_id: str, dance_id: str, dancer: int | None = None) -> DifferencesResponse:
        """Where the clip differs from one of the candidates, moment by moment."""
        search = self.held.find(search_id)
        match = search.match(dance_id, dancer)
        motions = self._catalogue.motions(dance_id)
        if not motions:
            raise not_found("not_found", f"no skeletons of {dance_id!r} were kept, or it is gone")
        tokeniser, own = self._catalogue.tokeniser, search.query.dancer(match.dancer)
        known = query_of_motions(motions, tokeniser, dance_id).dancers
        require_explainable(own.words, [one.words for one in known])
        background = self._catalogue.background
        found = compare([own], known, tokeniser, background, name=dance_id, mirrored=match.mirrored)
        return DifferencesResponse.of(search_id, dance_id, found)

    def report(
        self, search: HeldSearch, dance_id: str, dancer: int | None = None, clip: Upload | None = None
    ) -> str:
        """The evidence that the clip is one of the candidates, as an HTML page."""
        match = search.match(dance_id, dancer)
        known = [track.fingerprint for track in self._catalogue.tracks([dance_id])]
        require_explainable(search.query.dancer(match.dancer).words, known)
        return write_report(self._catalogue, self._options, search, match, clip)


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
