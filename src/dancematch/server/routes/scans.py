"""Scans: which dance when, by whom, in a long video."""

from dataclasses import asdict, replace
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from dancematch.report.scan_files import SCAN_FORMATS
from dancematch.server.access.dependencies import READER, WRITER, ReadyService, Threads
from dancematch.server.limits import MAX_CHANGE_BYTES, MAX_OPEN_SCANS, RETRY_QUEUE, SCAN_UPLOAD_SECONDS
from dancematch.server.problems import busy
from dancematch.server.routes.bodies import json_body, read_json
from dancematch.server.routes.jobs import describe_job
from dancematch.server.routes.openapi import FILE_BODY, content, errors
from dancematch.server.routes.uploads import address_of, receive_upload
from dancematch.server.schemas.jobs import JobResponse
from dancematch.server.schemas.requests import Id, MotionParameters, ScanParameters
from dancematch.server.schemas.scans import CorrectedResponse, ScanMotionResponse, SegmentCorrection
from dancematch.server.service import Service

router = APIRouter(tags=["scans"], dependencies=[READER])

_MEDIA_TYPES = tuple(dict.fromkeys(form.media_type for form in SCAN_FORMATS.values()))


@router.post("/scan", status_code=202, openapi_extra=FILE_BODY, responses=errors(408, 413, 429))
async def scan(
    request: Request, service: ReadyService, threads: Threads, wanted: ScanParameters
) -> JobResponse:
    """Which dance is danced when, and by whom, in a long video? Always a job."""
    options = replace(
        service.options, upload_bytes=service.options.scan_bytes, upload_seconds=SCAN_UPLOAD_SECONDS
    )
    if wanted.label is not None or wanted.collection is not None:  # refused before the upload
        await threads.other(service.catalogue.require_any, wanted.label, wanted.collection)
    with request.app.state.long_videos.admit(address_of(request)):
        _require_room(service)
        async with receive_upload(request, service, options) as pending:
            return describe_job(service, pending.queue("scan", asdict(wanted)))


def _require_room(service: Service) -> None:
    """Refuse a long video before it is sent if many wait already."""
    if service.table.count_open("scan") >= MAX_OPEN_SCANS:
        raise busy(f"{MAX_OPEN_SCANS} long videos are waiting already", RETRY_QUEUE)


@router.get(
    "/scans/{job_id}/files/{kind}",
    response_class=Response,
    responses=errors(404, 409) | content(*_MEDIA_TYPES),
)
async def show_scan_file(
    service: ReadyService,
    threads: Threads,
    job_id: Id,
    kind: Annotated[str, Path(description=", ".join(SCAN_FORMATS), examples=["srt"])],
) -> Response:
    """What a scan found as a file for other programs."""
    name, form, text = await threads.other(service.scans.write, job_id, kind)
    disposition = f"attachment; filename=\"scan{form.suffix}\"; filename*=UTF-8''{quote(name, safe='')}"
    headers = {"Content-Disposition": disposition}
    return Response(text.encode(errors="replace"), media_type=form.media_type, headers=headers)


@router.get("/scans/{job_id}/motion", responses=errors(404, 409))
async def show_scan_motion(
    service: ReadyService, threads: Threads, job_id: Id, wanted: MotionParameters
) -> ScanMotionResponse:
    """The skeletons of a scanned video, to draw."""
    return await threads.other(service.scans.motion, job_id, wanted)


@router.patch(
    "/scans/{job_id}/segments/{number}",
    dependencies=[WRITER],
    openapi_extra=json_body(SegmentCorrection),
    responses=errors(404, 408, 409, 412, 413, 429),
)
async def correct_segment(
    request: Request,
    service: ReadyService,
    threads: Threads,
    job_id: Id,
    number: Annotated[int, Path(ge=0, le=10**6)],
) -> CorrectedResponse:
    """Say which dance a segment shows: it becomes a recording of that dance."""
    wanted = await read_json(request, service, SegmentCorrection, MAX_CHANGE_BYTES)
    return await threads.other(service.scans.correct, job_id, number, wanted.dance)
