"""Searches: which dance is this, and why?"""

from dataclasses import asdict
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from dancematch.server.access.dependencies import (
    READER,
    GrantedScopes,
    ReadyService,
    Threads,
    require_write,
)
from dancematch.server.problems import not_found
from dancematch.server.queries.held_searches import HeldSearch
from dancematch.server.routes.jobs import describe_job
from dancematch.server.routes.openapi import FILE_BODY, content, errors
from dancematch.server.routes.uploads import receive_upload
from dancematch.server.schemas.base import json_response
from dancematch.server.schemas.explanations import DifferencesResponse, ExplanationResponse
from dancematch.server.schemas.jobs import JobResponse
from dancematch.server.schemas.motions import (
    DancerWordsResponse,
    ImageResponse,
    QueryMotionResponse,
    QueryWordsResponse,
    describe_motions,
)
from dancematch.server.schemas.requests import DanceId, DancerNumber, Id, MotionParameters, SearchParameters
from dancematch.server.schemas.searches import SearchResponse

router = APIRouter(tags=["searches"], dependencies=[READER])

_MATCH = "/searches/{search_id}/matches/{dance_id}"
# A report brings its style and pictures along, and runs nothing.
_REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@router.post(
    "/search",
    response_model=SearchResponse,
    openapi_extra=FILE_BODY,
    responses=errors(408, 413, 429) | {202: {"model": JobResponse, "description": "A job: it takes a while"}},
)
async def search(
    request: Request,
    service: ReadyService,
    threads: Threads,
    wanted: SearchParameters,
    granted: GrantedScopes,
) -> Response:
    """Which known dance is this clip? A video, a motion file or words."""
    if wanted.review:
        require_write(granted)
    if wanted.label is not None or wanted.collection is not None:  # refused before the upload
        await threads.other(service.catalogue.require_any, wanted.label, wanted.collection)
    async with receive_upload(request, service) as pending:
        found = await pending.read()
        if found is not None:
            digest = pending.upload.digest
            return json_response(await threads.search(service.searches.search, wanted, digest, found))
        return json_response(describe_job(service, pending.queue("search", asdict(wanted))), 202)


@router.get("/searches/{search_id}", responses=errors(404))
def show_search(service: ReadyService, search_id: Id) -> SearchResponse:
    """The answer again."""
    return service.searches.held.find(search_id).response


@router.delete("/searches/{search_id}", status_code=204, responses=errors(404))
def forget_search(service: ReadyService, search_id: Id) -> None:
    """Delete a query now."""
    service.searches.held.remove(search_id)


@router.get("/searches/{search_id}/motion", responses=errors(404))
def show_query_motion(service: ReadyService, search_id: Id, wanted: MotionParameters) -> QueryMotionResponse:
    """The query's skeletons, to draw."""
    held = service.searches.held.find(search_id)
    motions = {one.dancer: one.motion for one in held.query.dancers}
    return QueryMotionResponse(
        search_id=search_id,
        decoded=held.decoded,
        dancers=describe_motions(motions, wanted, "the query"),
    )


@router.get("/searches/{search_id}/picture", responses=errors(404))
def show_query_picture(service: ReadyService, search_id: Id) -> ImageResponse:
    """The dancers' joints in the pictures of the query."""
    held = service.searches.held.find(search_id)
    if not held.query.images:
        raise not_found("not_found", "this query was no video: there are no pictures")
    skeleton = held.query.dancers[0].motion.skeleton  # the pose estimator's own
    return ImageResponse.of(search_id, held.query.images, skeleton)


@router.get("/searches/{search_id}/words", responses=errors(404))
def show_query_words(service: ReadyService, search_id: Id, mirrored: bool = False) -> QueryWordsResponse:
    """The query's words, as danced or mirrored."""
    dancers = service.searches.held.find(search_id).query.dancers
    return QueryWordsResponse(
        search_id=search_id,
        mirrored=mirrored,
        channels=service.catalogue.tokeniser.codebook.channels,
        dancers=[
            DancerWordsResponse.of(one.dancer, one.mirrored if mirrored else one.words) for one in dancers
        ],
    )


@router.get(_MATCH, responses=errors(404))
async def explain_match(
    service: ReadyService, threads: Threads, search_id: Id, dance_id: DanceId, dancer: DancerNumber = None
) -> ExplanationResponse:
    """Why a dance was found: alignment, metrics, words, passages."""
    return await threads.other(service.searches.explain, search_id, dance_id, dancer)


@router.get(f"{_MATCH}/differences", responses=errors(404))
async def show_differences(
    service: ReadyService, threads: Threads, search_id: Id, dance_id: DanceId, dancer: DancerNumber = None
) -> DifferencesResponse:
    """Where the clip differs from the dance, moment by moment."""
    return await threads.other(service.searches.compare, search_id, dance_id, dancer)


# The response class has no media type, so that errors are documented as JSON.
@router.get(f"{_MATCH}/report", response_class=Response, responses=errors(404) | content("text/html"))
async def show_report(
    service: ReadyService, threads: Threads, search_id: Id, dance_id: DanceId, dancer: DancerNumber = None
) -> HTMLResponse:
    """The evidence for a match as a page that needs no other file."""
    held = service.searches.held.find(search_id)
    page = await threads.other(service.searches.report, held, dance_id, dancer)
    return _page_response(held, held.match(dance_id, dancer).name, page)


@router.post(
    f"{_MATCH}/report",
    response_class=Response,
    openapi_extra=FILE_BODY,
    responses=errors(404, 408, 413, 429) | content("text/html"),
)
async def show_report_with_pictures(
    request: Request,
    service: ReadyService,
    threads: Threads,
    search_id: Id,
    dance_id: DanceId,
    dancer: DancerNumber = None,
) -> HTMLResponse:
    """The same with pictures of the clip, which is sent again: it was deleted after the search."""
    held = service.searches.held.find(search_id)
    held.match(dance_id, dancer)
    async with receive_upload(request, service) as pending:
        page = await threads.other(service.searches.report, held, dance_id, dancer, pending.upload)
        return _page_response(held, held.match(dance_id, dancer).name, page)


def _page_response(held: HeldSearch, dance: str, page: str) -> HTMLResponse:
    name = quote(f"{held.clip.name} beside {dance}.html".replace("/", "_"), safe="")
    disposition = f"inline; filename=\"report.html\"; filename*=UTF-8''{name}"
    headers = {"Content-Security-Policy": _REPORT_POLICY, "Content-Disposition": disposition}
    return HTMLResponse(page.encode(errors="replace"), headers=headers)
