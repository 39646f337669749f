"""What the service is, and what it shows of the whole: health, model, vocabulary, map, numbers."""

from importlib.metadata import version
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import PlainTextResponse, Response

from dancematch.report.compare import BONES
from dancematch.search.confidence.verdict import MAX_EVALUE
from dancematch.server.access.dependencies import READER, At, Scopes, Threads, told
from dancematch.server.overview.vocabulary import joints_of_channels
from dancematch.server.routes.dances import compact
from dancematch.server.schemas import catalogue as schemas
from dancematch.server.schemas.views import skeleton_view
from dancematch.skeletons import BODY15

router = APIRouter(tags=["service"])

MOST_PLACES = 2000


@router.get("/health", response_model=schemas.Health, responses=told())
def health(service: At) -> dict[str, Any]:
    """Whether the service is ready."""
    return {
        "status": "ready",
        "version": version("dancematch"),
        "dances": service.catalogue.page(limit=1).total,
    }


@router.get("/about", response_model=schemas.About, dependencies=[READER], responses=told())
def about(service: At, allowed: Scopes) -> dict[str, Any]:
    """The model, the limits, and what this caller may do."""
    tokeniser, options = service.catalogue.tokeniser, service.options
    return {
        "version": version("dancematch"),
        "model_id": tokeniser.model_id,
        "dances": service.catalogue.page(limit=1).total,
        "channels": tokeniser.codebook.channels,
        "channel_joints": joints_of_channels(tokeniser),
        "vocabulary": tokeniser.vocabulary,
        "seconds_per_word": tokeniser.seconds_per_word,
        "max_evalue": MAX_EVALUE,
        "skeleton": skeleton_view(BODY15),
        "bones": BONES,
        "scopes": sorted(allowed),
        "token_needed": bool(options.tokens),
        "keeps_videos": options.keep_videos,
        "limits": {
            "upload_bytes": options.upload_bytes,
            "sync_bytes": options.sync_bytes,
            "video_seconds": options.work.video_seconds,
            "video_pixels": options.work.video_pixels,
        },
    }


@router.get("/words", response_model=schemas.Vocabulary, dependencies=[READER], responses=told())
async def vocabulary(service: At, threads: Threads) -> Response:
    """What the model can say, each word with a figure that moves."""
    content = await threads.other(service.gallery.content)
    return Response(content, media_type="application/json")


@router.get("/map", response_model=schemas.Map, dependencies=[READER], responses=told())
async def show_map(
    service: At, threads: Threads, limit: Annotated[int, Query(ge=1, le=MOST_PLACES)] = MOST_PLACES
) -> Response:
    """Dances as points in the plane, like near like."""
    return compact(await threads.other(service.map, limit))


@router.get(
    "/metrics",
    response_class=Response,  # of no type, so that errors are told as JSON
    dependencies=[READER],
    responses=told() | {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def metrics(service: At) -> PlainTextResponse:
    """Numbers for Prometheus."""
    text = service.metrics.text(service.gauges())
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")
