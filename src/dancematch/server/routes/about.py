"""The service itself, and the whole catalogue: health, model, vocabulary, map, metrics."""

from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST

from dancematch import formats
from dancematch.pose.video import VIDEO_SUFFIXES
from dancematch.report.compare import BONES
from dancematch.search.confidence.verdict import MAX_EVALUE
from dancematch.server.access.dependencies import READER, GrantedScopes, ReadyService, Threads
from dancematch.server.limits import MAX_CAMERA_SECONDS, MAX_MAP_DANCES
from dancematch.server.overview.vocabulary import joints_by_channel
from dancematch.server.routes.openapi import content, errors
from dancematch.server.schemas.about import AboutResponse, HealthResponse, LimitsResponse
from dancematch.server.schemas.base import SkeletonResponse
from dancematch.server.schemas.dances import MapResponse
from dancematch.server.schemas.requests import SearchId
from dancematch.server.schemas.vocabulary import VocabularyResponse
from dancematch.skeletons import BODY15

router = APIRouter(tags=["service"])

VERSION = version("dancematch")  # read once: the package may be installed anew while the service runs


@router.get("/health", responses=errors())
async def show_health(service: ReadyService, threads: Threads) -> HealthResponse:
    """Whether the service is ready."""
    dances = await threads.health(lambda: service.catalogue.page(limit=1).total)
    return HealthResponse(version=VERSION, dances=dances)


@router.get("/about", dependencies=[READER], responses=errors())
def show_about(service: ReadyService, granted: GrantedScopes) -> AboutResponse:
    """The model, the limits, and what this caller may do."""
    tokeniser, options = service.catalogue.tokeniser, service.options
    return AboutResponse(
        version=VERSION,
        model_id=tokeniser.model_id,
        dances=service.catalogue.page(limit=1).total,
        channels=tokeniser.codebook.channels,
        channel_joints=joints_by_channel(tokeniser),
        vocabulary=tokeniser.vocabulary,
        seconds_per_word=tokeniser.seconds_per_word,
        max_evalue=MAX_EVALUE,
        skeleton=SkeletonResponse.of(BODY15),
        bones=BONES,
        motion_suffixes=formats.list_suffixes(),
        video_suffixes=tuple(sorted(VIDEO_SUFFIXES)),
        scopes=sorted(granted),
        token_needed=bool(options.tokens),
        keeps_videos=options.keep_videos,
        limits=LimitsResponse(
            upload_bytes=options.upload_bytes,
            sync_bytes=options.sync_bytes,
            video_seconds=options.work.video_seconds,
            video_pixels=options.work.video_pixels,
            scan_bytes=options.scan_bytes,
            scan_seconds=options.scan_seconds,
            camera_seconds=MAX_CAMERA_SECONDS,
        ),
    )


@router.get("/words", response_model=VocabularyResponse, dependencies=[READER], responses=errors())
async def show_vocabulary(service: ReadyService, threads: Threads) -> Response:
    """All words of the model, each with a moving figure."""
    return Response(await threads.other(service.vocabulary.read), media_type="application/json")


@router.get("/map", dependencies=[READER], responses=errors(404))
async def show_map(
    service: ReadyService,
    threads: Threads,
    limit: Annotated[int, Query(ge=1, le=MAX_MAP_DANCES)] = MAX_MAP_DANCES,
    search_id: SearchId = None,
) -> MapResponse:
    """Dances as points in the plane, like near like; with a search, its dancers among them."""
    query = None if search_id is None else service.searches.held.find(search_id).query
    return await threads.other(service.map.draw, limit, query)


@router.get(
    "/metrics",
    response_class=Response,  # without a media type, so that errors are documented as JSON
    dependencies=[READER],
    responses=errors() | content("text/plain"),
)
def show_metrics(service: ReadyService) -> Response:
    """Numbers for Prometheus."""
    return Response(service.metrics.text(service.state()), media_type=CONTENT_TYPE_LATEST)
