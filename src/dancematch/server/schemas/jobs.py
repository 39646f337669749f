"""Jobs as the service answers them."""

from typing import Annotated

from pydantic import BaseModel, Field

from dancematch.server.jobs.table import JobKind, JobState
from dancematch.server.problems import ErrorResponse
from dancematch.server.schemas.base import EXAMPLE_TIME, with_example
from dancematch.server.schemas.recordings import RecordingResponse
from dancematch.server.schemas.scans import ScanResponse
from dancematch.server.schemas.searches import SearchResponse


class JobResponse(BaseModel):
    """Work that takes a while; `result` is the recording, the answer or the scan when it is done.

    While a video is read that is searched for or scanned, `partial` is what was found in what has been read.
    A scan that fails has what was found before as its `result`.
    """

    model_config = with_example(
        job_id="c3ab8ff13720e8ad9047dd39466b3c89", kind="search", state="running", progress=0.4, ahead=0,
        seconds_left=12.0, created=EXAMPLE_TIME, started=EXAMPLE_TIME, finished=None, filename="a.mp4",
        dance=None, error=None, partial=None, result=None,
    )  # fmt: skip
    job_id: str
    kind: JobKind
    state: JobState
    created: str
    started: str | None
    finished: str | None
    filename: str | None
    dance: str | None
    error: ErrorResponse | None
    partial: SearchResponse | ScanResponse | None
    result: SearchResponse | RecordingResponse | ScanResponse | None
    progress: Annotated[float, Field(ge=0, le=1)]
    ahead: int
    seconds_left: float | None


class JobProgress(BaseModel):
    """How far a job is: the data of an event `progress`."""

    model_config = with_example(state="running", progress=0.4, ahead=0, seconds_left=12.0)
    state: JobState
    progress: Annotated[float, Field(ge=0, le=1)]
    ahead: int
    seconds_left: float | None  # by how long it took so far; null while that says nothing


class JobsResponse(BaseModel):
    """The newest jobs."""

    jobs: list[JobResponse]
