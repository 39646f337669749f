"""Cameras: pictures come while one dances, and the dance's name is told meanwhile."""

import secrets
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Request

from dancematch.errors import InputError
from dancematch.server.access.dependencies import READER, ReadyService, Threads
from dancematch.server.jobs.runner import QueueReservation
from dancematch.server.jobs.table import Job
from dancematch.server.limits import MAX_CAMERA_SECONDS, MAX_PICTURES_BYTES
from dancematch.server.routes.bodies import read_body
from dancematch.server.routes.jobs import describe_job
from dancematch.server.routes.openapi import FILE_BODY, errors
from dancematch.server.routes.uploads import address_of
from dancematch.server.schemas.jobs import JobResponse
from dancematch.server.schemas.requests import Id, ScanParameters

router = APIRouter(tags=["cameras"], dependencies=[READER])

_Elapsed = Annotated[
    float,
    Query(ge=0, le=2 * MAX_CAMERA_SECONDS, allow_inf_nan=False, description="Seconds since it began"),
]


@router.post("/cameras", status_code=202, responses=errors(429))
async def open_camera(
    request: Request, service: ReadyService, threads: Threads, wanted: ScanParameters
) -> JobResponse:
    """Begin a job that is told what a camera sees."""
    if wanted.label is not None or wanted.collection is not None:
        await threads.other(service.catalogue.require_any, wanted.label, wanted.collection)
    address = address_of(request)
    with QueueReservation(service.runner, address) as reservation:
        reservation.take()
        job_id, own = secrets.token_hex(16), secrets.token_hex(32)
        stream = service.cameras.open(job_id, address)
        job = Job("camera", stream.path.name, own, wanted.filename, parameters=asdict(wanted), job_id=job_id)
        service.runner.submit(job)
    return describe_job(service, job)


@router.post(
    "/cameras/{job_id}/pictures",
    status_code=204,
    openapi_extra=FILE_BODY,
    responses=errors(404, 408, 413, 429),
)
async def send_pictures(
    request: Request,
    service: ReadyService,
    job_id: Id,
    elapsed: _Elapsed,
) -> None:
    """The next piece of the recording that the camera makes."""
    camera = service.cameras.find(job_id)
    pictures = await read_body(request, service, MAX_PICTURES_BYTES)
    if not pictures:
        raise InputError("the pictures are empty; a piece of a video was expected")
    camera.add(pictures, elapsed)


@router.delete("/cameras/{job_id}", status_code=204, responses=errors(404))
def end_camera(service: ReadyService, job_id: Id) -> None:
    """Switch a camera off: its job ends with what was found."""
    service.cameras.find(job_id).end()
