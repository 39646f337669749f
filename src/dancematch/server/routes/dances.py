"""Dances: list, show, change, remove."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from dancematch.server.access.dependencies import READER, WRITER, ReadyService, Threads
from dancematch.server.etags import quote_etag
from dancematch.server.limits import DEFAULT_PAGE, MAX_CHANGE_BYTES, MAX_PAGE
from dancematch.server.routes.bodies import json_body, read_json
from dancematch.server.routes.conditions import IfMatch
from dancematch.server.routes.openapi import errors
from dancematch.server.schemas.dances import DanceDetail, DancesResponse, LabelsResponse
from dancematch.server.schemas.edits import DanceChange, DanceEditResponse
from dancematch.server.schemas.lineage import LineageResponse
from dancematch.server.schemas.requests import DanceReference, Text

router = APIRouter(tags=["dances"])


@router.get("/dances", dependencies=[READER], responses=errors())
def list_dances(
    service: ReadyService,
    label: Text = None,
    collection: Text = None,
    text: Text = None,
    after: Text = None,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = DEFAULT_PAGE,
) -> DancesResponse:
    """The dances of the catalogue in order of name, page by page."""
    # One more than is shown: whether another page follows.
    page = service.catalogue.page(label=label, collection=collection, text=text, after=after, limit=limit + 1)
    shown = page.dances[:limit]
    following = shown[-1].name if len(page.dances) > limit else None
    described = service.dances.describe([one.dance_id for one in shown])
    return DancesResponse(dances=described, total=page.total, next=following)


@router.get("/labels", dependencies=[READER], responses=errors())
def count_labels(service: ReadyService) -> LabelsResponse:
    """The number of dances per label and per collection, the commonest first."""
    stats = service.catalogue.stats()
    return LabelsResponse(labels=stats.by_label, collections=stats.by_collection)


@router.get("/dances/{dance}", dependencies=[READER], responses=errors(404))
def show_dance(service: ReadyService, response: Response, dance: DanceReference) -> DanceDetail:
    """One dance with its recordings."""
    found = service.dances.describe_one(dance)
    response.headers["ETag"] = quote_etag(found.etag)
    return found


@router.get("/dances/{dance}/lineage", dependencies=[READER], responses=errors(404))
async def show_lineage(service: ReadyService, threads: Threads, dance: DanceReference) -> LineageResponse:
    """Which other dances share passages with a dance, earlier and later; how rare each passage is."""
    return await threads.other(service.dances.lineage, dance)


@router.patch(
    "/dances/{dance}",
    dependencies=[WRITER],
    openapi_extra=json_body(DanceChange),
    responses=errors(404, 408, 409, 412, 413, 429),
)
async def edit_dance(
    request: Request,
    response: Response,
    service: ReadyService,
    threads: Threads,
    dance: DanceReference,
    condition: IfMatch,
) -> DanceEditResponse:
    """Change what is said of a dance, or merge it into another."""
    change = await read_json(request, service, DanceChange, MAX_CHANGE_BYTES)
    edited = await threads.other(service.dances.edit, dance, change, condition)
    response.headers["ETag"] = quote_etag(edited.dance.etag)
    return edited


@router.delete("/dances/{dance}", status_code=204, dependencies=[WRITER], responses=errors(404, 412))
def remove_dance(service: ReadyService, dance: DanceReference, condition: IfMatch) -> None:
    """Remove a dance with its recordings: their words, skeletons and videos."""
    service.dances.remove(dance, condition)
