"""Jobs: their progress and results."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from dancematch.server.access.dependencies import READER, GrantedScopes, ReadyService, require_write
from dancematch.server.access.guard import HEADERS_ONLY
from dancematch.server.jobs.table import Job, JobState
from dancematch.server.problems import RefusedError, not_found
from dancematch.server.routes.openapi import content, errors
from dancematch.server.routes.uploads import address_of
from dancematch.server.scans.scan_work import ScanSoFar
from dancematch.server.schemas.jobs import JobProgress, JobResponse, JobsResponse
from dancematch.server.schemas.requests import Id
from dancematch.server.schemas.scans import ScanResponse
from dancematch.server.schemas.searches import SearchResponse
from dancematch.server.service import Service

router = APIRouter(tags=["jobs"], dependencies=[READER])

_EVENT_STREAM = "text/event-stream"
_POLL_SECONDS = 0.2
_KEEP_ALIVE_SECONDS = 15.0
_EXAMPLE_EVENTS = (
    'event: progress\ndata: {"state":"running","progress":0.4,"ahead":0,"seconds_left":12.0}\n\n'
)


def describe_job(service: Service, job: Job, *, with_result: bool = True) -> JobResponse:
    """A job with its progress and its place in the queue; `with_result` also what was found, or so far."""
    return JobResponse.model_validate(
        vars(job)
        | vars(_describe_progress(service, job))
        | {
            "partial": _partial(service, job) if with_result else None,
            "result": job.result if with_result else None,
        }
    )


def _partial(service: Service, job: Job) -> SearchResponse | ScanResponse | None:
    found = service.scan_so_far(job)
    return service.partial_answer(job) if found is None else found.describe()


def _describe_progress(service: Service, job: Job) -> JobProgress:
    runner = service.runner
    return JobProgress(
        state=job.state,
        progress=runner.progress(job),
        ahead=runner.count_ahead(job),
        seconds_left=runner.seconds_left(job),
    )


def _find(service: Service, job_id: str) -> Job:
    job = service.table.find(job_id)
    if job is None:
        raise not_found("unknown_job", "there is no such job, or not any more")
    return job


@router.get("/jobs", responses=errors())
def list_jobs(service: ReadyService, state: Annotated[JobState | None, Query()] = None) -> JobsResponse:
    """The newest jobs, without their results."""
    newest = service.table.newest(state)
    return JobsResponse(jobs=[describe_job(service, job, with_result=False) for job in newest])


@router.get("/jobs/{job_id}", responses=errors(404))
def show_job(service: ReadyService, job_id: Id) -> JobResponse:
    """One job."""
    return describe_job(service, _find(service, job_id))


@router.delete("/jobs/{job_id}", status_code=204, responses=errors(404, 409))
def cancel_job(service: ReadyService, job_id: Id, granted: GrantedScopes) -> None:
    """Cancel a job that waits or runs, unless it is too late; delete one that is finished."""
    job = _find(service, job_id)
    if job.kind == "add":
        require_write(granted)
    if job.is_finished:
        service.table.delete(job_id)
    elif not service.runner.cancel(job):
        reason = f"{job.dance!r} was learnt, or is being learnt, before the job could be cancelled"
        raise RefusedError(409, "too_late", f"{reason}; delete the recording if it is not wanted")
    if job.kind in ("scan", "camera"):
        service.cameras.close(job_id)
        service.scans.delete(job_id)


@router.get(
    "/jobs/{job_id}/events",
    response_class=Response,
    responses=errors(404, 429) | content(_EVENT_STREAM, example=_EXAMPLE_EVENTS),
)
async def follow_job(request: Request, service: ReadyService, job_id: Id) -> Response:
    """A job as server-sent events, until it is finished.

    `progress` has its `state`, `progress`, `ahead` and `seconds_left`, whenever one changes. `answer`, while
    a video is read that is searched for, is the answer on what has been read (a `SearchResponse` without
    `search_id`). Of a scan, `segment` is each segment as it is found (a `SegmentResponse`), and `recognised`,
    before a camera, each dance while it is danced (a `RecognisedResponse`). The last one, `done`, `failed` or
    `cancelled`, is the job (a `JobResponse`); a stream that ends without it was broken off.
    """
    _find(service, job_id)
    if HEADERS_ONLY in request.scope:
        return Response(media_type=_EVENT_STREAM)
    return _EventStream(request, service, job_id)


class _EventStream(StreamingResponse):
    """The events of one job; one too many is refused before the answer begins."""

    def __init__(self, request: Request, service: Service, job_id: str) -> None:
        super().__init__(_events(service, job_id), media_type=_EVENT_STREAM)
        self._room = request.app.state.streams.admit(address_of(request))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        with self._room:
            await super().__call__(scope, receive, send)


async def _events(service: Service, job_id: str) -> AsyncIterator[str]:
    last_progress, last_answer, silent_seconds = None, None, 0.0
    scanned = _ScanEvents()
    while not service.runner.stopping:
        job = service.table.find(job_id)
        if job is None:
            return
        if job.is_finished:
            yield _event(job.state, describe_job(service, job))
            return
        if (progress := _describe_progress(service, job)) != last_progress:
            last_progress, silent_seconds = progress, 0.0
            yield _event("progress", progress)
        for event in scanned.new(service.scan_so_far(job)):
            silent_seconds = 0.0
            yield event
        if (answer := service.partial_answer(job)) is not None and answer is not last_answer:
            last_answer, silent_seconds = answer, 0.0
            yield _event("answer", answer)
        if silent_seconds >= _KEEP_ALIVE_SECONDS:
            silent_seconds = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(_POLL_SECONDS)
        silent_seconds += _POLL_SECONDS


class _ScanEvents:
    """What a scan finds, each once."""

    def __init__(self) -> None:
        self._segments, self._recognised = 0, 0

    def new(self, found: ScanSoFar | None) -> Iterator[str]:
        """The events of what was found since the last call."""
        if found is None:
            return
        for recognised in found.recognised[self._recognised :]:
            self._recognised += 1
            yield _event("recognised", recognised)
        for segment in found.segments[self._segments :]:
            self._segments += 1
            yield _event("segment", segment)


def _event(name: str, content: BaseModel) -> str:
    return f"event: {name}\ndata: {content.model_dump_json()}\n\n"
