"""Jobs: how far they are, and what came of them."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import TypeAdapter, ValidationError

from dancematch.server.access.dependencies import READER, At, Scopes, Ticket, require_write, told
from dancematch.server.access.guard import HEADERS_ONLY
from dancematch.server.jobs.table import Job, State
from dancematch.server.problems import RefusedError, not_found
from dancematch.server.schemas import catalogue as schemas
from dancematch.server.schemas import searches as schemas_searches
from dancematch.server.service import Service

router = APIRouter(tags=["jobs"], dependencies=[READER])

_LOOK_EVERY_SECONDS = 0.2
_SIGN_OF_LIFE_SECONDS = 15.0
_RESULT: TypeAdapter[Any] = TypeAdapter(schemas_searches.Search | schemas.Dance | None)
_SHOWN = ("job_id", "kind", "state", "created", "started", "finished", "filename", "dance_id", "error")


def job_view(service: Service, job: Job, *, with_result: bool = True) -> dict[str, Any]:
    """A job as it is told of."""
    return {name: getattr(job, name) for name in _SHOWN} | {
        "progress": service.runner.progress(job),
        "ahead": service.table.ahead(job.job_id) if job.state == "waiting" else 0,
        "result": job.result if with_result else None,
    }


def _found(service: Service, job_id: str) -> Job:
    job = service.table.find(job_id)
    if job is None:
        raise not_found("unknown_job", "there is no such job, or not any more")
    return job


def _legible(service: Service, job_id: str) -> Job:
    """The job, if what came of it can still be told: a week is time enough to bring a server up to date."""
    job = _found(service, job_id)
    try:
        _RESULT.validate_python(job.result)
    except ValidationError:
        advice = f"ask for the dance {job.dance_id!r} itself" if job.kind == "add" else "send the clip again"
        reason = f"what came of this job was noted by an earlier version of the service; {advice}"
        raise RefusedError(410, "outdated", reason) from None
    return job


@router.get("/jobs", response_model=schemas.Jobs, responses=told())
def list_jobs(service: At, state: Annotated[State | None, Query()] = None) -> dict[str, Any]:
    """The newest jobs, without what came of them."""
    return {"jobs": [job_view(service, job, with_result=False) for job in service.table.listed(state)]}


@router.get("/jobs/{job_id}", response_model=schemas.Job, responses=told(404, 410))
def show_job(service: At, job_id: Ticket) -> dict[str, Any]:
    """One job."""
    return job_view(service, _legible(service, job_id))


@router.delete("/jobs/{job_id}", status_code=204, responses=told(404, 409))
def cancel_job(service: At, job_id: Ticket, allowed: Scopes) -> None:
    """Cancel a job that waits or runs, unless it is too late; forget one that is over."""
    job = _found(service, job_id)
    if job.kind == "add":
        require_write(allowed)
    if job.is_over:
        service.table.forget(job_id)
    elif not service.runner.cancel(job):
        learnt = f"{job.dance_id!r} was learnt, or is being learnt, before the job could be cancelled"
        raise RefusedError(409, "too_late", f"{learnt}; delete the dance if it is not wanted")


@router.get(
    "/jobs/{job_id}/events",
    response_class=Response,
    responses=told(404, 410, 429) | {200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def follow_job(request: Request, service: At, job_id: Ticket) -> Response:
    """The job whenever it changes, as server-sent events, until it is over."""
    _legible(service, job_id)
    if HEADERS_ONLY in request.scope:
        return Response(media_type="text/event-stream")
    request.app.state.streams.require_room()  # now, while it can still be told
    return StreamingResponse(_events(request, service, job_id), media_type="text/event-stream")


async def _events(request: Request, service: Service, job_id: str) -> AsyncIterator[str]:
    told_last, silent = "", 0.0
    with request.app.state.streams.entered():
        while not service.runner.stopping:
            job = service.table.find(job_id)
            if job is None:
                return
            text = json.dumps(job_view(service, job), separators=(",", ":"))
            if text != told_last:
                told_last, silent = text, 0.0
                yield f"event: job\ndata: {text}\n\n"
            elif silent >= _SIGN_OF_LIFE_SECONDS:
                silent = 0.0
                yield ": still here\n\n"
            if job.is_over:
                return
            await asyncio.sleep(_LOOK_EVERY_SECONDS)
            silent += _LOOK_EVERY_SECONDS
