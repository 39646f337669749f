"""Searches: which dance is this, and why?"""

from dataclasses import asdict
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from dancematch.search.confidence.verdict import MAX_EVALUE, POSSIBLE_EVALUE
from dancematch.search.settings import DEFAULT_LIMIT
from dancematch.server.access.dependencies import (
    FILE_BODY,
    READER,
    At,
    DanceId,
    Label,
    Threads,
    Ticket,
    parcel_of,
    told,
)
from dancematch.server.problems import not_found
from dancematch.server.queries.held_searches import KeptSearch
from dancematch.server.routes.dances import Dancer, Rate, Seconds, compact, only_dancer
from dancematch.server.routes.jobs import job_view
from dancematch.server.schemas import catalogue as schemas
from dancematch.server.schemas import searches as schemas_searches
from dancematch.server.schemas.views import Cut, motions_view, pictures_view, words_view
from dancematch.server.service import Wanted

router = APIRouter(tags=["searches"], dependencies=[READER])

# It brings its style and pictures along, and runs nothing.
_OF_A_REPORT = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@router.post(
    "/search",
    response_model=schemas_searches.Search,
    openapi_extra=FILE_BODY,
    responses=told(408, 413, 429) | {202: {"model": schemas.Job, "description": "A job: it takes a while"}},
)
async def search(
    request: Request,
    service: At,
    threads: Threads,
    limit: Annotated[int, Query(ge=1, le=100)] = DEFAULT_LIMIT,
    max_evalue: Annotated[float, Query(ge=0, le=POSSIBLE_EVALUE, allow_inf_nan=False)] = MAX_EVALUE,
    label: Label = None,
    collection: Label = None,
    periodic: bool | None = None,
    filename: Label = None,
    keep: bool = True,
) -> Response:
    """Which known dance is this clip? A video, a motion file or words."""
    wanted = Wanted(limit, max_evalue, label, collection, periodic, filename, keep)
    if label is not None or collection is not None:  # refused before the upload
        await threads.other(service.catalogue.require_any, label, collection)
    async with parcel_of(request, service) as parcel:
        if parcel.is_small:
            return compact(await threads.search(service.search, parcel.upload, wanted))
        job = parcel.queue("search", asdict(wanted))
        return JSONResponse(job_view(service, job), 202)


@router.get("/searches/{search_id}", response_model=schemas_searches.Search, responses=told(404))
def show_search(service: At, search_id: Ticket) -> Response:
    """The answer again."""
    return compact(dict(service.searches.find(search_id).answer))


@router.delete("/searches/{search_id}", status_code=204, responses=told(404))
def forget_search(service: At, search_id: Ticket) -> None:
    """Forget a query now."""
    service.searches.forget(search_id)


@router.get("/searches/{search_id}/motion", response_model=schemas.Motion, responses=told(404))
def show_query_motion(
    service: At,
    search_id: Ticket,
    fps: Rate = None,
    start: Seconds = None,
    end: Seconds = None,
    dancer: Dancer = None,
) -> Response:
    """The query's skeletons, to be drawn."""
    search = service.searches.find(search_id)
    motions = {one.dancer: one.motion for one in search.found.query.dancers}
    view = motions_view(only_dancer(motions, dancer, "the query"), Cut(fps, start, end))
    return compact({"search_id": search_id, "decoded": search.decoded} | view)


@router.get("/searches/{search_id}/picture", response_model=schemas.Picture, responses=told(404))
def show_query_picture(service: At, search_id: Ticket) -> Response:
    """Where the dancers of the query are in its pictures."""
    search = service.searches.find(search_id)
    if not search.found.query.images:
        raise not_found("not_found", "this query was no video: there are no pictures")
    skeleton = search.found.query.dancers[0].motion.skeleton  # as the estimator saw it
    return compact({"search_id": search_id} | pictures_view(search.found.query.images, skeleton))


@router.get("/searches/{search_id}/words", response_model=schemas.Words, responses=told(404))
def show_query_words(service: At, search_id: Ticket, mirrored: bool = False) -> Response:
    """The query's words, as danced or as its mirror image says them."""
    dancers = service.searches.find(search_id).found.query.dancers
    said = {one.dancer: one.mirrored if mirrored else one.words for one in dancers}
    view = words_view(said, service.catalogue.tokeniser.codebook)
    return compact({"search_id": search_id, "mirrored": mirrored} | view)


@router.get(
    "/searches/{search_id}/matches/{dance_id}",
    response_model=schemas_searches.Explanation,
    responses=told(404),
)
async def explain(
    service: At, threads: Threads, search_id: Ticket, dance_id: DanceId, dancer: Dancer = None
) -> Response:
    """Why a dance was found: alignment, metrics, words, passages."""
    search = service.searches.find(search_id)
    view: dict[str, Any] = await threads.other(service.explained, search, dance_id, dancer)
    return compact({"search_id": search_id} | view)


@router.get(
    "/searches/{search_id}/matches/{dance_id}/differences",
    response_model=schemas_searches.Differences,
    responses=told(404),
)
async def differ(
    service: At, threads: Threads, search_id: Ticket, dance_id: DanceId, dancer: Dancer = None
) -> Response:
    """Where the clip differs from the dance, moment by moment."""
    search = service.searches.find(search_id)
    view: dict[str, Any] = await threads.other(service.differences, search, dance_id, dancer)
    return compact({"search_id": search_id, "dance_id": dance_id} | view)


_REPORT = "/searches/{search_id}/matches/{dance_id}/report"
_HTML: dict[int | str, dict[str, Any]] = {200: {"content": {"text/html": {"schema": {"type": "string"}}}}}


# Their class has no type, so that errors are told as JSON.
@router.get(_REPORT, response_class=Response, responses=told(404) | _HTML)
async def report(
    service: At, threads: Threads, search_id: Ticket, dance_id: DanceId, dancer: Dancer = None
) -> HTMLResponse:
    """The evidence for a match as a page that needs nothing beside it."""
    search = service.searches.find(search_id)
    page = await threads.other(service.report, search, dance_id, dancer)
    return _handed_on(search, dance_id, page)


@router.post(
    _REPORT,
    response_class=Response,
    openapi_extra=FILE_BODY,
    responses=told(404, 408, 413, 429) | _HTML,
)
async def report_with_pictures(
    request: Request,
    service: At,
    threads: Threads,
    search_id: Ticket,
    dance_id: DanceId,
    dancer: Dancer = None,
) -> HTMLResponse:
    """The same with pictures of the clip, which is sent again: it was deleted after the search."""
    search = service.searches.find(search_id)
    search.match(dance_id, dancer)
    async with parcel_of(request, service) as parcel:
        page = await threads.other(service.report, search, dance_id, dancer, parcel.upload)
        return _handed_on(search, dance_id, page)


def _handed_on(search: KeptSearch, dance_id: str, page: str) -> HTMLResponse:
    name = quote(f"{search.clip.name} beside {dance_id}.html".replace("/", "_"), safe="")
    kept_as = f"inline; filename=\"report.html\"; filename*=UTF-8''{name}"
    headers = {"Content-Security-Policy": _OF_A_REPORT, "Content-Disposition": kept_as}
    return HTMLResponse(page.encode(errors="replace"), headers=headers)
