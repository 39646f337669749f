"""Dances: list, add, show, remove."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, Response

from dancematch.server.access.dependencies import READER, WRITER, ReadyService, Threads
from dancematch.server.files.videos import MEDIA_TYPES, media_type_of
from dancematch.server.limits import DEFAULT_PAGE, MAX_PAGE
from dancematch.server.problems import not_found
from dancematch.server.routes.jobs import describe_job
from dancematch.server.routes.openapi import FILE_BODY, errors
from dancematch.server.routes.uploads import receive_upload
from dancematch.server.schemas.base import json_response
from dancematch.server.schemas.dances import DanceResponse, DancesResponse, LabelsResponse
from dancematch.server.schemas.jobs import JobResponse
from dancematch.server.schemas.motions import (
    DanceMotionResponse,
    DancerWordsResponse,
    DanceWordsResponse,
    describe_motions,
)
from dancematch.server.schemas.requests import DanceId, MotionParameters, NewDanceParameters, Text

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
    following = shown[-1].dance_id if len(page.dances) > limit else None
    return DancesResponse(dances=service.dances.describe(shown), total=page.total, next=following)


@router.get("/labels", dependencies=[READER], responses=errors())
def count_labels(service: ReadyService) -> LabelsResponse:
    """The number of dances per label and per collection, the commonest first."""
    stats = service.catalogue.stats()
    return LabelsResponse(labels=stats.by_label, collections=stats.by_collection)


@router.put(
    "/dances/{dance_id}",
    status_code=201,
    response_model=DanceResponse,
    dependencies=[WRITER],
    openapi_extra=FILE_BODY,
    responses=errors(408, 409, 413, 429)
    | {
        200: {"model": DanceResponse, "description": "Known already, by this name"},
        202: {"model": JobResponse, "description": "A job: it takes a while"},
    },
)
async def add_dance(
    request: Request, service: ReadyService, threads: Threads, new: NewDanceParameters
) -> Response:
    """Add a dance from a video, a motion file or words."""
    async with receive_upload(request, service) as pending:
        same = await threads.other(service.dances.find_same, new, pending.upload.digest)
        if same is not None:
            return json_response(same)
        found = await pending.read()
        if found is not None:
            digest = pending.upload.digest
            return json_response(await threads.other(service.dances.add, new, digest, found), 201)
        return json_response(describe_job(service, pending.queue("add", asdict(new))), 202)


@router.get("/dances/{dance_id}", dependencies=[READER], responses=errors(404))
def show_dance(service: ReadyService, dance_id: DanceId) -> DanceResponse:
    """One dance."""
    return service.dances.describe_one(dance_id)


@router.delete("/dances/{dance_id}", status_code=204, dependencies=[WRITER], responses=errors(404))
def remove_dance(service: ReadyService, dance_id: DanceId) -> None:
    """Remove a dance: its words, skeletons and video."""
    service.dances.remove(dance_id)


@router.get("/dances/{dance_id}/motion", dependencies=[READER], responses=errors(404))
def show_motion(service: ReadyService, dance_id: DanceId, wanted: MotionParameters) -> DanceMotionResponse:
    """The skeletons of a dance, to draw."""
    service.catalogue.dance(dance_id)
    motions = {number: one for number, one in service.catalogue.dancers(dance_id).items() if one is not None}
    if not motions:
        raise not_found("not_found", f"no skeletons of {dance_id!r} were kept")
    return DanceMotionResponse(dance_id=dance_id, dancers=describe_motions(motions, wanted, repr(dance_id)))


@router.get("/dances/{dance_id}/words", dependencies=[READER], responses=errors(404))
def show_words(service: ReadyService, dance_id: DanceId) -> DanceWordsResponse:
    """The words of a dance."""
    service.catalogue.dance(dance_id)
    return DanceWordsResponse(
        dance_id=dance_id,
        channels=service.catalogue.tokeniser.codebook.channels,
        dancers=[
            DancerWordsResponse.of(track.dancer, track.fingerprint)
            for track in service.catalogue.tracks([dance_id])
        ],
    )


@router.get(
    "/dances/{dance_id}/video",
    response_class=FileResponse,
    dependencies=[READER],
    responses=errors(404) | {200: {"content": {media_type: {} for media_type in MEDIA_TYPES}}},
)
def show_video(service: ReadyService, dance_id: DanceId) -> FileResponse:
    """The video of a dance, if the service keeps them."""
    path = service.dances.find_video(dance_id)
    # Stated, so that the video is not compressed: ranges of it can be asked for.
    return FileResponse(path, media_type=media_type_of(path), headers={"Content-Encoding": "identity"})
