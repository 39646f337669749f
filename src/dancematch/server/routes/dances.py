"""Dances: what is known, learning, forgetting, looking at."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, JSONResponse, Response

from dancematch.server.access.dependencies import (
    FILE_BODY,
    READER,
    WRITER,
    At,
    DanceId,
    Label,
    Threads,
    parcel_of,
    told,
)
from dancematch.server.problems import not_found
from dancematch.server.routes.jobs import job_view
from dancematch.server.schemas import catalogue as schemas
from dancematch.server.schemas.views import Cut, motions_view, words_view
from dancematch.server.service import NewDance, Service

T = TypeVar("T")

router = APIRouter(tags=["dances"])

Rate = Annotated[float | None, Query(gt=0, le=1000, description="At most so many frames a second")]
Seconds = Annotated[float | None, Query(ge=0, le=1e9)]
Dancer = Annotated[int | None, Query(ge=1, le=1_000_000)]

_VIDEO_TYPES = {".mp4": "video/mp4", ".webm": "video/webm", ".avi": "video/x-msvideo", ".gif": "image/gif"}


def compact(content: dict[str, Any]) -> Response:
    """JSON without blanks; it fits its schema by the way it is made, which takes too long to check."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return Response(text.encode(errors="backslashreplace"), media_type="application/json")


def only_dancer(dancers: Mapping[int, T], wanted: int | None, what: str) -> Mapping[int, T]:
    """One of the dancers, by number; all of them if none is asked for."""
    if wanted is None:
        return dancers
    if wanted not in dancers:
        numbers = ", ".join(map(str, sorted(dancers)))
        raise not_found("not_found", f"{what} has no dancer {wanted}; there is {numbers}")
    return {wanted: dancers[wanted]}


@router.get("/dances", response_model=schemas.Dances, dependencies=[READER], responses=told())
def list_dances(
    service: At,
    label: Label = None,
    collection: Label = None,
    text: Label = None,
    after: Label = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> dict[str, Any]:
    """What is known, in order of name, page by page."""
    # One more than is shown: whether another page follows.
    page = service.catalogue.page(label=label, collection=collection, text=text, after=after, limit=limit + 1)
    shown = page.dances[:limit]
    more = len(page.dances) > limit
    return {
        "dances": service.described(shown),
        "total": page.total,
        "next": shown[-1].dance_id if more else None,
    }


@router.get("/labels", response_model=schemas.Labels, dependencies=[READER], responses=told())
def count_labels(service: At) -> dict[str, Any]:
    """How many dances have each label and are of each collection, the commonest first."""
    stats = service.catalogue.stats()
    return {"labels": stats.by_label, "collections": stats.by_collection}


@router.put(
    "/dances/{dance_id}",
    status_code=201,
    response_model=schemas.Dance,
    dependencies=[WRITER],
    openapi_extra=FILE_BODY,
    responses=told(408, 409, 413, 429)
    | {
        200: {"model": schemas.Dance, "description": "Known already, by this name"},
        202: {"model": schemas.Job, "description": "A job: it takes a while"},
    },
)
async def learn_dance(
    request: Request,
    service: At,
    threads: Threads,
    dance_id: DanceId,
    label: Label = None,
    collection: Label = None,
    filename: Label = None,
) -> Response:
    """Learn a dance from a video, a motion file or words."""
    new = NewDance(dance_id, label, collection, filename)
    async with parcel_of(request, service) as parcel:
        known = await threads.other(service.known_already, new, parcel.upload.digest)
        if known is not None:
            return JSONResponse(service.described([known])[0])
        if parcel.is_small:
            dance = await threads.other(service.learn, new, parcel.upload)
            return JSONResponse(service.described([dance])[0], 201)
        job = parcel.queue("add", asdict(new))
        return JSONResponse(job_view(service, job), 202)


@router.get("/dances/{dance_id}", response_model=schemas.Dance, dependencies=[READER], responses=told(404))
def show_dance(service: At, dance_id: DanceId) -> dict[str, Any]:
    """What is known of one dance."""
    return service.described([service.catalogue.dance(dance_id)])[0]


@router.delete("/dances/{dance_id}", status_code=204, dependencies=[WRITER], responses=told(404))
def forget_dance(service: At, dance_id: DanceId) -> None:
    """Forget a dance: its words, skeletons and video."""
    service.forget(dance_id)


@router.get(
    "/dances/{dance_id}/motion", response_model=schemas.Motion, dependencies=[READER], responses=told(404)
)
def show_motion(
    service: At,
    dance_id: DanceId,
    fps: Rate = None,
    start: Seconds = None,
    end: Seconds = None,
    dancer: Dancer = None,
) -> Response:
    """The skeletons of a dance, to be drawn."""
    service.catalogue.dance(dance_id)
    kept = {number: one for number, one in service.catalogue.dancers(dance_id).items() if one is not None}
    if not kept:
        raise not_found("not_found", f"no skeletons of {dance_id!r} were kept")
    wanted = only_dancer(kept, dancer, repr(dance_id))
    return compact({"dance_id": dance_id} | motions_view(wanted, Cut(fps, start, end)))


@router.get(
    "/dances/{dance_id}/words", response_model=schemas.Words, dependencies=[READER], responses=told(404)
)
def show_words(service: At, dance_id: DanceId) -> Response:
    """The words of a dance."""
    service.catalogue.dance(dance_id)
    said = {track.dancer: track.fingerprint for track in service.catalogue.tracks([dance_id])}
    return compact({"dance_id": dance_id} | words_view(said, _codebook(service)))


def _codebook(service: Service) -> Any:
    return service.catalogue.tokeniser.codebook


@router.get(
    "/dances/{dance_id}/video",
    response_class=FileResponse,
    dependencies=[READER],
    responses=told(404)
    | {200: {"content": {kind: {} for kind in (*_VIDEO_TYPES.values(), "application/octet-stream")}}},
)
def show_video(service: At, dance_id: DanceId) -> FileResponse:
    """The video of a dance, if the service keeps them."""
    path = service.video(dance_id)
    kind = _VIDEO_TYPES.get(path.suffix, "application/octet-stream")
    # Said, so that nobody packs it: parts of it can be asked for, and there is nothing to gain.
    return FileResponse(path, media_type=kind, headers={"Content-Encoding": "identity"})
