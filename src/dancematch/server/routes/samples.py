"""Rendered dances and a clip, to try the service with."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from dancematch.server.access.dependencies import READER, ReadyService, Threads
from dancematch.server.routes.openapi import content, errors
from dancematch.server.schemas.samples import SamplesResponse

router = APIRouter(tags=["service"], dependencies=[READER])


@router.get("/samples", responses=errors())
def list_samples(service: ReadyService) -> SamplesResponse:
    """Made-up dances to add, and a clip to search for."""
    return service.samples.list()


# The response class has no media type, so that errors are documented as JSON.
@router.get(
    "/samples/{file}",
    response_class=Response,
    responses=errors(404) | content("application/octet-stream", "video/mp4"),
)
async def show_sample(
    service: ReadyService, threads: Threads, file: Annotated[str, Path(max_length=100)]
) -> Response:
    """One of them: a motion file, or the rendered video."""
    kind = "video/mp4" if file.endswith(".mp4") else "application/octet-stream"
    return Response(await threads.other(service.samples.read, file), media_type=kind)
