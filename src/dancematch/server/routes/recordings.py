"""Recordings: add, show, change, remove; their skeletons, words, videos and posters."""

import hashlib
from dataclasses import asdict

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response

from dancematch.pipeline.recording_index import parse_index
from dancematch.server.access.dependencies import READER, WRITER, ReadyService, Threads
from dancematch.server.etags import quote_etag
from dancematch.server.files.videos import MEDIA_TYPES, media_type_of
from dancematch.server.limits import MAX_CHANGE_BYTES
from dancematch.server.problems import not_found
from dancematch.server.routes.bodies import json_body, read_json, read_table, table_body
from dancematch.server.routes.conditions import IfMatch
from dancematch.server.routes.jobs import describe_job
from dancematch.server.routes.openapi import FILE_BODY, errors
from dancematch.server.routes.uploads import receive_upload
from dancematch.server.schemas.base import json_response
from dancematch.server.schemas.edits import RecordingChange, RecordingEditResponse
from dancematch.server.schemas.jobs import JobResponse
from dancematch.server.schemas.lessons import RecordingCountsResponse
from dancematch.server.schemas.motions import (
    DancerWordsResponse,
    RecordingMotionResponse,
    RecordingWordsResponse,
    describe_motions,
)
from dancematch.server.schemas.recordings import IndexResponse, IndexRowResponse, RecordingResponse
from dancematch.server.schemas.requests import MotionParameters, NewRecordingParameters, RecordingReference

router = APIRouter(tags=["recordings"])

_RECORDING = "/recordings/{recording_id}"
_POSTER = "image/jpeg"
# A browser asks each time whether it is still there: what is removed is not shown again.
_ASK_AGAIN = "private, no-cache"


@router.post(
    "/recordings",
    status_code=201,
    response_model=RecordingResponse,
    dependencies=[WRITER],
    openapi_extra=FILE_BODY,
    responses=errors(408, 409, 413, 429)
    | {
        200: {"model": RecordingResponse, "description": "Known already, in this dance"},
        202: {"model": JobResponse, "description": "A job: it takes a while"},
    },
)
async def add_recording(
    request: Request, service: ReadyService, threads: Threads, new: NewRecordingParameters
) -> Response:
    """Add a recording of a dance from a video, a motion file or words."""
    name = new.plan().dance  # refused before the upload
    async with receive_upload(request, service) as pending:
        digest = pending.upload.digest
        same = await threads.other(service.recordings.find_same, new, digest)
        if same is not None:
            return json_response(same)
        found = await pending.read()
        if found is not None:
            return json_response(await threads.other(service.recordings.add, new, digest, found), 201)
        return json_response(describe_job(service, pending.queue("add", asdict(new), name)), 202)


@router.post(
    "/index",
    dependencies=[WRITER],
    openapi_extra=table_body(),
    responses=errors(408, 413, 429),
)
async def read_index(request: Request, service: ReadyService, threads: Threads) -> IndexResponse:
    """What a table says of files to be added, checked; nothing is added."""
    text = await read_table(request, service)
    rows = await threads.other(parse_index, text, "the index")
    return IndexResponse(rows=[IndexRowResponse.of(row) for row in rows])


@router.get(_RECORDING, dependencies=[READER], responses=errors(404))
def show_recording(service: ReadyService, recording_id: RecordingReference) -> RecordingResponse:
    """One recording."""
    return service.recordings.describe(recording_id)


@router.patch(
    _RECORDING,
    dependencies=[WRITER],
    openapi_extra=json_body(RecordingChange),
    responses=errors(404, 408, 409, 412, 413, 429),
)
async def edit_recording(
    request: Request,
    response: Response,
    service: ReadyService,
    threads: Threads,
    recording_id: RecordingReference,
    condition: IfMatch,
) -> RecordingEditResponse:
    """Change what is said of a recording, move it to another dance, or exclude a segment of it."""
    change = await read_json(request, service, RecordingChange, MAX_CHANGE_BYTES)
    edited = await threads.other(service.dances.edit_recording, recording_id, change, condition)
    response.headers["ETag"] = quote_etag(edited.dance.etag)
    return edited


@router.delete(_RECORDING, status_code=204, dependencies=[WRITER], responses=errors(404, 412))
def remove_recording(service: ReadyService, recording_id: RecordingReference, condition: IfMatch) -> None:
    """Remove a recording: its words, skeletons and video; a dance goes with its last one."""
    service.dances.remove_recording(recording_id, condition)


@router.get(f"{_RECORDING}/motion", dependencies=[READER], responses=errors(404))
def show_motion(
    service: ReadyService, recording_id: RecordingReference, wanted: MotionParameters
) -> RecordingMotionResponse:
    """The skeletons of a recording, to draw."""
    found = service.recordings.find(recording_id)
    dancers = service.catalogue.dancers(found.recording_id)
    motions = {number: one for number, one in dancers.items() if one is not None}
    if not motions:
        raise not_found("not_found", f"no skeletons of {found.file!r} were kept")
    return RecordingMotionResponse(
        recording_id=found.recording_id,
        dance_id=found.dance_id,
        dancers=describe_motions(motions, wanted, repr(found.file)),
    )


@router.get(f"{_RECORDING}/counts", dependencies=[READER], responses=errors(404))
async def show_counts(
    service: ReadyService, threads: Threads, recording_id: RecordingReference
) -> RecordingCountsResponse:
    """The beats of a recording in eight-counts, by the movement of its most prominent dancer."""
    return await threads.other(service.recordings.counts, recording_id)


@router.get(f"{_RECORDING}/words", dependencies=[READER], responses=errors(404))
def show_words(service: ReadyService, recording_id: RecordingReference) -> RecordingWordsResponse:
    """The words of a recording."""
    found = service.recordings.find(recording_id)
    return RecordingWordsResponse(
        recording_id=found.recording_id,
        dance_id=found.dance_id,
        channels=service.catalogue.tokeniser.codebook.channels,
        dancers=[
            DancerWordsResponse.of(track.dancer, track.fingerprint)
            for track in service.catalogue.recording_tracks(found.recording_id)
        ],
    )


@router.get(
    f"{_RECORDING}/video",
    response_class=FileResponse,
    dependencies=[READER],
    responses=errors(404) | {200: {"content": {media_type: {} for media_type in MEDIA_TYPES}}},
)
def show_video(service: ReadyService, recording_id: RecordingReference) -> FileResponse:
    """The video of a recording, if the service keeps them."""
    path = service.recordings.find_video(recording_id)
    # Stated, so that the video is not compressed: ranges of it can be asked for.
    return FileResponse(path, media_type=media_type_of(path), headers={"Content-Encoding": "identity"})


@router.get(
    f"{_RECORDING}/poster",
    response_class=Response,
    dependencies=[READER],
    responses=errors(404)
    | {
        200: {"content": {_POSTER: {"schema": {"type": "string", "format": "binary"}}}},
        304: {"description": "The picture that the caller has is still the one"},
    },
)
def show_poster(request: Request, service: ReadyService, recording_id: RecordingReference) -> Response:
    """A small picture of a recording, if one was kept."""
    poster = service.recordings.poster(recording_id)
    etag = quote_etag(hashlib.sha256(poster).hexdigest()[:32])
    headers = {"Cache-Control": _ASK_AGAIN, "ETag": etag}
    known = request.headers.get("if-none-match", "")
    if etag in (one.strip().removeprefix("W/") for one in known.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(poster, media_type=_POSTER, headers=headers)
